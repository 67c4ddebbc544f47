// Chats, plain and streamed, against a fake model server: the requests to the model, the answers, and that
// neither a fault of the model nor a disconnect leaves a session blocked.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { collect, waitUntilIdle, startChatFixture, streamChat, textOf } from '../support/ai/chat.ts'
import { openStream } from '../support/http/event-stream.ts'
import { startServer } from '../support/server/server.ts'
import type { Fault, RecordedRequest } from '../../scripts/bench/model-server/script.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('a chat creates a session, and the next chat continues it', async (t) => {
  const fixture = await startChatFixture(t, { script: { answer: 'Hello, Ada.' } })
  const {
    person: { client },
    modelServer,
  } = fixture
  const first = await client.post('/ai/chat', {
    message: 'My name is Ada. Say hello!',
    temperature: 0.5,
    max_tokens: 50,
    stop: ['###'],
  })
  t.equal(first.status, 200)
  t.match(first.body, {
    model: 'small',
    status: 'completed',
    finish_reason: 'stop',
    message: { role: 'assistant', content: 'Hello, Ada.', citations: [] },
  })
  t.equal(first.body.id, first.body.message.id)
  t.ok(first.body.usage.total_tokens > 0)
  const { body } = modelServer.requests.at(-1)!
  t.match(body, {
    model: 'small',
    temperature: 0.5,
    stop: ['###'],
    messages: [{ role: 'user', content: 'My name is Ada. Say hello!' }],
  })

  const second = await client.post('/ai/chat', { message: 'Who am I?', session_id: first.body.session_id })
  t.equal(second.status, 200)
  t.same(
    modelServer.requests.at(-1)!.body.messages.map(({ role, content }: any) => [role, content]),
    [
      ['user', 'My name is Ada. Say hello!'],
      ['assistant', 'Hello, Ada.'],
      ['user', 'Who am I?'],
    ],
  )
  const { body: session } = await client.get(`/ai/sessions/${first.body.session_id}`)
  t.match(session, {
    title: 'My name is Ada.',
    message_count: 4,
    usage: { total_tokens: first.body.usage.total_tokens + second.body.usage.total_tokens },
  })
  const {
    body: { data },
  } = await client.get(`/ai/sessions/${session.id}/messages?order=asc`)
  t.same(
    data.map(({ role, content }: any) => [role, content]),
    [
      ['user', 'My name is Ada. Say hello!'],
      ['assistant', 'Hello, Ada.'],
      ['user', 'Who am I?'],
      ['assistant', 'Hello, Ada.'],
    ],
  )
  const { body: usage } = await client.get('/ai/usage')
  t.match(usage, { requests: 2, total_tokens: session.usage.total_tokens })
})

t.test('a chat with a whole conversation is answered but not stored', async (t) => {
  const fixture = await startChatFixture(t)
  const {
    person: { client },
    modelServer,
  } = fixture
  const reply = await client.post('/ai/chat', {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'And now?' },
    ],
  })
  t.equal(reply.status, 200)
  t.equal(reply.body.session_id, null)
  t.same(
    modelServer.requests.at(-1)!.body.messages.map(({ role }: any) => role),
    ['system', 'user', 'assistant', 'user'],
  )
  t.equal((await client.get('/ai/sessions')).body.pagination.total, 0)
  t.equal((await client.get(`/ai/messages/${reply.body.id}`)).body.content, reply.body.message.content)
  await client.put('/user/settings', { ai: { store_history: false } })
  t.equal((await client.post('/ai/chat', { message: 'Forget me' })).body.session_id, null)
  t.equal(
    (await client.post('/ai/chat', { messages: [{ role: 'assistant', content: 'Hi.' }] })).body.error.details
      .constraint,
    'role',
  )
})

