// Many chats at once, half of which are left at a random place: every call of the upstream is ended, what it took is counted, and
// the server is as it was. `npm run faults` takes 1,000 streams, `npm test` 100.
import pLimit from 'p-limit'
import t from 'tap'
import { createClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { openStream } from '../support/event-stream.ts'
import { startObservedServer } from '../support/observed-server.ts'
import { bootstrapKey } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { openUpstream } from '../../scripts/bench/model-server.ts'
import { waitUntil } from '../support/wait.ts'

const long = process.env.FAULTS === 'long'
const streams = long ? 1_000 : 100
const rounds = 2
const words = long ? 240 : 60

t.test(`${streams} streams, half of which are left`, { timeout: 600_000 }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const upstream = await openUpstream(t, {
    embeddings: null,
    script: { pieces: Array.from({ length: words }, (_, i) => `word${i} `), piecesPerSecond: long ? 4 : 12 },
  })
  const server = await startObservedServer(t, {
    DATABASE_URL: databaseUrl,
    AI_UPSTREAMS: upstream.setting,
    AI_STREAMS_PER_KEY: '100000',
    RATE_LIMIT_AI: '1000000',
    STREAM_PING: '2',
  })
  const apart = await startServer(t, { databaseUrl })
  const admin = createClient(server.url, bootstrapKey)
  const people = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const { body } = await admin.post('/users', { name: `Person ${i}`, email: `chatter${i}@example.com` })
      return body.api_key.key as string
    }),
  )
  const seen: Array<Awaited<ReturnType<typeof server.observe>>> = []

  for (let round = 0; round < rounds; round++) {
    // All of them are open together, but they are not opened at once.
    const opening = pLimit(16)
    let mostOpen = 0
    const chats = await Promise.all(
      Array.from({ length: streams }, async (_, i) => {
        const leavesAt = i % 2 === 1 ? Math.floor(Math.random() * words * 7) : Infinity
        const stream = await opening(() =>
          openStream(server.url, people[i % people.length], {
            path: '/ai/chat/stream',
            post: { message: `Say it, ${i}` },
          }),
        )
        if (stream.status !== 200)
          throw new Error(`no stream: ${stream.status} ${JSON.stringify(stream.body)}`)
        mostOpen = Math.max(mostOpen, upstream.open)
        let text = ''
        let id = ''
        let last = ''
        for await (const { event, data } of stream.events) {
          last = event
          if (event === 'message.created') id = data.id
          if (event === 'message.delta') text += data.delta
          if (text.length >= leavesAt) {
            await stream.close()
            break
          }
        }
        return { id, text, last, left: leavesAt !== Infinity }
      }),
    )
    await waitUntil(() => upstream.open === 0, 'every call of the upstream to end')
    await waitUntil(async () => (await server.observe()).generations === 0, 'nothing to be written')
    const whole = Array.from({ length: words }, (_, i) => `word${i} `).join('')
    t.equal(
      chats.filter(({ left, text, last }) => !left && (text !== whole || last !== 'message.completed'))
        .length,
      0,
      'who stays is told all',
    )

    const rows = new Map(
      (await apart.services.database.prisma.message.findMany({ where: { role: 'assistant' } })).map((row) => [
        row.id,
        row,
      ]),
    )
    const wrong = chats.filter(({ id, text, left }) => {
      const row = rows.get(id)!
      return (
        !row.content.startsWith(text) ||
        row.promptTokens === 0 ||
        (row.content !== '' && row.completionTokens === 0) ||
        (left ? !['cancelled', 'completed'].includes(row.status) : row.status !== 'completed')
      )
    })
    t.same(wrong, [], 'what was told is kept, and what it took counted')
    const cut = chats.filter(({ left }) => left).length
    const aborted = upstream.aborted.length
    t.comment(
      `round ${round + 1}: ${streams} streams, ${mostOpen} of them open together, ${cut} left, ${aborted} calls of the upstream aborted so far`,
    )
    seen.push(await server.observe())
  }

  const used = await apart.services.database.prisma.aiUsage.aggregate({
    _sum: { requests: true, promptTokens: true, completionTokens: true },
  })
  const messages = await apart.services.database.prisma.message.aggregate({
    where: { role: 'assistant' },
    _count: true,
    _sum: { promptTokens: true, completionTokens: true },
  })
  t.equal(used._sum.requests, messages._count, 'each is counted')
  t.equal(Number(used._sum.promptTokens), messages._sum.promptTokens)
  t.equal(Number(used._sum.completionTokens), messages._sum.completionTokens)
  t.equal(
    await apart.services.database.prisma.event.count({
      where: { type: { in: ['chat.completed', 'chat.cancelled'] } },
    }),
    rounds * streams,
    'and has one event',
  )
  for (const { heap, descriptors, sockets } of seen)
    t.comment(
      `afterwards ${(heap / 1e6).toFixed(1)} MB of heap, ${descriptors} descriptors, ${sockets} connections`,
    )
  const [first, last] = [seen[0], seen.at(-1)!]
  // Connections of clients stay open for further requests, those to the upstream for some seconds.
  const own = ({ descriptors, sockets }: typeof first): number => (descriptors ?? 0) - sockets
  await waitUntil(
    async () => own(await server.observe()) <= own(first) + 10,
    'no descriptor to be left behind',
  )
  t.ok(last.heap < first.heap + 5e6, 'no memory')
})
