// Renewals of subscriptions on the payment clock: due times, failures, retries, recovery and cancellation.
import t, { type Test } from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { createPaymentWorker } from '../../services/payments/worker.ts'
import { idempotencyFingerprint } from '../../app/http/idempotency.ts'
import { moveTestClock } from '../../services/payments/advance-clock.ts'
import { moveClock } from '../../services/payments/clock.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  addPrice,
  advance,
  advanceTo,
  answerConfirmation,
  createCheckout,
  cards,
  eventTypesOf,
  createCatalog,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const catalog = await createCatalog(server)
const ada = await server.person()
const { database } = server.services
const day = 86_400_000

const get = async (path: string, { client }: Pick<Person, 'client'> = ada): Promise<any> =>
  (await client.get(`/payments/${path}`)).body
const subscriptionNow = (id: string, person?: Person): Promise<any> => get(`subscriptions/${id}`, person)
const ordersOf = async (id: string, person?: Person): Promise<any[]> =>
  (await get(`orders?subscription_id=${id}&limit=100&order=asc`, person)).data
const cancel = (id: string, body?: object) => ada.client.post(`/payments/subscriptions/${id}/cancel`, body)
const resume = (id: string) => ada.client.post(`/payments/subscriptions/${id}/resume`)
const clockNow = async (): Promise<Date> => new Date((await get('test-clock', server.admin)).now)
const recurringAt = async (interval: string, count: number): Promise<string> =>
  await addPrice(server.admin.client, catalog.product, {
    unit_amount: 700,
    recurring: { interval, interval_count: count },
  })

/** The distinct periods of a subscription, from its events. */
async function periodsOf(id: string): Promise<Array<[string, string]>> {
  const { rows } = await database.pool.query(
    `SELECT data->'object' AS object FROM events WHERE data->'object'->>'id' = $1
      AND type = 'subscription.updated' ORDER BY position`,
    [id],
  )
  const periods = rows.map(({ object }): [string, string] => [
    object.current_period_start,
    object.current_period_end,
  ])
  return periods.filter(([start], i) => i === 0 || start !== periods[i - 1][0])
}

/** The status of each payment attempt of an order, and its day after `since`. */
async function attemptsOf(order: string, since: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    'SELECT status::text, created_at FROM payments WHERE order_id = $1 ORDER BY id',
    [order],
  )
  return rows.map(
    ({ status, created_at: at }) =>
      `${status} on day ${Math.floor((at.getTime() - Date.parse(since)) / day)}`,
  )
}

/** Adds months; a day that the month lacks becomes its last day. */
function monthsAfter(from: string, months: number): string {
  const date = new Date(from)
  const dayOfMonth = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  date.setUTCDate(
    Math.min(dayOfMonth, new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()),
  )
  return date.toISOString()
}

const daysAfter = (from: string, days: number): string =>
  new Date(Date.parse(from) + days * day).toISOString()

/** Ids whose project was purged together with its events; the ledger check skips them. */
const purged: string[] = []
t.afterEach(async () => {
  const sentences = await ledgerViolations(database)
  t.same(
    sentences.filter((sentence) => !purged.some((id) => sentence.startsWith(id))),
    [],
    'the ledger balances',
  )
})

