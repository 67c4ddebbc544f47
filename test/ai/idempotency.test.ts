// Chats that are repeated with their Idempotency-Key: after a disconnect, a cancel, a regeneration, a crash
// of the server, and by a caller who may no longer read the answer.
import t from 'tap'
import { insertApiKey } from '../../services/users/api-keys.ts'
import { defaultScopes } from '../../services/users/scopes.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { collect, waitUntilIdle, startChatFixture, streamChat, textOf } from '../support/ai/chat.ts'

const fixture = await startChatFixture(t, { env: { DATABASE_POOL_SIZE: '3' } })
const { server, modelServer, person } = fixture
const { database } = server.services
const slow = { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 50 }
const keyed = (key: string) => ({ 'idempotency-key': key })
const ask = async (key: string, body: object, { client } = person) =>
  await client.call('POST', '/ai/chat', { body, headers: keyed(key) })

t.test('after a disconnect the request generates a new answer', async (t) => {
  modelServer.script = slow
  const opened = await streamChat(fixture, person, { message: 'Count!' }, keyed('broken'))
  await opened.next()
  await opened.next()
  await opened.close()
  await waitUntilIdle(fixture)
  modelServer.script = { answer: 'All of it.' }
  const again = await streamChat(fixture, person, { message: 'Count!' }, keyed('broken'))
  t.equal(again.headers.get('idempotent-replayed'), null)
  t.equal(textOf(await collect(again)), 'All of it.')
})

t.test('after a cancel the canceled message is replayed', async (t) => {
  modelServer.script = slow
  const opened = await streamChat(fixture, person, { message: 'Count!' }, keyed('canceled'))
  const {
    data: { id },
  } = await opened.next()
  t.equal((await person.client.post(`/ai/messages/${id}/cancel`)).status, 200)
  const again = await streamChat(fixture, person, { message: 'Count!' }, keyed('canceled'))
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.match((await collect(again)).at(-1), { event: 'message.completed', data: { id, status: 'canceled' } })
})

t.test(
  'concurrent cancels with an Idempotency-Key do not exhaust the connection pool',
  { timeout: 60_000 },
  async (t) => {
    modelServer.script = slow
    const opened = await Promise.all(
      [1, 2, 3, 4].map(() => streamChat(fixture, person, { message: 'Count!' })),
    )
    const ids = await Promise.all(opened.map(async (stream) => (await stream.next()).data.id))
    const cancels = async () =>
      await Promise.all(
        ids.map((id) => person.client.call('POST', `/ai/messages/${id}/cancel`, { headers: keyed('stop') })),
      )
    const first = await cancels()
    t.same(
      first.map(({ status, body }) => [status, body.status]),
      ids.map(() => [200, 'canceled']),
    )
    const second = await cancels()
    t.same(
      second.map(({ status, body }) => [status, body]),
      first.map(({ status, body }) => [status, body]),
    )
    t.ok(second.every(({ headers }) => headers.get('idempotent-replayed') === 'true'))
    t.equal(
      (await person.client.call('POST', `/ai/messages/${ids[0]}/cancel`, { headers: keyed('other') })).status,
      200,
      'the message is canceled, as requested',
    )
    const withoutKey = await person.client.post(`/ai/messages/${ids[0]}/cancel`)
    t.equal(withoutKey.status, 200)
    t.equal(withoutKey.headers.get('idempotent-replayed'), null)
    modelServer.script = {}
    const { body: completed } = await person.client.post('/ai/chat', { message: 'Hi' })
    t.equal(
      (await person.client.call('POST', `/ai/messages/${completed.id}/cancel`, { headers: keyed('late') }))
        .status,
      409,
    )
  },
)

t.test('a regenerated answer is replayed instead of the first one', async (t) => {
  modelServer.script = { answer: 'First.' }
  const { body: first } = await ask('replaced', { message: 'Hi' })
  modelServer.script = { answer: 'Second.' }
  const second = await person.client.post(`/ai/messages/${first.id}/regenerate`, {})
  t.equal(second.status, 200)
  const again = await ask('replaced', { message: 'Hi' })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.same(again.body, second.body)
  const {
    body: {
      data: [, question],
    },
  } = await person.client.get(`/ai/sessions/${first.session_id}/messages`)
  await person.client.put(`/ai/messages/${question.id}`, { content: 'Ho' })
  t.match(await ask('replaced', { message: 'Hi' }), {
    status: 409,
    body: { error: { code: 'CONFLICT', details: { constraint: 'removed' } } },
  })
  t.equal((await person.client.get(`/ai/sessions/${first.session_id}`)).body.message_count, 1)
})

t.test('an answer is replayed only to a caller who may read it', async (t) => {
  modelServer.script = { answer: 'It is a secret.' }
  await ask('mine', { message: 'Hi' })
  const owner = await server.person()
  const {
    body: { id: project },
  } = await owner.client.post('/projects', { name: 'Harbour' })
  const membership = await createMember(server, project, person.id, 'editor')
  const limited = await database.transaction((tx) =>
    insertApiKey(tx, 'test', {
      userId: person.id,
      name: 'limited',
      scopes: defaultScopes('user'),
      projectIds: [project],
      expiresAt: null,
    }),
  )
  const client = createClient(server.url, limited.key)
  t.equal(
    (await ask('mine', { message: 'Hi' }, { ...person, client })).status,
    403,
    'a key that is limited to a project',
  )
  const { body: session } = await person.client.post('/ai/sessions', { project_id: project })
  const body = { message: 'Hi', session_id: session.id }
  t.equal((await ask('theirs', body)).status, 200)
  t.equal((await ask('theirs', body, { ...person, client })).headers.get('idempotent-replayed'), 'true')
  await owner.client.delete(`/projects/${project}/members/${membership}`)
  for (const by of [person.client, client])
    t.equal((await ask('theirs', body, { ...person, client: by })).status, 403, 'a removed member')
})

t.test('after a crash of the server the request generates a new answer', async (t) => {
  modelServer.script = { answer: 'Alive.' }
  const { body: dead } = await ask('died', { message: 'Hi' })
  await database.prisma.message.update({
    where: { id: dead.id },
    data: { status: 'in_progress', heartbeatAt: new Date(Date.now() - 60_000) },
  })
  const again = await ask('died', { message: 'Hi' })
  t.equal(again.status, 200)
  t.not(again.body.id, dead.id)
  t.equal((await person.client.get(`/ai/messages/${dead.id}`)).body.status, 'failed')
})
