// Two tenants with similar documents: answers, searches, citations and histories of one never contain words
// of the other. A member who is removed from a project gets nothing of the project from the next answer on.
import t from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { startModelServer } from '../../scripts/bench/model-server.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import { waitUntil } from '../support/server/wait.ts'
import { runRetention } from '../support/database/retention.ts'
import { chatRetentionTasks, staleAnswerTasks } from '../../services/ai/chat/retention.ts'

const env = { RATE_LIMIT_AI: '1000000' }
const server = await startServer(t, { env })
startDocumentWorker(t, server)

/** Creates a knowledge base with one document that names the place of the treasure. */
async function addTreasure({ client }: Person, place: string, projectId?: string): Promise<string> {
  const {
    body: { id },
  } = await client.post('/ai/knowledge', {
    name: 'Treasures',
    ...(projectId !== undefined && { project_id: projectId }),
  })
  await client.post(`/ai/knowledge/${id}/documents`, {
    name: 'treasure.md',
    text: `# The treasure\n\nThe golden treasure of the harbour lies under the ${place}, and nowhere else.`,
  })
  await waitUntil(
    async () => (await client.get(`/ai/knowledge/${id}`)).body.document_counts.ready === 1,
    'the document to be parsed',
  )
  return id
}

const question = 'Where does the golden treasure of the harbour lie?'

t.test('two tenants never see words of each other', async (t) => {
  const [ada, bob] = [await server.person(), await server.person()]
  const [hers, his] = [await addTreasure(ada, 'amber lighthouse'), await addTreasure(bob, 'broken bridge')]
  for (const [person, mine, own, other] of [
    [ada, hers, 'amber', 'broken'],
    [bob, his, 'broken', 'amber'],
  ] as const) {
    const found = await person.client.post(`/ai/knowledge/${mine}/search`, { query: question })
    t.match(found.text, own)
    t.notMatch(found.text, other)
    for (const body of [
      { message: question },
      { message: question, knowledge_base_ids: [mine] },
      { messages: [{ role: 'user', content: question }] },
    ]) {
      const reply = await person.client.post('/ai/chat', body)
      t.match(reply.body.message.content, own, JSON.stringify(body))
      t.ok(reply.body.message.citations.length > 0)
      t.notMatch(reply.text, other)
    }
    const foreign = mine === hers ? his : hers
    t.equal((await person.client.post(`/ai/knowledge/${foreign}/search`, { query: question })).status, 403)
    t.equal(
      (await person.client.post('/ai/chat', { message: question, knowledge_base_ids: [foreign] })).status,
      403,
    )
    t.equal((await person.client.post('/ai/sessions', { knowledge_base_ids: [foreign] })).status, 403)
  }
})

t.test('a member who is removed during a session gets nothing more of the project', async (t) => {
  const modelServer = await startModelServer(t, {
    embeddings: null,
    script: (asked) => ({
      answer: asked.body.messages.some(({ content }: any) => content.includes('cellar'))
        ? 'Under the cellar [1].'
        : 'I do not know.',
    }),
  })
  const server = await startServer(t, { env: { ...env, AI_UPSTREAMS: modelServer.setting } })
  startDocumentWorker(t, server)
  const [owner, member] = [await server.person(), await server.person()]
  const {
    body: { id: project },
  } = await owner.client.post('/projects', { name: 'Harbour' })
  let membership = await createMember(server, project, member.id, 'viewer')
  const base = await addTreasure(owner, 'old cellar', project)
  const own = await addTreasure(member, 'new pier')
  for (const model of ['extractive-1', 'small']) {
    const first = await member.client.post('/ai/chat', {
      message: question,
      knowledge_base_ids: [base, own],
      model,
    })
    t.match(first.text, 'cellar', model)
    const { session_id: session } = first.body
    await member.client.put(`/ai/sessions/${session}`, { knowledge_base_ids: [base, own] })
    await owner.client.delete(`/projects/${project}/members/${membership}`)

    const second = await member.client.post('/ai/chat', {
      message: `Again: ${question}`,
      session_id: session,
      model,
    })
    t.equal(second.status, 200)
    t.notMatch(second.text, 'cellar', `${model}: the next answer`)
    if (model === 'small')
      t.notMatch(
        JSON.stringify(modelServer.requests.at(-1)!.body),
        'cellar',
        'the prompt, including earlier messages',
      )
    t.equal(
      (
        await member.client.post('/ai/chat', {
          message: question,
          session_id: session,
          knowledge_base_ids: [base],
          model,
        })
      ).status,
      403,
    )
    const {
      body: { data },
    } = await member.client.get(`/ai/sessions/${session}/messages`)
    t.notOk(
      data.some(({ citations }: any) => citations.some(({ quote }: any) => quote.includes('cellar'))),
      'the citations of earlier messages are removed',
    )
    t.equal((await member.client.post(`/ai/knowledge/${base}/search`, { query: question })).status, 403)

    membership = await createMember(server, project, member.id, 'viewer')
    t.match(
      (await member.client.post('/ai/chat', { message: question, session_id: session, model })).text,
      'cellar',
      `${model}: access returns with the membership`,
    )
  }
})