t.test('a monthly subscription renews twelve times in a year', async (t) => {
  const { id, order: first } = await subscribe(server, ada, catalog.monthly, { quantity: 3 })
  const started = await subscriptionNow(id)
  const anchor = started.current_period_start
  t.match(started, {
    status: 'active',
    quantity: 3,
    current_period_end: monthsAfter(anchor, 1),
    cancel_at_period_end: false,
    canceled_at: null,
    ended_at: null,
    latest_order_id: first,
  })
  t.equal(
    (await get(`orders/${first}`)).paid_at,
    anchor,
    'the first period starts when the first order is paid',
  )

  t.equal(
    (await advance(server, { to: new Date(Date.parse(started.current_period_end) - 1).toISOString() }))
      .status,
    200,
  )
  t.same(await subscriptionNow(id), started, 'nothing happens a millisecond before the end of the period')
  t.equal((await advance(server, { to: monthsAfter(anchor, 12) })).status, 200)
  const orders = await ordersOf(id)
  t.equal(orders.length, 13)
  for (const [i, order] of orders.entries()) {
    t.match(order, {
      status: 'paid',
      total_amount: 3000,
      refunded_amount: 0,
      items: [{ price_id: catalog.monthly, quantity: 3 }],
      subscription_id: id,
    })
    const late = Date.parse(order.paid_at) - Date.parse(monthsAfter(anchor, i))
    t.ok(late >= 0 && late < 20_000, `order ${i} is paid ${late} ms after the start of its period`)
  }
  t.equal(new Set(orders.map((order) => order.number)).size, 13)
  t.same(
    await periodsOf(id),
    Array.from({ length: 13 }, (_, i) => [monthsAfter(anchor, i), monthsAfter(anchor, i + 1)]),
  )
  t.match(await subscriptionNow(id), {
    status: 'active',
    current_period_start: monthsAfter(anchor, 12),
    latest_order_id: orders[12].id,
  })
  t.same((await eventTypesOf(server, id, ...orders.map((order) => order.id))).slice(0, 12), [
    'subscription.created',
    'order.created',
    'order.paid',
    'subscription.updated',
    'order.created',
    'order.paid',
    'subscription.updated',
    'subscription.renewed',
    'order.created',
    'order.paid',
    'subscription.updated',
    'subscription.renewed',
  ])
  await cancel(id, { at_period_end: false })
  await advance(server, { by_seconds: 40 * 86_400 })
  t.equal((await ordersOf(id)).length, 13, 'no renewals after the cancellation')
})

/** The next occurrence of this date after the current time of the clock. */
async function nextOf(month: number, dayOfMonth: number): Promise<Date> {
  const now = await clockNow()
  for (let year = now.getUTCFullYear(); ; year++) {
    const date = new Date(Date.UTC(year, month - 1, dayOfMonth, 23, 59, 58))
    if (date > now && date.getUTCDate() === dayOfMonth) return date
  }
}

t.test('periods of any length are counted from the start of the first period', async (t) => {
  const prices: Array<[string, number, (from: string, n: number) => string]> = [
    ['month', 1, monthsAfter],
    ['month', 2, (from, n) => monthsAfter(from, 2 * n)],
    ['year', 1, (from, n) => monthsAfter(from, 12 * n)],
    ['week', 2, (from, n) => daysAfter(from, 14 * n)],
    ['day', 1, daysAfter],
    ['day', 40, (from, n) => daysAfter(from, 40 * n)],
  ]
  const priceIds = await Promise.all(prices.map(([interval, count]) => recurringAt(interval, count)))
  const begin = async (which: number[]): Promise<Array<{ id: string; which: number }>> =>
    await Promise.all(
      which.map(async (i) => ({ id: (await subscribe(server, ada, priceIds[i])).id, which: i })),
    )
  const checkPeriods = async (
    t: Test,
    { id, which }: { id: string; which: number },
    least: number,
  ): Promise<void> => {
    const [interval, count, after] = prices[which]
    const periods = await periodsOf(id)
    const anchor = periods[0][0]
    t.ok(
      periods.length >= least,
      `${count} ${interval}: ${periods.length} periods from ${anchor} to ${periods.at(-1)![1]}`,
    )
    t.same(
      periods,
      periods.map((_, n) => [after(anchor, n), after(anchor, n + 1)]),
    )
    t.equal((await ordersOf(id)).length, Math.min(100, periods.length))
    await cancel(id, { at_period_end: false })
  }

  await t.test('from January 31', async (t) => {
    const from = await nextOf(1, 31)
    await advanceTo(server, from)
    const daily = (await begin([4]))[0]
    const started = await begin([0, 1, 3, 5])
    await advanceTo(server, daysAfter(from.toISOString(), 4))
    await checkPeriods(t, daily, 4)
    await advanceTo(server, daysAfter(from.toISOString(), 400))
    const [monthly] = started
    const ends = (await periodsOf(monthly.id)).map(([, end]) => Number(end.slice(8, 10)))
    t.match(ends.slice(1, 6), [31, 30, 31, 30, 31], 'the last day of short months, the 31st of long ones')
    for (const [i, one] of started.entries()) await checkPeriods(t, one, [13, 6, 28, 10][i])
  })
  await t.test('from February 29', async (t) => {
    const from = await nextOf(2, 29)
    await advanceTo(server, from)
    const started = await begin([0, 2])
    await advanceTo(server, daysAfter(from.toISOString(), 4 * 365 + 2))
    t.match(
      (await periodsOf(started[1].id)).map(([, end]) => end.slice(5, 10)),
      ['02-28', '02-28', '02-28', '02-29'],
      'February 29 again after four years',
    )
    for (const one of started) await checkPeriods(t, one, 5)
  })
})

