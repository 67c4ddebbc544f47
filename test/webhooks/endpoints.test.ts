// The lifecycle of endpoints: limits and URLs, test events, disabling by the platform, re-enabling, recovery,
// deletion.
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import type { Reply } from '../support/http/client.ts'
import { whenDelivered } from '../support/server/changes.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  bringForward,
  deliveryNow,
  jobMisfits,
  makeEndpoint,
  sendTest,
  startWorkingServer,
  triedOnce,
  whenDelivery,
  type Endpoint,
} from '../support/server/working-server.ts'

const server = await startWorkingServer(t)
const {
  services: { database },
} = server
const quiet = { event_types: ['profile.updated'] }

const age = statement(
  'UPDATE webhook_endpoints SET failing_since = now() - make_interval(secs => $2) WHERE id = $1',
)
const failingSince = statement<{ failing_since: string | null }>(
  'SELECT failing_since FROM webhook_endpoints WHERE id = $1',
)
const eventsAbout = statement<{ id: string; data: any; request_id: string | null }>(`
  SELECT id, data, request_id FROM events WHERE type = $1 AND data->'object'->>'id' = $2 ORDER BY position`)
const days = 86_400

const endpointNow = async (person: Person, { id }: Pick<Endpoint, 'id'>): Promise<any> =>
  (await person.client.get(`/webhooks/endpoints/${id}`)).body
const since = async ({ id }: Pick<Endpoint, 'id'>): Promise<string | null> =>
  (await database.sql(failingSince, [id]))[0].failing_since

function tally(replies: Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of replies) {
    const name = `${status} ${body?.error?.details.constraint ?? ''}`.trim()
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

t.test('`project.*` selects all events of projects, and no others', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, { event_types: ['project.*'] })
  const { id } = (await person.client.post('/projects', { name: 'One' })).body
  await person.client.put(`/projects/${id}`, { name: 'Two' })
  await person.client.put('/user/profile', { name: 'Ada' })
  await whenDelivered(database.pool)
  const list = async (query: string): Promise<string[]> => {
    const { body } = await person.client.get(
      `/webhooks/endpoints/${endpoint.id}/deliveries?order=asc&${query}`,
    )
    return body.data.map((delivery: { event_type: string }) => delivery.event_type)
  }
  t.same(await list(''), ['project.created', 'project.updated'])
  t.same(await list('event_type=project.*'), ['project.created', 'project.updated'])
  t.same(await list('event_type=project.updated&event_type=file.*'), ['project.updated'])
  t.match(await person.client.put(`/webhooks/endpoints/${endpoint.id}`, { event_types: ['projects.*'] }), {
    status: 400,
    body: { error: { message: /project\.\*/, details: { constraint: 'enum' } } },
  })
})

t.test('a test event goes to its endpoint only, for any selected event types', async (t) => {
  const person = await server.person()
  const everything = await makeEndpoint(t, person)
  const other = await makeEndpoint(t, person, { event_types: ['webhook_endpoint.tested'] })
  const tested = await makeEndpoint(t, person, quiet)
  const delivery = await sendTest(person, tested)
  t.match(delivery, {
    endpoint_id: tested.id,
    event_type: 'webhook_endpoint.tested',
    status: 'pending',
    attempts: [],
  })
  await whenDelivery(person, delivery.id, ({ status }) => status === 'succeeded')
  t.match(tested.receiver.received, [
    { verified: true, event: { type: 'webhook_endpoint.tested', data: { object: { id: tested.id } } } },
  ])
  const all = await database.sql(
    statement<{ endpoint_id: string }>('SELECT endpoint_id FROM webhook_deliveries WHERE event_id = $1'),
    [delivery.event_id],
  )
  t.same(all, [{ endpoint_id: tested.id }], 'no other endpoint has a delivery')
  t.notOk(everything.receiver.types().includes('webhook_endpoint.tested'))
  t.same(other.receiver.received, [])
  t.match(await person.client.get(`/events/${delivery.event_id}`), { status: 200 }, 'the event is in the log')
})

