// Chat, plain and streamed, against a stand-in for a server of models: what is asked of it, what comes of it, and that no
// fault of it, and no client that leaves, ever leaves a session unanswerable.
import t from 'tap'
import { all, idle, openStage, stream, textOf } from '../support/chat.ts'
import { openStream } from '../support/event-stream.ts'
import { startServer } from '../support/server.ts'
import type { Fault } from '../../scripts/bench/model-server.ts'
import { waitUntil } from '../support/wait.ts'

t.test('a chat begins a session, and goes on in it', async (t) => {
  const stage = await openStage(t, { script: { answer: 'Hello, Ada.' } })
  const {
    person: { client },
    upstream,
  } = stage
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
  const asked = upstream.asked.at(-1)!.body
  t.match(asked, {
    model: 'small',
    temperature: 0.5,
    stop: ['###'],
    messages: [{ role: 'user', content: 'My name is Ada. Say hello!' }],
  })

  const second = await client.post('/ai/chat', { message: 'Who am I?', session_id: first.body.session_id })
  t.equal(second.status, 200)
  t.same(
    upstream.asked.at(-1)!.body.messages.map(({ role, content }: any) => [role, content]),
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

t.test('a whole conversation is answered and not stored', async (t) => {
  const stage = await openStage(t)
  const {
    person: { client },
    upstream,
  } = stage
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
    upstream.asked.at(-1)!.body.messages.map(({ role }: any) => role),
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

t.test('a stream tells the same, in events whose ids grow', async (t) => {
  const stage = await openStage(t, {
    script: { answer: 'One two three, 🎉 four.', piecesPerSecond: 100, odd: ['cut'] },
  })
  const opened = await stream(stage, stage.person, { message: 'Count!' })
  t.equal(opened.status, 200)
  const events = await all(opened)
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

  t.test('from each of them on it is told again, from what is stored', async (t) => {
    const id = events[0].data.id
    for (const { id: last } of [{ id: '0' }, ...events]) {
      const again = await all(
        await openStream(stage.server.url, stage.person.key, {
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

t.test('a client that leaves stops it, and what was written is kept', async (t) => {
  const stage = await openStage(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 50 },
  })
  const { person, upstream } = stage
  for (const way of ['stream', 'plain']) {
    let id: string
    if (way === 'stream') {
      const opened = await stream(stage, person, { message: 'Count!' })
      id = (await opened.next()).data.id
      for (let text = ''; text.length < 20;) text += (await opened.next()).data.delta ?? ''
      await opened.close()
    } else {
      const gone = new AbortController()
      const asked = fetch(`${stage.server.url}/v1/ai/chat`, {
        method: 'POST',
        body: JSON.stringify({ message: 'Count!' }),
        headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
        signal: gone.signal,
      }).catch(() => {})
      await waitUntil(() => upstream.asked.at(-1)!.pieces > 10 && upstream.open === 1, 'some to be written')
      const {
        body: {
          data: [session],
        },
      } = await person.client.get('/ai/sessions')
      id = (await person.client.get(`/ai/sessions/${session.id}/messages?limit=1`)).body.data[0].id
      gone.abort()
      await asked
    }
    const left = performance.now()
    await waitUntil(() => upstream.open === 0, 'the upstream to be left')
    t.ok(performance.now() - left < 2_000, `${way}: the upstream is left soon`)
    await idle(stage)
    const { body: message } = await person.client.get(`/ai/messages/${id}`)
    t.equal(message.status, 'cancelled', way)
    t.match(message.content, /^0 1 2 /)
    t.ok(
      message.usage.completion_tokens > 0 && message.usage.prompt_tokens > 0,
      `${way}: what it took is counted`,
    )
    t.equal(
      (
        await person.client.post('/ai/chat', {
          message: 'Go on',
          session_id: message.session_id,
          model: 'extractive-1',
        })
      ).status,
      200,
      `${way}: the session goes on`,
    )
  }
})

t.test('who follows too keeps it going', async (t) => {
  const stage = await openStage(t, {
    script: { pieces: Array.from({ length: 60 }, (_, i) => `${i} `), piecesPerSecond: 40 },
  })
  const opened = await stream(stage, stage.person, { message: 'Count!' })
  const {
    data: { id },
  } = await opened.next()
  const follower = await openStream(stage.server.url, stage.person.key, { path: `/ai/messages/${id}/stream` })
  await follower.next()
  await opened.close()
  const events = await all(follower)
  t.equal(textOf(events), Array.from({ length: 60 }, (_, i) => `${i} `).join(''))
  t.equal(events.at(-1)!.event, 'message.completed')
})

t.test('it is cancelled by whoever may', async (t) => {
  const stage = await openStage(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 50 },
  })
  const other = await startServer(t, {
    databaseUrl: stage.server.databaseUrl,
    env: { STORAGE_DIR: stage.server.services.config.storageDir, AI_UPSTREAMS: stage.upstream.setting },
  })
  for (const { url } of [stage.server, other]) {
    const opened = await stream(stage, stage.person, { message: 'Count!' })
    const {
      data: { id },
    } = await opened.next()
    await opened.next()
    const reply = await fetch(`${url}/v1/ai/messages/${id}/cancel`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stage.person.key}` },
    })
    t.equal(reply.status, 200)
    t.equal(((await reply.json()) as any).status, 'cancelled')
    const events = await all(opened)
    t.match(events.at(-1), { event: 'message.completed', data: { status: 'cancelled', finish_reason: null } })
    await idle(stage)
    const again = await stage.person.client.post(`/ai/messages/${id}/cancel`)
    t.match(again, {
      status: 409,
      body: { error: { code: 'INVALID_STATE', details: { constraint: 'cancelled' } } },
    })
  }
})

t.test('every fault of the upstream has an end, and the session goes on after it', async (t) => {
  const stage = await openStage(t, {
    env: { AI_TIMEOUT: '4', AI_FIRST_TOKEN_TIMEOUT: '1', AI_IDLE_TIMEOUT: '1' },
  })
  const {
    person: { client },
    upstream,
  } = stage
  const faults: Array<[Fault, number, string | null]> = [
    [{ kind: 'hang' }, 503, null],
    [{ kind: 'hang', after: 2 }, 503, 'some'],
    [{ kind: 'reset' }, 503, null],
    [{ kind: 'reset', after: 2 }, 503, 'some'],
    [{ kind: 'end', after: 2 }, 503, 'some'],
    [{ kind: 'status', status: 500 }, 503, null],
    [{ kind: 'status', status: 429, headers: { 'retry-after': '30' } }, 429, null],
    [{ kind: 'status', status: 401 }, 503, null],
    [{ kind: 'broken_json', after: 2 }, 503, 'some'],
    [{ kind: 'error', after: 2 }, 503, 'some'],
    [{ kind: 'drip', bytesPerSecond: 1 }, 503, null],
  ]
  const { body: session } = await client.post('/ai/sessions', { title: 'Faults' })
  for (const [fault, status, some] of faults) {
    const name = JSON.stringify(fault)
    upstream.script = { answer: 'One two three four five', fault }
    const plain = await client.post('/ai/chat', { message: `Plain ${name}`, session_id: session.id })
    t.equal(plain.status, status, name)
    const opened = await stream(stage, stage.person, { message: `Streamed ${name}`, session_id: session.id })
    if (some === null) t.equal(opened.status, status, `${name}: a status before the first byte`)
    else {
      const events = await all(opened)
      t.equal(events.at(-1)!.event, 'error', `${name}: an event after it`)
      t.match(textOf(events), /^One/)
    }
    await idle(stage)
    upstream.script = { answer: 'Well.' }
    const after = await client.post('/ai/chat', { message: 'Are you well?', session_id: session.id })
    t.equal(after.body.message?.content, 'Well.', `${name}: the session goes on`)
    const sent = upstream.asked.at(-1)!.body.messages.map(({ content }: any) => content)
    t.notOk(
      sent.some((content: string) => content.includes(name)),
      `${name}: what was not answered is not repeated`,
    )
  }
  const {
    body: { data },
  } = await client.get(`/ai/sessions/${session.id}/messages?limit=100`)
  t.equal(data.filter(({ status }: any) => status === 'failed').length, 2 * faults.length)
  t.notOk(data.some(({ status }: any) => status === 'in_progress'))
  t.notOk(
    stage.server.logs.some((line) => line.includes('Plain {')),
    'no prompt is in the log',
  )
})

t.test('the window of the model', async (t) => {
  const stage = await openStage(t, { models: [{ id: 'small', context_window: 400, max_output_tokens: 100 }] })
  const {
    person: { client },
    upstream,
  } = stage
  const { body: session } = await client.post('/ai/sessions', {
    title: 'Long',
    system_prompt: 'Always be kind.',
  })
  for (let i = 0; i < 12; i++) {
    upstream.script = { answer: `Answer ${i}. ${'word '.repeat(20)}` }
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
  const sent = upstream.asked.at(-1)!.body.messages
  t.equal(sent[0].content, 'Always be kind.', 'the system prompt is never left out')
  t.match(sent.at(-1).content, /^Question 11/)
  t.ok(sent.length > 3 && sent.length < 20, 'the oldest are')
  t.notOk(sent.some(({ content }: any) => content.startsWith('Question 0.')))
  const long = await client.post('/ai/chat', { message: 'word '.repeat(400), session_id: session.id })
  t.match(long, {
    status: 400,
    body: { error: { details: { field: 'message', constraint: 'context_window' } } },
  })
})

t.test('one message at a time, of 20 at once', async (t) => {
  const stage = await openStage(t, { script: { answer: 'One at a time', piecesPerSecond: 5 } })
  const {
    person: { client },
  } = stage
  const { body: session } = await client.post('/ai/sessions', { title: 'Race' })
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      client.post('/ai/chat', { message: `I am ${i}`, session_id: session.id }),
    ),
  )
  t.equal(replies.filter(({ status }) => status === 200).length, 1)
  t.ok(
    replies
      .filter(({ status }) => status !== 200)
      .every(({ status, body }) => status === 409 && body.error.details.constraint === 'in_progress'),
  )
  t.equal((await client.get(`/ai/sessions/${session.id}`)).body.message_count, 2)
})

t.test('an Idempotency-Key', async (t) => {
  const stage = await openStage(t, { script: { answer: 'Only once.', piecesPerSecond: 10 } })
  const { person, upstream } = stage
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
  t.equal(upstream.asked.length, 1)

  t.test('of a stream', async (t) => {
    const key = { 'idempotency-key': 'streamed' }
    const first = await stream(stage, person, { message: 'Hi' }, key)
    const {
      data: { id },
    } = await first.next()
    const second = await stream(stage, person, { message: 'Hi' }, key)
    t.equal(second.headers.get('idempotent-replayed'), 'true')
    const [a, b] = await Promise.all([all(first), all(second)])
    t.equal(textOf(a), textOf(b))
    t.equal(b[0].data.id, id)
    t.equal(upstream.asked.length, 2)
  })

  t.test('a failure is not remembered', async (t) => {
    upstream.next = [{ fault: { kind: 'status', status: 400 } }]
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

t.test('the limits of a key', async (t) => {
  const stage = await openStage(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 20 },
    env: { AI_STREAMS_PER_KEY: '2', AI_TOKENS_PER_DAY: '200' },
  })
  const { person, upstream } = stage
  const open_ = await Promise.all([1, 2].map(() => stream(stage, person, { message: 'Count!' })))
  const third = await person.client.post('/ai/chat', { message: 'Me too' })
  t.match(third, {
    status: 429,
    body: { error: { code: 'RATE_LIMITED', details: { constraint: 'max_open' } } },
  })
  for (const opened of open_) await opened.close()
  await idle(stage)
  upstream.script = { answer: 'word '.repeat(300), usage: { prompt_tokens: 100, completion_tokens: 300 } }
  t.equal((await person.client.post('/ai/chat', { message: 'Spend it' })).status, 200)
  const over = await person.client.post('/ai/chat', { message: 'And more' })
  t.match(over, { status: 429, body: { error: { details: { constraint: 'tokens_per_day' } } } })
  t.ok(Number(over.headers.get('retry-after')) > 0)
  const other = await stage.server.person()
  t.equal(
    (await other.client.post('/ai/chat', { message: 'I have not' })).status,
    200,
    'another key has its own',
  )
})

t.test('editing and answering anew', async (t) => {
  const stage = await openStage(t)
  const {
    person: { client },
    upstream,
  } = stage
  const answers = ['First.', 'Second.', 'Third.', 'Fourth.']
  upstream.script = () => ({ answer: answers[upstream.asked.length - 1] })
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
  const anew = await client.post(`/ai/messages/${again.body.id}/regenerate`, { temperature: 0 })
  t.equal(anew.status, 200)
  t.same(
    (await messages()).map(({ content }) => content),
    ['Question one, edited', 'Fourth.'],
  )
  t.equal((await client.get(`/ai/sessions/${sessionId}`)).body.message_count, 2)
  const put = await client.put(`/ai/messages/${anew.body.id}`, { content: 'Mine' })
  t.match(put, { status: 409, body: { error: { details: { constraint: 'role' } } } })
})

t.test('a server that dies leaves nothing in progress for ever', async (t) => {
  const stage = await openStage(t)
  const {
    person: { client },
    server: {
      services: { database },
    },
  } = stage
  const chat = await client.post('/ai/chat', { message: 'Hi' })
  await database.prisma.message.update({
    where: { id: chat.body.id },
    data: { status: 'in_progress', beatAt: new Date(Date.now() - 60_000) },
  })
  const next = await client.post('/ai/chat', { message: 'And?', session_id: chat.body.session_id })
  t.equal(next.status, 200)
  t.equal((await client.get(`/ai/messages/${chat.body.id}`)).body.status, 'failed')
})

t.test('a stop ends every stream with an event', async (t) => {
  const stage = await openStage(t, {
    script: { pieces: Array.from({ length: 1000 }, (_, i) => `${i} `), piecesPerSecond: 20 },
    env: { SHUTDOWN_TIMEOUT: '2' },
  })
  const opened = await stream(stage, stage.person, { message: 'Count!' })
  await opened.next()
  await opened.next()
  const { services } = stage.server
  const closing = services.writings.close(200)
  const events = await all(opened)
  t.match(events.at(-1), { event: 'message.completed', data: { status: 'cancelled' } })
  await closing
})
