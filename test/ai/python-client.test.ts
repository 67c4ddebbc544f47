// OpenAI's client for Python: its requests, as version 3.22.1 sends them for models, chats, files, embeddings
// and responses, get what it reads. `python-requests.json` has them in the order of the calls, without ids.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startChatFixture } from '../support/ai/chat.ts'
import { createClient, type Reply } from '../support/http/client.ts'

interface Recorded {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

const requests: Recorded[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'python-requests.json'), 'utf8'),
)
const { server, modelServer, person } = await startChatFixture(t, {
  embeddings: { model: 'embedder', dimensions: 64 },
})
const client = createClient(server.url, person.key)
let id = ''
const send = async ({ method, path, headers, body }: Recorded): Promise<Reply> =>
  await client.call(method, path.replace('{id}', id), { headers, ...(body !== undefined && { raw: body }) })
/** The text of a stream. */
const read = async ({ method, path, headers, body }: Recorded): Promise<string> => {
  const authorization = `Bearer ${person.key}`
  const sent = { method, headers: { ...headers, authorization }, body }
  return await (await fetch(`${server.url}/v1${path}`, sent)).text()
}
const named = (path: string): Recorded[] => requests.filter((request) => request.path === path)

t.test('models', async (t) => {
  const [list] = named('/models')
  t.match((await send(list)).body, { object: 'list', data: [{ object: 'model' }] })
})

t.test('a completion, streams, and an answer in a format', async (t) => {
  const [whole, withUsage, stream, parse] = named('/chat/completions')
  const { status, body } = await send(whole)
  t.match({ status, body }, { status: 200, body: { choices: [{ message: { role: 'assistant' } }] } })
  for (const request of [withUsage, stream]) {
    const text = await read(request)
    t.match(text, /"object":"chat.completion.chunk".*\n\ndata: \[DONE\]\n\n$/s)
    t.equal(/"total_tokens":[1-9]/.test(text), request === withUsage)
  }
  modelServer.script = { answer: '{"place":"harbour"}' }
  t.match((await send(parse)).body, {
    choices: [{ message: { content: '{"place":"harbour"}', refusal: null } }],
  })
  modelServer.script = {}
})

t.test('a file is uploaded, read and deleted', async (t) => {
  const [plain, expiring] = named('/files')
  t.match(await send(plain), { status: 201, body: { filename: 'lantern.txt', purpose: 'assistants' } })
  const { status, body } = await send(expiring)
  t.match({ status, body }, { status: 201, body: { object: 'file', expires_at: body.created_at + 3600 } })
  id = body.id
  const [content] = named('/files/{id}/content')
  const [get, removed] = named('/files/{id}')
  t.match((await send(get)).body, { id, bytes: 30 })
  t.equal((await send(content)).text, 'The lantern is in the harbour.')
  // It has a media type without a body.
  t.match(await send(removed), { status: 200, body: { id, deleted: true } })
})

t.test('embeddings in Base64, and responses', async (t) => {
  const { body } = await send(named('/embeddings')[0])
  t.equal(Buffer.from(body.data[1].embedding, 'base64').length, 4 * 64)
  const [whole, stream] = named('/responses')
  t.match((await send(whole)).body, { object: 'response', status: 'completed', store: false })
  t.match(await read(stream), /^event: response\.created\n.*event: response\.completed\n/s)
})
