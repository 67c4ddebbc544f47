// Stripe failures: unreachable, slow, rejecting or concurrent. Payments, refunds and events are neither lost
// nor repeated.
import t from 'tap'
import { createStripeClient } from '../../services/payments/stripe/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { startStripeFixture } from '../support/payments/stripe-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'

const shop = await startStripeFixture(t)
const { server, stripe } = shop
const { database, events, gateways, receiptMails, dunning, usageDays } = server.services
const gateway = gateways.remote('stripe')!
const count = async (person: Person, type: string): Promise<number> =>
  (await shop.eventTypes(person)).filter((one) => one === type).length
const rows = async (query: string, ...values: unknown[]): Promise<any[]> =>
  (await database.pool.query(query, values)).rows
const refund = async (order: string, amount?: number): Promise<any> => {
  const reply = await server.admin.client.post(
    `/payments/orders/${order}/refunds`,
    amount === undefined ? {} : { amount },
  )
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}
const refundNow = async (person: Person, { id, order_id: order }: any): Promise<any> =>
  (await person.client.get(`/payments/orders/${order}/refunds/${id}`)).body
const refundsAtStripe = (id: string) =>
  [...stripe.refunds.values()].filter(({ metadata }) => metadata?.refund_id === id)

/** A user with a paid order. */
async function buyer(): Promise<{ bob: Person; order: string; intent: string }> {
  const bob = await server.person()
  const { checkout, session } = await shop.openCheckout(bob)
  stripe.customer.pay(session)
  await shop.openPage(checkout, '/return')
  return { bob, order: checkout.order_id, intent: session.payment_intent as string }
}

t.test('200 concurrent notifications pay an order once', async (t) => {
  const bob = await server.person()
  const { checkout, session } = await shop.openCheckout(bob)
  stripe.customer.pay(session)
  const event = stripe.events.findLast(({ type }) => type === 'checkout.session.completed')!
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, i) => [
      shop.openPage(checkout, '/return').then(({ status }) => status),
      stripe
        .deliver(server.url, i % 2 === 0 ? event : stripe.duplicateEvent(event))
        .then(({ status }) => status),
    ]).flat(),
  )
  t.same(
    all.filter((status) => status !== 303 && status !== 200),
    [],
  )
  t.equal((await shop.order(bob, checkout.order_id)).status, 'paid')
  t.same(await shop.eventTypes(bob), [
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
  ])
  t.match(await rows('SELECT status, amount FROM payments WHERE order_id = $1', checkout.order_id), [
    { status: 'succeeded', amount: '1999' },
  ])
  await shop.waitForJobs()
  t.equal(stripe.refunds.size, 0)
})

t.test('concurrent visits create one Stripe session', async (t) => {
  const checkout = await shop.checkout(await server.person())
  const visits = await Promise.all(Array.from({ length: 20 }, () => shop.openPage(checkout)))
  t.equal(new Set(visits.map(({ location }) => location)).size, 1)
  t.equal(visits[0].location, stripe.sessionFor(checkout.id).url)
})

t.test('a payment page that failed to be created works once Stripe is back', async (t) => {
  const bob = await server.person()
  const checkout = await shop.checkout(bob)
  stripe.fail('reset')
  const refused = await shop.openPage(checkout)
  t.match(refused, { status: 503 })
  t.match(
    await shop.openPage(checkout, '/return'),
    { status: 303 },
    'without a Stripe session there is nothing to poll',
  )
  stripe.clearFaults()
  stripe.fail('reset after', { on: /^POST \/v1\/checkout\/sessions$/, times: 3 })
  t.match(await shop.openPage(checkout), { status: 503 }, 'the response was lost')
  stripe.clearFaults()
  t.match(
    await shop.openPage(checkout),
    { status: 303, location: stripe.sessionFor(checkout.id).url },
    'the same page as the one whose response was lost',
  )
  t.equal(stripe.requests.at(-1)!.replayed, true)
  t.match((await bob.client.get(`/payments/checkout/${checkout.id}`)).body, { status: 'open' })
})

