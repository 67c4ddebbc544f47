// A page of a user with few rows reads few rows, also while another user has nearly all rows of the table.
import pg from 'pg'
import t, { type Test } from 'tap'
import { listFiles } from '../../generated/sql/storage.ts'
import { listProjects } from '../../generated/sql/projects.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { insertUser } from '../../services/users/users.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { addProjects, captured, rowsScanned } from '../support/database/scanned-rows.ts'

const many = 60_000
const page = { limit: 20, page: 1, cursor: undefined, sort: 'created_at', order: 'desc' } as const

/** Two users. The first has many projects and files, the second has three of each. */
async function fill(t: Test): Promise<{ client: pg.Client; users: string[] }> {
  const { url } = await createTestDatabase(t)
  const database = openDatabase({ url, poolSize: 1 })
  const users = await database.transaction(async (tx) => {
    const named = ['ada', 'bob'].map((name) => ({ email: `${name}@example.com`, name }))
    const ids: string[] = []
    for (const { email, name } of named)
      ids.push((await insertUser(tx, { email, emailVerified: true, name, role: 'user' })).id)
    return ids
  })
  await database.close()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  for (const [i, user] of users.entries()) {
    const count = i === 0 ? many : 3
    await addProjects(client, { userId: user, prefix: `prj_${i}_`, count })
    await client.query(
      `INSERT INTO files
        (id, owner_id, workspace_id, name, content_type, bytes, sha256, blob_key, updated_at)
      SELECT 'file_' || $2 || '_' || n, $1, $1, 'a.txt', 'text/plain', 1, repeat('0', 64),
        $2 || '_' || n, now()
      FROM generate_series(1, ${count}) n`,
      [user, i],
    )
  }
  await client.query('ANALYZE')
  return { client, users }
}

t.test('lists of a user with few rows', async (t) => {
  const { client, users } = await fill(t)
  for (const [i, user] of users.entries()) {
    const lists = {
      projects: (db: any) => listProjects(db, { ...page, user_id: user }),
      files: (db: any) => listFiles(db, { ...page, workspace_id: user }),
    }
    for (const [name, list] of Object.entries(lists)) {
      const call = await captured(list)
      const scanned = await rowsScanned(client, call, /^(members|projects|files)$/)
      t.ok(scanned < 500, `${name} of ${i === 0 ? 'the large' : 'the small'} owner: ${scanned} rows`)
    }
  }
})
