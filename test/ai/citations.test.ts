// extractive-1 over the API: the knowledge bases it searches by default, documents that are not processed
// yet, max_tokens and stop, and quotes from tables and JSON.
import t from 'tap'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import { openStream } from '../support/http/event-stream.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { startModelServer } from '../../scripts/bench/model-server.ts'
import { waitUntil } from '../support/server/wait.ts'

const env = { RATE_LIMIT_AI: '1000000' }

async function addBase(
  { client }: Person,
  documents: Record<string, string>,
  projectId?: string,
): Promise<string> {
  const {
    body: { id },
  } = await client.post('/ai/knowledge', {
    name: 'Base',
    ...(projectId !== undefined && { project_id: projectId }),
  })
  for (const [name, text] of Object.entries(documents))
    t.equal((await client.post(`/ai/knowledge/${id}/documents`, { name, text })).status, 201)
  return id
}

async function waitUntilReady({ client }: Person, id: string, count = 1): Promise<void> {
  await waitUntil(
    async () => (await client.get(`/ai/knowledge/${id}`)).body.document_counts.ready === count,
    'the documents to be ready',
  )
}

const contentOf = ({ body }: { body: any }): string => body.message.content

t.test('an answer without a match says how many documents are not processed yet', async (t) => {
  const server = await startServer(t, { env })
  const [ada, bob] = [await server.person(), await server.person()]
  const base = await addBase(ada, { 'a.md': 'The vault opens at nine.', 'b.md': 'The cellar is cold.' })
  const ask = async (message: string, more = {}, person = ada) =>
    await person.client.post('/ai/chat', { message, ...more })
  t.match(
    contentOf(await ask('When does the vault open?')),
    /found nothing.*2 documents are still being processed/,
  )
  t.match(
    contentOf(await ask('When does the vault open?', { knowledge_base_ids: [base] })),
    /2 documents are still being processed/,
  )
  t.notMatch(
    contentOf(await ask('When does the vault open?', {}, bob)),
    /still being processed/,
    'documents of others do not count',
  )
  startDocumentWorker(t, server)
  await waitUntilReady(ada, base, 2)
  t.match(contentOf(await ask('When does the vault open?')), /“The vault opens at nine\.” \[1\]/)
  t.match(contentOf(await ask('Which submarines dive deepest?')), /found nothing[^.]*\.$/)
  await server.services.database.prisma.document.updateMany({
    where: { name: 'b.md' },
    data: { status: 'processing' },
  })
  t.match(contentOf(await ask('Which submarines dive deepest?')), /1 document is still being processed/)
  t.notMatch(
    contentOf(await ask('When does the vault open?')),
    /still being processed/,
    'an answer with a match does not say so',
  )
})

t.test('which knowledge bases a chat searches', async (t) => {
  const modelServer = await startModelServer(t, { embeddings: null })
  const server = await startServer(t, { env: { ...env, AI_UPSTREAMS: modelServer.setting } })
  startDocumentWorker(t, server)
  const ada = await server.person()
  const { client } = ada
  const projects = [
    (await client.post('/projects', { name: 'One' })).body.id,
    (await client.post('/projects', { name: 'Two' })).body.id,
  ]
  const bases = [
    await addBase(ada, { 'own.md': 'The vault of the house opens at nine.' }),
    await addBase(ada, { 'more.md': 'The vault of the garden opens at eight.' }),
    await addBase(ada, { 'one.md': 'The vault of the harbour opens at ten.' }, projects[0]),
    await addBase(ada, { 'pier.md': 'The vault of the pier opens at twelve.' }, projects[0]),
    await addBase(ada, { 'two.md': 'The vault of the castle opens at eleven.' }, projects[1]),
  ]
  for (const base of bases) await waitUntilReady(ada, base)
  const citedFiles = async (body: object): Promise<string[]> => {
    const reply = await client.post('/ai/chat', {
      message: 'When does the vault open?',
      model: 'extractive-1',
      ...body,
    })
    return reply.body.message.citations.map(({ name }: any) => name).sort()
  }
  const sessionOf = async (body: object): Promise<string> => (await client.post('/ai/sessions', body)).body.id
  t.same(await citedFiles({}), ['more.md', 'own.md'], "in a new session all of the caller's own")
  t.same(
    await citedFiles({
      messages: [{ role: 'user', content: 'When does the vault open?' }],
      message: undefined,
    }),
    ['more.md', 'own.md'],
    'and without a session too',
  )
  t.same(
    await citedFiles({ session_id: await sessionOf({ project_id: projects[0] }) }),
    ['one.md', 'pier.md'],
    'in a session of a project all of that project',
  )
  t.same(
    await citedFiles({
      session_id: await sessionOf({ project_id: projects[0], knowledge_base_ids: [bases[3]] }),
    }),
    ['pier.md'],
    'those that the session names',
  )
  t.same(
    await citedFiles({
      session_id: await sessionOf({ project_id: projects[0], knowledge_base_ids: [bases[3]] }),
      knowledge_base_ids: [bases[2]],
    }),
    ['one.md'],
    'those that the chat names',
  )
  t.same(await citedFiles({ model: 'small' }), [], 'another model searches only those that are named')
  t.notMatch(JSON.stringify(modelServer.requests.at(-1)!.body), 'vault of')
})

