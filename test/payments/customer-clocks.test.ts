// The test clock of one customer: only the sales of this customer follow it.
import t from 'tap'
import { insertedCustomer } from '../support/database/db-fixtures-payments.ts'
import {
  addPrice,
  advance,
  cards,
  createCatalog,
  createCheckout,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { createShop } from '../support/payments/shops.ts'
import { createPaymentWorker } from '../../services/payments/worker.ts'
import { moveClock } from '../../services/payments/clock.ts'
import { nextDueTask } from '../../services/payments/renewals.ts'
import { createClient } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const { admin } = server
const { database } = server.services
const catalog = await createCatalog(server)
const daySeconds = 86_400
const clock = '/payments/test-clock'

const get = async (path: string): Promise<any> => (await admin.client.get(`/payments/${path}`)).body
const timeOf = async (customer?: string): Promise<number> =>
  Date.parse((await get(customer === undefined ? 'test-clock' : `test-clock?customer_id=${customer}`)).now)
const advanceDays = async (customer: string, days: number): Promise<any> => {
  const body = { customer_id: customer, by_seconds: days * daySeconds }
  const reply = await admin.client.post(`${clock}/advance`, body)
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body
}
const ordersOf = async (subscription: string): Promise<any[]> =>
  (await get(`orders?subscription_id=${subscription}&order=asc`)).data

async function subscriber(options: { card?: string | null } = {}) {
  const customer = await insertedCustomer(server)
  const fields = { customer_id: customer, ...options }
  return { customer, ...(await subscribe(server, admin, catalog.monthly, fields as object)) }
}

t.afterEach(async () => {
  t.same(await ledgerViolations(database), [], 'the ledger balances')
})

t.test('only the customer whose clock moves renews', async (t) => {
  const [ada, bob] = [await subscriber(), await subscriber()]
  const before = await get(`subscriptions/${ada.id}`)
  const now = await timeOf()
  const moved = await advanceDays(ada.customer, 70)
  t.ok(Date.parse(moved.now) >= now + 70 * daySeconds * 1000)
  t.ok(moved.offset_seconds >= 70 * daySeconds)
  const orders = await ordersOf(ada.id)
  t.same(
    orders.map(({ status }) => status),
    ['paid', 'paid', 'paid'],
  )
  t.ok(orders[1].paid_at >= before.current_period_end, 'a renewal runs at its own time')
  t.ok(orders[1].paid_at < orders[2].paid_at)
  t.equal((await ordersOf(bob.id)).length, 1, 'the other customer does not renew')
  t.ok((await timeOf()) < now + daySeconds * 1000, 'the clock of everyone stays')
  t.ok((await timeOf(bob.customer)) < now + daySeconds * 1000)

  await advance(server, { by_seconds: 32 * daySeconds })
  t.equal((await ordersOf(bob.id)).length, 2, 'the clock of everyone moves both')
  t.equal((await ordersOf(ada.id)).length, 4)
  t.ok((await timeOf(ada.customer)) >= now + 102 * daySeconds * 1000, 'the customer keeps the lead')
})

t.test('everyone reaches a time in the order in which the tasks are due', async (t) => {
  const [ada, bob] = [await subscriber(), await subscriber()]
  await advanceDays(ada.customer, 20)
  const due = await nextDueTask(database, { at: new Date((await timeOf()) + 400 * daySeconds * 1000) })
  t.equal(due?.id, ada.id)
  const { current_period_end: end } = await get(`subscriptions/${ada.id}`)
  t.ok(due!.at.getTime() <= Date.parse(end) - 19 * daySeconds * 1000, 'by its lead earlier')
  await advance(server, { by_seconds: 15 * daySeconds })
  t.equal((await ordersOf(ada.id)).length, 2)
  t.equal((await ordersOf(bob.id)).length, 1)
})

t.test('retries, trials, cancellations, sessions and slow payments follow', async (t) => {
  const weak = await subscriber({ card: cards.renewalDeclined })
  await advanceDays(weak.customer, 32)
  t.equal((await get(`subscriptions/${weak.id}`)).status, 'past_due')
  await advanceDays(weak.customer, 60)
  t.equal((await get(`subscriptions/${weak.id}`)).status, 'canceled')

  const trialPrice = await addPrice(admin.client, catalog.product, {
    unit_amount: 2_000,
    recurring: { interval: 'month', interval_count: 1, trial_days: 7 },
  })
  const customer = await insertedCustomer(server)
  await advanceDays(customer, 100)
  const begun = await timeOf(customer)
  const body = { customer_id: customer, items: [{ price_id: trialPrice }] }
  const { body: trial } = await admin.client.post('/payments/subscriptions', body)
  t.equal(trial.status, 'trialing')
  t.ok(Date.parse(trial.trial_end) >= begun + 7 * daySeconds * 1000, 'a trial begins at the customer’s time')
  await advanceDays(customer, 6)
  t.equal((await get(`subscriptions/${trial.id}`)).status, 'trialing')
  await advanceDays(customer, 2)
  t.not((await get(`subscriptions/${trial.id}`)).status, 'trialing')

  const leaving = await subscriber()
  const { status } = await admin.client.post(`/payments/subscriptions/${leaving.id}/cancel`)
  t.equal(status, 200)
  await advanceDays(leaving.customer, 32)
  t.equal((await get(`subscriptions/${leaving.id}`)).status, 'canceled')
  t.equal((await ordersOf(leaving.id)).length, 1)

  const sale = { customer_id: customer, items: [{ price_id: catalog.price }] }
  const expiring = await createCheckout(admin, sale)
  t.ok(Date.parse(expiring.expires_at) > (await timeOf(customer)))
  t.equal((await createClient(server.url, null).get(`/pay/${expiring.id}`)).status, 200, 'the page is open')
  await moveClock(database, new Date(Date.parse(expiring.expires_at)), customer)
  t.equal((await createClient(server.url, null).get(`/pay/${expiring.id}`)).status, 410)
  await advanceDays(customer, 1)
  t.equal((await get(`checkout/${expiring.id}`)).status, 'expired')

  const slow = await createCheckout(admin, sale)
  await payWithCard(server, slow.id, cards.slow)
  t.equal((await get(`checkout/${slow.id}`)).status, 'open')
  await advanceDays(customer, 10)
  t.equal((await get(`checkout/${slow.id}`)).status, 'complete')
})

t.test('disputes follow', async (t) => {
  const customer = await insertedCustomer(server)
  const sale = { customer_id: customer, items: [{ price_id: catalog.price }] }
  const disputed = await createCheckout(admin, sale)
  await payWithCard(server, disputed.id, '4000 0000 0000 0259')
  const dispute = async () => (await get(`disputes?order_id=${disputed.order_id}`)).data[0]
  t.equal((await dispute()).status, 'needs_response')
  await advanceDays(customer, 30)
  const { status, updated_at: updatedAt } = await dispute()
  t.equal(status, 'lost')
  t.ok(Date.parse(updatedAt) > (await timeOf()) + 6 * daySeconds * 1000, 'at its own time')
  t.ok(Date.parse(updatedAt) < (await timeOf(customer)) - 20 * daySeconds * 1000)
})

t.test('a preview and a change have the customer’s time', async (t) => {
  const { id, customer } = await subscriber()
  await advanceDays(customer, 20)
  const change = { items: [{ price_id: catalog.monthly, quantity: 2 }] }
  const preview = await admin.client.post(`/payments/subscriptions/${id}/preview`, change)
  t.equal(preview.status, 200, preview.text)
  t.ok(preview.body.total_amount < 500, `a third of the period is left: ${preview.body.total_amount}`)
  const changed = await admin.client.put(`/payments/subscriptions/${id}`, change)
  t.equal(changed.status, 200, changed.text)
  const orders = await ordersOf(id)
  t.equal(orders[1].total_amount, preview.body.total_amount)
  t.ok(Date.parse(orders[1].created_at) > (await timeOf()) + 19 * daySeconds * 1000)
})

t.test('a scheduled change is made at the customer’s time', async (t) => {
  const { id, customer } = await subscriber()
  const change = { items: [{ price_id: catalog.monthly, quantity: 3 }], apply: 'period_end' }
  const scheduled = await admin.client.put(`/payments/subscriptions/${id}`, change)
  t.equal(scheduled.status, 200, scheduled.text)
  await advanceDays(customer, 20)
  t.match(await get(`subscriptions/${id}`), { quantity: 1, scheduled_change: { items: change.items } })
  await advanceDays(customer, 15)
  t.match(await get(`subscriptions/${id}`), { quantity: 3, scheduled_change: null, status: 'active' })
  const orders = await ordersOf(id)
  t.equal(orders[1].total_amount, 3 * orders[0].total_amount)
})

t.test('two requests at once move a customer to the later time', async (t) => {
  const { id, customer } = await subscriber()
  const now = await timeOf(customer)
  const to = (days: number) => ({
    customer_id: customer,
    to: new Date(now + days * daySeconds * 1000).toISOString(),
  })
  const replies = await Promise.all(
    [40, 70, 40, 70].map((days) => admin.client.post(`${clock}/advance`, to(days))),
  )
  t.ok(replies.every(({ status }) => status === 200 || status === 409))
  t.ok((await timeOf(customer)) >= now + 70 * daySeconds * 1000)
  t.equal((await ordersOf(id)).length, 3, 'each period is renewed once')
  const back = await admin.client.post(`${clock}/advance`, to(1))
  t.match(back, { status: 409, body: { error: { details: { constraint: 'forward' } } } })
})

t.test('a clock has limits', async (t) => {
  const customer = await insertedCustomer(server)
  const far = {
    customer_id: customer,
    to: new Date((await timeOf()) + 740 * daySeconds * 1000).toISOString(),
  }
  t.equal((await admin.client.post(`${clock}/advance`, far)).status, 400, 'two years at once')
  await moveClock(database, new Date((await timeOf()) + 49.9 * 366 * daySeconds * 1000), customer)
  const lead = { customer_id: customer, by_seconds: 60 * daySeconds }
  t.match(await admin.client.post(`${clock}/advance`, lead), {
    status: 400,
    body: { error: { details: { field: 'to' } } },
  })

  const shop = await createShop(server)
  await database.pool.query(
    `INSERT INTO customers (id, organization_id, clock_offset, created_at, updated_at)
     SELECT new_id('cus', now()), $1, 1, now(), now() FROM generate_series(1, 100)`,
    [shop.id],
  )
  const own = await insertedCustomer(server, { organization_id: shop.id })
  const move = { customer_id: own, by_seconds: 1 }
  t.match(await shop.client.post(`${clock}/advance`, move), {
    status: 403,
    body: { error: { details: { reason: 'limit_reached', limit: { name: 'customer_clocks', used: 100 } } } },
  })
  // Two places are free, for ten customers at once.
  await database.pool.query(
    `DELETE FROM customers WHERE id IN (
      SELECT id FROM customers WHERE organization_id = $1 AND clock_offset = 1 LIMIT 2)`,
    [shop.id],
  )
  const customers = await Promise.all(
    Array.from({ length: 10 }, () => insertedCustomer(server, { organization_id: shop.id })),
  )
  const replies = await Promise.all(
    customers.map((id) => shop.client.post(`${clock}/advance`, { customer_id: id, by_seconds: 1 })),
  )
  t.same(
    replies.map(({ status }) => status).sort(),
    [200, 200, ...Array(8).fill(403)],
    'the last places go to two',
  )
})

t.test('only the seller moves the clock of a customer', async (t) => {
  const [shop, other] = [await createShop(server), await createShop(server)]
  const own = await insertedCustomer(server, { organization_id: shop.id })
  const operators = await insertedCustomer(server)
  const ask = async (client: typeof admin.client, customer?: string) => [
    (await client.get(customer === undefined ? clock : `${clock}?customer_id=${customer}`)).status,
    (await client.post(`${clock}/advance`, { customer_id: customer, by_seconds: 1 })).status,
  ]
  t.same(await ask(shop.client, own), [200, 200])
  t.same(await ask(shop.client, operators), [404, 404])
  t.same(await ask(shop.client), [403, 403], 'the clock of everyone')
  t.same(await ask(other.client, own), [404, 404])
  t.same(await ask(admin.client, own), [404, 404])
  t.equal((await shop.client.delete(`/payments/customers/${own}`)).status, 204)
  t.same(await ask(shop.client, own), [404, 404], 'a deleted customer has no clock')
})

t.test('a repeated move with the same Idempotency-Key moves once', async (t) => {
  const customer = await insertedCustomer(server)
  const send = (body: object) =>
    admin.client.post(`${clock}/advance`, body, { headers: { 'idempotency-key': 'one-customer' } })
  const body = { customer_id: customer, by_seconds: 3600 }
  const first = await send(body)
  t.equal((await send(body)).text, first.text)
  t.ok((await timeOf(customer)) < (await timeOf()) + 7_200_000)
  t.equal((await send({ by_seconds: 3600 })).status, 422)
})

t.test('the worker runs the tasks of a customer whose clock is ahead', async (t) => {
  const [ada, bob] = [await subscriber(), await subscriber()]
  const { current_period_end: end } = await get(`subscriptions/${ada.id}`)
  await moveClock(database, new Date(Date.parse(end) + 1000), ada.customer)
  const errors: Error[] = []
  const worker = createPaymentWorker({
    ...server.services,
    onError: (error) => errors.push(error),
    interval: 10,
  })
  worker.start()
  t.teardown(() => worker.stop())
  await waitUntil(async () => (await ordersOf(ada.id)).length === 2, 'the renewal')
  await worker.stop()
  t.same(errors, [])
  t.equal((await ordersOf(bob.id)).length, 1)
})
