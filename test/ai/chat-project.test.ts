// Chats about a project: which knowledge bases are searched, filters, access, and what the answer says about
// the search.
import t from 'tap'
import { createApiKey, createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { openStream } from '../support/http/event-stream.ts'
import { collect } from '../support/ai/chat.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import { createServiceAccount } from '../support/operations/operation-fixtures-organizations.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
startDocumentWorker(t, server)
const ada = await server.person()
const { id: projectId } = (await ada.client.post('/projects', { name: 'Harbor' })).body
const { id: emptyId } = (await ada.client.post('/projects', { name: 'Empty' })).body

async function addBase(person: Person, texts: Record<string, string>, project?: string): Promise<string> {
  const { body } = await person.client.post('/ai/knowledge', { name: 'Base', project_id: project })
  for (const [name, text] of Object.entries(texts))
    await person.client.post(`/ai/knowledge/${body.id}/documents`, { name, text, metadata: { file: name } })
  await waitUntil(
    async () =>
      (await person.client.get(`/ai/knowledge/${body.id}`)).body.document_counts.ready ===
      Object.keys(texts).length,
    'the documents to be ready',
  )
  return body.id
}

const bases = [
  await addBase(
    ada,
    { 'tides.md': 'The tide turns at seven.', 'ferry.md': 'The ferry leaves at nine.' },
    projectId,
  ),
  await addBase(ada, { 'crane.md': 'The crane lifts forty tons.' }, projectId),
]

const ask = async (body: object, { client }: Person = ada) => await client.post('/ai/chat', body)
const newestFirst = bases.toReversed()

t.test('project_id searches all knowledge bases of the project', async (t) => {
  const { status, body } = await ask({ message: 'When does the tide turn?', project_id: projectId })
  t.equal(status, 200)
  t.match(body.message.content, /The tide turns at seven/)
  t.same(body.searched.knowledge_base_ids, newestFirst)
  t.ok(body.searched.passages > 0)
  const { body: message } = await ada.client.get(`/ai/messages/${body.id}`)
  t.same(message.searched, body.searched, 'the message says the same')
  t.equal(message.project_id, projectId, 'the new session belongs to the project')
  const { body: messages } = await ada.client.get(`/ai/sessions/${body.session_id}/messages?order=asc`)
  t.same(
    messages.data.map(({ role, searched }: any) => [role, searched]),
    [
      ['user', null],
      ['assistant', body.searched],
    ],
  )
  const again = await ada.client.post(`/ai/messages/${body.id}/regenerate`, {
    project_id: projectId,
    filters: { metadata: { file: 'crane.md' } },
  })
  t.match(again.body.message.content, /found nothing|crane/)
  t.same(again.body.searched.knowledge_base_ids, newestFirst)
  const { body: events } = await ada.client.get('/events?type=chat.completed')
  t.same(events.data.at(-1).data.object.searched, again.body.searched, 'the event says the same')
})

t.test('knowledge_base_ids of the project, and a session of it, narrow the search', async (t) => {
  const question = { message: 'What does the crane lift?', project_id: projectId }
  const one = await ask({ ...question, knowledge_base_ids: [bases[1]] })
  t.same(one.body.searched.knowledge_base_ids, [bases[1]])
  const { session_id } = one.body
  const next = await ask({ message: 'When does the ferry leave?', session_id, project_id: projectId })
  t.match(next.body.message.content, /The ferry leaves at nine/)
  const own = await addBase(ada, { 'own.md': 'The attic is dusty.' })
  const foreign = await ask({ ...question, knowledge_base_ids: [own] })
  t.equal(foreign.status, 400)
  t.match(foreign.body.error.details, { field: 'knowledge_base_ids', constraint: 'project' })
  const other = await ask({ message: 'x', session_id, project_id: emptyId })
  t.equal(other.status, 400)
  t.match(other.body.error.details, { field: 'project_id', constraint: 'project' })
  const { body: session } = await ada.client.post('/ai/sessions', { title: 'Mine' })
  const mine = await ask({
    message: 'When does the tide turn?',
    session_id: session.id,
    project_id: projectId,
  })
  t.match(mine.body.message.content, /seven/, 'a personal session can search a project')
  t.equal((await ada.client.get(`/ai/sessions/${session.id}`)).body.project_id, null)
})

t.test('filters restrict the search, with messages, too', async (t) => {
  const messages = [{ role: 'user', content: 'When does the ferry leave?' }]
  for (const [file, names] of [
    ['ferry.md', ['ferry.md']],
    ['tides.md', []],
  ] as const) {
    const { body } = await ask({ messages, project_id: projectId, filters: { metadata: { file } } })
    t.same(
      body.message.citations.map(({ name }: any) => name),
      names,
    )
    t.equal(body.searched.passages, names.length)
  }
  const either = {
    or: [{ metadata: { file: { in: ['crane.md'] } } }, { not: { metadata: { file: { gt: 'd' } } } }],
  }
  const { body } = await ask({ message: 'What does the crane lift?', project_id: projectId, filters: either })
  t.same(
    body.message.citations.map(({ name }: any) => name),
    ['crane.md'],
  )
  const deep = { not: { not: { not: { not: {} } } } }
  const sessions = async (): Promise<number> =>
    (await ada.client.get('/ai/sessions?project_id=*')).body.pagination.total
  const before = await sessions()
  const refused = await ask({ message: 'x', project_id: projectId, filters: deep })
  t.equal(refused.status, 400)
  t.match(refused.body.error.details, { field: 'filters.not.not.not.not', constraint: 'maxDepth' })
  t.equal(
    (await ada.client.post(`/ai/knowledge/${bases[0]}/search`, { query: 'x', filters: deep })).status,
    400,
  )
  t.equal(await sessions(), before, 'the refused chat leaves no session')
  const invalid = await ask({ messages, project_id: projectId, filters: { language: 'en' } })
  t.equal(invalid.status, 400)
  t.equal(invalid.body.error.details.field, 'filters.language')
})

t.test('a stream and its replay say what was searched', async (t) => {
  const body = { message: 'When does the tide turn?', project_id: projectId }
  const path = '/ai/chat/stream'
  const headers = { 'idempotency-key': 'streamed' }
  const first = await collect(await openStream(server.url, ada.key, { path, post: body, headers }))
  t.same(first[0].data.searched, { knowledge_base_ids: newestFirst, passages: 0 })
  const { searched } = first.at(-1)!.data
  t.same(searched.knowledge_base_ids, newestFirst)
  t.ok(searched.passages > 0)
  const replayed = await collect(await openStream(server.url, ada.key, { path, post: body, headers }))
  t.same(replayed[0].data.searched, first[0].data.searched)
  t.same(replayed.at(-1)!.data.searched, searched)
})

t.test('an answer says that nothing was searched', async (t) => {
  const { body } = await ask({ message: 'When does the tide turn?', project_id: emptyId })
  t.equal(body.searched, null)
  t.match(body.message.content, /^I searched no documents: .*`knowledge_base_ids` or `project_id`/)
  t.equal((await ada.client.get(`/ai/messages/${body.id}`)).body.searched, null)
  const bob = await server.person()
  t.equal((await ask({ message: 'When does the tide turn?' }, bob)).body.searched, null)
})

t.test('only those who may read the project can search it', async (t) => {
  const message = 'When does the tide turn?'
  const assertRefused = async (person: Person, body: object, status: number): Promise<void> => {
    for (const path of ['/ai/chat', '/ai/chat/stream']) {
      const reply = await person.client.post(path, { message, ...body })
      t.equal(reply.status, status, path)
      t.equal(reply.body.error.details.field, 'project_id', path)
    }
  }
  const bob = await server.person()
  await assertRefused(bob, { project_id: projectId }, 403)
  await assertRefused(bob, { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' }, 404)
  t.equal((await bob.client.get('/ai/sessions')).body.pagination.total, 0, 'no session is created')
  await createMember(server, projectId, bob.id, 'viewer')
  await assertRefused(bob, { project_id: projectId }, 403)
  const messages = [{ role: 'user', content: message }]
  t.match((await ask({ messages, project_id: projectId }, bob)).body.message.content, /seven/)
  const { body: session } = await bob.client.post('/ai/sessions', { title: 'Mine' })
  const read = await ask({ message, session_id: session.id, project_id: projectId }, bob)
  t.match(read.body.message.content, /seven/, 'a viewer searches in a personal session')
})

t.test('an API key that is restricted to projects searches only these', async (t) => {
  const cid = await server.person({ projectIds: [projectId] })
  t.equal((await ask({ message: 'x', project_id: projectId }, cid)).status, 403, 'not a member')
  await createMember(server, projectId, cid.id, 'editor')
  const { status, body } = await ask({ message: 'When does the tide turn?', project_id: projectId }, cid)
  t.equal(status, 200)
  t.same(body.searched.knowledge_base_ids, newestFirst)
  t.equal((await cid.client.get(`/ai/messages/${body.id}`)).status, 200)
  const other = await ask({ message: 'x', project_id: emptyId }, cid)
  t.equal(other.status, 403)
  t.equal(other.body.error.details.field, 'project_id')
  t.equal((await ask({ message: 'x' }, cid)).status, 403)
})

t.test('an answer without a session is read with the project of its request', async (t) => {
  const body = { messages: [{ role: 'user', content: 'When does the tide turn?' }], project_id: projectId }
  const headers = { 'idempotency-key': 'unstored' }
  const robot = await createServiceAccount(server, { project_id: projectId })
  for (const [subject, userId, projectIds] of [
    ['a key for the project', ada.id, [projectId]],
    ['a service account', robot.userId, null],
  ] as const) {
    const { secret } = await createApiKey(server, userId, { projectIds: projectIds && [...projectIds] })
    const client = createClient(server.url, secret)
    const asked = await client.call('POST', '/ai/chat', { body, headers })
    t.equal(asked.status, 200, subject)
    const path = `/ai/messages/${asked.body.id}`
    t.match(await client.get(path), { status: 200, body: { project_id: null } }, subject)
    const events = await collect(await openStream(server.url, secret, { path: `${path}/stream` }))
    t.equal(events.at(-1)!.event, 'message.completed', subject)
    t.equal((await client.call('POST', '/ai/chat', { body, headers })).body.id, asked.body.id, subject)
    t.equal((await client.post(`${path}/cancel`)).status, 409, `${subject}: it has ended`)
    const explained = await client.post('/explain', { method: 'GET', path: `/v1${path}` })
    t.match(explained, projectIds === null ? { body: { allowed: true } } : { status: 403 }, subject)
    const others = await createApiKey(server, userId, { projectIds: [emptyId] })
    t.equal((await createClient(server.url, others.secret).get(path)).status, 403, subject)
  }
})