t.test(
  'while Stripe is unreachable, the return page and the webhook are 503 and can be retried',
  async (t) => {
    const bob = await server.person()
    const { checkout, session } = await shop.openCheckout(bob)
    stripe.customer.pay(session)
    const event = stripe.events.at(-1)!
    for (const fault of ['reset', { status: 500 }, { status: 429, retryAfter: 1 }] as const) {
      stripe.fail(fault)
      const back = await shop.openPage(checkout, '/return')
      t.equal(back.status, 503)
      const reply = await stripe.deliver(server.url, event)
      t.equal(reply.status, 503)
      t.ok(Number(reply.headers.get('retry-after')) > 0)
      stripe.clearFaults()
    }
    t.equal((await shop.order(bob, checkout.order_id)).status, 'pending')
    t.equal((await stripe.deliver(server.url, event)).status, 200)
    t.equal((await shop.order(bob, checkout.order_id)).status, 'paid')
  },
)

t.test('a refund is retried until Stripe is reachable', async (t) => {
  const { bob, order } = await buyer()
  stripe.fail('reset', { on: /refunds/ })
  const requested = await refund(order, 700)
  t.equal(requested.status, 'pending')
  await waitUntil(
    async () =>
      (
        await rows(
          `SELECT data FROM jobs WHERE queue = 'gateway' AND data->>'id' = $1
            AND (data->>'tries')::int = 1`,
          requested.id,
        )
      ).length === 1,
    'the first failed attempt',
  )
  t.match(await shop.order(bob, order), { status: 'paid', refunded_amount: 0 })
  t.match(
    await server.admin.client.post(`/payments/orders/${order}/refunds`, { amount: 1300 }),
    { status: 400 },
    'the amount of a pending refund is reserved',
  )
  stripe.clearFaults()
  stripe.fail({ status: 429, retryAfter: 500 }, { on: /refunds/, times: 3 })
  await shop.makeJobsDue()
  const later = `SELECT due_at > now() + interval '400 seconds' AS later FROM jobs
    WHERE queue = 'gateway'
      AND data->>'id' = $1 AND (data->>'tries')::int = 2`
  await waitUntil(
    async () => (await rows(later, requested.id))[0]?.later === true,
    'the second failed attempt, with Retry-After',
  )
  stripe.clearFaults()
  await shop.makeJobsDue()
  await waitUntil(async () => (await refundNow(bob, requested)).status === 'succeeded')
  t.match(refundsAtStripe(requested.id), [{ amount: 700 }])
  t.equal(await count(bob, 'refund.updated'), 1)
})

t.test(
  'a refund whose response was lost is not repeated, even after its idempotency key has expired',
  async (t) => {
    const { bob, order } = await buyer()
    stripe.fail('reset after', { on: /^POST \/v1\/refunds$/ })
    const requested = await refund(order, 700)
    await waitUntil(
      async () =>
        (
          await rows(
            `SELECT 1 FROM jobs WHERE queue = 'gateway' AND data->>'id' = $1
              AND (data->>'tries')::int = 1`,
            requested.id,
          )
        ).length === 1,
    )
    t.equal(refundsAtStripe(requested.id).length, 1)
    stripe.forgetIdempotencyKeys()
    stripe.clearFaults()
    await shop.makeJobsDue()
    await waitUntil(async () => (await refundNow(bob, requested)).status === 'succeeded')
    t.equal(refundsAtStripe(requested.id).length, 1)
    t.match(await shop.order(bob, order), { status: 'partially_refunded', refunded_amount: 700 })
  },
)

t.test('a job that runs twice, or again after a crash, has one effect', async (t) => {
  const { bob, order, intent } = await buyer()
  await server.stopWork()
  const requested = await refund(order, 500)
  const job = { task: 'refund', id: requested.id, tries: 0 } as const
  const perform = (repeated: boolean) =>
    gateway.perform(database, { events, gateways, receiptMails, dunning, usageDays }, job, {
      repeated,
      attempt: String(Math.random()),
    })
  // Stripe has created the refund, and the server has crashed before it recorded that.
  stripe.fail('reset after', { on: /^POST \/v1\/refunds$/ })
  await t.rejects(perform(false), { message: /^Stripe request failed/, retryable: true })
  stripe.clearFaults()
  await Promise.all([perform(true), perform(true), perform(false)])
  await perform(true)
  t.equal(refundsAtStripe(requested.id).length, 1)
  t.equal([...stripe.refunds.values()].filter(({ payment_intent: of }) => of === intent).length, 1)
  await server.work()
  await shop.waitForJobs()
  t.equal(refundsAtStripe(requested.id).length, 1)
  t.match(await shop.order(bob, order), { refunded_amount: 500 })
  t.equal(await count(bob, 'order.refunded'), 1)
})

