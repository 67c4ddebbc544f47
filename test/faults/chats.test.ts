// Many concurrent chats, half of which disconnect at a random point: every request to the model ends, every
// answer is stored and counted, and the server leaks nothing. `npm run faults` opens 1,000 streams, `npm
// test` 24. A conversation with tools goes on after SIGKILL.
import pLimit from 'p-limit'
import pg from 'pg'
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { openStream } from '../support/http/event-stream.ts'
import { startObservedServer } from '../support/server/observed-server.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { startModelServer } from '../../scripts/bench/model-server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const streams = isLongForm ? 1_000 : 24
const rounds = 2
const words = isLongForm ? 240 : 40

t.test(`${streams} streams, half of which disconnect`, { timeout: 600_000 }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const modelServer = await startModelServer(t, {
    embeddings: null,
    script: {
      pieces: Array.from({ length: words }, (_, i) => `word${i} `),
      piecesPerSecond: isLongForm ? 4 : 20,
    },
  })
  const server = await startObservedServer(t, {
    DATABASE_URL: databaseUrl,
    AI_UPSTREAMS: modelServer.setting,
    AI_STREAMS_PER_USER: '100000',
    RATE_LIMIT_AI: '1000000',
    STREAM_PING: '2',
  })
  const observer = await startServer(t, { databaseUrl })
  const admin = createClient(server.url, bootstrapKey)
  const people = await Promise.all(
    Array.from({ length: isLongForm ? 20 : 6 }, async (_, i) => {
      const { body } = await admin.post('/users', { name: `Person ${i}`, email: `chatter${i}@example.com` })
      return body.api_key.key as string
    }),
  )
  const seen: Array<Awaited<ReturnType<typeof server.observe>>> = []

  for (let round = 0; round < rounds; round++) {
    // All streams are open at the same time, but few are being opened, which a slow machine can bear.
    const opening = pLimit(isLongForm ? 16 : 4)
    let maxOpen = 0
    const chats = await Promise.all(
      Array.from({ length: streams }, async (_, i) => {
        const disconnectsAt = i % 2 === 1 ? Math.floor(Math.random() * words * 7) : Infinity
        const stream = await opening(() =>
          openStream(server.url, people[i % people.length], {
            path: '/ai/chat/stream',
            post: { message: `Say it, ${i}` },
          }),
        )
        if (stream.status !== 200)
          throw new Error(`no stream: ${stream.status} ${JSON.stringify(stream.body)}`)
        maxOpen = Math.max(maxOpen, modelServer.openRequests)
        let text = ''
        let id = ''
        let last = ''
        for await (const { event, data } of stream.events) {
          last = event
          if (event === 'message.created') id = data.id
          if (event === 'message.delta') text += data.delta
          if (text.length >= disconnectsAt) {
            await stream.close()
            break
          }
        }
        return { id, text, last, disconnected: disconnectsAt !== Infinity }
      }),
    )
    await waitUntil(() => modelServer.openRequests === 0, 'every request to the model to end')
    await waitUntil(async () => (await server.observe()).generations === 0, 'no answer to be in progress')
    const whole = Array.from({ length: words }, (_, i) => `word${i} `).join('')
    t.equal(
      chats.filter(
        ({ disconnected, text, last }) => !disconnected && (text !== whole || last !== 'message.completed'),
      ).length,
      0,
      'a client that stays gets the whole answer',
    )

    const rows = new Map(
      (await observer.services.database.prisma.message.findMany({ where: { role: 'assistant' } })).map(
        (row) => [row.id, row],
      ),
    )
    const wrong = chats.filter(({ id, text, disconnected }) => {
      const row = rows.get(id)!
      return (
        !row.content.startsWith(text) ||
        row.promptTokens === 0 ||
        (row.content !== '' && row.completionTokens === 0) ||
        (disconnected ? !['canceled', 'completed'].includes(row.status) : row.status !== 'completed')
      )
    })
    t.same(wrong, [], 'the text and its usage are stored')
    const cut = chats.filter(({ disconnected }) => disconnected).length
    const aborted = modelServer.aborted.length
    t.comment(
      `round ${round + 1}: ${streams} streams, at most ${maxOpen} open at once, ${cut} disconnected, ` +
        `${aborted} requests to the model server aborted so far`,
    )
    seen.push(await server.observe({ collectGarbage: true }))
  }

  const used = await observer.services.database.prisma.aiUsage.aggregate({
    _sum: { requests: true, promptTokens: true, completionTokens: true },
  })
  const messages = await observer.services.database.prisma.message.aggregate({
    where: { role: 'assistant' },
    _count: true,
    _sum: { promptTokens: true, completionTokens: true },
  })
  t.equal(used._sum.requests, messages._count, 'every answer is counted')
  t.equal(Number(used._sum.promptTokens), messages._sum.promptTokens)
  t.equal(Number(used._sum.completionTokens), messages._sum.completionTokens)
  t.equal(
    await observer.services.database.prisma.event.count({
      where: { type: { in: ['chat.completed', 'chat.canceled'] } },
    }),
    rounds * streams,
    'every answer has one event',
  )
  for (const { heap, descriptors, sockets } of seen)
    t.comment(
      `afterwards ${(heap / 1e6).toFixed(1)} MB of heap, ${descriptors} descriptors, ${sockets} connections`,
    )
  const [first, last] = [seen[0], seen.at(-1)!]
  // Client connections stay open for further requests, those to the model server for a few seconds.
  const own = ({ descriptors, sockets }: typeof first): number => (descriptors ?? 0) - sockets
  await waitUntil(
    async () => own(await server.observe()) <= own(first) + 10,
    'all file descriptors to be closed',
  )
  t.ok(last.heap < first.heap + 5e6, 'no memory is leaked')
})