t.test("410 disables an endpoint immediately, and the owner's other endpoints are notified", async (t) => {
  const person = await server.person()
  const other = await makeEndpoint(t, person, { event_types: ['webhook_endpoint.disabled'] })
  const strangers = await makeEndpoint(t, await server.person())
  const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status: 410 } })
  const { id } = await sendTest(person, endpoint)
  const delivery = await whenDelivery(person, id, ({ status }) => status !== 'pending')
  t.match(delivery, {
    status: 'failed',
    next_attempt_at: null,
    attempts: [{ response_status: 410, error: 'The endpoint answered 410.' }],
  })
  t.equal(delivery.attempts.length, 1, 'and there is no retry')
  t.match(await endpointNow(person, endpoint), { enabled: false, disabled_reason: 'gone' })
  await waitUntil(() => other.receiver.received.length > 0, 'the event at the other endpoint')
  t.match(other.receiver.received, [
    {
      verified: true,
      event: {
        type: 'webhook_endpoint.disabled',
        request_id: null,
        actor: { type: 'system', id: null, name: null, user_id: null },
        data: {
          object: { id: endpoint.id, enabled: false, disabled_reason: 'gone' },
          previous_attributes: { enabled: true, disabled_reason: null },
        },
      },
    },
  ])
  t.equal((await database.sql(eventsAbout, ['webhook_endpoint.disabled', endpoint.id])).length, 1)
  t.notOk(strangers.receiver.types().includes('webhook_endpoint.disabled'))

  t.match(await person.client.post(`/webhooks/endpoints/${endpoint.id}/test`), {
    status: 409,
    body: { error: { code: 'INVALID_STATE', details: { field: 'enabled', constraint: 'disabled' } } },
  })
  t.match(
    await person.client.post(`/webhooks/endpoints/${endpoint.id}/recover`, { since: '2020-01-01T00:00:00Z' }),
    {
      status: 409,
      body: { error: { code: 'INVALID_STATE', details: { field: 'enabled', constraint: 'disabled' } } },
    },
  )
  t.match(await person.client.post(`/webhooks/deliveries/${id}/redeliver`), {
    status: 409,
    body: { error: { code: 'INVALID_STATE' } },
  })
  await person.client.put('/user/profile', { name: 'Not delivered' })
  t.equal(endpoint.receiver.received.length, 1, 'a disabled endpoint receives nothing')
  t.same(
    (await person.client.get(`/webhooks/endpoints/${endpoint.id}/deliveries`)).body.pagination.total,
    1,
    'and has no pending delivery',
  )
})

t.test('a pending delivery to a disabled endpoint fails when it is due, without a request', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status: 500 } })
  const { id } = await triedOnce(person, endpoint)
  await person.client.put(`/webhooks/endpoints/${endpoint.id}`, { enabled: false })
  await bringForward(server)
  const delivery = await whenDelivery(person, id, ({ status }) => status === 'failed')
  t.match(delivery.attempts[1], { response_status: null, error: 'The endpoint is disabled.' })
  t.equal(endpoint.receiver.received.length, 1)
  t.match(
    await endpointNow(person, endpoint),
    { enabled: false, disabled_reason: null },
    'disabled by its owner',
  )
})

t.test('an endpoint that has failed for five days is disabled by the next failure', async (t) => {
  const person = await server.person()
  const other = await makeEndpoint(t, person, { event_types: ['webhook_endpoint.disabled'] })
  const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status: 500 } })
  await triedOnce(person, endpoint)
  t.ok(await since(endpoint), 'failing_since is set by the first failure')
  await database.sql(age, [endpoint.id, 5 * days - 60])
  await triedOnce(person, endpoint)
  t.match(await endpointNow(person, endpoint), { enabled: true, disabled_reason: null }, 'not before')
  await database.sql(age, [endpoint.id, 5 * days + 1])
  const { id } = await sendTest(person, endpoint)
  await waitUntil(async () => !(await endpointNow(person, endpoint)).enabled, 'the endpoint to be disabled')
  t.match(await endpointNow(person, endpoint), { enabled: false, disabled_reason: 'failing' })
  await waitUntil(() => other.receiver.received.length > 0, 'the event at the other endpoint')
  t.match(other.receiver.received, [
    { event: { data: { object: { id: endpoint.id, disabled_reason: 'failing' } } } },
  ])

  const { body: started } = await person.client.put(`/webhooks/endpoints/${endpoint.id}`, { enabled: true })
  t.match(started, { enabled: true, disabled_reason: null })
  t.equal(await since(endpoint), null, 'enabling the endpoint clears failing_since')
  await bringForward(server)
  await whenDelivery(person, id, ({ attempts }) => attempts.length >= 2)
  t.match(await endpointNow(person, endpoint), { enabled: true }, 'the endpoint has another five days')
  t.ok(Date.now() - Date.parse((await since(endpoint))!) < 60_000)
})

