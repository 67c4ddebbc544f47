// Customers of the operator: who reads them, and the customer of each sale.
import { readFileSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { createApiKey, createUser } from '../support/database/db-fixtures.ts'
import { insertedCustomer, insertedOrder } from '../support/database/db-fixtures-payments.ts'
import { mailsTo } from '../support/auth/mails.ts'
import { createClient } from '../support/http/client.ts'
import {
  advance,
  cards,
  createCatalog,
  createCheckout,
  eventTypesOf,
  pages,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import type { Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

const server = await startWorkingServer(t)
const { admin, services } = server
const { prisma } = services.database
const { price, monthly } = await createCatalog(server)
const items = [{ price_id: price }]
const path = '/payments/customers'
const buy = async ({ client }: Person) => (await client.post('/payments/orders', { items })).body
const customerOf = async ({ id }: { id: string }): Promise<any> =>
  (await admin.client.get(`${path}?user_id=${id}`)).body.data[0]
const refused = (constraint: string) => ({ status: 409, body: { error: { details: { constraint } } } })

t.test('only sellers see customers, and their events', async (t) => {
  const buyer = await server.person()
  const reader = createClient(
    server.url,
    (await createApiKey(server, admin.id, { scopes: ['payments:read', 'payments:write'] })).secret,
  )
  const { body: customer } = await admin.client.post(path, { user_id: buyer.id, email: 'Ada@Example.com' })
  t.match(customer, { user_id: buyer.id, email: 'ada@example.com', created_by: admin.id, tax_ids: [] })
  // With the scope, a user gets 404 for a customer of the operator, as for one that does not exist.
  for (const [client, hidden] of [
    [buyer.client, 404],
    [reader, 403],
  ] as const) {
    t.equal((await client.get(path)).status, 403)
    t.equal((await client.get(`${path}/${customer.id}`)).status, hidden)
    t.equal((await client.put(`${path}/${customer.id}`, { name: 'Eve' })).status, hidden)
    t.equal((await client.put(`${path}/by-external-id/1`, {})).status, 403)
    t.equal((await client.delete(`${path}/${customer.id}`)).status, hidden)
    t.same((await client.get('/events?type=customer.created')).body.data, [])
  }
  t.match((await admin.client.get('/events?type=customer.created')).body.data, [
    { data: { object: customer } },
  ])
  t.match(await admin.client.post(path, { user_id: buyer.id }), refused('user_id_taken'))
  t.equal((await admin.client.post(path, { user_id: 'usr_01jd6y8m5qe8btc4y5w1r0n3fz' })).status, 404)
})

t.test('a customer can be an organization of the platform', async (t) => {
  const owner = await server.person()
  const { body: organization } = await owner.client.post('/organizations', { name: 'Buyers' })
  const buyer = { buyer_organization_id: organization.id }
  const { status, body: customer } = await admin.client.post(path, buyer)
  t.equal(status, 201)
  t.match(customer, { ...buyer, user_id: null, organization_id: null })
  const found = await admin.client.get(`${path}?buyer_organization_id=${organization.id}`)
  t.same(found.body.data, [customer])
  t.match(await admin.client.post(path, buyer), refused('buyer_organization_id_taken'))
  const unknown = { buyer_organization_id: 'org_01jd6y8m5qe8btc4y5w1r0n3fz' }
  t.equal((await admin.client.post(path, unknown)).status, 404)
  for (const other of [{ user_id: owner.id }, { organization_id: organization.id }])
    t.match(await admin.client.post(path, { ...buyer, ...other }), {
      status: 400,
      body: { error: { details: { field: 'buyer_organization_id', constraint: 'exclusive' } } },
    })
  t.equal((await owner.client.post(path, buyer)).status, 403, 'only the operator sells to organizations')
})

t.test('an organization that buys is deleted with its customer, after its subscriptions end', async (t) => {
  const owner = await server.person()
  const { body: organization } = await owner.client.post('/organizations', { name: 'Buyers' })
  const at = `/organizations/${organization.id}`
  const buyer = { buyer_organization_id: organization.id, name: 'Buyers', email: 'buyers@example.com' }
  const { id: customer_id } = (await admin.client.post(path, buyer)).body
  const session = await createCheckout(admin, {
    mode: 'subscription',
    customer_id,
    items: [{ price_id: monthly }],
  })
  t.match(await owner.client.delete(at), refused('subscription'))
  await payWithCard(server, session.id, cards.succeeds)
  t.match(await owner.client.delete(at), refused('subscription'))
  const cancel = `/payments/subscriptions/${session.subscription_id}/cancel`
  t.equal((await admin.client.post(cancel, { at_period_end: false })).status, 200)
  t.equal((await owner.client.delete(at)).status, 204)
  t.equal((await admin.client.get(`${path}/${customer_id}`)).status, 404)
  t.match(await prisma.customer.findUniqueOrThrow({ where: { id: customer_id } }), {
    buyerOrganizationId: null,
    email: null,
    name: null,
  })
})

t.test('a deletion of an organization and a sale to it at once: one of them wins', async (t) => {
  for (let i = 0; i < 5; i++) {
    const owner = await server.person()
    const { body: organization } = await owner.client.post('/organizations', { name: 'Buyers' })
    const customer_id = await insertedCustomer(server, { buyer_organization_id: organization.id })
    const [deletion, session] = await Promise.all([
      owner.client.delete(`/organizations/${organization.id}`),
      admin.client.post('/payments/checkout', { ...pages, items, customer_id }),
    ])
    t.same([deletion.status, session.status], session.status === 201 ? [409, 201] : [204, 404])
  }
})

t.test('the first sale to a user makes the customer, once', async (t) => {
  const buyer = await server.person()
  const orders = await Promise.all(Array.from({ length: 5 }, () => buy(buyer)))
  const customer = await customerOf(buyer)
  t.match(customer, { user_id: buyer.id, email: buyer.email, created_by: null })
  t.ok(orders.every((order) => order.customer_id === customer.id))
  t.same(await eventTypesOf(server, customer.id), ['customer.created'])
  const sold = await admin.client.post('/payments/orders', { items, user_id: buyer.id })
  t.equal(sold.body.customer_id, customer.id)
  const session = await createCheckout(buyer, { mode: 'subscription', items: [{ price_id: monthly }] })
  t.equal(session.customer_id, customer.id)
  const { body: subscription } = await buyer.client.get(`/payments/subscriptions/${session.subscription_id}`)
  t.equal(subscription.customer_id, customer.id)
  t.equal((await buyer.client.get(`/payments/orders?customer_id=${customer.id}`)).body.data.length, 7)
})

t.test('an upsert creates, replaces, and happens once', async (t) => {
  const at = `${path}/by-external-id/${encodeURIComponent('crm/7 ü')}`
  t.equal((await admin.client.get(at)).status, 404)
  const both = await Promise.all([1, 2, 3].map((n) => admin.client.put(at, { name: `Ada ${n}` })))
  t.same(both.map(({ status }) => status).sort(), [200, 200, 201])
  const [{ id }] = both.map(({ body }) => body)
  t.ok(both.every(({ body }) => body.id === id && body.external_id === 'crm/7 ü'))
  const full = { email: 'a@example.com', tax_ids: [{ type: 'eu_vat', value: 'DE1' }], metadata: { a: '1' } }
  await admin.client.put(at, full)
  const { body: cleared } = await admin.client.put(at, { name: 'Ada' })
  t.match(cleared, { id, name: 'Ada', email: null, tax_ids: [], metadata: {} })
  t.same((await admin.client.put(at, { name: 'Ada' })).body, cleared, 'nothing changes')
  t.same((await admin.client.get(at)).body, cleared)
  const { body: other } = await admin.client.post(path, { name: 'Bob' })
  t.match(
    await admin.client.put(`${path}/${other.id}`, { external_id: 'crm/7 ü' }),
    refused('external_id_taken'),
  )
  const { status } = await admin.client.call('PUT', `${path}/by-external-id/new`, {
    body: {},
    headers: { 'if-match': '*' },
  })
  t.equal(status, 412, 'If-Match creates nothing')
  t.equal((await admin.client.get(`${path}/by-external-id/new`)).status, 404)
})

t.test('a customer with a running subscription or an open session is not deleted', async (t) => {
  const buyer = await server.person()
  const session = await createCheckout(buyer, { items })
  const { id } = await customerOf(buyer)
  t.match(await admin.client.delete(`${path}/${id}`), refused('open_checkout'))
  await payWithCard(server, session.id, cards.succeeds)
  const subscribed = await subscribe(server, buyer, monthly)
  t.match(await admin.client.delete(`${path}/${id}`), refused('subscription'))
  await buyer.client.post(`/payments/subscriptions/${subscribed.id}/cancel`, { at_period_end: false })
  await admin.client.put(`${path}/${id}`, { external_id: `of-${buyer.id}` })
  t.equal((await admin.client.delete(`${path}/${id}`)).status, 204)
  t.equal((await admin.client.get(`${path}/${id}`)).status, 404)
  t.equal((await admin.client.delete(`${path}/${id}`)).status, 404)
  t.equal((await admin.client.get(`${path}/by-external-id/of-${buyer.id}`)).status, 404)
  const row = await prisma.customer.findUniqueOrThrow({ where: { id } })
  t.match(row, { userId: null, externalId: null, email: null, name: null, address: null, metadata: {} })
  t.equal((await buyer.client.get(`/payments/orders/${session.order_id}`)).body.customer_id, id)
  const { body: next } = await buyer.client.post('/payments/orders', { items })
  t.not(next.customer_id, id, 'the next sale makes another customer')
})

t.test('a deletion and a checkout at once: one of them wins', async (t) => {
  for (let i = 0; i < 5; i++) {
    const buyer = await server.person()
    const id = await insertedCustomer(server, { user_id: buyer.id })
    const [deletion, session] = await Promise.all([
      admin.client.delete(`${path}/${id}`),
      buyer.client.post('/payments/checkout', { ...pages, items }),
    ])
    t.equal(session.status, 201)
    t.equal(deletion.status, session.body.customer_id === id ? 409 : 204)
  }
})

t.test('the deletion of a user takes the personal data of the customer', async (t) => {
  const buyer = await server.person()
  const { customer_id: id } = await buy(buyer)
  t.equal((await admin.client.delete(`/users/${buyer.id}`)).status, 204)
  t.equal((await admin.client.get(`${path}/${id}`)).status, 404)
  t.match(await prisma.customer.findUniqueOrThrow({ where: { id } }), {
    userId: null,
    email: null,
    name: null,
  })
})

t.test('a stranger pays a link, and only sellers see the sale', async (t) => {
  const email = 'stranger@example.com'
  const { body: customer } = await admin.client.post(path, { email, name: 'Ada' })
  const session = await createCheckout(admin, { customer_id: customer.id, items })
  t.match(session, { customer_id: customer.id, user_id: null, project_id: null })
  t.equal((await payWithCard(server, session.id, cards.succeeds)).status, 303)
  const { body: order } = await admin.client.get(`/payments/orders/${session.order_id}`)
  t.match(order, { status: 'paid', customer_id: customer.id, user_id: null, created_by: admin.id })
  const [receipt] = await mailsTo(server, email, 1)
  t.match(receipt.subject, order.number)
  t.notMatch(receipt.text, 'Sign in', 'a customer without a user has no key')
  t.match((await admin.client.get(`/payments/orders/${order.id}/receipt`)).text, order.number)
  const refund = await admin.client.post(`/payments/orders/${order.id}/refunds`, { amount: 100 })
  t.match(refund.body, { user_id: null, status: 'succeeded' })
  t.equal((await mailsTo(server, email, 2)).length, 2)

  const other = await server.person()
  for (const place of [`orders/${order.id}`, `checkout/${session.id}`, `refunds/${refund.body.id}`]) {
    t.equal((await other.client.get(`/payments/${place}`)).status, 403, place)
    t.equal((await admin.client.get(`/payments/${place}`)).status, 200, place)
  }
  const lists = [`orders?customer_id=${customer.id}`, `checkout?customer_id=${customer.id}`]
  for (const list of lists) {
    t.same((await other.client.get(`/payments/${list}`)).body.data, [], list)
    t.equal((await admin.client.get(`/payments/${list}`)).body.data.length, 1, list)
  }
  for (const type of ['order.paid', 'checkout.completed', 'refund.created']) {
    const about = ({ data }: any) => [order.id, session.id, refund.body.id].includes(data.object.id)
    const seen = async ({ client }: Person) =>
      (await client.get(`/events?type=${type}`)).body.data.filter(about)
    t.equal((await seen(admin)).length, 1, type)
    t.equal((await seen(other)).length, 0, type)
  }

  t.equal((await admin.client.delete(`${path}/${customer.id}`)).status, 204)
  t.equal((await admin.client.get(`/payments/orders/${order.id}`)).body.customer_id, customer.id)
  const mails = await prisma.mail.count({ where: { recipient: email } })
  t.equal(mails, 0, 'the e-mails to the customer are deleted')
})

t.test('a subscription of a stranger renews', async (t) => {
  const { body: customer } = await admin.client.post(path, {})
  const session = await createCheckout(admin, {
    mode: 'subscription',
    customer_id: customer.id,
    items: [{ price_id: monthly }],
  })
  await payWithCard(server, session.id, cards.succeeds)
  await advance(server, { by_seconds: 40 * 86_400 })
  const { data } = (await admin.client.get(`/payments/orders?subscription_id=${session.subscription_id}`))
    .body
  t.match(
    data.map(({ status, customer_id, user_id }: any) => ({ status, customer_id, user_id })),
    Array(2).fill({ status: 'paid', customer_id: customer.id, user_id: null }),
  )
  t.match(await admin.client.delete(`${path}/${customer.id}`), refused('subscription'))
  const at = `/payments/subscriptions/${session.subscription_id}`
  t.match((await admin.client.get(at)).body, { status: 'active', customer_id: customer.id })
  t.equal((await admin.client.post(`${at}/cancel`, { at_period_end: false })).status, 200)
  t.equal((await admin.client.delete(`${path}/${customer.id}`)).status, 204)
})

t.test('only sellers name a customer, and not beside a user or in a project', async (t) => {
  const buyer = await server.person()
  const { body: stranger } = await admin.client.post(path, {})
  const { body: known } = await admin.client.post(path, { user_id: buyer.id })
  const project = (await admin.client.post('/projects', { name: 'Shop' })).body.id
  const { secret } = await createApiKey(server, admin.id, {
    scopes: ['payments:write', 'payments:sell'],
    projectIds: [project],
  })
  const limited = createClient(server.url, secret)
  for (const [place, fields] of [
    ['/payments/orders', { items }],
    ['/payments/checkout', { ...pages, items }],
  ] as const) {
    const sell = async (client: Person['client'], body: object) =>
      (await client.post(place, { ...fields, ...body })).status
    const customer_id = stranger.id
    t.equal(await sell(buyer.client, { customer_id: known.id }), 403, 'their own, too')
    t.equal(await sell(buyer.client, { customer_id }), 403)
    t.equal(await sell(limited, { customer_id }), 403)
    t.equal(await sell(admin.client, { customer_id, user_id: buyer.id }), 400)
    t.equal(await sell(admin.client, { customer_id, project_id: project }), 400)
    t.equal(await sell(admin.client, { customer_id: 'cus_01jd6y8m5qe8btc4y5w1r0n3fz' }), 404)
    const { body } = await admin.client.post(place, { ...fields, customer_id: known.id })
    t.match(body, { user_id: buyer.id, customer_id: known.id })
  }
  await admin.client.delete(`${path}/${stranger.id}`)
  t.equal((await admin.client.post('/payments/orders', { items, customer_id: stranger.id })).status, 404)
})

t.test('a deletion and a sale to a stranger at once: one of them wins', async (t) => {
  for (let i = 0; i < 5; i++) {
    const id = await insertedCustomer(server)
    const [deletion, session] = await Promise.all([
      admin.client.delete(`${path}/${id}`),
      admin.client.post('/payments/checkout', { ...pages, items, customer_id: id }),
    ])
    t.same([deletion.status, session.status], session.status === 201 ? [409, 201] : [204, 404])
  }
})

t.test('a sale during the deletion of the user copies no personal data', async (t) => {
  const buyer = await server.person()
  const { sale } = await services.database.transaction(async (tx) => {
    await tx.prisma.$executeRaw`SELECT id FROM users WHERE id = ${buyer.id} FOR UPDATE`
    const sale = buy(buyer)
    const waiting =
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'customer_of_user'"
    await waitUntil(async () => (await services.database.pool.query(waiting)).rowCount === 1, 'the sale')
    const data = { status: 'deleted', email: null, name: 'Deleted user' } as const
    await tx.prisma.user.update({ where: { id: buyer.id }, data })
    return { sale }
  })
  const { customer_id: id } = await sale
  t.match(await prisma.customer.findUniqueOrThrow({ where: { id } }), { email: null, name: 'Deleted user' })
})

t.test('the migration gives earlier sales a customer', async (t) => {
  const [buyer, deleted] = [await createUser(server), await createUser(server)]
  const orders = [await insertedOrder(server, buyer), await insertedOrder(server, deleted)]
  const forget = 'UPDATE orders SET customer_id = NULL WHERE id = ANY($1)'
  await services.database.pool.query(forget, [orders])
  await prisma.customer.deleteMany({ where: { userId: { in: [buyer, deleted] } } })
  await prisma.user.update({ where: { id: deleted }, data: { status: 'deleted', email: null } })
  const migrations = resolve(import.meta.dirname, '../../prisma/migrations')
  const name = readdirSync(migrations).find((each) => each.endsWith('_customers_of_sales'))!
  await services.database.pool.query(readFileSync(`${migrations}/${name}/migration.sql`, 'utf8'))
  const found = await prisma.order.findMany({ where: { id: { in: orders } }, include: { customer: true } })
  for (const { ownerId, customer } of found)
    t.match(customer, { userId: ownerId, deletedAt: ownerId === deleted ? Date : null })
})
