// The Responses API by the official client of OpenAI: text, tools, formats and the typed events of a stream.
import OpenAI, { APIError } from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import t from 'tap'
import type { components } from '../../generated/types.ts'
import { addDocument, addKnowledgeBase } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'
import { startChatFixture } from '../support/ai/chat.ts'

const { server, modelServer, person } = await startChatFixture(t, { env: { AI_RETRIES: '0' } })
const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: person.key, maxRetries: 0 })
const tool = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: true,
}
const calls = [
  { id: 'call_a', name: 'get_weather', arguments: '{"city":"Oslo"}' },
  { id: 'call_b', name: 'get_weather', arguments: '{"city":"Rome"}' },
]
type Schemas = components['schemas']

// The compiler checks that the answers are those of the official client.
export const fits = {
  response: (one: Schemas['OpenAiResponse']): Omit<OpenAI.Responses.Response, 'output_text'> => one,
  completion: (one: Schemas['ChatCompletion']): OpenAI.ChatCompletion => one,
  chunk: (one: Schemas['ChatCompletionChunk']): OpenAI.ChatCompletionChunk => one,
  usage: (one: Schemas['EmbeddingList']['usage']): OpenAI.CreateEmbeddingResponse['usage'] => one,
}

const failure = (call: Promise<unknown>): Promise<any> =>
  call.then(
    () => null,
    (error: unknown) => error,
  )

t.test('a response has its text and its usage, and what the request says', async (t) => {
  const response = await client.responses.create({
    model: 'small',
    instructions: 'Be brief.',
    input: 'Hello',
    max_output_tokens: 50,
    temperature: 0.5,
    reasoning: { effort: 'low' },
    store: false,
    metadata: { team: 'bench' },
    user: 'ada',
    truncation: 'auto',
  })
  t.equal(response.output_text, 'I have heard: Hello')
  t.match(response, {
    id: /^msg_/,
    object: 'response',
    status: 'completed',
    model: 'small',
    instructions: 'Be brief.',
    metadata: { team: 'bench' },
    output: [{ type: 'message', role: 'assistant', status: 'completed' }],
  })
  t.equal(response.usage!.total_tokens, response.usage!.input_tokens + response.usage!.output_tokens)
  t.match(modelServer.requests.at(-1)!.body, {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ],
    max_tokens: 50,
    reasoning_effort: 'low',
  })
  const next = await client.responses.create({
    model: 'small',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      ...(response.output as ResponseInputItem[]),
      { role: 'user', content: 'Again' },
    ],
  })
  t.equal(next.output_text, 'I have heard: Again')
  t.match(modelServer.requests.at(-1)!.body.messages, [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'I have heard: Hello' },
    { role: 'user', content: 'Again' },
  ])
  const cut = await client.responses.create({ model: 'small', input: 'One two three', max_output_tokens: 2 })
  t.match(cut, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
})

t.test('a stream has the typed events, which the client puts together', async (t) => {
  const stream = client.responses.stream({ model: 'small', input: 'Hello' })
  const names: string[] = []
  let sequence = -1
  for await (const event of stream) {
    names.push(event.type)
    t.equal(event.sequence_number, ++sequence)
  }
  t.same(
    [...new Set(names)],
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ],
  )
  const final = await stream.finalResponse()
  t.equal(final.output_text, 'I have heard: Hello')
  const plain = await client.responses.create({ model: 'small', input: 'Hello', stream: true })
  let text = ''
  for await (const event of plain) if (event.type === 'response.output_text.delta') text += event.delta
  t.equal(text, 'I have heard: Hello')
})

