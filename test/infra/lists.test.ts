// Every statement that a list of prisma/sql can become: PostgreSQL accepts it, and plans it without reading a
// large table from beginning to end.
import { readdirSync } from 'node:fs'
import pg from 'pg'
import t from 'tap'
import { choicesOf, compose, type ListQuery } from '../../infra/database/list.ts'
import { createTestDatabase } from '../support/database.ts'

type AnyList = ListQuery<any, any, any, any>

const folder = new URL('../../generated/sql/', import.meta.url)
const lists: AnyList[] = []
for (const name of readdirSync(folder).filter((name) => name.endsWith('.ts')))
  for (const exported of Object.values(await import(new URL(name, folder).href)))
    if ('list' in (exported as object)) lists.push(exported as AnyList)

/** Tables that have a row for each thing that users create. */
const largeTables =
  /Seq Scan on (members|files|uploads|documents|ai_sessions|ai_messages|orders|\w+_deliveries|events)\b/

t.test('every combination of filters, sort keys and directions', async (t) => {
  const { url } = await createTestDatabase(t)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  // An empty table is always cheap to scan. Now a scan is planned only where no index helps.
  await client.query('SET enable_seqscan = off')
  t.ok(lists.length > 0)
  for (const { label, list } of lists) {
    const choices = choicesOf(list)
    const scanned = new Set<string>()
    for (const choice of choices) {
      const { statement } = compose(label, list, choice)
      const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN) ${statement.text}`)
      for (const row of rows) {
        const [scan] = largeTables.exec(row['QUERY PLAN']) ?? []
        if (scan !== undefined) scanned.add(`${scan}: ${JSON.stringify(choice)}`)
      }
    }
    t.strictSame([...scanned], [], `${label}: ${choices.length} statements`)
  }
})
