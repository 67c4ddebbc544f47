// Permissions to read events. The list, a single event and the stream, live or resumed, apply the same rules.
import t, { type Test } from 'tap'
import type { EventType } from '../../generated/events.ts'
import type { Scope } from '../../services/users/scopes.ts'
import { createClient } from '../support/http/client.ts'
import { catalogFor, insertedOrder, pages } from '../support/database/db-fixtures-payments.ts'
import { acquaint, createApiKey, createMember } from '../support/database/db-fixtures.ts'
import { sequenceAt } from '../support/operations/event-cursors.ts'
import { openStream, type OpenStream, type StreamEvent } from '../support/http/event-stream.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { STREAM_PING: '1' } })
const { database } = server.services

interface ReceivedEvent {
  type: string
  id: string
}

/** Reads a stream until the test ends. */
async function follow(
  t: Test,
  key: string,
  path = '',
): Promise<{ stream: OpenStream; received: ReceivedEvent[] }> {
  const stream = await openStream(server.url, key, { path: `/events/stream${path}` })
  t.teardown(() => stream.close())
  t.equal(stream.status, 200)
  const received: ReceivedEvent[] = []
  const read = async (events: AsyncIterable<StreamEvent>): Promise<void> => {
    for await (const { data } of events) received.push(data)
  }
  void read(stream.events)
  return { stream, received }
}

/** Waits until the streams have reached the cursor, with or without an event. */
const reach = async (cursor: string, ...followed: Array<{ stream: OpenStream }>) => {
  const cursors = await server.services.eventCursors()
  const sequence = cursors.decode(cursor)
  await waitUntil(
    () =>
      followed.every(
        ({ stream }) => stream.lastEventId !== '' && cursors.decode(stream.lastEventId) >= sequence,
      ),
    `streams to reach ${sequence}`,
  )
}

