import t from 'tap'
import { startServer } from '../support/server/server.ts'
import { apiErrorOf } from '../support/http/typed-client.ts'

t.test('a project is created, read, updated and listed', async (t) => {
  const server = await startServer(t)
  const { api } = await server.person()
  const { data: made, response } = await api
    .createProject({ body: { name: 'Launch', description: 'x', tags: ['a'], category: 'ai' } })
    .withResponse()
  t.equal(response.status, 201)
  t.match(made, {
    name: 'Launch',
    description: 'x',
    tags: ['a'],
    category: 'ai',
    status: 'active',
    member_count: 1,
    your_role: 'owner',
    version: 1,
  })
  const got = await api.getProject({ path: { id: made.id } }).withResponse()
  t.same(got.data, made)
  t.equal(got.response.headers.get('ETag'), response.headers.get('ETag'))
  t.same(await api.listProjects(), {
    data: [made],
    pagination: { page: 1, limit: 20, total: 1, total_pages: 1, next_cursor: null, has_more: false },
  })

  const changed = await api.updateProject({
    path: { id: made.id },
    headers: { 'If-Match': response.headers.get('ETag')! },
    body: { description: null },
  })
  t.same(changed, { ...made, description: null, version: 2, updated_at: changed.updated_at })
  t.match(
    await apiErrorOf(
      api.updateProject({
        path: { id: made.id },
        headers: { 'If-Match': response.headers.get('ETag')! },
        body: { name: 'Lost' },
      }),
    ),
    { status: 412, code: 'PRECONDITION_FAILED' },
  )
  t.same(await api.getProject({ path: { id: made.id } }), changed)
})

t.test('a written project is the one that a read returns, with its ETag', async (t) => {
  const server = await startServer(t)
  const { api } = await server.person()
  // PostgreSQL sorts the keys of metadata by their length in bytes.
  const metadata = { bb: '1', a: '2', é: '3', ccc: '4', B: '5', '10': '6', '2': '7', '😀': '8' }
  const made = await api.createProject({ body: { name: 'Launch', metadata } }).withResponse()
  const path = { id: made.data.id }
  const read = await api.getProject({ path }).withResponse()
  t.equal(JSON.stringify(made.data), JSON.stringify(read.data))
  t.equal(made.response.headers.get('ETag'), read.response.headers.get('ETag'))
  const changes = [{ metadata: { zz: '1', y: '2' } }, { name: 'Other' }, { tags: ['b', 'a'], category: null }]
  for (const body of changes) {
    const changed = await api.updateProject({ path, body }).withResponse()
    const after = await api.getProject({ path }).withResponse()
    t.equal(JSON.stringify(changed.data), JSON.stringify(after.data))
    t.equal(changed.response.headers.get('ETag'), after.response.headers.get('ETag'))
  }
})
