// Concurrency: identical payments, requests and due tasks have one effect, over real HTTP.
import t from 'tap'
import { createPaymentWorker } from '../../services/payments/worker.ts'
import { moveClock, paymentsNow } from '../../services/payments/clock.ts'
import { runDueTask, nextDueTask } from '../../services/payments/renewals.ts'
import type { Reply } from '../support/http/client.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { startServer } from '../support/server/server.ts'
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
const { admin } = server
const { database } = server.services

const get = async (path: string): Promise<any> => (await ada.client.get(`/payments/${path}`)).body
const post = (path: string, body?: object) => ada.client.post(`/payments/${path}`, body)
const order = async (quantity = 1): Promise<any> =>
  (await post('orders', { items: [{ price_id: catalog.price, quantity }] })).body
const paidOrder = async (quantity = 1): Promise<any> => {
  const session = await createCheckout(ada, { items: [{ price_id: catalog.price, quantity }] })
  await payWithCard(server, session.id, cards.succeeds)
  return await get(`orders/${session.order_id}`)
}
const many = async <T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  await Promise.all(Array.from({ length: count }, (_, i) => work(i)))
/** Counts the replies by status and constraint. */
function tally(replies: Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of replies) {
    const what = [status, body?.error?.details?.constraint].filter(Boolean).join(' ')
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}
const attemptsOf = async (id: string): Promise<string[]> =>
  (
    await database.pool.query('SELECT status::text FROM payments WHERE order_id = $1 ORDER BY status', [id])
  ).rows.map(({ status }) => status)

t.afterEach(async () => {
  t.same(await ledgerViolations(database), [], 'the ledger balances')
})

t.test('200 concurrent payments of one session pay it once', async (t) => {
  const { id, order_id: orderId } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
  const replies = await many(200, () => payWithCard(server, id, cards.succeeds))
  t.same(Object.keys(tally(replies)), ['303'], JSON.stringify(tally(replies)))
  t.equal((await get(`orders/${orderId}`)).status, 'paid')
  t.same(await attemptsOf(orderId), ['succeeded'])
  t.same(await eventTypesOf(server, orderId, id), [
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
  ])
})

t.test('100 concurrent payments of a first session start one subscription', async (t) => {
  const { id, session, order: orderId } = await subscribe(server, ada, catalog.monthly, { card: null })
  await many(100, () => payWithCard(server, session, cards.succeeds))
  t.match(await get(`subscriptions/${id}`), { status: 'active', latest_order_id: orderId })
  t.same(await attemptsOf(orderId), ['succeeded'])
  t.same(await eventTypesOf(server, id, orderId, session), [
    'subscription.created',
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'subscription.updated',
  ])
  await post(`subscriptions/${id}/cancel`, { at_period_end: false })
})

t.test('concurrent payments by cards of every kind pay at most once', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id, order_id: orderId } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
    const kinds = Object.values(cards)
    await many(30, (i) => payWithCard(server, id, kinds[(i + round) % kinds.length]))
    await advance(server, { by_seconds: 5 })
    t.equal(
      (await attemptsOf(orderId)).filter((status) => status === 'succeeded').length,
      (await get(`orders/${orderId}`)).status === 'paid' ? 1 : 0,
    )
    t.notOk((await attemptsOf(orderId)).includes('processing'))
  }
})

t.test('a payment that is confirmed and rejected at once is either paid or failed', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id, order_id: orderId } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
    await payWithCard(server, id, cards.needsConfirmation)
    await many(20, (i) =>
      answerConfirmation(server, id, i % 2 === 0 ? 'confirm' : 'reject').catch(() => null),
    )
    const { status } = await get(`orders/${orderId}`)
    t.same(await attemptsOf(orderId), [status === 'paid' ? 'succeeded' : 'failed'])
  }
})

t.test(
  'of concurrent payment, cancellation and expiry the first wins and the others have no effect',
  async (t) => {
    const outcomes: Record<string, number> = {}
    for (let round = 0; round < 15; round++) {
      const { id: orderId } = await order()
      const { id } = await createCheckout(ada, { order_id: orderId })
      if (round % 3 === 0) await payWithCard(server, id, cards.slow)
      const ways = [
        () => payWithCard(server, id, cards.succeeds),
        () => post(`orders/${orderId}/cancel`),
        () => post(`checkout/${id}/expire`),
        () => advance(server, { by_seconds: 4 }),
      ]
      const replies = await many(12, (i) => ways[(i + round) % ways.length]())
      t.notOk(
        replies.some(({ status }) => status >= 500),
        JSON.stringify(tally(replies)),
      )
      const end = [(await get(`orders/${orderId}`)).status, (await get(`checkout/${id}`)).status].join(' ')
      t.match(end, /^(paid complete|canceled expired)$/)
      t.equal(
        (await attemptsOf(orderId)).filter((status) => status === 'succeeded').length,
        end === 'paid complete' ? 1 : 0,
      )
      outcomes[end] = (outcomes[end] ?? 0) + 1
    }
    t.comment(outcomes)
  },
)

t.test('concurrent requests create only one open session of an order', async (t) => {
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
  // The first session has a slow payment and is expired; the second one is paid immediately.
  await payWithCard(server, first, cards.slow)
  await post(`checkout/${first}/expire`)
  const second = await createCheckout(ada, { order_id: orderId })
  await many(20, async (i) => {
    await (i % 4 === 0
      ? advance(server, { by_seconds: 4 })
      : payWithCard(server, i % 2 === 0 ? first : second.id, cards.succeeds))
  })
  t.match(await get(`orders/${orderId}`), { status: 'paid', checkout_id: second.id })
  t.same(await attemptsOf(orderId), ['returned', 'succeeded'])
})