t.test('each reader gets exactly the events that the role and the API key allow', async (t) => {
  const owner = await server.person()
  const [admin, editor, viewer, other, another] = [
    await server.person(),
    await server.person(),
    await server.person(),
    await server.person(),
    await server.person(),
  ]
  const { client } = owner
  const { id: project } = (await client.post('/projects', { name: 'Watched' })).body
  const { id: elsewhere } = (await client.post('/projects', { name: 'Elsewhere' })).body
  for (const [{ id }, role] of [
    [admin, 'admin'],
    [editor, 'editor'],
    [viewer, 'viewer'],
  ] as const)
    await createMember(server, project, id, role)
  await acquaint(server, owner, another)
  const keyOf = async (scopes: Scope[], projectIds: string[] | null = null) =>
    (await createApiKey(server, owner.id, { scopes, projectIds })).secret
  const operatorKeyOf = async (scopes: Scope[], projectIds: string[] | null = null) =>
    (await createApiKey(server, server.admin.id, { scopes, projectIds })).secret
  const after = (await client.get('/events')).body.next_cursor

  const inProject: EventType[] = [
    'project.updated',
    'member.added',
    'member.updated',
    'project.archived',
    'project.unarchived',
    'project.deleted',
  ]
  const invitations: EventType[] = ['invitation.created', 'invitation.revoked']
  const person: EventType[] = ['profile.updated', 'settings.updated']
  const own: EventType[] = [...person, 'api_key.created']
  const hooks: EventType[] = ['webhook_endpoint.created']
  const people: EventType[] = ['user.created']
  const stored: EventType[] = [
    'knowledge_base.created',
    'document.created',
    'session.created',
    'session.deleted',
  ]
  const catalogue: EventType[] = ['product.created', 'price.created', 'price.updated']
  const bought: EventType[] = ['order.created', 'order.canceled']
  const boughtInProject: EventType[] = ['checkout.created']
  const expected: Record<string, { key: string; reads: EventType[] }> = {
    'the owner': {
      key: owner.key,
      reads: [
        ...inProject,
        ...invitations,
        ...own,
        ...hooks,
        ...stored,
        ...catalogue,
        ...bought,
        ...boughtInProject,
      ],
    },
    'an admin of the project': {
      key: admin.key,
      reads: [...inProject, ...invitations, ...catalogue, ...boughtInProject],
    },
    'an editor': { key: editor.key, reads: [...inProject, ...catalogue, ...boughtInProject] },
    'a viewer': { key: viewer.key, reads: [...inProject, ...catalogue, ...boughtInProject] },
    'another user': { key: other.key, reads: catalogue },
    'an operator': {
      key: server.admin.key,
      reads: [...people, ...catalogue, ...bought, ...boughtInProject],
    },
    'an operator with a key for this project': {
      key: await operatorKeyOf(['admin', 'payments:read'], [project]),
      reads: [...catalogue, ...boughtInProject],
    },
    'an operator with a key for another project': {
      key: await operatorKeyOf(['admin', 'payments:read'], [elsewhere]),
      reads: catalogue,
    },
    'an operator with a key without payments': {
      key: await operatorKeyOf(['admin', 'projects:read', 'ai:read', 'user:read']),
      reads: people,
    },
    'an operator with a key without the scope admin': {
      key: await operatorKeyOf(['payments:read', 'payments:write']),
      reads: catalogue,
    },
    'an owner with a key for profiles': { key: await keyOf(['user:read']), reads: own },
    'an owner with a key for projects': {
      key: await keyOf(['projects:read']),
      reads: [...inProject, ...invitations],
    },
    'an owner with a key for webhooks': { key: await keyOf(['webhooks:read']), reads: hooks },
    'an owner with a key for writes': {
      key: await keyOf(['projects:write', 'user:write', 'webhooks:write', 'keys:write']),
      reads: [],
    },
    'an owner with a key for this project': {
      key: await keyOf(['projects:read'], [project]),
      reads: [...inProject, ...invitations],
    },
    'an owner with a key for documents and chats': { key: await keyOf(['ai:read']), reads: stored },
    'an owner with a key for documents and chats of this project': {
      key: await keyOf(['ai:read', 'storage:read', 'user:read'], [project]),
      reads: person,
    },
    'an owner with a key for payments': {
      key: await keyOf(['payments:read']),
      reads: [...catalogue, ...bought, ...boughtInProject],
    },
    'an owner with a key for payments of this project': {
      key: await keyOf(['payments:read'], [project]),
      reads: [...catalogue, ...boughtInProject],
    },
    'an owner with a key that can only write payments': { key: await keyOf(['payments:write']), reads: [] },
    'an owner with a key for another project': {
      key: await keyOf(['projects:read', 'user:read'], [elsewhere]),
      reads: person,
    },
    'an owner with the scope admin who is not an admin': { key: await keyOf(['admin']), reads: [] },
  }
  const live = await Promise.all(Object.values(expected).map(({ key }) => follow(t, key)))

  const { id: member } = (
    await client.post(`/projects/${project}/members`, { user_id: another.id, role: 'viewer' })
  ).body
  await client.put(`/projects/${project}/members/${member}`, { role: 'editor' })
  await client.put(`/projects/${project}`, { name: 'Still watched' })
  const {
    body: { id: invitation },
  } = await client.post(`/projects/${project}/members`, { email: 'not.yet@example.com', role: 'viewer' })
  await client.delete(`/projects/${project}/invitations/${invitation}`)
  await client.post('/payments/checkout', {
    order_id: await insertedOrder(server, owner.id, { projectId: project }),
    ...pages,
  })
  await client.post(`/projects/${project}/archive`)
  await client.post(`/projects/${project}/unarchive`)
  await client.delete(`/projects/${project}`)
  await client.put('/user/profile', { bio: 'Me' })
  await client.put('/user/settings', { theme: 'dark' })
  await client.post('/user/api-keys', { name: 'more', scopes: ['user:read'] })
  await client.post('/webhooks/endpoints', { url: 'http://127.0.0.1:9/', event_types: ['*'] })
  const {
    body: { id: base },
  } = await client.post('/ai/knowledge', { name: 'Private' })
  await client.post(`/ai/knowledge/${base}/documents`, { text: 'A private matter' })
  const {
    body: { id: session },
  } = await client.post('/ai/sessions', { title: 'Between us' })
  await client.delete(`/ai/sessions/${session}`)
  const {
    body: { id: order },
  } = await client.post('/payments/orders', { items: [{ price_id: (await catalogFor(server)).price }] })
  await client.post(`/payments/orders/${order}/cancel`)
  const {
    body: { id: product },
  } = await server.admin.client.post('/payments/products', { name: 'A mug' })
  const {
    body: { id: price },
  } = await server.admin.client.post('/payments/prices', {
    product_id: product,
    unit_amount: 900,
    currency: 'eur',
  })
  await server.admin.client.put(`/payments/prices/${price}`, { active: false })
  await server.admin.client.post('/users', { name: 'New', email: 'new@example.com' })
  await another.client.put('/user/profile', { bio: 'Not visible to others' })

  const last = (await client.get(`/events?cursor=${after}&limit=100`)).body.next_cursor
  const all = (
    await database.prisma.event.findMany({
      where: { sequence: { gt: await sequenceAt(server, after) } },
      orderBy: { sequence: 'asc' },
    })
  ).map(({ id, type, userId }) => ({ id, type, mine: userId !== another.id }))
  t.same(
    all
      .filter(({ mine }) => mine)
      .map(({ type }) => type)
      .sort(),
    [
      ...inProject,
      ...invitations,
      ...own,
      ...hooks,
      ...stored,
      ...people,
      ...catalogue,
      ...bought,
      ...boughtInProject,
    ].sort(),
    'one event of each type',
  )

  const past = await Promise.all(Object.values(expected).map(({ key }) => follow(t, key, `?cursor=${after}`)))
  await reach(last, ...live, ...past)
  for (const [i, [who, { key, reads }]] of Object.entries(expected).entries()) {
    const client = createClient(server.url, key)
    const right = all
      .filter(({ type, mine }) => mine && reads.includes(type as EventType))
      .map(({ id }) => id)
    const { body: list } = await client.get(`/events?cursor=${after}&limit=100`)
    t.same(
      list.data.map(({ id }: ReceivedEvent) => id),
      right,
      `${who}: the list`,
    )
    t.equal(list.next_cursor, last, `${who}: the list reaches its end`)
    for (const { id, type } of all) {
      const reply = await client.get(`/events/${id}`)
      t.equal(reply.status, right.includes(id) ? 200 : 403, `${who}: ${type}`)
      if (reply.status === 200)
        t.same(
          reply.body,
          list.data.find((event: ReceivedEvent) => event.id === id),
          `${who}: ${type} equals the event in the list`,
        )
    }
    t.same(past[i].received, list.data, `${who}: the resumed stream`)
    t.same(live[i].received, list.data, `${who}: the live stream`)
  }
})

