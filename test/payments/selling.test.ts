// Sales to other users, and sales that are free.
import t from 'tap'
import { createApiKey, createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { openReceiver } from '../support/http/receiver.ts'
import {
  addPrice,
  advanceTo,
  cards,
  createCatalog,
  createCheckout,
  eventTypesOf,
  pages,
  payWithCard,
} from '../support/operations/catalog-fixtures.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

const server = await startServer(t)
const { admin } = server
const catalog = await createCatalog(server)
const [buyer, other] = [await server.person(), await server.person()]
const { price } = catalog
const items = [{ price_id: price }]
const withKey = async (person: Person, scopes: any[], projectIds: string[] | null = null) =>
  createClient(server.url, (await createApiKey(server, person.id, { scopes, projectIds })).secret)

t.afterEach(async () => {
  t.same(await ledgerViolations(server.services.database), [], 'the ledger balances')
})

for (const scope of ['admin', 'payments:sell'] as const)
  t.test(`a seller with the scope ${scope} sells to another user`, async (t) => {
    const working = await startWorkingServer(t)
    const { price: itsPrice } = await createCatalog(working)
    const customer = await working.person()
    const receiver = await openReceiver(t)
    await customer.client.post('/webhooks/endpoints', { url: receiver.url, event_types: ['*'] })
    const key = await createApiKey(working, working.admin.id, {
      scopes: ['payments:read', 'payments:write', scope],
    })
    const seller = createClient(working.url, key.secret)
    const { status, body: order } = await seller.post('/payments/orders', {
      items: [{ price_id: itsPrice }],
      user_id: customer.id,
    })
    t.match({ status, order }, { status: 201, order: { user_id: customer.id, status: 'pending' } })
    t.same((await customer.client.get(`/payments/orders/${order.id}`)).body, order, 'the buyer sees it')
    t.match((await customer.client.get('/payments/orders')).body.data, [{ id: order.id }])
    const session = await createCheckout({ client: seller }, { order_id: order.id })
    t.equal(session.user_id, customer.id)
    await payWithCard(working, session.id, cards.succeeds)
    t.equal((await seller.get(`/payments/orders/${order.id}`)).body.status, 'paid')
    const refund = await seller.post(`/payments/orders/${order.id}/refunds`, {})
    t.equal(refund.status, 201)
    t.same((await customer.client.get(`/payments/refunds/${refund.body.id}`)).body, refund.body)
    await waitUntil(() => receiver.types().includes('order.refunded'), 'the webhooks')
    for (const type of ['order.created', 'checkout.created', 'order.paid', 'refund.created'])
      t.ok(receiver.types().includes(type), type)
  })

t.test('an order names its author, who may be the seller', async (t) => {
  const customer = await server.person()
  const body = { items, user_id: customer.id }
  const { body: sold } = await admin.client.post('/payments/orders', body)
  t.match(sold, { user_id: customer.id, created_by: admin.id })
  const { body: own } = await customer.client.post('/payments/orders', { items })
  t.match(own, { user_id: customer.id, created_by: customer.id })
  const session = await createCheckout(admin, { ...body, ...pages })
  t.match((await customer.client.get(`/payments/orders/${session.order_id}`)).body, {
    user_id: customer.id,
    created_by: admin.id,
  })
  const by = async (client: Person['client'], id: string): Promise<string[]> =>
    (await client.get(`/payments/orders?user_id=${customer.id}&created_by=${id}&order=asc`)).body.data.map(
      (order: any) => order.id,
    )
  t.same(await by(customer.client, admin.id), [sold.id, session.order_id])
  t.same(await by(admin.client, admin.id), [sold.id, session.order_id])
  t.same(await by(admin.client, customer.id), [own.id])
  await server.services.database.prisma.order.update({ where: { id: own.id }, data: { createdBy: null } })
  t.equal((await customer.client.get(`/payments/orders/${own.id}`)).body.created_by, null)
})

t.test('only a seller sells to another user', async (t) => {
  const project = (await other.client.post('/projects', { name: 'Shop' })).body.id
  const scopes = ['payments:read', 'payments:write']
  const denied = (constraint: string) => ({ status: 403, body: { error: { details: { constraint } } } })
  for (const [path, fields] of [
    ['/payments/orders', {}],
    ['/payments/checkout', pages],
  ] as const) {
    const body = { items, ...fields, user_id: buyer.id }
    t.match(await other.client.post(path, body), denied('owner'))
    t.match(await (await withKey(admin, scopes)).post(path, body), denied('owner'), 'without the scope')
    const limited = await withKey(admin, [...scopes, 'admin'], [project])
    t.match(await limited.post(path, { ...body, project_id: project }), denied('project_ids'))
    t.match(await admin.client.post(path, { ...body, user_id: 'usr_01jd6y8m5qe8btc4y5w1r0n3fz' }), {
      status: 404,
      body: { error: { details: { constraint: 'exists', field: 'user_id' } } },
    })
    t.match(await admin.client.post(path, { ...body, project_id: project }), denied('role'))
    t.equal((await buyer.client.post(path, body)).status, 201, 'to yourself')
  }
  await createMember(server, project, buyer.id, 'editor')
  const sold = await admin.client.post('/payments/orders', { items, user_id: buyer.id, project_id: project })
  t.match(sold, { status: 201, body: { user_id: buyer.id, project_id: project } })
  await other.client.post(`/projects/${project}/archive`)
  t.equal(
    (await admin.client.post('/payments/orders', { items, user_id: buyer.id, project_id: project })).status,
    409,
  )
  const { body: order } = await buyer.client.post('/payments/orders', { items })
  t.equal((await other.client.post('/payments/checkout', { ...pages, order_id: order.id })).status, 403)
})

t.test('an order of 0 is paid at once, and nothing of it can be refunded', async (t) => {
  const gift = await addPrice(admin.client, catalog.product, { unit_amount: 0 })
  const { status, body: order } = await buyer.client.post('/payments/orders', { items: [{ price_id: gift }] })
  t.match({ status, order }, { status: 201, order: { status: 'paid', total_amount: 0 } })
  t.same(await eventTypesOf(server, order.id), ['order.created', 'order.paid'])
  t.equal((await buyer.client.get(`/payments/orders/${order.id}/receipt`)).status, 200)
  t.match(await admin.client.post(`/payments/orders/${order.id}/refunds`, {}), {
    status: 409,
    body: { error: { code: 'INVALID_STATE', details: { constraint: 'free', field: 'total_amount' } } },
  })
  t.equal((await admin.client.post(`/payments/orders/${order.id}/refunds`, { amount: 0 })).status, 400)
  const session = await createCheckout(buyer, { items: [{ price_id: gift }] })
  t.match(session, { status: 'complete', payment_status: 'paid', total_amount: 0 })
  t.match(await createClient(server.url, null).call('GET', `/pay/${session.id}`), { status: 200 })
  t.same(await eventTypesOf(server, session.id, session.order_id), [
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
  ])
})

t.test('a free subscription starts at once and renews', async (t) => {
  const free = await addPrice(admin.client, catalog.product, {
    unit_amount: 0,
    recurring: { interval: 'month', interval_count: 1 },
  })
  const session = await createCheckout(buyer, { mode: 'subscription', items: [{ price_id: free }] })
  const path = `/payments/subscriptions/${session.subscription_id}`
  const { body: started } = await buyer.client.get(path)
  t.equal(started.status, 'active')
  await advanceTo(server, started.current_period_end)
  const { body: renewed } = await buyer.client.get(path)
  t.match(renewed, { status: 'active', current_period_start: started.current_period_end })
  t.same((await eventTypesOf(server, renewed.id)).slice(-2), ['subscription.updated', 'subscription.renewed'])
})
