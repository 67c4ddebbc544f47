// The same thing told, asked or due many times at once counts once: over real HTTP, with as many at a time as there are.
import t from 'tap'
import { createPaymentWorker } from '../../services/payments/worker.ts'
import { moveClock, paymentsNow } from '../../services/payments/clock.ts'
import { doDue, firstDue } from '../../services/payments/renewals.ts'
import type { Reply } from '../support/client.ts'
import { unbalanced } from '../support/ledger-invariants.ts'
import { startServer } from '../support/server.ts'
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
const { admin } = server
const { database } = server.services

const get = async (path: string): Promise<any> => (await ada.client.get(`/payments/${path}`)).body
const post = (path: string, body?: object) => ada.client.post(`/payments/${path}`, body)
const order = async (quantity = 1): Promise<any> =>
  (await post('orders', { items: [{ price_id: shop.price, quantity }] })).body
const paidOrder = async (quantity = 1): Promise<any> => {
  const session = await beginCheckout(ada, { items: [{ price_id: shop.price, quantity }] })
  await payBy(server, session.id, cards.pays)
  return await get(`orders/${session.order_id}`)
}
const many = async <T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  await Promise.all(Array.from({ length: count }, (_, i) => work(i)))
/** How often each answer was given. */
function tally(replies: Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of replies) {
    const what = [status, body?.error?.details?.constraint].filter(Boolean).join(' ')
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}
const triesOf = async (id: string): Promise<string[]> =>
  (
    await database.pool.query('SELECT status::text FROM payments WHERE order_id = $1 ORDER BY status', [id])
  ).rows.map(({ status }) => status)

t.afterEach(async () => {
  t.same(await unbalanced(database), [], 'the ledger balances')
})

t.test('200 completions of one session pay it once', async (t) => {
  const { id, order_id: orderId } = await beginCheckout(ada, { items: [{ price_id: shop.price }] })
  const replies = await many(200, () => payBy(server, id, cards.pays))
  t.same(Object.keys(tally(replies)), ['303'], JSON.stringify(tally(replies)))
  t.equal((await get(`orders/${orderId}`)).status, 'paid')
  t.same(await triesOf(orderId), ['succeeded'])
  t.same(await eventsAbout(server, orderId, id), [
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
  ])
})

t.test('100 completions of a first session begin one subscription', async (t) => {
  const { id, session, order: orderId } = await subscribe(server, ada, shop.monthly, { card: null })
  await many(100, () => payBy(server, session, cards.pays))
  t.match(await get(`subscriptions/${id}`), { status: 'active', latest_order_id: orderId })
  t.same(await triesOf(orderId), ['succeeded'])
  t.same(await eventsAbout(server, id, orderId, session), [
    'subscription.created',
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'subscription.updated',
  ])
  await post(`subscriptions/${id}/cancel`, { at_period_end: false })
})

t.test('cards of every kind, typed at once, pay at most once', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id, order_id: orderId } = await beginCheckout(ada, { items: [{ price_id: shop.price }] })
    const kinds = Object.values(cards)
    await many(30, (i) => payBy(server, id, kinds[(i + round) % kinds.length]))
    await advance(server, { seconds: 5 })
    t.equal(
      (await triesOf(orderId)).filter((status) => status === 'succeeded').length,
      (await get(`orders/${orderId}`)).status === 'paid' ? 1 : 0,
    )
    t.notOk((await triesOf(orderId)).includes('processing'))
  }
})

t.test('a payment that is confirmed and rejected at once is one of both', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id, order_id: orderId } = await beginCheckout(ada, { items: [{ price_id: shop.price }] })
    await payBy(server, id, cards.asks)
    await many(20, (i) => answerQuestion(server, id, i % 2 === 0 ? 'confirm' : 'reject').catch(() => null))
    const { status } = await get(`orders/${orderId}`)
    t.same(await triesOf(orderId), [status === 'paid' ? 'succeeded' : 'failed'])
  }
})