t.test('a removed member can no longer read events of the project, not even older ones', async (t) => {
  const [owner, guest] = [await server.person(), await server.person()]
  const after = (await owner.client.get('/events?limit=100')).body.next_cursor
  const { id: project } = (await owner.client.post('/projects', { name: 'For a while' })).body
  const member = await createMember(server, project, guest.id, 'viewer')
  const stream = await follow(t, guest.key)
  const update = async (name: string) => {
    await owner.client.put(`/projects/${project}`, { name })
  }
  await update('Seen')
  await waitUntil(() => stream.received.length === 1, 'a member receives an event')
  const [{ id: seen }] = stream.received
  t.equal((await guest.client.get(`/events/${seen}`)).status, 200)
  t.equal((await guest.client.get(`/events?project_id=${project}`)).body.data.length, 2)

  t.equal((await owner.client.delete(`/projects/${project}/members/${member}`)).status, 204)
  await update('Unseen')
  await guest.client.put('/user/profile', { bio: 'Gone' })
  await waitUntil(() => stream.received.some(({ type }) => type === 'profile.updated'))
  t.same(
    stream.received.map(({ type }) => type),
    ['project.updated', 'profile.updated'],
    'an open stream sends no more events of the project',
  )
  t.same(
    (await guest.client.get(`/events?cursor=${after}`)).body.data.map(({ type }: ReceivedEvent) => type),
    ['profile.updated'],
    'the list returns none',
  )
  t.equal((await guest.client.get(`/events/${seen}`)).status, 403, 'the event by its id is forbidden')
  for (const path of ['/events', '/events/stream'])
    t.equal((await guest.client.get(`${path}?project_id=${project}`)).status, 403, path)

  await createMember(server, project, guest.id, 'viewer')
  t.equal(
    (await guest.client.get(`/events?project_id=${project}`)).body.data.length,
    4,
    'a member who is added again reads all events',
  )
})

t.test('a lower role reads fewer events from then on, and a higher role more', async (t) => {
  const [owner, guest] = [await server.person(), await server.person()]
  const { id: project } = (await owner.client.post('/projects', { name: 'Up and down' })).body
  const member = await createMember(server, project, guest.id, 'admin')
  const stream = await follow(t, guest.key, `?type=invitation.created`)
  const invite = async (email: string) =>
    (await owner.client.post(`/projects/${project}/members`, { email, role: 'viewer' })).body.id
  const setRole = async (role: string) => {
    t.equal((await owner.client.put(`/projects/${project}/members/${member}`, { role })).status, 200)
  }
  const listed = async () => (await guest.client.get('/events?type=invitation.created')).body.data.length
  await invite('one@example.com')
  await waitUntil(() => stream.received.length === 1)
  await setRole('editor')
  await invite('two@example.com')
  await reach((await owner.client.get('/events?limit=100')).body.next_cursor, stream)
  t.equal(stream.received.length, 1)
  t.equal(await listed(), 0)
  await setRole('admin')
  await invite('three@example.com')
  await waitUntil(() => stream.received.length === 2)
  t.equal(await listed(), 3)
})

