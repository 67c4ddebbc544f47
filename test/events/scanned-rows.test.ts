// A page of the event log reads no more rows than its entries need, however the events lie in the log.
import pg from 'pg'
import t from 'tap'
import * as sql from '../../generated/sql/events.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { insertUser } from '../../services/users/users.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { addProjects, captured, rowsScanned } from '../support/database/scanned-rows.ts'

const projects = 200
const events = 20_000
const limit = 21

t.test('a page of a user with many projects, one of which has all events', async (t) => {
  const { url } = await createTestDatabase(t)
  const database = openDatabase({ url, poolSize: 1 })
  t.teardown(() => database.close())
  const user = await database.transaction((tx) =>
    insertUser(tx, { email: 'ada@example.com', emailVerified: true, name: 'Ada', role: 'user' }),
  )
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  await addProjects(client, { userId: user.id, prefix: 'prj_', count: projects })
  await client.query(
    `INSERT INTO events (id, sequence, type, project_id, scope, role, data)
    SELECT 'evt_' || n, n, 'project.updated', 'prj_1', 'projects:read', 'viewer', '{}'
    FROM generate_series(1, ${events}) n`,
  )
  await client.query(`UPDATE event_log SET last_sequence = ${events}`)
  await client.query('ANALYZE')

  const parameters = {
    user_id: user.id,
    limit,
    scopes: ['projects:read'],
    types: null,
    project_ids: null,
    all_projects: true,
    in_project: false,
    operator: false,
    max_scan: 100_000,
    first_block: 100,
    unlimited_key_types: [],
  }
  for (const [name, read] of Object.entries({
    forward: (db: any) => sql.readEvents(db, { ...parameters, after: 0 }),
    backward: (db: any) => sql.readEventsBackward(db, { ...parameters, before: events + 1 }),
  })) {
    const { statement, values } = await captured(read)
    t.equal((await client.query(statement.text, values)).rows.length, limit, name)
    const scanned = await rowsScanned(client, { statement, values }, /^events/)
    t.ok(scanned <= 5 * limit, `${name}: ${scanned} rows of events`)
  }
})
