// The tokens of embeddings count to the day's tokens of a user, before they are sent to the provider.
import t from 'tap'
import { startChatFixture, type ChatFixture } from '../support/ai/chat.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import type { Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const embeddings = { model: 'embedder', dimensions: 64 }

async function newBase({ client }: Person): Promise<string> {
  return (await client.post('/ai/knowledge', { name: 'Notes' })).body.id
}

const usedBy = async ({ client }: Person): Promise<number> =>
  (await client.get('/user/limits')).body.limits.find((each: any) => each.name === 'tokens_per_day').used

const tokensSent = ({ modelServer }: ChatFixture): number =>
  modelServer.requests.reduce((sum, { body }) => sum + body.input.join(' ').split(' ').length, 0)

t.test('40 searches at once stay within the limit, and the next one is 429 as a chat is', async (t) => {
  const fixture = await startChatFixture(t, { embeddings, env: { AI_TOKENS_PER_DAY: '100' } })
  const { person, modelServer } = fixture
  const base = await newBase(person)
  const query = Array.from({ length: 10 }, () => 'word').join(' ')
  const replies = await Promise.all(
    Array.from({ length: 40 }, () => person.client.post(`/ai/knowledge/${base}/search`, { query })),
  )
  const accepted = replies.filter(({ status }) => status === 200)
  const refused = replies.filter(({ status }) => status !== 200)
  t.ok(accepted.length >= 9 && accepted.length <= 10, `${accepted.length} searches`)
  t.equal(modelServer.requests.length, accepted.length, 'a refused search sends nothing')
  for (const { status, body, headers } of refused) {
    t.match({ status, ...body.error }, { status: 429, details: { constraint: 'tokens_per_day' } })
    t.ok(Number(headers.get('retry-after')) > 0)
  }
  const used = await usedBy(person)
  t.ok(used <= 100 && used >= 90, `${used} tokens`)
  t.equal((await person.client.get('/ai/usage')).body.prompt_tokens, used)
  const other = await fixture.server.person()
  t.equal((await other.client.post(`/ai/knowledge/${await newBase(other)}/search`, { query })).status, 200)
})

t.test('the number that the provider reports counts, and nothing for a provider that fails', async (t) => {
  const fixture = await startChatFixture(t, {
    embeddings,
    env: { AI_TOKENS_PER_DAY: '1000', AI_RETRIES: '0' },
  })
  const { person, modelServer } = fixture
  const base = await newBase(person)
  const search = async (): Promise<number> =>
    (await person.client.post(`/ai/knowledge/${base}/search`, { query: 'three short words' })).status
  t.equal(await search(), 200)
  t.equal(await usedBy(person), tokensSent(fixture))
  const before = await usedBy(person)
  modelServer.script = { fault: { kind: 'status', status: 500 } }
  t.equal(await search(), 503)
  t.equal(await usedBy(person), before)
})

t.test('a document counts to the owner of its knowledge base, and waits for the next day', async (t) => {
  const fixture = await startChatFixture(t, { embeddings, env: { AI_TOKENS_PER_DAY: '300' } })
  const { person, modelServer, server } = fixture
  startDocumentWorker(t, server)
  const base = await newBase(person)
  const add = async (words: number): Promise<string> => {
    const text = Array.from({ length: words }, (_, i) => `w${i}`).join(' ')
    return (await person.client.post(`/ai/knowledge/${base}/documents`, { text })).body.id
  }
  const read = async (id: string): Promise<any> =>
    (await person.client.get(`/ai/knowledge/${base}/documents/${id}`)).body
  const first = await add(60)
  await waitUntil(async () => (await read(first)).status === 'ready', 'the first document')
  const used = await usedBy(person)
  t.ok(used >= 60 && used <= 300, `${used} tokens`)

  const tooLarge = await add(2000)
  await waitUntil(async () => (await read(tooLarge)).status === 'failed', 'the failure')
  t.match((await read(tooLarge)).error, { code: 'too_large', message: /a user has 300 a day/ })

  const requests = modelServer.requests.length
  const job = async (): Promise<{ due_at: Date } | undefined> =>
    (
      await server.services.database.pool.query(
        `SELECT due_at FROM jobs
         WHERE queue = 'documents' AND fetches = 0 AND due_at > now() AND data->>'document_id' = $1`,
        [waiting],
      )
    ).rows[0]
  const waiting = await add(140)
  await waitUntil(async () => (await job()) !== undefined, 'the document to wait')
  const { due_at: dueAt } = (await job())!
  t.equal(dueAt.getUTCHours(), 0, 'the first hour of the next day')
  t.ok(dueAt.getTime() - Date.now() < 25 * 3_600_000)
  t.match(await read(waiting), { status: 'queued', error: null })
  t.match((await person.client.get('/events?type=limit.reached')).body.data, [
    { data: { object: { name: 'tokens_per_day', limit: 300, used, user_id: person.id } } },
  ])
  t.equal(modelServer.requests.length, requests, 'nothing was sent')
  t.equal(await usedBy(person), used)

  // The next day.
  await server.services.database.pool.query('UPDATE ai_usage SET day = day - 1')
  await server.services.database.pool.query(
    "UPDATE jobs SET due_at = now() WHERE queue = 'documents' AND data->>'document_id' = $1",
    [waiting],
  )
  await waitUntil(async () => (await read(waiting)).status === 'ready', 'the document that waited')
})

t.test('the search of an answer counts', async (t) => {
  const fixture = await startChatFixture(t, { embeddings })
  const { person, server, modelServer } = fixture
  startDocumentWorker(t, server)
  const base = await newBase(person)
  await person.client.post(`/ai/knowledge/${base}/documents`, { text: 'The harbour was empty.' })
  await waitUntil(
    async () => (await person.client.get(`/ai/knowledge/${base}`)).body.document_counts.ready === 1,
    'the document',
  )
  const before = await usedBy(person)
  modelServer.script = { answer: 'It was.', usage: { prompt_tokens: 50, completion_tokens: 2 } }
  const chat = { message: 'Was the harbour empty?', knowledge_base_ids: [base] }
  t.equal((await person.client.post('/ai/chat', chat)).status, 200)
  t.ok((await usedBy(person)) > before + 52)
})