t.test('a success clears failing_since', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status: 500 } })
  await triedOnce(person, endpoint)
  await database.sql(age, [endpoint.id, 4 * days])
  endpoint.receiver.answer = {}
  t.match(await triedOnce(person, endpoint), { status: 'succeeded' })
  t.equal(await since(endpoint), null)
})

t.test('the failures of an old URL do not count for the new one', async (t) => {
  const person = await server.person()
  const other = await makeEndpoint(t, person, quiet)
  const { url } = await endpointNow(person, other)
  for (const status of [410, 500]) {
    const { promise: when, resolve: answer } = Promise.withResolvers<void>()
    const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status, when } })
    const path = `/webhooks/endpoints/${endpoint.id}`
    await database.sql(age, [endpoint.id, 6 * days])
    const { id } = await sendTest(person, endpoint)
    await waitUntil(() => endpoint.receiver.waiting === 1, 'the request to the old URL')
    t.equal((await person.client.put(path, { url })).status, 200)
    t.equal(await since(endpoint), null, 'a new URL clears failing_since')
    answer()
    await whenDelivery(person, id, ({ attempts }) => attempts.length === 1)
    t.equal(await since(endpoint), null, `a late ${status}`)
    t.match(await endpointNow(person, endpoint), { enabled: true, disabled_reason: null })
  }
})

t.test('of 20 deliveries that fail at once in two workers, one disables the endpoint', async (t) => {
  const second = await server.work()
  const person = await server.person()
  const other = await makeEndpoint(t, person, { event_types: ['webhook_endpoint.disabled'] })
  let answer = (): void => {}
  const when = new Promise<void>((resolve) => {
    answer = resolve
  })
  const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status: 500, when } })
  await triedNever(endpoint, person, 20)
  await waitUntil(() => endpoint.receiver.waiting >= 10, 'ten concurrent requests')
  await database.sql(age, [endpoint.id, 6 * days])
  answer()
  await waitUntil(async () => !(await endpointNow(person, endpoint)).enabled, 'disabled')
  await bringForward(server)
  await waitUntil(
    async () =>
      (await person.client.get(`/webhooks/endpoints/${endpoint.id}/deliveries?status=failed`)).body.pagination
        .total === 20,
    'all deliveries to fail',
  )
  t.equal(
    (await database.sql(eventsAbout, ['webhook_endpoint.disabled', endpoint.id])).length,
    1,
    'one event',
  )
  await waitUntil(() => other.receiver.received.length > 0, 'the event at the other endpoint')
  t.equal(other.receiver.received.length, 1)
  await second.stop()
})

/** Sends test events without waiting for their attempts. */
async function triedNever(endpoint: Endpoint, person: Person, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => sendTest(person, endpoint)))
}

