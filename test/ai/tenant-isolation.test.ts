// Two tenants whose documents tell of the same: no answer, no search, no citation and no history of one ever has a word of the
// other's, and whoever is removed from a project gets nothing of it from the next answer on.
import t, { type Test } from 'tap'
import { startServer, type Person, type TestServer } from '../support/server.ts'
import { openUpstream } from '../../scripts/bench/model-server.ts'
import { startBackgroundWorkers } from '../../services/background.ts'
import { waitUntil } from '../support/wait.ts'
import { runRetention } from '../support/retention.ts'
import { chatRetentionTasks, staleAnswerTasks } from '../../services/ai/chat/retention.ts'

async function open(t: Test, env: Record<string, string> = {}): Promise<TestServer> {
  const server = await startServer(t, { env: { RATE_LIMIT_AI: '1000000', ...env } })
  const work = await startBackgroundWorkers(server.services, {
    runJobs: true,
    onError: (error) => {
      throw error
    },
    interval: 100,
  })
  t.teardown(() => work.stop())
  return server
}

/** A knowledge base with one document that says where the treasure is. */
async function hide({ client }: Person, treasure: string, projectId?: string): Promise<string> {
  const {
    body: { id },
  } = await client.post('/ai/knowledge', {
    name: 'Treasures',
    ...(projectId !== undefined && { project_id: projectId }),
  })
  await client.post(`/ai/knowledge/${id}/documents`, {
    name: 'treasure.md',
    text: `# The treasure\n\nThe golden treasure of the harbour lies under the ${treasure}, and nowhere else.`,
  })
  await waitUntil(
    async () => (await client.get(`/ai/knowledge/${id}`)).body.document_counts.ready === 1,
    'the document to be read',
  )
  return id
}

const question = 'Where does the golden treasure of the harbour lie?'

t.test('two tenants', async (t) => {
  const server = await open(t)
  const [ada, bob] = [await server.person(), await server.person()]
  const [hers, his] = [await hide(ada, 'amber lighthouse'), await hide(bob, 'broken bridge')]
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

t.test('removed in the middle of a session', async (t) => {
  const upstream = await openUpstream(t, {
    embeddings: null,
    script: (asked) => ({
      answer: asked.body.messages.some(({ content }: any) => content.includes('cellar'))
        ? 'Under the cellar [1].'
        : 'I do not know.',
    }),
  })
  const server = await open(t, { AI_UPSTREAMS: upstream.setting })
  const [owner, member] = [await server.person(), await server.person()]
  const {
    body: { id: project },
  } = await owner.client.post('/projects', { name: 'Harbour' })
  let membership = (
    await owner.client.post(`/projects/${project}/members`, { user_id: member.id, role: 'viewer' })
  ).body.id
  const base = await hide(owner, 'old cellar', project)
  const own = await hide(member, 'new pier')
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
    t.notMatch(second.text, 'cellar', `${model}: nothing in the next answer`)
    if (model === 'small')
      t.notMatch(
        JSON.stringify(upstream.asked.at(-1)!.body),
        'cellar',
        'nor in what the model is given, what was said before included',
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
      'nor is it cited any more',
    )
    t.equal((await member.client.post(`/ai/knowledge/${base}/search`, { query: question })).status, 403)

    const {
      body: { id },
    } = await owner.client.post(`/projects/${project}/members`, { user_id: member.id, role: 'viewer' })
    membership = id
    t.match(
      (await member.client.post('/ai/chat', { message: question, session_id: session, model })).text,
      'cellar',
      `${model}: who is back is told again`,
    )
  }
})

t.test('a session of a project draws on that project alone', async (t) => {
  const server = await open(t)
  const owner = await server.person()
  const {
    body: { id: project },
  } = await owner.client.post('/projects', { name: 'Harbour' })
  const own = await hide(owner, 'attic')
  const refused = await owner.client.post('/ai/sessions', { project_id: project, knowledge_base_ids: [own] })
  t.match(refused, {
    status: 400,
    body: { error: { details: { field: 'knowledge_base_ids', constraint: 'project' } } },
  })
  const { body: session } = await owner.client.post('/ai/sessions', { project_id: project })
  const reply = await owner.client.post('/ai/chat', { message: question, session_id: session.id })
  t.notMatch(reply.text, 'attic', 'nor without being told to')
  const limited = await server.person({ projectIds: [project] })
  t.equal(
    (await limited.client.post('/ai/chat', { message: question })).status,
    403,
    'a key for some projects only names a session of one',
  )
})

t.test('citations follow their documents', async (t) => {
  const server = await open(t)
  const { client } = await server.person()
  const { body: base } = await client.post('/ai/knowledge', { name: 'Treasures' })
  const { body: document } = await client.post(`/ai/knowledge/${base.id}/documents`, {
    name: 'treasure.md',
    text: 'Before it 🎉.\n\nThe golden treasure of the harbour lies under the attic.',
  })
  const path = `/ai/knowledge/${base.id}/documents/${document.id}`
  const ready = async (): Promise<void> =>
    await waitUntil(async () => (await client.get(path)).body.status === 'ready', 'the document to be read')
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
    'read again it is the same text',
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

t.test('what time makes superfluous goes', async (t) => {
  const server = await startServer(t)
  const { client, id: userId } = await server.person()
  const { prisma } = server.services.database
  const kept = await client.post('/ai/chat', { message: 'Keep this' })
  const unstored = await client.post('/ai/chat', { messages: [{ role: 'user', content: 'Not this' }] })
  const silent = await client.post('/ai/chat', { message: 'Half of this' })
  const old = new Date(Date.now() - 25 * 3_600_000)
  await prisma.message.updateMany({ data: { createdAt: old } })
  await prisma.message.update({ where: { id: silent.body.id }, data: { status: 'in_progress', beatAt: old } })
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
