// The tail of the log, taken from by hand: what it reads for whom and when, and what is left when a reader goes.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { EventStreams } from '../../services/events/live-stream.ts'
import type { EventFilter } from '../../services/events/log.ts'
import type { Listener } from '../../infra/database/notifications.ts'
import { copyLast, largest, lastOf, newProject, rename } from '../support/sse-readers.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

type Piece = { event?: string; id?: string; data?: any }

interface Taken {
  /** The next event; its name, or why the stream has ended. */
  next(): Promise<string>
  iterator: AsyncIterator<Piece>
  leave(): void
}

async function take(
  t: Pick<Test, 'teardown'>,
  { services }: TestServer,
  { key }: { key: string },
  after: number,
  { eventStreams = services.eventStreams, filter = {} as EventFilter } = {},
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

/** Statements that contain the text, sent while the work was done. */
async function sent(server: TestServer, text: string, work: () => Promise<unknown>): Promise<number> {
  server.statements.length = 0
  await work()
  return server.statements.filter((statement) => statement.includes(text)).length
}

const forAll = 'FROM events e WHERE e.sequence > $1'
const forOne = 'FROM event_log l LEFT JOIN LATERAL'
const keys = 'FROM api_keys k'

t.test('the tail', async (t) => {
  const server = await startServer(t)
  const { database, eventStreams } = server.services
  const person = await server.person()
  const project = await newProject(person)
  const renamed = async (...names: string[]): Promise<void> => {
    for (const name of names) await rename(person, project, name)
  }
  await waitUntil(() => server.services.principals.listening)

  t.test('reads once for all who wait, and for each who is behind', async (t) => {
    const last = await lastOf(server)
    const waiting = await Promise.all(Array.from({ length: 100 }, () => take(t, server, person, last)))
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

  t.test('keeps little of what is large for who is behind', async (t) => {
    const after = await lastOf(server)
    await renamed('small')
    await copyLast(server, 24)
    const reads = async (from: number): Promise<number> =>
      await sent(server, forOne, async () => {
        await lastOf(server)
        // The tail hears of it within some milliseconds; a reader that came before would be handed all of it as it happens.
        await sleep(1_000)
        const reader = await take(t, server, person, from)
        for (let i = 0; i < 25; i++) await reader.next()
        reader.leave()
      })
    t.equal(await reads(after), 1)
    await person.client.put(`/projects/${project}`, largest)
    await copyLast(server, 24)
    const pages = await reads(after + 25)
    t.ok(pages > 1, `25 events of the largest kind were read in ${pages} parts`)
  })

  t.test('reads again what was read a while ago, for rights may have changed', async (t) => {
    const member = await server.person()
    const { body } = await person.client.post(`/projects/${project}/members`, {
      user_id: member.id,
      role: 'viewer',
    })
    const after = await lastOf(server)
    await renamed('a', 'b', 'c')
    const reader = await take(t, server, member, after)
    t.equal(await reader.next(), 'a')
    await person.client.delete(`/projects/${project}/members/${body.id}`)
    await member.client.put('/user/profile', { name: 'mine' })
    await sleep(1_100)
    t.equal(await reader.next(), 'mine')
    await server.admin.client.put(`/users/${member.id}`, { status: 'disabled' })
    t.equal(await reader.next(), 'unauthorized')
    t.equal(await reader.next(), 'over')
  })

  t.test('ends a stream of which the next events are removed', async (t) => {
    const after = await lastOf(server)
    await renamed(...Array.from({ length: 30 }, (_, i) => `${i}`))
    const reader = await take(t, server, person, after)
    t.equal(await reader.next(), '0')
    await database.prisma.event.deleteMany({ where: { sequence: { lte: after + 28 } } })
    await database.prisma.eventLog.updateMany({ data: { removedThrough: after + 28 } })
    let told = 1
    for (let name = ''; name !== 'removed'; told++) name = await reader.next()
    t.ok(told <= 26, `${told} were told`)
    t.equal(await reader.next(), 'over')
  })

  t.test('counts nobody who is gone, at whatever moment', async (t) => {
    const after = await lastOf(server)
    await renamed('x', 'y', 'z')
    const last = await lastOf(server)
    const moments: Record<string, (reader: Taken) => unknown> = {
      'before it began': () => {},
      'after its place was told': (reader) => reader.iterator.next(),
      'while it reads': (reader) => {
        void reader.iterator.next().then(() => reader.iterator.next())
      },
      'in the midst of a page': (reader) => reader.next(),
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
    await waitUntil(() => eventStreams.count === 0, 'while it waits')
  })

  t.test('lets nobody wait who writes in the moment when a look ends', async (t) => {
    // Nothing but the nudge helps: nothing is heard, and nobody looks by himself.
    const deaf: Pick<Listener, 'on' | 'onState'> = { on: () => {}, onState: () => {} }
    const own = new EventStreams({
      db: database,
      principals: server.services.principals,
      listener: deaf as Listener,
      streamsPerUser: 10,
      interval: 2 ** 30,
    })
    own.start()
    t.teardown(() => own.close())
    await newProject(person)
    const reader = await take(t, server, person, await lastOf(server), { eventStreams: own })
    await reader.iterator.next()
    for (let i = 0; i < 100; i++) {
      const next = reader.next()
      await renamed(`${i}`)
      own.notifyNewEvents()
      t.equal(await next, `${i}`)
    }
  })

  t.test('asks for the key again each time while nothing can be heard of it', async (t) => {
    const second = await startServer(t, { databaseUrl: server.databaseUrl })
    const other = await server.person()
    await person.client.post(`/projects/${project}/members`, { user_id: other.id, role: 'viewer' })
    const last = await lastOf(server)
    const readers = await Promise.all(
      [person, other].flatMap((one) => Array.from({ length: 20 }, () => take(t, second, one, last))),
    )
    await second.services.listener.close()
    const first = readers.map((reader) => reader.next())
    await renamed('heard')
    t.same(new Set(await Promise.all(first)), new Set(['heard']))
    await database.prisma.apiKey.updateMany({ where: { userId: other.id }, data: { revokedAt: new Date() } })
    const then = readers.map((reader) => reader.next())
    await renamed('not by all')
    t.same(await Promise.all(then), [...Array(20).fill('not by all'), ...Array(20).fill('unauthorized')])
  })

  t.test('follows a log that was put back from where it is', async (t) => {
    const now = await take(t, server, person, await lastOf(server))
    await now.iterator.next()
    void now.iterator.next()
    await database.prisma.$executeRaw`TRUNCATE events CASCADE`
    await database.prisma.eventLog.updateMany({ data: { lastSequence: 0, removedThrough: 0 } })
    const fresh = await take(t, server, person, 0)
    const next = fresh.next()
    await renamed('the first')
    t.equal(await next, 'the first')
    t.equal(await lastOf(server), 1)
  })
})

t.test('the stop ends everybody, in whatever they are', async (t) => {
  const server = await startServer(t)
  const person = await server.person()
  const project = await newProject(person)
  await rename(person, project, 'one')
  await rename(person, project, 'two')
  const last = await lastOf(server)
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
