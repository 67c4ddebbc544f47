// Entitlements: what subscriptions, products and overrides give a customer, and the use of metered features.
import t, { type Test } from 'tap'
import { insertedCustomer } from '../support/database/db-fixtures-payments.ts'
import {
  addPrice,
  advance,
  cards,
  createCatalog,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

const server = await startWorkingServer(t)
const { client } = server.admin
const { prisma } = server.services.database
const { product, monthly } = await createCatalog(server)
const month = { interval: 'month', interval_count: 1 }

let count = 0
async function createFeature(type: string, more: object = {}): Promise<{ id: string; key: string }> {
  const fields = { key: `feature_${count++}`, name: 'Feature', type, ...more }
  const { status, body } = await client.post('/payments/features', fields)
  t.equal(status, 201)
  return body
}
async function createProduct(features: object[]): Promise<{ id: string; price: string }> {
  const { id } = (await client.post('/payments/products', { name: 'Plan' })).body
  const price = await addPrice(client, id, { unit_amount: 500, recurring: month })
  t.match(await client.put(`/payments/products/${id}/features`, { features }), { status: 200 })
  return { id, price }
}
const customerOf = async ({ id }: Person): Promise<string> =>
  (await client.get(`/payments/customers?user_id=${id}`)).body.data[0].id
const check = async (customer: string, key: string): Promise<any> => {
  const { status, body } = await client.get(`/payments/customers/${customer}/entitlements/${key}`)
  t.equal(status, 200)
  return body
}
const none = { enabled: false, limit: null, used: null, remaining: null, source: 'none', expires_at: null }

t.test('a subscription gives the features of its products, the highest limit wins', async (t) => {
  const [sso, projects] = [await createFeature('on_off'), await createFeature('limit')]
  const small = await createProduct([{ feature_id: projects.id, limit: '9.5' }])
  const large = await createProduct([{ feature_id: sso.id }, { feature_id: projects.id, limit: '10' }])
  const unlimited = await createProduct([{ feature_id: projects.id }])
  const buyer = await server.person()
  const { id: first } = await subscribe(server, buyer, small.price)
  const customer = await customerOf(buyer)
  t.match(await check(customer, projects.key), { enabled: true, limit: '9.5', source: 'product' })
  t.match(await check(customer, sso.key), none)
  const { id: second } = await subscribe(server, buyer, large.price)
  t.match(await check(customer, projects.key), { limit: '10', used: null, remaining: null, resets_at: null })
  t.match(await check(customer, sso.key), { enabled: true, limit: null })
  const { id: third } = await subscribe(server, buyer, unlimited.price)
  t.match(await check(customer, projects.key), { enabled: true, limit: null, source: 'product' })
  for (const id of [third, second])
    t.match(await buyer.client.post(`/payments/subscriptions/${id}/cancel`, { at_period_end: false }), {
      status: 200,
    })
  t.match(await check(customer, projects.key), { limit: '9.5' })
  t.match(await check(customer, sso.key), none)
  const { body: list } = await client.get(`/payments/customers/${customer}/entitlements`)
  t.match(list, { data: [{ feature: projects.key }], pagination: { total: 1 } })

  const replace = { items: [{ price_id: large.price }], apply: 'now' }
  t.match(await buyer.client.put(`/payments/subscriptions/${first}`, replace), { status: 200 })
  t.match(await check(customer, projects.key), { limit: '10' })
  await client.put(`/payments/products/${large.id}/features`, { features: [] })
  t.match(await check(customer, projects.key), none)
})

t.test('every server knows a changed subscription in its next check, a hundred times', async (t) => {
  const other = await startServer(t, { databaseUrl: server.databaseUrl })
  const onOther = createClient(other.url, server.admin.key)
  const feature = await createFeature('limit')
  const [small, large] = [
    await createProduct([{ feature_id: feature.id, limit: '1' }]),
    await createProduct([{ feature_id: feature.id, limit: '100' }]),
  ]
  const buyer = await server.person()
  const { id } = await subscribe(server, buyer, small.price)
  const path = `/payments/customers/${await customerOf(buyer)}/entitlements/${feature.key}`
  let right = 0
  for (let i = 0; i < 100; i++) {
    const [price_id, limit] = i % 2 === 0 ? [large.price, '100'] : [small.price, '1']
    const change = { items: [{ price_id }], proration: 'none', apply: 'now' }
    t.equal((await client.put(`/payments/subscriptions/${id}`, change)).status, 200)
    const checks = await Promise.all([client.get(path), onOther.get(path)])
    if (checks.every(({ body }) => body.limit === limit)) right++
  }
  t.equal(right, 100)
  const { body: events } = await buyer.client.get('/events?type=subscription.updated&limit=1')
  t.match(events.data, [{ type: 'subscription.updated' }])
})

t.test('the status of the subscription decides', async (t) => {
  const feature = await createFeature('on_off')
  const { price } = await createProduct([{ feature_id: feature.id }])
  const buyer = await server.person()
  const { id, session } = await subscribe(server, buyer, price, { card: null })
  const customer = await customerOf(buyer)
  t.match(await check(customer, feature.key), { enabled: false }, 'incomplete')
  await payWithCard(server, session, cards.succeeds)
  for (const [status, enabled] of [
    ['trialing', true],
    ['past_due', true],
    ['unpaid', false],
    ['active', true],
    ['paused', false],
  ] as const) {
    await prisma.subscription.update({ where: { id }, data: { status } })
    t.equal((await check(customer, feature.key)).enabled, enabled, status)
  }
})

t.test('an override wins over products until it expires', async (t) => {
  const feature = await createFeature('limit')
  const { price } = await createProduct([{ feature_id: feature.id, limit: '3' }])
  const buyer = await server.person()
  await subscribe(server, buyer, price)
  const customer = await customerOf(buyer)
  const path = `/payments/customers/${customer}/entitlements/${feature.key}`
  t.match(await client.put(path, { enabled: true, limit: '7' }), {
    status: 200,
    body: { enabled: true, limit: '7', source: 'override', expires_at: null },
  })
  t.match(await client.put(path, { enabled: false }), { status: 200, body: { enabled: false, limit: null } })
  t.match(await client.put(path, { enabled: true }), { status: 200, body: { enabled: true, limit: null } })
  const { headers } = await client.get(path)
  const stale = { 'if-match': headers.get('etag')! }
  t.match(await client.put(path, { enabled: true, limit: '2' }), { body: { limit: '2' } })
  const { status } = await client.call('PUT', path, { headers: stale, body: { enabled: false } })
  t.equal(status, 412)
  t.equal((await client.delete(path)).status, 204)
  t.match(await check(customer, feature.key), { limit: '3', source: 'product' })
  t.equal((await client.delete(path)).status, 404)

  const { now } = (await client.get(`/payments/test-clock?customer_id=${customer}`)).body
  const expires_at = new Date(Date.parse(now) + 3_600_000).toISOString()
  t.match(await client.put(path, { enabled: false, expires_at }), { body: { enabled: false, expires_at } })
  await advance(server, { customer_id: customer, by_seconds: 3500 } as never)
  t.match(await check(customer, feature.key), { enabled: false, source: 'override' })
  await advance(server, { customer_id: customer, by_seconds: 200 } as never)
  t.match(await check(customer, feature.key), { enabled: true, limit: '3', source: 'product' })
})

t.test('a feature and an override are refused if their fields do not fit together', async (t: Test) => {
  const [sso, projects] = [await createFeature('on_off'), await createFeature('limit')]
  const path = `/payments/products/${product}/features`
  const customer = await insertedCustomer(server)
  const seller = await server.person()
  const { id: organization_id } = (await seller.client.post('/organizations', { name: 'Shop' })).body
  const own = { key: 'own', name: 'Own', type: 'on_off', organization_id }
  const { id: theirs } = (await seller.client.post('/payments/features', own)).body
  const meter = { key: 'pages', name: 'Pages', aggregation: 'count', organization_id }
  const { id: meter_id } = (await seller.client.post('/payments/meters', meter)).body
  const refusals: Array<[string, 'put' | 'post', object, number, string?]> = [
    [path, 'put', { features: [{ feature_id: sso.id, limit: '1' }] }, 400, 'features[0].limit'],
    [path, 'put', { features: [{ feature_id: projects.id, limit: '-1' }] }, 400, 'features[0].limit'],
    [
      path,
      'put',
      { features: [sso, sso].map(({ id }) => ({ feature_id: id })) },
      400,
      'features[1].feature_id',
    ],
    [path, 'put', { features: [{ feature_id: theirs }] }, 404],
    ['/payments/features', 'post', { key: 'a', name: 'A', type: 'metered' }, 400, 'meter_id'],
    ['/payments/features', 'post', { key: 'a', name: 'A', type: 'limit', meter_id }, 400, 'meter_id'],
    ['/payments/features', 'post', { key: 'a', name: 'A', type: 'metered', meter_id }, 404],
    [
      `/payments/customers/${customer}/entitlements/${sso.key}`,
      'put',
      { enabled: true, limit: '1' },
      400,
      'limit',
    ],
    [
      `/payments/customers/${customer}/entitlements/${projects.key}`,
      'put',
      { enabled: false, limit: '1' },
      400,
      'limit',
    ],
    [`/payments/customers/${customer}/entitlements/own`, 'put', { enabled: true }, 404],
  ]
  for (const [at, method, body, status, field] of refusals)
    t.match(await client[method](at, body), {
      status,
      body: { error: { details: field === undefined ? {} : { field } } },
    })
  t.match((await client.get(path)).body, { features: [] }, 'nothing is stored')
})

t.test('an archived feature stays on its products, and is added to no other', async (t) => {
  const feature = await createFeature('limit')
  const features = [{ feature_id: feature.id, limit: '1' }]
  const { id } = await createProduct(features)
  await client.put(`/payments/features/${feature.id}`, { active: false })
  t.match(await client.put(`/payments/products/${product}/features`, { features }), { status: 400 })
  const raised = { features: [{ feature_id: feature.id, limit: '2.50' }] }
  const { status, body } = await client.put(`/payments/products/${id}/features`, raised)
  t.equal(status, 200)
  t.same(body.features, [{ feature_id: feature.id, key: feature.key, type: 'limit', limit: '2.5' }])
})

t.test('a metered feature counts the usage of the period', async (t) => {
  const meter = { key: 'pages', name: 'Pages', aggregation: 'sum', property: 'pages' }
  const { id: meter_id } = (await client.post('/payments/meters', meter)).body
  const feature = await createFeature('metered', { meter_id })
  const { price } = await createProduct([{ feature_id: feature.id, limit: '10' }])
  const buyer = await server.person()
  const { id } = await subscribe(server, buyer, price)
  const customer = await customerOf(buyer)
  const { period_start: start, period_end: end } = await prisma
    .$queryRawUnsafe<any[]>('SELECT period_start, period_end FROM subscriptions WHERE id = $1', id)
    .then(([row]) => row)
  t.match(await check(customer, feature.key), {
    enabled: true,
    limit: '10',
    used: '0',
    remaining: '10',
    resets_at: new Date(end).toISOString(),
  })
  const use = async (eventId: string, at: Date, quantity: string): Promise<void> => {
    const hour = new Date(Math.floor(at.getTime() / 3_600_000) * 3_600_000)
    const key = { meterId: meter_id, customerId: customer }
    await prisma.usageEvent.create({
      data: { seller: '', id: eventId, ...key, at, quantity, dimensions: '' },
    })
    await prisma.usageDelta.create({ data: { ...key, hour, dimensions: '', quantity } })
  }
  await use('before', new Date(start.getTime() - 1), '100')
  await use('first', start, '2.25')
  t.match(await check(customer, feature.key), { used: '2.25', remaining: '7.75' })
  await use('second', new Date(start.getTime() + 1), '20')
  t.match(await check(customer, feature.key), { enabled: true, used: '22.25', remaining: '0' })

  const subscription = `/payments/subscriptions/${id}`
  t.equal((await buyer.client.post(`${subscription}/pause`)).status, 200)
  await advance(server, { by_seconds: 60 })
  t.equal((await buyer.client.post(`${subscription}/unpause`)).status, 200)
  t.match(await check(customer, feature.key), { enabled: true, used: '22.25' }, 'a pause resets nothing')

  const path = `/payments/customers/${await insertedCustomer(server)}/entitlements/${feature.key}`
  t.match(await client.put(path, { enabled: true }), { body: { used: '0', limit: null, remaining: null } })
  t.match((await client.get(path)).body.resets_at, /-01T00:00:00.000Z$/)
})

t.test('only sellers read entitlements', async (t) => {
  const feature = await createFeature('on_off')
  const buyer = await server.person()
  await subscribe(server, buyer, monthly)
  const path = `/payments/customers/${await customerOf(buyer)}/entitlements`
  for (const at of [path, `${path}/${feature.key}`]) t.equal((await buyer.client.get(at)).status, 404)
  t.equal((await buyer.client.put(`${path}/${feature.key}`, { enabled: true })).status, 404)
  t.equal((await buyer.client.get(`/payments/products/${product}/features`)).status, 200)
  t.equal((await client.get(`${path}/unknown`)).status, 404)
})
