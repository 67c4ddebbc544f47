// Permissions of webhooks: an endpoint receives only events that its owner can read at the moment of sending,
// and that the creating API key could read. A key with fewer permissions cannot read what an endpoint
// received.
import t, { type Test } from 'tap'
import type { Role } from '../support/server/team.ts'
import { allScopes } from '../../services/users/scopes.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { catalogFor } from '../support/database/db-fixtures-payments.ts'
import { statement } from '../../infra/database/statements.ts'
import type { Person } from '../support/server/server.ts'
import { typedClient } from '../support/http/typed-client.ts'
import { whenDelivered } from '../support/server/changes.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  bringForward,
  jobMisfits,
  makeEndpoint,
  sendTest,
  startWorkingServer,
  triedOnce,
  whenDelivery,
  type Endpoint,
} from '../support/server/working-server.ts'

const server = await startWorkingServer(t, { sends: false })
const {
  admin,
  services: { database },
} = server
const forbiddenNow = 'The owner of the endpoint may no longer read this event.'

/** The pending deliveries of an endpoint. */
const pending = statement<{ id: string; type: string }>(`
  SELECT d.id, e.type FROM webhook_deliveries d JOIN events e ON e.id = d.event_id 
  WHERE d.endpoint_id = $1 AND d.status = 'pending' ORDER BY e.position`)
const outcome = statement<{ status: string; error: string | null; tries: number }>(`
  SELECT d.status::text, d.attempts->-1->>'error' AS error, jsonb_array_length(d.attempts) AS tries
  FROM webhook_deliveries d WHERE d.id = $1`)

async function waitingFor({ id }: Endpoint, type: string): Promise<string> {
  await whenDelivered(database.pool)
  const found = (await database.sql(pending, [id])).filter((row) => row.type === type)
  if (found.length !== 1) throw new Error(`${found.length} deliveries of ${type} wait`)
  return found[0].id
}

async function outcomeOf(deliveryId: string) {
  return await waitUntil(async () => {
    const [row] = await database.sql(outcome, [deliveryId])
    return row.status !== 'pending' && row
  }, 'the outcome')
}

/** Runs the webhook worker during `work`. */
async function sending<T>(work: () => Promise<T>): Promise<T> {
  const sender = await server.work()
  try {
    return await work()
  } finally {
    await sender.stop()
  }
}

async function shared(
  t: Test,
  role: Role,
): Promise<{ owner: Person; member: Person; project: any; membership: any; endpoint: Endpoint }> {
  const [owner, member] = [await server.person(), await server.person()]
  const { body: project } = await owner.client.post('/projects', { name: 'shared' })
  const membership = { id: await createMember(server, project.id, member.id, role) }
  const endpoint = await makeEndpoint(t, member)
  return { owner, member, project, membership, endpoint }
}

/** Creates a key of the same user with fewer permissions. */
async function weaker(person: Person, body: object): Promise<Person> {
  const {
    status,
    body: { key },
    text,
  } = (await person.client.post('/user/api-keys', { name: 'weaker', ...body })) as any
  if (status !== 201) throw new Error(text)
  return { ...person, key, client: createClient(server.url, key), api: typedClient(server.url, key) }
}

t.test('a member removed before the sending does not receive earlier events', async (t) => {
  const { owner, project, membership, endpoint } = await shared(t, 'viewer')
  await owner.client.put(`/projects/${project.id}`, { name: 'secret' })
  const id = await waitingFor(endpoint, 'project.updated')
  await owner.client.delete(`/projects/${project.id}/members/${membership.id}`)
  await owner.client.put(`/projects/${project.id}`, { name: 'more secret' })
  await sending(async () => t.same(await outcomeOf(id), { status: 'failed', error: forbiddenNow, tries: 1 }))
  t.notOk(
    endpoint.receiver.received.some(({ body }) => body.includes('secret"')),
    'no request was sent',
  )
})