t.test(
  'whoever is first of paying, cancelling and expiring wins, and the others have no effect',
  async (t) => {
    const outcomes: Record<string, number> = {}
    for (let round = 0; round < 15; round++) {
      const { id: orderId } = await order()
      const { id } = await beginCheckout(ada, { order_id: orderId })
      if (round % 3 === 0) await payBy(server, id, cards.slow)
      const ways = [
        () => payBy(server, id, cards.pays),
        () => post(`orders/${orderId}/cancel`),
        () => post(`checkout/${id}/expire`),
        () => advance(server, { seconds: 4 }),
      ]
      const replies = await many(12, (i) => ways[(i + round) % ways.length]())
      t.notOk(
        replies.some(({ status }) => status >= 500),
        JSON.stringify(tally(replies)),
      )
      const end = [(await get(`orders/${orderId}`)).status, (await get(`checkout/${id}`)).status].join(' ')
      t.match(end, /^(paid complete|canceled expired)$/)
      t.equal(
        (await triesOf(orderId)).filter((status) => status === 'succeeded').length,
        end === 'paid complete' ? 1 : 0,
      )
      outcomes[end] = (outcomes[end] ?? 0) + 1
    }
    t.comment(outcomes)
  },
)

t.test('an order has one session at a time, however many are asked for', async (t) => {
  const { id: orderId } = await order()
  const replies = await many(30, () =>
    post('checkout', {
      order_id: orderId,
      success_url: 'https://a.example',
      cancel_url: 'https://a.example',
    }),
  )
  t.same(tally(replies), { 201: 1, '409 open_checkout': 29 })
  const { id: first } = replies.find(({ status }) => status === 201)!.body
  // One is paid slowly and given up; another is paid at once.
  await payBy(server, first, cards.slow)
  await post(`checkout/${first}/expire`)
  const second = await beginCheckout(ada, { order_id: orderId })
  await many(20, async (i) => {
    await (i % 4 === 0
      ? advance(server, { seconds: 4 })
      : payBy(server, i % 2 === 0 ? first : second.id, cards.pays))
  })
  t.match(await get(`orders/${orderId}`), { status: 'paid', checkout_id: second.id })
  t.same(await triesOf(orderId), ['returned', 'succeeded'])
})

t.test('refunds at once never come to more than was paid', async (t) => {
  for (const [amounts, left] of [
    [[1000], 997],
    [[undefined], 0],
    [[700, undefined, 1, 3000], 0],
  ] as const) {
    const { id, total_amount: total } = await paidOrder(3)
    const replies = await many(50, (i) =>
      admin.client.post(`/payments/orders/${id}/refunds`, { amount: amounts[i % amounts.length] }),
    )
    t.notOk(
      replies.some(({ status }) => ![201, 400, 409].includes(status)),
      JSON.stringify(tally(replies)),
    )
    const given = replies
      .filter(({ status }) => status === 201)
      .reduce((sum, { body }) => sum + body.amount, 0)
    const now = await get(`orders/${id}`)
    t.equal(now.refunded_amount, given)
    t.ok(given <= total)
    if (amounts.length === 1) t.equal(total - given, left)
    t.equal(now.status, given === total ? 'refunded' : 'partially_refunded')
    t.equal(
      (await eventsAbout(server, id)).filter((type) => type === 'order.refunded').length,
      replies.filter(({ status }) => status === 201).length,
    )
  }
})

t.test('a refund that is asked for again and again with one key is made once', async (t) => {
  const { id } = await paidOrder(2)
  const ask = () =>
    admin.client.post(
      `/payments/orders/${id}/refunds`,
      { amount: 300 },
      { headers: { 'idempotency-key': `refund-of-${id}` } },
    )
  const replies = await many(50, ask)
  t.notOk(
    replies.some(({ status }) => status !== 201 && status !== 409),
    JSON.stringify(tally(replies)),
  )
  const again = await ask()
  t.match(again, { status: 201, body: { amount: 300 } })
  for (const reply of replies) if (reply.status === 201) t.same(reply.body, again.body)
  t.equal((await get(`orders/${id}`)).refunded_amount, 300)
  t.equal((await get(`orders/${id}/refunds`)).pagination.total, 1)
})

t.test('a session that is begun again and again with one key is begun once', async (t) => {
  const before = (await get('orders')).pagination.total
  const replies = await many(30, () =>
    ada.client.post(
      '/payments/checkout',
      {
        mode: 'subscription',
        items: [{ price_id: shop.monthly }],
        success_url: 'https://a.example',
        cancel_url: 'https://a.example',
      },
      { headers: { 'idempotency-key': 'begin-once' } },
    ),
  )
  t.equal(new Set(replies.filter(({ status }) => status === 201).map(({ body }) => body.id)).size, 1)
  t.equal((await get('orders')).pagination.total, before + 1)
})

