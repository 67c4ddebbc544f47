// Migrations convert the rows that an earlier version wrote.
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { applyMigrations } from '../../infra/postgres/migrations.ts'

const FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
/** The first migration that this test is about. The rows are those of the version before it. */
const FIRST = '20261203000000_file_tags'

const ROWS = `
  INSERT INTO users (id, name, email) VALUES ('usr_a', 'Ada', 'ada@example.com');
  INSERT INTO files (id, blob_key, owner_id, workspace_id, name, content_type, bytes, sha256, tags) VALUES
    ('file_a', 'file_a', 'usr_a', 'usr_a', 'a', 'text/plain', 0, repeat('0', 64),
     ARRAY['a,b', 'b', ' c ', '["d","e"]', ',']),
    ('file_b', 'file_b', 'usr_a', 'usr_a', 'b', 'text/plain', 0, repeat('0', 64), ARRAY['a b', 'c]']);
  INSERT INTO settings (user_id, language, timezone) VALUES ('usr_a', 'de', 'Europe/Berlin');
  INSERT INTO ai_messages (id, user_id, role, status, created_at) VALUES
    ('msg_a', 'usr_a', 'assistant', 'cancelled', '2026-01-02T03:04:05Z'),
    ('msg_b', 'usr_a', 'assistant', 'completed', '2026-01-02T03:04:06Z');
  INSERT INTO webhook_endpoints (id, user_id, url, event_types, scopes, project_ids, secret) VALUES
    ('whe_a', 'usr_a', 'https://example.com', '{chat.failed,chat.cancelled}', '{ai:read}', '{}', 's');
  INSERT INTO events (id, type, user_id, scope, data) VALUES
    ('evt_a', 'chat.cancelled', 'usr_a', 'ai:read',
     '{"object":{"status":"cancelled","content":"cancelled","id":"msg_a"},"previous_attributes":{}}'),
    ('evt_b', 'chat.failed', 'usr_a', 'ai:read',
     '{"object":{"status":"failed","content":"cancelled"},"previous_attributes":{}}'),
    ('evt_c', 'member.added', 'usr_a', 'projects:read',
     '{"object":{"id":"mem_a","added_by":"usr_a"},"previous_attributes":{}}'),
    ('evt_d', 'checkout.created', 'usr_a', 'payments:read',
     '{"object":{"id":"chk_a","amount_total":1,"metadata":{"amount_total":"1"}},"previous_attributes":{}}');`

t.test('the rows of the version before follow the new names', async (t) => {
  const query = await upgradedDatabase(t)
  t.strictSame(await query('SELECT tags FROM files ORDER BY id'), [
    { tags: ['a', 'b', 'c', 'd', 'e'] },
    { tags: ['a b', 'c]'] },
  ])
  t.strictSame(await query('SELECT id, status FROM ai_messages ORDER BY id'), [
    { id: 'msg_a', status: 'canceled' },
    { id: 'msg_b', status: 'completed' },
  ])
  t.strictSame(await query('SELECT event_types FROM webhook_endpoints'), [
    { event_types: ['chat.failed', 'chat.canceled'] },
  ])
  const [canceled, failed, added, checkout] = await query('SELECT type, data FROM events ORDER BY id')
  t.equal(canceled?.['type'], 'chat.canceled')
  t.equal(
    JSON.stringify(canceled?.['data']),
    JSON.stringify({
      object: { status: 'canceled', content: 'cancelled', id: 'msg_a' },
      previous_attributes: {},
    }),
  )
  t.strictSame(added?.['data'], { object: { id: 'mem_a', created_by: 'usr_a' }, previous_attributes: {} })
  t.strictSame(checkout?.['data'], {
    object: { id: 'chk_a', total_amount: 1, metadata: { amount_total: '1' } },
    previous_attributes: {},
  })
  t.match(failed, { type: 'chat.failed', data: { object: { status: 'failed', content: 'cancelled' } } })
})

t.test('the language and the time zone of the settings move to the profile', async (t) => {
  const query = await upgradedDatabase(t)
  t.strictSame(await query('SELECT locale, timezone FROM users'), [
    { locale: 'de', timezone: 'Europe/Berlin' },
  ])
})

t.test('rows were last updated when they were created', async (t) => {
  const query = await upgradedDatabase(t)
  t.same(await query('SELECT created_at, updated_at FROM ai_messages ORDER BY id'), [
    { created_at: new Date('2026-01-02T03:04:05Z'), updated_at: new Date('2026-01-02T03:04:05Z') },
    { created_at: new Date('2026-01-02T03:04:06Z'), updated_at: new Date('2026-01-02T03:04:06Z') },
  ])
  t.match(await query('SELECT metadata, created_at = updated_at AS same FROM webhook_endpoints'), [
    { metadata: {}, same: true },
  ])
})

/** A database with `ROWS` and all migrations. Returns a function that queries it. */
async function upgradedDatabase(t: Test): Promise<(sql: string) => Promise<Record<string, unknown>[]>> {
  const server = String(process.env['TEST_DATABASE_URL'])
  const name = `upgraded_${randomBytes(6).toString('hex')}`
  await run(server, `CREATE DATABASE ${name}`)
  // Without FORCE: an autovacuum worker in the database cannot be terminated.
  t.teardown(() => run(server, `DROP DATABASE ${name}`).catch(() => {}))
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href
  await applyMigrations(url, () => {}, { folder: earlierMigrations(t) })
  await run(url, ROWS)
  await applyMigrations(url, () => {})
  return (sql) => run(url, sql)
}

function earlierMigrations(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of readdirSync(FOLDER).filter((name) => name < FIRST || name.endsWith('.toml')))
    cpSync(join(FOLDER, name), join(folder, name), { recursive: true })
  return folder
}

async function run(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}
