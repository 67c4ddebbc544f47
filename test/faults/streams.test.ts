// Event streams under faults: broken connections, clients that do not read, shutdown, database outages and
// many readers. Connected readers miss nothing, and disconnected readers leave no state. `npm run faults`
// uses 1,000 readers, `npm test` 40.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { cursorAt, sequenceAt, sequencesOf } from '../support/operations/event-cursors.ts'
import { createClient } from '../support/http/client.ts'
import { createDatabaseProxy } from '../support/database/database-proxy.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { openStream } from '../support/http/event-stream.ts'
import {
  waitUntilCaughtUp,
  duplicateLastEvent,
  openReader,
  eventIds,
  largestProject,
  lastSequence,
  listEvents,
  resourceNames,
  createProject,
  openStalledReader,
  renameProject,
  type SseReader,
} from '../support/http/sse-readers.ts'
import { startObservedServer, type Observation } from '../support/server/observed-server.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { typedClient } from '../support/http/typed-client.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

t.test('two servers on one database', async (t) => {
  const servers = [await startServer(t, { env: { STREAM_PING: '1' } })]
  servers.push(await startServer(t, { databaseUrl: servers[0].databaseUrl, env: { STREAM_PING: '1' } }))
  const owner = await servers[0].person()
  const viewer = await servers[0].person()
  const projects = [await createProject(owner), await createProject(owner)]
  await createMember(servers[0], projects[0], viewer.id, 'viewer')
  const owners = servers.map(({ url }) => ({ ...owner, client: createClient(url, owner.key) }))

  t.test('a stream of one server immediately sends events written through the other', async (t) => {
    const streams = await Promise.all(servers.map((server) => openReader(t, server, viewer.key)))
    const took: number[] = []
    const names = Array.from({ length: 10 }, (_, i) => `${i}`)
    for (const [i, name] of names.entries()) {
      const began = performance.now()
      await renameProject(owners[i % 2], projects[0], name)
      await waitUntil(() => streams.every(({ events }) => events.length > i))
      took.push(Math.round(performance.now() - began))
    }
    // Polling alone would take half a second on average.
    t.ok(Math.min(...took) < 300, `sent by both after ${took} ms`)
    for (const stream of streams) t.same(resourceNames(stream), names)
  })

  t.test(
    'readers with random disconnects receive every event once and in order, with 20 writers',
    async (t) => {
      const after = await lastSequence(servers[0])
      const each = isLongForm ? 80 : 5
      let last = Infinity
      let cuts = 0
      const read = async (key: string): Promise<number[]> => {
        const received: number[] = []
        for (let at = after; at < last;) {
          // Disconnects within the next events.
          const stream = await openReader(t, servers[cuts % 2], key, {
            after: at,
            lean: true,
            bytes: Math.ceil(Math.random() * 6_000),
          })
          await waitUntil(() => stream.answer.destroyed || stream.at >= last)
          stream.close()
          received.push(...eventIds(stream))
          at = stream.at || at
          cuts++
        }
        return received
      }
      const readers = [owner, owner, owner, viewer, viewer, viewer].map(async (person) => ({
        person,
        received: await read(person.key),
      }))
      await Promise.all(
        Array.from({ length: 20 }, async (_, writer) => {
          for (let i = 0; i < each; i++)
            await renameProject(owners[i % 2], projects[writer % 2], `${writer} ${i}`)
        }),
      )
      last = await lastSequence(servers[0])
      t.equal(last - after, 20 * each)
      for (const { person, received } of await Promise.all(readers)) {
        const expected = await sequencesOf(servers[0], await listEvents(servers[0], person, after))
        t.equal(expected.length, (person === owner ? 20 : 10) * each)
        t.same(received, expected)
      }
      t.ok(cuts > 30, `${cuts} cuts`)
    },
  )

  t.test('no event is missed that was written while the listener was disconnected', async (t) => {
    const { prisma } = servers[0].services.database
    const streams = await Promise.all(servers.map((server) => openReader(t, server, owner.key)))
    const names = Array.from({ length: 30 }, (_, i) => `deaf ${i}`)
    for (const [i, name] of names.entries()) {
      if (i % 5 === 0)
        await prisma.$queryRaw`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'platform listener'`
      await renameProject(owners[i % 2], projects[1], name)
    }
    await waitUntil(() => streams.every(({ events }) => events.length >= names.length))
    for (const stream of streams) t.same(resourceNames(stream), names)
  })
})