t.test(
  'a failed renewal is retried on days 1, 3, 5, 9 and 14, then the subscription is canceled',
  async (t) => {
    const { id } = await subscribe(server, ada, catalog.monthly, { card: cards.renewalDeclined })
    const { current_period_end: start } = await subscriptionNow(id)
    await advanceTo(server, start)
    const [, order] = await ordersOf(id)
    t.match(order, { status: 'pending', paid_at: null, total_amount: 1000 })
    t.match(await subscriptionNow(id), {
      status: 'past_due',
      current_period_start: start,
      latest_order_id: order.id,
      canceled_at: null,
    })
    const tries = ['failed on day 0']
    for (const on of [1, 3, 5, 9]) {
      await advance(server, { to: new Date(Date.parse(start) + on * day - 60_000).toISOString() })
      t.same(await attemptsOf(order.id, start), tries, `no attempt just before day ${on}`)
      await advance(server, { to: daysAfter(start, on) })
      tries.push(`failed on day ${on}`)
      t.same(await attemptsOf(order.id, start), tries)
      t.equal((await subscriptionNow(id)).status, 'past_due')
    }
    t.same(
      await eventTypesOf(server, id, order.id),
      [
        'subscription.created',
        'subscription.updated',
        'order.created',
        'order.payment_failed',
        'subscription.updated',
        'subscription.past_due',
        ...Array(tries.length - 1).fill('order.payment_failed'),
      ],
      'each charge that fails emits an event',
    )
    await advance(server, { to: daysAfter(start, 14) })
    t.same(await attemptsOf(order.id, start), [...tries, 'failed on day 14'])
    const ended = await subscriptionNow(id)
    t.match(ended, { status: 'canceled', ended_at: ended.canceled_at, latest_order_id: order.id })
    t.match(await get(`orders/${order.id}`), { status: 'canceled' })
    t.same((await eventTypesOf(server, id, order.id)).slice(-3), [
      'order.payment_failed',
      'subscription.canceled',
      'order.canceled',
    ])
    await advance(server, { by_seconds: 60 * 86_400 })
    t.equal((await ordersOf(id)).length, 2)
  },
)

t.test('paying the past-due order reactivates the subscription, which then uses the new card', async (t) => {
  const { id } = await subscribe(server, ada, catalog.monthly, { card: cards.renewalDeclined })
  const anchor = (await subscriptionNow(id)).current_period_start
  await advanceTo(server, monthsAfter(anchor, 1))
  await advance(server, { by_seconds: 2 * 86_400 })
  const [, order] = await ordersOf(id)
  const checkout = await createCheckout(ada, { order_id: order.id })
  t.match(
    checkout,
    { mode: 'payment', subscription_id: null, total_amount: 1000 },
    'the session pays an order and starts no subscription',
  )
  await payWithCard(server, checkout.id, cards.declined)
  t.equal((await subscriptionNow(id)).status, 'past_due')
  await payWithCard(server, checkout.id, cards.needsConfirmation)
  await answerConfirmation(server, checkout.id, 'confirm')
  t.match(
    await subscriptionNow(id),
    {
      status: 'active',
      current_period_start: monthsAfter(anchor, 1),
      current_period_end: monthsAfter(anchor, 2),
    },
    'the period is unchanged',
  )
  t.same(await eventTypesOf(server, id, order.id, checkout.id), [
    'subscription.created',
    'subscription.updated',
    'order.created',
    'order.payment_failed',
    'subscription.updated',
    'subscription.past_due',
    'order.payment_failed',
    'checkout.created',
    'order.payment_failed',
    'order.paid',
    'checkout.completed',
    'subscription.updated',
    'subscription.renewed',
  ])
  await advanceTo(server, monthsAfter(anchor, 3))
  t.same(
    (await ordersOf(id)).map(({ status }) => status),
    ['paid', 'paid', 'paid', 'paid'],
  )
  t.equal((await periodsOf(id)).length, 4)
  await cancel(id, { at_period_end: false })
})

