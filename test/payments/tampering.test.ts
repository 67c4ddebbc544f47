// Customers cannot set prices, totals, statuses or owners: such fields are rejected by name and nothing is
// written.
import t from 'tap'
import spec from '../../generated/openapi.json' with { type: 'json' }
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  addPrice,
  createCheckout,
  cards,
  createCatalog,
  pages,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'

const server = await startServer(t)
const catalog = await createCatalog(server)
const { admin } = server
const [ada, bob] = [await server.person(), await server.person()]
const { pool } = server.services.database

const tables = [
  'products',
  'prices',
  'orders',
  'order_items',
  'checkouts',
  'payments',
  'refunds',
  'subscriptions',
  'payment_clock',
  'gateway_events',
  'events',
  'idempotency_records',
  'webhook_deliveries',
]
/** The number of rows and a digest of each table. Excludes `sequence`, which events get asynchronously. */
async function rows(): Promise<Record<string, string>> {
  const digests = tables.map(
    (table) =>
      `SELECT '${table}' AS name, count(*) || ' ' || coalesce(md5(string_agg(r, '' ORDER BY r)), '') AS text
        FROM (SELECT (to_jsonb(x) - 'sequence')::text AS r FROM ${table} x) x`,
  )
  return Object.fromEntries(
    (await pool.query(digests.join(' UNION ALL '))).rows.map(({ name, text }) => [name, text]),
  )
}

/**
 * The objects of each user: orders that are pending, paid and partially refunded, and a project with the
 * same.
 */
async function belongings(person: Person): Promise<Record<string, string>> {
  const project = (await person.client.post('/projects', { name: `shop of ${person.id}` })).body.id
  const order = (
    await person.client.post('/payments/orders', {
      items: [{ price_id: catalog.price }],
      metadata: { secret: person.id },
    })
  ).body.id
  const inProject = (
    await person.client.post('/payments/orders', {
      items: [{ price_id: catalog.price }],
      project_id: project,
    })
  ).body.id
  const paid = await createCheckout(person, { items: [{ price_id: catalog.price, quantity: 2 }] })
  await payWithCard(server, paid.id, cards.succeeds)
  const refund = (await admin.client.post(`/payments/orders/${paid.order_id}/refunds`, { amount: 1 })).body.id
  const { id: checkout } = await createCheckout(person, { order_id: order })
  const { id: subscription } = await subscribe(server, person, catalog.monthly)
  return { project, order, inProject, paid: paid.order_id, refund, checkout, subscription }
}
const mine = await belongings(ada)
const his = await belongings(bob)
const free = (await ada.client.post('/payments/orders', { items: [{ price_id: catalog.price }] })).body.id

let before = await rows()
t.beforeEach(async () => {
  before = await rows()
})
t.afterEach(async () => {
  t.same(await rows(), before, 'nothing is written')
})

const item = { price_id: catalog.price }
const schemas: Record<string, any> = spec.components.schemas
const propertiesOf = (...names: string[]): string[] =>
  names.flatMap((name) =>
    (schemas[name].oneOf ?? [schemas[name]]).flatMap((schema: any) => Object.keys(schema.properties)),
  )

