// Answers in progress and their followers: slow followers, late followers, and followers of a deleted
// message.
import { mock } from 'node:test'
import t from 'tap'
import { startChat } from '../../services/ai/chat/start-answer.ts'
import type { Providers } from '../../services/ai/providers/providers.ts'
import { Generations } from '../../services/ai/chat/generation.ts'
import { LiveAnswer } from '../../services/ai/chat/live-answer.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { collect, waitUntilIdle, startChatFixture, streamChat, textOf } from '../support/ai/chat.ts'
import { openStream } from '../support/http/event-stream.ts'
import { startServer, type Person } from '../support/server/server.ts'
import type { RecordedRequest } from '../../scripts/bench/model-server/script.ts'
import { waitUntil } from '../support/server/wait.ts'
import { addKnowledgeBase, addDocument } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'

const fixture = await startChatFixture(t, {
  models: [
    { id: 'small', context_window: 8000, max_output_tokens: 1000, input_price: 2, output_price: 4 },
    { id: 'large', max_output_tokens: 1_000_000 },
  ],
  // A stream whose model says nothing opens after this many seconds.
  env: { STREAM_PING: '1' },
})
const { server, person, modelServer } = fixture
const { database, principals, generations } = server.services
const principal = await principals.authenticate(`Bearer ${person.key}`)
const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i} `)

t.test(
  'a Last-Event-ID beyond the end of a live answer streams what comes next',
  { timeout: 60_000 },
  async (t) => {
    modelServer.script = { pieces: numbers(40), piecesPerSecond: 20 }
    const opened = await streamChat(fixture, person, { message: 'Count!' })
    const {
      data: { id },
    } = await opened.next()
    await opened.next()
    const ahead = await openStream(server.url, person.key, {
      path: `/ai/messages/${id}/stream`,
      lastEventId: '1000000',
    })
    t.equal((await person.client.get('/ai/usage')).status, 200, 'the server still responds')
    const [events, late] = await Promise.all([collect(opened), collect(ahead)])
    t.match(late.at(-1), { event: 'message.completed', data: { status: 'completed' } })
    t.ok(textOf(late).length < textOf(events).length + 1)
    const again = await collect(
      await openStream(server.url, person.key, { path: `/ai/messages/${id}/stream`, lastEventId: '1000000' }),
    )
    t.same(
      again.map(({ event }) => event),
      ['message.completed'],
    )
  },
)

t.test('a slow reader gets all text and every citation exactly once', async (t) => {
  const base = await addKnowledgeBase(database, principal)
  for (const place of ['attic', 'cellar', 'harbour'])
    await addDocument(database, base, `The treasure of the ${place} is in the ${place}.`)
  const pieces = [
    'In the attic ',
    '[1]',
    ', or in the cellar [',
    '2',
    '] ',
    'or else ',
    '[3',
    '    ',
    ']',
    ' or both [1',
    ', ',
    '2',
    ']',
    ' it is.',
  ]
  modelServer.script = { pieces, piecesPerSecond: 20 }
  const opened = await streamChat(fixture, person, {
    message: 'Where is the treasure?',
    knowledge_base_ids: [base],
  })
  const { data: created } = await opened.next()
  const client = new AbortController()
  const received: any[] = []
  for await (const event of generations.follow({ id: 'req_slow', principal }, created, 1)(client.signal)) {
    received.push(event)
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  t.equal(textOf(received), pieces.join(''))
  const cited = received.filter(({ event }) => event === 'citation.added').map(({ data }) => data.chunk_id)
  t.equal(cited.length, 2)
  t.equal(new Set(cited).size, 2)
  const ids = received.map(({ id }) => Number(id))
  t.same(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  const events = await collect(opened)
  t.equal(textOf(events), pieces.join(''))
})

t.test(
  'followers are notified at once of the first text and of the end, and otherwise every 50 ms',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const answer = new LiveAnswer({} as never)
    let changes = 0
    answer.onChange(() => changes++)
    answer.addText('one')
    t.equal(changes, 1, 'followers are notified of the first text at once')
    for (const text of [' two', ' three']) {
      answer.addText(text)
      t.equal(changes, 1)
    }
    mock.timers.tick(1_000)
    t.equal(changes, 2)
    mock.timers.tick(1_000)
    t.equal(changes, 2, 'without more text there is no change')
    answer.addText(' four')
    t.equal(changes, 3, 'followers are notified of text after a pause at once')
    answer.addText(' five')
    answer.finish({ message: null, error: null })
    t.equal(changes, 4)
    t.equal(answer.content, 'one two three four five')
  },
)

t.test('a citation marker may be split across pieces', async (t) => {
  const base = await addKnowledgeBase(database, principal)
  for (let i = 1; i <= 8; i++)
    await addDocument(database, base, `The treasure of number ${i} is in the place ${i}.`)
  modelServer.script = { pieces: ['Both ', '[', '7', ',', ' ', '8', ',', ' ', '1', ',', ' ', '2', ']', '.'] }
  const { body } = await person.client.post('/ai/chat', {
    message: 'Where is the treasure?',
    knowledge_base_ids: [base],
  })
  t.equal(body.message.content, 'Both [7, 8, 1, 2].')
  t.equal(body.message.citations.length, 4)
})

t.test('the followers of a deleted message get an error event', async (t) => {
  const other = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { STORAGE_DIR: server.services.config.storageDir, AI_UPSTREAMS: modelServer.setting },
  })
  modelServer.script = { pieces: numbers(1000), piecesPerSecond: 20 }
  const opened = await streamChat(fixture, person, { message: 'Count!' })
  const {
    data: { id, session_id: session },
  } = await opened.next()
  const followers = [
    opened,
    ...(await Promise.all(
      [server, other].map(({ url }) => openStream(url, person.key, { path: `/ai/messages/${id}/stream` })),
    )),
  ]
  await Promise.all(followers.map((follower) => follower.next()))
  const plain = person.client.post('/ai/chat', { message: 'Count!' })
  await waitUntil(() => generations.size === 2, 'two answers to be in progress')
  const {
    body: {
      data: [plainSession],
    },
  } = await person.client.get('/ai/sessions')
  for (const id of [session, plainSession.id])
    t.equal((await person.client.delete(`/ai/sessions/${id}`)).status, 204)
  for (const follower of followers) {
    t.match((await collect(follower)).at(-1), {
      event: 'error',
      data: { error: { code: 'NOT_FOUND', details: { request_id: follower.headers.get('x-request-id') } } },
    })
  }
  t.equal((await plain).status, 404)
  await waitUntilIdle(fixture)
})

t.test('the usage of an answer whose session is deleted meanwhile is counted', async (t) => {
  modelServer.script = { pieces: numbers(1000), piecesPerSecond: 20 }
  const before = (await person.client.get('/ai/usage')).body
  const opened = await streamChat(fixture, person, { message: 'Count!' })
  const { data } = await opened.next()
  await opened.next()
  t.equal((await person.client.delete(`/ai/sessions/${data.session_id}`)).status, 204)
  await waitUntilIdle(fixture)
  const after = (await person.client.get('/ai/usage')).body
  t.equal(after.requests, before.requests + 1)
  t.ok(after.prompt_tokens > before.prompt_tokens)
  t.ok(after.completion_tokens > before.completion_tokens)
  await opened.close()
})

t.test('a message that another process has finished ends as it is stored', async (t) => {
  modelServer.script = { pieces: numbers(1000), piecesPerSecond: 20 }
  const opened = await streamChat(fixture, person, { message: 'Count!' })
  const {
    data: { id },
  } = await opened.next()
  await database.prisma.message.update({
    where: { id },
    data: {
      status: 'failed',
      heartbeatAt: null,
      error: { code: 'UNAVAILABLE', message: 'Another process failed it.' },
    },
  })
  t.match((await collect(opened)).at(-1), {
    event: 'error',
    data: { error: { code: 'UNAVAILABLE', message: 'Another process failed it.' } },
  })
  const again = await openStream(server.url, person.key, { path: `/ai/messages/${id}/stream` })
  t.match((await collect(again)).at(-1), {
    event: 'error',
    data: { error: { details: { request_id: again.headers.get('x-request-id') } } },
  })
})

t.test('the prompt and its sources are counted before the model answers', async (t) => {
  const base = await addKnowledgeBase(database, principal)
  await addDocument(
    database,
    base,
    `The treasure is in the attic. ${'It has been there for long. '.repeat(10)}`,
  )
  modelServer.script = { when: new Promise(() => {}) }
  const counts: number[] = []
  for (const bases of [[], [base]]) {
    const opened = await streamChat(fixture, person, {
      message: 'Where is the treasure?',
      knowledge_base_ids: bases,
    })
    const {
      data: { id },
    } = await opened.next()
    await waitUntil(
      async () => (await database.prisma.message.findUniqueOrThrow({ where: { id } })).promptTokens > 0,
      'the prompt tokens to be stored',
    )
    await opened.close()
    await waitUntilIdle(fixture)
    const {
      body: { status, usage },
    } = await person.client.get(`/ai/messages/${id}`)
    t.match([status, usage.completion_tokens], ['canceled', 0])
    counts.push(usage.prompt_tokens)
  }
  t.ok(counts[0] > 0 && counts[1] > counts[0] + 50, `${counts}`)
})

t.test('the usage of an answer whose process died is counted', async (t) => {
  modelServer.script = { answer: 'Hi.' }
  const {
    body: { id, session_id: session },
  } = await person.client.post('/ai/chat', { message: 'Hi' })
  await database.prisma.message.update({
    where: { id },
    data: { status: 'in_progress', promptTokens: 123, heartbeatAt: new Date(Date.now() - 60_000) },
  })
  const before = (await person.client.get('/ai/usage')).body
  t.equal(
    (await person.client.post('/ai/chat', { message: 'And?', session_id: session, model: 'extractive-1' }))
      .status,
    200,
  )
  t.match((await person.client.get(`/ai/messages/${id}`)).body, {
    status: 'failed',
    usage: { prompt_tokens: 123 },
  })
  const after = (await person.client.get('/ai/usage')).body
  t.ok(after.prompt_tokens >= before.prompt_tokens + 123)
  t.ok(after.cost_micros > before.cost_micros, 'the cost is counted too')
})

t.test('implausible token counts of a provider are ignored', async (t) => {
  for (const tokens of [3_000_000_000, 1e300, -5, 0.5]) {
    modelServer.script = { answer: 'Well.', usage: { prompt_tokens: tokens, completion_tokens: tokens } }
    const { status, body } = await person.client.post('/ai/chat', { message: 'Hi' })
    t.match([status, body.status], [200, 'completed'], `${tokens}`)
    t.ok(body.usage.prompt_tokens > 0 && body.usage.total_tokens < 1_000)
  }
})

t.test('thoughts count as tokens if the provider reports none', async (t) => {
  const thoughts = Array.from({ length: 50 }, () => 'perhaps another thought ')
  const usage = async (): Promise<any> => (await person.client.get('/ai/usage')).body
  for (const script of [
    { thoughts, answer: 'Yes.' },
    { pieces: ['<think>', ...thoughts, '</think>', 'Yes.'] },
  ]) {
    modelServer.script = { ...script, variants: ['no_usage'] }
    const { body } = await person.client.post('/ai/chat', { message: 'Think!' })
    t.equal(body.message.content, 'Yes.')
    t.ok(body.usage.completion_tokens > 150, `${body.usage.completion_tokens} of an answer`)
  }

  modelServer.script = { thoughts, fault: { kind: 'hang', after: 0 } }
  const opened = await streamChat(fixture, person, { message: 'Think!' })
  const { data } = await opened.next()
  const { body: canceled } = await person.client.post(`/ai/messages/${data.id}/cancel`)
  t.ok(canceled.usage.completion_tokens > 150, `${canceled.usage.completion_tokens} of a canceled answer`)
  await opened.close()

  const before = await usage()
  modelServer.script = { thoughts, fault: { kind: 'reset', after: 0 } }
  t.equal((await person.client.post('/ai/chat', { message: 'Think!' })).status, 503)
  const after = await usage()
  t.ok(after.completion_tokens > before.completion_tokens + 150, 'of a failed answer')
  t.ok(after.prompt_tokens > before.prompt_tokens, 'the model has got the prompt')
})

t.test('if the embedding model fails, passages are found by words', async (t) => {
  const own = await startChatFixture(t, { embeddings: { model: 'embedder', dimensions: 64 } })
  const key = await own.server.services.principals.authenticate(`Bearer ${own.person.key}`)
  const base = await addKnowledgeBase(own.server.services.database, key)
  await addDocument(own.server.services.database, base, 'The treasure of the harbour lies in the attic.')
  const isEmbedding = ({ path }: RecordedRequest): boolean => path.endsWith('/embeddings')
  own.modelServer.script = (request) =>
    isEmbedding(request) ? { fault: { kind: 'status', status: 500 } } : { answer: 'In the attic [1].' }
  const { body } = await own.person.client.post('/ai/chat', {
    message: 'Where does the treasure of the harbour lie?'.padEnd(50_000, ' please'),
    knowledge_base_ids: [base],
    model: 'large',
  })
  t.equal(body.message?.citations.length, 1)
  const {
    body: { input },
  } = own.modelServer.requests.find(isEmbedding)!
  t.ok([input].flat()[0].length <= 4_000)
})

t.test('the time to generate an answer grows linearly with its length', { timeout: 120_000 }, async (t) => {
  const { config, events, providers, searches, storage } = server.services
  const pieces = 100_000
  const complete: Providers['complete'] = async (_request, onText) => {
    for (let i = 0; i < pieces; i++) {
      if (i % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
      onText('abcd')
    }
    return { finishReason: 'stop', usage: null, toolCalls: [] }
  }
  const own = new Generations({
    database,
    listener: { on() {} },
    principals,
    events,
    providers: { ...providers, complete },
    searches,
    storage,
  })
  t.teardown(() => own.close())
  const operation = { id: 'createChat' } as OperationInfo
  const { message, task } = await startChat(
    { db: database, config, events, providers, storage },
    { id: 'req_long', operation, principal, idempotency: null },
    { message: 'Write a book!' },
  )
  const client = new AbortController()
  const cpuBefore = process.cpuUsage()
  own.start(task!, client.signal)
  let length = 0
  for await (const { event, data } of own.follow(
    { id: 'req_long', principal },
    message,
    0,
  )(client.signal) as AsyncIterable<any>)
    if (event === 'message.delta') length += data.delta.length
  const { user, system } = process.cpuUsage(cpuBefore)
  t.equal(length, 4 * pieces)
  t.ok(user + system < 6_000_000, `${(user + system) / 1e6} s`)
})

t.test('a follower that loses its permission gets an error event', async (t) => {
  const { config, events, providers, searches, storage } = server.services
  const complete: Providers['complete'] = async ({ signal }, onText) => {
    for (;;) {
      signal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, 20))
      onText('more ')
    }
  }
  const own = new Generations({
    database,
    listener: { on() {} },
    principals,
    events,
    providers: { ...providers, complete },
    searches,
    storage,
    recheck: 100,
  })
  t.teardown(() => own.close())
  const owner = await server.person()
  const {
    body: { id: project },
  } = await owner.client.post('/projects', { name: 'Harbour' })
  const followUntil = async (
    revoke: (membership: string, member: Person) => Promise<unknown>,
  ): Promise<any> => {
    const member = await server.person()
    const membership = await createMember(server, project, member.id, 'editor')
    const { body: session } = await member.client.post('/ai/sessions', { project_id: project })
    const request = {
      id: 'req_lost',
      operation: { id: 'createChat', projectAccess: { role: 'editor' } } as OperationInfo,
      principal: await principals.authenticate(`Bearer ${member.key}`),
      idempotency: null,
    }
    const { message, task } = await startChat({ db: database, config, events, providers, storage }, request, {
      message: 'Continue!',
      session_id: session.id,
    })
    const client = new AbortController()
    own.start(task!, client.signal)
    let last: any
    let received = 0
    for await (last of own.follow(request, message, 0)(client.signal))
      if (++received === 3) await revoke(membership, member)
    client.abort()
    return last
  }
  t.match(
    await followUntil((membership) => owner.client.delete(`/projects/${project}/members/${membership}`)),
    {
      event: 'error',
      data: { error: { code: 'FORBIDDEN', details: { request_id: 'req_lost' } } },
    },
  )
  t.match(
    await followUntil((_membership, { id }) =>
      database.prisma.apiKey
        .updateMany({ where: { userId: id }, data: { revokedAt: new Date() } })
        .then(() => principals.waitForInvalidation(id)),
    ),
    { event: 'error', data: { error: { code: 'UNAUTHORIZED' } } },
  )
  await waitUntil(() => own.size === 0, 'both answers to stop')
})

t.test('a chat during a shutdown fails, and no message stays in progress', async (t) => {
  modelServer.script = { answer: 'Hi.' }
  await generations.close()
  const refused = await person.client.post('/ai/chat', { message: 'Hi' })
  t.equal(refused.status, 503)
  t.equal(await database.prisma.message.count({ where: { status: 'in_progress' } }), 0)
})