t.test('the open session of a past-due order expires when the subscription is canceled', async (t) => {
  const { id } = await subscribe(server, ada, catalog.monthly, { card: cards.renewalDeclined })
  const { current_period_end: start } = await subscriptionNow(id)
  await advanceTo(server, daysAfter(start, 13.5))
  const checkout = await createCheckout(ada, { order_id: (await subscriptionNow(id)).latest_order_id })
  await payWithCard(server, checkout.id, cards.needsConfirmation)
  await advanceTo(server, daysAfter(start, 14))
  t.equal((await subscriptionNow(id)).status, 'canceled')
  t.equal((await get(`checkout/${checkout.id}`)).status, 'expired')
  t.equal((await payWithCard(server, checkout.id, cards.succeeds)).status, 410)
})

t.test('a subscription that recovers late immediately renews for the missed periods', async (t) => {
  const weekly = await recurringAt('week', 1)
  const { id } = await subscribe(server, ada, weekly, { card: cards.renewalDeclined })
  const anchor = (await subscriptionNow(id)).current_period_start
  await advanceTo(server, daysAfter(anchor, 7 + 10))
  const { latest_order_id: order } = await subscriptionNow(id)
  await payWithCard(server, (await createCheckout(ada, { order_id: order })).id, cards.succeeds)
  t.match(await subscriptionNow(id), { status: 'active', current_period_end: daysAfter(anchor, 14) })
  await advance(server, { by_seconds: 1 })
  t.match(await subscriptionNow(id), {
    status: 'active',
    current_period_start: daysAfter(anchor, 14),
    current_period_end: daysAfter(anchor, 21),
  })
  t.same(
    (await ordersOf(id)).map(({ status }) => status),
    ['paid', 'paid', 'paid'],
  )
  await cancel(id, { at_period_end: false })
})

t.test('a subscription can be canceled at period end and resumed', async (t) => {
  const { id } = await subscribe(server, ada, catalog.monthly)
  const started = await subscriptionNow(id)
  const canceled = await cancel(id)
  t.match(canceled.body, {
    status: 'active',
    cancel_at_period_end: true,
    ended_at: null,
    current_period_end: started.current_period_end,
  })
  t.ok(canceled.body.canceled_at >= started.current_period_start)
  t.match((await resume(id)).body, { ...started, updated_at: String })
  await cancel(id, { at_period_end: true })
  await advanceTo(server, started.current_period_end)
  const ended = await subscriptionNow(id)
  t.match(ended, {
    status: 'canceled',
    cancel_at_period_end: true,
    current_period_end: started.current_period_end,
  })
  t.ok(ended.ended_at >= started.current_period_end && ended.canceled_at < ended.ended_at)
  t.equal((await ordersOf(id)).length, 1)
  t.same(await eventTypesOf(server, id), [
    'subscription.created',
    'subscription.updated',
    'subscription.updated',
    'subscription.updated',
    'subscription.resumed',
    'subscription.updated',
    'subscription.canceled',
  ])
})

t.test(
  'canceling a past-due subscription takes effect immediately and cancels its order and session',
  async (t) => {
    const incomplete = await subscribe(server, ada, catalog.monthly, { card: null })
    await payWithCard(server, incomplete.session, cards.slow)
    t.match((await cancel(incomplete.id)).body, {
      status: 'canceled',
      current_period_start: null,
      cancel_at_period_end: false,
    })
    t.equal((await get(`orders/${incomplete.order}`)).status, 'canceled')
    t.equal((await get(`checkout/${incomplete.session}`)).status, 'expired')
    t.same(await eventTypesOf(server, incomplete.id, incomplete.order, incomplete.session), [
      'subscription.created',
      'order.created',
      'checkout.created',
      'subscription.canceled',
      'order.canceled',
      'checkout.expired',
    ])
    await advance(server, { by_seconds: 10 })
    const { rows } = await database.pool.query('SELECT status::text FROM payments WHERE order_id = $1', [
      incomplete.order,
    ])
    t.same(rows, [{ status: 'returned' }], 'a payment in progress is refunded')

    const { id } = await subscribe(server, ada, catalog.monthly, { card: cards.renewalDeclined })
    await advanceTo(server, (await subscriptionNow(id)).current_period_end)
    const [, order] = await ordersOf(id)
    const checkout = await createCheckout(ada, { order_id: order.id })
    t.match((await cancel(id, { at_period_end: true })).body, {
      status: 'canceled',
      latest_order_id: order.id,
    })
    t.equal((await get(`orders/${order.id}`)).status, 'canceled')
    t.equal((await get(`checkout/${checkout.id}`)).status, 'expired')
  },
)