/** Each request body, and the fields that a customer could try to set in it. */
const bodies: Array<{
  path: string
  method?: string
  person?: Person
  schema: string
  body: object
  fields: string[]
}> = [
  {
    path: 'orders',
    schema: 'OrderCreate',
    body: { items: [item] },
    fields: propertiesOf('Order', 'OrderItem'),
  },
  {
    path: `orders/${mine.paid}/refunds`,
    person: admin,
    schema: 'RefundCreate',
    body: { amount: 1 },
    fields: propertiesOf('Refund', 'Order'),
  },
  {
    path: 'checkout',
    schema: 'CheckoutCreate',
    body: { items: [item], ...pages },
    fields: propertiesOf('Checkout', 'Order', 'Subscription'),
  },
  {
    path: 'checkout',
    schema: 'CheckoutCreate',
    body: { order_id: free, ...pages },
    fields: propertiesOf('Checkout', 'Order'),
  },
  {
    path: `subscriptions/${mine.subscription}/cancel`,
    schema: 'SubscriptionCancel',
    body: { at_period_end: false },
    fields: propertiesOf('Subscription'),
  },
  {
    path: 'products',
    person: admin,
    schema: 'ProductCreate',
    body: { name: 'x' },
    fields: propertiesOf('Product'),
  },
  {
    path: `products/${catalog.product}`,
    method: 'PUT',
    person: admin,
    schema: 'ProductUpdate',
    body: { name: 'x' },
    fields: propertiesOf('Product'),
  },
  {
    path: 'prices',
    person: admin,
    schema: 'PriceCreate',
    body: { product_id: catalog.product, unit_amount: 1, currency: 'eur' },
    fields: propertiesOf('Price'),
  },
  {
    path: `prices/${catalog.price}`,
    method: 'PUT',
    person: admin,
    schema: 'PriceUpdate',
    body: { active: true },
    fields: propertiesOf('Price'),
  },
  {
    path: 'test-clock/advance',
    person: admin,
    schema: 'TestClockAdvance',
    body: { by_seconds: 1 },
    fields: propertiesOf('TestClock'),
  },
]
/** Columns that no response contains. */
const columns = [
  'owner_id',
  'user_id',
  'workspace_id',
  'refunding_amount',
  'period',
  'anchor_at',
  'due_at',
  'tries',
  'card',
  'gateway',
  'gateway_reference',
  'owns_order',
  'abandoned',
  'amount_paid',
  'discount',
  'tax',
  'coupon',
  'price',
  'unit_price',
  '__proto__',
  'constructor',
]
const values = ['paid', 1, null]

t.test('a read-only or unknown field is rejected by name', async (t) => {
  let count = 0
  for (const { path, method = 'POST', person = ada, schema, body, fields } of bodies) {
    const allowed = new Set(propertiesOf(schema))
    for (const field of new Set([...fields, ...columns])) {
      if (allowed.has(field)) continue
      const value = values[count++ % values.length]
      const raw = JSON.stringify(body).replace('{', `{${JSON.stringify(field)}:${JSON.stringify(value)},`)
      const reply = await person.client.call(method, `/payments/${path}`, {
        raw,
        headers: { 'content-type': 'application/json' },
      })
      const named = field === '__proto__' ? {} : { field }
      if (reply.status !== 400) t.fail(`${method} ${path} with ${field}: ${reply.status} ${reply.text}`)
      else
        t.match(
          reply.body.error,
          { code: 'INVALID_REQUEST', details: named },
          `${method} ${path} with ${field}`,
        )
    }
  }
  t.ok(count > 200, `${count} fields were tried`)
})

t.test('so is such a field inside an item', async (t) => {
  for (const field of [
    'unit_amount',
    'amount',
    'description',
    'currency',
    'price',
    'discount',
    'product_id',
    'recurring',
  ]) {
    for (const [path, rest] of [
      ['orders', {}],
      ['checkout', pages],
    ] as const) {
      const reply = await ada.client.post(`/payments/${path}`, { ...rest, items: [{ ...item, [field]: 1 }] })
      t.match(
        reply,
        { status: 400, body: { error: { details: { field: `items[0].${field}` } } } },
        `${path} with ${field}`,
      )
    }
  }
})

/** JSON values that are not valid amounts. */
const noAmounts = [
  '-1',
  '0',
  '1.5',
  '0.1',
  '-0',
  '1e400',
  '-1e400',
  '9007199254740992',
  '9007199254740993',
  '18446744073709551616',
  '1000000000000000',
  '1e15',
  '"5"',
  '"1999"',
  'true',
  '[5]',
  '{}',
  'NaN',
  'Infinity',
  '0x10',
  '1_000',
]

const urls = '"success_url":"https://a.example","cancel_url":"https://a.example"'

