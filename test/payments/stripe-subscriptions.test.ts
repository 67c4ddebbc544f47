// Subscriptions that Stripe bills, as version 1.12 and before began them: periods, failures and
// cancellations, started at Stripe or here.
import t from 'tap'
import type { Person } from '../support/server/server.ts'
import { startStripeFixture } from '../support/payments/stripe-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'

const shop = await startStripeFixture(t)
const { server, stripe } = shop
const get = async (person: Person, id: string): Promise<any> =>
  (await person.client.get(`/payments/subscriptions/${id}`)).body
const orders = async (person: Person, id: string): Promise<any[]> =>
  (await person.client.get(`/payments/orders?subscription_id=${id}&order=asc`)).body.data
const time = (seconds: number): string => new Date(seconds * 1000).toISOString()
/** Runs a change at Stripe and delivers its webhooks. */
const changeAtStripe = async (work: () => void): Promise<void> => {
  const before = stripe.events.length
  work()
  await shop.deliverFrom(before)
}

t.test('a subscription starts, renews, fails, recovers and is canceled', async (t) => {
  const bob = await server.person()
  const { checkout, session } = await shop.openBilledCheckout(bob, {
    items: [{ price_id: shop.monthly, quantity: 2 }],
    metadata: { team: 'blue' },
  })
  const id = checkout.subscription_id
  t.match(await get(bob, id), { status: 'incomplete', current_period_start: null })
  await changeAtStripe(() => stripe.customer.pay(session))
  const subscription = stripe.subscriptions.get(session.subscription as string)!
  const [item] = subscription.items.data
  t.match(await get(bob, id), {
    status: 'active',
    current_period_start: time(item.current_period_start),
    current_period_end: time(item.current_period_end),
    latest_order_id: checkout.order_id,
    cancel_at_period_end: false,
  })
  t.match((await bob.client.get(`/payments/checkout/${checkout.id}`)).body, { status: 'complete' })

  await changeAtStripe(() => stripe.billing.renew(subscription, true))
  t.match(await get(bob, id), {
    status: 'active',
    current_period_start: time(item.current_period_start),
    current_period_end: time(item.current_period_end),
  })
  t.match(await orders(bob, id), [
    { status: 'paid', total_amount: 2000 },
    {
      status: 'paid',
      total_amount: 2000,
      checkout_id: null,
      metadata: { team: 'blue' },
      items: [{ quantity: 2, unit_amount: 1000, description: 'Team plan' }],
    },
  ])

  let unpaid: any
  await changeAtStripe(() => {
    unpaid = stripe.billing.renew(subscription, false)
  })
  const overdue = await get(bob, id)
  t.equal(overdue.status, 'past_due')
  t.match(
    (await orders(bob, id)).map(({ status }) => status),
    ['paid', 'paid', 'pending'],
  )
  t.match(
    await bob.client.post('/payments/checkout', {
      order_id: overdue.latest_order_id,
      success_url: 'https://a.example',
      cancel_url: 'https://a.example',
    }),
    { status: 409, body: { error: { details: { constraint: 'gateway' } } } },
  )
  t.match(await bob.client.post(`/payments/orders/${overdue.latest_order_id}/cancel`), { status: 409 })
  await changeAtStripe(() => stripe.billing.retry(unpaid, false))
  t.equal((await orders(bob, id)).length, 3)
  await changeAtStripe(() => stripe.billing.retry(unpaid, true))
  t.equal((await get(bob, id)).status, 'active')
  t.match(
    (await orders(bob, id)).map(({ status }) => status),
    ['paid', 'paid', 'paid'],
  )

  await changeAtStripe(() => stripe.billing.renew(subscription, false))
  await changeAtStripe(() => stripe.billing.end(subscription))
  t.match(await get(bob, id), { status: 'canceled' })
  t.match(
    (await orders(bob, id)).map(({ status }) => status),
    ['paid', 'paid', 'paid', 'canceled'],
  )
  t.same(await shop.eventTypes(bob), [
    'subscription.created',
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'subscription.updated',
    'order.created',
    'order.paid',
    'subscription.updated',
    'subscription.renewed',
    'order.created',
    'order.payment_failed',
    'subscription.updated',
    'subscription.past_due',
    'order.payment_failed',
    'order.paid',
    'subscription.updated',
    'subscription.renewed',
    'order.created',
    'order.payment_failed',
    'subscription.updated',
    'subscription.past_due',
    'subscription.canceled',
    'order.canceled',
  ])
  await shop.waitForJobs()
  t.notOk(
    stripe.requests.some(({ method }) => method === 'DELETE'),
    'a subscription that Stripe canceled is not canceled there again',
  )
})

