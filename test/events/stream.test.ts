// The event stream over HTTP: its exact bytes, where it starts, and that it applies the permissions of each
// moment.
import { Writable } from 'node:stream'
import t from 'tap'
import { SseStream, SlowReaderError } from '../../app/http/sse.ts'
import type { Role } from '../support/server/team.ts'
import { acquaint, createMember } from '../support/database/db-fixtures.ts'
import { cursorAt, sequencesOf } from '../support/operations/event-cursors.ts'
import { openStream } from '../support/http/event-stream.ts'
import {
  waitUntilCaughtUp,
  duplicateLastEvent,
  openReader,
  eventIds,
  lastSequence,
  listEvents,
  resourceNames,
  createProject,
  renameProject,
  eventTypes,
  type SseReader,
} from '../support/http/sse-readers.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('a stream', async (t) => {
  const server = await startServer(t, { env: { STREAM_PING: '1' } })
  const person = await server.person()
  const other = await server.person()
  const project = await createProject(person)

  t.test('matches the SSE standard byte for byte', async (t) => {
    const before = await lastSequence(server)
    const [now, one, two] = await Promise.all([0, 1, 2].map((n) => cursorAt(server, before + n)))
    const stream = await openReader(t, server, person.key, { headers: { 'x-request-id': 'mine' } })
    t.equal(stream.answer.statusCode, 200)
    const { date: _date, ratelimit: _left, 'ratelimit-policy': _policy, ...headers } = stream.answer.headers
    t.same(headers, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
      'x-request-id': 'mine',
      'transfer-encoding': 'chunked',
      connection: 'close',
    })
    let expected = `: connected\nid: ${now}\n\n`
    await waitUntil(() => stream.text.length >= expected.length)
    t.equal(stream.text, expected)

    const description = 'Line\nbreak \u2028 “…” \u{1f680}'
    await person.client.put(`/projects/${project}`, { description })
    await waitUntil(() => stream.events.length === 1)
    const { id, data } = stream.events[0].data
    t.equal(data.object.description, description)
    expected += `id: ${one}\ndata: ${(await person.client.get(`/events/${id}`)).text}\n\n`
    t.ok(stream.text.startsWith(expected), 'an event is a message; its data equals the response of getEvent')

    // Events for others move the position, which is sent when no event arrives.
    await createProject(other)
    await waitUntil(() => stream.text.includes(`: ping\nid: ${two}\n\n: ping\nid: ${two}\n\n`), 'two pings')
    t.match(
      stream.text.slice(expected.length),
      new RegExp(`^(: ping\nid: ${one}\n\n)*(: ping\nid: ${two}\n\n)+$`),
    )
    stream.close()
    await waitUntil(() => server.services.eventStreams.count === 0)
  })

  t.test('is not opened by HEAD, which gets a response immediately', async (t) => {
    const answer = await fetch(`${server.url}/v1/events/stream`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${person.key}` },
    })
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.equal(server.services.eventStreams.count, 0)
  })

  t.test('ignores the Accept header', async (t) => {
    for (const accept of ['text/event-stream', '*/*', 'application/json', 'text/event-stream;q=0']) {
      const stream = await openReader(t, server, person.key, { headers: { accept } })
      t.equal(stream.answer.statusCode, 200, accept)
      stream.close()
    }
    await waitUntil(() => server.services.eventStreams.count === 0)
  })

  t.test('starts after Last-Event-ID, else after `cursor`, else now', async (t) => {
    const last = await lastSequence(server)
    for (const name of ['1', '2', '3']) await renameProject(person, project, name)
    const now = await openReader(t, server, person.key)
    for (const name of ['4', '5', '6']) await renameProject(person, project, name)
    const whole = await openReader(t, server, person.key, { after: 0 })
    const byHeader = await openReader(t, server, person.key, {
      after: last + 2,
      query: `?cursor=${await cursorAt(server, last)}`,
    })
    const byQuery = await openReader(t, server, person.key, {
      query: `?cursor=${await cursorAt(server, last + 1)}`,
    })
    const oldest = await openReader(t, server, person.key, { query: '?cursor=start' })
    await waitUntilCaughtUp(server, now, whole, oldest, byHeader, byQuery)
    t.same(resourceNames(now), ['4', '5', '6'], 'contains every event written after the response started')
    t.same(resourceNames(byHeader), ['3', '4', '5', '6'], 'the header overrides the parameter')
    t.same(resourceNames(byQuery), ['2', '3', '4', '5', '6'])
    t.same(
      whole.events.map(({ data }) => data),
      await listEvents(server, person, 0),
    )
    t.same(oldest.events, whole.events, '`start` is the oldest event')
  })

  t.test('rejects what is no cursor of this log', async (t) => {
    const valid = await cursorAt(server, await lastSequence(server))
    const another = await startServer(t)
    // Test databases are copies of one database; installations are not.
    await another.services.database.prisma
      .$executeRaw`UPDATE event_log SET cursor_key = decode(md5('another'), 'hex')`
    const changed = (valid.startsWith('A') ? 'B' : 'A') + valid.slice(1)
    const ahead = await cursorAt(server, 1_000_000)
    const foreign = await cursorAt(another, 1)
    for (const id of ['0', '1', 'abc', changed, valid.slice(1), `${valid}A`, foreign, ahead]) {
      const byHeader = await openStream(server.url, person.key, { lastEventId: id })
      t.match(byHeader, { status: 400, body: { error: { details: { constraint: 'cursor' } } } }, id)
      const { status, body } = await openStream(server.url, person.key, {
        path: `/events/stream?cursor=${encodeURIComponent(id)}`,
      })
      t.match(
        { status, ...body.error },
        { status: 400, message: /next_cursor/, details: { field: 'cursor', constraint: 'cursor' } },
        id,
      )
      t.match(await person.client.get(`/events?cursor=${encodeURIComponent(id)}`), {
        status: 400,
        body: { error: { details: { field: 'cursor', constraint: 'cursor' } } },
      })
    }
    const { body } = await openStream(server.url, person.key, { lastEventId: 'abc' })
    t.match(body.error.details, { field: 'last-event-id', errors: [{ location: 'header' }] })
  })

  t.test('can be filtered by type and by project', async (t) => {
    const after = await lastSequence(server)
    const second = await createProject(person)
    const filters = [
      '',
      '?type=project.updated',
      '?type=profile.updated',
      '?type=member.added',
      `?project_id=${second}`,
      `?project_id=${project}&type=project.updated`,
    ]
    const live = await Promise.all(filters.map((query) => openReader(t, server, person.key, { query })))
    const from = await lastSequence(server)
    for (let i = 0; i < 3; i++) {
      for (const id of [project, second]) await renameProject(person, id, `${i}`)
      await person.client.put('/user/profile', { name: `${i}` })
    }
    const resumed = await Promise.all(
      filters.map((query) => openReader(t, server, person.key, { query, after })),
    )
    await waitUntilCaughtUp(server, ...live, ...resumed)
    for (const [i, filter] of filters.entries()) {
      const query = filter.replace('?', '&')
      t.same(
        live[i].events.map(({ data }) => data),
        await listEvents(server, person, from, query),
        `live ${filter}`,
      )
      t.same(
        resumed[i].events.map(({ data }) => data),
        await listEvents(server, person, after, query),
        `resumed ${filter}`,
      )
    }
    t.equal(
      (await openStream(server.url, other.key, { path: `/events/stream?project_id=${second}` })).status,
      403,
    )
    t.equal(
      (
        await openStream(server.url, person.key, {
          path: '/events/stream?project_id=prj_01h455vb4pex5vsknk084sn02q',
        })
      ).status,
      404,
    )
  })

  t.test('catches up over many pages while more events are written', async (t) => {
    const after = await lastSequence(server)
    await renameProject(person, project, 'first')
    await duplicateLastEvent(server, 3_000)
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => openReader(t, server, person.key, { after })),
    )
    for (let i = 0; i < 20; i++) await renameProject(person, project, `meanwhile ${i}`)
    await waitUntilCaughtUp(server, ...streams)
    const expected = await sequencesOf(server, await listEvents(server, person, after))
    t.equal(expected.length, 3_021)
    for (const stream of streams) t.same(eventIds(stream), expected)
  })

  t.test('does not start before the oldest event', async (t) => {
    const { prisma } = server.services.database
    const removed = (await lastSequence(server)) - 2
    await prisma.event.deleteMany({ where: { sequence: { lte: removed } } })
    await prisma.eventLog.updateMany({ data: { removedThrough: removed } })
    const { status, body } = await openStream(server.url, person.key, {
      lastEventId: await cursorAt(server, removed - 1),
    })
    t.equal(status, 410)
    t.equal(body.error.details.constraint, 'removed')
    const kept = await openReader(t, server, person.key, { after: removed })
    const whole = await openReader(t, server, person.key, { after: 0 })
    await waitUntilCaughtUp(server, kept, whole)
    t.same(eventIds(kept), [removed + 1, removed + 2])
    t.same(eventIds(whole), [removed + 1, removed + 2])
  })
})

t.test('a stream sends only what its reader can read at that moment', async (t) => {
  const server = await startServer(t, { env: { STREAM_PING: '1' } })
  const { prisma } = server.services.database
  const owner = await server.person()
  const project = await createProject(owner)
  const join = async (role: Role): Promise<Person & { member: string }> => {
    const person = await server.person()
    return { ...person, member: await createMember(server, project, person.id, role) }
  }
  const ended = async (stream: SseReader): Promise<string | null> => {
    await waitUntil(() => stream.ended !== null, 'the end')
    return stream.ended
  }

  t.test('no events of a project to users who are no longer, or not yet, members', async (t) => {
    const member = await join('viewer')
    const later = await server.person()
    const [stream, other] = [await openReader(t, server, member.key), await openReader(t, server, later.key)]
    // Permissions apply at the moment of reading, so each step is read before the next.
    await renameProject(owner, project, 'before')
    await waitUntilCaughtUp(server, stream, other)
    await owner.client.delete(`/projects/${project}/members/${member.member}`)
    await renameProject(owner, project, 'between')
    await waitUntilCaughtUp(server, stream, other)
    await acquaint(server, owner, later)
    await owner.client.post(`/projects/${project}/members`, { user_id: later.id, role: 'viewer' })
    await renameProject(owner, project, 'after')
    await waitUntilCaughtUp(server, stream, other)
    t.same(resourceNames(stream), ['before'])
    t.same(eventTypes(other), ['member.added', 'project.updated'])
    t.same(resourceNames(other).at(-1), 'after')
  })

  t.test('no invitations to a former project admin', async (t) => {
    const member = await join('admin')
    const stream = await openReader(t, server, member.key)
    await owner.client.post(`/projects/${project}/members`, { email: 'a@example.com', role: 'viewer' })
    await waitUntilCaughtUp(server, stream)
    await owner.client.put(`/projects/${project}/members/${member.member}`, { role: 'editor' })
    await owner.client.post(`/projects/${project}/members`, { email: 'b@example.com', role: 'viewer' })
    await renameProject(owner, project, 'renamed')
    await waitUntilCaughtUp(server, stream)
    t.same(eventTypes(stream), ['invitation.created', 'member.updated', 'project.updated'])
  })

  t.test('only events within the scopes and projects of the key', async (t) => {
    const second = await createProject(owner)
    const key = async (fields: object): Promise<string> =>
      (await owner.client.post('/user/api-keys', { name: 'x', ...fields })).body.key
    const profile = await openReader(t, server, await key({ scopes: ['user:read'] }))
    const projects = await openReader(t, server, await key({ scopes: ['projects:read'] }))
    const one = await openReader(
      t,
      server,
      await key({ scopes: ['projects:read', 'user:read'], project_ids: [second] }),
    )
    const from = await lastSequence(server)
    await owner.client.put('/user/profile', { name: 'X' })
    for (const id of [project, second]) await renameProject(owner, id, 'x')
    await waitUntilCaughtUp(server, profile, projects, one)
    const since = (stream: SseReader): string[] =>
      stream.events.filter(({ id }) => id > from).map(({ data }) => `${data.type} ${data.project_id}`)
    t.same(since(profile), ['profile.updated null'])
    t.same(since(projects), [`project.updated ${project}`, `project.updated ${second}`])
    t.same(since(one), ['profile.updated null', `project.updated ${second}`])
  })

  t.test('no events of other users to a former admin', async (t) => {
    const admin = await server.person({ role: 'admin' })
    const someone = await server.person()
    const stream = await openReader(t, server, admin.key)
    await server.admin.client.put(`/users/${someone.id}`, { name: 'before' })
    await waitUntilCaughtUp(server, stream)
    await server.admin.client.put(`/users/${admin.id}`, { role: 'user' })
    await server.admin.client.put(`/users/${someone.id}`, { name: 'after' })
    await waitUntilCaughtUp(server, stream)
    t.same(resourceNames(stream), ['before'])
    t.equal(stream.ended, null)
  })

  t.test(
    'no events after the key is revoked or its owner is disabled or deleted: the stream ends immediately',
    async (t) => {
      const person = await server.person()
      const { body } = await person.client.post('/user/api-keys', {
        name: 'x',
        scopes: ['user:read', 'projects:read'],
      })
      const [revoked, kept] = [await openReader(t, server, body.key), await openReader(t, server, person.key)]
      await person.client.delete(`/user/api-keys/${body.id}`)
      await person.client.put('/user/profile', { name: 'after' })
      t.equal(await ended(revoked), 'unauthorized')
      t.notOk(eventTypes(revoked).includes('profile.updated'))
      await waitUntilCaughtUp(server, kept)
      t.same(eventTypes(kept), ['api_key.revoked', 'profile.updated'])
      await server.admin.client.put(`/users/${person.id}`, { status: 'disabled' })
      t.equal(await ended(kept), 'unauthorized')
      const deleted = await server.person()
      const stream = await openReader(t, server, deleted.key)
      await server.admin.client.delete(`/users/${deleted.id}`)
      t.equal(await ended(stream), 'unauthorized')
      t.same(
        stream.events.map(({ event }) => event),
        ['end'],
      )
    },
  )

  t.test('without events, the stream of an invalid key ends within one ping', async (t) => {
    const took: number[] = []
    const [revoked, expiring] = [
      await server.person(),
      await server.person({ expiresAt: new Date(Date.now() + 1_500) }),
    ]
    const streams = [await openReader(t, server, revoked.key), await openReader(t, server, expiring.key)]
    const since = [Date.now(), Date.now() + 1_500]
    await prisma.apiKey.updateMany({ where: { userId: revoked.id }, data: { revokedAt: new Date() } })
    const { log } = { log: await lastSequence(server) }
    for (const [i, stream] of streams.entries()) {
      t.equal(await ended(stream), 'unauthorized')
      took.push(Date.now() - since[i])
    }
    t.equal(await lastSequence(server), log, 'nothing happened')
    t.comment(`revoked and expired: ended after ${took} ms, with a ping a second`)
  })
})

t.test('the number of open streams per user is limited', async (t) => {
  const server = await startServer(t, { env: { STREAMS_PER_USER: '3' } })
  const person = await server.person()
  const other = await server.person()
  const open = async (key = person.key): Promise<Awaited<ReturnType<typeof openStream>>> => {
    const stream = await openStream(server.url, key)
    t.teardown(() => stream.close())
    return stream
  }
  const isFree = async (): Promise<boolean> => {
    const stream = await openStream(server.url, person.key)
    await stream.close()
    return stream.status === 200
  }

  const asked = await Promise.all(Array.from({ length: 30 }, () => open()))
  const opened = asked.filter(({ status }) => status === 200)
  t.equal(opened.length, 3, 'even if they are opened concurrently')
  for (const { status, body, headers } of asked.filter((stream) => !opened.includes(stream))) {
    t.match(
      { status, body },
      { status: 429, body: { error: { code: 'RATE_LIMITED', details: { constraint: 'max_open' } } } },
    )
    t.ok(Number(headers.get('retry-after')) > 0)
  }
  t.equal((await open(other.key)).status, 200, 'other users can open streams')

  await opened[0].close()
  await waitUntil(isFree, 'a free stream after a client disconnected')
  await waitUntil(() => server.services.eventStreams.count === 3)
  const { body: key } = await person.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
  const revoked = await open(key.key)
  t.equal(revoked.status, 200)
  t.notOk(await isFree())
  await person.client.delete(`/user/api-keys/${key.id}`)
  await waitUntil(isFree, 'a free stream after the server ended a stream')
  await waitUntil(() => server.services.eventStreams.count === 3)
  // An event that does not match the spec fails the stream.
  await createProject(person)
  await server.services.database.prisma
    .$executeRaw`UPDATE events SET data = '{"object": 1, "previous_attributes": {}}'
      WHERE project_id IS NOT NULL`
  for (const stream of opened.slice(1)) await stream.close()
  await waitUntil(() => server.services.eventStreams.count === 1)
  const broken = await Promise.all([0, 0, 0].map((after) => openReader(t, server, person.key, { after })))
  await waitUntil(() => broken.every(({ ended }) => ended === 'connection error'))
  await waitUntil(isFree, 'a free stream after a stream failed')
  await waitUntil(() => server.services.eventStreams.count === 1)
})

t.test('data that a client does not read', async (t) => {
  // The timers of a stream do not keep the process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))

  /** Pipes events to a client that reads one chunk. Returns the error with which the stream was given up. */
  async function unread(
    events: () => AsyncGenerator<{ event: string; id?: string; data: unknown }>,
  ): Promise<{ error: Error; stream: SseStream; most: number }> {
    let most = 0
    const stream = new SseStream({
      start: events,
      serialize: (_event, data) => {
        most = Math.max(most, stream.readableLength)
        return JSON.stringify(data)
      },
      pingMs: 20,
      writeTimeoutMs: 200,
    })
    const error = await new Promise<Error>((resolve) => {
      stream.on('error', resolve).pipe(new Writable({ highWaterMark: 1, write: () => {} }))
    })
    return { error, stream, most }
  }

  t.test('is not requested from the handler', async (t) => {
    let asked = 0
    let left = false
    const { error, most } = await unread(async function* () {
      try {
        for (;;) yield { event: 'message', id: `${++asked}`, data: 'x'.repeat(1_000) }
      } finally {
        left = true
      }
    })
    t.type(error, SlowReaderError)
    t.ok(asked < 20, `${asked} events were requested`)
    t.ok(most < 16 * 1024, `at most ${most} bytes were buffered`)
    await waitUntil(() => left, 'the handler to be notified')
  })

  t.test('is given up after the time-out, even if it is small or the last chunk', async (t) => {
    const started = performance.now()
    const little = await unread(async function* () {
      yield { event: 'message', data: 1 }
      yield { event: 'message', data: 2 }
      await new Promise(() => {})
    })
    t.type(little.error, SlowReaderError)
    const end = await unread(async function* () {
      yield { event: 'message', data: 1 }
      yield { event: 'end', data: {} }
    })
    t.type(end.error, SlowReaderError)
    t.ok(performance.now() - started >= 400, 'but not before the time-out')
  })
})