t.test('a member removed between two attempts gets no further attempt', async (t) => {
  const { owner, member, project, membership, endpoint } = await shared(t, 'viewer')
  endpoint.receiver.answer = { status: 500 }
  await owner.client.put(`/projects/${project.id}`, { name: 'known' })
  const id = await waitingFor(endpoint, 'project.updated')
  await sending(async () => {
    await whenDelivery(member, id, ({ attempts }) => attempts.length === 1)
    await owner.client.delete(`/projects/${project.id}/members/${membership.id}`)
    await bringForward(server)
    t.same(await outcomeOf(id), { status: 'failed', error: forbiddenNow, tries: 2 })
    endpoint.receiver.answer = {}
    t.match(await member.client.post(`/webhooks/deliveries/${id}/redeliver`), { status: 202 })
    t.same(await outcomeOf(id), { status: 'failed', error: forbiddenNow, tries: 3 }, 'not even by redeliver')
  })
  t.equal(endpoint.receiver.types().filter((type) => type === 'project.updated').length, 1)
})

t.test('invitation events are sent only to current admins of the project', async (t) => {
  const { owner, member, project, membership, endpoint } = await shared(t, 'admin')
  const viewers = await shared(t, 'viewer')
  await owner.client.post(`/projects/${project.id}/members`, { email: 'one@example.com', role: 'viewer' })
  await viewers.owner.client.post(`/projects/${viewers.project.id}/members`, {
    email: 'one@example.com',
    role: 'viewer',
  })
  t.notOk(
    (await database.sql(pending, [viewers.endpoint.id])).some(({ type }) => type === 'invitation.created'),
    'never to a viewer',
  )
  const id = await waitingFor(endpoint, 'invitation.created')
  await owner.client.put(`/projects/${project.id}/members/${membership.id}`, { role: 'editor' })
  await owner.client.post(`/projects/${project.id}/members`, { email: 'two@example.com', role: 'viewer' })
  t.equal(
    (await database.sql(pending, [endpoint.id])).filter(({ type }) => type === 'invitation.created').length,
    1,
    'no other delivery exists',
  )
  await sending(async () => {
    t.same(await outcomeOf(id), { status: 'failed', error: forbiddenNow, tries: 1 })
    await waitUntil(
      () => endpoint.receiver.types().includes('member.updated'),
      'an event that an editor can read',
    )
  })
  t.notOk(
    endpoint.receiver.received.some(
      ({ body }) => body.includes('@example.com') && !body.includes(member.email),
    ),
    'no email address was sent',
  )
})

t.test('a disabled or deleted user receives nothing more', async (t) => {
  const [disabled, deleted] = [await shared(t, 'viewer'), await shared(t, 'viewer')]
  const ids: string[] = []
  for (const { owner, project, endpoint } of [disabled, deleted]) {
    await owner.client.put(`/projects/${project.id}`, { name: 'secret' })
    ids.push(await waitingFor(endpoint, 'project.updated'))
  }
  await admin.client.put(`/users/${disabled.member.id}`, { status: 'disabled' })
  await admin.client.delete(`/users/${deleted.member.id}`)
  await disabled.owner.client.put(`/projects/${disabled.project.id}`, { name: 'more secret' })
  t.equal(
    (await database.sql(pending, [disabled.endpoint.id])).filter(({ type }) => type === 'project.updated')
      .length,
    1,
    'and no delivery is pending',
  )
  await sending(async () => {
    t.match(await outcomeOf(ids[0]), { status: 'failed', error: forbiddenNow })
    t.match(await outcomeOf(ids[1]), { status: 'failed', error: 'The endpoint is disabled.' })
    await waitUntil(
      async () =>
        (await bringForward(server)) + (await database.sql(pending, [disabled.endpoint.id])).length === 0,
      'the deliveries of the disabled endpoint',
    )
  })
  t.same(disabled.endpoint.receiver.received, [])
  t.same(deleted.endpoint.receiver.received, [])
})