const server = await startServer(t, { env })
startDocumentWorker(t, server)

t.test('an answer ends at max_tokens or at a stop sequence', async (t) => {
  const ada = await server.person()
  const base = await addBase(ada, { 'a.md': 'The red vault holds gold.\n\nThe blue vault holds tin.' })
  await waitUntilReady(ada, base)
  const ask = async (body: object) =>
    (await ada.client.post('/ai/chat', { message: 'What does the vault hold?', ...body })).body
  const whole = await ask({})
  t.match(whole, { status: 'completed', finish_reason: 'stop', message: { citations: [{}, {}] } })
  const short = await ask({ max_tokens: 20 })
  t.match(short, { status: 'incomplete', finish_reason: 'length', message: { citations: { length: 0 } } })
  t.ok(whole.message.content.startsWith(short.message.content) && short.message.content !== '')
  t.ok(short.usage.completion_tokens <= 20)
  t.match((await ada.client.get(`/ai/messages/${short.id}`)).body, {
    status: 'incomplete',
    finish_reason: 'length',
    content: short.message.content,
    citations: { length: 0 },
  })
  const stopped = await ask({ stop: ['blue vault', 'nowhere'] })
  t.match(stopped, {
    status: 'completed',
    finish_reason: 'stop',
    message: {
      content: whole.message.content.split('blue vault')[0],
      citations: [{ quote: 'The red vault holds gold.' }],
    },
  })
  t.equal(stopped.message.citations.length, 1)
  const opened = await openStream(server.url, ada.key, {
    path: '/ai/chat/stream',
    post: { message: 'What does the vault hold?', max_tokens: 20 },
  })
  const events = []
  for await (const event of opened.events) events.push(event)
  t.equal(
    events
      .filter(({ event }) => event === 'message.delta')
      .map(({ data }) => data.delta)
      .join(''),
    short.message.content,
  )
  t.match(events.at(-1), {
    event: 'message.completed',
    data: { status: 'incomplete', finish_reason: 'length' },
  })
  const again = await ada.client.call('POST', `/ai/messages/${short.id}/regenerate`)
  t.match(
    again,
    { status: 200, body: { status: 'completed', message: { content: whole.message.content } } },
    'a regenerated answer without options is complete',
  )
  t.equal(
    (
      await ada.client.call('POST', `/ai/messages/${again.body.id}/regenerate`, {
        headers: { 'idempotency-key': 'again' },
      })
    ).status,
    200,
  )
})

t.test('a row of a table and an entry of JSON are quoted', async (t) => {
  const ada = await server.person()
  const people = Array.from(
    { length: 120 },
    (_, i) =>
      `${i},${['Ada', 'Grace', 'Alan', 'Edsger'][i % 4]} ${String.fromCharCode(65 + (i % 26))}${i},` +
      `${i % 2 ? 'Kernels' : 'Compilers'},${2_000 + i}`,
  )
  const base = await addBase(ada, {
    'people.csv': `id,name,department,salary\n${people.join('\n')}`,
    'settings.json': JSON.stringify({
      name: 'gateway',
      port: 8080,
      host: 'localhost',
      retries: 3,
      tls: { certificate: 'pem' },
    }),
  })
  await waitUntilReady(ada, base, 2)
  const quoted = async (message: string): Promise<string[]> =>
    (await ada.client.post('/ai/chat', { message, knowledge_base_ids: [base] })).body.message.citations.map(
      ({ quote }: any) => quote,
    )
  t.same(
    (await quoted('What is the salary of Grace L37?'))[0],
    'id: 37; name: Grace L37; department: Kernels; salary: 2037',
  )
  t.same(await quoted('Which port does it listen on?'), ['port: 8080'])
  t.same(await quoted('Are dogs allowed in the office?'), [])
})
