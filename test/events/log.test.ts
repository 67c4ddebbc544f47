// The order of the event log: sequence numbers have no gaps under concurrent writes, a read can continue
// anywhere without loss, and a read before the oldest event returns 410.
import t, { type Test } from 'tap'
import type { Operations, HandlerServices } from '../../services/handler.ts'
import { handlers } from '../../generated/routes.ts'
import { statement } from '../../infra/database/statements.ts'
import { runRetention } from '../support/database/retention.ts'
import { coreRetentionTasks } from '../../services/deletion/retention-tasks.ts'
import { createDelivery, createWebhookEndpoint, createEvent } from '../support/database/db-fixtures.ts'
import { cursorAt, sequenceAt, sequencesOf } from '../support/operations/event-cursors.ts'
import { openStream } from '../support/http/event-stream.ts'
import { makeOldMonths, moveToMonth } from '../support/database/months.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

interface LogEvent {
  id: string
  type: string
  data: { object: { name: string } }
}
const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, i) => from + i)

t.test('fifty concurrent writers, some of which fail, produce one order without gaps', async (t) => {
  const pause = statement('SELECT pg_sleep($1)')
  // A transaction that starts first need not commit first.
  const createProject = async (request: { body: { name: string } }, services: HandlerServices) =>
    await services.db.transaction(async (tx) => {
      const answer = await handlers.createProject(request as never, { ...services, db: tx })
      await tx.sql(pause, [Math.random() * 0.02])
      if (request.body.name === 'undone') throw new Error('undone')
      return answer
    })
  const server = await startServer(t, {
    handlers: { ...handlers, createProject } as unknown as Operations,
    env: { DATABASE_POOL_SIZE: '25' },
  })
  const { client, key } = await server.person()
  const live: LogEvent[] = []
  const stream = await openStream(server.url, key, { path: '/events/stream?cursor=start' })
  t.teardown(() => stream.close())
  void (async () => {
    for await (const { data } of stream.events) live.push(data)
  })()

  let written = 0
  const writer = async (i: number): Promise<void> => {
    for (let n = 0; n < 5; n++) {
      const name = (i + n) % 3 === 0 ? 'undone' : `${i} ${n}`
      const { status } = await client.post('/projects', { name })
      t.equal(status, name === 'undone' ? 500 : 201)
      if (status === 201) written++
    }
  }
  let writing = true
  const paged: LogEvent[] = []
  const reader = async (): Promise<void> => {
    let cursor = 'start'
    for (let last = false; !last;) {
      // When all writes are done, the last page is the end of the log.
      last = !writing
      for (let more = true; more;) {
        const { body } = await client.get(`/events?limit=7&cursor=${cursor}`)
        paged.push(...body.data)
        cursor = body.next_cursor
        more = body.has_more
      }
    }
  }
  const reading = reader()
  await Promise.all(Array.from({ length: 50 }, (_, i) => writer(i)))
  writing = false
  await reading

  t.ok(written > 150 && written < 250, `${written} were written`)
  t.same(await sequencesOf(server, paged), upTo(written), 'paging returns each event once, in order')
  t.equal(new Set(paged.map(({ data }) => data.object.name)).size, written, 'and all are different')
  await waitUntil(() => live.length >= written, 'the stream to send all events')
  t.same(live, paged, 'the stream sends the same')
  const rows = await server.services.database.prisma.event.findMany({ orderBy: { sequence: 'asc' } })
  t.same(
    rows.map(({ sequence }) => Number(sequence)),
    upTo(written),
    'no sequence is missing or assigned to a rolled back event',
  )
})