t.test(
  'an endpoint of an operator receives the sales of all customers, while its owner is an admin',
  async (t) => {
    const [operator, buyer, stranger] = [
      await server.person({ role: 'admin' }),
      await server.person(),
      await server.person(),
    ]
    const endpoint = await makeEndpoint(t, operator)
    const others = await makeEndpoint(t, stranger)
    const { price } = await catalogFor(server)
    const { body: project } = await buyer.client.post('/projects', { name: 'A shop' })
    const order = async (fields: object = {}) =>
      (await buyer.client.post('/payments/orders', { items: [{ price_id: price }], ...fields })).body.id
    const ids = [await order(), await order({ project_id: project.id })]
    const sales = async ({ id }: Endpoint) => {
      await whenDelivered(database.pool)
      return (await database.sql(pending, [id])).filter(({ type }) => type === 'order.created')
    }
    t.same(await sales(others), [], 'never to another user')
    const [own, inProject] = await sales(endpoint)
    t.notOk((await database.sql(pending, [endpoint.id])).some(({ type }) => type === 'project.created'))
    await sending(async () => {
      const received = () =>
        endpoint.receiver.received
          .map(({ body }) => JSON.parse(body))
          .filter(({ type }) => type === 'order.created')
          .map(({ data }) => data.object.id)
      await waitUntil(() => received().length >= 2, 'the sales')
      t.same(received().sort(), [...ids].sort())
      t.match(await outcomeOf(own.id), { status: 'succeeded' })
      t.match(await operator.client.get(`/webhooks/deliveries/${own.id}`), {
        status: 200,
        body: { request: { body: { type: 'order.created' } } },
      })
      t.equal((await stranger.client.get(`/webhooks/deliveries/${inProject.id}`)).status, 403)
    })
    await order()
    const [third] = await sales(endpoint)
    await admin.client.put(`/users/${operator.id}`, { role: 'user' })
    await order()
    t.equal((await sales(endpoint)).length, 1, 'no delivery is pending for a user')
    await sending(async () =>
      t.same(await outcomeOf(third.id), { status: 'failed', error: forbiddenNow, tries: 1 }),
    )
    t.match(
      await operator.client.get(`/webhooks/deliveries/${own.id}`),
      { status: 403 },
      'and the key without the scope admin no longer sees the endpoint',
    )
  },
)

t.test('events for admins are sent while the owner of the endpoint is an admin', async (t) => {
  const [second, user] = [await server.person({ role: 'admin' }), await server.person()]
  const endpoint = await makeEndpoint(t, second)
  const users = await makeEndpoint(t, user)
  const { body: made } = await admin.client.post('/users', { email: 'made@example.com', name: 'Made' })
  const id = await waitingFor(endpoint, 'user.created')
  await admin.client.put(`/users/${second.id}`, { role: 'user' })
  await admin.client.put(`/users/${made.id}`, { name: 'Made again' })
  t.notOk(
    (await database.sql(pending, [endpoint.id])).some(({ type }) => type === 'user.updated'),
    'no delivery is pending',
  )
  t.notOk(
    (await database.sql(pending, [users.id])).some(({ type }) => type.startsWith('user.')),
    'and never to a user',
  )
  await sending(async () => t.same(await outcomeOf(id), { status: 'failed', error: forbiddenNow, tries: 1 }))
  t.notOk(endpoint.receiver.received.some(({ body }) => body.includes('made@example.com')))
  t.match(
    await second.client.get(`/webhooks/endpoints/${endpoint.id}`),
    { status: 200 },
    'the delivery still belongs to the user',
  )
})

t.test('events of products and prices are sent to every user', async (t) => {
  const user = await server.person()
  const endpoint = await makeEndpoint(t, user)
  const { body: product } = await admin.client.post('/payments/products', { name: 'For everyone' })
  const id = await waitingFor(endpoint, 'product.created')
  await sending(async () => t.match(await outcomeOf(id), { status: 'succeeded', tries: 1 }))
  t.match(
    endpoint.receiver.received.map(({ event }) => event.data.object.id),
    [product.id],
  )
})