t.test('clients that do not read', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const server = await startObservedServer(t, { DATABASE_URL: databaseUrl, STREAM_WRITE_TIMEOUT: '1' })
  const writing = await startServer(t, { databaseUrl })
  await largeEvent(writing)

  const stalled = isLongForm ? 10 : 4
  // More bytes than a connection buffers.
  const count = isLongForm ? 500 : 300

  t.test('are disconnected, and cost little memory and no time of other clients', async (t) => {
    const stuck = await Promise.all(
      Array.from({ length: stalled }, () => openStalledReader(t, server, bootstrapKey)),
    )
    const reader = await openReader(t, server, bootstrapKey, { log: writing })
    await waitUntil(async () => (await server.observe()).streams === stalled + 1)
    const before = await server.observe({ collectGarbage: true })
    const began = Date.now()
    await duplicateLastEvent(writing, count)
    await waitUntilCaughtUp(writing, reader)
    const took = Date.now() - began
    t.equal(reader.events.length, count)
    t.ok(eventIds(reader).every((id, i, ids) => i === 0 || id === ids[i - 1] + 1))
    let most = { waiting: 0, blocked: 0, heap: 0 }
    await waitUntil(async () => {
      const { streams, maxQueuedBytes: waiting, blockedSockets: blocked, heap } = await server.observe()
      most = {
        waiting: Math.max(most.waiting, waiting),
        blocked: Math.max(most.blocked, blocked),
        heap: Math.max(most.heap, heap - before.heap),
      }
      return streams === 1
    }, 'the other clients to be disconnected')
    t.comment(
      `${count} events of ${Math.round(reader.text.length / count)} bytes were read in ${took} ms beside ` +
        `${most.blocked} clients that do not read; at most ${most.waiting} bytes were ` +
        `buffered for a client, the heap grew by ${most.heap} bytes`,
    )
    t.ok(most.waiting < 256 * 1024, `${most.waiting} bytes were buffered for a client`)
    t.equal(reader.ended, null)
    for (const socket of stuck) socket.destroy()
    reader.close()
  })

  t.test('stay connected when they read slowly but steadily', async (t) => {
    const last = await lastSequence(writing)
    const end = await cursorAt(writing, last)
    const socket = await openStalledReader(
      t,
      server,
      bootstrapKey,
      `?cursor=${await cursorAt(writing, last - 300)}`,
    )
    let text = ''
    let blocked = false
    socket
      .on('data', (bytes) => {
        text += bytes
        socket.pause()
        setTimeout(() => socket.resume(), 10)
      })
      .resume()
    await waitUntil(async () => {
      blocked ||= (await server.observe()).blockedSockets > 0
      return text.includes(`\nid: ${end}\n`, text.length - 100_000)
    })
    t.comment(blocked ? 'the server had to wait for the client' : 'the server was never seen waiting')
    const received = [...text.matchAll(/\nid: ([\w-]+)\ndata/g)]
    t.same(
      await Promise.all(received.map(([, id]) => sequenceAt(writing, id))),
      Array.from({ length: 300 }, (_, i) => last - 299 + i),
    )
  })
})

const open = isLongForm ? 200 : 50