t.test('a filtered page continues where the last page ended', async (t) => {
  const server = await startServer(t)
  const { client } = await server.person()
  const [one, two] = [
    (await client.post('/projects', { name: 'One' })).body.id,
    (await client.post('/projects', { name: 'Two' })).body.id,
  ]
  for (let i = 0; i < 6; i++) await client.put(`/projects/${i % 2 === 0 ? one : two}`, { name: `Name ${i}` })
  const all: LogEvent[] = (await client.get('/events')).body.data
  const walk = async (query: string): Promise<number[]> => {
    const found: LogEvent[] = []
    let cursor = 'start'
    for (let more = true; more;) {
      const { body } = await client.get(`/events?limit=2&${query}&cursor=${cursor}`)
      found.push(...body.data)
      cursor = body.next_cursor
      more = body.has_more
    }
    t.equal(await sequenceAt(server, cursor), 8, `${query}: the last page ends at the end of the log`)
    return await sequencesOf(server, found)
  }
  t.same(await sequencesOf(server, all), upTo(8))
  t.ok(all.every((event) => !('sequence' in event)))
  t.same(await walk('type=project.updated'), [3, 4, 5, 6, 7, 8])
  t.same(await walk('type=project.created'), [1, 2])
  t.same(await walk(`project_id=${one}`), [1, 3, 5, 7])
  t.same(await walk(`project_id=${two}&type=project.updated`), [4, 6, 8])
  t.same(await walk('type=member.removed'), [])
  t.same(await walk('type=project.updated&type=project.created'), [1, 2, 3, 4, 5, 6, 7, 8])
  t.same(await walk('type=project.*'), [1, 2, 3, 4, 5, 6, 7, 8])
  t.same(await walk('type=*'), [1, 2, 3, 4, 5, 6, 7, 8])
  t.same(await walk('type=file.*&type=member.removed'), [])
  t.match(await client.get('/events?type=projects.*'), {
    status: 400,
    body: { error: { message: /project\.\*/, details: { field: 'type', constraint: 'enum' } } },
  })
  t.match((await client.get('/events?limit=2&type=project.updated')).body, {
    has_more: true,
    next_cursor: await cursorAt(server, 4),
  })
  const stranger = await server.person()
  t.same(
    (await stranger.client.get('/events')).body,
    {
      data: [],
      pagination: { has_more: false, next_cursor: null },
      has_more: false,
      next_cursor: await cursorAt(server, 8),
    },
    'a reader without readable events does not start again each time',
  )
})

t.test('the newest events come first with order=desc', async (t) => {
  const { server, person, ids } = await withEvents(t, 5)
  const { client } = person
  const walk = async (query: string): Promise<number[][]> => {
    const pages: number[][] = []
    let cursor = 'start'
    for (let more = true; more;) {
      const { body } = await client.get(`/events?order=desc&${query}&cursor=${cursor}`)
      pages.push(await sequencesOf(server, body.data))
      cursor = body.next_cursor
      more = body.has_more
    }
    t.same((await client.get(`/events?order=desc&cursor=${cursor}`)).body.data, [], 'nothing is older')
    return pages
  }
  t.same(await walk('limit=100'), [[5, 4, 3, 2, 1]])
  t.same(await walk('limit=2'), [[5, 4], [3, 2], [1]])

  const first = (await client.get('/events?order=desc&limit=2')).body
  await createEvent(server, person.id)
  const next = (await client.get(`/events?order=desc&limit=2&cursor=${first.next_cursor}`)).body
  t.same(await sequencesOf(server, next.data), [3, 2], 'a new event moves no page')
  const newest = (await client.get('/events?order=desc&limit=1')).body
  t.same(await sequencesOf(server, newest.data), [6], 'and is the first at once')

  await makeOldMonths(server.services.database)
  await moveToMonth(server.services.database, ids.slice(0, 3), 3)
  await runRetention(server.services.database)
  t.same(await walk('limit=2'), [[6, 5], [4]], 'deleted events are left out')
  t.same((await client.get(`/events?order=desc&cursor=${await cursorAt(server, 2)}`)).body, {
    data: [],
    pagination: { has_more: false, next_cursor: null },
    has_more: false,
    next_cursor: await cursorAt(server, 4),
  })
  t.match(await client.get(`/events?order=desc&cursor=${await cursorAt(server, 8)}`), {
    status: 400,
    body: { error: { details: { field: 'cursor' } } },
  })
  const stranger = await server.person()
  t.same((await stranger.client.get('/events?order=desc')).body.data, [])
})