t.test('a stream has the whole answer, in events with increasing ids', async (t) => {
  const fixture = await startChatFixture(t, {
    script: { answer: 'One two three, 🎉 four.', piecesPerSecond: 100, variants: ['cut'] },
  })
  const opened = await streamChat(fixture, fixture.person, { message: 'Count!' })
  t.equal(opened.status, 200)
  const events = await collect(opened)
  t.equal(events[0].event, 'message.created')
  t.match(events[0].data, { status: 'in_progress', content: '' })
  t.equal(textOf(events), 'One two three, 🎉 four.')
  t.match(events.at(-1), {
    event: 'message.completed',
    data: { status: 'completed', message: { content: 'One two three, 🎉 four.' } },
  })
  const ids = events.map(({ id }) => Number(id))
  t.same(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  t.equal(new Set(ids).size, ids.length)

  t.test('the stored stream resumes after each of the event ids', async (t) => {
    const id = events[0].data.id
    for (const { id: last } of [{ id: '0' }, ...events]) {
      const again = await collect(
        await openStream(fixture.server.url, fixture.person.key, {
          path: `/ai/messages/${id}/stream`,
          lastEventId: last,
        }),
      )
      const missed = events.filter(({ id }) => Number(id) > Number(last))
      t.equal(textOf(again), textOf(missed), `after ${last}`)
      t.equal(again.at(-1)?.event, missed.at(-1)?.event)
    }
  })
})

t.test('a disconnect stops the generation, and the text so far is kept', async (t) => {
  const fixture = await startChatFixture(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 50 },
  })
  const { person, modelServer } = fixture
  for (const kind of ['stream', 'plain']) {
    let id: string
    if (kind === 'stream') {
      const opened = await streamChat(fixture, person, { message: 'Count!' })
      id = (await opened.next()).data.id
      for (let text = ''; text.length < 20;) text += (await opened.next()).data.delta ?? ''
      await opened.close()
    } else {
      const client = new AbortController()
      const response = fetch(`${fixture.server.url}/v1/ai/chat`, {
        method: 'POST',
        body: JSON.stringify({ message: 'Count!' }),
        headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
        signal: client.signal,
      }).catch(() => {})
      await waitUntil(
        () => modelServer.requests.at(-1)!.pieces > 10 && modelServer.openRequests === 1,
        'some text to arrive',
      )
      const {
        body: {
          data: [session],
        },
      } = await person.client.get('/ai/sessions')
      id = (await person.client.get(`/ai/sessions/${session.id}/messages?limit=1`)).body.data[0].id
      client.abort()
      await response
    }
    const disconnectedAt = performance.now()
    await waitUntil(() => modelServer.openRequests === 0, 'the request to the model to end')
    t.ok(performance.now() - disconnectedAt < 2_000, `${kind}: the request to the model ends soon`)
    await waitUntilIdle(fixture)
    const { body: message } = await person.client.get(`/ai/messages/${id}`)
    t.equal(message.status, 'canceled', kind)
    t.match(message.content, /^0 1 2 /)
    t.ok(
      message.usage.completion_tokens > 0 && message.usage.prompt_tokens > 0,
      `${kind}: the usage is counted`,
    )
    t.equal(
      (
        await person.client.post('/ai/chat', {
          message: 'Continue',
          session_id: message.session_id,
          model: 'extractive-1',
        })
      ).status,
      200,
      `${kind}: the session continues`,
    )
  }
})

t.test('a second follower keeps the generation running', async (t) => {
  const fixture = await startChatFixture(t, {
    script: { pieces: Array.from({ length: 60 }, (_, i) => `${i} `), piecesPerSecond: 40 },
  })
  const opened = await streamChat(fixture, fixture.person, { message: 'Count!' })
  const {
    data: { id },
  } = await opened.next()
  const follower = await openStream(fixture.server.url, fixture.person.key, {
    path: `/ai/messages/${id}/stream`,
  })
  await follower.next()
  await opened.close()
  const events = await collect(follower)
  t.equal(textOf(events), Array.from({ length: 60 }, (_, i) => `${i} `).join(''))
  t.equal(events.at(-1)!.event, 'message.completed')
})

