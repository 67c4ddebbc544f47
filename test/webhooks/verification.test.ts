// Deliveries at a receiver that uses the official library: their signatures verify with the secrets that are
// valid at that moment, and the body is the event.
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { verifies } from '../support/http/receiver.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  bringForward,
  jobMisfits,
  makeEndpoint,
  sendTest,
  startWorkingServer,
  whenDelivery,
} from '../support/server/working-server.ts'

const server = await startWorkingServer(t)
const {
  admin,
  services: { database },
} = server

/** Sends `count` test events and returns the received requests. */
async function messages(t: Test, endpoint: Awaited<ReturnType<typeof makeEndpoint>>, count = 1) {
  const { received } = endpoint.receiver
  const before = received.length
  for (let i = 0; i < count; i++) await sendTest(admin, endpoint)
  await waitUntil(() => received.length >= before + count, 'the messages')
  t.equal(received.length, before + count)
  return received.slice(before)
}

t.test('every delivery verifies, and a tampered delivery does not', async (t) => {
  const endpoint = await makeEndpoint(t, admin)
  const { body: project } = await admin.client.post('/projects', { name: 'Grüße "\\\u2028' })
  await admin.client.put(`/projects/${project.id}`, { name: 'other' })
  await admin.client.delete(`/projects/${project.id}`)
  await sendTest(admin, endpoint)
  const { received } = endpoint.receiver
  await waitUntil(
    () =>
      ['project.created', 'project.updated', 'project.deleted', 'webhook_endpoint.tested'].every((type) =>
        endpoint.receiver.types().includes(type),
      ),
    'four events',
  )
  t.ok(
    received.every(({ verified }) => verified),
    'all of them verify',
  )
  for (const { body, headers } of received) {
    t.notOk(verifies(endpoint.secret, body.replace('"id"', '"ID"'), headers), 'another body')
    t.notOk(verifies(endpoint.secret, `${body} `, headers), 'a longer body')
    t.notOk(
      verifies(endpoint.secret, body, {
        ...headers,
        'webhook-timestamp': `${Number(headers['webhook-timestamp']) + 1}`,
      }),
      'another time',
    )
    t.notOk(
      verifies(endpoint.secret, body, {
        ...headers,
        'webhook-id': received.find((other) => other.body !== body)!.headers['webhook-id'],
      }),
      'another id',
    )
    t.notOk(verifies(`whsec_${Buffer.alloc(32).toString('base64')}`, body, headers), 'another secret')
  }
})

t.test('after a rotation both secrets verify until the overlap ends, then only the new secret', async (t) => {
  const endpoint = await makeEndpoint(t, admin, { event_types: ['profile.updated'] })
  const {
    body: { secret },
  } = await admin.client.post(`/webhooks/endpoints/${endpoint.id}/rotate-secret`, { overlap_seconds: 3600 })
  t.not(secret, endpoint.secret)
  for (const { body, headers } of await messages(t, endpoint, 2)) {
    t.ok(verifies(endpoint.secret, body, headers), 'the old secret')
    t.ok(verifies(secret, body, headers), 'the new secret')
    t.equal(headers['webhook-signature'].split(' ').length, 2)
  }
  await database.sql(
    statement("UPDATE webhook_endpoints SET previous_expires_at = now() - interval '1 ms' WHERE id = $1"),
    [endpoint.id],
  )
  for (const { body, headers } of await messages(t, endpoint)) {
    t.notOk(verifies(endpoint.secret, body, headers), 'not the old secret')
    t.ok(verifies(secret, body, headers), 'the new secret')
  }
})