t.test('recover resends the deliveries that failed since a time; redeliver resends one', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status: 410 } })
  const other = await makeEndpoint(t, person, { ...quiet, answer: { status: 410 } })
  const log = await makeEndpoint(t, person, {
    event_types: ['webhook_endpoint.recovered', 'webhook_delivery.redelivered'],
  })
  const failed: string[] = []
  for (const one of [endpoint, endpoint, endpoint, endpoint, other]) {
    const { id } = await triedOnce(person, one)
    failed.push(id)
    await person.client.put(`/webhooks/endpoints/${one.id}`, { enabled: true })
  }
  const [older, , , newest, others] = failed
  await database.sql(
    statement("UPDATE webhook_deliveries SET created_at = created_at - interval '2 hours' WHERE id = $1"),
    [older],
  )
  endpoint.receiver.answer = other.receiver.answer = {}
  const { id: fine } = await triedOnce(person, endpoint)
  const sent = endpoint.receiver.received.length

  const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
  const recovery = await person.client.post(`/webhooks/endpoints/${endpoint.id}/recover`, { since: hourAgo })
  t.match(recovery, {
    status: 202,
    body: { endpoint_id: endpoint.id, since: hourAgo, recovered: 3, has_more: false },
  })
  for (const id of failed.slice(1, 4)) await whenDelivery(person, id, ({ status }) => status === 'succeeded')
  t.equal(endpoint.receiver.received.length, sent + 3)
  t.match(await deliveryNow(person, older), { status: 'failed', attempts: { length: 1 } }, 'nothing older')
  t.match(await deliveryNow(person, others), { status: 'failed' }, 'no delivery of another endpoint')
  t.equal((await deliveryNow(person, fine)).attempts.length, 1, 'no successful delivery')
  t.equal((await deliveryNow(person, newest)).attempts.length, 2)
  t.match(await person.client.post(`/webhooks/endpoints/${endpoint.id}/recover`, { since: hourAgo }), {
    status: 202,
    body: { recovered: 0, has_more: false },
  })

  t.match(await person.client.post(`/webhooks/deliveries/${older}/redeliver`), {
    status: 202,
    body: { id: older, status: 'pending' },
  })
  await whenDelivery(person, older, ({ status }) => status === 'succeeded')
  await waitUntil(() => log.receiver.received.length === 3, 'two recoveries and a redelivery')
  t.match(
    log.receiver.received.map(({ event }) => event).sort((a, b) => (a.id < b.id ? -1 : 1)),
    [
      { type: 'webhook_endpoint.recovered', data: { object: { recovered: 3 } } },
      { type: 'webhook_endpoint.recovered', data: { object: { recovered: 0 } } },
      { type: 'webhook_delivery.redelivered', data: { object: { id: older, status: 'pending' } } },
    ],
  )
  t.notOk(
    log.receiver.received.some(({ body }) => body.includes('webhook-signature')),
    'without the sent request',
  )
})

t.test('a deleted endpoint receives nothing, and its deliveries return 404', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, { answer: { status: 500 } })
  const { id } = await triedOnce(person, endpoint)
  const sent = endpoint.receiver.received.length
  t.match(await person.client.delete(`/webhooks/endpoints/${endpoint.id}`), { status: 204 })
  t.match(await person.client.get(`/webhooks/deliveries/${id}`), { status: 404 })
  t.match(await person.client.get(`/webhooks/endpoints/${endpoint.id}/deliveries`), { status: 404 })
  t.match(await person.client.post(`/webhooks/deliveries/${id}/redeliver`), { status: 404 })
  t.match(await person.client.post(`/webhooks/endpoints/${endpoint.id}/test`), { status: 404 })
  t.match((await person.client.get('/webhooks/endpoints')).body, { data: [], pagination: { total: 0 } })
  await bringForward(server)
  await person.client.put('/user/profile', { name: 'Ada' })
  await waitUntil(
    async () =>
      (
        await database.sql(
          statement<{ n: number }>(
            "SELECT count(*)::int AS n FROM webhook_deliveries WHERE endpoint_id = $1 AND status = 'pending'",
          ),
          [endpoint.id],
        )
      )[0].n === 0,
    'the pending deliveries to end',
  )
  t.equal(endpoint.receiver.received.length, sent)
})

t.test('webhooks reach the ports 80, 443 and 8000 to 9999, or those of WEBHOOK_ALLOWED_PORTS', async (t) => {
  const ports = [22, 25, 80, 443, 6379, 7999, 8000, 9999, 10000]
  const accepted = async (env: Record<string, string>): Promise<number[]> => {
    const { client } = await (await startServer(t, { env })).person()
    const replies = await Promise.all(
      ports.map(async (port) => ({
        port,
        reply: await client.post('/webhooks/endpoints', {
          url: `http://example.com:${port}/`,
          event_types: ['*'],
        }),
      })),
    )
    for (const { port, reply } of replies.filter(({ reply }) => reply.status !== 201))
      t.match(reply.body.error, { details: { field: 'url', constraint: 'port' } }, String(port))
    return replies.filter(({ reply }) => reply.status === 201).map(({ port }) => port)
  }
  t.same(await accepted({ WEBHOOK_ALLOWED_PORTS: '' }), [80, 443, 8000, 9999])
  t.same(await accepted({ WEBHOOK_ALLOWED_PORTS: '22, 9999-10000' }), [22, 9999, 10000])
})