/** A server with this many events of one user, numbered from 1. */
async function withEvents(
  t: Test,
  count: number,
): Promise<{ server: TestServer; person: Person; ids: string[] }> {
  const server = await startServer(t)
  const person = await server.person()
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push(await createEvent(server, person.id))
  t.equal((await person.client.get('/events')).body.next_cursor, await cursorAt(server, count))
  return { server, person, ids }
}

t.test('a read whose next events were deleted returns an error', async (t) => {
  const {
    server,
    person: { client, key },
    ids,
  } = await withEvents(t, 7)
  const { database } = server.services
  t.match(await runRetention(database), { 'months of events': 0 }, 'new events are not deleted')
  await makeOldMonths(database)
  await moveToMonth(database, ids.slice(0, 3), 3)
  await moveToMonth(database, ids.slice(3, 5), 1)
  const { client: stranger } = await server.person()
  t.match(
    await runRetention(database, { tasks: coreRetentionTasks({ eventDays: 1000 }) }),
    { 'months of events': 0 },
    'the retention time is configurable',
  )
  t.ok((await runRetention(database))['months of events'] >= 2)
  t.match(await runRetention(database), { 'months of events': 0 })

  const cursor = async (sequence: number) => await cursorAt(server, sequence)
  const read = async (query: string) =>
    await sequencesOf(server, (await client.get(`/events${query}`)).body.data)
  t.same(await read(''), [4, 5, 6, 7], 'a read without a cursor starts at the oldest event')
  t.same(await read('?cursor=start'), [4, 5, 6, 7], 'as one from the start does')
  t.same(
    await read(`?cursor=${await cursor(3)}`),
    [4, 5, 6, 7],
    'a reader that has seen all deleted events has missed nothing',
  )
  t.same(await read(`?cursor=${await cursor(6)}`), [7])
  for (const after of [await cursor(1), await cursor(2)]) {
    for (const who of [client, stranger]) {
      for (const ask of [
        () => who.get(`/events?cursor=${after}`),
        () => who.get(`/events/stream?cursor=${after}`),
        () => who.get('/events/stream', { headers: { 'last-event-id': after } }),
      ]) {
        const { status, body } = await ask()
        t.equal(status, 410, `after ${after}`)
        t.match(body.error, {
          code: 'GONE',
          message: /the cursor "start"/,
          details: { field: 'cursor', constraint: 'removed' },
        })
      }
    }
  }
  const stream = await openStream(server.url, key, {
    path: `/events/stream?cursor=${await cursor(2)}`,
    lastEventId: await cursor(3),
  })
  t.equal((await stream.next()).id, await cursor(4), 'Last-Event-ID overrides cursor')
  await stream.close()
  t.equal((await client.get(`/events/${ids[0]}`)).status, 404)

  t.same(await read(`?cursor=${await cursor(5)}`), [6, 7])
  await createEvent(server, server.admin.id)
  t.same(
    (await client.get(`/events?cursor=${await cursor(7)}`)).body,
    {
      data: [],
      pagination: { has_more: false, next_cursor: null },
      has_more: false,
      next_cursor: await cursorAt(server, 8),
    },
    'sequence numbers continue',
  )
})

t.test('a rare type is found in a long log whose oldest events were deleted', async (t) => {
  const {
    server,
    person: { client },
  } = await withEvents(t, 1)
  const { prisma } = server.services.database
  await prisma.event.deleteMany()
  await prisma.eventLog.updateMany({ data: { lastSequence: 500_000, removedThrough: 240_000 } })
  await createEvent(server, server.admin.id)
  const { id } = (await client.post('/projects', { name: 'Rare' })).body
  const found: number[] = []
  let after = 0
  for (let more = true; more;) {
    const { status, body } = await client.get(
      `/events?type=project.created&cursor=${await cursorAt(server, after)}`,
    )
    t.equal(status, 200, `after ${after}`)
    if (status !== 200) return
    const next = await sequenceAt(server, body.next_cursor)
    t.ok(next > after, 'each page advances')
    found.push(...(await sequencesOf(server, body.data)))
    after = next
    more = body.has_more
  }
  t.same(found, [500_002])
  t.equal(after, 500_002)
  for (const [query, found] of [
    ['type=profile.updated', []],
    [`project_id=${id}`, [500_002]],
    ['', [500_002]],
  ] as const) {
    const { body } = await client.get(`/events?cursor=${await cursorAt(server, 499_999)}&${query}`)
    t.same(await sequencesOf(server, body.data), found, query)
  }
})

