// Webhooks arrive in any order, late and repeated, and lead to the same final state. `npm test` runs a
// scenario 12 times in 4 shuffles, with FAULTS=long 1,000 times in 100.
import t from 'tap'
import { createGatewayWorker } from '../../services/payments/gateway-worker.ts'
import type { Person } from '../support/server/server.ts'
import { startStripeFixture, type StripeFixture } from '../support/payments/stripe-fixtures.ts'
import type { StripeEvent } from '../support/payments/stripe.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const shuffles = isLongForm ? 100 : 4
const replays = isLongForm ? 10 : 3

/** A seeded generator of numbers from 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function shuffled<T>(items: T[], random: () => number): T[] {
  const all = [...items]
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[all[i], all[j]] = [all[j], all[i]]
  }
  return all
}

/** Delivers events, six at a time. */
async function deliver({ server, stripe }: StripeFixture, events: StripeEvent[]): Promise<void> {
  const waiting = [...events]
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      for (let event = waiting.pop(); event !== undefined; event = waiting.pop()) {
        const { status } = await stripe.deliver(server.url, event)
        if (status !== 200) throw new Error(`${event.type} returned ${status}`)
      }
    }),
  )
}

type OnEvents = (events: StripeEvent[]) => Promise<void>

/**
 * Runs the scenario: an order that is paid and refunded, with one failing refund, and a subscription that
 * renews, fails, recovers and is canceled. Calls `onEvents` with all events so far after each step.
 */
async function runScenario(shop: StripeFixture, person: Person, onEvents: OnEvents): Promise<StripeEvent[]> {
  const { server, stripe } = shop
  const first = stripe.events.length
  let delivered = first
  const step = async (work: () => void): Promise<void> => {
    work()
    await onEvents(stripe.events.slice(first, (delivered = stripe.events.length)))
  }
  const bought = await shop.openCheckout(person)
  const subscribed = await shop.openBilledCheckout(person)
  await step(() => stripe.customer.pay(subscribed.session))
  await step(() => stripe.customer.pay(bought.session))
  const subscription = stripe.subscriptions.get(subscribed.session.subscription as string)!
  await step(() => stripe.billing.renew(subscription, true))
  await shop.openPage(bought.checkout, '/return')
  const refunds = [300, 500].map((amount) =>
    server.admin.client.post(`/payments/orders/${bought.checkout.order_id}/refunds`, { amount }),
  )
  for (const refund of refunds) {
    const { id, amount } = (await refund).body
    await waitUntil(
      () => [...stripe.refunds.values()].some(({ metadata }) => metadata!.refund_id === id),
      'the refund',
    )
    const refundAtStripe = [...stripe.refunds.values()].find(({ metadata }) => metadata!.refund_id === id)!
    await step(() => stripe.billing.completeRefund(refundAtStripe, amount === 300 ? 'succeeded' : 'failed'))
  }
  let unpaid: any
  await step(() => {
    unpaid = stripe.billing.renew(subscription, false)
  })
  await step(() => stripe.billing.retry(unpaid, false))
  await step(() => stripe.billing.retry(unpaid, true))
  await step(() => {
    stripe.billing.renew(subscription, true)
  })
  await step(() => stripe.customer.cancel(subscription))
  await step(() => stripe.billing.end(subscription))
  return stripe.events.slice(first, delivered)
}

const queries = {
  orders: `SELECT status, total_amount, refunded_amount, refunding_amount, period, currency,
    paid_at IS NOT NULL AS paid, checkout_id IS NOT NULL AS by_checkout
    FROM orders WHERE owner_id = $1 ORDER BY period NULLS FIRST`,
  payments: `SELECT p.status, p.amount, left(p.gateway_reference, 3) AS reference, o.period FROM payments p
    JOIN orders o ON o.id = p.order_id
    WHERE o.owner_id = $1 ORDER BY o.period NULLS FIRST, p.status`,
  refunds: `SELECT r.status, r.amount, r.gateway_reference IS NOT NULL AS known FROM refunds r
      JOIN orders o ON o.id = r.order_id WHERE o.owner_id = $1 ORDER BY r.amount`,
  checkouts: 'SELECT mode, status FROM checkouts WHERE owner_id = $1 ORDER BY mode',
  subscriptions: `SELECT s.status, s.period, s.cancel_at_period_end, s.ended_at IS NOT NULL AS ended,
    s.canceled_at IS NOT NULL AS canceled, o.period AS latest,
    extract(epoch FROM s.period_end - s.period_start) BETWEEN 27 * 86400 AND 32 * 86400 AS a_month
      FROM subscriptions s JOIN orders o ON o.id = s.latest_order_id WHERE s.owner_id = $1`,
  events: `SELECT type, count(*)::int AS n FROM events WHERE user_id = $1
    AND type NOT IN ('subscription.updated', 'subscription.renewed', 'subscription.past_due',
      'order.payment_failed') GROUP BY type ORDER BY type`,
}

