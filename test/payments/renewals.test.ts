// Subscriptions in time: they are renewed when they are due, to the millisecond, fail, are tried again, recover and end.
import t, { type Test } from 'tap'
import { runRetention } from '../support/retention.ts'
import { createPaymentWorker } from '../../services/payments/worker.ts'
import { moveClock } from '../../services/payments/clock.ts'
import { unbalanced } from '../support/ledger-invariants.ts'
import { startServer, type Person } from '../support/server.ts'
import {
  addPrice,
  advance,
  advanceTo,
  answerQuestion,
  beginCheckout,
  cards,
  eventsAbout,
  openShop,
  payBy,
  subscribe,
} from '../support/catalog-fixtures.ts'
import { waitUntil } from '../support/wait.ts'

const server = await startServer(t)
const shop = await openShop(server)
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
  await addPrice(server.admin.client, shop.product, {
    unit_amount: 700,
    recurring: { interval, interval_count: count },
  })

/** Every period of a subscription as it was told of, once each. */
async function periodsOf(id: string): Promise<Array<[string, string]>> {
  const { rows } = await database.pool.query(
    "SELECT data->'object' AS object FROM events WHERE data->'object'->>'id' = $1 AND type = 'subscription.updated' ORDER BY position",
    [id],
  )
  const periods = rows.map(({ object }): [string, string] => [
    object.current_period_start,
    object.current_period_end,
  ])
  return periods.filter(([start], i) => i === 0 || start !== periods[i - 1][0])
}

/** When each try to pay an order was, in days after a time, and what became of it. */
async function triesOf(order: string, since: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    'SELECT status::text, created_at FROM payments WHERE order_id = $1 ORDER BY id',
    [order],
  )
  return rows.map(
    ({ status, created_at: at }) =>
      `${status} on day ${Math.floor((at.getTime() - Date.parse(since)) / day)}`,
  )
}

/** So many months later, on the same day or the last one of a shorter month. */
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

/** What was paid in projects that are removed for good, and their events with them. */
const forgotten: string[] = []
t.afterEach(async () => {
  const sentences = await unbalanced(database)
  t.same(
    sentences.filter((sentence) => !forgotten.some((id) => sentence.startsWith(id))),
    [],
    'the ledger balances',
  )
})