t.test('an expired first session cancels its subscription', async (t) => {
  const { id, session, order } = await subscribe(server, ada, catalog.monthly, { card: null })
  await payWithCard(server, session, cards.needsConfirmation)
  await advanceTo(server, (await get(`checkout/${session}`)).expires_at)
  t.match(await subscriptionNow(id), { status: 'canceled', current_period_start: null })
  t.equal((await get(`orders/${order}`)).status, 'canceled')
  t.same(await eventTypesOf(server, id, order, session), [
    'subscription.created',
    'order.created',
    'checkout.created',
    'checkout.expired',
    'subscription.canceled',
    'order.canceled',
  ])
  const { rows } = await database.pool.query(
    'SELECT status::text, failure_code FROM payments WHERE order_id = $1',
    [order],
  )
  t.same(rows, [{ status: 'failed', failure_code: 'expired' }], 'an unconfirmed payment has failed')
})

t.test('a session with a slow payment expires only after the payment', async (t) => {
  const { id, session } = await subscribe(server, ada, catalog.monthly, { card: null })
  const { expires_at: expiresAt } = await get(`checkout/${session}`)
  await advanceTo(server, new Date(Date.parse(expiresAt) - 1_500))
  await payWithCard(server, session, cards.slow)
  await advance(server, { by_seconds: 2 })
  t.equal((await get(`checkout/${session}`)).status, 'open')
  await advance(server, { by_seconds: 10 })
  t.match(await get(`checkout/${session}`), { status: 'complete', payment_status: 'paid' })
  t.match(await subscriptionNow(id), { status: 'active' })
  await cancel(id, { at_period_end: false })
})

t.test('an invalid transition is 409 with the current status', async (t) => {
  const states: Record<string, string> = {}
  states.incomplete = (await subscribe(server, ada, catalog.monthly, { card: null })).id
  states.canceled = (await subscribe(server, ada, catalog.monthly)).id
  await cancel(states.canceled, { at_period_end: false })
  const overdue = await subscribe(server, ada, await recurringAt('day', 1), { card: cards.renewalDeclined })
  await advance(server, { by_seconds: 87_000 })
  states.past_due = overdue.id
  // The session of the other subscription has expired by now.
  states.incomplete = (await subscribe(server, ada, catalog.monthly, { card: null })).id
  states.active = (await subscribe(server, ada, catalog.monthly)).id
  states.ending = (await subscribe(server, ada, catalog.monthly)).id
  await cancel(states.ending)
  const refused: Array<[string, () => Promise<any>, string]> = [
    ['resume one that is canceled', () => resume(states.canceled), 'canceled'],
    ['resume one that is incomplete', () => resume(states.incomplete), 'incomplete'],
    ['resume one that is overdue', () => resume(states.past_due), 'past_due'],
  ]
  const before = await eventCount()
  for (const [what, ask, id] of [
    ['cancel one that is canceled', () => cancel(states.canceled), states.canceled],
    [
      'cancel a canceled subscription immediately',
      () => cancel(states.canceled, { at_period_end: false }),
      states.canceled,
    ],
    ['cancel one at its end that ends with its period', () => cancel(states.ending), states.ending],
    ['resume one that goes on', () => resume(states.active), states.active],
  ] as const) {
    const unchanged = await subscriptionNow(id)
    t.match(await ask(), { status: 200, body: unchanged }, what)
  }
  for (const [what, ask, state] of refused) {
    const reply = await ask()
    t.match(
      { status: reply.status, ...reply.body.error },
      { status: 409, code: 'INVALID_STATE', details: { field: 'status', constraint: state } },
      what,
    )
  }
  const { latest_order_id: order } = await subscriptionNow(states.past_due)
  t.match(
    (await ada.client.post(`/payments/orders/${order}/cancel`)).body.error,
    { code: 'CONFLICT', details: { constraint: 'subscription' } },
    'an order of a subscription is canceled only with the subscription',
  )
  t.equal(await eventCount(), before)
  for (const id of [states.active, states.past_due, states.incomplete])
    t.match((await cancel(id, { at_period_end: false })).body, { status: 'canceled' })
  t.match(
    (await cancel(states.ending, { at_period_end: false })).body,
    { status: 'canceled', cancel_at_period_end: true },
    'a subscription that is canceled at period end can be canceled immediately',
  )
})

