// Delivery attempts: which responses are a success, the retry schedule, what is recorded of each attempt, and
// misbehaving endpoints.
import { createServer } from 'node:net'
import t from 'tap'
import { createWebhookClient } from '../../services/webhooks/http-client.ts'
import { openReceiver, type ReceiverBehavior } from '../support/http/receiver.ts'
import { openListenerTrap } from '../support/database/listener-trap.ts'
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
} from '../support/server/working-server.ts'
import { listen } from '../support/http/listen.ts'

const timeout = 1_500
const server = await startWorkingServer(t, {
  timeout,
  lookup: (_hostname, _options, callback) =>
    callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []),
})
const { admin } = server
/** Endpoints that receive only test events, because no test changes a profile. */
const quiet = { event_types: ['profile.updated'] }
const delays = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600]

t.test('a failing delivery is tried ten times with growing delays, and then fails', async (t) => {
  const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { status: 500, body: 'later' } })
  const { id } = await sendTest(admin, endpoint)
  for (const [i, delay] of delays.entries()) {
    const {
      status,
      attempts,
      next_attempt_at: next,
    } = await whenDelivery(admin, id, ({ attempts }) => attempts.length === i + 1, `attempt ${i + 1}`)
    t.equal(status, 'pending')
    const { started_at: started, duration_ms: duration } = attempts[i]
    const wait = (Date.parse(next) - Date.parse(started) - duration) / 1000
    t.ok(wait >= delay && wait <= delay * 1.1 + 0.05, `${delay} s with jitter: ${wait} s`)
    t.equal(await bringForward(server), 1)
  }
  const given = await whenDelivery(admin, id, ({ status }) => status !== 'pending', 'the end')
  t.match(given, { status: 'failed', next_attempt_at: null })
  t.equal(given.attempts.length, 10)
  for (const attempt of given.attempts)
    t.match(attempt, { response_status: 500, response_body: 'later', error: 'The endpoint answered 500.' })
  t.equal(await bringForward(server), 0, 'no attempt is due')
  t.equal(endpoint.receiver.received.length, 10)
  t.equal(
    new Set(endpoint.receiver.received.map(({ headers }) => headers['webhook-id'])).size,
    1,
    'all attempts have one id',
  )
  t.ok(endpoint.receiver.received.every(({ verified }) => verified))
})

t.test('the next attempt waits for the Retry-After of a 429 or 503, at most 24 hours', async (t) => {
  const hour = 3600
  const cases: Array<[number, () => string, number]> = [
    [429, () => '60', 60],
    [503, () => new Date(Date.now() + hour * 1000).toUTCString(), hour],
    [429, () => '999999999999', 24 * hour],
    [503, () => new Date('9000-01-01').toUTCString(), 24 * hour],
    // The delay of the schedule is longer, the value is invalid, or the status does not say when.
    [429, () => '1', 5],
    [429, () => '-60', 5],
    [503, () => 'tomorrow', 5],
    [500, () => '60', 5],
  ]
  await Promise.all(
    cases.map(async ([status, value, seconds]) => {
      const header = value()
      const answer = { status, headers: { 'retry-after': header } }
      const endpoint = await makeEndpoint(t, admin, { ...quiet, answer })
      const { next_attempt_at: next, attempts } = await triedOnce(admin, endpoint)
      const [{ started_at: started, duration_ms: duration }] = attempts
      const wait = (Date.parse(next) - Date.parse(started) - duration) / 1000
      // A date has no milliseconds, and the schedule has jitter.
      t.ok(wait >= seconds - 3 && wait <= seconds * 1.1 + 0.5, `${status} ${header}: ${wait} s`)
    }),
  )
})

t.test('deliveries are retried at different times, because of the jitter', async (t) => {
  const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { status: 500 } })
  const waits = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const {
        next_attempt_at: next,
        attempts: [{ started_at: started, duration_ms: duration }],
      } = await triedOnce(admin, endpoint)
      return Date.parse(next) - Date.parse(started) - duration
    }),
  )
  t.ok(new Set(waits).size > 5, `${waits}`)
})

t.test('resending restarts the schedule, and the last 20 attempts are kept', async (t) => {
  const endpoint = await makeEndpoint(t, admin, {
    ...quiet,
    answer: ({ event }) => ({ status: 500, body: `${event.type} ${endpoint.receiver.received.length}` }),
  })
  const { id } = await sendTest(admin, endpoint)
  for (let tries = 1; tries <= 23; tries++) {
    await waitUntil(
      async () =>
        (await deliveryNow(admin, id)).attempts.at(-1)?.response_body === `webhook_endpoint.tested ${tries}`,
      `attempt ${tries}`,
    )
    if (tries % 10 === 0)
      t.match(await admin.client.post(`/webhooks/deliveries/${id}/redeliver`), {
        status: 202,
        body: { status: 'pending' },
      })
    else await bringForward(server)
  }
  const { status, attempts } = await whenDelivery(admin, id, ({ attempts }) =>
    attempts.at(-1).response_body.endsWith(' 24'),
  )
  t.equal(status, 'pending')
  t.same(
    attempts.map((attempt: any) => attempt.response_body),
    Array.from({ length: 20 }, (_, i) => `webhook_endpoint.tested ${i + 5}`),
  )
})