t.test("events of a user are sent only to the user's endpoints", async (t) => {
  const [mine, other] = [await server.person(), await server.person({ role: 'admin' })]
  const [my, others] = [await makeEndpoint(t, mine), await makeEndpoint(t, other)]
  await mine.client.put('/user/profile', { name: 'Mine' })
  await sending(() => waitUntil(() => my.receiver.types().includes('profile.updated'), 'my own'))
  t.notOk(others.receiver.received.some(({ body }) => body.includes(mine.id)))
})

t.test('an endpoint created by a limited key receives only events that the key can read', async (t) => {
  const person = await server.person()
  const [{ body: one }, { body: two }] = [
    await person.client.post('/projects', { name: 'one' }),
    await person.client.post('/projects', { name: 'two' }),
  ]
  const ofOne = await makeEndpoint(
    t,
    await weaker(person, {
      scopes: ['projects:read', 'webhooks:read', 'webhooks:write'],
      project_ids: [one.id],
    }),
  )
  const noProjects = await makeEndpoint(
    t,
    await weaker(person, { scopes: ['user:read', 'webhooks:read', 'webhooks:write'] }),
  )
  const all = await makeEndpoint(t, person)
  await person.client.put(`/projects/${one.id}`, { name: 'one again' })
  await person.client.put(`/projects/${two.id}`, { name: 'two again' })
  await person.client.put('/user/profile', { name: 'Someone' })
  await sending(() =>
    waitUntil(
      async () =>
        all.receiver.types().filter((type) => type.endsWith('updated')).length === 3 &&
        (await database.sql(pending, [ofOne.id])).length === 0 &&
        (await database.sql(pending, [noProjects.id])).length === 0,
      'everything',
    ),
  )
  const receivedBy = ({ receiver }: Endpoint) =>
    new Set(receiver.received.map(({ event }) => `${event.type} ${event.project_id ?? ''}`.trim()))
  t.ok(receivedBy(ofOne).has(`project.updated ${one.id}`))
  t.notOk(
    ofOne.receiver.received.some(({ body }) => body.includes(two.id)),
    'no event of another project',
  )
  t.notOk(
    [...receivedBy(ofOne)].some((what) => /^(profile|settings|api_key)/.test(what)),
    'no event of another scope',
  )
  t.ok(receivedBy(noProjects).has('profile.updated'))
  t.notOk([...receivedBy(noProjects)].some((what) => /^(project|member)/.test(what)))
  t.equal(receivedBy(all).has(`project.updated ${two.id}`), true)
  t.match(
    await (
      await weaker(person, { scopes: ['webhooks:write'] })
    ).client.post('/webhooks/endpoints', { url: 'http://127.0.0.1/', event_types: ['project.created'] }),
    { status: 403, body: { error: { code: 'FORBIDDEN' } } },
    'the event type cannot be selected',
  )
})

t.test('an endpoint created by a key limited to projects receives no events outside projects', async (t) => {
  const person = await server.person()
  const { body: project } = await person.client.post('/projects', { name: 'one' })
  const ofProject = await makeEndpoint(
    t,
    await weaker(person, {
      scopes: ['user:read', 'storage:read', 'ai:read', 'webhooks:read', 'webhooks:write'],
      project_ids: [project.id],
    }),
  )
  const all = await makeEndpoint(t, person)
  for (const session of [{ title: 'shared', project_id: project.id }, { title: 'private' }])
    t.equal((await person.client.post('/ai/sessions', session)).status, 201)
  await person.client.put('/user/profile', { name: 'Someone' })
  await whenDelivered(database.pool)
  // Simulates a delivery that already exists.
  const [earlier] = await database.sql(
    statement<{ id: string }>(`
    UPDATE webhook_deliveries d SET endpoint_id = $1 FROM events e
    WHERE e.id = d.event_id AND e.type = 'session.created' AND e.project_id IS NULL AND d.endpoint_id = $2
    RETURNING d.id`),
    [ofProject.id, all.id],
  )
  t.same((await database.sql(pending, [ofProject.id])).map(({ type }) => type).sort(), [
    'profile.updated',
    'session.created',
    'session.created',
  ])
  await sending(async () => {
    t.same(
      await outcomeOf(earlier.id),
      { status: 'failed', error: forbiddenNow, tries: 1 },
      'an existing delivery is not sent',
    )
    await waitUntil(async () => (await database.sql(pending, [ofProject.id])).length === 0, 'the deliveries')
  })
  t.ok(ofProject.receiver.received.some(({ body }) => body.includes('shared')))
  t.notOk(ofProject.receiver.received.some(({ body }) => body.includes('private')))
  t.equal((await person.client.get(`/webhooks/deliveries/${earlier.id}`)).body.request, null)
})