t.test('a subscription is canceled at period end and resumed', async (t) => {
  const bob = await server.person()
  const { checkout, subscription } = await shop.subscribe(bob)
  const id = checkout.subscription_id
  await shop.deliverFrom(0)
  t.match(await bob.client.post(`/payments/subscriptions/${id}/cancel`), {
    status: 200,
    body: { cancel_at_period_end: true, status: 'active' },
  })
  await waitUntil(() => subscription.cancel_at_period_end, 'the cancellation sync')
  await shop.waitForJobs()
  t.match(await get(bob, id), { cancel_at_period_end: true })
  t.match(await bob.client.post(`/payments/subscriptions/${id}/resume`), {
    status: 200,
    body: { cancel_at_period_end: false },
  })
  await waitUntil(() => !subscription.cancel_at_period_end, 'the sync of the resumption')
  await shop.waitForJobs()
  await changeAtStripe(() => stripe.customer.cancel(subscription))
  t.match(await get(bob, id), { cancel_at_period_end: true }, "customers can do it on a page of Stripe's")
  await bob.client.post(`/payments/subscriptions/${id}/resume`)
  await waitUntil(() => subscription.cancel_at === null, 'the sync of the second resumption')
  await shop.waitForJobs()
  t.match(await get(bob, id), { cancel_at_period_end: false, status: 'active' })
  await shop.deliverFrom(0)
  t.match(await get(bob, id), { cancel_at_period_end: false, status: 'active' })
})

t.test('a subscription is canceled immediately', async (t) => {
  const bob = await server.person()
  const { checkout, subscription } = await shop.subscribe(bob)
  await shop.deliverFrom(0)
  t.match(
    await bob.client.post(`/payments/subscriptions/${checkout.subscription_id}/cancel`, {
      at_period_end: false,
    }),
    { status: 200, body: { status: 'canceled' } },
  )
  await waitUntil(() => subscription.status === 'canceled', 'the cancellation at Stripe')
  await shop.deliverFrom(0)
  await shop.waitForJobs()
  t.equal((await shop.eventTypes(bob)).filter((type) => type === 'subscription.canceled').length, 1)
  t.equal((await shop.order(bob, checkout.order_id)).status, 'paid', 'the cancellation refunds nothing')
})

t.test("Stripe's state is ignored while a cancellation is pending", async (t) => {
  const bob = await server.person()
  const { checkout, subscription } = await shop.subscribe(bob)
  const id = checkout.subscription_id
  await shop.deliverFrom(0)
  await shop.waitForJobs()
  stripe.fail({ status: 500 }, { on: /^POST \/v1\/subscriptions/ })
  await bob.client.post(`/payments/subscriptions/${id}/cancel`)
  await changeAtStripe(() => stripe.billing.renew(subscription, true))
  t.match(await get(bob, id), { cancel_at_period_end: true }, "Stripe's older state changes nothing")
  t.equal((await orders(bob, id)).length, 2, 'but a payment is applied')
  stripe.clearFaults()
  await waitUntil(
    async () => (await shop.makeJobsDue()) === 0 && subscription.cancel_at_period_end,
    'the cancellation sync',
  )
  await shop.waitForJobs()
  t.match(await get(bob, id), {
    cancel_at_period_end: true,
    current_period_end: time(subscription.items.data[0].current_period_end),
  })
})

t.test('outdated state changes nothing except for payments', async (t) => {
  const bob = await server.person()
  const { checkout, subscription } = await shop.subscribe(bob)
  const id = checkout.subscription_id
  await shop.deliverFrom(0)
  const paid = stripe.events.findLast(({ type }) => type === 'invoice.paid')!
  const { received, release } = stripe.holdResponse(/^GET \/v1\/subscriptions/)
  const late = stripe.deliver(server.url, stripe.duplicateEvent(paid))
  await received
  await changeAtStripe(() => stripe.customer.cancel(subscription))
  t.match(await get(bob, id), { cancel_at_period_end: true })
  release()
  t.equal((await late).status, 200)
  t.match(await get(bob, id), { cancel_at_period_end: true })

  const second = stripe.holdResponse(/^GET \/v1\/subscriptions/)
  const before = stripe.events.length
  stripe.billing.renew(subscription, true)
  const renewed = stripe.deliver(
    server.url,
    stripe.events.slice(before).find(({ type }) => type === 'invoice.paid')!,
  )
  await second.received
  await bob.client.post(`/payments/subscriptions/${id}/resume`)
  second.release()
  t.equal((await renewed).status, 200)
  t.match(
    (await orders(bob, id)).map(({ status }) => status),
    ['paid', 'paid'],
  )
  await waitUntil(() => subscription.cancel_at === null, 'the cancellation sync')
  await shop.waitForJobs()
  t.match(await get(bob, id), {
    cancel_at_period_end: false,
    current_period_end: time(subscription.items.data[0].current_period_end),
  })
})

t.test('a bank payment starts a subscription when it succeeds', async (t) => {
  const bob = await server.person()
  const { checkout, session } = await shop.openBilledCheckout(bob)
  await changeAtStripe(() => stripe.customer.payByBank(session))
  t.match(await get(bob, checkout.subscription_id), { status: 'incomplete' })
  t.match(await shop.openPage(checkout), { status: 303, location: 'https://shop.example/thanks' })
  await changeAtStripe(() => stripe.billing.retry(stripe.invoices.get(session.invoice as string)!, true))
  t.match(await get(bob, checkout.subscription_id), { status: 'active' })
  t.equal((await shop.order(bob, checkout.order_id)).status, 'paid')
  t.match((await bob.client.get(`/payments/checkout/${checkout.id}`)).body, { status: 'complete' })
})

