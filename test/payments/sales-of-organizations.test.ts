// Only the admins of an organization make and read its sales. All others, also the operator, are refused.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { newId } from '../../infra/ids.ts'
import { moveClock } from '../../services/payments/clock.ts'
import { runDueTask } from '../../services/payments/renewals.ts'
import { recordChanges } from '../support/server/changes.ts'
import {
  advance,
  advanceTo,
  cards,
  createCatalog,
  createCheckout,
  pages,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { openStream } from '../support/http/event-stream.ts'
import { createClient, operationAt, type Client } from '../support/http/client.ts'
import { startFakeStripe } from '../support/payments/stripe.ts'
import { createShop, join, strangersTo, type Shop } from '../support/payments/shops.ts'
import { startServer } from '../support/server/server.ts'
import { makeEndpoint, startWorkingServer } from '../support/server/working-server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startWorkingServer(t)
const { admin } = server
const { pool, prisma } = server.services.database
const allChanges = await recordChanges(t, server)
/** The background adds up quotas. */
const changes = async () => {
  const { quota_changes: _changes, quota_totals: _totals, ...others } = await allChanges()
  return others
}
const day = 86_400

const shop = await createShop(server)
const manager = await join(server, shop, 'admin')
const strangers = await strangersTo(server, shop)
const catalog = await createCatalog(server)

interface Goods {
  price: string
  monthly: string
  customer: string
}

async function stock({ id, client }: Shop): Promise<Goods> {
  const { body: product } = await client.post('/payments/products', { name: 'Atlas', organization_id: id })
  const price = async (fields: object) =>
    (
      await client.post('/payments/prices', {
        product_id: product.id,
        unit_amount: 2500,
        currency: 'eur',
        ...fields,
      })
    ).body.id
  const customer = await client.post('/payments/customers', {
    organization_id: id,
    email: 'ada@shop.example',
  })
  const recurring = { interval: 'month', interval_count: 1 }
  return { price: await price({}), monthly: await price({ recurring }), customer: customer.body.id }
}

const goods = await stock(shop)
/** Whether the key or the account lacks more than the role. */
const isLimited = (who: string) => /^a key|account/.test(who)

const kinds = ['orders', 'checkout', 'subscriptions', 'payments', 'refunds', 'disputes']
const listOf = async (client: Client, kind: string, query = '') =>
  (await client.get(`/payments/${kind}?limit=100${query}`)).body
const seller = `seller_organization_id=${shop.id}`

/** A paid order with a refund, a disputed one, and a subscription. */
async function sell() {
  const { price, monthly, customer } = goods
  const sale = { customer_id: customer, items: [{ price_id: price }] }
  const paid = await createCheckout(manager, sale)
  await payWithCard(server, paid.id, cards.succeeds)
  const disputed = await createCheckout(manager, sale)
  await payWithCard(server, disputed.id, '4000 0000 0000 0259')
  const refund = await shop.client.post(`/payments/orders/${paid.order_id}/refunds`, { amount: 500 })
  t.match(refund, { status: 201, body: { seller_organization_id: shop.id, amount: 500 } })
  const subscribed = await subscribe(server, manager, monthly, { customer_id: customer } as object)
  const pending = await shop.client.post('/payments/orders', sale)
  t.match(pending, { status: 201, body: { seller_organization_id: shop.id, user_id: null } })
  return { paid, disputed, refund: refund.body.id, subscribed, pending: pending.body.id }
}

const sold = await sell()

t.test('admins sell to the customers of their organization', async (t) => {
  const { client } = manager
  const { paid, refund, subscribed } = sold
  t.match((await client.get(`/payments/orders/${paid.order_id}`)).body, {
    status: 'partially_refunded',
    seller_organization_id: shop.id,
    user_id: null,
    refunded_amount: 500,
  })
  t.match((await client.get(`/payments/refunds/${refund}`)).body, { seller_organization_id: shop.id })
  const { body } = await client.get(`/payments/subscriptions/${subscribed.id}`)
  t.match(body, { status: 'active', seller_organization_id: shop.id })
  for (const kind of kinds) {
    const { data, pagination } = await listOf(client, kind, `&${seller}`)
    t.ok(data.length > 0, kind)
    t.equal(pagination.total, data.length)
    t.ok(
      data.every((each: any) => each.seller_organization_id === shop.id),
      kind,
    )
    for (const { id } of data) t.match((await client.get(`/payments/${kind}/${id}`)).body, { id })
  }
  const methods = await client.get(`/payments/customers/${goods.customer}/payment-methods`)
  t.match(methods.body.data, [{ seller_organization_id: shop.id }])
  const receipt = await client.get(`/payments/orders/${paid.order_id}/receipt`)
  t.match(receipt, { status: 200, text: /Shop/ })
  const preview = { items: [{ price_id: goods.monthly, quantity: 2 }] }
  t.equal((await client.post(`/payments/subscriptions/${subscribed.id}/preview`, preview)).status, 200)
  const changed = await client.put(`/payments/subscriptions/${subscribed.id}`, {
    ...preview,
    proration: 'none',
  })
  t.match(changed, { status: 200, body: { quantity: 2 } })
})

t.test('an operator sells as the admin of an organization, too', async (t) => {
  const operator = await server.person({ role: 'admin' })
  const { body: own } = await operator.client.post('/organizations', { name: 'Own' })
  const { price, customer } = await stock({ id: own.id, owner: operator, client: operator.client })
  const sale = { customer_id: customer, items: [{ price_id: price }] }
  const { body: order } = await operator.client.post('/payments/orders', sale)
  t.match(await createCheckout(operator, { order_id: order.id }), { seller_organization_id: own.id })
})

t.test('a stored answer is for the admins of the moment, and the seller decides about a trial', async (t) => {
  const leaver = await join(server, shop, 'admin')
  const order = { customer_id: goods.customer, items: [{ price_id: goods.price }] }
  const trial = { customer_id: goods.customer, items: [{ price_id: goods.monthly }], trial_days: 7 }
  const once = async (path: string, body: object) =>
    await leaver.client.post(path, body, { headers: { 'idempotency-key': 'once' } })
  const refund = [`/payments/orders/${sold.paid.order_id}/refunds`, { amount: 1 }] as const
  const requests = [['/payments/orders', order], ['/payments/subscriptions', trial], refund] as const
  for (const [path, body] of requests) t.equal((await once(path, body)).status, 201, path)
  for (const [path, body] of requests) t.equal((await once(path, body)).status, 201, path)
  await prisma.organizationMember.updateMany({ where: { userId: leaver.id }, data: { role: 'member' } })
  for (const [path, body] of requests) t.equal((await once(path, body)).status, 404, path)
})

t.test('a sale has the prices of its seller only', async (t) => {
  const other = await createShop(server)
  const { price, customer } = await stock(other)
  const before = await changes()
  for (const [client, body] of [
    [shop.client, { customer_id: goods.customer, items: [{ price_id: price }] }],
    [shop.client, { customer_id: goods.customer, items: [{ price_id: catalog.price }] }],
    [shop.client, { customer_id: goods.customer, items: [{ price_id: goods.price }, { price_id: price }] }],
    [shop.client, { items: [{ price_id: goods.price }] }],
    [admin.client, { items: [{ price_id: goods.price }] }],
    [admin.client, { customer_id: goods.customer, items: [{ price_id: goods.price }] }],
  ] as const) {
    t.equal((await client.post('/payments/orders', body)).status, 404)
    t.equal((await client.post('/payments/checkout', { ...pages, ...body })).status, 404)
  }
  // To who may not sell to it, the customer of another seller is like one that does not exist.
  for (const id of [customer, newId('cus')]) {
    const body = { customer_id: id, items: [{ price_id: goods.price }] }
    t.equal((await shop.client.post('/payments/orders', body)).status, 403)
  }
  const change = { items: [{ price_id: catalog.monthly }] }
  t.equal((await shop.client.put(`/payments/subscriptions/${sold.subscribed.id}`, change)).status, 404)
  t.same(await changes(), before, 'nothing changes')
})

t.test('others cannot read or change the sales of an organization', async (t) => {
  const { paid, disputed, refund, subscribed, pending } = sold
  const ids: string[] = []
  for (const kind of kinds)
    for (const { id } of (await listOf(shop.client, kind, `&${seller}`)).data) ids.push(`${kind}/${id}`)
  const open = await createCheckout(manager, { order_id: pending })
  const before = await changes()
  const asked = new Set<string | null>()
  for (const [who, client] of strangers) {
    for (const kind of kinds) {
      t.equal((await client.get(`/payments/${kind}?${seller}`)).status, 404, `${who}: ${kind}`)
      const lists = [await client.get(`/payments/${kind}?limit=100`)]
      if (kind !== 'refunds' && kind !== 'payments' && kind !== 'disputes')
        lists.push(await client.get(`/payments/${kind}?limit=100&customer_id=${goods.customer}`))
      for (const { text } of lists) t.notMatch(text, shop.id, `${who}: ${kind}`)
    }
    for (const path of ids) {
      asked.add(operationAt('GET', `/v1/payments/${path}`))
      t.equal((await client.get(`/payments/${path}`)).status, 404, `${who}: ${path}`)
    }
    const explained = await client.post('/explain', { method: 'GET', path: `/v1/payments/${ids[0]}` })
    t.notOk(explained.body.allowed, who)
    for (const [method, path, body] of [
      ['get', `orders/${paid.order_id}/refunds`],
      ['get', `orders/${paid.order_id}/refunds/${refund}`],
      ['get', `orders/${paid.order_id}/receipt`],
      ['get', `subscriptions/${subscribed.id}/upcoming`],
      ['post', `orders/${pending}/cancel`],
      ['post', `orders/${disputed.order_id}/refunds`, { amount: 1 }],
      ['post', `checkout/${open.id}/expire`],
      ['post', 'checkout', { ...pages, order_id: pending }],
      ['put', `subscriptions/${subscribed.id}`, { items: [{ price_id: goods.monthly, quantity: 3 }] }],
      ['post', `subscriptions/${subscribed.id}/preview`, { items: [{ price_id: goods.monthly }] }],
      ['post', `subscriptions/${subscribed.id}/cancel`, { at_period_end: false }],
      ['post', `subscriptions/${subscribed.id}/resume`],
      ['post', `subscriptions/${subscribed.id}/pause`],
      ['post', `subscriptions/${subscribed.id}/unpause`],
      ['post', `subscriptions/${subscribed.id}/cancel-change`],
    ] as const) {
      asked.add(operationAt(method.toUpperCase(), `/v1/payments/${path}`))
      const { status } = await client[method](`/payments/${path}`, body as any)
      t.ok(status === 404 || (status === 403 && isLimited(who)), `${who}: ${path} ${status}`)
    }
    for (const [path, price] of [
      ['orders', goods.price],
      ['checkout', goods.price],
      ['subscriptions', goods.monthly],
    ] as const) {
      const body = { customer_id: goods.customer, items: [{ price_id: price }] }
      const reply = await client.post(`/payments/${path}`, { ...(path === 'checkout' && pages), ...body })
      t.ok([403, 404].includes(reply.status), `${who} sells nothing`)
    }
  }
  for (const { id, path, projectAccess } of Object.values<OperationInfo>(operations))
    if (projectAccess?.operators === 'payments:sell' && path.includes('{')) t.ok(asked.has(id), id)
  t.same(await changes(), before, 'nothing changes')
  t.equal((await manager.client.post(`/payments/checkout/${open.id}/expire`)).status, 200)
})

t.test('the totals of the operator do not count them', async (t) => {
  for (const kind of kinds) {
    const { pagination, data } = await listOf(admin.client, kind)
    t.equal(pagination.total, data.length, kind)
    t.notOk(
      data.some((each: any) => each.seller_organization_id !== null),
      kind,
    )
  }
})

t.test('their events go to the admins, also by webhook', async (t) => {
  const types = ['order.created', 'order.paid', 'refund.created', 'subscription.created', 'checkout.created']
  const streams = [manager, admin].map(({ key }) =>
    openStream(server.url, key, { path: '/events/stream?type=order.paid' }),
  )
  const [ownStream, othersStream] = await Promise.all(streams)
  t.teardown(() => [ownStream, othersStream].forEach((stream) => stream.close()))
  const [own, others] = [
    await makeEndpoint(t, manager, { event_types: types }),
    await makeEndpoint(t, admin, { event_types: types }),
  ]
  const session = await createCheckout(shop.owner, {
    customer_id: goods.customer,
    items: [{ price_id: goods.price }],
  })
  await payWithCard(server, session.id, cards.succeeds)
  await waitUntil(() => own.receiver.received.length === 3, 'the events of the sale')
  const { body } = await manager.client.get('/events?type=order.paid&order=desc&limit=1')
  t.match(body.data, [{ organization_id: shop.id, data: { object: { id: session.order_id } } }])
  for (const [who, client] of strangers) {
    t.notMatch((await client.get('/events?limit=100&type=order.*&type=refund.*')).text, shop.id, who)
    t.equal((await client.get(`/events/${body.data[0].id}`)).status, 403, who)
  }
  t.same(others.receiver.received, [])
  const buyer = await server.person()
  const { id: next, order_id: nextOrder } = await createCheckout(buyer, {
    items: [{ price_id: catalog.price }],
  })
  await payWithCard(server, next, cards.succeeds)
  for (const [stream, first] of [
    [ownStream, session.order_id],
    [othersStream, nextOrder],
  ] as const)
    for await (const { data } of stream.events) {
      t.equal(data.data.object.id, first, 'the stream has the same events')
      break
    }
})

t.test('subscriptions renew, and the portal is that of the organization', async (t) => {
  const other = await createShop(server)
  const { monthly, customer } = await stock(other)
  const { id } = await subscribe(server, other.owner, monthly, { customer_id: customer } as object)
  const { current_period_end: end } = (await other.client.get(`/payments/subscriptions/${id}`)).body
  await advanceTo(server, end)
  await advance(server, { by_seconds: day })
  const { data } = await listOf(other.client, 'orders', `&seller_organization_id=${other.id}`)
  t.match(data, [
    { status: 'paid', seller_organization_id: other.id },
    { status: 'paid', seller_organization_id: other.id },
  ])
  const { body } = await other.client.post(`/payments/customers/${customer}/portal-sessions`, {})
  const entered = await fetch(body.url, { redirect: 'manual' })
  const cookie = entered.headers.get('set-cookie')!.split(';')[0]
  const page = await (await fetch(`${server.url}/portal`, { headers: { cookie } })).text()
  t.match(page, /Your account at <bdi>Shop/)

  const gone = (constraint: string) => ({ status: 409, body: { error: { details: { constraint } } } })
  t.match(await other.client.delete(`/organizations/${other.id}`), gone('subscription'))
  await other.client.post(`/payments/subscriptions/${id}/cancel`, { at_period_end: false })
  const session = await createCheckout(other.owner, {
    customer_id: customer,
    items: [{ price_id: (await stock(other)).price }],
  })
  t.match(await other.client.delete(`/organizations/${other.id}`), gone('open_checkout'))
  await other.client.post(`/payments/checkout/${session.id}/expire`)
  t.equal((await other.client.delete(`/organizations/${other.id}`)).status, 204)
  const { rows } = await pool.query(
    `SELECT (SELECT count(*)::int FROM products WHERE organization_id = $1 AND active) AS products,
      (SELECT count(*)::int FROM customers WHERE organization_id = $1 AND deleted_at IS NULL)
        AS customers, (SELECT count(*)::int FROM orders WHERE seller_organization_id = $1) AS orders`,
    [other.id],
  )
  t.same(rows, [{ products: 0, customers: 0, orders: 3 }], 'the orders stay')
  for (const { client } of [other, admin])
    t.equal((await client.get(`/payments/orders/${data[0].id}`)).status, 404)
})

t.test('sales in the sandbox do not go to the gateway of the operator later', async (t) => {
  const other = await createShop(server)
  const { price, monthly, customer } = await stock(other)
  const { body: found } = await other.client.get(`/payments/prices/${monthly}`)
  const recurring = { interval: 'month', interval_count: 1 }
  const priceOf = async (unit_amount: number): Promise<string> => {
    const body = { product_id: found.product_id, unit_amount, currency: 'eur', recurring }
    return (await other.client.post('/payments/prices', body)).body.id
  }
  const [free, pro] = [await priceOf(0), await priceOf(9000)]
  const sale = (id: string) => ({ customer_id: customer, items: [{ price_id: id }] })
  const { body: order } = await other.client.post('/payments/orders', sale(price))
  const { body: gratis } = await other.client.post('/payments/subscriptions', sale(free))
  const { body: later } = await other.client.post('/payments/subscriptions', sale(free))
  const scheduled = { items: [{ price_id: pro }], apply: 'period_end' }
  t.equal((await other.client.put(`/payments/subscriptions/${later.id}`, scheduled)).status, 200)
  const paid = await subscribe(server, other.owner, monthly, { customer_id: customer } as object)

  const stripe = await startFakeStripe(t)
  const withStripe = await startServer(t, { env: stripe.env, databaseUrl: server.databaseUrl })
  const client = createClient(withStripe.url, other.owner.key)
  const refused = { status: 409, body: { error: { details: { constraint: 'gateway' } } } }
  t.match(await client.post('/payments/checkout', { ...pages, order_id: order.id }), refused)
  const items = [{ price_id: pro }]
  t.match(await client.put(`/payments/subscriptions/${gratis.id}`, { items }), refused)
  t.match(await client.post(`/payments/subscriptions/${gratis.id}/preview`, { items }), refused)
  t.match(await client.put(`/payments/subscriptions/${paid.id}`, { items }), { status: 200 })
  const { body: changed } = await client.get(`/payments/subscriptions/${paid.id}`)
  t.match(changed, { items: [{ price_id: pro }] }, 'the sandbox charges its subscriptions')

  const { current_period_end: end } = (await client.get(`/payments/subscriptions/${later.id}`)).body
  const task = { kind: 'subscription' as const, id: later.id, at: new Date(end) }
  await moveClock(server.services.database, new Date(end), customer)
  await runDueTask(server.services.database, withStripe.services, task)
  const { body: kept } = await client.get(`/payments/subscriptions/${later.id}`)
  t.match(kept, { status: 'active', items: [{ price_id: free }], scheduled_change: null })
  t.equal(kept.current_period_start, end)
  t.same(stripe.requests, [])
})

t.test('a sale and the deletion of its organization do not both happen', async (t) => {
  const other = await createShop(server)
  const { price, customer } = await stock(other)
  const body = { ...pages, customer_id: customer, items: [{ price_id: price }] }
  const helper = await join(server, other, 'admin')
  const [deleted, ...sales] = await Promise.all([
    other.client.delete(`/organizations/${other.id}`),
    helper.client.post('/payments/checkout', body),
    helper.client.post('/payments/checkout', body),
  ])
  const made = sales.filter(({ status }) => status === 201).length
  t.ok(deleted.status === 204 ? made === 0 : deleted.status === 409 && made > 0, `${deleted.status} ${made}`)
})

t.test('sales without money send no e-mail', async (t) => {
  const sent = await prisma.mail.findMany({ where: { recipient: 'ada@shop.example' } })
  t.same(sent, [])
})