t.test('a monthly subscription is renewed twelve times in a year', async (t) => {
  const { id, order: first } = await subscribe(server, ada, shop.monthly, { quantity: 3 })
  const begun = await subscriptionNow(id)
  const anchor = begun.current_period_start
  t.match(begun, {
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
    'the first period begins when the first order is paid',
  )

  t.equal(
    (await advance(server, { to: new Date(Date.parse(begun.current_period_end) - 1).toISOString() })).status,
    200,
  )
  t.same(await subscriptionNow(id), begun, 'a millisecond before its end nothing has happened')
  t.equal((await advance(server, { to: monthsAfter(anchor, 12) })).status, 200)
  const orders = await ordersOf(id)
  t.equal(orders.length, 13)
  for (const [i, order] of orders.entries()) {
    t.match(order, {
      status: 'paid',
      total_amount: 3000,
      refunded_amount: 0,
      items: [{ price_id: shop.monthly, quantity: 3 }],
      subscription_id: id,
    })
    const late = Date.parse(order.paid_at) - Date.parse(monthsAfter(anchor, i))
    t.ok(late >= 0 && late < 20_000, `order ${i} is paid when its period begins, ${late} ms after`)
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
  t.same((await eventsAbout(server, id, ...orders.map((order) => order.id))).slice(0, 10), [
    'subscription.created',
    'order.created',
    'order.paid',
    'subscription.updated',
    'order.created',
    'order.paid',
    'subscription.updated',
    'order.created',
    'order.paid',
    'subscription.updated',
  ])
  await cancel(id, { at_period_end: false })
  await advance(server, { seconds: 40 * 86_400 })
  t.equal((await ordersOf(id)).length, 13, 'and no more once it has ended')
})

/** The next time after the clock's that is on this day of the year, where there is one. */
async function nextOf(month: number, dayOfMonth: number): Promise<Date> {
  const now = await clockNow()
  for (let year = now.getUTCFullYear(); ; year++) {
    const date = new Date(Date.UTC(year, month - 1, dayOfMonth, 23, 59, 58))
    if (date > now && date.getUTCDate() === dayOfMonth) return date
  }
}

t.test('periods are counted from the first, whatever day it was and however long they are', async (t) => {
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
  const hold = async (
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

  await t.test('from a 31st of January', async (t) => {
    const from = await nextOf(1, 31)
    await advanceTo(server, from)
    const daily = (await begin([4]))[0]
    const begun = await begin([0, 1, 3, 5])
    await advanceTo(server, daysAfter(from.toISOString(), 4))
    await hold(t, daily, 4)
    await advanceTo(server, daysAfter(from.toISOString(), 400))
    const [monthly] = begun
    const ends = (await periodsOf(monthly.id)).map(([, end]) => Number(end.slice(8, 10)))
    t.match(ends.slice(1, 6), [31, 30, 31, 30, 31], 'the last day of short months, and the 31st of long ones')
    for (const [i, one] of begun.entries()) await hold(t, one, [13, 6, 28, 10][i])
  })
  await t.test('from a 29th of February', async (t) => {
    const from = await nextOf(2, 29)
    await advanceTo(server, from)
    const begun = await begin([0, 2])
    await advanceTo(server, daysAfter(from.toISOString(), 4 * 365 + 2))
    t.match(
      (await periodsOf(begun[1].id)).map(([, end]) => end.slice(5, 10)),
      ['02-28', '02-28', '02-28', '02-29'],
      'four years later it is that day again',
    )
    for (const one of begun) await hold(t, one, 5)
  })
})

t.test('a renewal that is not paid is tried on days 1, 3, 5, 9 and 14, and then it ends', async (t) => {
  const { id } = await subscribe(server, ada, shop.monthly, { card: cards.paysOnce })
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
    t.same(await triesOf(order.id, start), tries, `nothing new just before day ${on}`)
    await advance(server, { to: daysAfter(start, on) })
    tries.push(`failed on day ${on}`)
    t.same(await triesOf(order.id, start), tries)
    t.equal((await subscriptionNow(id)).status, 'past_due')
  }
  t.same(
    await eventsAbout(server, id, order.id),
    ['subscription.created', 'subscription.updated', 'order.created', 'subscription.updated'],
    'a try that fails again is no event',
  )
  await advance(server, { to: daysAfter(start, 14) })
  t.same(await triesOf(order.id, start), [...tries, 'failed on day 14'])
  const ended = await subscriptionNow(id)
  t.match(ended, { status: 'canceled', ended_at: ended.canceled_at, latest_order_id: order.id })
  t.match(await get(`orders/${order.id}`), { status: 'canceled' })
  t.same((await eventsAbout(server, id, order.id)).slice(4), ['subscription.canceled', 'order.canceled'])
  await advance(server, { seconds: 60 * 86_400 })
  t.equal((await ordersOf(id)).length, 2)
})

t.test('who pays the overdue order has the subscription back, and later renewals by that card', async (t) => {
  const { id } = await subscribe(server, ada, shop.monthly, { card: cards.paysOnce })
  const anchor = (await subscriptionNow(id)).current_period_start
  await advanceTo(server, monthsAfter(anchor, 1))
  await advance(server, { seconds: 2 * 86_400 })
  const [, order] = await ordersOf(id)
  const checkout = await beginCheckout(ada, { order_id: order.id })
  t.match(
    checkout,
    { mode: 'payment', subscription_id: null, amount_total: 1000 },
    'what is paid is an order, and no subscription begins',
  )
  await payBy(server, checkout.id, cards.declined)
  t.equal((await subscriptionNow(id)).status, 'past_due')
  await payBy(server, checkout.id, cards.asks)
  await answerQuestion(server, checkout.id, 'confirm')
  t.match(
    await subscriptionNow(id),
    {
      status: 'active',
      current_period_start: monthsAfter(anchor, 1),
      current_period_end: monthsAfter(anchor, 2),
    },
    'its period is the one that it was',
  )
  t.same(await eventsAbout(server, id, order.id, checkout.id), [
    'subscription.created',
    'subscription.updated',
    'order.created',
    'subscription.updated',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'subscription.updated',
  ])
  await advanceTo(server, monthsAfter(anchor, 3))
  t.same(
    (await ordersOf(id)).map(({ status }) => status),
    ['paid', 'paid', 'paid', 'paid'],
  )
  t.equal((await periodsOf(id)).length, 4)
  await cancel(id, { at_period_end: false })
})

t.test('an open session for an overdue order expires when the subscription ends', async (t) => {
  const { id } = await subscribe(server, ada, shop.monthly, { card: cards.paysOnce })
  const { current_period_end: start } = await subscriptionNow(id)
  await advanceTo(server, daysAfter(start, 13.5))
  const checkout = await beginCheckout(ada, { order_id: (await subscriptionNow(id)).latest_order_id })
  await payBy(server, checkout.id, cards.asks)
  await advanceTo(server, daysAfter(start, 14))
  t.equal((await subscriptionNow(id)).status, 'canceled')
  t.equal((await get(`checkout/${checkout.id}`)).status, 'expired')
  t.equal((await payBy(server, checkout.id, cards.pays)).status, 410)
})

t.test('one that recovers late is renewed at once for the periods that began meanwhile', async (t) => {
  const weekly = await recurringAt('week', 1)
  const { id } = await subscribe(server, ada, weekly, { card: cards.paysOnce })
  const anchor = (await subscriptionNow(id)).current_period_start
  await advanceTo(server, daysAfter(anchor, 7 + 10))
  const { latest_order_id: order } = await subscriptionNow(id)
  await payBy(server, (await beginCheckout(ada, { order_id: order })).id, cards.pays)
  t.match(await subscriptionNow(id), { status: 'active', current_period_end: daysAfter(anchor, 14) })
  await advance(server, { seconds: 1 })
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

t.test('it can be cancelled at the end of its period, and that be taken back', async (t) => {
  const { id } = await subscribe(server, ada, shop.monthly)
  const begun = await subscriptionNow(id)
  const canceled = await cancel(id)
  t.match(canceled.body, {
    status: 'active',
    cancel_at_period_end: true,
    ended_at: null,
    current_period_end: begun.current_period_end,
  })
  t.ok(canceled.body.canceled_at >= begun.current_period_start)
  t.same((await resume(id)).body, begun)
  await cancel(id, { at_period_end: true })
  await advanceTo(server, begun.current_period_end)
  const ended = await subscriptionNow(id)
  t.match(ended, {
    status: 'canceled',
    cancel_at_period_end: true,
    current_period_end: begun.current_period_end,
  })
  t.ok(ended.ended_at >= begun.current_period_end && ended.canceled_at < ended.ended_at)
  t.equal((await ordersOf(id)).length, 1)
  t.same(await eventsAbout(server, id), [
    'subscription.created',
    'subscription.updated',
    'subscription.updated',
    'subscription.updated',
    'subscription.updated',
    'subscription.canceled',
  ])
})

t.test('what is cancelled while it is not paid ends at once, with its order and session', async (t) => {
  const incomplete = await subscribe(server, ada, shop.monthly, { card: null })
  await payBy(server, incomplete.session, cards.slow)
  t.match((await cancel(incomplete.id)).body, {
    status: 'canceled',
    current_period_start: null,
    cancel_at_period_end: false,
  })
  t.equal((await get(`orders/${incomplete.order}`)).status, 'canceled')
  t.equal((await get(`checkout/${incomplete.session}`)).status, 'expired')
  t.same(await eventsAbout(server, incomplete.id, incomplete.order, incomplete.session), [
    'subscription.created',
    'order.created',
    'checkout.created',
    'subscription.canceled',
    'order.canceled',
    'checkout.expired',
  ])
  await advance(server, { seconds: 10 })
  const { rows } = await database.pool.query('SELECT status::text FROM payments WHERE order_id = $1', [
    incomplete.order,
  ])
  t.same(rows, [{ status: 'returned' }], 'and what was on its way is given back')

  const { id } = await subscribe(server, ada, shop.monthly, { card: cards.paysOnce })
  await advanceTo(server, (await subscriptionNow(id)).current_period_end)
  const [, order] = await ordersOf(id)
  const checkout = await beginCheckout(ada, { order_id: order.id })
  t.match((await cancel(id, { at_period_end: true })).body, { status: 'canceled', latest_order_id: order.id })
  t.equal((await get(`orders/${order.id}`)).status, 'canceled')
  t.equal((await get(`checkout/${checkout.id}`)).status, 'expired')
})

t.test('a first session that expires ends the subscription that it was for', async (t) => {
  const { id, session, order } = await subscribe(server, ada, shop.monthly, { card: null })
  await payBy(server, session, cards.asks)
  await advanceTo(server, (await get(`checkout/${session}`)).expires_at)
  t.match(await subscriptionNow(id), { status: 'canceled', current_period_start: null })
  t.equal((await get(`orders/${order}`)).status, 'canceled')
  t.same(await eventsAbout(server, id, order, session), [
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
  t.same(rows, [{ status: 'failed', failure_code: 'expired' }], 'what waited for a confirmation has failed')
})

t.test('a session with a slow payment does not expire until that is done', async (t) => {
  const { id, session } = await subscribe(server, ada, shop.monthly, { card: null })
  const { expires_at: expiresAt } = await get(`checkout/${session}`)
  await advanceTo(server, new Date(Date.parse(expiresAt) - 1_500))
  await payBy(server, session, cards.slow)
  await advance(server, { seconds: 2 })
  t.equal((await get(`checkout/${session}`)).status, 'open')
  await advance(server, { seconds: 10 })
  t.match(await get(`checkout/${session}`), { status: 'complete', payment_status: 'paid' })
  t.match(await subscriptionNow(id), { status: 'active' })
  await cancel(id, { at_period_end: false })
})

t.test('no state is left in a way that is not allowed, and the answer names it', async (t) => {
  const states: Record<string, string> = {}
  states.incomplete = (await subscribe(server, ada, shop.monthly, { card: null })).id
  states.canceled = (await subscribe(server, ada, shop.monthly)).id
  await cancel(states.canceled, { at_period_end: false })
  const overdue = await subscribe(server, ada, await recurringAt('day', 1), { card: cards.paysOnce })
  await advance(server, { seconds: 87_000 })
  states.past_due = overdue.id
  // The session of the other expired meanwhile.
  states.incomplete = (await subscribe(server, ada, shop.monthly, { card: null })).id
  states.active = (await subscribe(server, ada, shop.monthly)).id
  states.ending = (await subscribe(server, ada, shop.monthly)).id
  await cancel(states.ending)
  const refused: Array<[string, () => Promise<any>, string]> = [
    ['cancel one that is canceled', () => cancel(states.canceled), 'canceled'],
    [
      'cancel one at once that is canceled',
      () => cancel(states.canceled, { at_period_end: false }),
      'canceled',
    ],
    ['cancel one at its end that ends with its period', () => cancel(states.ending), 'active'],
    ['resume one that is canceled', () => resume(states.canceled), 'canceled'],
    ['resume one that goes on', () => resume(states.active), 'active'],
    ['resume one that is incomplete', () => resume(states.incomplete), 'incomplete'],
    ['resume one that is overdue', () => resume(states.past_due), 'past_due'],
  ]
  const before = await eventCount()
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
    'an order of it is cancelled with it',
  )
  t.equal(await eventCount(), before)
  for (const id of [states.active, states.past_due, states.incomplete])
    t.match((await cancel(id, { at_period_end: false })).body, { status: 'canceled' })
  t.match(
    (await cancel(states.ending, { at_period_end: false })).body,
    { status: 'canceled', cancel_at_period_end: true },
    'what ends with its period can end at once',
  )
})

const eventCount = async (): Promise<number> =>
  (await database.pool.query('SELECT count(*)::int AS n FROM events')).rows[0].n

t.test('what is not sold any more goes on for those who have it', async (t) => {
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
  await advance(server, { seconds: 8 * 86_400 })
  t.same(
    (await ordersOf(id)).map(({ status, items }) => [status, items[0].description]),
    [
      ['paid', 'Old plan'],
      ['paid', 'Plan of old'],
    ],
  )
  await cancel(id, { at_period_end: false })
})

t.test('nobody pays for what is deleted', async (t) => {
  const bob = await server.person()
  const projectOf = async (person: Person): Promise<string> =>
    (await person.client.post('/projects', { name: 'shop' })).body.id
  const ordersIn = async (id: string): Promise<number> =>
    (await database.pool.query('SELECT count(*)::int AS n FROM orders WHERE subscription_id = $1', [id]))
      .rows[0].n
  const stateOf = async (id: string) =>
    (
      await database.pool.query(
        'SELECT status::text, project_id, due_at, ended_at - period_end AS after FROM subscriptions WHERE id = $1',
        [id],
      )
    ).rows[0]

  await t.test('a project: it ends with its period', async (t) => {
    const project = await projectOf(ada)
    const { id } = await subscribe(server, ada, shop.monthly, { project_id: project })
    const overdue = await subscribe(server, ada, await recurringAt('week', 1), {
      project_id: project,
      card: cards.paysOnce,
    })
    const kept = await projectOf(ada)
    const other = await subscribe(server, ada, shop.monthly, { project_id: kept })
    await advance(server, { seconds: 8 * 86_400 })
    t.equal((await subscriptionNow(overdue.id)).status, 'past_due')
    await ada.client.delete(`/projects/${project}`)
    await ada.client.delete(`/projects/${kept}`)
    await ada.client.post(`/projects/${kept}/restore`)
    await advance(server, { seconds: 30 * 86_400 })
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
    t.equal(await ordersIn(other.id), 2, 'one that was restored in time goes on')
    await cancel(other.id, { at_period_end: false })
  })

  await t.test(
    'a project that is removed for good: it ends at once, and the orders stay with who bought',
    async (t) => {
      const project = await projectOf(bob)
      const yearly = await subscribe(server, bob, await recurringAt('year', 1), { project_id: project })
      const incomplete = await subscribe(server, bob, shop.monthly, { project_id: project, card: null })
      await bob.client.delete(`/projects/${project}`)
      await database.pool.query("UPDATE projects SET deleted_at = now() - interval '31 days' WHERE id = $1", [
        project,
      ])
      await runRetention(database)
      for (const { id, order, session } of [yearly, incomplete]) forgotten.push(id, order, session)
      t.equal((await bob.client.get(`/projects/${project}`)).status, 404)
      await advance(server, { seconds: 1 })
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
      await advance(server, { seconds: 370 * 86_400 })
      t.equal(await ordersIn(yearly.id), 1)
    },
  )

  await t.test('an owner: it ends with its period, in a project that goes on too', async (t) => {
    const carl = await server.person()
    const alone = await projectOf(carl)
    const shared = await projectOf(ada)
    await ada.client.post(`/projects/${shared}/members`, { user_id: carl.id, role: 'editor' })
    const own = await subscribe(server, carl, shop.monthly)
    const together = await subscribe(server, carl, shop.monthly, { project_id: shared })
    const inAlone = await subscribe(server, carl, shop.monthly, { project_id: alone })
    await carl.client.post('/payments/orders', { project_id: alone, items: [{ price_id: shop.price }] })
    await carl.client.delete(`/projects/${alone}`)
    t.equal((await server.admin.client.delete(`/users/${carl.id}`)).status, 204)
    await runRetention(database)
    await advance(server, { seconds: 1 })
    t.match(
      await stateOf(inAlone.id),
      { status: 'canceled', project_id: null },
      'the deleted project that nobody else has goes with its owner',
    )
    t.match(await stateOf(own.id), { status: 'active' })
    await advance(server, { seconds: 32 * 86_400 })
    for (const { id } of [own, together, inAlone]) {
      t.match(await stateOf(id), { status: 'canceled', due_at: null })
      t.equal(await ordersIn(id), 1)
    }
  })
})

t.test('servers and workers do what is due by themselves, whatever cannot be done', async (t) => {
  const [good, bad, session] = [
    await subscribe(server, ada, shop.monthly),
    await subscribe(server, ada, shop.monthly),
    await subscribe(server, ada, shop.monthly, { card: null }),
  ]
  const before = await subscriptionNow(bad.id)
  // It was begun with a gateway that is not configured any more, and comes before the other one.
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
  t.equal((await get(`checkout/${session.session}`)).status, 'expired', 'what was due first was done first')
  t.match(errors[0].message, `the subscription ${bad.id}, due at `)
  t.match((errors[0].cause as Error).message, 'the gateway gone is not configured any more')
  t.same(await subscriptionNow(bad.id), before, 'of what fails nothing is done')
  t.equal((await ordersOf(bad.id)).length, 1)
  const told = errors.length
  await waitUntil(() => errors.length > told, 'the next try')
  await database.pool.query("UPDATE subscriptions SET gateway = 'sandbox' WHERE id = $1", [bad.id])
  await waitUntil(async () => (await ordersOf(bad.id)).length === 2, 'the renewal of the other')
  await billing.stop()
  for (const { id } of [good, bad]) await cancel(id, { at_period_end: false })
})

t.test('the clock goes on past what cannot be done, and says so', async (t) => {
  const [good, bad] = [await subscribe(server, ada, shop.monthly), await subscribe(server, ada, shop.monthly)]
  await database.pool.query(
    "UPDATE subscriptions SET gateway = 'gone', due_at = due_at - interval '1 hour' WHERE id = $1",
    [bad.id],
  )
  const now = await clockNow()
  const reply = await advance(server, { seconds: 32 * 86_400 })
  t.match(reply, { status: 500, body: { error: { code: 'SERVER_ERROR' } } })
  t.ok((await clockNow()) >= new Date(now.getTime() + 32 * day))
  t.equal((await ordersOf(good.id)).length, 2)
  t.match(server.logs.join('\n'), bad.id)
  await database.pool.query("UPDATE subscriptions SET gateway = 'sandbox' WHERE id = $1", [bad.id])
  t.equal((await advance(server, { seconds: 1 })).status, 200)
  t.equal((await ordersOf(bad.id)).length, 2)
  for (const { id } of [good, bad]) await cancel(id, { at_period_end: false })
})

t.test('the clock moves forward only, and at most two years at once', async (t) => {
  const now = await clockNow()
  const at = (milliseconds: number): string => new Date(now.getTime() + milliseconds).toISOString()
  const refused: Array<[object, number, object]> = [
    [{}, 400, { field: 'to', constraint: 'exclusive' }],
    [{ to: at(day), seconds: 5 }, 400, { field: 'to', constraint: 'exclusive' }],
    [{ to: at(-1_000) }, 409, { field: 'to', constraint: 'forward' }],
    [{ to: at(733 * day) }, 400, { field: 'to', constraint: 'maximum' }],
    [{ to: '9999-12-31T23:59:59.999Z' }, 400, { field: 'to', constraint: 'maximum' }],
    [{ to: 'tomorrow' }, 400, { field: 'to' }],
    [{ seconds: 0 }, 400, { field: 'seconds' }],
    [{ seconds: 63_072_001 }, 400, { field: 'seconds' }],
    [{ seconds: 1.5 }, 400, { field: 'seconds' }],
    [{ offset_seconds: 1 }, 400, { field: 'offset_seconds' }],
  ]
  for (const [body, status, details] of refused)
    t.match(
      await advance(server, body as never),
      { status, body: { error: { details } } },
      JSON.stringify(body),
    )
  t.ok((await clockNow()).getTime() < now.getTime() + 60_000)
})

t.test('a renewal costs a known number of statements', async (t) => {
  const { id } = await subscribe(server, ada, shop.monthly)
  const { current_period_end: end } = await subscriptionNow(id)
  await advanceTo(server, new Date(Date.parse(end) - 5_000))
  server.statements.length = 0
  await advance(server, { seconds: 10 })
  const sent = server.statements.filter(
    (text) => !/last_used_at|^SELECT 1$|LISTEN|number_events|api_keys/.test(text),
  )
  t.equal(
    sent.length,
    20,
    `${sent.length}: ${sent.map((text) => text.trim().slice(0, 60).replace(/\s+/g, ' ')).join('\n')}`,
  )
  await cancel(id, { at_period_end: false })
})
