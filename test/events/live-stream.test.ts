// Event streams without HTTP: which statements they run for which reader, and that a disconnected reader
// leaves no state.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { EventStreams } from '../../services/events/live-stream.ts'
import type { EventFilter } from '../../services/events/log.ts'
import type { Listener } from '../../infra/database/notifications.ts'
import {
  duplicateLastEvent,
  largestProject,
  lastSequence,
  createProject,
  renameProject,
} from '../support/http/sse-readers.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

type Piece = { event?: string; id?: string; data?: any }

interface Taken {
  /** The name of the next event's object, or the reason of the end. */
  next(): Promise<string>
  iterator: AsyncIterator<Piece>
  leave(): void
}

async function take(
  t: Pick<Test, 'teardown'>,
  { services }: TestServer,
  { key }: { key: string },
  after: number,
  { eventStreams = services.eventStreams, filter = { types: null } as EventFilter } = {},
): Promise<Taken> {
  const gone = new AbortController()
  const principal = await services.principals.authenticate(`Bearer ${key}`)
  const iterator = eventStreams
    .open(
      principal,
      filter,
      after,
    )(gone.signal)
    [Symbol.asyncIterator]() as AsyncIterator<Piece>
  const leave = (): void => {
    gone.abort()
    void iterator.return?.()
  }
  t.teardown(leave)
  return {
    iterator,
    leave,
    async next() {
      for (;;) {
        const { value, done } = await iterator.next()
        if (done) return 'over'
        if (value.event === 'end') return value.data.reason
        if (value.event === 'message') return value.data.data.object.name
      }
    },
  }
}

/** The number of statements that contain the text and were sent during the work. */
async function sent(server: TestServer, text: string, work: () => Promise<unknown>): Promise<number> {
  server.statements.length = 0
  await work()
  return server.statements.filter((statement) => statement.includes(text)).length
}

const forAll = 'FROM events e WHERE e.sequence > $1'
const forOne = ') l LEFT JOIN LATERAL'
const keys = 'FROM api_keys k'

