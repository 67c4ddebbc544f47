// Subscriptions that this platform bills and Stripe charges: the first payment and its stored card, renewals,
// declines and recovery, changes, and charges whose outcome is late, lost or reported twice.
import t, { type Test } from 'tap'
import type { BackgroundWorkers } from '../../services/background.ts'
import { advanceClock } from '../../services/payments/worker.ts'
import { paymentsNow } from '../../services/payments/clock.ts'
import { post } from '../../services/payments/ledger.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { addPrice, eventTypesOf } from '../support/operations/catalog-fixtures.ts'
import type { Person } from '../support/server/server.ts'
import { stripeCards } from '../support/payments/stripe.ts'
import { startStripeFixture } from '../support/payments/stripe-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'

const shop = await startStripeFixture(t)
const { server, stripe } = shop
const { database } = server.services
const day = 86_400_000
const recurring = { interval: 'month', interval_count: 1 }
const monthly = (amount: number, fields: object = {}): Promise<string> =>
  addPrice(server.admin.client, shop.product, { unit_amount: amount, recurring: { ...recurring, ...fields } })
const [basic, pro] = [await monthly(1_000), await monthly(3_000)]

const path = (id: string, action = ''): string => `/payments/subscriptions/${id}${action}`
const read = async ({ client }: Person, id: string): Promise<any> => (await client.get(path(id))).body
const ordersOf = async ({ client }: Person, id: string): Promise<any[]> =>
  (await client.get(`/payments/orders?subscription_id=${id}&order=asc`)).body.data
const paymentsOf = async (order: string): Promise<any[]> =>
  (await server.admin.client.get(`/payments/payments?order_id=${order}&order=asc`)).body.data
const advanceTo = async (to: string | Date): Promise<void> =>
  await advanceClock(database, server.services, new Date(to))

/** Pays a session of the platform on Stripe's page. */
async function pay(person: Person, body: object, number?: string): Promise<any> {
  const before = stripe.events.length
  const { checkout, session } = await shop.openCheckout(person, body as Record<string, unknown>)
  stripe.customer.pay(session, number)
  await shop.deliverFrom(before)
  return checkout
}

/** Cancels the subscriptions of a test. */
const begun: Array<() => Promise<unknown>> = []

/** Begins a subscription with a stored card. @returns its id and the end of its first period. */
async function begin(
  person: Person,
  { number, price = basic }: { number?: string; price?: string } = {},
): Promise<{ id: string; end: string; checkout: any }> {
  const checkout = await pay(person, { mode: 'subscription', items: [{ price_id: price }] }, number)
  const id = checkout.subscription_id
  begun.push(() => person.client.post(path(id, '/cancel'), { at_period_end: false }))
  return { id, end: (await read(person, id)).current_period_end, checkout }
}

let worker: BackgroundWorkers | null = null
async function work(): Promise<void> {
  worker ??= await server.work()
}
async function stopWork(): Promise<void> {
  await server.stopWork()
  await worker?.stop()
  worker = null
}

const atStripe = (): number => [...stripe.intents.values()].filter(({ customer }) => customer !== null).length

t.afterEach(async () => {
  stripe.clearFaults()
  await Promise.all(begun.splice(0).map((cancel) => cancel()))
  t.same(
    server.errors.splice(0).filter(({ message }) => !message.startsWith('the task charge of')),
    [],
    'no errors',
  )
})

