// The audit log by webhook: who receives it, what arrives, that nothing is lost, and that deliveries cause no
// further ones.
import t, { type Test } from 'tap'
import type { Db } from '../../infra/database/database.ts'
import { AuditRecorder } from '../../services/audit/recorder.ts'
import { createClient } from '../support/http/client.ts'
import type { Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  bringForward,
  makeEndpoint,
  startWorkingServer,
  type Endpoint,
  type WorkingServer,
} from '../support/server/working-server.ts'

const eventTypes = ['audit.recorded']

const request = {
  operation: 'createProject',
  method: 'POST',
  status: 201,
  ip: '192.0.2.1',
  credentialId: null,
  projectId: null,
  resourceId: null,
  placeIds: [],
  requestId: 'req_test',
  isDelivery: false,
}

/** The entries that an endpoint has received, by their sequence. */
const entriesAt = ({ receiver }: Endpoint): any[] =>
  receiver.received
    .map(({ event }) => event.data.object)
    .toSorted((a: { sequence: number }, b: { sequence: number }) => a.sequence - b.sequence)

/** Waits until the audit log has this number of entries: the recorder gets one after the answer. */
async function untilRecorded(server: WorkingServer, entries: number): Promise<void> {
  const { auditRecorder, database } = server.services
  await waitUntil(async () => {
    await auditRecorder.flush()
    return (await database.prisma.auditEntry.count()) >= entries
  }, `${entries} entries`)
}

const eventsOf = (server: WorkingServer): Promise<number> =>
  server.services.database.prisma.event.count({ where: { type: 'audit.recorded' } })

/** Waits until no delivery waits or is running. */
async function untilIdle(server: WorkingServer): Promise<void> {
  const waiting = () =>
    server.services.database.pool.query(
      `SELECT 1 FROM jobs WHERE queue = 'webhook-deliveries'
       AND (fetches > 0 OR due_at <= now()) LIMIT 1`,
    )
  await waitUntil(async () => (await waiting()).rows.length === 0, 'the end of the deliveries')
}

async function operatorOf(server: WorkingServer): Promise<Person> {
  return await server.person({ role: 'admin', scopes: ['admin', 'webhooks:write', 'webhooks:read'] })
}

t.test('each entry arrives signed, without gaps, as the audit log has it', async (t) => {
  const server = await startWorkingServer(t)
  const operator = await operatorOf(server)
  const endpoint = await makeEndpoint(t, operator, { event_types: eventTypes })
  const person = await server.person()
  const { body: project } = await person.client.post('/projects', { name: 'Ours' })
  await person.client.get('/users')
  await untilRecorded(server, 3)
  for (let i = 0; i < 40; i++) await person.client.put(`/projects/${project.id}`, { name: `Name ${i}` })
  await untilRecorded(server, 43)
  await waitUntil(() => endpoint.receiver.received.length >= 43, 'the entries')
  const entries = entriesAt(endpoint)
  t.ok(
    endpoint.receiver.received.every(({ verified }) => verified),
    'signed',
  )
  t.match(entries.slice(0, 3), [
    { operation: 'createWebhookEndpoint', user_id: operator.id, outcome: 'done' },
    { operation: 'createProject', user_id: person.id, project_id: null, ip: '127.0.0.1' },
    { operation: 'listUsers', status: 403, outcome: 'refused' },
  ])
  const first = entries[0].sequence
  t.same(
    entries.map(({ sequence }) => sequence - first),
    entries.map((_, i) => i),
    'without gaps',
  )
  const { body: log } = await server.admin.client.get('/events?type=audit.recorded&limit=100')
  t.same(
    log.data.map(({ data }: any) => data.object),
    entries,
    'in this order in the event log',
  )
  const { body } = await server.admin.client.get(`/audit-log?user_id=${person.id}&limit=100`)
  t.same(
    entries.filter(({ user_id: id }) => id === person.id).toReversed(),
    body.data,
    'the same as in the audit log',
  )
  const [{ event }] = endpoint.receiver.received
  t.match(event, { type: 'audit.recorded', project_id: null, actor: { type: 'system' } })
})

