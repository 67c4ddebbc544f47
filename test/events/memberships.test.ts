// Pages of the event log of callers with many memberships: the events are right wherever the reading in the
// order of the log ends, and a page costs the same for 10 and for 10,000 memberships.
import pg from 'pg'
import t, { type Test } from 'tap'
import * as sql from '../../generated/sql/events.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { insertUser } from '../../services/users/users.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { addProjects, captured, rowsScanned } from '../support/database/scanned-rows.ts'

const limit = 21

/** A database with projects of one owner. */
async function withProjects(t: Test, count: number): Promise<{ client: pg.Client; url: string }> {
  const { url } = await createTestDatabase(t)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  // Without statistics, until a test makes some.
  await client.query('ALTER TABLE members SET (autovacuum_enabled = false)')
  await addProjects(client, { userId: await addUser(url, 'owner'), prefix: 'prj_', count })
  return { client, url }
}

async function addUser(url: string, name: string): Promise<string> {
  const database = openDatabase({ url, poolSize: 1 })
  const user = await database.transaction((tx) =>
    insertUser(tx, { email: `${name}@example.com`, emailVerified: true, name, role: 'user' }),
  )
  await database.close()
  return user.id
}

/** Adds the user to every project whose number `n` fulfils the condition. */
async function join(client: pg.Client, userId: string, projects: string): Promise<void> {
  await client.query(
    `INSERT INTO members (id, project_id, user_id, role, updated_at)
    SELECT 'mem_' || n || $1::text, 'prj_' || n, $1,
      CASE WHEN n % 2 = 0 THEN 'viewer' ELSE 'editor' END::"MemberRole", now()
    FROM (SELECT substr(id, 5)::int AS n FROM projects) p WHERE ${projects}`,
    [userId],
  )
}

/** Adds events of the projects in turns; one of three needs the role editor. */
async function addEvents(client: pg.Client, count: number, project: string): Promise<void> {
  await client.query(
    `INSERT INTO events (id, sequence, type, project_id, scope, role, data)
    SELECT 'evt_' || n, n, CASE WHEN n % 5 = 0 THEN 'project.created' ELSE 'project.updated' END,
      'prj_' || (${project}), 'projects:read',
      CASE WHEN n % 3 = 0 THEN 'editor' ELSE 'viewer' END::"MemberRole", '{}'
    FROM generate_series(1, ${count}) n`,
  )
  await client.query(`UPDATE event_log SET last_sequence = ${count}`)
}

const parametersOf = (userId: string) => ({
  user_id: userId,
  limit,
  scopes: ['projects:read'],
  types: null as string[] | null,
  project_ids: null,
  all_projects: true,
  in_project: false,
  operator: false,
  max_scan: 100_000,
  first_block: 100,
  unlimited_key_types: [],
})

type Parameters = ReturnType<typeof parametersOf>

const forward = (parameters: Parameters, after: number) => (db: any) =>
  sql.readEvents(db, { ...parameters, after })

const backward = (parameters: Parameters, before: number) => (db: any) =>
  sql.readEventsBackward(db, { ...parameters, before })

t.test('pages have the same events, however far the log is read in its order', async (t) => {
  const events = 1_200
  const { client, url } = await withProjects(t, 400)
  await addEvents(client, events, '1 + abs(hashint4(n)) % 400')
  await client.query('UPDATE event_log SET removed_through = 300')
  await client.query('DELETE FROM events WHERE sequence <= 300')
  const sequences = async (read: (db: unknown) => Promise<unknown>): Promise<number[]> => {
    const { statement, values } = await captured(read)
    const { rows } = await client.query(statement.text, values)
    return rows.map(({ sequence }) => Number(sequence)).filter((sequence) => sequence > 0)
  }
  for (const memberships of [3, 40, 150, 400]) {
    const userId = await addUser(url, `caller-${memberships}`)
    await join(client, userId, `n % ${400 / memberships} < 1`)
    for (const types of [null, ['project.created']]) {
      const { rows } = await client.query(
        `SELECT e.sequence FROM events e JOIN members m ON m.project_id = e.project_id
        WHERE m.user_id = $1 AND m.role <= e.role AND ($2::text[] IS NULL OR e.type = ANY ($2)) ORDER BY 1`,
        [userId, types],
      )
      const all = rows.map(({ sequence }) => Number(sequence))
      t.ok(types !== null || all.length > 0)
      for (const first_block of [1, 100]) {
        const parameters = { ...parametersOf(userId), types, first_block }
        const name = `${memberships} memberships, ${types}, first block of ${first_block}`
        const found: number[] = []
        for (let after = 0; after < events;) {
          const page = await sequences(forward(parameters, after))
          found.push(...page.slice(0, limit - 1))
          after = page.length < limit ? events : page[limit - 2]
        }
        t.same(found, all, `${name}: forward`)
        const foundBackward: number[] = []
        for (let before = events + 1; before > 0;) {
          const page = await sequences(backward(parameters, before))
          foundBackward.push(...page.slice(0, limit - 1))
          before = page.length < limit ? 0 : page[limit - 2]
        }
        t.same(foundBackward, [...all].reverse(), `${name}: backward`)
      }
    }
  }
})

t.test('the rows that a page reads are bounded for 10,000 memberships as for 10', async (t) => {
  const projects = 10_000
  const events = 20_000
  const { client, url } = await withProjects(t, projects + 1_000)
  await addEvents(client, events, `1 + n % ${projects}`)
  const callers: Array<{ name: string; userId: string; most: number }> = []
  for (const memberships of [10, 1_000, projects]) {
    const busy = await addUser(url, `busy-${memberships}`)
    await join(client, busy, `n <= ${projects} AND n % ${projects / memberships} = 0`)
    callers.push({ name: `${memberships} memberships`, userId: busy, most: 3_000 })
    if (memberships === projects) continue
    const quiet = await addUser(url, `quiet-${memberships}`)
    await join(client, quiet, `n > ${projects} AND n % ${1_000 / memberships} = 0`)
    // Looks into each partition, for each membership.
    const most = 12 * memberships + 200
    callers.push({ name: `${memberships} memberships of projects without events`, userId: quiet, most })
  }
  for (const analyzed of [false, true]) {
    if (analyzed) await client.query('ANALYZE')
    for (const { name, userId, most } of callers)
      for (const [direction, read] of Object.entries({
        forward: forward(parametersOf(userId), 0),
        backward: backward(parametersOf(userId), events + 1),
      })) {
        const { statement, values } = await captured(read)
        const scanned = await rowsScanned(client, { statement, values }, /^(events|members)/, { looks: true })
        const statistics = analyzed ? 'with statistics' : 'without statistics'
        t.ok(scanned <= most, `${name}, ${direction}, ${statistics}: ${scanned} rows and looks`)
      }
  }
})