t.test('the first payment stores the card, which pays the renewals', async (t) => {
  const ada = await server.person()
  const { id, end, checkout } = await begin(ada)
  t.match(stripe.requests.findLast(({ path }) => path === '/v1/checkout/sessions')!.params, {
    mode: 'payment',
    customer: /^cus_/,
    allowed_payment_method_types: ['card'],
    payment_intent_data: { setup_future_usage: 'off_session', metadata: { subscription_id: id } },
  })
  t.match(await read(ada, id), { status: 'active', current_period_start: String })
  const cards = `/payments/customers/${checkout.customer_id}/payment-methods`
  t.match((await server.admin.client.get(cards)).body.data, [
    { card: { brand: 'Visa', last4: '4242', exp_month: 12, exp_year: 2040 }, is_default: true },
  ])
  await stopWork()
  await advanceTo(end)
  t.match(await read(ada, id), { status: 'active', current_period_start: end }, 'the charge is pending')
  const [, renewal] = await ordersOf(ada, id)
  t.equal(renewal.status, 'pending')
  for (const request of [
    ada.client.put(path(id), { items: [{ price_id: pro }] }),
    ada.client.post(path(id, '/pause')),
    ada.client.post('/payments/checkout', {
      order_id: renewal.id,
      success_url: 'https://a.example',
      cancel_url: 'https://a.example',
    }),
  ])
    t.match(await request, {
      status: 409,
      body: { error: { details: { constraint: 'payment_in_progress' } } },
    })
  await work()
  await shop.waitForJobs()
  t.match(await ordersOf(ada, id), [{ status: 'paid' }, { status: 'paid', total_amount: 1_000 }])
  t.match(await paymentsOf(renewal.id), [
    { status: 'succeeded', card: { brand: 'Visa', last4: '4242' }, checkout_id: null },
  ])
  await shop.deliverFrom(0)
  t.same(await eventTypesOf(server, id, renewal.id), [
    'subscription.created',
    'subscription.updated',
    'order.created',
    'subscription.updated',
    'order.paid',
    'subscription.renewed',
  ])
  const next = (await read(ada, id)).current_period_end
  await advanceTo(next)
  await shop.waitForJobs()
  t.equal((await ordersOf(ada, id)).at(-1).status, 'paid', 'and again')
  t.equal(stripe.requests.filter(({ path }) => path === '/v1/customers').length, 1)
  t.equal(
    (await server.admin.client.post(`/payments/orders/${renewal.id}/refunds`, { amount: 300 })).status,
    201,
  )
  await shop.waitForJobs()
  t.match(await shop.order(ada, renewal.id), { refunded_amount: 300 })
  t.same(await ledgerViolations(database), [])
})

t.test('a decline makes the subscription past due; a retry or the customer recovers it', async (t) => {
  for (const [number, code] of [
    [stripeCards.renewalDeclined, 'card_declined'],
    [stripeCards.needsCustomer, 'authentication_required'],
  ]) {
    const ada = await server.person()
    const { id, end } = await begin(ada, { number })
    await advanceTo(end)
    await shop.waitForJobs()
    const overdue = await read(ada, id)
    t.match(overdue, { status: 'past_due', current_period_start: end }, code)
    const order = overdue.latest_order_id
    t.match(await paymentsOf(order), [{ status: 'failed', failure_code: code }])
    await advanceTo(new Date(Date.parse(end) + day))
    await shop.waitForJobs()
    t.equal((await paymentsOf(order)).length, 2, 'the retry')
    t.equal((await read(ada, id)).status, 'past_due')
    if (code === 'card_declined') {
      stripe.cards.delete(number)
      await advanceTo(new Date(Date.parse(end) + 3 * day))
      await shop.waitForJobs()
      stripe.cards.set(number, { declined: 'generic_decline' })
    } else await pay(ada, { items: undefined, order_id: order })
    t.match(await read(ada, id), { status: 'active', current_period_start: end })
    t.match(await shop.order(ada, order), { status: 'paid' })
    await shop.deliverFrom(0)
    t.same((await eventTypesOf(server, id, order)).slice(2), [
      'order.created',
      'subscription.updated',
      'order.payment_failed',
      'subscription.updated',
      'subscription.past_due',
      'order.payment_failed',
      'order.paid',
      'subscription.updated',
      'subscription.renewed',
    ])
  }
})

t.test('after the last retry the subscription ends', async (t) => {
  const ada = await server.person()
  const { id, end } = await begin(ada, { number: stripeCards.renewalDeclined })
  for (const days of [0, 1, 3, 5, 9, 14]) {
    await advanceTo(new Date(Date.parse(end) + days * day))
    await shop.waitForJobs()
  }
  const ended = await read(ada, id)
  t.equal(ended.status, 'canceled')
  t.equal((await shop.order(ada, ended.latest_order_id)).status, 'canceled')
  t.equal((await paymentsOf(ended.latest_order_id)).length, 6)
})