t.test(`a stop ends ${open} streams with an end event, and aborts no request`, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const server = await spawnServer(t, { DATABASE_URL: databaseUrl, STREAMS_PER_USER: '1000' })
  const streams = await Promise.all(Array.from({ length: open }, () => openReader(t, server, bootstrapKey)))
  const body = JSON.stringify({ name: 'under way' })
  const request = connect(Number(new URL(server.url).port), '127.0.0.1')
  let answer = ''
  request.on('data', (bytes) => {
    answer += bytes
  })
  const head =
    `POST /v1/projects HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bootstrapKey}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`
  await new Promise<void>((resolve) => request.write(head + body.slice(0, 5), () => resolve()))
  // The request has arrived when a later request is answered.
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)

  const began = Date.now()
  const ending = server.end('SIGTERM')
  await waitUntil(() => streams.every(({ ended }) => ended !== null), 'the streams to end')
  const took = Date.now() - began
  request.write(body.slice(5))
  t.same(await ending, { code: 0, signal: null })
  t.match(answer, /^HTTP\/1\.1 201 /)
  t.comment(`${open} streams ended after ${took} ms, the server after ${Date.now() - began} ms`)
  t.same(new Set(streams.map(({ ended }) => ended)), new Set(['shutdown']))
  for (const { text } of streams.slice(0, 3)) t.match(text, /event: end\ndata: \{"reason":"shutdown"\}\n\n$/)
  t.ok(Date.now() - began < 5_000)
})

t.test('streams survive a database outage', async (t) => {
  const apart = await startServer(t)
  const wire = await createDatabaseProxy(t, apart.databaseUrl)
  const server = await startServer(t, { databaseUrl: wire.url, env: { STREAM_PING: '1' } })
  const [person, revoked] = [await apart.person(), await apart.person()]
  const project = await createProject(person)
  const streams = await Promise.all(
    Array.from({ length: isLongForm ? 20 : 5 }, () => openReader(t, server, person.key)),
  )
  const unlucky = await openReader(t, server, revoked.key)
  await renameProject(person, project, 'before')
  await waitUntil(() => streams.every(({ events }) => events.length === 1))
  await wire.cut()
  await waitUntil(() => !server.services.principals.listening, 'the outage to be noticed')
  await renameProject(person, project, 'meanwhile')
  await apart.services.database.prisma.apiKey.updateMany({
    where: { userId: revoked.id },
    data: { revokedAt: new Date() },
  })
  // Long enough for every stream to try to check its key.
  await sleep(2_500)
  t.equal((await openStream(server.url, person.key)).status, 503, 'a new stream cannot be opened')
  await wire.restore()
  await waitUntil(() => server.services.principals.listening)
  await renameProject(person, project, 'after')
  await waitUntil(() => streams.every(({ events }) => events.length === 3))
  for (const stream of streams) {
    t.same(resourceNames(stream), ['before', 'meanwhile', 'after'])
    t.equal(stream.ended, null)
  }
  await waitUntil(() => unlucky.ended !== null)
  t.equal(unlucky.ended, 'unauthorized')
})

const readers = isLongForm ? 1_000 : 40
const writes = isLongForm ? 600 : 40
const rounds = isLongForm ? 3 : 2