t.test('what is due is done once, by however many workers', async (t) => {
  const weekly = await addPrice(admin.client, shop.product, {
    unit_amount: 500,
    recurring: { interval: 'week', interval_count: 1 },
  })
  const begun = await many(8, (i) =>
    subscribe(server, ada, weekly, { card: i % 4 === 3 ? cards.paysOnce : cards.pays }),
  )
  const slow = await many(4, async () => {
    const session = await beginCheckout(ada, { items: [{ price_id: shop.price }] })
    await payBy(server, session.id, cards.slow)
    return session
  })
  const unpaid = await many(4, () => beginCheckout(ada, { items: [{ price_id: shop.price }] }))
  await moveClock(database, new Date((await paymentsNow(database)).getTime() + 8 * 86_400_000))

  const due = (await firstDue(database))!
  await many(10, () => doDue(database, server.services, due))
  const errors: Error[] = []
  const workers = Array.from({ length: 4 }, () =>
    createPaymentWorker({ ...server.services, onError: (error) => errors.push(error), interval: 5 }),
  )
  for (const worker of workers) worker.start()
  await Promise.all([
    waitUntil(async () => (await firstDue(database)) === null),
    advance(server, { seconds: 1 }),
  ])
  await Promise.all(workers.map((worker) => worker.stop()))
  t.same(errors, [])
  for (const [i, { id }] of begun.entries()) {
    const orders = (await get(`orders?subscription_id=${id}`)).data
    t.equal(orders.length, 2, 'one order for the period')
    t.equal(
      (await triesOf(orders[0].id)).length,
      i % 4 === 3 ? 2 : 1,
      'and one payment, or one for each try that was due',
    )
  }
  for (const { order_id: id } of slow)
    t.same([(await get(`orders/${id}`)).status, ...(await triesOf(id))], ['paid', 'succeeded'])
  for (const { id } of unpaid) t.equal((await get(`checkout/${id}`)).status, 'expired')
  for (const { id } of begun) await post(`subscriptions/${id}/cancel`, { at_period_end: false })
})

t.test('several may move the clock at once', async (t) => {
  const daily = await addPrice(admin.client, shop.product, {
    unit_amount: 5,
    recurring: { interval: 'day', interval_count: 1 },
  })
  const begun = await many(3, () => subscribe(server, ada, daily))
  const { current_period_end: end } = await get(`subscriptions/${begun[0].id}`)
  const replies = await many(6, (i) =>
    advance(server, { to: new Date(Date.parse(end) + (i + 1) * 86_400_000).toISOString() }),
  )
  t.notOk(
    replies.some(({ status }) => status !== 200 && status !== 409),
    JSON.stringify(tally(replies)),
  )
  await advanceTo(server, new Date(Date.parse(end) + 6.5 * 86_400_000))
  for (const { id } of begun) {
    const orders = (await get(`orders?subscription_id=${id}&order=asc`)).data
    t.same(
      orders.map(({ status }: any) => status),
      Array.from({ length: 8 }, () => 'paid'),
    )
    await post(`subscriptions/${id}/cancel`, { at_period_end: false })
  }
})

t.test(
  'an overdue order that is paid, tried again, and cancelled with its subscription at once ends one way',
  async (t) => {
    const outcomes: Record<string, number> = {}
    for (let round = 0; round < 6; round++) {
      const { id } = await subscribe(server, ada, shop.monthly, { card: cards.paysOnce })
      await advanceTo(server, (await get(`subscriptions/${id}`)).current_period_end)
      const { latest_order_id: orderId } = await get(`subscriptions/${id}`)
      const session = await beginCheckout(ada, { order_id: orderId })
      const ways = [
        () => payBy(server, session.id, cards.pays),
        () => post(`subscriptions/${id}/cancel`, { at_period_end: false }),
        () => advance(server, { seconds: 86_400 }),
        () => post(`checkout/${session.id}/expire`),
      ]
      const replies = await many(12, (i) => ways[(i + round) % ways.length]())
      t.notOk(
        replies.some(({ status }) => status >= 500),
        JSON.stringify(tally(replies)),
      )
      const end = `${(await get(`subscriptions/${id}`)).status} ${(await get(`orders/${orderId}`)).status}`
      t.match(end, /^(canceled (paid|canceled)|active paid|past_due pending)$/)
      outcomes[end] = (outcomes[end] ?? 0) + 1
      if (!end.startsWith('canceled')) await post(`subscriptions/${id}/cancel`, { at_period_end: false })
    }
    t.comment(outcomes)
  },
)

t.test('nobody waited for somebody who waited for him', async (t) => {
  await database.pool.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await database.pool.query(
    'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
  )
  t.same(rows, [{ deadlocks: 0 }])
  t.notOk(
    server.logs.some((line) => JSON.parse(line).level >= 50),
    'and nothing went wrong that was not told',
  )
})