t.test('a trial without a card is past due at its end, and is paid by a checkout session', async (t) => {
  const ada = await server.person()
  const created = await ada.client.post('/payments/subscriptions', {
    items: [{ price_id: await monthly(2_000, { trial_days: 7 }) }],
  })
  t.match(created, { status: 201, body: { status: 'trialing' } })
  const { id, trial_end: trialEnd } = created.body
  begun.push(() => ada.client.post(path(id, '/cancel'), { at_period_end: false }))
  await advanceTo(trialEnd)
  const overdue = await read(ada, id)
  t.equal(overdue.status, 'past_due')
  await pay(ada, { items: undefined, order_id: overdue.latest_order_id })
  const active = await read(ada, id)
  t.equal(active.status, 'active')
  await advanceTo(active.current_period_end)
  await shop.waitForJobs()
  t.match((await ordersOf(ada, id)).at(-1), { status: 'paid', total_amount: 2_000 }, 'by the stored card')
})

t.test('a change is made when its charge is paid', async (t) => {
  const ada = await server.person()
  const { id, end } = await begin(ada)
  await stopWork()
  const changed = await ada.client.put(path(id), { items: [{ price_id: pro }, { price_id: basic }] })
  t.match(changed, { status: 200, body: { price_id: basic, scheduled_change: { order_id: String } } })
  await work()
  await shop.waitForJobs()
  t.match(await read(ada, id), {
    status: 'active',
    scheduled_change: null,
    items: [{ price_id: pro }, { price_id: basic }],
    current_period_end: end,
  })
  await ada.client.post(path(id, '/pause'))
  t.match(await ada.client.post(path(id, '/unpause')), { status: 200, body: { status: 'active' } })

  const ben = await server.person()
  const declined = await begin(ben, { number: stripeCards.renewalDeclined })
  const waiting = (await ben.client.put(path(declined.id), { items: [{ price_id: pro }] })).body
  await shop.waitForJobs()
  t.match(await read(ben, declined.id), { status: 'active', price_id: basic }, 'a decline changes nothing')
  await pay(ben, { items: undefined, order_id: waiting.scheduled_change.order_id })
  t.match(await read(ben, declined.id), { price_id: pro, scheduled_change: null })
})

t.test('an amount below the minimum of Stripe is charged with the next order', async (t) => {
  const ada = await server.person()
  const { id, end, checkout } = await begin(ada)
  const changed = await ada.client.put(path(id), { items: [{ price_id: await monthly(1_010) }] })
  t.match(changed.body, { scheduled_change: null, items: [{ quantity: 1 }] })
  t.equal((await ordersOf(ada, id)).length, 1, 'ten cents are not charged alone')
  const [{ id: order }] = await ordersOf(ada, id)
  const at = new Date()
  await database.transaction(async (tx) =>
    post(tx, { customerId: checkout.customer_id, orderId: order, currency: 'eur', at }, [
      ['late', 'balance', 1_000],
    ]),
  )
  await advanceTo(end)
  await shop.waitForJobs()
  const renewal = (await ordersOf(ada, id)).at(-1)
  t.match(renewal, { status: 'paid', total_amount: 50 }, 'the credit leaves what Stripe charges')
  t.ok(renewal.subtotal_amount >= 1_019 && renewal.subtotal_amount <= 1_020)
})

t.test('an owed amount below the minimum of Stripe is not charged alone', async (t) => {
  const ada = await server.person()
  const { id, end } = await begin(ada)
  const owedNow = async (): Promise<number> =>
    (await database.pool.query('SELECT owed_amount::int AS owed FROM subscriptions WHERE id = $1', [id]))
      .rows[0].owed
  await ada.client.put(path(id), { items: [{ price_id: await monthly(1_010) }] })
  const owed = await owedNow()
  t.ok(owed === 9 || owed === 10)
  const scheduled = { items: [{ price_id: await monthly(0) }], apply: 'period_end' }
  t.equal((await ada.client.put(path(id), scheduled)).status, 200)
  await advanceTo(end)
  await shop.waitForJobs()
  const renewed = await read(ada, id)
  t.match(renewed, { status: 'active', current_period_start: end })
  t.match(await shop.order(ada, renewed.latest_order_id), { status: 'paid', subtotal_amount: 0 })
  t.equal(await owedNow(), owed, 'it waits for the next order')
})