t.test('a refund that fails at Stripe fails here, and its amount can be refunded again', async (t) => {
  const { bob, order, intent } = await buyer()
  stripe.refundOutcome = 'pending'
  const late = await refund(order, 1999)
  await waitUntil(() => refundsAtStripe(late.id).length === 1)
  await shop.waitForJobs()
  t.match(await server.admin.client.post(`/payments/orders/${order}/refunds`, { amount: 1 }), { status: 409 })
  const before = stripe.events.length
  stripe.billing.completeRefund(refundsAtStripe(late.id)[0], 'failed')
  await shop.deliverFrom(before)
  t.equal((await refundNow(bob, late)).status, 'failed')
  t.match(await shop.order(bob, order), { status: 'paid', refunded_amount: 0 })

  // An operator refunds the payment in Stripe's dashboard: nothing is left to refund.
  stripe.refundOutcome = 'succeeded'
  const elsewhere = await fetch(`${stripe.url}/v1/refunds`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stripe.secretKey}`, 'stripe-version': '2026-10-28.endive' },
    body: `payment_intent=${intent}`,
  })
  t.equal(elsewhere.status, 200)
  const refused = await refund(order, 100)
  await waitUntil(async () => (await refundNow(bob, refused)).status === 'failed')
  t.match(await shop.order(bob, order), { status: 'paid', refunded_amount: 0 })
  t.equal(await count(bob, 'refund.updated'), 2)
  t.equal(await count(bob, 'order.refunded'), 0)
})

t.test('a refund that succeeded and later failed stays succeeded', async (t) => {
  const { bob, order } = await buyer()
  const requested = await refund(order, 100)
  await waitUntil(async () => (await refundNow(bob, requested)).status === 'succeeded')
  const before = stripe.events.length
  stripe.billing.completeRefund(refundsAtStripe(requested.id)[0], 'failed')
  await shop.deliverFrom(before)
  t.equal((await refundNow(bob, requested)).status, 'succeeded')
  t.match(await shop.order(bob, order), { refunded_amount: 100 })
})

t.test('a payment of an expired session that could not be expired at Stripe is refunded', async (t) => {
  const bob = await server.person()
  const { checkout, session } = await shop.openCheckout(bob)
  stripe.fail('reset', { on: /expire$/ })
  await bob.client.post(`/payments/checkout/${checkout.id}/expire`)
  await waitUntil(
    () => stripe.requests.some(({ path }) => path.endsWith(`${session.id}/expire`)),
    'the attempt to expire it',
  )
  stripe.customer.pay(session)
  stripe.clearFaults()
  await waitUntil(async () => {
    await shop.makeJobsDue()
    return (
      (await rows('SELECT status FROM payments WHERE order_id = $1', checkout.order_id))[0]?.status ===
      'returned'
    )
  }, 'the refund')
  t.equal((await shop.order(bob, checkout.order_id)).status, 'canceled')
  t.equal(
    [...stripe.refunds.values()].filter(({ payment_intent: of }) => of === session.payment_intent).length,
    1,
  )
  t.equal(await count(bob, 'order.paid'), 0)
})

/** Makes the next attempt of a job, which has failed once, its eleventh: that is after three days. */
async function skipRetries(id: string): Promise<void> {
  const skip = `UPDATE jobs SET data = jsonb_set(data, '{tries}', '10'), due_at = now()
    WHERE queue = 'gateway' AND data->>'id' = $1 AND data->>'tries' = '1' AND fetches = 0 RETURNING 1`
  await waitUntil(async () => (await rows(skip, id)).length === 1, 'the first failed attempt')
}

/** Waits for the eleventh attempt. */
async function waitForLastRetry(task: string, id: string): Promise<void> {
  const message = `the task ${task} of ${id} failed 11 times and is retried in 86400 s`
  await waitUntil(() => server.errors.some((error) => error.message === message), message)
}

t.test('a refund is retried daily after three days, and an answer that was lost counts', async (t) => {
  const { bob, order } = await buyer()
  const { bob: eve, order: other } = await buyer()
  stripe.fail('reset after', { on: /^POST \/v1\/refunds$/ })
  stripe.fail({ status: 500 }, { on: /^GET \/v1\/refunds/ })
  const made = await refund(order, 700)
  await skipRetries(made.id)
  await waitForLastRetry('refund', made.id)
  t.equal(refundsAtStripe(made.id).length, 1, 'Stripe made it')
  t.equal((await refundNow(bob, made)).status, 'pending')
  stripe.clearFaults()
  stripe.fail({ status: 500 }, { on: /refunds/ })
  const unmade = await refund(other, 700)
  await skipRetries(unmade.id)
  await waitForLastRetry('refund', unmade.id)
  t.equal((await refundNow(eve, unmade)).status, 'pending')
  stripe.clearFaults()
  for (const [person, requested] of [
    [bob, made],
    [eve, unmade],
  ] as const) {
    await waitUntil(async () => {
      await shop.makeJobsDue()
      return (await refundNow(person, requested)).status === 'succeeded'
    }, 'the refund')
    t.match(refundsAtStripe(requested.id), [{ amount: 700 }], 'one refund')
  }
})

t.test('the refund of a late payment is retried daily after three days', async () => {
  const bob = await server.person()
  const { checkout, session } = await shop.openCheckout(bob)
  stripe.fail('reset', { on: /expire$/ })
  await bob.client.post(`/payments/checkout/${checkout.id}/expire`)
  stripe.customer.pay(session)
  stripe.clearFaults()
  stripe.fail({ status: 500 }, { on: /refunds/ })
  const [{ id }] = await waitUntil(async () => {
    await shop.makeJobsDue()
    const late = await rows(
      "SELECT id FROM payments WHERE order_id = $1 AND status = 'returning'",
      checkout.order_id,
    )
    return late.length === 1 ? late : null
  }, 'the late payment')
  await skipRetries(id)
  await waitForLastRetry('refund_late_payment', id)
  stripe.clearFaults()
  await waitUntil(async () => {
    await shop.makeJobsDue()
    return (await rows('SELECT status FROM payments WHERE id = $1', id))[0].status === 'returned'
  }, 'the refund')
})

t.test('other jobs are given up after three days of failures', async () => {
  const bob = await server.person()
  const { checkout } = await shop.openCheckout(bob)
  stripe.fail({ status: 500 }, { on: /sessions/ })
  await bob.client.post(`/payments/checkout/${checkout.id}/expire`)
  await skipRetries(checkout.id)
  const message = `the task close of ${checkout.id} failed 11 times and is abandoned`
  await waitUntil(() => server.errors.some((error) => error.message === message), message)
  stripe.clearFaults()
  // The page has a job of its own, which closes the session after its time.
  const left = `SELECT 1 FROM jobs WHERE queue = 'gateway' AND data->>'id' = $1
    AND (data->>'tries')::int > 0`
  await waitUntil(async () => (await rows(left, checkout.id)).length === 0, 'the end of the job')
})

t.test('requests to Stripe time out', async (t) => {
  const client = createStripeClient({
    secretKey: stripe.secretKey,
    webhookSecret: 'whsec_x',
    apiBase: stripe.url,
    timeoutMs: 300,
    retries: 1,
  })
  t.teardown(() => client.close())
  stripe.fail('hang')
  await t.rejects(
    client.request((api) => api.refunds.create({ payment_intent: 'pi_x' }, { idempotencyKey: 'refund:x' })),
    { message: /StripeConnectionError/, retryable: true },
  )
  stripe.clearFaults()
  t.equal(stripe.requests.filter(({ key }) => key === 'refund:x').length, 2, 'the retry is the same request')
})

t.test('an API key that Stripe rejects is never logged or returned', async (t) => {
  const other = await startServer(t, {
    env: { ...stripe.env, STRIPE_SECRET_KEY: 'sk_test_mistyped0123456789' },
    databaseUrl: server.databaseUrl,
  })
  const checkout = await shop.checkout(await server.person())
  const response = await fetch(`${other.url}/pay/${checkout.id}`, { redirect: 'manual' })
  t.equal(response.status, 503)
  const output = `${await response.text()} ${other.logs.join(' ')}`
  t.match(output, /StripeAuthenticationError/)
  t.notOk(output.includes('mistyped'))
})
