// A page of a user's projects reads no rows of other users, however many newer projects they have.
import pg from 'pg'
import t from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { listProjects } from '../../services/projects/projects.ts'
import { insertUser } from '../../services/users/users.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { addProjects, captured, rowsScanned } from '../support/database/scanned-rows.ts'

const own = 1_000
const newer = 20_000
const limit = 20

t.test('the statistics are from before the newer projects of others', async (t) => {
  const { url } = await createTestDatabase(t)
  const database = openDatabase({ url, poolSize: 1 })
  t.teardown(() => database.close())
  const [ada, bob] = await database.transaction(async (tx) => {
    const user = { emailVerified: true, role: 'user' as const }
    return [
      await insertUser(tx, { ...user, email: 'ada@example.com', name: 'Ada' }),
      await insertUser(tx, { ...user, email: 'bob@example.com', name: 'Bob' }),
    ]
  })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  await addProjects(client, { userId: ada.id, prefix: 'prj_a', count: own })
  await client.query('ANALYZE projects, members')
  await addProjects(client, { userId: bob.id, prefix: 'prj_b', count: newer })

  const page = { page: 1, limit, sort: 'created_at', order: 'desc' } as const
  const principal = { userId: ada.id, projectIds: null }
  const call = await captured((db) => listProjects(db as never, principal as never, page as never))
  t.equal((await client.query(call.statement.text, call.values)).rows.length, limit + 1)
  const scanned = await rowsScanned(client, call, /^(projects|members)$/)
  t.ok(scanned <= 3 * limit, `${scanned} rows`)
})
