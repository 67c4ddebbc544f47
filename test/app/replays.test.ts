// An answer that is stored for an Idempotency-Key is returned only to a caller who may do the operation now.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { createApiKey, createMember } from '../support/database/db-fixtures.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const headers = { 'idempotency-key': 'once' }

t.test('a key that is limited to some projects gets only answers of these projects', async (t) => {
  const { client, id } = await server.person()
  const [one, two] = [
    (await client.post('/projects', { name: 'one' }, { headers })).body.id,
    (await client.post('/projects', { name: 'two' })).body.id,
  ]
  const { secret } = await createApiKey(server, id, { projectIds: [one] })
  const limited = createClient(server.url, secret)
  t.equal((await limited.post('/projects', { name: 'one' }, { headers })).status, 403)
  for (const [where, status] of [
    [one, 201],
    [two, 403],
    [undefined, 403],
  ] as const) {
    const body = { name: 'Handbook', project_id: where }
    const key = { headers: { 'idempotency-key': `in-${where}` } }
    const first = await client.post('/ai/knowledge', body, key)
    t.equal(first.status, 201)
    const replayed = await limited.post('/ai/knowledge', body, key)
    t.equal(replayed.status, status, `${where}`)
    t.equal(replayed.text.includes(first.body.id), status === 201)
    t.equal((await client.post('/ai/knowledge', body, key)).text, first.text)
  }
})

t.test('a member who was removed, or has a lower role now, gets no stored answer', async (t) => {
  const [owner, member] = [await server.person(), await server.person()]
  const { id: project } = (await owner.client.post('/projects', { name: 'x' })).body
  const memberId = await createMember(server, project, member.id, 'admin')
  const requests = [
    ['/ai/knowledge', { name: 'Handbook', project_id: project }],
    [`/projects/${project}/members`, { email: 'invited@example.com', role: 'viewer' }],
    ['/ai/sessions', { project_id: project, title: 'Chat' }],
  ] as const
  const repeat = () =>
    Promise.all(requests.map(async ([path, body]) => await member.client.post(path, body, { headers })))
  t.same(
    (await repeat()).map(({ status }) => status),
    [201, 202, 201],
  )
  const replayed = await repeat()
  t.same(
    replayed.map(({ status, headers }) => [status, headers.get('idempotent-replayed')]),
    [201, 202, 201].map((status) => [status, 'true']),
  )
  await owner.client.put(`/projects/${project}/members/${memberId}`, { role: 'viewer' })
  t.same(
    (await repeat()).map(({ status }) => status),
    [403, 403, 403],
    'a viewer',
  )
  await owner.client.delete(`/projects/${project}/members/${memberId}`)
  const refused = await repeat()
  t.ok(refused.every(({ status, text }) => status === 403 && !text.includes('invited@example.com')))
})