t.test(
  'a conversation goes on after a kill between a call and its result, and one while it is answered',
  async (t) => {
    const { url: databaseUrl } = await createTestDatabase(t)
    const modelServer = await startModelServer(t, { embeddings: null })
    const database = new pg.Client({ connectionString: databaseUrl })
    await database.connect()
    t.teardown(() => database.end())
    const start = async () => {
      const server = await spawnServer(t, { DATABASE_URL: databaseUrl, AI_UPSTREAMS: modelServer.setting })
      return { ...server, client: createClient(server.url, bootstrapKey) }
    }
    const calls = [{ id: 'call_a', name: 'get_weather', arguments: '{"city":"Oslo"}' }]
    const results = [{ tool_call_id: 'call_a', content: 'rain' }]

    const first = await start()
    modelServer.nextScripts.push({ calls })
    const question = { message: 'What is it like in Oslo?', model: 'small', tools: [{ name: 'get_weather' }] }
    const { body: asked } = await first.client.post('/ai/chat', question)
    t.match(asked, { finish_reason: 'tool_calls', message: { tool_calls: calls } })
    await first.end('SIGKILL')

    const second = await start()
    modelServer.nextScripts.push({ answer: 'It rains.', when: new Promise(() => {}) })
    const path = `/ai/messages/${asked.id}/tool-results`
    const cut = second.client.post(path, { results }).catch((error) => error)
    await waitUntil(() => modelServer.openRequests === 1, 'the model to be asked')
    await second.end('SIGKILL')
    t.type(await cut, Error)
    await waitUntil(() => modelServer.openRequests === 0, 'the request to the model to end')

    const third = await start()
    // The process is dead. Its answer counts as broken off now instead of in a minute.
    await database.query(
      "UPDATE ai_messages SET heartbeat_at = now() - interval '1 hour' WHERE status = 'in_progress'",
    )
    modelServer.script = { answer: 'It rains.' }
    const { status, body: answer } = await third.client.post(path, { results })
    t.match([status, answer], [200, { message: { content: 'It rains.' } }])
    const { body: page } = await third.client.get(`/ai/sessions/${asked.session_id}/messages`)
    t.match(page.data.toReversed(), [
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: 'call_a', result: 'rain' }] },
      { role: 'assistant', content: 'It rains.', status: 'completed' },
    ])
    const { rows } = await database.query('SELECT sum(requests) AS n FROM ai_usage')
    t.equal(Number(rows[0].n), 3, 'each request to the model is counted')
    await third.end('SIGTERM')
  },
)
