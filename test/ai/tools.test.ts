// Tools of chats: their definitions, their calls whole and in pieces, and their results.
import t from 'tap'
import { collect, startChatFixture, streamChat, waitUntilIdle } from '../support/ai/chat.ts'

const fixture = await startChatFixture(t, { env: { AI_RETRIES: '0' } })
const { modelServer, person, server } = fixture
const { client } = person
const tools = [
  {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  { name: 'get_time' },
]
const calls = [
  { id: 'call_a', name: 'get_weather', arguments: '{"city":"Oslo"}' },
  { id: 'call_b', name: 'get_time', arguments: '{"zone":"CET"}' },
]
const results = [
  { tool_call_id: 'call_b', content: 'noon' },
  { tool_call_id: 'call_a', content: '{"weather":"rain"}' },
]
const question = { message: 'What is it like in Oslo?', model: 'small', tools }
const stored = (given = [null, null] as (string | null)[]) =>
  calls.map((call, i) => ({ ...call, result: given[i] }))

t.beforeEach(() => {
  modelServer.script = {}
  modelServer.nextScripts.length = 0
  modelServer.requests.length = 0
})

/** A chat that calls both tools. */
async function ask(own = client): Promise<any> {
  modelServer.nextScripts.push({ calls })
  return (await own.post('/ai/chat', question)).body
}

t.test('a model gets the tools, and its calls are stored with the message', async (t) => {
  modelServer.nextScripts.push({ calls })
  const asked = { ...question, tool_choice: 'get_weather', parallel_tool_calls: true }
  const { body } = await client.post('/ai/chat', asked)
  t.match(body, { finish_reason: 'tool_calls', status: 'completed', message: { content: '' } })
  t.same(body.message.tool_calls, stored())
  t.match(modelServer.requests[0].body, {
    tools: [
      { type: 'function', function: tools[0] },
      { type: 'function', function: { name: 'get_time' } },
    ],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
    parallel_tool_calls: true,
  })
  t.same((await client.get(`/ai/messages/${body.id}`)).body.tool_calls, stored())
  t.ok(body.usage.completion_tokens >= 0)
})

t.test('the results continue the conversation, and are part of it from then on', async (t) => {
  const { id, session_id: session } = await ask()
  modelServer.nextScripts.push({ answer: 'It rains, at noon.' }, { answer: 'Yes.' })
  const sent = await client.post(`/ai/messages/${id}/tool-results`, { results, tools })
  t.match(sent.body, {
    session_id: session,
    finish_reason: 'stop',
    message: { content: 'It rains, at noon.' },
  })
  const conversation = [
    { role: 'user', content: question.message },
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_a' }, { id: 'call_b' }] },
    { role: 'tool', tool_call_id: 'call_a', content: '{"weather":"rain"}' },
    { role: 'tool', tool_call_id: 'call_b', content: 'noon' },
  ]
  t.match(modelServer.requests[1].body.messages, conversation)
  t.equal(modelServer.requests[1].body.tools.length, 2)
  t.same((await client.get(`/ai/messages/${id}`)).body.tool_calls, stored(['{"weather":"rain"}', 'noon']))
  await client.post('/ai/chat', { message: 'Sure?', model: 'small', session_id: session })
  t.match(modelServer.requests[2].body.messages, [
    ...conversation,
    { role: 'assistant', content: 'It rains, at noon.' },
    { role: 'user', content: 'Sure?' },
  ])
  const { body: page } = await client.get(`/ai/sessions/${session}/messages`)
  t.equal(page.data.length, 5)
  t.equal((await client.get(`/ai/sessions/${session}`)).body.message_count, 5)
})

t.test('calls without results are left out when the conversation goes on without them', async (t) => {
  const { id, session_id: session } = await ask()
  await client.post('/ai/chat', { message: 'Never mind.', model: 'small', session_id: session })
  t.same(
    modelServer.requests[1].body.messages.map(({ role }: { role: string }) => role),
    ['user', 'user'],
  )
  const late = await client.post(`/ai/messages/${id}/tool-results`, { results })
  t.match(late, { status: 409, body: { error: { details: { constraint: 'continued' } } } })
})

t.test('arguments are streamed in pieces', async (t) => {
  modelServer.nextScripts.push({ calls })
  const events = await collect(await streamChat(fixture, person, question))
  const pieces = events.filter(({ event }) => event === 'tool_call.delta').map(({ data }) => data)
  for (const [index, { id, name, arguments: args }] of calls.entries()) {
    const own = pieces.filter((piece) => piece.index === index)
    t.equal(own.map((piece) => piece.arguments).join(''), args)
    t.ok(own.every((piece) => piece.id === id && piece.name === name))
  }
  t.match(events.at(-1), { event: 'message.completed', data: { message: { tool_calls: stored() } } })
  await waitUntilIdle(fixture)
})

t.test('twice at once, one of the results wins; a repeated key gets its answer', async (t) => {
  const { id } = await ask()
  modelServer.script = { answer: 'Rain.' }
  const path = `/ai/messages/${id}/tool-results`
  const replies = await Promise.all(Array.from({ length: 5 }, () => client.post(path, { results })))
  t.same(replies.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409])
  t.equal(modelServer.requests.length, 2)
  const other = await ask()
  const keyed = { headers: { 'idempotency-key': 'results-once' } }
  const first = await client.post(`/ai/messages/${other.id}/tool-results`, { results }, keyed)
  const again = await client.post(`/ai/messages/${other.id}/tool-results`, { results }, keyed)
  t.same([first.status, again.status, again.body.id], [200, 200, first.body.id])
})

