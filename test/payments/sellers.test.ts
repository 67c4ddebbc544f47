// Only the admins of an organization manage its products, prices and customers. All others are refused.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { newId } from '../../infra/ids.ts'
import { recordChanges } from '../support/server/changes.ts'
import { insertedCustomer, insertedProduct } from '../support/database/db-fixtures-payments.ts'
import { operationAt, type Client } from '../support/http/client.ts'
import { createShop, join, strangersTo, type Shop } from '../support/payments/shops.ts'
import { startServer } from '../support/server/server.ts'

const quota = 12
const env = { QUOTA_PRODUCTS: String(quota), QUOTA_PRICES: String(quota) }
const server = await startServer(t, { env })
const { admin, services } = server
const { prisma } = services.database
const changes = await recordChanges(t, server)
const products = '/payments/products'
const prices = '/payments/prices'
const customers = '/payments/customers'

const shop = await createShop(server)
const manager = await join(server, shop, 'admin')
const strangers = await strangersTo(server, shop)
const of = `organization_id=${shop.id}`

async function createSold({ id, client }: Shop = shop) {
  const { body: product } = await client.post(products, { name: 'Book', organization_id: id })
  const { body: price } = await client.post(prices, {
    product_id: product.id,
    unit_amount: 500,
    currency: 'eur',
  })
  const { body: customer } = await client.post(customers, { email: 'ada@shop.example', organization_id: id })
  return { product, price, customer }
}

t.test('admins manage the products, prices and customers of their organization', async (t) => {
  const { product, price, customer } = await createSold()
  t.match(product, { organization_id: shop.id, active: true })
  t.match(price, { organization_id: shop.id, product_id: product.id })
  t.match(customer, { organization_id: shop.id, user_id: null })
  const { client } = manager
  t.match(await client.put(`${products}/${product.id}`, { name: 'Atlas' }), { status: 200 })
  t.match(await client.put(`${prices}/${price.id}`, { active: false }), { status: 200 })
  t.match(await client.put(`${customers}/${customer.id}`, { name: 'Ada' }), { status: 200 })
  for (const [path, { id }] of [
    [products, product],
    [prices, price],
    [customers, customer],
  ] as const) {
    t.match((await client.get(`${path}/${id}`)).body, { id, organization_id: shop.id })
    t.match((await client.get(`${path}?${of}`)).body, { data: [{ id }], pagination: { total: 1 } })
  }
  t.match((await client.get(`${prices}?product_id=${product.id}`)).body.data, [{ id: price.id }])
  t.notMatch(JSON.stringify((await client.get(`${products}?limit=100`)).body), product.id)
  const external = `${customers}/by-external-id/1?${of}`
  t.equal((await client.put(external, { name: 'Grace' })).status, 201)
  t.equal((await client.put(external, { name: 'Hopper' })).status, 200)
  t.match((await client.get(external)).body, { name: 'Hopper', organization_id: shop.id })
  t.equal((await admin.client.get(`${customers}/by-external-id/1`)).status, 404)
  const portal = await client.post(`${customers}/${customer.id}/portal-sessions`, {})
  t.match(portal, { status: 201, body: { seller_organization_id: shop.id } })
  t.equal((await client.delete(`${customers}/${customer.id}`)).status, 204)
  t.match(await client.post(customers, { user_id: manager.id, organization_id: shop.id }), { status: 400 })
})

t.test('others cannot read or change the goods and customers of an organization', async (t) => {
  const { product, price, customer } = await createSold()
  const [book, ada] = [`${products}/${product.id}`, `${customers}/${customer.id}`]
  const meter = { key: 'pages', name: 'Pages', aggregation: 'count', organization_id: shop.id }
  const pages = `/payments/meters/${(await shop.client.post('/payments/meters', meter)).body.id}`
  const event = { id: '1', meter: 'pages', customer_id: customer.id }
  const usage = { organization_id: shop.id, events: [event] }
  t.match(await shop.client.post('/payments/usage', usage), { status: 200 })
  const feature = { key: 'pages', name: 'Pages', type: 'limit', organization_id: shop.id }
  const { id: featureId } = (await shop.client.post('/payments/features', feature)).body
  const before = await changes()
  const asked = new Set<string | null>()
  for (const [who, client] of strangers)
    for (const [method, path, body] of [
      ['get', `${products}?${of}`],
      ['get', `${prices}?${of}`],
      ['get', `${prices}?product_id=${product.id}`],
      ['get', `${customers}?${of}`],
      ['get', `/payments/meters?${of}`],
      ['get', `/payments/features?${of}`],
      ['get', `/payments/features/${featureId}`],
      ['get', `${book}/features`],
      ['get', `${ada}/entitlements`],
      ['get', `${ada}/entitlements/pages`],
      ['get', book],
      ['get', pages],
      ['get', `${pages}/usage`],
      ['get', `${prices}/${price.id}`],
      ['get', ada],
      ['get', `${customers}/by-external-id/1?${of}`],
      ['get', `/payments/test-clock?customer_id=${customer.id}`],
      ['get', `${ada}/payment-methods`],
      ['get', `${ada}/payment-methods/${newId('pm')}`],
      ['get', `${ada}/portal-sessions/${newId('pts')}`],
      ['post', products, { name: 'Mine', organization_id: shop.id }],
      ['post', prices, { product_id: product.id, unit_amount: 1, currency: 'eur' }],
      ['post', customers, { organization_id: shop.id }],
      ['post', '/payments/meters', { ...meter, key: 'mine' }],
      ['post', '/payments/usage', usage],
      ['post', `/payments/usage/1/void?${of}`],
      ['post', '/payments/features', { ...feature, key: 'mine' }],
      ['put', `/payments/features/${featureId}`, { name: 'Mine' }],
      ['put', `${book}/features`, { features: [] }],
      ['put', `${ada}/entitlements/pages`, { enabled: true }],
      ['delete', `${ada}/entitlements/pages`],
      ['put', book, { name: 'Mine' }],
      ['put', pages, { name: 'Mine' }],
      ['put', `${prices}/${price.id}`, { active: false }],
      ['put', ada, { name: 'Eve' }],
      ['put', `${customers}/by-external-id/1?${of}`, {}],
      ['post', `${ada}/portal-sessions`, {}],
      ['post', '/payments/test-clock/advance', { customer_id: customer.id, by_seconds: 1 }],
      ['post', `${ada}/payment-methods/${newId('pm')}/default`],
      ['delete', `${ada}/payment-methods/${newId('pm')}`],
      ['delete', ada],
    ] as const) {
      asked.add(operationAt(method.toUpperCase(), `/v1${path.split('?')[0]}`))
      const reply = await client[method](path, body as any)
      const expected = /^a key|account/.test(who) ? [403, 404] : [404]
      t.ok(expected.includes(reply.status), `${who}: ${method} ${path}: ${reply.status}`)
      t.notMatch(reply.text, /Book|ada@shop/, who)
    }
  t.same(await changes(), before, 'nothing changes')
  // Refunds: test/payments/sales-of-organizations.test.ts.
  for (const { id, organizationSellers } of Object.values<OperationInfo>(operations))
    if (organizationSellers === true && id !== 'createRefund') t.ok(asked.has(id), id)
})

