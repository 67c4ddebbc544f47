// The official client of OpenAI, unchanged, with this server: chats, streams, tools, and its retries.
import OpenAI, { APIError } from 'openai'
import t from 'tap'
import { startChatFixture } from '../support/ai/chat.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import { waitUntil } from '../support/server/wait.ts'

const { server, modelServer, person } = await startChatFixture(t)
startDocumentWorker(t, server)
const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: person.key, maxRetries: 0 })
const question = { role: 'user' as const, content: 'Where is the lantern?' }
const tool = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

t.beforeEach(() => {
  modelServer.script = {}
  modelServer.requests.length = 0
})

t.test('the models are listed, and one is found by its id', async (t) => {
  const ids: string[] = []
  for await (const { id, object } of client.models.list()) ids.push(`${object} ${id}`)
  t.match(ids.join(), /model small.*model extractive-1/)
  t.match(await client.models.retrieve('small'), { id: 'small', owned_by: /./ })
  const error = await client.models.retrieve('none').catch((error) => error)
  t.match(error, { status: 404, code: 'NOT_FOUND', type: 'invalid_request_error' })
})

t.test('a completion has its text, its reason and its usage', async (t) => {
  const { choices, usage, object, id } = await client.chat.completions.create({
    model: 'small',
    messages: [{ role: 'developer', content: 'Be brief.' }, question],
    max_completion_tokens: 100,
    stop: '###',
    top_p: 0.5,
    user: 'ada',
    metadata: { team: 'bench' },
    store: false,
  })
  t.match(choices[0], {
    finish_reason: 'stop',
    message: { role: 'assistant', content: 'I have heard: Where is the lantern?', refusal: null },
  })
  t.match({ object, id }, { object: 'chat.completion', id: /^msg_/ })
  t.equal(usage!.total_tokens, usage!.prompt_tokens + usage!.completion_tokens)
  const [{ body }] = modelServer.requests
  t.match(body, { top_p: 0.5, stop: ['###'], messages: [{ role: 'system' }, { role: 'user' }] })
  t.notOk('user' in body || 'metadata' in body || 'store' in body, 'hints stay here')
})

t.test('a stream has the chunks of the text, and the usage if asked', async (t) => {
  const stream = await client.chat.completions.create({
    model: 'small',
    messages: [question],
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let last
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    last = chunk
  }
  t.equal(text, 'I have heard: Where is the lantern?')
  t.match(last, { choices: [], usage: { total_tokens: Number } })
  const whole = await client.chat.completions.stream({ model: 'small', messages: [question] }).finalContent()
  t.equal(whole, text)
})

t.test('an answer of the built-in model cites a document', async (t) => {
  const { body: base } = await person.client.post('/ai/knowledge', { name: 'Harbour' })
  const fields = { name: 'lantern.md', text: 'The lantern is in the harbour.' }
  const { body: document } = await person.client.post(`/ai/knowledge/${base.id}/documents`, fields)
  await waitUntil(
    async () => (await person.client.get(`/ai/knowledge/${base.id}`)).body.document_counts.ready === 1,
  )
  const asked = { model: 'extractive-1', messages: [question], knowledge_base_ids: [base.id] }
  const { choices } = await client.chat.completions.create(asked)
  const [{ message }] = choices
  t.match(message.content, /harbour/)
  t.match(message.annotations![0], {
    type: 'url_citation',
    url_citation: { url: new RegExp(`/v1/ai/documents/${document.id}$`), title: /./ },
  })
  const stream = client.chat.completions.stream(asked)
  t.match(await stream.finalContent(), /harbour/)
})

t.test('the model calls a tool, and gets its result', async (t) => {
  const calls = [{ id: 'call_7', name: 'get_weather', arguments: '{"city":"Paris"}' }]
  const answers = [{ calls }, { answer: 'It rains in Paris.' }]
  modelServer.nextScripts.push(...answers)
  const asked: string[] = []
  const runner = client.chat.completions.runTools({
    model: 'small',
    messages: [{ role: 'user', content: 'How is the weather in Paris?' }],
    tools: [
      {
        type: 'function',
        function: {
          ...tool.function,
          parse: JSON.parse,
          function: ({ city }: { city: string }) => {
            asked.push(city)
            return 'rain'
          },
        },
      },
    ],
  })
  t.equal(await runner.finalContent(), 'It rains in Paris.')
  t.same(asked, ['Paris'])
  t.match(modelServer.requests[1].body.messages, [
    { role: 'user' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_7', function: { name: 'get_weather' } }] },
    { role: 'tool', tool_call_id: 'call_7', content: 'rain' },
  ])
  modelServer.nextScripts.push({ calls: [...calls, { ...calls[0], id: 'call_8' }] })
  const streamed = client.chat.completions.stream({ model: 'small', messages: [question], tools: [tool] })
  const pieces: string[] = []
  streamed.on('chunk', ({ choices }) => {
    for (const { function: called } of choices[0].delta.tool_calls ?? []) pieces.push(called!.arguments!)
  })
  t.match(await streamed.finalChatCompletion(), {
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          tool_calls: [{ id: 'call_7', function: { arguments: '{"city":"Paris"}' } }, { id: 'call_8' }],
        },
      },
    ],
  })
  t.equal(pieces.join(''), calls[0].arguments.repeat(2))
})

