// Resending a delivery: at once while it waits for its next attempt, not while an attempt is in flight, and
// never twice for one request.
import t from 'tap'
import { statement } from '../../infra/database/statements.ts'
import type { Reply } from '../support/http/client.ts'
import type { Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  deliveryNow,
  jobMisfits,
  makeEndpoint,
  sendTest,
  startWorkingServer,
  triedOnce,
  whenDelivery,
} from '../support/server/working-server.ts'

const server = await startWorkingServer(t)
const {
  services: { database },
} = server
const quiet = { event_types: ['profile.updated'] }
const failing = { ...quiet, answer: { status: 500 } }

const redeliver = async (person: Person, id: string): Promise<Reply> =>
  await person.client.post(`/webhooks/deliveries/${id}/redeliver`)
const redeliveries = statement<{ n: number }>(`
  SELECT count(*)::int AS n FROM events
  WHERE type = 'webhook_delivery.redelivered' AND data->'object'->>'id' = $1`)
const resent = async (id: string): Promise<number> => (await database.sql(redeliveries, [id]))[0].n

/** The number of replies with each status and constraint. */
function tally(replies: Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of replies) {
    const name = `${status} ${body?.error?.details.constraint ?? ''}`.trim()
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/** A promise with its resolve function. */
function promised(): { promise: Promise<void>; fulfil: () => void } {
  let fulfil = (): void => {}
  const promise = new Promise<void>((resolve) => {
    fulfil = resolve
  })
  return { promise, fulfil }
}

/** Moves the next attempt hours away, as after several failed ones. */
async function waitLong(id: string): Promise<void> {
  const next = new Date(Date.now() + 10 * 3_600_000)
  await database.sql(
    statement('UPDATE webhook_deliveries SET tries = 6, next_attempt_at = $2 WHERE id = $1'),
    [id, next],
  )
  await database.sql(statement("UPDATE jobs SET due_at = $2 WHERE data->>'delivery_id' = $1"), [id, next])
}

t.test('a delivery that waits for its next attempt is sent now', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, failing)
  const { id } = await triedOnce(person, endpoint)
  await waitLong(id)
  const before = Date.now()
  const reply = await redeliver(person, id)
  t.match(reply, { status: 202, body: { id, status: 'pending', attempts: { length: 1 } } })
  const due = Date.parse(reply.body.next_attempt_at)
  t.ok(Math.abs(due - before) < 60_000, `due now, not at ${reply.body.next_attempt_at}`)
  t.same(await jobMisfits(server), [], 'the delivery has one job')
  const again = await whenDelivery(person, id, ({ attempts }) => attempts.length === 2)
  t.equal(again.status, 'pending')
  const delay = Date.parse(again.next_attempt_at) - Date.parse(again.attempts[1].started_at)
  t.ok(delay < 60_000, `the schedule starts again: ${delay} ms`)
  t.equal(await resent(id), 1)

  await waitLong(id)
  endpoint.receiver.answer = {}
  t.match(await redeliver(person, id), { status: 202 })
  await whenDelivery(person, id, ({ status }) => status === 'succeeded')
  t.equal(endpoint.receiver.received.length, 3)
  t.equal(await resent(id), 2)
  t.same(await jobMisfits(server), [])
})

t.test('a pending delivery is not recovered, and one of a disabled endpoint not resent', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, failing)
  const { id } = await triedOnce(person, endpoint)
  const path = `/webhooks/endpoints/${endpoint.id}`
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => person.client.post(`${path}/recover`, { since: '2020-01-01T00:00:00Z' })),
  )
  t.ok(replies.every(({ body }) => body.recovered === 0))
  await waitLong(id)
  await person.client.put(path, { enabled: false })
  t.match(await redeliver(person, id), {
    status: 409,
    body: { error: { code: 'INVALID_STATE', details: { field: 'enabled', constraint: 'disabled' } } },
  })
  t.equal(endpoint.receiver.received.length, 1)
  t.equal(await resent(id), 0)
})

t.test('409 while an attempt is in flight; the same request works after its failure', async (t) => {
  const person = await server.person()
  const { promise, fulfil } = promised()
  const endpoint = await makeEndpoint(t, person, { ...quiet, answer: { status: 500, when: promise } })
  const { id } = await sendTest(person, endpoint)
  await waitUntil(() => endpoint.receiver.waiting === 1, 'the request to the endpoint')
  t.match(await redeliver(person, id), {
    status: 409,
    body: { error: { code: 'INVALID_STATE', details: { field: 'status', constraint: 'pending' } } },
  })
  fulfil()
  await whenDelivery(person, id, ({ attempts }) => attempts.length === 1)
  t.equal(endpoint.receiver.received.length, 1)
  await waitLong(id)
  endpoint.receiver.answer = {}
  t.match(await redeliver(person, id), { status: 202 })
  await whenDelivery(person, id, ({ status }) => status === 'succeeded')
  t.equal(endpoint.receiver.received.length, 2)
})

for (const state of ['succeeded', 'pending'] as const) {
  t.test(`ten concurrent requests to resend a delivery that is ${state} send it once`, async (t) => {
    const person = await server.person()
    const endpoint = await makeEndpoint(t, person, state === 'pending' ? failing : quiet)
    const { id } = await triedOnce(person, endpoint)
    if (state === 'pending') await waitLong(id)
    const { promise, fulfil } = promised()
    endpoint.receiver.answer = { when: promise }
    const replies = await Promise.all(Array.from({ length: 10 }, () => redeliver(person, id)))
    const { 202: accepted = 0, '409 pending': refused = 0 } = tally(replies)
    t.ok(accepted >= 1, 'the first request, and those before the attempt')
    t.equal(accepted + refused, 10, JSON.stringify(tally(replies)))
    t.equal(await resent(id), 1, 'one request changed the delivery')
    fulfil()
    await whenDelivery(person, id, ({ status }) => status === 'succeeded')
    t.equal(endpoint.receiver.received.length, 2)
    t.match(await deliveryNow(person, id), { attempts: { length: 2 } })
    t.same(await jobMisfits(server), [])
  })
}

t.test('a request and a worker that fetches the job at the same time send the delivery once', async (t) => {
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, failing)
  for (let round = 1; round <= 5; round++) {
    endpoint.receiver.answer = { status: 500 }
    const sent = endpoint.receiver.received.length
    const { id } = await triedOnce(person, endpoint)
    endpoint.receiver.answer = {}
    // The retry becomes due while the requests arrive.
    const next = new Date(Date.now() + 40)
    await database.sql(statement('UPDATE webhook_deliveries SET next_attempt_at = $2 WHERE id = $1'), [
      id,
      next,
    ])
    await database.sql(statement("UPDATE jobs SET due_at = $2 WHERE data->>'delivery_id' = $1"), [id, next])
    const replies = await Promise.all(Array.from({ length: 8 }, () => redeliver(person, id)))
    // Requests after the success send the delivery again, several of them once if they arrive together.
    const late = replies.filter(({ body }) => body.attempts?.at(-1)?.response_status === 200).length
    const least = sent + 2 + Math.min(late, 1)
    await waitUntil(() => endpoint.receiver.received.length >= least, 'the attempts')
    await whenDelivery(person, id, ({ status }) => status === 'succeeded')
    await waitUntil(async () => (await jobMisfits(server)).length === 0, 'one job for each pending delivery')
    const { attempts } = await deliveryNow(person, id)
    t.equal(endpoint.receiver.received.length, sent + attempts.length, JSON.stringify(tally(replies)))
    t.ok(attempts.length <= 2 + late, `${attempts.length} attempts, ${late} requests after the success`)
  }
})