t.test('an admin of an organization does not sell for the platform', async (t) => {
  const product = await insertedProduct(server)
  const customer = await insertedCustomer(server)
  const before = await changes()
  const { client } = shop
  for (const [reply, status] of [
    [await client.post(products, { name: 'Mine' }), 403],
    [await client.post(products, { name: 'Mine', organization_id: null }), 403],
    [await client.put(`${products}/${product}`, { name: 'Mine' }), 403],
    [await client.post(prices, { product_id: product, unit_amount: 1, currency: 'eur' }), 403],
    [await client.get(customers), 403],
    [await client.post(customers, {}), 403],
    [await client.get(`${customers}/${customer}`), 404],
    [await client.post(`${customers}/${customer}/portal-sessions`, {}), 404],
    [await client.get('/payments/test-clock'), 403],
  ] as const)
    t.equal(reply.status, status, reply.text)
  t.same(await changes(), before, 'nothing changes')
  t.equal(
    (await client.get(`${products}/${product}`)).status,
    200,
    'everyone reads the catalog of the operator',
  )
})

t.test('the events belong to the organization', async (t) => {
  const { product, customer } = await createSold()
  await shop.client.post(`${customers}/${customer.id}/portal-sessions`, {})
  const selected = 'type=product.created&type=customer.created&type=portal_session.created&order=desc&limit=3'
  const { body } = await manager.client.get(`/events?${selected}`)
  t.match(body.data, [
    { type: 'portal_session.created', organization_id: shop.id },
    { type: 'customer.created', organization_id: shop.id, data: { object: { id: customer.id } } },
    { type: 'product.created', organization_id: shop.id, data: { object: { id: product.id } } },
  ])
  for (const [who, client] of strangers) {
    const { text } = await client.get(`/events?${selected}`)
    t.notMatch(text, shop.id, who)
    t.equal((await client.get(`/events/${body.data[0].id}`)).status, 403, who)
  }
})

t.test('a stored answer is for the admins of the moment', async (t) => {
  const leaver = await join(server, shop, 'admin')
  const idempotency = { headers: { 'idempotency-key': newId('evt') } }
  const create = async () =>
    await leaver.client.post(products, { name: 'Once', organization_id: shop.id }, idempotency)
  const first = await create()
  t.same((await create()).body, first.body)
  await prisma.organizationMember.updateMany({ where: { userId: leaver.id }, data: { role: 'member' } })
  t.equal((await create()).status, 404)
})

t.test('explains who may change what an organization sells', async (t) => {
  const { product, customer } = await createSold()
  for (const path of [`/v1${products}/${product.id}`, `/v1${customers}/${customer.id}`]) {
    const allowed = async (client: Client) =>
      (await client.post('/explain', { method: 'PUT', path })).body.allowed
    t.equal(await allowed(manager.client), true)
    for (const [who, client] of strangers) t.notOk(await allowed(client), who)
  }
})

t.test('an organization has a limit of products and prices', async (t) => {
  const { id, client } = await createShop(server)
  const add = async () => await client.post(products, { name: 'Book', organization_id: id })
  const { body: product } = await add()
  const addPrice = async () =>
    await client.post(prices, { product_id: product.id, unit_amount: 1, currency: 'eur' })
  for (let i = 1; i < quota; i++) t.equal((await add()).status, 201)
  const exceeded = (constraint: string) => ({ status: 403, body: { error: { details: { constraint } } } })
  for (const reply of await Promise.all([add(), add(), add()])) t.match(reply, exceeded('products'))
  const added = await Promise.all(Array.from({ length: quota + 3 }, addPrice))
  t.equal(added.filter(({ status }) => status === 201).length, quota)
  t.match(
    added.find(({ status }) => status !== 201),
    exceeded('prices'),
  )
})
