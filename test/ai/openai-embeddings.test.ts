// Embeddings for the official client of OpenAI: both formats, usage and limits.
import OpenAI from 'openai'
import t from 'tap'
import { startChatFixture } from '../support/ai/chat.ts'

const embeddings = { model: 'embedder', dimensions: 64 }
const env = { AI_TOKENS_PER_DAY: '30' }
const { server, modelServer, person } = await startChatFixture(t, { embeddings, env })
const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 })
const client = clientOf(person.key)

t.beforeEach(() => {
  modelServer.requests.length = 0
})

t.test('a text and a list of texts have vectors in both formats, and their tokens count', async (t) => {
  const asked = { model: 'embedder', input: 'the green lantern', dimensions: 64 }
  // The client asks for Base64 and decodes it, unless a format is named.
  const decoded = await client.embeddings.create(asked)
  t.match(decoded, { object: 'list', model: 'embedder', usage: { prompt_tokens: 3, total_tokens: 3 } })
  const input = ['the green lantern', 'a harbour']
  const { data } = await client.embeddings.create({ model: 'embedder', input, encoding_format: 'float' })
  t.same(
    data.map(({ index, embedding }) => [index, embedding.length]),
    [
      [0, 64],
      [1, 64],
    ],
  )
  t.same(Float32Array.from(data[0].embedding), Float32Array.from(decoded.data[0].embedding))
  t.equal((await person.client.get('/ai/usage')).body.prompt_tokens, 8)
})

t.test('what is not supported is named, and sends nothing', async (t) => {
  const asked = { model: 'embedder', input: 'lantern' }
  for (const [fields, param] of [
    [{ model: 'small' }, 'model'],
    [{ dimensions: 32 }, 'dimensions'],
    [{ input: [1, 2, 3] }, 'input[0]'],
    [{ input: [[1, 2]] }, 'input[0]'],
    [{ input: [] }, 'input'],
    [{ input: '' }, 'input'],
    [{ encoding_format: 'int8' }, 'encoding_format'],
  ] as const) {
    const error = await client.embeddings.create({ ...asked, ...fields } as never).catch((e) => e)
    t.match(error, { status: 400, type: 'invalid_request_error', param }, JSON.stringify(fields))
  }
  t.equal(modelServer.requests.length, 0)
  const other = await startChatFixture(t)
  t.match((await other.person.client.post('/embeddings', asked)).body.error, {
    param: 'model',
    message: 'This server has no embedding model.',
  })
})

t.test('ten requests at once stay within the tokens of the day', async (t) => {
  const { key, client: own } = await server.person()
  const input = 'six words are in this text'
  const asked = Array.from({ length: 10 }, () =>
    clientOf(key).embeddings.create({ model: 'embedder', input }),
  )
  const results = await Promise.allSettled(asked)
  const refused = results.filter(({ status }) => status === 'rejected')
  t.ok(refused.length >= 5)
  for (const { reason } of refused as PromiseRejectedResult[])
    t.match(reason, { status: 429, type: 'rate_limit_error', error: { details: {} } })
  t.ok((await own.get('/ai/usage')).body.prompt_tokens <= 30)
})