/** A subscription whose renewal is about to be charged, while no worker runs. */
async function beforeCharge(number?: string) {
  await Promise.all(begun.splice(0).map((cancel) => cancel()))
  const ada = await server.person()
  const { id, end } = await begin(ada, { number })
  await shop.waitForJobs()
  await stopWork()
  await advanceTo(end)
  const { latest_order_id: order } = await read(ada, id)
  const [payment] = await paymentsOf(order)
  return { ada, id, end, order, payment: payment.id as string }
}

/** Runs the jobs until the payment has its outcome, at most one payment intent of it, and no refund. */
async function finish(t: Test, { payment, order }: { payment: string; order: string }): Promise<void> {
  await work()
  await waitUntil(async () => {
    await shop.makeJobsDue()
    return (await paymentsOf(order)).every(({ status }) => status !== 'processing')
  }, 'the outcome')
  await shop.waitForJobs()
  await shop.deliverFrom(0)
  t.equal(stripe.intentsFor(payment).length, 1, 'one payment intent')
}

t.test('a charge is made once, wherever its request, its answer or its worker is lost', async (t) => {
  const create = /^POST \/v1\/payment_intents$/
  for (const fault of ['reset', 'reset after', { status: 500 }, { status: 429 }] as const) {
    const renewal = await beforeCharge()
    stripe.fail(fault, { on: create, times: 4 })
    await finish(t, renewal)
    t.match(await shop.order(renewal.ada, renewal.order), { status: 'paid' }, JSON.stringify(fault))
  }
  const killed = await beforeCharge()
  const held = stripe.holdResponse(create)
  await work()
  await held.received
  await stopWork()
  await database.pool.query("UPDATE jobs SET due_at = now() WHERE queue = 'gateway' AND fetches > 0")
  stripe.forgetIdempotencyKeys()
  await finish(t, killed)
  held.release()
  t.match(await shop.order(killed.ada, killed.order), { status: 'paid' }, 'a worker that was killed')
  t.equal(stripe.refunds.size, 1, 'of the first test')
})

t.test('a charge whose answer is lost is refunded, also if its customer is deleted meanwhile', async (t) => {
  t.teardown(() => {
    stripe.searchLags = false
  })
  for (const lags of [false, true]) {
    stripe.searchLags = lags
    const killed = await beforeCharge()
    const held = stripe.holdResponse(/^POST \/v1\/payment_intents$/)
    await work()
    await held.received
    await stopWork()
    const { customer_id: customer } = await read(killed.ada, killed.id)
    await killed.ada.client.post(path(killed.id, '/cancel'), { at_period_end: false })
    t.equal((await server.admin.client.delete(`/payments/customers/${customer}`)).status, 204)
    await database.pool.query("UPDATE jobs SET due_at = now() WHERE queue = 'gateway' AND fetches > 0")
    await work()
    const statusOf = async (): Promise<string> => (await paymentsOf(killed.order))[0].status
    await waitUntil(async () => (await statusOf()) !== 'processing', 'the outcome')
    t.equal((await statusOf()) === 'failed', lags, 'a search finds the charge')
    if (lags) await shop.deliverFrom(0)
    await waitUntil(async () => (await statusOf()) === 'returned', 'the refund', 20_000)
    t.match(await shop.order(server.admin, killed.order), { status: 'canceled' })
    t.match([...stripe.refunds.values()].at(-1), { payment_intent: stripe.intentsFor(killed.payment)[0].id })
    await finish(t, killed)
    held.release()
  }
})