t.test('event streams', async (t) => {
  const server = await startServer(t)
  const { database, eventStreams } = server.services
  const person = await server.person()
  const project = await createProject(person)
  const renamed = async (...names: string[]): Promise<void> => {
    for (const name of names) await renameProject(person, project, name)
  }
  await waitUntil(() => server.services.principals.listening)

  t.test('reads once for all waiting readers, and separately for each reader that is behind', async (t) => {
    const start = await lastSequence(server)
    const waiting = await Promise.all(Array.from({ length: 100 }, () => take(t, server, person, start)))
    // The server has read all events from before when the readers have this one.
    const first = waiting.map((reader) => reader.next())
    await renamed('zero')
    t.same(new Set(await Promise.all(first)), new Set(['zero']))
    const last = await lastSequence(server)
    const next = waiting.map((reader) => reader.next())
    t.equal(
      await sent(server, forAll, async () => {
        await renamed('one')
        t.same(new Set(await Promise.all(next)), new Set(['one']))
      }),
      1,
    )
    t.equal(server.statements.filter((text) => text.includes(forOne) || text.includes(keys)).length, 0)
    const behind = await take(t, server, person, last)
    t.equal(await sent(server, forOne, async () => t.equal(await behind.next(), 'one')), 1)
    for (const reader of [...waiting, behind]) reader.leave()
    await waitUntil(() => eventStreams.count === 0)
  })

  t.test('limits the memory for large events of a reader that is behind', async (t) => {
    const after = await lastSequence(server)
    await renamed('small')
    await duplicateLastEvent(server, 24)
    const reads = async (from: number): Promise<number> =>
      await sent(server, forOne, async () => {
        await lastSequence(server)
        // The notification arrives within milliseconds. A reader opened before would receive these events as
        // a live batch.
        await sleep(1_000)
        const reader = await take(t, server, person, from)
        for (let i = 0; i < 25; i++) await reader.next()
        reader.leave()
      })
    t.equal(await reads(after), 1)
    await person.client.put(`/projects/${project}`, largestProject)
    await duplicateLastEvent(server, 24)
    const pages = await reads(after + 25)
    t.ok(pages > 1, `25 events of the largest size were read in ${pages} pages`)
  })

  t.test('reads events again that were read a while ago, because permissions may have changed', async (t) => {
    const member = await server.person()
    const membership = await createMember(server, project, member.id, 'viewer')
    const after = await lastSequence(server)
    await renamed('a', 'b', 'c')
    const reader = await take(t, server, member, after)
    t.equal(await reader.next(), 'a')
    await person.client.delete(`/projects/${project}/members/${membership}`)
    await member.client.put('/user/profile', { name: 'mine' })
    await sleep(1_100)
    t.equal(await reader.next(), 'mine')
    await server.admin.client.put(`/users/${member.id}`, { status: 'disabled' })
    t.equal(await reader.next(), 'unauthorized')
    t.equal(await reader.next(), 'over')
  })

  t.test('ends a stream whose next events were deleted', async (t) => {
    const after = await lastSequence(server)
    await renamed(...Array.from({ length: 30 }, (_, i) => `${i}`))
    const reader = await take(t, server, person, after)
    t.equal(await reader.next(), '0')
    await database.prisma.event.deleteMany({ where: { sequence: { lte: after + 28 } } })
    await database.prisma.eventLog.updateMany({ data: { removedThrough: after + 28 } })
    let received = 1
    for (let name = ''; name !== 'removed'; received++) name = await reader.next()
    t.ok(received <= 26, `${received} events were sent`)
    t.equal(await reader.next(), 'over')
  })

  t.test('does not count a reader that disconnects at any moment', async (t) => {
    const after = await lastSequence(server)
    await renamed('x', 'y', 'z')
    const last = await lastSequence(server)
    const moments: Record<string, (reader: Taken) => unknown> = {
      'before it started': () => {},
      'after its position was sent': (reader) => reader.iterator.next(),
      'while it reads': (reader) => {
        void reader.iterator.next().then(() => reader.iterator.next())
      },
      'in the middle of a page': (reader) => reader.next(),
    }
    for (const [moment, until] of Object.entries(moments)) {
      const readers = await Promise.all(Array.from({ length: 20 }, () => take(t, server, person, after)))
      await Promise.all(readers.map(until))
      for (const reader of readers) reader.leave()
      await waitUntil(() => eventStreams.count === 0, moment)
    }
    const waiting = await take(t, server, person, last)
    await waiting.iterator.next()
    const next = waiting.iterator.next()
    t.equal(eventStreams.count, 1)
    waiting.leave()
    await next
    await waitUntil(() => eventStreams.count === 0, 'while it waits for events')
  })

  t.test('sends an event without delay that is written at the moment when a poll ends', async (t) => {
    // Only notifyNewEvents() can help: there are no notifications and no polls by timer.
    const deaf: Pick<Listener, 'on' | 'onState'> = { on: () => {}, onState: () => {} }
    const own = new EventStreams({
      db: database,
      principals: server.services.principals,
      cursors: server.services.eventCursors,
      listener: deaf as Listener,
      streamsPerUser: 10,
      interval: 2 ** 30,
    })
    own.start()
    t.teardown(() => own.close())
    await createProject(person)
    const reader = await take(t, server, person, await lastSequence(server), { eventStreams: own })
    await reader.iterator.next()
    for (let i = 0; i < 100; i++) {
      const next = reader.next()
      await renamed(`${i}`)
      own.notifyNewEvents()
      t.equal(await next, `${i}`)
    }
  })

  t.test('reads the key from the database each time while notifications cannot be received', async (t) => {
    const second = await startServer(t, { databaseUrl: server.databaseUrl })
    const other = await server.person()
    await createMember(server, project, other.id, 'viewer')
    const last = await lastSequence(server)
    const readers = await Promise.all(
      [person, other].flatMap((one) => Array.from({ length: 20 }, () => take(t, second, one, last))),
    )
    await second.services.listener.close()
    const first = readers.map((reader) => reader.next())
    await renamed('heard')
    t.same(new Set(await Promise.all(first)), new Set(['heard']))
    await database.prisma.apiKey.updateMany({ where: { userId: other.id }, data: { revokedAt: new Date() } })
    const then = readers.map((reader) => reader.next())
    await renamed('not for all')
    t.same(await Promise.all(then), [...Array(20).fill('not for all'), ...Array(20).fill('unauthorized')])
  })

  t.test('continues from the end of a log that was restored to an older state', async (t) => {
    const before = await lastSequence(server)
    await renamed('x', 'y')
    const readers = await Promise.all([before, before + 2].map((after) => take(t, server, person, after)))
    const [midst, now] = readers
    t.equal(await midst.next(), 'x')
    await now.iterator.next()
    let end = ''
    void now.next().then((reason) => {
      end = reason
    })
    await database.prisma.$executeRaw`TRUNCATE events CASCADE`
    await database.prisma.eventLog.updateMany({ data: { lastSequence: 0, removedThrough: 0 } })
    const fresh = await take(t, server, person, 0)
    const next = fresh.next()
    await renamed('the first')
    t.equal(await next, 'the first')
    t.equal(await lastSequence(server), 1)
    await waitUntil(() => end === 'removed', 'the end of a stream that has got more events')
    t.equal(await midst.next(), 'removed', 'the lost events are not sent')
    for (const reader of readers) t.equal(await reader.next(), 'over')
    await renamed('the second')
    t.equal(await fresh.next(), 'the second')
  })
})

t.test('close ends all streams in any state', async (t) => {
  const server = await startServer(t)
  const person = await server.person()
  const project = await createProject(person)
  await renameProject(person, project, 'one')
  await renameProject(person, project, 'two')
  const last = await lastSequence(server)
  const [waiting, midst, behind, late] = await Promise.all(
    [last, 1, 1, 1].map((after) => take(t, server, person, after)),
  )
  const next = waiting.next()
  t.equal(await midst.next(), 'one')
  const reading = behind.next()
  await server.services.eventStreams.close()
  t.equal(await next, 'shutdown')
  t.equal(await midst.next(), 'shutdown')
  t.match(await reading, /^(one|shutdown)$/)
  t.equal(await late.next(), 'shutdown')
  await behind.next()
  await behind.next()
  for (const reader of [waiting, midst, behind, late]) t.equal(await reader.next(), 'over')
  t.equal(server.services.eventStreams.count, 0)
})