t.test('an amount is a whole number of minor units within its limits', async (t) => {
  const requests: Array<[string, string, Person, (amount: string) => string]> = [
    [
      'prices',
      'unit_amount',
      admin,
      (amount) => `{"product_id":"${catalog.product}","currency":"eur","unit_amount":${amount}}`,
    ],
    [`orders/${mine.paid}/refunds`, 'amount', admin, (amount) => `{"amount":${amount}}`],
    [
      'orders',
      'items[0].quantity',
      ada,
      (amount) => `{"items":[{"price_id":"${catalog.price}","quantity":${amount}}]}`,
    ],
    [
      'checkout',
      'items[0].quantity',
      ada,
      (amount) => `{"items":[{"price_id":"${catalog.price}","quantity":${amount}}],${urls}}`,
    ],
    [
      'checkout',
      'expires_in_seconds',
      ada,
      (amount) => `{"items":[{"price_id":"${catalog.price}"}],${urls},"expires_in_seconds":${amount}}`,
    ],
  ]
  for (const [path, field, person, body] of requests) {
    for (const amount of noAmounts) {
      // A price may be free.
      if (path === 'prices' && Number(amount) === 0) continue
      const reply = await person.client.call('POST', `/payments/${path}`, {
        raw: body(amount),
        headers: { 'content-type': 'application/json' },
      })
      t.equal(reply.status, 400, `${path} with ${field} ${amount}: ${reply.text}`)
      // Invalid JSON has no field to name.
      if (!/^(NaN|Infinity|0x10|1_000)$/.test(amount))
        t.match(reply.body.error.details.field, field, `${path} with ${amount}`)
    }
  }
  for (const seconds of [1799, 86_401])
    t.match(
      (
        await ada.client.post('/payments/checkout', {
          items: [item],
          ...pages,
          expires_in_seconds: seconds,
        })
      ).body.error.details,
      { field: 'expires_in_seconds' },
    )
})

t.test('a total never exceeds the maximum, and refunds never exceed the paid amount', async (t) => {
  before = {}
  const most = await addPrice(admin.client, catalog.product, { unit_amount: 999_999_999 })
  const mostMonthly = await addPrice(admin.client, catalog.product, {
    unit_amount: 999_999_999,
    recurring: { interval: 'month', interval_count: 1 },
  })
  before = await rows()
  const tooMuch = {
    status: 400,
    body: { error: { code: 'INVALID_REQUEST', details: { field: 'items', constraint: 'max_total' } } },
  }
  const orders: object[][] = [
    [{ price_id: most, quantity: 1_000_000 }],
    [{ price_id: most, quantity: 1_001 }],
    [{ price_id: most, quantity: 1_000 }, { price_id: catalog.price }],
    Array.from({ length: 100 }, () => ({ price_id: most, quantity: 1_000_000 })),
    Array.from({ length: 100 }, () => ({ price_id: most, quantity: 11 })),
  ]
  for (const items of orders) {
    t.match(await ada.client.post('/payments/orders', { items }), tooMuch)
    t.match(await ada.client.post('/payments/checkout', { items, ...pages }), tooMuch)
  }
  t.match(
    await ada.client.post('/payments/checkout', {
      mode: 'subscription',
      items: [{ price_id: mostMonthly, quantity: 1_001 }],
      ...pages,
    }),
    tooMuch,
  )
  for (const amount of [3_998, 3_999, 999_999_999_999]) {
    t.match(await admin.client.post(`/payments/orders/${mine.paid}/refunds`, { amount }), {
      status: 400,
      body: { error: { details: { field: 'amount', constraint: 'maximum' } } },
    })
  }
})