t.test('only a 2xx response is a success', async (t) => {
  const trap = await openListenerTrap(t)
  const headers = { location: `http://127.0.0.1:${trap.port}/elsewhere` }
  await Promise.all(
    [200, 201, 202, 204, 226, 299].map(async (code) => {
      const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { status: code, headers } })
      const delivery = await triedOnce(admin, endpoint)
      t.match(
        delivery,
        { status: 'succeeded', next_attempt_at: null, attempts: [{ response_status: code, error: null }] },
        `${code} is one`,
      )
    }),
  )
  await Promise.all(
    [300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 408, 409, 429, 500, 502, 503].map(async (code) => {
      const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { status: code, headers } })
      const delivery = await triedOnce(admin, endpoint)
      t.match(
        delivery,
        { status: 'pending', attempts: [{ response_status: code, error: `The endpoint answered ${code}.` }] },
        `${code} is none`,
      )
      t.equal(endpoint.receiver.received.length, 1)
    }),
  )
  t.equal(trap.arrived(), 0, 'no redirect was followed')
})

t.test('the start of any response body is recorded as text', async (t) => {
  const answers: Array<{
    name: string
    answer: ReceiverBehavior
    response_body: string
    response_status?: number
  }> = [
    { name: 'nothing', answer: { body: '' }, response_body: '' },
    { name: 'more than 1 KiB', answer: { body: 'x'.repeat(2000) }, response_body: 'x'.repeat(1024) },
    {
      name: 'ten megabytes',
      answer: { body: Buffer.alloc(10_000_000, 'y'), status: 500 },
      response_body: 'y'.repeat(1024),
      response_status: 500,
    },
    { name: 'zeros', answer: { body: Buffer.alloc(3) }, response_body: '\ufffd\ufffd\ufffd' },
    {
      name: 'binary data',
      answer: { body: Buffer.from([0xff, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80]) },
      response_body: '\ufffd\ufffd\ufffd(\ufffd\ufffd\ufffd',
    },
    {
      name: 'characters that are special in JSON and SQL',
      answer: { body: '\\u0000 "\'; \u2028\u{1f600}' },
      response_body: '\\u0000 "\'; \u2028\u{1f600}',
    },
  ]
  await Promise.all(
    answers.map(async ({ name, answer, response_body, response_status = 200 }) => {
      const endpoint = await makeEndpoint(t, admin, { ...quiet, answer })
      const {
        attempts: [attempt],
      } = await triedOnce(admin, endpoint)
      t.match(attempt, { response_status, response_body }, name)
      t.ok(Buffer.byteLength(attempt.response_body) <= 1024, `${name}: at most 1 KiB`)
    }),
  )
})

t.test('an attempt without a response records the reason', async (t) => {
  const odd = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.end('HTTP/1.1 199 Almost\r\n\r\n'))
  })
  const port = await listen(t, odd)
  const closed = await openListenerTrap(t)
  const cases: Array<{ name: string; answer?: ReceiverBehavior; url?: string; error: RegExp }> = [
    { name: 'no response', answer: 'never', error: /within 1\.5 seconds/ },
    { name: 'a closed connection', answer: 'hangup', error: /closed|connection/i },
    { name: 'a closed port', url: 'http://127.0.0.1:1/', error: /connection/i },
    {
      name: 'a server that destroys every connection',
      url: `http://127.0.0.1:${closed.port}/`,
      error: /closed|connection/i,
    },
    { name: 'only an interim response', url: `http://127.0.0.1:${port}/`, error: /./ },
    { name: 'an unknown host name', url: 'http://nowhere.example/', error: /host name/ },
    { name: 'no TLS', url: `https://127.0.0.1:${port}/`, error: /TLS/ },
  ]
  await Promise.all(
    cases.map(async ({ name, answer, url, error }) => {
      const endpoint = await makeEndpoint(t, admin, { ...quiet, answer, ...(url !== undefined && { url }) })
      const delivery = await triedOnce(admin, endpoint)
      t.match(
        delivery,
        { status: 'pending', attempts: [{ response_status: null, response_body: null, error }] },
        name,
      )
      const { duration_ms: duration } = delivery.attempts[0]
      t.ok(answer === 'never' ? duration >= timeout - 10 : duration < timeout, `${name}: ${duration} ms`)
    }),
  )
})

t.test('a request may take 15 seconds by default', async (t) => {
  const receiver = await openReceiver(t, { answer: 'never' })
  const webhookClient = createWebhookClient({ allowed: ['127.0.0.0/8'] })
  const { setTimeout } = globalThis
  t.teardown(() => {
    globalThis.setTimeout = setTimeout
  })
  // Only the clock of this client runs fast.
  globalThis.setTimeout = ((work: () => void, milliseconds: number) =>
    setTimeout(work, milliseconds === 15_000 ? 50 : milliseconds)) as typeof setTimeout
  await t.rejects(webhookClient.post(receiver.url, { headers: {}, body: '{}' }), {
    reason: 'timeout',
    message: /within 15 seconds/,
  })
  await webhookClient.close()
})

t.test('at the end every pending delivery has one job, and no other delivery has a job', async (t) => {
  t.same(await jobMisfits(server), [])
  t.same(server.errors, [])
})
