import t from 'tap'
import { startServer } from '../support/server.ts'

t.test('a project is made, read, changed and listed', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const made = await client.post('/projects', { name: 'Launch', description: 'x', tags: ['a'], category: 'ai' })
  t.equal(made.status, 201)
  t.match(made.body, { name: 'Launch', description: 'x', tags: ['a'], category: 'ai', status: 'active', member_count: 1, your_role: 'owner', version: 1 })
  const got = await client.get(`/projects/${made.body.id}`)
  t.same(got.body, made.body)
  t.equal(got.headers.get('etag'), made.headers.get('etag'))
  const list = await client.get('/projects')
  t.same(list.body, { data: [made.body], pagination: { page: 1, limit: 20, total: 1, total_pages: 1 } })
})