t.test('a webhook before the answer of the job, and twice at once, counts once', async (t) => {
  const renewal = await beforeCharge()
  const held = stripe.holdResponse(/^POST \/v1\/payment_intents$/)
  await work()
  await held.received
  const event = stripe.events.findLast(({ type }) => type === 'payment_intent.succeeded')!
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      stripe.deliver(server.url, i % 2 === 0 ? event : stripe.duplicateEvent(event)),
    ),
  )
  t.ok(replies.every(({ status }) => status === 200))
  t.match(await shop.order(renewal.ada, renewal.order), { status: 'paid' })
  held.release()
  await finish(t, renewal)
  const types = await eventTypesOf(server, renewal.id, renewal.order)
  t.equal(types.filter((type) => type === 'order.paid').length, 1)
  t.equal(types.filter((type) => type === 'subscription.renewed').length, 1)
})

t.test('a charge that takes long is settled by its webhook', async (t) => {
  for (const paid of [true, false]) {
    stripe.cards.set(stripeCards.succeeds, 'processing')
    const renewal = await beforeCharge()
    await work()
    await shop.waitForJobs()
    stripe.cards.delete(stripeCards.succeeds)
    const [intent] = stripe.intentsFor(renewal.payment)
    t.equal(intent.status, 'processing')
    t.equal((await read(renewal.ada, renewal.id)).status, 'active')
    const before = stripe.events.length
    stripe.billing.finish(intent, paid)
    await shop.deliverFrom(before)
    t.equal((await read(renewal.ada, renewal.id)).status, paid ? 'active' : 'past_due')
    await finish(t, renewal)
  }
})

t.test(
  'a charge that waits for the customer is canceled at Stripe, unless it is paid meanwhile',
  async (t) => {
    for (const paid of [false, true]) {
      stripe.cards.set(stripeCards.succeeds, 'requires_action')
      const renewal = await beforeCharge()
      const held = stripe.holdResponse(/^POST \/v1\/payment_intents$/)
      await work()
      await held.received
      const [intent] = stripe.intentsFor(renewal.payment)
      if (paid) stripe.billing.finish(intent, true)
      held.release()
      stripe.cards.delete(stripeCards.succeeds)
      await finish(t, renewal)
      t.equal(intent.status, paid ? 'succeeded' : 'canceled')
      t.match(await paymentsOf(renewal.order), [
        paid ? { status: 'succeeded' } : { status: 'failed', failure_code: 'authentication_required' },
      ])
    }
  },
)

t.test('a charge that Stripe refuses has failed', async (t) => {
  const refused = await beforeCharge()
  for (const method of stripe.paymentMethods.values()) method.customer = null
  await work()
  await shop.waitForJobs()
  t.match(await paymentsOf(refused.order), [{ status: 'failed', failure_code: 'payment_method_unactivated' }])
})

t.test('a cancellation stops a charge that was not sent, and a later payment is refunded', async (t) => {
  const unsent = await beforeCharge()
  const intents = atStripe()
  await unsent.ada.client.post(path(unsent.id, '/cancel'), { at_period_end: false })
  await work()
  await shop.waitForJobs()
  t.equal(atStripe(), intents, 'nothing is charged')
  t.match(await paymentsOf(unsent.order), [{ status: 'failed', failure_code: 'canceled' }])

  const sent = await beforeCharge()
  const held = stripe.holdResponse(/^POST \/v1\/payment_intents$/)
  await work()
  await held.received
  await sent.ada.client.post(path(sent.id, '/cancel'), { at_period_end: false })
  held.release()
  await waitUntil(async () => (await paymentsOf(sent.order))[0].status === 'returned', 'the refund')
  t.match([...stripe.refunds.values()].at(-1), { payment_intent: stripe.intentsFor(sent.payment)[0].id })
  t.match(await read(sent.ada, sent.id), { status: 'canceled' })
})

