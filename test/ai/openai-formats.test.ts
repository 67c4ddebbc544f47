// Answers in a format: the server checks them by the schema of the request, asks once more, and refuses then.
import OpenAI from 'openai'
import t from 'tap'
import { startChatFixture } from '../support/ai/chat.ts'
import { waitUntil } from '../support/server/wait.ts'

const { server, modelServer, person } = await startChatFixture(t)
const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: person.key, maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'Where is it?' }]
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const formatOf = (schema: Record<string, unknown>) => ({
  type: 'json_schema' as const,
  json_schema: { name: 'place', schema, strict: true },
})
const ask = (schema: Record<string, unknown>, fields: object = {}) =>
  client.chat.completions.parse({
    model: 'small',
    messages,
    response_format: formatOf(schema),
    ...fields,
  })
const errorOf = async (call: Promise<unknown>): Promise<any> => await call.catch((error: unknown) => error)

t.beforeEach(() => {
  modelServer.script = {}
  modelServer.nextScripts.length = 0
  modelServer.requests.length = 0
})

t.test('an answer in the format is returned, and the model is asked once', async (t) => {
  modelServer.nextScripts.push({ answer: '{"city":"Paris"}' })
  const { choices } = await ask(city)
  t.match(choices[0], { finish_reason: 'stop', message: { content: '{"city":"Paris"}', refusal: null } })
  t.equal(modelServer.requests.length, 1)
})

t.test('a model that misses the format is asked once more, and both answers count', async (t) => {
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  modelServer.nextScripts.push({ answer: 'In Paris.', usage }, { answer: '{"city":"Paris"}', usage })
  const completion = await ask(city)
  t.equal(completion.choices[0].message.content, '{"city":"Paris"}')
  t.match(completion.usage, { prompt_tokens: 20, completion_tokens: 10 })
  t.match(modelServer.requests[1].body.messages, [
    { role: 'user', content: 'Where is it?' },
    { role: 'assistant', content: 'In Paris.' },
    { role: 'user', content: /not valid JSON/ },
  ])
})

t.test('a second answer without the format is a refusal, also when the request is repeated', async (t) => {
  modelServer.nextScripts.push({ answer: '{}' }, { answer: '{"city":7}' })
  const headers = { 'idempotency-key': 'refused' }
  const request = { model: 'small', messages, response_format: formatOf(city) }
  const refused = await client.chat.completions.parse(request, { headers })
  t.match(refused.choices[0], {
    finish_reason: 'stop',
    message: { content: null, parsed: null, refusal: /at \/city must be string/ },
  })
  const repeated = await client.chat.completions.create(request, { headers })
  t.same(repeated.choices[0].message.refusal, refused.choices[0].message.refusal)
  const { body } = await person.client.get(`/ai/messages/${refused.id}`)
  t.match(body, { content: '', refusal: /city/, status: 'completed' })
  t.equal(modelServer.requests.length, 2)
})

t.test('a stream passes the text on, and a refusal follows', async (t) => {
  const request = { model: 'small', messages, response_format: formatOf(city) }
  modelServer.script = { answer: '{"city":"Paris"}' }
  const fitting = await client.chat.completions.stream(request).finalChatCompletion()
  t.match(fitting.choices[0].message, { content: '{"city":"Paris"}', refusal: null })
  modelServer.requests.length = 0
  modelServer.script = { answer: '{"town":"Paris"}' }
  const { choices } = await client.chat.completions.stream(request).finalChatCompletion()
  t.match(choices[0].message, { content: '{"town":"Paris"}', refusal: /required property 'city'/ })
  t.equal(modelServer.requests.length, 1, 'what was sent is not asked for again')
})

t.test('an answer that was cut and the calls of tools are as they are', async (t) => {
  modelServer.nextScripts.push({ answer: '{"city": "Par', finishReason: 'length' })
  const cut = await client.chat.completions.create({
    model: 'small',
    messages,
    response_format: formatOf(city),
  })
  t.match(cut.choices[0], { finish_reason: 'length', message: { content: '{"city": "Par', refusal: null } })
  modelServer.nextScripts.push({ calls: [{ id: 'call_1', name: 'find', arguments: '{}' }] })
  const called = await client.chat.completions.create({
    model: 'small',
    messages,
    response_format: formatOf(city),
    tools: [{ type: 'function', function: { name: 'find' } }],
  })
  t.match(called.choices[0], { finish_reason: 'tool_calls', message: { refusal: null } })
  t.equal(modelServer.requests.length, 2)
})

