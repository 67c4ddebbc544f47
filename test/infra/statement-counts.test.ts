// How many SQL statements a request costs. A transaction counts with its BEGIN and COMMIT.
import t from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('the hottest requests send no more statements than their work needs', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  await waitUntil(() => server.services.principals.listening)
  // Statements of background work, such as keeping last_used_at, are no request's.
  const count = async (work: () => Promise<unknown>): Promise<string[]> => {
    server.statements.length = 0
    await work()
    return server.statements.filter((text) => !/last_used_at|^SELECT 1$|LISTEN|number_events/.test(text))
  }
  const { body: project } = await client.post('/projects', { name: 'warm' })

  t.test('GET /projects/{id} is 1 with a warm key', async (t) => {
    t.equal((await count(() => client.get(`/projects/${project.id}`))).length, 1)
  })
  t.test('GET /projects/{id} is 2 with a cold key', async (t) => {
    const cold = await server.person()
    await createMember(server, project.id, cold.id, 'viewer')
    t.equal((await count(() => cold.client.get(`/projects/${project.id}`))).length, 2)
  })
  t.test('GET /projects is 1, total included, with filters or without', async (t) => {
    t.equal((await count(() => client.get('/projects'))).length, 1)
    t.equal((await count(() => client.get('/projects?status=active&category=ai&q=x&sort=name'))).length, 1)
  })
  t.test('GET /projects costs the same for 1 project and for 30', async (t) => {
    for (let i = 0; i < 30; i++) await client.post('/projects', { name: `p${i}` })
    t.equal((await count(() => client.get('/projects?limit=100'))).length, 1)
  })
  t.test('POST /projects is at most one transaction of 4', async (t) => {
    const sent = await count(() => client.post('/projects', { name: 'x' }))
    t.ok(sent.length <= 4, sent.join('\n'))
  })
  t.test('PUT /projects/{id} is a transaction of a lock, a read, a write and its event', async (t) => {
    const sent = await count(() => client.put(`/projects/${project.id}`, { name: 'y' }))
    t.equal(sent.length, 6, sent.join('\n'))
  })
  t.test('GET /projects/{id}/members sends 2 statements for any number of members', async (t) => {
    t.equal((await count(() => client.get(`/projects/${project.id}/members`))).length, 2)
  })
  t.test('a request that is refused before its work sends none', async (t) => {
    t.same(await count(() => client.post('/projects', { name: '' })), [])
    t.same(
      await count(() => client.get('/projects', { headers: { authorization: 'Bearer plat_live_nonsense' } })),
      [],
    )
  })
})

t.test('a list is planned for what is looked for, however wide the searches before it were', async (t) => {
  const server = await startServer(t, { env: { DATABASE_POOL_SIZE: '1' } })
  const { client } = server.admin
  for (let i = 0; i < 7; i++) {
    for (const path of [
      '/projects?q=x',
      '/projects?tag=x',
      '/users?q=x',
      '/storage/files?q=x',
      '/storage/files?tag=x',
      '/projects',
      '/storage/files',
    ]) {
      t.equal((await client.get(path)).status, 200, path)
    }
  }
  const { rows } = await server.services.database.pool.query<{ statement: string }>(
    "SELECT statement FROM pg_prepared_statements WHERE statement ~ 'LIKE|tags @>'",
  )
  t.same(rows, [], 'none is prepared')
  const {
    rows: [{ n }],
  } = await server.services.database.pool.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_prepared_statements WHERE statement ~ 'project_counts|storage_usage'",
  )
  t.equal(n, 2, 'and the lists of everything are')
})