t.test('a payment of an expired session is refunded and starts no subscription', async (t) => {
  const bob = await server.person()
  await server.stopWork()
  const { checkout, session } = await shop.openBilledCheckout(bob)
  await bob.client.post(`/payments/checkout/${checkout.id}/expire`)
  t.match(await get(bob, checkout.subscription_id), { status: 'canceled' })
  const before = stripe.events.length
  stripe.customer.pay(session)
  await shop.deliverFrom(before)
  await server.work()
  const subscription = stripe.subscriptions.get(session.subscription as string)!
  await waitUntil(() => subscription.status === 'canceled', 'the cancellation at Stripe')
  await shop.waitForJobs()
  await shop.deliverFrom(before)
  t.match([...stripe.refunds.values()].at(-1), { amount: 1000, status: 'succeeded' })
  t.equal(stripe.refunds.size, 1)
  const { rows } = await server.services.database.pool.query(
    'SELECT status FROM payments WHERE order_id = $1',
    [checkout.order_id],
  )
  t.same(rows, [{ status: 'returned' }])
  t.equal((await shop.order(bob, checkout.order_id)).status, 'canceled')
})

t.test("a refund of a renewal refunds the payment of the renewal's invoice", async (t) => {
  const bob = await server.person()
  const { checkout, subscription } = await shop.subscribe(bob)
  await shop.deliverFrom(0)
  const invoice = stripe.billing.renew(subscription, true)
  await shop.deliverFrom(0)
  const [, renewal] = await orders(bob, checkout.subscription_id)
  t.equal(
    (await server.admin.client.post(`/payments/orders/${renewal.id}/refunds`, { amount: 300 })).status,
    201,
  )
  await waitUntil(async () => (await shop.order(bob, renewal.id)).refunded_amount === 300)
  t.equal(
    [...stripe.refunds.values()].at(-1)!.payment_intent,
    invoice.payments!.data[0].payment.payment_intent,
  )
})

t.test('a void invoice cancels its order', async (t) => {
  const bob = await server.person()
  const { checkout, subscription } = await shop.subscribe(bob)
  await shop.deliverFrom(0)
  let invoice: any
  await changeAtStripe(() => {
    invoice = stripe.billing.renew(subscription, false)
  })
  t.equal((await get(bob, checkout.subscription_id)).status, 'past_due')
  await changeAtStripe(() => stripe.billing.void(invoice))
  t.equal((await get(bob, checkout.subscription_id)).status, 'active')
  t.match(
    (await orders(bob, checkout.subscription_id)).map(({ status }) => status),
    ['paid', 'canceled'],
  )
})

t.test('the subscription of a deleted project is canceled at Stripe', async (t) => {
  const bob = await server.person()
  const { subscription } = await shop.subscribe(bob)
  await shop.deliverFrom(0)
  t.equal((await server.admin.client.delete(`/users/${bob.id}`)).status, 204)
  await changeAtStripe(() => stripe.billing.renew(subscription, true))
  await waitUntil(() => subscription.status === 'canceled', 'the cancellation at Stripe')
})

t.test('every write request to Stripe has an idempotency key', async (t) => {
  for (const { method, path, key, params } of stripe.requests)
    if (method !== 'GET' && params.mode !== 'subscription')
      t.match(key, /^(checkout|close|sync_cancellation|refund|return):/, `${method} ${path}`)
  t.same(
    server.errors.filter(({ message }) => !message.includes('sync_cancellation')),
    [],
  )
})

t.test('a status that Stripe sets is copied, and its events are sent once', async (t) => {
  const bob = await server.person()
  const before = stripe.events.length
  const { checkout, subscription } = await shop.subscribe(bob)
  await shop.deliverFrom(before)
  const id = checkout.subscription_id
  t.match(await get(bob, id), {
    items: [{ id: id.replace('sub_', 'sitm_'), price_id: shop.monthly, quantity: 1 }],
    price_id: shop.monthly,
    quantity: 1,
  })
  for (const status of [
    'trialing',
    'paused',
    'active',
    'unpaid',
    'trialing',
    'paused',
    'trialing',
  ] as const) {
    await changeAtStripe(() => stripe.billing.setStatus(subscription, status))
    t.equal((await get(bob, id)).status, status)
    t.match((await bob.client.get(`/payments/subscriptions?status=${status}`)).body.data, [{ id }])
  }
  t.equal((await bob.client.post(`/payments/subscriptions/${id}/resume`)).status, 200)
  subscription.trial_end = subscription.items.data[0].current_period_end
  for (let round = 0; round < 2; round++)
    await changeAtStripe(() => stripe.billing.announceTrialEnd(subscription))
  const types = await shop.eventTypes(bob)
  t.equal(types.filter((type) => type === 'subscription.trial_will_end').length, 1)
  t.equal(types.filter((type) => type === 'subscription.resumed').length, 2, 'from paused')
  await changeAtStripe(() => stripe.billing.setStatus(subscription, 'incomplete_expired'))
  t.match(await get(bob, id), { status: 'canceled' })
})
