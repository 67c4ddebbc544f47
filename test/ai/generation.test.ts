// Answers while they are written, and those who follow them: slow ones, late ones, and ones whose message goes.
import t from 'tap'
import { beginChat } from '../../services/ai/chat/start-answer.ts'
import type { CompletionRequest } from '../../services/ai/providers/providers.ts'
import type { Piece } from '../../services/ai/providers/completion.ts'
import { createWritings } from '../../services/ai/chat/generation.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { all, idle, openStage, stream, textOf } from '../support/chat.ts'
import { openStream } from '../support/event-stream.ts'
import { startServer, type Person } from '../support/server.ts'
import type { Asked } from '../../scripts/bench/model-server.ts'
import { waitUntil } from '../support/wait.ts'
import { addKnowledgeBase, addDocument } from '../../scripts/bench/retrieval/retrieval-fixtures.ts'

const stage = await openStage(t, {
  models: [
    { id: 'small', context_window: 8000, max_output_tokens: 1000, input_price: 2, output_price: 4 },
    { id: 'large', max_output_tokens: 1_000_000 },
  ],
})
const { server, person, upstream } = stage
const { database, principals, writings } = server.services
const principal = await principals.authenticate(`Bearer ${person.key}`)
const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i} `)

t.test('whoever says to have seen more than there is is told the rest', { timeout: 60_000 }, async (t) => {
  upstream.script = { pieces: numbers(40), piecesPerSecond: 20 }
  const opened = await stream(stage, person, { message: 'Count!' })
  const {
    data: { id },
  } = await opened.next()
  await opened.next()
  const ahead = await openStream(server.url, person.key, {
    path: `/ai/messages/${id}/stream`,
    lastEventId: '1000000',
  })
  t.equal((await person.client.get('/ai/usage')).status, 200, 'the server goes on')
  const [events, late] = await Promise.all([all(opened), all(ahead)])
  t.match(late.at(-1), { event: 'message.completed', data: { status: 'completed' } })
  t.ok(textOf(late).length < textOf(events).length + 1)
  const again = await all(
    await openStream(server.url, person.key, { path: `/ai/messages/${id}/stream`, lastEventId: '1000000' }),
  )
  t.same(
    again.map(({ event }) => event),
    ['message.completed'],
  )
})

t.test('a slow reader is told every piece and every citation once', async (t) => {
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
  upstream.script = { pieces, piecesPerSecond: 20 }
  const opened = await stream(stage, person, {
    message: 'Where is the treasure?',
    knowledge_base_ids: [base],
  })
  const { data: created } = await opened.next()
  const gone = new AbortController()
  const told: any[] = []
  for await (const event of writings.follow({ id: 'req_slow', principal }, created, 1)(gone.signal)) {
    told.push(event)
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  t.equal(textOf(told), pieces.join(''))
  const cited = told.filter(({ event }) => event === 'citation.added').map(({ data }) => data.chunk_id)
  t.equal(cited.length, 2)
  t.equal(new Set(cited).size, 2)
  const ids = told.map(({ id }) => Number(id))
  t.same(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  const events = await all(opened)
  t.equal(textOf(events), pieces.join(''))
})

t.test('a marker that comes in many pieces cites', async (t) => {
  const base = await addKnowledgeBase(database, principal)
  for (let i = 1; i <= 8; i++)
    await addDocument(database, base, `The treasure of number ${i} is in the place ${i}.`)
  upstream.script = { pieces: ['Both ', '[', '7', ',', ' ', '8', ',', ' ', '1', ',', ' ', '2', ']', '.'] }
  const { body } = await person.client.post('/ai/chat', {
    message: 'Where is the treasure?',
    knowledge_base_ids: [base],
  })
  t.equal(body.message.content, 'Both [7, 8, 1, 2].')
  t.equal(body.message.citations.length, 4)
})

t.test('whose message goes while it is written hears of it', async (t) => {
  const other = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { STORAGE_DIR: server.services.config.storageDir, AI_UPSTREAMS: upstream.setting },
  })
  upstream.script = { pieces: numbers(1000), piecesPerSecond: 20 }
  const opened = await stream(stage, person, { message: 'Count!' })
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
  await waitUntil(() => writings.size === 2, 'two to be written')
  const {
    body: {
      data: [begun],
    },
  } = await person.client.get('/ai/sessions')
  for (const gone of [session, begun.id])
    t.equal((await person.client.delete(`/ai/sessions/${gone}`)).status, 204)
  for (const follower of followers) {
    t.match((await all(follower)).at(-1), {
      event: 'error',
      data: { error: { code: 'NOT_FOUND', details: { request_id: follower.headers.get('x-request-id') } } },
    })
  }
  t.equal((await plain).status, 404)
  await idle(stage)
})

t.test('what somebody else has ended ends as it is stored', async (t) => {
  upstream.script = { pieces: numbers(1000), piecesPerSecond: 20 }
  const opened = await stream(stage, person, { message: 'Count!' })
  const {
    data: { id },
  } = await opened.next()
  await database.prisma.message.update({
    where: { id },
    data: { status: 'failed', beatAt: null, error: { code: 'UNAVAILABLE', message: 'Somebody said so.' } },
  })
  t.match((await all(opened)).at(-1), {
    event: 'error',
    data: { error: { code: 'UNAVAILABLE', message: 'Somebody said so.' } },
  })
  const again = await openStream(server.url, person.key, { path: `/ai/messages/${id}/stream` })
  t.match((await all(again)).at(-1), {
    event: 'error',
    data: { error: { details: { request_id: again.headers.get('x-request-id') } } },
  })
})

t.test('what the model was asked is counted before it answers, with its sources', async (t) => {
  const base = await addKnowledgeBase(database, principal)
  await addDocument(
    database,
    base,
    `The treasure is in the attic. ${'It has been there for long. '.repeat(10)}`,
  )
  upstream.script = { when: new Promise(() => {}) }
  const counts: number[] = []
  for (const bases of [[], [base]]) {
    const opened = await stream(stage, person, {
      message: 'Where is the treasure?',
      knowledge_base_ids: bases,
    })
    const {
      data: { id },
    } = await opened.next()
    await waitUntil(
      async () => (await database.prisma.message.findUniqueOrThrow({ where: { id } })).promptTokens > 0,
      'them to be kept',
    )
    await opened.close()
    await idle(stage)
    const {
      body: { status, usage },
    } = await person.client.get(`/ai/messages/${id}`)
    t.match([status, usage.completion_tokens], ['cancelled', 0])
    counts.push(usage.prompt_tokens)
  }
  t.ok(counts[0] > 0 && counts[1] > counts[0] + 50, `${counts}`)
})

t.test('of a writer that died it is counted too', async (t) => {
  upstream.script = { answer: 'Hi.' }
  const {
    body: { id, session_id: session },
  } = await person.client.post('/ai/chat', { message: 'Hi' })
  await database.prisma.message.update({
    where: { id },
    data: { status: 'in_progress', promptTokens: 123, beatAt: new Date(Date.now() - 60_000) },
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
  t.ok(after.cost_micros > before.cost_micros, 'and what it cost')
})

t.test('numbers of tokens that cannot be are not believed', async (t) => {
  for (const tokens of [3_000_000_000, 1e300, -5, 0.5]) {
    upstream.script = { answer: 'Well.', usage: { prompt_tokens: tokens, completion_tokens: tokens } }
    const { status, body } = await person.client.post('/ai/chat', { message: 'Hi' })
    t.match([status, body.status], [200, 'completed'], `${tokens}`)
    t.ok(body.usage.prompt_tokens > 0 && body.usage.total_tokens < 1_000)
  }
})

t.test('without embeddings passages are found by words', async (t) => {
  const own = await openStage(t, { embeddings: { model: 'embedder', dimensions: 64 } })
  const key = await own.server.services.principals.authenticate(`Bearer ${own.person.key}`)
  const base = await addKnowledgeBase(own.server.services.database, key)
  await addDocument(own.server.services.database, base, 'The treasure of the harbour lies in the attic.')
  const refused = (asked: Asked): boolean => asked.path.endsWith('/embeddings')
  own.upstream.script = (asked) =>
    refused(asked) ? { fault: { kind: 'status', status: 500 } } : { answer: 'In the attic [1].' }
  const { body } = await own.person.client.post('/ai/chat', {
    message: 'Where does the treasure of the harbour lie?'.padEnd(50_000, ' please'),
    knowledge_base_ids: [base],
    model: 'large',
  })
  t.equal(body.message?.citations.length, 1)
  const {
    body: { input },
  } = own.upstream.asked.find(refused)!
  t.ok([input].flat()[0].length <= 4_000)
})

t.test(
  'a long answer in small pieces is written in time that grows as it does',
  { timeout: 120_000 },
  async (t) => {
    const { config, events, upstreams } = server.services
    const pieces = 100_000
    async function* complete(): AsyncGenerator<Piece> {
      for (let i = 0; i < pieces; i++) {
        if (i % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
        yield { delta: 'abcd' }
      }
      yield { end: { finishReason: 'stop', usage: null } }
    }
    const own = createWritings({
      database,
      listener: { on() {} },
      principals,
      events,
      upstreams: { ...upstreams, complete },
    })
    t.teardown(() => own.close())
    const operation = { id: 'createChat' } as OperationInfo
    const { message, task } = await beginChat(
      { db: database, config, events, upstreams },
      { id: 'req_long', operation, principal, keyed: null },
      { message: 'Write a book!' },
    )
    const here = new AbortController()
    const begun = process.cpuUsage()
    own.start(task!, here.signal)
    let length = 0
    for await (const { event, data } of own.follow(
      { id: 'req_long', principal },
      message,
      0,
    )(here.signal) as AsyncIterable<any>)
      if (event === 'message.delta') length += data.delta.length
    const { user, system } = process.cpuUsage(begun)
    t.equal(length, 4 * pieces)
    t.ok(user + system < 6_000_000, `${(user + system) / 1e6} s`)
  },
)

t.test('who may not read it any more is not told the rest', async (t) => {
  const { config, events, upstreams } = server.services
  async function* complete({ signal }: CompletionRequest): AsyncGenerator<Piece> {
    for (;;) {
      signal!.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, 20))
      yield { delta: 'more ' }
    }
  }
  const own = createWritings({
    database,
    listener: { on() {} },
    principals,
    events,
    upstreams: { ...upstreams, complete },
    recheck: 100,
  })
  t.teardown(() => own.close())
  const owner = await server.person()
  const {
    body: { id: project },
  } = await owner.client.post('/projects', { name: 'Harbour' })
  const follow = async (lose: (membership: string, member: Person) => Promise<unknown>): Promise<any> => {
    const member = await server.person()
    const { body: membership } = await owner.client.post(`/projects/${project}/members`, {
      user_id: member.id,
      role: 'editor',
    })
    const { body: session } = await member.client.post('/ai/sessions', { project_id: project })
    const asking = {
      id: 'req_lost',
      operation: { id: 'createChat', projectAccess: { role: 'editor' } } as OperationInfo,
      principal: await principals.authenticate(`Bearer ${member.key}`),
      keyed: null,
    }
    const { message, task } = await beginChat({ db: database, config, events, upstreams }, asking, {
      message: 'Go on!',
      session_id: session.id,
    })
    const here = new AbortController()
    own.start(task!, here.signal)
    let last: any
    let told = 0
    for await (last of own.follow(asking, message, 0)(here.signal))
      if (++told === 3) await lose(membership.id, member)
    here.abort()
    return last
  }
  t.match(await follow((membership) => owner.client.delete(`/projects/${project}/members/${membership}`)), {
    event: 'error',
    data: { error: { code: 'FORBIDDEN', details: { request_id: 'req_lost' } } },
  })
  t.match(
    await follow((_membership, { id }) =>
      database.prisma.apiKey
        .updateMany({ where: { userId: id }, data: { revokedAt: new Date() } })
        .then(() => principals.settle(id)),
    ),
    { event: 'error', data: { error: { code: 'UNAUTHORIZED' } } },
  )
  await waitUntil(() => own.size === 0, 'both to stop')
})

t.test('what is asked while the server stops fails, and is not in progress', async (t) => {
  upstream.script = { answer: 'Hi.' }
  await writings.close()
  const refused = await person.client.post('/ai/chat', { message: 'Hi' })
  t.equal(refused.status, 503)
  t.equal(await database.prisma.message.count({ where: { status: 'in_progress' } }), 0)
})