t.test('an order takes one-time prices in one currency', async (t) => {
  before = {}
  const yen = await addPrice(admin.client, catalog.product, { unit_amount: 5, currency: 'jpy' })
  const weekly = await addPrice(admin.client, catalog.product, {
    unit_amount: 5,
    recurring: { interval: 'week', interval_count: 1 },
  })
  const gone = await addPrice(admin.client, catalog.product, { unit_amount: 5 })
  await admin.client.put(`/payments/prices/${gone}`, { active: false })
  before = await rows()
  const refused: Array<[object, string, string, string?]> = [
    [{ items: [item, { price_id: yen }] }, 'items[1].price_id', 'currency'],
    [{ items: [{ price_id: yen }, item, item] }, 'items[1].price_id', 'currency'],
    [{ items: [{ price_id: weekly }] }, 'items[0].price_id', 'recurring'],
    [{ items: [item, { price_id: gone }] }, 'items[1].price_id', 'active'],
    [{ items: [] }, 'items', 'minItems'],
    [{ items: Array.from({ length: 101 }, () => item) }, 'items', 'maxItems'],
    [{ mode: 'subscription', items: [item] }, 'items[0].price_id', 'recurring', 'checkout'],
    [
      { mode: 'subscription', items: [{ price_id: weekly }, { price_id: catalog.monthly }] },
      'items[1].price_id',
      'interval',
      'checkout',
    ],
    [{ mode: 'subscription', order_id: free }, 'mode', 'exclusive', 'checkout'],
    [{ order_id: free, items: [item] }, 'order_id', 'oneOf', 'checkout'],
    [{ order_id: free, project_id: mine.project }, 'project_id', 'dependentRequired', 'checkout'],
    [{}, 'items', 'required', 'checkout'],
  ]
  for (const [body, field, constraint, only] of refused) {
    for (const path of only === undefined ? ['orders', 'checkout'] : [only]) {
      const reply = await ada.client.post(
        `/payments/${path}`,
        path === 'checkout' ? { ...body, ...pages } : body,
      )
      t.match(
        reply,
        { status: 400, body: { error: { details: { field, constraint } } } },
        `${path}: ${reply.text.slice(0, 200)}`,
      )
    }
  }
  for (const currency of ['xxx', 'XXX', 'eu', 'euro', '', 'btc']) {
    t.match(
      (await admin.client.post('/payments/prices', { product_id: catalog.product, unit_amount: 1, currency }))
        .body.error.details,
      { field: 'currency' },
    )
  }
  for (const recurring of [
    { interval: 'week', interval_count: 157 },
    { interval: 'year', interval_count: 4 },
    { interval: 'month', interval_count: 0 },
    { interval: 'hour', interval_count: 1 },
    { interval: 'day', interval_count: 1.5 },
    { interval: 'day' },
  ]) {
    t.match(
      (
        await admin.client.post('/payments/prices', {
          product_id: catalog.product,
          unit_amount: 1,
          currency: 'eur',
          recurring,
        })
      ).body.error.details,
      { field: /^recurring/ },
    )
  }
})

t.test("a user cannot access another user's objects", async (t) => {
  const foreign: Array<[string, string, object?]> = [
    ['GET', `orders/${his.order}`],
    ['GET', `orders/${his.inProject}`],
    ['GET', `orders/${his.paid}/refunds`],
    ['GET', `orders/${his.paid}/refunds/${his.refund}`],
    ['GET', `orders/${his.paid}/receipt`],
    ['POST', `orders/${his.order}/cancel`],
    ['POST', `orders/${his.inProject}/cancel`],
    ['GET', `checkout/${his.checkout}`],
    ['POST', `checkout/${his.checkout}/expire`],
    ['POST', 'checkout', { order_id: his.order, ...pages }],
    ['POST', 'checkout', { order_id: his.inProject, ...pages }],
    ['POST', 'checkout', { items: [item], project_id: his.project, ...pages }],
    [
      'POST',
      'checkout',
      { mode: 'subscription', items: [{ price_id: catalog.monthly }], project_id: his.project, ...pages },
    ],
    ['POST', 'orders', { items: [item], project_id: his.project }],
    ['GET', `orders?project_id=${his.project}`],
    ['GET', `subscriptions?project_id=${his.project}`],
    ['GET', `subscriptions/${his.subscription}`],
    ['POST', `subscriptions/${his.subscription}/cancel`, { at_period_end: false }],
    ['POST', `subscriptions/${his.subscription}/resume`],
    ['POST', `orders/${mine.paid}/refunds`, {}],
    ['POST', `orders/${his.paid}/refunds`, { amount: 1 }],
    ['POST', 'prices', { product_id: catalog.product, unit_amount: 1, currency: 'eur' }],
    ['PUT', `prices/${catalog.price}`, { active: false }],
    ['PUT', `products/${catalog.product}`, { active: false }],
    ['POST', 'products', { name: 'x' }],
    ['POST', 'test-clock/advance', { by_seconds: 1 }],
    ['GET', 'test-clock'],
  ]
  const secrets = [bob.id, (await bob.client.get(`/payments/orders/${his.order}`)).body.number]
  for (const [method, path, body] of foreign) {
    const reply = await ada.client.call(method, `/payments/${path}`, { body })
    t.equal(reply.status, 403, `${method} ${path}: ${reply.text.slice(0, 200)}`)
    for (const secret of secrets) t.notMatch(reply.text, secret)
  }
  // Lists and related requests do not reveal them either.
  t.same((await ada.client.get(`/payments/orders?subscription_id=${his.subscription}`)).body.data, [])
  t.notMatch((await ada.client.get('/payments/orders?limit=100')).text, bob.id)
  t.equal(
    (await ada.client.get(`/payments/orders/${mine.paid}/refunds/${his.refund}`)).status,
    404,
    'a refund of a different order',
  )
  t.equal(
    (await admin.client.get(`/payments/orders/${his.order}`)).status,
    200,
    'an operator reads the orders of all customers',
  )
})