t.test('concurrent refunds never exceed the paid amount', async (t) => {
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
      (await eventTypesOf(server, id)).filter((type) => type === 'order.refunded').length,
      replies.filter(({ status }) => status === 201).length,
    )
  }
})

t.test('a refund repeated with one Idempotency-Key is created once', async (t) => {
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

t.test('a session repeated with one Idempotency-Key is created once', async (t) => {
  const before = (await get('orders')).pagination.total
  const replies = await many(30, () =>
    ada.client.post(
      '/payments/checkout',
      {
        mode: 'subscription',
        items: [{ price_id: catalog.monthly }],
        success_url: 'https://a.example',
        cancel_url: 'https://a.example',
      },
      { headers: { 'idempotency-key': 'begin-once' } },
    ),
  )
  t.equal(new Set(replies.filter(({ status }) => status === 201).map(({ body }) => body.id)).size, 1)
  t.equal((await get('orders')).pagination.total, before + 1)
})

t.test('several workers run each due task once', async (t) => {
  const weekly = await addPrice(admin.client, catalog.product, {
    unit_amount: 500,
    recurring: { interval: 'week', interval_count: 1 },
  })
  // All subscriptions of a customer are charged to one card.
  const bob = await server.person()
  const started = await many(8, (i) =>
    i % 4 === 3
      ? subscribe(server, bob, weekly, { card: cards.renewalDeclined })
      : subscribe(server, ada, weekly),
  )
  const slow = await many(4, async () => {
    const session = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
    await payWithCard(server, session.id, cards.slow)
    return session
  })
  const unpaid = await many(4, () => createCheckout(ada, { items: [{ price_id: catalog.price }] }))
  await moveClock(database, new Date((await paymentsNow(database)).getTime() + 8 * 86_400_000))

  const due = (await nextDueTask(database))!
  await many(10, () => runDueTask(database, server.services, due))
  const errors: Error[] = []
  const workers = Array.from({ length: 4 }, () =>
    createPaymentWorker({ ...server.services, onError: (error) => errors.push(error), interval: 5 }),
  )
  for (const worker of workers) worker.start()
  await Promise.all([
    waitUntil(async () => (await nextDueTask(database)) === null),
    advance(server, { by_seconds: 1 }),
  ])
  await Promise.all(workers.map((worker) => worker.stop()))
  t.same(errors, [])
  for (const [i, { id }] of started.entries()) {
    const { data: orders } = (await admin.client.get(`/payments/orders?subscription_id=${id}`)).body
    t.equal(orders.length, 2, 'one order for the new period')
    t.equal((await attemptsOf(orders[0].id)).length, i % 4 === 3 ? 2 : 1, 'one payment per due attempt')
  }
  for (const { order_id: id } of slow)
    t.same([(await get(`orders/${id}`)).status, ...(await attemptsOf(id))], ['paid', 'succeeded'])
  for (const { id } of unpaid) t.equal((await get(`checkout/${id}`)).status, 'expired')
  for (const { id } of started)
    await admin.client.post(`/payments/subscriptions/${id}/cancel`, { at_period_end: false })
})

t.test('concurrent requests may move the clock', async (t) => {
  const daily = await addPrice(admin.client, catalog.product, {
    unit_amount: 5,
    recurring: { interval: 'day', interval_count: 1 },
  })
  const started = await many(3, () => subscribe(server, ada, daily))
  const { current_period_end: end } = await get(`subscriptions/${started[0].id}`)
  const replies = await many(6, (i) =>
    advance(server, { to: new Date(Date.parse(end) + (i + 1) * 86_400_000).toISOString() }),
  )
  t.notOk(
    replies.some(({ status }) => status !== 200 && status !== 409),
    JSON.stringify(tally(replies)),
  )
  await advanceTo(server, new Date(Date.parse(end) + 6.5 * 86_400_000))
  for (const { id } of started) {
    const orders = (await get(`orders?subscription_id=${id}&order=asc`)).data
    t.same(
      orders.map(({ status }: any) => status),
      Array.from({ length: 8 }, () => 'paid'),
    )
    await post(`subscriptions/${id}/cancel`, { at_period_end: false })
  }
})

t.test(
  'a past-due order that is paid, retried and canceled at once reaches one consistent state',
  async (t) => {
    const outcomes: Record<string, number> = {}
    for (let round = 0; round < 6; round++) {
      const { id } = await subscribe(server, ada, catalog.monthly, { card: cards.renewalDeclined })
      await advanceTo(server, (await get(`subscriptions/${id}`)).current_period_end)
      const { latest_order_id: orderId } = await get(`subscriptions/${id}`)
      const session = await createCheckout(ada, { order_id: orderId })
      const ways = [
        () => payWithCard(server, session.id, cards.succeeds),
        () => post(`subscriptions/${id}/cancel`, { at_period_end: false }),
        () => advance(server, { by_seconds: 86_400 }),
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

t.test('no deadlock occurred', async (t) => {
  await database.pool.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await database.pool.query(
    'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
  )
  t.same(rows, [{ deadlocks: 0 }])
  t.notOk(
    server.logs.some((line) => JSON.parse(line).level >= 50),
    'no errors were logged',
  )
})