t.test('a user who is not an operator cannot select it', async (t) => {
  const server = await startWorkingServer(t, { sends: false })
  const person = await server.person()
  const url = 'https://example.com/hooks'
  for (const selector of ['audit.recorded', 'audit.*']) {
    const body = { url, event_types: [selector] }
    const refused = await person.client.post('/webhooks/endpoints', body)
    t.match(refused, { status: 403, body: { error: { details: { constraint: 'scope' } } } }, selector)
    const withoutScope = await server.person({ role: 'admin', scopes: ['webhooks:write'] })
    t.equal((await withoutScope.client.post('/webhooks/endpoints', body)).status, 403, selector)
  }
  const all = await person.client.post('/webhooks/endpoints', { url, event_types: ['*'] })
  t.equal(all.status, 201)
  const change = { event_types: ['audit.recorded'] }
  t.equal((await person.client.put(`/webhooks/endpoints/${all.body.id}`, change)).status, 403)
  t.equal((await person.client.get('/events?type=audit.recorded')).body.data.length, 0)
})

t.test('`*` does not select it, and without an endpoint there is no event', async (t) => {
  const server = await startWorkingServer(t)
  const operator = await operatorOf(server)
  const endpoint = await makeEndpoint(t, operator, { event_types: ['*'] })
  const person = await server.person()
  await person.client.post('/projects', { name: 'Ours' })
  await untilRecorded(server, 2)
  t.equal(await eventsOf(server), 0)
  t.notOk(endpoint.receiver.types().includes('audit.recorded'))
  const named = await makeEndpoint(t, operator, { event_types: ['audit.*'] })
  await untilRecorded(server, 3)
  await waitUntil(() => named.receiver.received.length === 1, 'the entry of the second endpoint')
  t.notOk(endpoint.receiver.types().includes('audit.recorded'))
})

t.test('an operator who is demoted before the delivery gets nothing', async (t) => {
  const server = await startWorkingServer(t, { sends: false })
  const operator = await operatorOf(server)
  const endpoint = await makeEndpoint(t, operator, { event_types: eventTypes })
  await untilRecorded(server, 1)
  const { webhookDelivery } = server.services.database.prisma
  await waitUntil(async () => (await webhookDelivery.count()) === 1, 'the delivery')
  t.equal(await eventsOf(server), 1)
  t.equal((await server.admin.client.put(`/users/${operator.id}`, { role: 'user' })).status, 200)
  await untilRecorded(server, 2)
  t.equal(await eventsOf(server), 1, 'no event after it')
  await server.work()
  await untilIdle(server)
  t.same(endpoint.receiver.received, [])
  t.match(await webhookDelivery.findFirst(), { status: 'failed' })
})

t.test('deliveries cause no further ones, not even those to this server itself', async (t) => {
  const server = await startWorkingServer(t)
  const operator = await operatorOf(server)
  const endpoint = await makeEndpoint(t, operator, { event_types: eventTypes })
  await untilRecorded(server, 1)
  await waitUntil(() => endpoint.receiver.received.length === 1, 'the entry of the endpoint')
  await untilIdle(server)
  await server.services.auditRecorder.flush()
  t.equal(await eventsOf(server), 1)

  // Each delivery to this operation fails, and has an entry.
  const own = await operator.client.post('/webhooks/endpoints', {
    url: `${server.url}/v1/auth/sessions`,
    event_types: eventTypes,
  })
  t.equal(own.status, 201)
  for (let attempts = 1; attempts <= 4; attempts++) {
    await untilRecorded(server, 2 + attempts)
    await untilIdle(server)
    t.equal(await eventsOf(server), 2, 'only that of the new endpoint')
    await bringForward(server)
  }
  // As another installation would, whose audit log has the answer to this delivery.
  const headers = { 'webhook-id': 'evt_01jd6y8m5qe8btc4y5w1r0n3fz' }
  await createClient(server.url, null).post('/auth/sessions', { type: 'audit.recorded' }, { headers })
  await untilRecorded(server, 7)
  t.equal(await eventsOf(server), 2)
})