t.test('tools are called, streamed, and their outputs continue', async (t) => {
  const input: ResponseInputItem[] = [{ role: 'user', content: 'How is the weather?' }]
  modelServer.nextScripts = [{ calls }]
  const response = await client.responses.create({
    model: 'small',
    input,
    tools: [tool],
    tool_choice: { type: 'function', name: 'get_weather' },
    parallel_tool_calls: true,
  })
  t.match(
    response.output,
    calls.map(({ id, name, arguments: text }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: text,
    })),
  )
  t.match(modelServer.requests.at(-1)!.body, {
    tools: [{ type: 'function', function: { name: 'get_weather', strict: true } }],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  })

  modelServer.nextScripts = [{ calls }]
  const stream = client.responses.stream({ model: 'small', input, tools: [tool] })
  const names: string[] = []
  for await (const { type } of stream) names.push(type)
  t.equal(names.filter((name) => name === 'response.function_call_arguments.done').length, 2)
  t.ok(names.includes('response.function_call_arguments.delta'))
  const streamed = await stream.finalResponse()
  t.match(
    streamed.output,
    calls.map(({ arguments: text }) => ({ type: 'function_call', arguments: text })),
  )

  const next = await client.responses.create({
    model: 'small',
    input: [
      ...input,
      ...(response.output as ResponseInputItem[]),
      { type: 'function_call_output', call_id: 'call_a', output: 'cold' },
      { type: 'function_call_output', call_id: 'call_b', output: 'warm' },
    ],
    tools: [tool],
  })
  t.equal(next.status, 'completed')
  t.match(modelServer.requests.at(-1)!.body.messages, [
    { role: 'user' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_a' }, { id: 'call_b' }] },
    { role: 'tool', tool_call_id: 'call_a', content: 'cold' },
    { role: 'tool', tool_call_id: 'call_b', content: 'warm' },
  ])
})

t.test('an answer has the format, or is a refusal', async (t) => {
  const schema = {
    type: 'object',
    properties: { age: { type: 'integer' } },
    required: ['age'],
    additionalProperties: false,
  }
  const request = {
    model: 'small',
    input: 'How old?',
    text: { format: { type: 'json_schema' as const, name: 'person', schema, strict: true } },
  }
  modelServer.nextScripts = [{ answer: '{"age":7}' }]
  t.same((await client.responses.parse(request)).output_parsed, { age: 7 })
  for (const stream of [false, true]) {
    modelServer.nextScripts = stream ? [{ answer: '{}' }] : [{ answer: '{}' }, { answer: '{}' }]
    const refused = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    const [item] = refused.output
    const refusal = { type: 'refusal', refusal: /required property 'age'/ }
    const text = { type: 'output_text', text: '{}' }
    t.match(item.type === 'message' && item.content, stream ? [text, refusal] : [refusal])
  }
})

t.test('the built-in model cites documents as annotations', async (t) => {
  const { database, principals } = server.services
  const base = await addKnowledgeBase(database, await principals.authenticate(`Bearer ${person.key}`))
  await addDocument(database, base, 'Every employee has thirty days of paid leave.', { name: 'holidays.md' })
  const request = {
    model: 'extractive-1',
    input: 'How many days of paid leave are there?',
    knowledge_base_ids: [base],
  }
  for (const stream of [false, true]) {
    const response = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    const [item] = response.output
    const [part] = item.type === 'message' ? item.content : []
    const [annotation] = part.type === 'output_text' ? part.annotations : []
    t.match(annotation, { type: 'url_citation', title: 'holidays.md' })
    if (annotation.type === 'url_citation') t.equal(annotation.end_index, response.output_text.length)
  }
})

t.test('what is not supported is refused by name, and errors in a stream are errors', async (t) => {
  for (const [fields, param] of [
    [{ store: true }, 'store'],
    [{ previous_response_id: 'msg_1' }, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ background: true }, 'background'],
    [{ tools: [{ type: 'web_search' }] }, /^tools\[0\]/],
    [{ model: 'none' }, 'model'],
    [{ max_output_tokens: 5000 }, 'max_output_tokens'],
    [{ model: 'extractive-1', tools: [tool] }, 'tools'],
    [{ text: { format: { type: 'json_schema', name: 'x' } } }, 'text.format.schema'],
    [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input[0].call_id'],
    [{ input: [{ role: 'assistant', content: 'x' }] }, 'input'],
    [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, /^input\[0\]\.content/],
  ] as const) {
    const body = { model: 'small', input: 'Hello', ...fields }
    const error = await failure(client.responses.create(body as never))
    t.ok(error instanceof APIError)
    t.match(error, { status: 400, type: 'invalid_request_error', param })
  }
  modelServer.nextScripts = [{ pieces: ['One', ' two'], fault: { kind: 'error', after: 1 } }]
  const stream = await client.responses.create({ model: 'small', input: 'Hello', stream: true })
  const read = async (): Promise<void> => {
    for await (const _ of stream);
  }
  t.match(await failure(read()), { code: 'UNAVAILABLE', type: 'server_error' })
})