t.test('a filter selects the same events in the list, a resumed stream and a live stream', async (t) => {
  const { client, key } = await server.person()
  const make = async (name: string) => (await client.post('/projects', { name })).body.id as string
  const [one, two] = [await make('One'), await make('Two')]
  const after = (await client.get('/events')).body.next_cursor
  const filters = [
    '',
    '&type=project.updated',
    `&project_id=${one}`,
    `&project_id=${two}&type=project.updated`,
    `&project_id=${two}&type=project.archived`,
    '&type=user.created',
  ]
  const live = await Promise.all(filters.map((filter) => follow(t, key, `?cursor=${after}${filter}`)))
  await client.put(`/projects/${one}`, { name: 'Other' })
  await client.put(`/projects/${two}`, { name: 'Another' })
  await client.post(`/projects/${one}/archive`)
  await client.put('/user/profile', { bio: 'Me' })
  const { next_cursor: last, data: all } = (await client.get(`/events?cursor=${after}`)).body
  const right = [all, [all[0], all[1]], [all[0], all[2]], [all[1]], [], []]
  const past = await Promise.all(filters.map((filter) => follow(t, key, `?cursor=${after}${filter}`)))
  await reach(last, ...live, ...past)
  for (const [i, filter] of filters.entries()) {
    const { body } = await client.get(`/events?cursor=${after}${filter}`)
    t.same(body.data, right[i], `${filter} in the list`)
    t.equal(body.next_cursor, last, `${filter}: other events are skipped`)
    t.same(past[i].received, right[i], `${filter} in a resumed stream`)
    t.same(live[i].received, right[i], `${filter} in a live stream`)
  }
})

t.test(
  'an operator reads the sales of a project without being a member, and nothing else of it',
  async (t) => {
    const [owner, stranger] = [await server.person(), await server.person()]
    const { body: project } = await owner.client.post('/projects', { name: 'A shop' })
    await owner.client.put(`/projects/${project.id}`, { name: 'Our shop' })
    await insertedOrder(server, owner.id, { projectId: project.id })
    const { price } = await catalogFor(server)
    await owner.client.post('/payments/orders', { project_id: project.id, items: [{ price_id: price }] })
    const read = async (path: string) =>
      (await server.admin.client.get(path)).body.data.map(({ type }: ReceivedEvent) => type)
    t.same(await read(`/events?project_id=${project.id}`), ['order.created'])
    const stream = await follow(t, server.admin.key, `?cursor=start&project_id=${project.id}`)
    await waitUntil(() => stream.received.length === 1, 'the stream has the sale')
    t.equal((await stranger.client.get(`/events?project_id=${project.id}`)).status, 403)
  },
)

t.test('list and stream reject an unknown project and a project without access', async (t) => {
  const owner = await server.person()
  const [mine, also] = [
    (await owner.client.post('/projects', { name: 'Mine' })).body.id,
    (await owner.client.post('/projects', { name: 'Also mine' })).body.id,
  ]
  const { secret } = await createApiKey(server, owner.id, { projectIds: [mine] })
  const limited = createClient(server.url, secret)
  const stranger = await server.person()
  for (const path of ['/events', '/events/stream']) {
    t.equal((await limited.get(`${path}?project_id=${mine}`)).status, 200, path)
    t.match(
      await limited.get(`${path}?project_id=${also}`),
      { status: 403, body: { error: { details: { constraint: 'project_ids' } } } },
      path,
    )
    t.match(
      await stranger.client.get(`${path}?project_id=${mine}`),
      { status: 403, body: { error: { details: { constraint: 'role' } } } },
      path,
    )
    t.match(
      await owner.client.get(`${path}?project_id=prj_01jd6y8m5qe8btc4y5w1r0n3fz`),
      { status: 404 },
      path,
    )
  }
})

t.test('an event names the API key that caused it, also when the key and its user are gone', async (t) => {
  const [owner, member] = [await server.person(), await server.person()]
  const { body: project } = await owner.client.post('/projects', { name: 'Ours' })
  await createMember(server, project.id, member.id, 'editor')
  const { body: key } = await member.client.post('/user/api-keys', {
    name: 'CI of the shop',
    scopes: ['projects:read', 'projects:write', 'storage:write'],
  })
  const actor = {
    type: 'api_key',
    id: key.id,
    name: 'CI of the shop',
    user_id: member.id,
    service_account_id: null,
  }
  await createClient(server.url, key.key).put(`/projects/${project.id}`, { name: 'Changed by CI' })
  const readEvent = async () =>
    (await owner.client.get(`/events?project_id=${project.id}&type=project.updated`)).body.data[0]
  t.same((await readEvent()).actor, actor)
  const stream = await follow(t, owner.key, `?cursor=start&project_id=${project.id}&type=project.updated`)
  await waitUntil(() => stream.received.length === 1)
  t.match(stream.received, [{ actor }])
  t.equal((await server.admin.client.delete(`/users/${member.id}`)).status, 204)
  t.same((await readEvent()).actor, actor, 'the event stays as it was')
  const { id } = await readEvent()
  t.equal((await (await server.person()).client.get(`/events/${id}`)).status, 403, 'for its readers only')

  await database.pool.query('UPDATE events SET actor = NULL WHERE id = $1', [id])
  t.equal((await readEvent()).actor, null, 'an event from before the column')
})