t.test('unknown ids and ids of other types are 404', async (t) => {
  const nothing = '01jd6y8m5qe8btc4y5w1r0n3fz'
  for (const path of [
    `orders/ord_${nothing}`,
    `checkout/chk_${nothing}`,
    `subscriptions/sub_${nothing}`,
    `prices/prc_${nothing}`,
    `products/prod_${nothing}`,
  ])
    t.equal((await ada.client.get(`/payments/${path}`)).status, 404, path)
  for (const path of [
    `orders/${mine.checkout}`,
    `checkout/${mine.order}`,
    `subscriptions/${mine.order}`,
    'orders/1',
    `orders/${mine.order.toUpperCase()}`,
    `orders/${mine.order}%00`,
  ])
    t.equal((await ada.client.get(`/payments/${path}`)).status, 404, path)
  for (const body of [
    { items: [{ price_id: `prc_${nothing}` }] },
    { items: [item], project_id: `prj_${nothing}` },
  ])
    t.equal((await ada.client.post('/payments/orders', body)).status, 404)
  t.equal((await ada.client.post('/payments/checkout', { order_id: `ord_${nothing}`, ...pages })).status, 404)
  t.equal((await admin.client.post(`/payments/orders/ord_${nothing}/refunds`, {})).status, 404)
  t.equal((await ada.client.post('/payments/orders', { items: [{ price_id: catalog.product }] })).status, 400)
})

t.test('the payment page accepts a card, but no amount', async (t) => {
  for (const field of ['amount', 'currency', 'order_id', 'status', 'price', 'card', '__proto__']) {
    const raw = new URLSearchParams({
      number: cards.succeeds,
      expiry: '12 / 34',
      cvc: '123',
      name: 'Ada',
      [field]: '1',
    }).toString()
    const response = await fetch(`${server.url}/pay/${mine.checkout}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: raw,
    })
    t.equal(response.status, 400, `${field}: ${(await response.text()).slice(0, 200)}`)
  }
  const twice = await fetch(`${server.url}/pay/${mine.checkout}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `number=${cards.declined}&number=${cards.succeeds}&expiry=12/34&cvc=123&name=Ada`,
  })
  t.not(twice.status, 303, 'a repeated field')
})

t.test('redirect URLs must be http or https', async (t) => {
  for (const url of [
    'javascript:alert(1)',
    'data:text/html,x',
    '//a.example',
    '/thanks',
    'ftp://a.example',
    'https://',
    'https://user:secret@a.example',
    'https://a.example/\r\nSet-Cookie: a=b',
    'https://a.example/ x',
    'https:\\\\a.example',
    'https://[::1',
    `https://a.example/${'x'.repeat(2000)}`,
  ]) {
    for (const field of ['success_url', 'cancel_url'])
      t.match(
        (await ada.client.post('/payments/checkout', { items: [item], ...pages, [field]: url })).body.error,
        { code: 'INVALID_REQUEST', details: { field } },
        url.slice(0, 40),
      )
  }
})

t.test('an Idempotency-Key cannot be reused with another body', async (t) => {
  before = {}
  const headers = { 'idempotency-key': 'pay-me-once' }
  const first = await admin.client.post(`/payments/orders/${mine.paid}/refunds`, { amount: 7 }, { headers })
  t.equal(first.status, 201)
  before = await rows()
  t.equal(
    (await admin.client.post(`/payments/orders/${mine.paid}/refunds`, { amount: 8 }, { headers })).status,
    422,
  )
  t.equal((await admin.client.post(`/payments/orders/${mine.paid}/refunds`, {}, { headers })).status, 422)
  t.same(
    (await admin.client.post(`/payments/orders/${mine.paid}/refunds`, { amount: 7 }, { headers })).body,
    first.body,
  )
  const doubled = await admin.client.call('POST', `/payments/orders/${mine.paid}/refunds`, {
    raw: '{"amount":1,"amount":3000}',
    headers: { 'content-type': 'application/json' },
  })
  t.equal(doubled.status, 400, 'a body cannot repeat a field')
})

t.test('the ledger balances after all tests', async (t) => {
  t.same(await ledgerViolations(server.services.database), [])
})