t.test('results may be sent again after the answer to them failed, or its process died', async (t) => {
  const { id, session_id: session } = await ask()
  const path = `/ai/messages/${id}/tool-results`
  modelServer.nextScripts.push({ fault: { kind: 'status', status: 500 } })
  t.equal((await client.post(path, { results })).status, 503)
  // The row that a killed process leaves: in progress, without a heartbeat.
  const { prisma } = server.services.database
  const killed = await prisma.message.findFirstOrThrow({
    where: { sessionId: session },
    orderBy: { position: 'desc' },
    select: { id: true },
  })
  const heartbeatAt = new Date(Date.now() - 3_600_000)
  await prisma.message.update({ where: { id: killed.id }, data: { status: 'in_progress', heartbeatAt } })
  modelServer.script = { answer: 'Rain.' }
  const { status, body } = await client.post(path, { results })
  t.match({ status, body }, { status: 200, body: { message: { content: 'Rain.' } } })
  const { body: page } = await client.get(`/ai/sessions/${session}/messages`)
  t.equal(page.data.length, 3, 'the failed answer is replaced')
})

t.test('the results of a message are those of its calls, and of its owner', async (t) => {
  const { id } = await ask()
  const path = `/ai/messages/${id}/tool-results`
  for (const [sent, field] of [
    [[results[0]], 'results'],
    [[...results, results[0]], 'results[2].tool_call_id'],
    [[...results, { tool_call_id: 'call_c', content: 'x' }], 'results[2].tool_call_id'],
  ] as const) {
    const { status, body } = await client.post(path, { results: sent })
    t.match({ status, field: body.error.details.field }, { status: 400, field })
  }
  const stranger = await server.person()
  t.equal((await stranger.client.post(path, { results })).status, 403)
  t.same((await client.get(`/ai/messages/${id}`)).body.tool_calls, stored(), 'nothing was stored')
  const { body: plain } = await client.post('/ai/chat', { message: 'Hello', model: 'small' })
  t.equal((await client.post(`/ai/messages/${plain.id}/tool-results`, { results })).status, 409)
  modelServer.nextScripts.push({ calls })
  const alone = await client.post('/ai/chat', {
    messages: [{ role: 'user', content: 'Hello' }],
    model: 'small',
    tools,
  })
  t.match(await client.post(`/ai/messages/${alone.body.id}/tool-results`, { results }), {
    status: 409,
    body: { error: { details: { constraint: 'session' } } },
  })
})

t.test('a conversation has the calls and their results', async (t) => {
  const messages = [
    { role: 'user', content: 'What is it like in Oslo?' },
    { role: 'assistant', tool_calls: [calls[0]] },
    { role: 'tool', tool_call_id: 'call_a', content: 'rain' },
  ]
  t.equal((await client.post('/ai/chat', { messages, model: 'small', tools })).status, 200)
  t.match(modelServer.requests[0].body.messages, [
    { role: 'user' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_a', function: { name: 'get_weather' } }] },
    { role: 'tool', tool_call_id: 'call_a', content: 'rain' },
  ])
})

t.test('results that together exceed the context window are refused', async (t) => {
  const { id } = await ask()
  modelServer.requests.length = 0
  const long = 'word '.repeat(10_000)
  const refused = { status: 400, body: { error: { details: { constraint: 'context_window' } } } }
  const tooLong = [results[0], { ...results[1], content: long }]
  t.match(await client.post(`/ai/messages/${id}/tool-results`, { results: tooLong, tools }), refused)
  const messages = [
    { role: 'user', content: 'What is it like in Oslo?' },
    { role: 'assistant', tool_calls: calls },
    { role: 'tool', tool_call_id: 'call_a', content: long },
    { role: 'tool', tool_call_id: 'call_b', content: 'noon' },
  ]
  t.match(await client.post('/ai/chat', { messages, model: 'small', tools }), refused)
  t.equal(modelServer.requests.length, 0, 'the model is not asked')
  t.equal((await client.post(`/ai/messages/${id}/tool-results`, { results, tools })).status, 200)
})

t.test('tools that contradict each other are refused by name', async (t) => {
  for (const [fields, field] of [
    [{ tools: [tools[0], tools[0]] }, 'tools'],
    [{ tool_choice: 'get_rain' }, 'tool_choice'],
    [{ tools: undefined, tool_choice: 'required' }, 'tool_choice'],
    [{ model: 'extractive-1' }, 'tools'],
    [{ tools: [{ name: 'two words' }] }, 'tools[0].name'],
  ] as const) {
    const { status, body } = await client.post('/ai/chat', { ...question, ...fields })
    t.match({ status, field: body.error.details.field }, { status: 400, field }, JSON.stringify(fields))
  }
  const messages = [{ role: 'user', content: 'Hello', tool_calls: calls }]
  const misplaced = await client.post('/ai/chat', { messages, model: 'small' })
  t.equal(misplaced.body.error.details.field, 'messages[0].tool_calls')
  t.equal(modelServer.requests.length, 0)
})