t.test('a format is passed on, and its answer is parsed', async (t) => {
  modelServer.nextScripts.push({ answer: '{"city":"Paris"}' })
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const { choices } = await client.chat.completions.parse({
    model: 'small',
    messages: [question],
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
  })
  t.match(JSON.parse(choices[0].message.content!), { city: 'Paris' })
  t.match(modelServer.requests[0].body.response_format, { json_schema: { name: 'place' } })
})

t.test('what would change the answer and is not supported is named', async (t) => {
  const base = { model: 'small', messages: [question] }
  for (const [fields, param] of [
    [{ n: 2 }, 'n'],
    [{ logit_bias: { 5: 1 } }, 'logit_bias'],
    [{ audio: { voice: 'ash', format: 'mp3' } }, 'audio'],
    [{ logprobs: true }, 'logprobs'],
    [{ model: 'none' }, 'model'],
    [{ model: 'extractive-1', tools: [tool] }, 'tools'],
    [{ model: 'extractive-1', response_format: { type: 'json_object' } }, 'response_format'],
    [{ messages: [{ role: 'assistant', content: 'Hi' }] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'Hi' }] }, 'messages[0].tool_call_id'],
    [{ messages: [{ role: 'user', content: '' }] }, 'messages[0].content'],
  ] as const) {
    const error = await client.chat.completions.create({ ...base, ...fields } as never).catch((e) => e)
    t.ok(error instanceof APIError)
    t.match(error, { status: 400, type: 'invalid_request_error', param, code: 'INVALID_REQUEST' })
  }
  t.equal(modelServer.requests.length, 0)
})

t.test('a wrong key, a busy provider and a field that it refuses', async (t) => {
  const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'plat_test_wrong', maxRetries: 0 })
  t.match(await stranger.models.list().catch((e) => e), { status: 401, type: 'authentication_error' })
  modelServer.script = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '1' } } }
  const retrying = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: person.key, maxRetries: 1 })
  const asked = modelServer.requests.length
  const busy = await retrying.chat.completions
    .create({ model: 'small', messages: [question] })
    .catch((error) => error)
  t.match(busy, { status: 503, type: 'server_error' })
  t.equal(modelServer.requests.length - asked, 4, 'the client asks twice, and each time the server does')
  modelServer.script = { rejects: ['top_p'] }
  const refused = await client.chat.completions
    .create({ model: 'small', messages: [question], top_p: 0.1 })
    .catch((error) => error)
  t.match(refused, { status: 400, param: 'top_p' })
})

t.test('an aborted stream ends the answer, and what it used counts', async () => {
  modelServer.script = { answer: 'one two three four five six', piecesPerSecond: 10 }
  const stream = await client.chat.completions.create({
    model: 'small',
    messages: [question],
    stream: true,
  })
  let id = ''
  for await (const chunk of stream) {
    id = chunk.id
    if (chunk.choices[0].delta.content) break
  }
  stream.controller.abort()
  await waitUntil(() => modelServer.openRequests === 0)
  await waitUntil(async () => {
    const { status, body } = await person.client.get(`/ai/messages/${id}`)
    return status === 200 && body.status === 'canceled' && body.usage.completion_tokens > 0
  })
})