t.test('json_object accepts any object', async (t) => {
  modelServer.nextScripts.push({ answer: '[1]' }, { answer: '{"a":1}' })
  const response_format = { type: 'json_object' as const }
  const { choices } = await client.chat.completions.create({ model: 'small', messages, response_format })
  t.equal(choices[0].message.content, '{"a":1}')
})

t.test('a schema that cannot be checked is refused by its place', async (t) => {
  const references = Array.from({ length: 201 }, () => ({ $ref: '#/$defs/a' }))
  for (const [name, schema] of Object.entries({
    'an unknown type': { type: 'text' },
    'a reference to nothing': { $ref: '#/$defs/none' },
    'a reference to another server': { $ref: 'https://192.0.2.1/schema.json' },
    'a reference to itself': { $ref: '#' },
    'a loop': {
      $ref: '#/$defs/a',
      $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } },
    },
    'too many references': { allOf: references, $defs: { a: {} } },
    'too many characters': { description: 'x'.repeat(70_000) },
    'a pattern that is none': { pattern: '(' },
    'a long pattern': { pattern: 'a'.repeat(501) },
  })) {
    const error = await errorOf(ask(schema))
    t.match(error, { status: 400, param: 'response_format.json_schema.schema' }, name)
  }
  const incomplete = { model: 'small', messages, response_format: { type: 'json_schema' } }
  t.match(await errorOf(client.chat.completions.create(incomplete as never)), {
    status: 400,
    param: 'response_format.json_schema',
  })
  t.equal(modelServer.requests.length, 0)
})

t.test('a slow schema ends, and delays no other request', async (t) => {
  const slow = { type: 'object', properties: { city: { type: 'string', pattern: '^(a+)+$' } } }
  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `s${i}`,
      { allOf: [1, 2].map(() => ({ $ref: `#/$defs/s${i + 1}` })) },
    ]),
  )
  const text = JSON.stringify({ city: `${'a'.repeat(60)}!` })
  modelServer.script = { answer: text }
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  const [byPattern, byReferences] = await Promise.all([
    ask(slow),
    errorOf(ask({ $ref: '#/$defs/s0', $defs: { ...doubling, s40: {} } })),
  ])
  clearInterval(timer)
  t.match(byPattern.choices[0].message.refusal, /takes too long/)
  t.match(byReferences, { status: 400, param: 'response_format.json_schema.schema' })
  t.comment(`The main thread was held for at most ${Math.round(longest)} ms.`)
  t.ok(longest < 1_000, 'the main thread serves requests meanwhile')
  modelServer.script = { answer: '{"city":"Paris"}' }
  t.equal((await ask(city)).choices[0].message.content, '{"city":"Paris"}', 'the next check has a thread')
})

t.test('an answer nested deeper than a stack, and words of objects, are no more than text', async (t) => {
  modelServer.script = { answer: `${'['.repeat(100_000)}${']'.repeat(100_000)}` }
  const tree = { $ref: '#/$defs/list', $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } } }
  t.match(
    (await ask(tree, { model: 'large' })).choices[0].message.refusal,
    /nested too deeply|not valid JSON/,
  )
  modelServer.script = { answer: '{"__proto__":{"city":1},"constructor":{}}' }
  t.match((await ask(city)).choices[0].message.refusal, /required property 'city'/)
})

t.test('a client that leaves before the check ends the answer, and its text counts', async () => {
  const own = await server.person()
  const leaving = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: own.key, maxRetries: 0 })
  modelServer.script = { answer: '{"city": "a long name of a city" }', piecesPerSecond: 10 }
  const abort = new AbortController()
  const request = { model: 'small', messages, response_format: formatOf(city) }
  const asked = errorOf(leaving.chat.completions.create(request, { signal: abort.signal }))
  await waitUntil(() => modelServer.requests.some(({ pieces }) => pieces >= 3))
  abort.abort()
  await asked
  await waitUntil(async () => (await own.client.get('/ai/usage')).body.completion_tokens >= 2)
})