const eventCount = async (): Promise<number> =>
  (await database.pool.query('SELECT count(*)::int AS n FROM events')).rows[0].n

t.test('subscriptions to an archived price continue', async (t) => {
  const product = (await server.admin.client.post('/payments/products', { name: 'Old plan' })).body.id
  const price = await addPrice(server.admin.client, product, {
    unit_amount: 100,
    recurring: { interval: 'week', interval_count: 1 },
  })
  const { id } = await subscribe(server, ada, price)
  await server.admin.client.put(`/payments/prices/${price}`, { active: false })
  await server.admin.client.put(`/payments/products/${product}`, { active: false, name: 'Plan of old' })
  t.equal(
    (
      await ada.client.post('/payments/checkout', {
        mode: 'subscription',
        items: [{ price_id: price }],
        success_url: 'https://a.example',
        cancel_url: 'https://a.example',
      })
    ).status,
    400,
  )
  await advance(server, { by_seconds: 8 * 86_400 })
  t.same(
    (await ordersOf(id)).map(({ status, items }) => [status, items[0].description]),
    [
      ['paid', 'Old plan'],
      ['paid', 'Plan of old'],
    ],
  )
  await cancel(id, { at_period_end: false })
})

t.test('a deleted project or owner is not charged', async (t) => {
  const bob = await server.person()
  const projectOf = async (person: Person): Promise<string> =>
    (await person.client.post('/projects', { name: 'shop' })).body.id
  const ordersIn = async (id: string): Promise<number> =>
    (await database.pool.query('SELECT count(*)::int AS n FROM orders WHERE subscription_id = $1', [id]))
      .rows[0].n
  const stateOf = async (id: string) =>
    (
      await database.pool.query(
        `SELECT status::text, project_id, due_at, ended_at - period_end AS after FROM subscriptions
          WHERE id = $1`,
        [id],
      )
    ).rows[0]

  await t.test('deleted project: the subscription is canceled at period end', async (t) => {
    const project = await projectOf(ada)
    const { id } = await subscribe(server, ada, catalog.monthly, { project_id: project })
    const kept = await projectOf(ada)
    const other = await subscribe(server, ada, catalog.monthly, { project_id: kept })
    // The card that paid last is charged.
    const overdue = await subscribe(server, ada, await recurringAt('week', 1), {
      project_id: project,
      card: cards.renewalDeclined,
    })
    await advance(server, { by_seconds: 8 * 86_400 })
    t.equal((await subscriptionNow(overdue.id)).status, 'past_due')
    await ada.client.delete(`/projects/${project}`)
    await ada.client.delete(`/projects/${kept}`)
    await ada.client.post(`/projects/${kept}/restore`)
    await advance(server, { by_seconds: 30 * 86_400 })
    t.match(await stateOf(id), { status: 'canceled', project_id: project })
    t.match(await stateOf(overdue.id), { status: 'canceled' })
    t.equal(await ordersIn(id), 1)
    t.same(
      (
        await database.pool.query(
          'SELECT status::text FROM orders WHERE subscription_id = $1 ORDER BY period',
          [overdue.id],
        )
      ).rows,
      [{ status: 'paid' }, { status: 'canceled' }],
    )
    t.equal(await ordersIn(other.id), 2, 'the subscription of a restored project continues')
    await cancel(other.id, { at_period_end: false })
  })

  await t.test(
    'purged project: the subscription is canceled immediately and the orders stay with the buyer',
    async (t) => {
      const project = await projectOf(bob)
      const yearly = await subscribe(server, bob, await recurringAt('year', 1), { project_id: project })
      const incomplete = await subscribe(server, bob, catalog.monthly, { project_id: project, card: null })
      await bob.client.delete(`/projects/${project}`)
      await database.pool.query("UPDATE projects SET deleted_at = now() - interval '31 days' WHERE id = $1", [
        project,
      ])
      await runRetention(database)
      for (const { id, order, session } of [yearly, incomplete]) purged.push(id, order, session)
      t.equal((await bob.client.get(`/projects/${project}`)).status, 404)
      await advance(server, { by_seconds: 1 })
      t.match(await subscriptionNow(yearly.id, bob), { status: 'canceled', project_id: null })
      t.match(await subscriptionNow(incomplete.id, bob), { status: 'canceled', project_id: null })
      t.match(
        (await get('orders', bob)).data.map(({ id, status, project_id: project }: any) => [
          id,
          status,
          project,
        ]),
        [
          [incomplete.order, 'canceled', null],
          [yearly.order, 'paid', null],
        ],
      )
      t.equal((await get(`checkout/${incomplete.session}`, bob)).status, 'expired')
      await advance(server, { by_seconds: 370 * 86_400 })
      t.equal(await ordersIn(yearly.id), 1)
    },
  )

  await t.test(
    'deleted owner: the subscription is canceled at period end, also in a project that continues',
    async (t) => {
      const carl = await server.person()
      const alone = await projectOf(carl)
      const shared = await projectOf(ada)
      await createMember(server, shared, carl.id, 'editor')
      const own = await subscribe(server, carl, catalog.monthly)
      const together = await subscribe(server, carl, catalog.monthly, { project_id: shared })
      const inAlone = await subscribe(server, carl, catalog.monthly, { project_id: alone })
      await carl.client.post('/payments/orders', { project_id: alone, items: [{ price_id: catalog.price }] })
      await carl.client.delete(`/projects/${alone}`)
      t.equal((await server.admin.client.delete(`/users/${carl.id}`)).status, 204)
      await runRetention(database)
      await advance(server, { by_seconds: 1 })
      t.match(
        await stateOf(inAlone.id),
        { status: 'canceled', project_id: null },
        'a project without other members is deleted with its owner',
      )
      t.match(await stateOf(own.id), { status: 'active' })
      await advance(server, { by_seconds: 32 * 86_400 })
      for (const { id } of [own, together, inAlone]) {
        t.match(await stateOf(id), { status: 'canceled', due_at: null })
        t.equal(await ordersIn(id), 1)
      }
    },
  )
})

