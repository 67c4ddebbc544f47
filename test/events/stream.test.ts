// The stream of events as its clients meet it: byte for byte, begun anywhere in the log, with the rights of that moment.
import { Writable } from 'node:stream'
import t from 'tap'
import { EventStream, SlowReaderError } from '../../app/http/sse.ts'
import { openStream } from '../support/event-stream.ts'
import {
  caughtUp,
  copyLast,
  follow,
  idsIn,
  lastOf,
  listed,
  namesIn,
  newProject,
  rename,
  typesIn,
  type Following,
} from '../support/sse-readers.ts'
import { startServer, type Person } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

t.test('a stream', async (t) => {
  const server = await startServer(t, { env: { STREAM_PING: '1' } })
  const person = await server.person()
  const other = await server.person()
  const project = await newProject(person)

  t.test('is what the standard says, byte for byte', async (t) => {
    const before = await lastOf(server)
    const stream = await follow(t, server, person.key, { headers: { 'x-request-id': 'mine' } })
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
    let expected = `: connected\nid: ${before}\n\n`
    await waitUntil(() => stream.text.length >= expected.length)
    t.equal(stream.text, expected)

    const description = 'Line\nbreak \u2028 “…” \u{1f680}'
    await person.client.put(`/projects/${project}`, { description })
    await waitUntil(() => stream.told.length === 1)
    const { id, data } = stream.told[0].data
    t.equal(data.object.description, description)
    expected += `id: ${before + 1}\ndata: ${(await person.client.get(`/events/${id}`)).text}\n\n`
    t.ok(stream.text.startsWith(expected), 'an event is a message, its data what one gets by its id')

    // What is for others moves the position, which is told in a silence.
    await newProject(other)
    await waitUntil(
      () => stream.text.includes(`: ping\nid: ${before + 2}\n\n: ping\nid: ${before + 2}\n\n`),
      'two pings',
    )
    t.match(
      stream.text.slice(expected.length),
      new RegExp(`^(: ping\nid: ${before + 1}\n\n)*(: ping\nid: ${before + 2}\n\n)+$`),
    )
    stream.close()
    await waitUntil(() => server.services.eventStreams.count === 0)
  })

  t.test('is not opened by HEAD, which is answered at once', async (t) => {
    const answer = await fetch(`${server.url}/v1/events/stream`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${person.key}` },
    })
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    t.equal(answer.headers.get('cache-control'), 'no-store')
    t.equal(server.services.eventStreams.count, 0)
  })

  t.test('is for those who accept one', async (t) => {
    for (const accept of [
      'text/event-stream',
      'text/*',
      '*/*',
      'application/json;q=0.9, text/event-stream;q=0.1',
    ]) {
      const stream = await follow(t, server, person.key, { headers: { accept } })
      t.equal(stream.answer.statusCode, 200, accept)
      stream.close()
    }
    for (const accept of ['application/json', 'text/html, application/*', 'text/event-stream;q=0']) {
      const answer = await fetch(`${server.url}/v1/events/stream`, {
        headers: { accept, authorization: `Bearer ${person.key}` },
      })
      t.equal(answer.status, 406, accept)
      t.equal(((await answer.json()) as any).error.code, 'NOT_ACCEPTABLE')
    }
    await waitUntil(() => server.services.eventStreams.count === 0)
  })

  t.test('begins after Last-Event-ID, else after `after`, else now', async (t) => {
    const last = await lastOf(server)
    for (const name of ['1', '2', '3']) await rename(person, project, name)
    const now = await follow(t, server, person.key)
    const ahead = await follow(t, server, person.key, { after: last + 5 })
    for (const name of ['4', '5', '6']) await rename(person, project, name)
    const whole = await follow(t, server, person.key, { after: 0 })
    const byHeader = await follow(t, server, person.key, { after: last + 2, query: `?after=${last}` })
    const byQuery = await follow(t, server, person.key, { query: `?after=${last + 1}` })
    await caughtUp(server, now, ahead, whole, byHeader, byQuery)
    t.same(namesIn(now), ['4', '5', '6'], 'nothing is missed that was written once the answer was there')
    t.same(namesIn(ahead), ['6'], 'nothing is told that was not asked for')
    t.same(namesIn(byHeader), ['3', '4', '5', '6'], 'the header counts more')
    t.same(namesIn(byQuery), ['2', '3', '4', '5', '6'])
    t.same(
      whole.told.map(({ data }) => data),
      await listed(person, 0),
    )
  })

  t.test('is refused after what is no id', async (t) => {
    for (const id of ['-1', '1.5', 'abc', '1e3', '0x1', '9007199254740992', '1,2', 'NaN']) {
      t.equal(
        (await openStream(server.url, person.key, { lastEventId: id })).status,
        400,
        `Last-Event-ID: ${id}`,
      )
      const { status, body } = await openStream(server.url, person.key, {
        path: `/events/stream?after=${encodeURIComponent(id)}`,
        lastEventId: '1',
      })
      t.equal(status, 400, `after=${id}`)
      t.equal(body.error.details.field, 'after')
    }
  })

  t.test('tells of one type, or of one project, when asked to', async (t) => {
    const after = await lastOf(server)
    const second = await newProject(person)
    const filters = [
      '',
      '?type=project.updated',
      '?type=profile.updated',
      '?type=member.added',
      `?project_id=${second}`,
      `?project_id=${project}&type=project.updated`,
    ]
    const live = await Promise.all(filters.map((query) => follow(t, server, person.key, { query })))
    const from = await lastOf(server)
    for (let i = 0; i < 3; i++) {
      for (const id of [project, second]) await rename(person, id, `${i}`)
      await person.client.put('/user/profile', { name: `${i}` })
    }
    const resumed = await Promise.all(filters.map((query) => follow(t, server, person.key, { query, after })))
    await caughtUp(server, ...live, ...resumed)
    for (const [i, filter] of filters.entries()) {
      const query = filter.replace('?', '&')
      t.same(
        live[i].told.map(({ data }) => data),
        await listed(person, from, query),
        `live ${filter}`,
      )
      t.same(
        resumed[i].told.map(({ data }) => data),
        await listed(person, after, query),
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

  t.test('from far behind catches up over many pages while more is written', async (t) => {
    const after = await lastOf(server)
    await rename(person, project, 'first')
    await copyLast(server, 3_000)
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => follow(t, server, person.key, { after })),
    )
    for (let i = 0; i < 20; i++) await rename(person, project, `meanwhile ${i}`)
    await caughtUp(server, ...streams)
    const expected = (await listed(person, after)).map(({ sequence }) => sequence)
    t.equal(expected.length, 3_021)
    for (const stream of streams) t.same(idsIn(stream), expected)
  })

  t.test('does not begin where events are no longer kept', async (t) => {
    const { prisma } = server.services.database
    const removed = (await lastOf(server)) - 2
    await prisma.event.deleteMany({ where: { sequence: { lte: removed } } })
    await prisma.eventLog.updateMany({ data: { removedThrough: removed } })
    const { status, body } = await openStream(server.url, person.key, { lastEventId: `${removed - 1}` })
    t.equal(status, 410)
    t.equal(body.error.details.constraint, 'removed')
    const kept = await follow(t, server, person.key, { after: removed })
    const whole = await follow(t, server, person.key, { after: 0 })
    await caughtUp(server, kept, whole)
    t.same(idsIn(kept), [removed + 1, removed + 2])
    t.same(idsIn(whole), [removed + 1, removed + 2])
  })
})

t.test('what a stream may tell is what its reader may read at that moment', async (t) => {
  const server = await startServer(t, { env: { STREAM_PING: '1' } })
  const { prisma } = server.services.database
  const owner = await server.person()
  const project = await newProject(owner)
  const join = async (role: string): Promise<Person & { member: string }> => {
    const person = await server.person()
    const { body } = await owner.client.post(`/projects/${project}/members`, { user_id: person.id, role })
    return { ...person, member: body.id }
  }
  const ended = async (stream: Following): Promise<string | null> => {
    await waitUntil(() => stream.ended !== null, 'the end')
    return stream.ended
  }

  t.test('nothing of a project to whoever is no member any more, or not yet', async (t) => {
    const member = await join('viewer')
    const later = await server.person()
    const [stream, other] = [await follow(t, server, member.key), await follow(t, server, later.key)]
    // What counts is who may read at the moment of reading: so each step is read before the next.
    await rename(owner, project, 'before')
    await caughtUp(server, stream, other)
    await owner.client.delete(`/projects/${project}/members/${member.member}`)
    await rename(owner, project, 'between')
    await caughtUp(server, stream, other)
    await owner.client.post(`/projects/${project}/members`, { user_id: later.id, role: 'viewer' })
    await rename(owner, project, 'after')
    await caughtUp(server, stream, other)
    t.same(namesIn(stream), ['before'])
    t.same(typesIn(other), ['member.added', 'project.updated'])
    t.same(namesIn(other).at(-1), 'after')
  })

  t.test('no invitations to whoever is admin no longer', async (t) => {
    const member = await join('admin')
    const stream = await follow(t, server, member.key)
    await owner.client.post(`/projects/${project}/members`, { email: 'a@example.com', role: 'viewer' })
    await caughtUp(server, stream)
    await owner.client.put(`/projects/${project}/members/${member.member}`, { role: 'editor' })
    await owner.client.post(`/projects/${project}/members`, { email: 'b@example.com', role: 'viewer' })
    await rename(owner, project, 'after')
    await caughtUp(server, stream)
    t.same(typesIn(stream), ['invitation.created', 'member.updated', 'project.updated'])
  })

  t.test('only what the scopes and projects of the key are for', async (t) => {
    const second = await newProject(owner)
    const key = async (fields: object): Promise<string> =>
      (await owner.client.post('/user/api-keys', { name: 'x', ...fields })).body.key
    const profile = await follow(t, server, await key({ scopes: ['user:read'] }))
    const projects = await follow(t, server, await key({ scopes: ['projects:read'] }))
    const one = await follow(
      t,
      server,
      await key({ scopes: ['projects:read', 'user:read'], project_ids: [second] }),
    )
    const from = await lastOf(server)
    await owner.client.put('/user/profile', { name: 'X' })
    for (const id of [project, second]) await rename(owner, id, 'x')
    await caughtUp(server, profile, projects, one)
    const since = (stream: Following): string[] =>
      stream.told.filter(({ id }) => id > from).map(({ data }) => `${data.type} ${data.project_id}`)
    t.same(since(profile), ['profile.updated null'])
    t.same(since(projects), [`project.updated ${project}`, `project.updated ${second}`])
    t.same(since(one), ['profile.updated null', `project.updated ${second}`])
  })

  t.test('nothing of other people to an admin who is one no longer', async (t) => {
    const admin = await server.person({ role: 'admin' })
    const someone = await server.person()
    const stream = await follow(t, server, admin.key)
    await server.admin.client.put(`/users/${someone.id}`, { name: 'before' })
    await caughtUp(server, stream)
    await server.admin.client.put(`/users/${admin.id}`, { role: 'user' })
    await server.admin.client.put(`/users/${someone.id}`, { name: 'after' })
    await caughtUp(server, stream)
    t.same(namesIn(stream), ['before'])
    t.equal(stream.ended, null)
  })

  t.test(
    'nothing by a key that is revoked, nor after its owner is disabled or deleted: it ends at once',
    async (t) => {
      const person = await server.person()
      const { body } = await person.client.post('/user/api-keys', {
        name: 'x',
        scopes: ['user:read', 'projects:read'],
      })
      const [revoked, kept] = [await follow(t, server, body.key), await follow(t, server, person.key)]
      await person.client.delete(`/user/api-keys/${body.id}`)
      await person.client.put('/user/profile', { name: 'after' })
      t.equal(await ended(revoked), 'unauthorized')
      t.notOk(typesIn(revoked).includes('profile.updated'))
      await caughtUp(server, kept)
      t.same(typesIn(kept), ['api_key.revoked', 'profile.updated'])
      await server.admin.client.put(`/users/${person.id}`, { status: 'disabled' })
      t.equal(await ended(kept), 'unauthorized')
      const deleted = await server.person()
      const stream = await follow(t, server, deleted.key)
      await server.admin.client.delete(`/users/${deleted.id}`)
      t.equal(await ended(stream), 'unauthorized')
      t.same(
        stream.told.map(({ event }) => event),
        ['end'],
      )
    },
  )

  t.test('and however little happens, it ends within a ping', async (t) => {
    const took: number[] = []
    const [revoked, expiring] = [
      await server.person(),
      await server.person({ expiresAt: new Date(Date.now() + 1_500) }),
    ]
    const streams = [await follow(t, server, revoked.key), await follow(t, server, expiring.key)]
    const since = [Date.now(), Date.now() + 1_500]
    await prisma.apiKey.updateMany({ where: { userId: revoked.id }, data: { revokedAt: new Date() } })
    const { log } = { log: await lastOf(server) }
    for (const [i, stream] of streams.entries()) {
      t.equal(await ended(stream), 'unauthorized')
      took.push(Date.now() - since[i])
    }
    t.equal(await lastOf(server), log, 'nothing happened')
    t.comment(`revoked and expired: ended after ${took} ms, with a ping a second`)
  })
})

t.test('one user may have so many streams open', async (t) => {
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
  t.equal(opened.length, 3, 'however many are asked for at once')
  for (const { status, body, headers } of asked.filter((stream) => !opened.includes(stream))) {
    t.match(
      { status, body },
      { status: 429, body: { error: { code: 'RATE_LIMITED', details: { constraint: 'max_open' } } } },
    )
    t.ok(Number(headers.get('retry-after')) > 0)
  }
  t.equal((await open(other.key)).status, 200, 'others may open theirs')

  await opened[0].close()
  await waitUntil(isFree, 'a place, when a client has left')
  await waitUntil(() => server.services.eventStreams.count === 3)
  const { body: key } = await person.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
  const revoked = await open(key.key)
  t.equal(revoked.status, 200)
  t.notOk(await isFree())
  await person.client.delete(`/user/api-keys/${key.id}`)
  await waitUntil(isFree, 'a place, when the server has ended a stream')
  await waitUntil(() => server.services.eventStreams.count === 3)
  // An event that breaks the spec breaks the stream.
  await newProject(person)
  await server.services.database.prisma
    .$executeRaw`UPDATE events SET data = '{"object": 1, "previous_attributes": {}}' WHERE project_id IS NOT NULL`
  for (const stream of opened.slice(1)) await stream.close()
  await waitUntil(() => server.services.eventStreams.count === 1)
  const broken = await Promise.all([0, 0, 0].map((after) => follow(t, server, person.key, { after })))
  await waitUntil(() => broken.every(({ ended }) => ended === 'cut'))
  await waitUntil(isFree, 'a place, when a stream has failed')
  await waitUntil(() => server.services.eventStreams.count === 1)
})

t.test('what a client does not take', async (t) => {
  // A stream's own timers keep no process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))

  /** Pipes events to a client that takes one piece of what it is sent, and answers why that was given up. */
  async function unread(
    events: () => AsyncGenerator<{ event: string; id?: string; data: unknown }>,
  ): Promise<{ error: Error; stream: EventStream; most: number }> {
    let most = 0
    const stream = new EventStream({
      start: events,
      serialize: (_event, data) => {
        most = Math.max(most, stream.readableLength)
        return JSON.stringify(data)
      },
      ping: 20,
      patience: 200,
    })
    const error = await new Promise<Error>((resolve) => {
      stream.on('error', resolve).pipe(new Writable({ highWaterMark: 1, write: () => {} }))
    })
    return { error, stream, most }
  }

  t.test('is not asked of the handler', async (t) => {
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
    t.ok(asked < 20, `${asked} events were asked for`)
    t.ok(most < 16 * 1024, `at most ${most} bytes waited`)
    await waitUntil(() => left, 'the handler to be told')
  })

  t.test('is given up, even if it is little, or the end', async (t) => {
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
    t.ok(performance.now() - started >= 400, 'but not before its time')
  })
})