async function finalState({ server }: StripeFixture, { id }: Person): Promise<Record<string, unknown[]>> {
  return Object.fromEntries(
    await Promise.all(
      Object.entries(queries).map(async ([name, query]) => [
        name,
        (await server.services.database.pool.query(query, [id])).rows,
      ]),
    ),
  )
}

t.test(
  `${shuffles * replays} runs in ${shuffles} shuffles reach the same final state`,
  { timeout: 1_800_000 },
  async (t) => {
    const shop = await startStripeFixture(t, { sends: false })
    const { server, stripe } = shop
    const {
      database,
      events,
      gateways,
      receiptMails,
      dunning,
      usageDays,
      gatewayJobs: jobs,
    } = server.services
    const worker = createGatewayWorker({
      database,
      events,
      gateways,
      receiptMails,
      dunning,
      usageDays,
      jobs,
      onError: (error) => server.errors.push(error),
      interval: 100,
    })
    worker.start()
    t.teardown(() => worker.stop())
    stripe.refundOutcome = 'pending'
    const straight = await server.person()
    let delivered = 0
    const scenario = await runScenario(shop, straight, async (events) => {
      for (; delivered < events.length; delivered++) await deliver(shop, [events[delivered]])
    })
    const expected = await finalState(shop, straight)
    t.match(expected.orders, [
      { status: 'partially_refunded', refunded_amount: '300', refunding_amount: '0', period: null },
      { status: 'paid', period: 1, by_checkout: true },
      { status: 'paid', period: 2 },
      { status: 'paid', period: 3 },
      { status: 'paid', period: 4 },
    ])
    t.match(expected.refunds, [
      { status: 'succeeded', amount: '300' },
      { status: 'failed', amount: '500' },
    ])
    t.match(expected.subscriptions, [
      { status: 'canceled', period: 4, latest: 4, cancel_at_period_end: true, ended: true, a_month: true },
    ])
    t.match(expected.checkouts, [
      { mode: 'payment', status: 'complete' },
      { mode: 'subscription', status: 'complete' },
    ])
    t.same(
      expected.events,
      [
        ['checkout.completed', 2],
        ['checkout.created', 2],
        ['order.created', 5],
        ['order.paid', 5],
        ['order.refunded', 1],
        ['refund.created', 2],
        ['refund.updated', 2],
        ['subscription.canceled', 1],
        ['subscription.created', 1],
      ].map(([type, n]) => ({ type, n })),
    )

    let deliveries = 0
    for (let seed = 1; seed <= shuffles; seed++) {
      const random = randomOf(seed)
      const person = await server.person()
      const count = async (events: StripeEvent[]): Promise<void> => {
        deliveries += events.length
        await deliver(shop, events)
      }
      // During the run deliver random earlier events, some of them twice or as duplicates with another id.
      const deliverSome: OnEvents = (events) =>
        count(
          shuffled(events, random)
            .slice(0, Math.floor(random() * 4))
            .map((event) => (random() < 0.5 ? event : stripe.duplicateEvent(event))),
        )
      const events = await runScenario(shop, person, random() < 0.5 ? deliverSome : async () => {})
      const all = Array.from({ length: replays }, (_, i) =>
        i === 1 ? events.map(stripe.duplicateEvent) : events,
      ).flat()
      await count(shuffled(all, random))
      await shop.waitForJobs()
      t.strictSame(await finalState(shop, person), expected, `seed ${seed}`)
    }
    t.same(server.errors, [])
    t.comment(`${deliveries} deliveries of a scenario of ${scenario.length} events in ${shuffles} shuffles`)
  },
)