t.test('workers run due tasks and skip those that fail', async (t) => {
  const [good, bad, session] = [
    await subscribe(server, ada, catalog.monthly),
    await subscribe(server, ada, catalog.monthly),
    await subscribe(server, ada, catalog.monthly, { card: null }),
  ]
  const before = await subscriptionNow(bad.id)
  // Its gateway is not configured, and it is due before the other subscription.
  await database.pool.query(
    "UPDATE subscriptions SET gateway = 'gone', due_at = due_at - interval '1 hour' WHERE id = $1",
    [bad.id],
  )
  await moveClock(database, new Date(Date.parse((await subscriptionNow(good.id)).current_period_end)))
  const errors: Error[] = []
  const billing = createPaymentWorker({
    ...server.services,
    onError: (error) => errors.push(error),
    interval: 10,
    retryDelayMs: 1_000,
  })
  billing.start()
  t.teardown(() => billing.stop())
  await waitUntil(async () => (await ordersOf(good.id)).length === 2, 'the renewal')
  t.equal(
    (await get(`checkout/${session.session}`)).status,
    'expired',
    'tasks run in the order of their due time',
  )
  t.match(errors[0].message, `the subscription ${bad.id}, due at `)
  t.match((errors[0].cause as Error).message, 'The payment gateway gone is not configured.')
  t.same(await subscriptionNow(bad.id), before, 'a failed task changes nothing')
  t.equal((await ordersOf(bad.id)).length, 1)
  const reported = errors.length
  await waitUntil(() => errors.length > reported, 'the next attempt')
  await database.pool.query("UPDATE subscriptions SET gateway = 'sandbox' WHERE id = $1", [bad.id])
  await waitUntil(async () => (await ordersOf(bad.id)).length === 2, 'the renewal of the failed subscription')
  await billing.stop()
  for (const { id } of [good, bad]) await cancel(id, { at_period_end: false })
})