t.test(
  'a rotation without overlap drops the old secret immediately; without a body the overlap is a day',
  async (t) => {
    const endpoint = await makeEndpoint(t, admin, { event_types: ['profile.updated'] })
    const first = await admin.client.post(`/webhooks/endpoints/${endpoint.id}/rotate-secret`, {
      overlap_seconds: 0,
    })
    const [{ body, headers }] = await messages(t, endpoint)
    t.notOk(verifies(endpoint.secret, body, headers))
    t.ok(verifies(first.body.secret, body, headers))
    const second = await admin.client.post(`/webhooks/endpoints/${endpoint.id}/rotate-secret`)
    const [later] = await messages(t, endpoint)
    t.ok(verifies(first.body.secret, later.body, later.headers))
    t.ok(verifies(second.body.secret, later.body, later.headers))
    t.notOk(verifies(endpoint.secret, later.body, later.headers), 'not the first secret')
    const [{ seconds }] = await database.sql(
      statement<{ seconds: number }>(
        `SELECT extract(epoch FROM previous_expires_at - now())::int AS seconds
       FROM webhook_endpoints WHERE id = $1`,
      ),
      [endpoint.id],
    )
    t.ok(seconds > 86_300 && seconds <= 86_400)
  },
)

t.test('a message is the event with its id, and is the same when it is sent again', async (t) => {
  const endpoint = await makeEndpoint(t, admin, { event_types: ['profile.updated'], answer: { status: 500 } })
  const { receiver } = endpoint
  const { id, event_id: eventId, attempts, request } = await sendTest(admin, endpoint)
  t.same({ attempts, request }, { attempts: [], request: null }, 'the response contains no attempt')
  await whenDelivery(admin, id, (delivery) => delivery.attempts.length === 1)
  receiver.answer = { status: 204 }
  await bringForward(server)
  const delivered = await whenDelivery(admin, id, ({ status }) => status === 'succeeded')
  const again = await admin.client.post(`/webhooks/deliveries/${id}/redeliver`)
  t.match(again, { status: 202, body: { id, status: 'pending' } })
  await waitUntil(() => receiver.received.length === 3, 'the third request')
  const { body: event, text } = await admin.client.get(`/events/${eventId}`)
  for (const { body, headers, verified } of receiver.received) {
    t.equal(body, text, 'equals the response of the API byte for byte')
    t.equal(headers['webhook-id'], eventId)
    t.equal(headers['content-type'], 'application/json')
    t.match(headers['user-agent'], /^Platform-API/)
    t.ok(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000) < 60)
    t.ok(verified)
  }
  t.same(delivered.request, { url: receiver.url, headers: delivered.request.headers, body: event })
  t.equal(
    delivered.request.headers['webhook-signature'],
    receiver.received[1].headers['webhook-signature'],
    'the last request',
  )
})

t.test('no job and no log line contains the secret of an endpoint', async (t) => {
  const endpoint = await makeEndpoint(t, admin, { event_types: ['profile.updated'], answer: { status: 500 } })
  const {
    body: { secret },
  } = await admin.client.post(`/webhooks/endpoints/${endpoint.id}/rotate-secret`)
  const { id } = await sendTest(admin, endpoint)
  await whenDelivery(admin, id, ({ attempts }) => attempts.length === 1)
  const rows = await database.sql(
    statement<{ row: string }>(
      `SELECT j::text AS row FROM jobs j UNION ALL SELECT d::text FROM webhook_deliveries d
       UNION ALL SELECT e::text FROM events e`,
    ),
    [],
  )
  const jobs = await database.sql(statement<{ row: string }>('SELECT j::text AS row FROM jobs j'), [])
  t.ok(jobs.some(({ row }) => row.includes(id)))
  for (const known of [endpoint.secret, secret]) {
    const bare = known.slice('whsec_'.length)
    t.notOk(
      rows.some(({ row }) => row.includes(bare)),
      'no row',
    )
    t.notOk(
      server.logs.some((line) => line.includes(bare)),
      'no line',
    )
  }
  t.ok(server.logs.length > 0)
  t.notOk(
    jobs.some(({ row }) => row.includes('webhook-signature') || row.includes('"object"')),
    'a job contains only the id of its delivery',
  )
})

t.test('at the end every pending delivery has one job, and no other delivery has a job', async (t) => {
  t.same(await jobMisfits(server), [])
  t.same(server.errors, [])
})