t.test('an answer is canceled through any server', async (t) => {
  const fixture = await startChatFixture(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 50 },
  })
  const other = await startServer(t, {
    databaseUrl: fixture.server.databaseUrl,
    env: {
      STORAGE_DIR: fixture.server.services.config.storageDir,
      AI_UPSTREAMS: fixture.modelServer.setting,
    },
  })
  for (const { url } of [fixture.server, other]) {
    const opened = await streamChat(fixture, fixture.person, { message: 'Count!' })
    const {
      data: { id },
    } = await opened.next()
    await opened.next()
    const reply = await fetch(`${url}/v1/ai/messages/${id}/cancel`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.person.key}` },
    })
    t.equal(reply.status, 200)
    t.equal(((await reply.json()) as any).status, 'canceled')
    const events = await collect(opened)
    t.match(events.at(-1), { event: 'message.completed', data: { status: 'canceled', finish_reason: null } })
    await waitUntilIdle(fixture)
    const again = await fixture.person.client.post(`/ai/messages/${id}/cancel`)
    t.match(again, { status: 200, body: { status: 'canceled' } })
  }
})

t.test('every fault of the model ends the answer, and the session continues', async (t) => {
  const fixture = await startChatFixture(t, {
    env: { AI_TIMEOUT: '4', AI_FIRST_TOKEN_TIMEOUT: '1', AI_IDLE_TIMEOUT: '1' },
  })
  const {
    person: { client },
    modelServer,
  } = fixture
  const faults: Array<[Fault, number, string | null]> = [
    [{ kind: 'hang' }, 503, null],
    [{ kind: 'hang', after: 2 }, 503, 'some'],
    [{ kind: 'reset' }, 503, null],
    [{ kind: 'reset', after: 2 }, 503, 'some'],
    [{ kind: 'end', after: 2 }, 503, 'some'],
    [{ kind: 'status', status: 500 }, 503, null],
    [{ kind: 'status', status: 429, headers: { 'retry-after': '30' } }, 503, null],
    [{ kind: 'status', status: 401 }, 503, null],
    [{ kind: 'broken_json', after: 2 }, 503, 'some'],
    [{ kind: 'error', after: 2 }, 503, 'some'],
    [{ kind: 'drip', bytesPerSecond: 1 }, 503, null],
  ]
  // The last message of a request selects the fault, so that all faults can run at once.
  const faultOf = (asked: RecordedRequest): Fault | undefined =>
    faults.find(([fault]) => asked.body.messages.at(-1).content.endsWith(JSON.stringify(fault)))?.[0]
  modelServer.script = (asked) => {
    const fault = faultOf(asked)
    return fault === undefined ? { answer: 'Well.' } : { answer: 'One two three four five', fault }
  }
  const sessions = await Promise.all(
    faults.map(async ([fault, status, some]) => {
      const name = JSON.stringify(fault)
      const { body: session } = await client.post('/ai/sessions', { title: name })
      const plain = await client.post('/ai/chat', { message: `Plain ${name}`, session_id: session.id })
      t.equal(plain.status, status, name)
      const opened = await streamChat(fixture, fixture.person, {
        message: `Streamed ${name}`,
        session_id: session.id,
      })
      if (some === null) t.equal(opened.status, status, `${name}: an error status before the first event`)
      else {
        const events = await collect(opened)
        t.equal(events.at(-1)!.event, 'error', `${name}: an error event after it`)
        t.match(textOf(events), /^One/)
      }
      return { id: session.id, name }
    }),
  )
  await waitUntilIdle(fixture)
  for (const { id, name } of sessions) {
    const after = await client.post('/ai/chat', { message: 'Are you well?', session_id: id })
    t.equal(after.body.message?.content, 'Well.', `${name}: the session continues`)
    const sent = modelServer.requests.at(-1)!.body.messages.map(({ content }: any) => content)
    t.notOk(
      sent.some((content: string) => content.includes(name)),
      `${name}: a question without an answer is not in the history`,
    )
    const {
      body: { data },
    } = await client.get(`/ai/sessions/${id}/messages?limit=100`)
    t.equal(data.filter(({ status }: any) => status === 'failed').length, 2, `${name}: two answers failed`)
    t.notOk(data.some(({ status }: any) => status === 'in_progress'))
  }
  t.notOk(
    fixture.server.logs.some((line) => line.includes('Plain {')),
    'the log contains no prompt',
  )
})

t.test('a prompt fits into the context window of the model', async (t) => {
  const fixture = await startChatFixture(t, {
    models: [{ id: 'small', context_window: 400, max_output_tokens: 100 }],
  })
  const {
    person: { client },
    modelServer,
  } = fixture
  const { body: session } = await client.post('/ai/sessions', {
    title: 'Long',
    system_prompt: 'Always be kind.',
  })
  for (let i = 0; i < 12; i++) {
    modelServer.script = { answer: `Answer ${i}. ${'word '.repeat(20)}` }
    t.equal(
      (
        await client.post('/ai/chat', {
          message: `Question ${i}. ${'word '.repeat(20)}`,
          session_id: session.id,
        })
      ).status,
      200,
    )
  }
  const sent = modelServer.requests.at(-1)!.body.messages
  t.equal(sent[0].content, 'Always be kind.', 'the system prompt is always in the prompt')
  t.match(sent.at(-1).content, /^Question 11/)
  t.ok(sent.length > 3 && sent.length < 20, 'the oldest messages are left out')
  t.notOk(sent.some(({ content }: any) => content.startsWith('Question 0.')))
  const long = await client.post('/ai/chat', { message: 'word '.repeat(400), session_id: session.id })
  t.match(long, {
    status: 400,
    body: { error: { details: { field: 'message', constraint: 'context_window' } } },
  })
  const tool = { name: 'look_up', description: 'word '.repeat(400) }
  t.match(await client.post('/ai/chat', { message: 'Hi', session_id: session.id, tools: [tool] }), {
    status: 400,
    body: { error: { message: /100 are reserved for the answer and 4\d\d used by the tools/ } },
  })
})

t.test('a session answers one message at a time', async (t) => {
  const others = Promise.withResolvers<void>()
  const fixture = await startChatFixture(t, { script: { answer: 'One at a time', when: others.promise } })
  const {
    person: { client },
  } = fixture
  const { body: session } = await client.post('/ai/sessions', { title: 'Race' })
  // The model answers once all other requests are answered.
  let answered = 0
  const replies = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const reply = await client.post('/ai/chat', { message: `I am ${i}`, session_id: session.id })
      if (++answered === 19) others.resolve()
      return reply
    }),
  )
  t.equal(replies.filter(({ status }) => status === 200).length, 1)
  t.ok(
    replies
      .filter(({ status }) => status !== 200)
      .every(({ status, body }) => status === 409 && body.error.details.constraint === 'in_progress'),
  )
  t.equal((await client.get(`/ai/sessions/${session.id}`)).body.message_count, 2)
})

t.test('a request with the same Idempotency-Key is answered once', async (t) => {
  const fixture = await startChatFixture(t, { script: { answer: 'Only once.', piecesPerSecond: 10 } })
  const { person, modelServer } = fixture
  const headers = { 'idempotency-key': 'once' }
  const replies = await Promise.all(
    Array.from({ length: 5 }, () =>
      person.client.call('POST', '/ai/chat', { body: { message: 'Hi' }, headers }),
    ),
  )
  t.equal(replies.filter(({ status }) => status === 200).length, 1)
  const again = await person.client.call('POST', '/ai/chat', { body: { message: 'Hi' }, headers })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.same(again.body, replies.find(({ status }) => status === 200)!.body)
  t.equal((await person.client.call('POST', '/ai/chat', { body: { message: 'Ho' }, headers })).status, 422)
  t.equal(modelServer.requests.length, 1)

  t.test('a repeated stream follows the same answer', async (t) => {
    const key = { 'idempotency-key': 'streamed' }
    const first = await streamChat(fixture, person, { message: 'Hi' }, key)
    const {
      data: { id },
    } = await first.next()
    const second = await streamChat(fixture, person, { message: 'Hi' }, key)
    t.equal(second.headers.get('idempotent-replayed'), 'true')
    const [a, b] = await Promise.all([collect(first), collect(second)])
    t.equal(textOf(a), textOf(b))
    t.equal(b[0].data.id, id)
    t.equal(modelServer.requests.length, 2)
  })

  t.test('a failed answer is not replayed', async (t) => {
    modelServer.nextScripts = [{ fault: { kind: 'status', status: 400 } }]
    const failing = { 'idempotency-key': 'failing' }
    t.equal(
      (await person.client.call('POST', '/ai/chat', { body: { message: 'Hi' }, headers: failing })).status,
      503,
    )
    t.equal(
      (await person.client.call('POST', '/ai/chat', { body: { message: 'Hi' }, headers: failing })).status,
      200,
    )
  })
})

t.test('a user has a limit of open answers and of tokens per day', async (t) => {
  const fixture = await startChatFixture(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 20 },
    env: { AI_STREAMS_PER_USER: '2', AI_TOKENS_PER_DAY: '50000' },
  })
  const { person, modelServer } = fixture
  const streams = await Promise.all([1, 2].map(() => streamChat(fixture, person, { message: 'Count!' })))
  const third = await person.client.post('/ai/chat', { message: 'Me too' })
  t.match(third, {
    status: 429,
    body: {
      error: {
        code: 'RATE_LIMITED',
        details: { constraint: 'max_open', limit: { name: 'open_answers', limit: 2, used: 2 } },
      },
    },
  })
  for (const opened of streams) await opened.close()
  await waitUntilIdle(fixture)
  modelServer.script = {
    answer: 'word '.repeat(300),
    usage: { prompt_tokens: 100, completion_tokens: 60_000 },
  }
  t.equal((await person.client.post('/ai/chat', { message: 'Spend it' })).status, 200)
  const over = await person.client.post('/ai/chat', { message: 'And more' })
  const { limit } = over.body.error.details
  t.match(over, { status: 429, body: { error: { details: { constraint: 'tokens_per_day' } } } })
  t.match(limit, { name: 'tokens_per_day', resets_at: /T00:00:00\.000Z$/ })
  t.ok(limit.used >= limit.limit)
  t.ok(Number(over.headers.get('retry-after')) > 0)
  const other = await fixture.server.person()
  t.equal(
    (await other.client.post('/ai/chat', { message: 'I have not' })).status,
    200,
    'another user has their own limit',
  )
})

t.test('answers in progress reserve their tokens for all keys of the user', async (t) => {
  const fixture = await startChatFixture(t, {
    script: { pieces: Array.from({ length: 100 }, () => 'word '), piecesPerSecond: 100 },
    env: { AI_TOKENS_PER_DAY: '1000' },
  })
  const { person, server } = fixture
  const { body: key } = await person.client.post('/user/api-keys', { name: 'second', scopes: ['ai:write'] })
  const clients = [person.client, createClient(server.url, key.key)]
  const replies = await Promise.all(
    Array.from({ length: 18 }, (_, i) =>
      clients[i % 2].post('/ai/chat', { message: 'Count!', max_tokens: 400 }),
    ),
  )
  const statuses = replies.map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 3, 'the third reaches the limit')
  t.equal(statuses.filter((status) => status === 429).length, 15)
  t.equal(
    (await person.client.post('/ai/chat', { message: 'Again', max_tokens: 400 })).status,
    200,
    'a finished answer counts only what it used',
  )
})

t.test('editing a question and regenerating an answer delete the later messages', async (t) => {
  const fixture = await startChatFixture(t)
  const {
    person: { client },
    modelServer,
  } = fixture
  const answers = ['First.', 'Second.', 'Third.', 'Fourth.']
  modelServer.script = () => ({ answer: answers[modelServer.requests.length - 1] })
  const first = await client.post('/ai/chat', { message: 'Question one' })
  const sessionId = first.body.session_id
  await client.post('/ai/chat', { message: 'Question two', session_id: sessionId })
  const messages = async (): Promise<any[]> =>
    (await client.get(`/ai/sessions/${sessionId}/messages?order=asc`)).body.data
  const [question, answer] = await messages()

  const edited = await client.put(`/ai/messages/${question.id}`, { content: 'Question one, edited' })
  t.equal(edited.status, 200)
  t.same(
    (await messages()).map(({ content }) => content),
    ['Question one, edited'],
  )
  t.equal((await client.put(`/ai/messages/${answer.id}`, { content: 'Mine' })).status, 404)

  const again = await client.post(`/ai/messages/${question.id}/regenerate`, {})
  t.equal(again.status, 200)
  t.same(
    (await messages()).map(({ content }) => content),
    ['Question one, edited', 'Third.'],
  )
  const regenerated = await client.post(`/ai/messages/${again.body.id}/regenerate`, { temperature: 0 })
  t.equal(regenerated.status, 200)
  t.same(
    (await messages()).map(({ content }) => content),
    ['Question one, edited', 'Fourth.'],
  )
  t.equal((await client.get(`/ai/sessions/${sessionId}`)).body.message_count, 2)
  const put = await client.put(`/ai/messages/${regenerated.body.id}`, { content: 'Mine' })
  t.match(put, { status: 409, body: { error: { details: { constraint: 'role' } } } })
})

t.test('an answer of a dead server is failed by the next request', async (t) => {
  const fixture = await startChatFixture(t)
  const {
    person: { client },
    server: {
      services: { database },
    },
  } = fixture
  const chat = await client.post('/ai/chat', { message: 'Hi' })
  await database.prisma.message.update({
    where: { id: chat.body.id },
    data: { status: 'in_progress', heartbeatAt: new Date(Date.now() - 60_000) },
  })
  const next = await client.post('/ai/chat', { message: 'And?', session_id: chat.body.session_id })
  t.equal(next.status, 200)
  t.equal((await client.get(`/ai/messages/${chat.body.id}`)).body.status, 'failed')
})

t.test('a shutdown ends every stream with an event', async (t) => {
  const fixture = await startChatFixture(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 20 },
    env: { SHUTDOWN_TIMEOUT: '2' },
  })
  const opened = await streamChat(fixture, fixture.person, { message: 'Count!' })
  await opened.next()
  await opened.next()
  const { services } = fixture.server
  const closing = services.generations.close(200)
  const events = await collect(opened)
  t.match(events.at(-1), { event: 'message.completed', data: { status: 'canceled' } })
  await closing
})
