// docs/database.md lists every trigger and every function of the database.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { createTestDatabase } from '../support/database.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/database.md'), 'utf8')

t.test('the page names every trigger and every function, and no other', async (t) => {
  const { url } = await createTestDatabase(t)
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  const { rows: triggers } = await client.query<{ name: string }>(`
    SELECT t.tgname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND c.relnamespace = 'public'::regnamespace`)
  const { rows: functions } = await client.query<{ name: string }>(`
    SELECT p.proname AS name FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')`)
  const existing = [...triggers, ...functions].map(({ name }) => name).sort()
  const sections = page.slice(page.indexOf('## Triggers'), page.indexOf('## The order of locks'))
  const names = [...sections.matchAll(/^- ((?:`\w+`(?:,\s+)?)+): (`\w+`)?/gm)].flatMap(([, first, second]) =>
    [...`${first} ${second ?? ''}`.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  t.same([...new Set(names)].sort(), [...new Set(existing)])
})