t.test(`${readers} readers, half of which disconnect at random`, { timeout: 280_000 }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const server = await startObservedServer(t, {
    DATABASE_URL: databaseUrl,
    STREAM_PING: '1',
    DATABASE_POOL_SIZE: '5',
  })
  const log = await startServer(t, { databaseUrl })
  const admin = createClient(server.url, bootstrapKey)
  const people = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      const { body } = await admin.post('/users', { name: `Person ${i}`, email: `person${i}@example.com` })
      return {
        id: body.id as string,
        email: body.email as string,
        key: body.api_key.key as string,
        client: createClient(server.url, body.api_key.key),
        api: typedClient(server.url, body.api_key.key),
      }
    }),
  )
  const owners = people.slice(0, 5)
  const projects = await Promise.all(owners.map((owner) => createProject(owner)))
  for (const [i, person] of people.entries()) {
    for (const [step, role] of [
      [1, 'viewer'],
      [2, 'admin'],
    ] as const) {
      const path = `/projects/${projects[(i + step) % 5]}`
      const { body } = await owners[(i + step) % 5].client.post(`${path}/members`, {
        user_id: person.id,
        role,
      })
      // Users who are in a common project by now are added, the others invited.
      if ('email' in body) await person.client.post(`${path}/invitations/${body.id}/accept`)
    }
  }
  // The first events for clients that do not read: more than a connection buffers.
  await largeEvent(log)
  await duplicateLastEvent(log, 250)
  const seen: Observation[] = []

  for (let round = 0; round < rounds; round++) {
    const after = await lastSequence(log)
    const opened = await Promise.all(
      Array.from({ length: readers }, async (_, i) => {
        const vanishes = i % 2 === 1
        const reads = i % 20 !== 1
        const person = reads ? people[(i >> 1) % 10] : { key: bootstrapKey, client: admin }
        const stream = reads
          ? await openReader(t, server, person.key, { lean: true, log })
          : await openStalledReader(t, server, person.key, '?cursor=start')
        return { person, stream, vanishes: vanishes ? Math.random() * writes : Infinity }
      }),
    )
    const stuck = opened.filter(({ stream }) => !('events' in stream)).length
    await waitUntil(
      async () => (await server.observe()).blockedSockets === stuck,
      'the server to wait for the clients that do not read',
    )
    const before = await server.observe()
    t.equal(before.streams, readers)

    let written = 0
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (written < writes) {
          const i = written++
          await (i % 10 === 9
            ? owners[i % 5].client.post(`/projects/${projects[i % 5]}/members`, {
                email: `someone${round}.${i}@example.com`,
                role: 'viewer',
              })
            : renameProject(owners[i % 5], projects[i % 5], `${round} ${i}`))
          for (const { stream, vanishes } of opened) if (vanishes <= written) leave(stream)
        }
      }),
    )
    const left = opened
      .filter(({ vanishes }) => vanishes === Infinity)
      .map(({ person, stream }) => ({ person, stream: stream as SseReader }))
    await waitUntilCaughtUp(log, ...left.map(({ stream }) => stream))
    const expected = new Map(
      await Promise.all(
        people.map(
          async (person) =>
            [person.key, await sequencesOf(log, await listEvents(log, person, after))] as const,
        ),
      ),
    )
    t.ok(new Set([...expected.values()].map(String)).size > 4, 'the readers have different permissions')
    const missing = left.filter(
      ({ person, stream }) =>
        stream.ended !== null || String(eventIds(stream)) !== String(expected.get(person.key)),
    )
    t.equal(
      missing.length,
      0,
      `${left.length} of ${readers} readers received exactly the events they can read`,
    )
    const then = await server.observe()
    t.equal(then.streams, left.length)

    const began = Date.now()
    for (const { stream } of left) leave(stream)
    await waitUntil(async () => (await server.observe()).streams === 0, 'the streams to end')
    const gone = Date.now() - began
    const received = opened.reduce(
      (sum, { stream }) => sum + ('events' in stream ? stream.events.length : 0),
      0,
    )
    t.comment(
      `round ${round + 1}: ${received} events received, ` +
        `${((then.cpu - before.cpu) / received).toFixed(1)} µs of CPU time each; ` +
        `the event loop was blocked for ${then.maxEventLoopDelayMs} ms at most; ` +
        `all streams ended after ${gone} ms`,
    )
    // Connections of the test, the database and the clients of this process.
    await waitUntil(async () => (await server.observe()).sockets < 30)
    seen.push(await server.observe({ collectGarbage: true }))
  }
  for (const { heap, resources, sockets } of seen)
    t.comment(
      `afterwards ${(heap / 1e6).toFixed(1)} MB of heap, ${sockets} connections, ` +
        JSON.stringify(resources),
    )
  const [first, last] = [seen[0], seen.at(-1)!]
  t.ok(last.heap < first.heap + 3e6, 'no memory is leaked')
  t.ok((last.resources.Timeout ?? 0) <= (first.resources.Timeout ?? 0) + 5, 'nor timers')
  t.ok(last.resources.TCPSocketWrap <= first.resources.TCPSocketWrap + 10, 'nor sockets')
})

function leave(stream: { close(): void } | { destroy(): unknown }): void {
  if ('destroy' in stream) stream.destroy()
  else stream.close()
}

/** Makes the newest event as large as an event of a project can be. */
async function largeEvent({ url }: TestServer): Promise<void> {
  const client = createClient(url, bootstrapKey)
  const { body } = await client.post('/projects', largestProject)
  await client.put(`/projects/${body.id}`, {
    ...largestProject,
    description: 'e'.repeat(5_000),
    metadata: Object.fromEntries(Object.keys(largestProject.metadata).map((key) => [key, 'w'.repeat(512)])),
  })
}