t.test(
  'a key with fewer scopes can get an endpoint, but not its deliveries; one with fewer projects cannot',
  async (t) => {
    const person = await server.person()
    const { body: project } = await person.client.post('/projects', { name: 'one' })
    const endpoint = await makeEndpoint(t, person, { event_types: ['profile.updated'] })
    const { id: deliveryId } = await sending(() => triedOnce(person, endpoint))
    const keys = {
      'another scope': await weaker(person, { scopes: ['webhooks:read', 'webhooks:write', 'projects:read'] }),
      'one project': await weaker(person, {
        scopes: ['user:read', 'organizations:read', 'projects:read', 'webhooks:read', 'webhooks:write'],
        project_ids: [project.id],
      }),
      'someone else': await server.person(),
      'another admin': admin,
    }
    const path = `/webhooks/endpoints/${endpoint.id}`
    for (const [name, { client }] of Object.entries(keys)) {
      const replies = [
        await client.put(path, { url: 'http://127.0.0.1:9/' }),
        await client.put(path, { enabled: false }),
        await client.post(`${path}/rotate-secret`),
        await client.post(`${path}/test`),
        await client.post(`${path}/recover`, { since: '2020-01-01T00:00:00Z' }),
        await client.get(`${path}/deliveries`),
        await client.get(`/webhooks/deliveries/${deliveryId}`),
        await client.post(`/webhooks/deliveries/${deliveryId}/redeliver`),
        await client.delete(path),
      ]
      t.same(
        replies.map(({ status }) => status),
        replies.map(() => 403),
        name,
      )
      t.same((await client.get('/webhooks/deliveries')).body.data, [], `${name} lists none of them`)
      t.ok(
        replies.every(({ text }) => !text.includes(endpoint.receiver.url) && !text.includes('whsec_')),
        `${name} cannot read its deliveries`,
      )
      const mine = name === 'another scope'
      t.equal((await client.get(path)).status, mine ? 200 : 403, name)
      t.equal((await client.get('/webhooks/endpoints?limit=100')).text.includes(endpoint.id), mine, name)
    }
    const reader = await weaker(person, {
      scopes: allScopes.filter((scope) => scope.endsWith(':read')),
    })
    t.match(await reader.client.get(path), { status: 200 }, 'a key with the same permissions can')
    t.match(await reader.client.get(`${path}/deliveries`), {
      status: 200,
      body: { data: [{ id: deliveryId }] },
    })
    t.match((await reader.client.get('/webhooks/deliveries')).body, {
      data: [{ id: deliveryId }],
      pagination: { total: 1 },
    })
    t.match((await reader.client.get('/webhooks/endpoints')).body, {
      data: [{ id: endpoint.id }],
      pagination: { total: 1 },
    })
    t.match(await reader.client.post(`${path}/test`), { status: 403 }, 'and cannot change it')
    t.match((await person.client.get(path)).body, { url: endpoint.receiver.url, enabled: true })
    await sending(() =>
      sendTest(person, endpoint).then(({ id }) =>
        whenDelivery(person, id, ({ status }) => status === 'succeeded'),
      ),
    )
    t.ok(
      endpoint.receiver.received.every(({ verified }) => verified),
      'the secret is unchanged',
    )
  },
)

t.test('at the end every pending delivery has one job, and no other delivery has a job', async (t) => {
  t.same(await jobMisfits(server), [])
  t.same(server.errors, [])
})