t.test('a session of a project uses only knowledge bases of that project', async (t) => {
  const owner = await server.person()
  const {
    body: { id: project },
  } = await owner.client.post('/projects', { name: 'Harbour' })
  const own = await addTreasure(owner, 'attic')
  const refused = await owner.client.post('/ai/sessions', { project_id: project, knowledge_base_ids: [own] })
  t.match(refused, {
    status: 400,
    body: { error: { details: { field: 'knowledge_base_ids', constraint: 'project' } } },
  })
  const { body: session } = await owner.client.post('/ai/sessions', { project_id: project })
  const reply = await owner.client.post('/ai/chat', { message: question, session_id: session.id })
  t.notMatch(reply.text, 'attic', 'without knowledge_base_ids')
  const limited = await server.person({ projectIds: [project] })
  t.equal(
    (await limited.client.post('/ai/chat', { message: question })).status,
    403,
    'an API key for some projects needs a session of one of them',
  )
})

t.test('citations become stale when their document changes or is deleted', async (t) => {
  const { client } = await server.person()
  const { body: base } = await client.post('/ai/knowledge', { name: 'Treasures' })
  const { body: document } = await client.post(`/ai/knowledge/${base.id}/documents`, {
    name: 'treasure.md',
    text: 'Before it 🎉.\n\nThe golden treasure of the harbour lies under the attic.',
  })
  const path = `/ai/knowledge/${base.id}/documents/${document.id}`
  const ready = async (): Promise<true> =>
    await waitUntil(async () => (await client.get(path)).body.status === 'ready', 'the document to be parsed')
  await ready()
  const {
    body: { message },
  } = await client.post('/ai/chat', { message: question })
  const {
    body: { text },
  } = await client.get(`${path}/text`)
  for (const { quote, start_index: start, end_index: end, stale } of message.citations) {
    t.equal(text.slice(start, end), quote)
    t.equal(stale, false)
  }
  await client.post(`${path}/retry`)
  await ready()
  t.equal(
    (await client.get(`/ai/messages/${message.id}`)).body.citations[0].stale,
    false,
    'parsing the same text again',
  )
  await client.put(path, { text: 'Something else is under the attic.' })
  await ready()
  const {
    body: {
      citations: [stale],
    },
  } = await client.get(`/ai/messages/${message.id}`)
  t.match(stale, { stale: true, quote: message.citations[0].quote })
  await client.delete(path)
  t.match((await client.get(`/ai/messages/${message.id}`)).body.citations[0], {
    stale: true,
    document_id: document.id,
  })
  t.notMatch((await client.post('/ai/chat', { message: question })).text, 'attic')
})

t.test('retention deletes unstored messages and the chats of deleted users', async (t) => {
  const server = await startServer(t)
  const { client, id: userId } = await server.person()
  const { prisma } = server.services.database
  const kept = await client.post('/ai/chat', { message: 'Keep this' })
  const unstored = await client.post('/ai/chat', { messages: [{ role: 'user', content: 'Not this' }] })
  const silent = await client.post('/ai/chat', { message: 'Half of this' })
  const old = new Date(Date.now() - 25 * 3_600_000)
  await prisma.message.updateMany({ data: { createdAt: old } })
  await prisma.message.update({
    where: { id: silent.body.id },
    data: { status: 'in_progress', heartbeatAt: old },
  })
  await runRetention(server.services.database, {
    tasks: [...chatRetentionTasks(), ...staleAnswerTasks(server.services)],
  })
  t.equal((await client.get(`/ai/messages/${unstored.body.id}`)).status, 404)
  t.equal((await client.get(`/ai/messages/${kept.body.id}`)).status, 200)
  t.equal((await client.get(`/ai/messages/${silent.body.id}`)).body.status, 'failed')
  await server.admin.client.delete(`/users/${userId}`)
  await runRetention(server.services.database, { tasks: chatRetentionTasks() })
  t.equal(await prisma.session.count({ where: { ownerId: userId } }), 0)
  t.equal(await prisma.message.count({ where: { userId } }), 0)
})