t.test('a month with an event that has no sequence stays', async (t) => {
  const { server, ids } = await withEvents(t, 2)
  const { database, eventStreams } = server.services
  await makeOldMonths(database)
  await moveToMonth(database, ids, 3)
  // The server numbers no event again.
  await eventStreams.close()
  await runRetention(database, { tasks: coreRetentionTasks({ eventDays: 1000 }) })
  await database.prisma.event.updateMany({ where: { sequence: 2 }, data: { sequence: null } })
  await runRetention(database)
  t.equal(await database.prisma.event.count(), 2)
  t.match(await database.prisma.eventLog.findMany(), [{ removedThrough: 0n }])
  await database.prisma.event.updateMany({ where: { sequence: null }, data: { sequence: 2 } })
  await runRetention(database)
  t.equal(await database.prisma.event.count(), 0)
  t.match(await database.prisma.eventLog.findMany(), [{ removedThrough: 2n }])
})

t.test('deliveries are deleted with their event and with their endpoint', async (t) => {
  const { server, person } = await withEvents(t, 0)
  const { database } = server.services
  const { prisma } = database
  const kept = await createWebhookEndpoint(server, person.id)
  const left = await createWebhookEndpoint(server, person.id)
  const [old, young] = [
    await createDelivery(server, person.id, { endpointId: kept }),
    await createDelivery(server, person.id, { endpointId: kept }),
  ]
  await createDelivery(server, person.id, { endpointId: left, status: 'pending' })
  await createDelivery(server, person.id, { endpointId: left })
  const { eventId } = await prisma.webhookDelivery.findUniqueOrThrow({ where: { id: old } })
  await makeOldMonths(database)
  await moveToMonth(database, [eventId], 3)
  t.equal((await person.client.delete(`/webhooks/endpoints/${left}`)).status, 204)
  t.equal(await prisma.webhookDelivery.count(), 4, 'a large endpoint does not delay the other deletions')
  t.match(await runRetention(database), { deliveries: 2 })
  t.match(await runRetention(database), { 'months of events': 0, deliveries: 0 })
  t.same(
    (await prisma.webhookDelivery.findMany()).map(({ id }) => id),
    [young],
  )
  t.same(
    (await prisma.webhookEndpoint.findMany()).map(({ id }) => id),
    [kept],
  )
  t.same(
    (await person.client.get(`/webhooks/endpoints/${kept}/deliveries`)).body.data.map(
      ({ id }: { id: string }) => id,
    ),
    [young],
  )
  t.equal((await person.client.get(`/webhooks/deliveries/${old}`)).status, 404)
})

t.test('the events of a purged project are deleted', async (t) => {
  const {
    server,
    person: { client },
  } = await withEvents(t, 0)
  const { database } = server.services
  const make = async (name: string) => (await client.post('/projects', { name })).body.id as string
  const [gone, deleted] = [await make('Gone'), await make('Deleted')]
  for (const id of [gone, deleted]) t.equal((await client.delete(`/projects/${id}`)).status, 204)
  await database.prisma.project.update({
    where: { id: gone },
    data: { deletedAt: new Date(Date.now() - 31 * 86_400_000) },
  })
  t.match(await runRetention(database), { projects: 1 })
  t.same(
    (await client.get('/events')).body.data.map(
      ({ type, project_id: id }: { type: string; project_id: string }) => `${type} ${id}`,
    ),
    [`project.created ${deleted}`, `project.deleted ${deleted}`],
  )
})