t.test('the clock moves past a task that fails, and the request reports the error', async (t) => {
  const [good, bad] = [
    await subscribe(server, ada, catalog.monthly),
    await subscribe(server, ada, catalog.monthly),
  ]
  await database.pool.query(
    "UPDATE subscriptions SET gateway = 'gone', due_at = due_at - interval '1 hour' WHERE id = $1",
    [bad.id],
  )
  const now = await clockNow()
  const reply = await advance(server, { by_seconds: 32 * 86_400 })
  t.match(reply, { status: 500, body: { error: { code: 'SERVER_ERROR' } } })
  t.ok((await clockNow()) >= new Date(now.getTime() + 32 * day))
  t.equal((await ordersOf(good.id)).length, 2)
  t.match(server.logs.join('\n'), bad.id)
  await database.pool.query("UPDATE subscriptions SET gateway = 'sandbox' WHERE id = $1", [bad.id])
  t.equal((await advance(server, { by_seconds: 1 })).status, 200)
  t.equal((await ordersOf(bad.id)).length, 2)
  for (const { id } of [good, bad]) await cancel(id, { at_period_end: false })
})

t.test('the clock moves only forward, and at most two years at once', async (t) => {
  const now = await clockNow()
  const at = (milliseconds: number): string => new Date(now.getTime() + milliseconds).toISOString()
  const refused: Array<[object, number, object]> = [
    [{}, 400, { field: 'to', constraint: 'required' }],
    [{ to: at(day), by_seconds: 5 }, 400, { field: 'by_seconds', constraint: 'oneOf' }],
    [{ to: at(-1_000) }, 409, { field: 'to', constraint: 'forward' }],
    [{ to: at(733 * day) }, 400, { field: 'to', constraint: 'maximum' }],
    [{ to: '9999-12-31T23:59:59.999Z' }, 400, { field: 'to', constraint: 'maximum' }],
    [{ to: 'tomorrow' }, 400, { field: 'to' }],
    [{ by_seconds: 0 }, 400, { field: 'by_seconds' }],
    [{ by_seconds: 63_072_001 }, 400, { field: 'by_seconds' }],
    [{ by_seconds: 1.5 }, 400, { field: 'by_seconds' }],
    [{ by_seconds: 1, offset_seconds: 1 }, 400, { field: 'offset_seconds' }],
  ]
  for (const [body, status, details] of refused)
    t.match(
      await advance(server, body as never),
      { status, body: { error: { details } } },
      JSON.stringify(body),
    )
  t.ok((await clockNow()).getTime() < now.getTime() + 60_000)
})

t.test('a repeated move of the clock with the same Idempotency-Key moves once', async (t) => {
  const path = '/payments/test-clock/advance'
  const body = { by_seconds: 3600 }
  const send = (key: string, sent: object = body) =>
    server.admin.client.post(path, sent, { headers: { 'idempotency-key': key } })
  const offset = async () => (await get('test-clock', server.admin)).offset_seconds
  const before = await offset()
  // The clock reaches a point in time. A slow move therefore adds a little less than was asked.
  const hoursMoved = async () => Math.round(((await offset()) - before) / 3600)
  const replies = await Promise.all([1, 2, 3, 4].map(() => send('hour')))
  t.ok(
    replies.every(({ status }) => status === 200 || status === 409),
    replies.map(({ text }) => text).join(),
  )
  const again = await send('hour')
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal((await send('hour')).text, again.text)
  t.equal(await hoursMoved(), 1)
  t.equal((await send('hour', { by_seconds: 60 })).status, 422)

  const interrupted = moveTestClock(
    database,
    {
      userId: server.admin.id,
      idempotency: idempotencyFingerprint({ key: 'crash', method: 'POST', path: `/v1${path}`, body }),
      target: (now) => new Date(now.getTime() + 3_600_000),
    },
    () => Promise.reject(new Error('the process ended')),
  )
  await t.rejects(interrupted, { message: 'the process ended' })
  t.equal(await hoursMoved(), 1)
  t.equal((await send('crash')).status, 200)
  await send('crash')
  t.equal(await hoursMoved(), 2, 'the repeated request continues to the time of the first one')
})

t.test('a renewal runs a known number of statements', async (t) => {
  const { id } = await subscribe(server, ada, catalog.monthly)
  const { current_period_end: end } = await subscriptionNow(id)
  await advanceTo(server, new Date(Date.parse(end) - 5_000))
  server.statements.length = 0
  await advance(server, { by_seconds: 10 })
  const sent = server.statements.filter(
    (text) => !/last_used_at|^SELECT 1$|LISTEN|number_events|pg_notify|api_keys/.test(text),
  )
  t.equal(
    sent.length,
    28,
    `${sent.length}: ${sent.map((text) => text.trim().slice(0, 60).replace(/\s+/g, ' ')).join('\n')}`,
  )
  await cancel(id, { at_period_end: false })
})