t.test('failed attempts on the page of Stripe are recorded once', async (t) => {
  const ada = await server.person()
  const { checkout, session } = await shop.openCheckout(ada)
  const before = stripe.events.length
  stripe.customer.decline(session, 'insufficient_funds')
  stripe.customer.decline(session)
  await shop.deliverFrom(before)
  t.match(await paymentsOf(checkout.order_id), [
    {
      status: 'failed',
      failure_code: 'insufficient_funds',
      checkout_id: checkout.id,
      card: { last4: '0002' },
    },
    { status: 'failed', failure_code: 'card_declined' },
  ])
  stripe.customer.pay(session)
  await shop.deliverFrom(0)
  t.match(
    (await paymentsOf(checkout.order_id)).map(({ status }) => status),
    ['failed', 'failed', 'succeeded'],
  )
  t.match(await shop.order(ada, checkout.order_id), { status: 'paid' })
  t.equal((await shop.eventTypes(ada)).filter((type) => type === 'order.payment_failed').length, 2)
})

t.test('a lost dispute of a renewal is in the ledger, also if its webhook comes first', async (t) => {
  const renewal = await beforeCharge()
  const held = stripe.holdResponse(/^POST \/v1\/payment_intents$/)
  await work()
  await held.received
  const before = stripe.events.length
  const dispute = stripe.bank.dispute(stripe.intentsFor(renewal.payment)[0])
  stripe.bank.setDispute(dispute, 'lost')
  await shop.deliverFrom(before)
  held.release()
  await finish(t, renewal)
  const { rows } = await database.pool.query(
    "SELECT credit, amount FROM ledger_transfers WHERE order_id = $1 AND debit = 'disputes'",
    [renewal.order],
  )
  t.same(rows, [{ credit: 'gateway', amount: '1000' }])
  t.same(await ledgerViolations(database), [])
})

t.test('a card that is removed, and a customer who is deleted, are so at Stripe, too', async (t) => {
  const ada = await server.person()
  const { id, end, checkout } = await begin(ada)
  const cards = `/payments/customers/${checkout.customer_id}/payment-methods`
  const [card] = (await server.admin.client.get(cards)).body.data
  t.equal((await server.admin.client.delete(`${cards}/${card.id}`)).status, 204)
  await shop.waitForJobs()
  t.equal([...stripe.paymentMethods.values()].at(-1)!.customer, null)
  await advanceTo(end)
  const { status, latest_order_id: order } = await read(ada, id)
  t.equal(status, 'past_due')
  t.match(await paymentsOf(order), [{ status: 'failed', failure_code: 'payment_method_required' }])

  await pay(ada, { items: undefined, order_id: order })
  await ada.client.post(path(id, '/cancel'), { at_period_end: false })
  const customer = await server.admin.client.delete(`/payments/customers/${checkout.customer_id}`)
  t.equal(customer.status, 204)
  await shop.waitForJobs()
  t.ok(stripe.requests.some(({ method, path }) => method === 'DELETE' && path.startsWith('/v1/customers/')))
})

t.test('a server of version 1.12 leaves a subscription due, unless Stripe bills it', async (t) => {
  const ada = await server.person()
  const checkout = await shop.checkout(ada, { mode: 'subscription', items: [{ price_id: basic }] })
  const { subscription } = await shop.subscribe(ada)
  await shop.deliverFrom(0)
  const start = `UPDATE subscriptions SET status = 'active', period = 1, period_start = now(),
    period_end = now() + interval '1 month', anchor_at = now(), due_at = NULL WHERE id = $1`
  await database.pool.query(start, [checkout.subscription_id])
  const { rows } = await database.pool.query(
    `SELECT due_at = period_end AS due, gateway_reference FROM subscriptions
      WHERE owner_id = $1 ORDER BY id`,
    [ada.id],
  )
  t.same(rows, [
    { due: true, gateway_reference: null },
    { due: null, gateway_reference: subscription.id },
  ])
  await database.pool.query("UPDATE orders SET status = 'paid', paid_at = now() WHERE id = $1", [
    checkout.order_id,
  ])
  await ada.client.post(path(checkout.subscription_id, '/cancel'), { at_period_end: false })
})

t.test('no payment has two payment intents', async (t) => {
  const ids = [...stripe.intents.values()].flatMap(({ metadata: { payment_id: id } }) => id ?? [])
  t.equal(new Set(ids).size, ids.length)
  t.ok((await paymentsNow(database)) > new Date())
})