t.test('an existing endpoint whose port is no longer allowed gets no request', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, quiet)
  const strict = await startWorkingServer(t, {
    databaseUrl: server.databaseUrl,
    env: { WEBHOOK_ALLOWED_PORTS: '443' },
    sends: false,
  })
  await server.stopWork()
  const worker = await strict.work()
  const { id } = await sendTest(person, endpoint)
  const delivery = await whenDelivery(person, id, ({ attempts }) => attempts.length === 1)
  await worker.stop()
  t.match(delivery.attempts[0], { response_status: null, error: 'The port is not allowed.' })
  t.equal(endpoint.receiver.received.length, 0)
  await server.work()
})

t.test('an endpoint URL is http or https, has a public address and no credentials', async (t) => {
  const strict = await startServer(t, { env: { WEBHOOK_ALLOWED_NETWORKS: '' } })
  const person = await strict.person()
  const make = (url: string) => person.client.post('/webhooks/endpoints', { url, event_types: ['*'] })
  const {
    body: { id },
  } = await make('https://example.com/hooks')
  const refused: Record<string, string[]> = {
    no_credentials: ['https://user:password@example.com/', 'https://user@example.com/'],
    no_fragment: ['https://example.com/#fragment'],
    public_address: [
      'http://127.0.0.1/',
      'http://localhost/',
      'http://LocalHost./',
      'http://api.localhost:8080/',
      'http://10.1.2.3/',
      'http://192.168.0.1/',
      'http://172.16.0.1/',
      'http://169.254.169.254/latest/',
      'http://100.64.0.1/',
      'http://0/',
      'http://0x7f.1/',
      'http://2130706433/',
      'http://017700000001/',
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[fe80::1]/',
      'http://[fd00::1]/',
      'http://[::ffff:10.0.0.1]/',
      'http://[64:ff9b::7f00:1]/',
    ],
    pattern: ['ftp://example.com/', 'file:///etc/passwd', 'javascript:alert(1)'],
    format: ['example.com', 'http://'],
  }
  for (const [constraint, urls] of Object.entries(refused)) {
    for (const url of urls) {
      for (const reply of [await make(url), await person.client.put(`/webhooks/endpoints/${id}`, { url })]) {
        t.match(reply, { status: 400, body: { error: { code: 'INVALID_REQUEST' } } }, url)
        t.match(reply.text, '"url"', `${url}: the error names the field`)
        if (!['pattern', 'format'].includes(constraint)) t.match(reply.text, constraint, url)
      }
    }
  }
  t.match((await person.client.get('/webhooks/endpoints')).body, {
    data: [{ url: 'https://example.com/hooks' }],
    pagination: { total: 1 },
  })
})

t.test('a user has at most 50 endpoints, even with concurrent requests', async (t: Test) => {
  const limited = await startServer(t, { env: { WEBHOOK_ENDPOINTS_PER_USER: '50' } })
  const person = await limited.person()
  const make = () => person.client.post('/webhooks/endpoints', { url: 'https://example.com/', ...quiet })
  for (let i = 0; i < 3; i++) await Promise.all(Array.from({ length: 15 }, make))
  t.same(tally(await Promise.all(Array.from({ length: 20 }, make))), { 201: 5, '403 webhook_endpoints': 15 })
  const {
    body: {
      data: [{ id }],
      pagination: { total },
    },
  } = await person.client.get('/webhooks/endpoints')
  t.equal(total, 50)
  await person.client.delete(`/webhooks/endpoints/${id}`)
  t.same(
    tally([await make(), await make()]),
    { 201: 1, '403 webhook_endpoints': 1 },
    'a deleted endpoint does not count',
  )
})

t.test('at the end every pending delivery has one job, and no other delivery has a job', async (t) => {
  t.same(await jobMisfits(server), [])
  t.same(server.errors, [])
})