t.test('no header hides a request', async (t) => {
  const server = await startWorkingServer(t, { sends: false })
  const operator = await operatorOf(server)
  await makeEndpoint(t, operator, { event_types: eventTypes })
  await untilRecorded(server, 1)
  const { id } = (await server.services.database.prisma.event.findFirst({
    where: { type: 'audit.recorded' },
  }))!
  const headers = { 'webhook-id': id, 'webhook-signature': 'v1,x' }
  const person = await server.person()
  await operator.client.put(`/users/${person.id}`, { role: 'admin' }, { headers })
  await operator.client.get('/users', { headers })
  await operator.client.post('/projects', { name: '' }, { headers })
  const signIn = { method: 'password', email: 'unknown@example.com', password: 'wrong' }
  await createClient(server.url, null).post('/auth/sessions', signIn, { headers })
  await untilRecorded(server, 5)
  t.equal(await eventsOf(server), 5)
})

t.test('a backlog that is too much for one transaction is added in parts', async (t) => {
  const server = await startWorkingServer(t, { sends: false })
  const operator = await operatorOf(server)
  await makeEndpoint(t, operator, { event_types: eventTypes })
  await untilRecorded(server, 1)
  const { database, cipher, events } = server.services
  const emitted = new WeakMap<Db, number>()
  const recorder = new AuditRecorder(database, cipher, {
    interval: 2 ** 31 - 1,
    emit: async (tx, entry) => {
      emitted.set(tx, (emitted.get(tx) ?? 0) + 1)
      if (emitted.get(tx)! > 30) throw new Error('canceling statement due to statement timeout')
      await events.emit(tx, 'audit.recorded', entry)
    },
  })
  for (let i = 0; i < 250; i++) recorder.record({ ...request, userId: operator.id })
  await waitUntil(async () => {
    await recorder.flush()
    return (await database.prisma.auditEntry.count()) === 251
  }, 'all entries')
  t.equal(await eventsOf(server), 251)
  await recorder.close()
})

t.test('events are committed with their entries, or not at all', async (t) => {
  const server = await startWorkingServer(t, { sends: false })
  const operator = await operatorOf(server)
  await makeEndpoint(t, operator, { event_types: eventTypes })
  await untilRecorded(server, 1)
  const { database, cipher, events } = server.services
  let fails = true
  const errors: Error[] = []
  const recorder = new AuditRecorder(database, cipher, {
    interval: 2 ** 31 - 1,
    emit: async (tx, entry) => {
      await events.emit(tx, 'audit.recorded', entry)
      if (fails && entry.operation === 'updateProject') throw new Error('not now')
    },
    onError: (error) => errors.push(error),
  })
  for (const operation of ['createProject', 'updateProject'])
    recorder.record({ ...request, userId: operator.id, operation })
  const before = [await eventsOf(server), await database.prisma.auditEntry.count()]
  await recorder.flush()
  t.equal(errors.length, 1)
  t.same([await eventsOf(server), await database.prisma.auditEntry.count()], before)
  fails = false
  await recorder.close()
  const after = [await eventsOf(server), await database.prisma.auditEntry.count()]
  t.same(
    after,
    before.map((count) => count + 2),
  )
})

t.test('what was recorded before a stop of the server is delivered', async (t: Test) => {
  const server = await startWorkingServer(t, { sends: false })
  const operator = await operatorOf(server)
  const endpoint = await makeEndpoint(t, operator, { event_types: eventTypes })
  await server.close()
  const next = await startWorkingServer(t, { databaseUrl: server.databaseUrl })
  await waitUntil(() => endpoint.receiver.received.length === 1, 'the entry')
  t.match(entriesAt(endpoint), [{ operation: 'createWebhookEndpoint' }])
  t.same(next.errors, [])
})
