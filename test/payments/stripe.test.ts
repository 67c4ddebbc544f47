// Stripe payments from the session to the paid order and its refund, by webhooks and by polling on return.
import t from 'tap'
import { addPrice } from '../support/operations/catalog-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { stripeEventRetentionTasks } from '../../services/payments/stripe/events.ts'
import { startStripeFixture } from '../support/payments/stripe-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'

const shop = await startStripeFixture(t)
const { server, stripe } = shop
const ada = await server.person()

t.test("an order is paid on Stripe's page and refunded in two parts", async (t) => {
  const bob = await server.person()
  const checkout = await shop.checkout(bob, {
    items: [{ price_id: shop.price, quantity: 3 }],
    metadata: { cart: '7' },
  })
  t.match(checkout, { status: 'open', url: `${server.url}/pay/${checkout.id}`, total_amount: 5997 })
  t.equal(stripe.requests.length, 0, 'no request to Stripe before the first visit')
  const first = await shop.openPage(checkout)
  const session = stripe.sessionFor(checkout.id)
  t.match(first, { status: 303, location: session.url })
  t.match(
    await shop.openPage(checkout),
    { status: 303, location: session.url },
    'the same page on each visit',
  )
  t.equal(stripe.requests.length, 1)
  const [{ key, params }] = stripe.requests
  t.equal(key, `checkout:${checkout.id}`)
  t.match(params, {
    mode: 'payment',
    line_items: [
      {
        quantity: '3',
        price_data: { currency: 'eur', unit_amount: '1999', product_data: { name: 'Team plan' } },
      },
    ],
    client_reference_id: checkout.id,
    metadata: { checkout_id: checkout.id, order_id: checkout.order_id },
    payment_intent_data: { metadata: { checkout_id: checkout.id, order_id: checkout.order_id } },
    success_url: `${checkout.url}/return`,
    cancel_url: 'https://shop.example/cart',
  })
  t.notOk(JSON.stringify(params).includes('cart":"7'), "the seller's metadata is not sent")
  t.ok(
    Number(params.expires_at) * 1000 <= Date.parse(checkout.expires_at) &&
      Number(params.expires_at) > Date.now() / 1000 + 86_000,
  )

  const before = stripe.events.length
  stripe.customer.pay(session)
  t.equal((await shop.order(bob, checkout.order_id)).status, 'pending')
  await shop.deliverFrom(before)
  t.match(await shop.order(bob, checkout.order_id), { status: 'paid', checkout_id: checkout.id })
  t.match((await bob.client.get(`/payments/checkout/${checkout.id}`)).body, {
    status: 'complete',
    payment_status: 'paid',
  })
  t.match(await shop.openPage(checkout), { status: 303, location: 'https://shop.example/thanks' })
  t.match(await shop.openPage(checkout, '/return'), { status: 303 })
  await server.services.database.prisma.checkout.update({
    where: { id: checkout.id },
    data: { successUrl: 'https://elsewhere.example/thanks' },
  })
  const elsewhere = await shop.openPage(checkout)
  t.match(elsewhere, { status: 200, location: null, text: 'Continue to <bdi>elsewhere.example</bdi>' })

  const refund = await server.admin.client.post(`/payments/orders/${checkout.order_id}/refunds`, {
    amount: 1000,
  })
  t.match(refund.body, { status: 'pending', amount: 1000 })
  await shop.waitForJobs()
  const [given] = [...stripe.refunds.values()]
  t.match(given, {
    amount: 1000,
    status: 'succeeded',
    metadata: { refund_id: refund.body.id, order_id: checkout.order_id },
  })
  t.match((await bob.client.get(`/payments/orders/${checkout.order_id}/refunds`)).body.data, [
    { status: 'succeeded' },
  ])
  t.match(await shop.order(bob, checkout.order_id), { status: 'partially_refunded', refunded_amount: 1000 })
  t.equal(
    (await server.admin.client.post(`/payments/orders/${checkout.order_id}/refunds`, {})).body.amount,
    4997,
  )
  await shop.waitForJobs()
  t.match(await shop.order(bob, checkout.order_id), { status: 'refunded', refunded_amount: 5997 })
  t.same(
    [...stripe.refunds.values()].map(({ amount }) => amount),
    [1000, 4997],
  )
  await shop.deliverFrom(0)
  const requestCount = stripe.requests.length
  await shop.deliverFrom(0)
  t.equal(stripe.requests.length, requestCount, 'a processed event causes no request')
  t.same(await shop.eventTypes(bob), [
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'refund.created',
    'refund.updated',
    'order.refunded',
    'refund.created',
    'refund.updated',
    'order.refunded',
  ])
  t.ok(
    stripe.requests.every(
      ({ method, key }) => method !== 'POST' || /^(checkout|refund):(chk|ref)_/.test(key!),
    ),
    'every write request has an idempotency key',
  )
})

t.test('the return page applies a payment before its webhook arrives', async (t) => {
  const { checkout, session } = await shop.openCheckout(ada)
  t.match(await shop.openPage(checkout, '/return'), { status: 303 })
  t.equal(
    (await shop.order(ada, checkout.order_id)).status,
    'pending',
    'returning without paying pays nothing',
  )
  stripe.customer.pay(session)
  const back = await shop.openPage(checkout, '/return')
  t.equal(new URL(back.location!, `${checkout.url}/return`).href, checkout.url)
  t.match(await shop.openPage(checkout), { status: 303, location: 'https://shop.example/thanks' })
  t.equal((await shop.order(ada, checkout.order_id)).status, 'paid')
})

t.test('a webhook needs a recent signature of its exact bytes', async (t) => {
  const { checkout, session } = await shop.openCheckout(ada)
  const before = stripe.events.length
  stripe.customer.pay(session)
  const event = stripe.events.slice(before).find(({ type }) => type === 'checkout.session.completed')!
  const requestCount = stripe.requests.length
  const send = async (body: string | Uint8Array<ArrayBuffer>, signature: string | null) =>
    await server.admin.client.call('POST', '/payments/webhooks/stripe', {
      raw: body,
      headers: {
        'content-type': 'application/json',
        authorization: '',
        ...(signature !== null && { 'stripe-signature': signature }),
      },
    })
  const good = stripe.sign(event.body)
  const second = Math.floor(Date.now() / 1000)
  const refused: Array<[string, string | Uint8Array<ArrayBuffer>, string | null]> = [
    ['no signature', event.body, null],
    ['no signature of the kind', event.body, 'nonsense'],
    ['another secret', event.body, stripe.sign(event.body, { secret: 'whsec_other' })],
    ['an old signature', event.body, stripe.sign(event.body, { timestamp: second - 301 })],
    ['another time than was signed', event.body, good.replace(/t=\d+/, `t=${second - 5}`)],
    ['a body with one byte changed', event.body.replace('"event"', '"evenT"'), good],
    ['a body with one byte more', `${event.body} `, good],
    ['a byte order mark', `\ufeff${event.body}`, good],
    ['no UTF-8', Buffer.concat([Buffer.from(event.body), Buffer.from([0xff])]), good],
    ['signed nonsense', 'nonsense', stripe.sign('nonsense')],
    ['an empty body', '', stripe.sign('')],
  ]
  for (const [what, body, signature] of refused) {
    const reply = await send(body, signature)
    t.match(reply, { status: 400, body: { error: { code: 'INVALID_REQUEST' } } }, what)
  }
  t.match((await send(event.body, stripe.sign(event.body, { secret: 'whsec_other' }))).body.error.details, {
    field: 'Stripe-Signature',
    constraint: 'signature',
    errors: [{ location: 'header' }],
  })
  t.equal(stripe.requests.length, requestCount, 'no request to Stripe')
  t.equal((await shop.order(ada, checkout.order_id)).status, 'pending')
  t.same((await send(event.body, stripe.sign(event.body, { timestamp: second - 290 }))).body, {
    received: true,
  })
  t.equal((await shop.order(ada, checkout.order_id)).status, 'paid')
})

t.test('irrelevant events and unknown objects are accepted without effect', async (t) => {
  const body = (type: string, object: object): string =>
    JSON.stringify({ id: `evt_${type}`, object: 'event', type, data: { object } })
  const { count } = (await server.services.database.pool.query('SELECT count(*) FROM gateway_events')).rows[0]
  for (const [type, object] of [
    ['charge.succeeded', { id: 'ch_1' }],
    ['payout.paid', {}],
    ['invoice.paid', {}],
    ['checkout.session.completed', { id: 'cs_elsewhere' }],
    ['refund.updated', { id: 're_elsewhere' }],
  ] as const) {
    const text = body(type, object)
    const { status } = await stripe.deliver(server.url, { id: '', type, body: text })
    t.equal(status, 200, type)
  }
  t.equal(
    (await server.services.database.pool.query('SELECT count(*) FROM gateway_events')).rows[0].count,
    count,
  )
})

t.test('a bank payment succeeds later or fails', async (t) => {
  const bob = await server.person()
  const paid = await shop.openCheckout(bob)
  const failed = await shop.openCheckout(bob)
  const before = stripe.events.length
  stripe.customer.payByBank(paid.session)
  stripe.customer.payByBank(failed.session)
  await shop.deliverFrom(before)
  t.match(await shop.order(bob, paid.checkout.order_id), { status: 'pending' })
  t.match((await bob.client.get(`/payments/checkout/${paid.checkout.id}`)).body, {
    status: 'open',
    payment_status: 'unpaid',
  })
  t.match(
    await shop.openPage(paid.checkout),
    { status: 303, location: 'https://shop.example/thanks' },
    'the customer is done',
  )
  stripe.customer.finishBankPayment(paid.session, true)
  stripe.customer.finishBankPayment(failed.session, false)
  await shop.deliverFrom(before)
  t.match(await shop.order(bob, paid.checkout.order_id), { status: 'paid' })
  t.match(await shop.order(bob, failed.checkout.order_id), { status: 'canceled' })
  t.match((await bob.client.get(`/payments/checkout/${failed.checkout.id}`)).body, { status: 'expired' })
  t.same(await shop.eventTypes(bob), [
    'order.created',
    'checkout.created',
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'order.payment_failed',
    'checkout.expired',
    'order.canceled',
  ])
})

t.test('a session that expires at Stripe expires here, and vice versa', async (t) => {
  const there = await shop.openCheckout(ada)
  const before = stripe.events.length
  stripe.billing.expire(there.session)
  await shop.deliverFrom(before)
  t.match((await ada.client.get(`/payments/checkout/${there.checkout.id}`)).body, { status: 'expired' })
  t.equal((await shop.order(ada, there.checkout.order_id)).status, 'canceled')
  t.match(await shop.openPage(there.checkout), { status: 410 })

  const here = await shop.openCheckout(ada)
  await ada.client.post(`/payments/checkout/${here.checkout.id}/expire`)
  await waitUntil(() => here.session.status === 'expired', 'the expiry at Stripe')
  t.match(await shop.openPage(here.checkout), { status: 410 })

  const unseen = await shop.checkout(ada)
  const requestCount = stripe.requests.length
  await ada.client.post(`/payments/checkout/${unseen.id}/expire`)
  await shop.waitForJobs()
  t.equal(stripe.requests.length, requestCount, 'no request for a session that does not exist at Stripe')
})

t.test('a session that expires here is expired at Stripe', async (t) => {
  const { checkout, session } = await shop.openCheckout(ada, { expires_in_seconds: 1800 })
  t.ok(session.expires_at * 1000 > Date.parse(checkout.expires_at), "Stripe's minimum lifetime is longer")
  await shop.makeJobsDue()
  await waitUntil(() => session.status === 'expired', 'the expiry at Stripe')
  await waitUntil(
    async () => (await ada.client.get(`/payments/checkout/${checkout.id}`)).body.status === 'expired',
  )
  t.equal((await shop.order(ada, checkout.order_id)).status, 'canceled')
})

t.test('a payment of a closed session is refunded', async (t) => {
  const bob = await server.person()
  const order = (await bob.client.post('/payments/orders', { items: [{ price_id: shop.price }] })).body
  await server.stopWork()
  const { checkout, session } = await shop.openCheckout(bob, { items: undefined, order_id: order.id })
  t.equal((await bob.client.post(`/payments/orders/${order.id}/cancel`)).status, 200)
  stripe.customer.pay(session)
  const before = stripe.events.length
  await server.work()
  await waitUntil(
    () =>
      [...stripe.refunds.values()].some(({ payment_intent: intent }) => intent === session.payment_intent),
    'the refund',
  )
  await shop.deliverFrom(before)
  await shop.waitForJobs()
  const { rows } = await server.services.database.pool.query(
    'SELECT status, amount FROM payments WHERE order_id = $1',
    [order.id],
  )
  t.match(rows, [{ status: 'returned', amount: '1999' }])
  t.equal((await shop.order(bob, order.id)).status, 'canceled')
  t.equal(
    [...stripe.refunds.values()].filter(({ payment_intent: intent }) => intent === session.payment_intent)
      .length,
    1,
  )
  t.match(await shop.openPage(checkout), { status: 410, text: /has been refunded/ })
  t.same(await shop.eventTypes(bob), [
    'order.created',
    'checkout.created',
    'order.canceled',
    'checkout.expired',
  ])
})

t.test('a session that closes while Stripe creates it is expired there', async (t) => {
  const checkout = await shop.checkout(ada)
  const { received, release } = stripe.holdResponse(/^POST \/v1\/checkout\/sessions$/)
  const visit = shop.openPage(checkout)
  await received
  await ada.client.post(`/payments/checkout/${checkout.id}/expire`)
  release()
  t.match(await visit, { status: 303, location: checkout.url }, "the customer is sent to this server's page")
  t.match(await shop.openPage(checkout), { status: 410 })
  await waitUntil(() => stripe.sessionFor(checkout.id).status === 'expired', 'the expiry at Stripe')
})

t.test("amounts are sent in Stripe's minor units", async (t) => {
  const add = (unit_amount: number, currency: string) =>
    server.admin.client.post('/payments/prices', { product_id: shop.product, unit_amount, currency })
  for (const [amount, currency, stripeAmount] of [
    [500, 'jpy', '500'],
    [5, 'isk', '500'],
    [5, 'ugx', '500'],
    [19_000, 'mga', '190'],
    [5120, 'kwd', '5120'],
    [19_900, 'huf', '19900'],
  ] as const) {
    const price = (await add(amount, currency)).body.id
    const { checkout, session } = await shop.openCheckout(ada, { items: [{ price_id: price }] })
    t.equal(
      stripe.requests.findLast(({ path }) => path === '/v1/checkout/sessions')!.params.line_items[0]
        .price_data.unit_amount,
      stripeAmount,
      currency,
    )
    stripe.customer.pay(session)
    await shop.openPage(checkout, '/return')
    t.match(await shop.order(ada, checkout.order_id), { status: 'paid', total_amount: amount }, currency)
  }
  for (const [amount, currency, constraint] of [
    [5124, 'kwd', 'multiple_of'],
    [1999, 'mga', 'multiple_of'],
    [100_000_000, 'eur', 'maximum'],
    [1_000_000, 'isk', 'maximum'],
    [1000, 'iqd', 'currency'],
  ] as const) {
    t.match(
      await add(amount, currency),
      { status: 400, body: { error: { details: { field: 'unit_amount', constraint } } } },
      `${amount} ${currency}`,
    )
  }
  const dinars = (await add(5120, 'kwd')).body.id
  const { checkout, session } = await shop.openCheckout(ada, { items: [{ price_id: dinars }] })
  stripe.customer.pay(session)
  await shop.openPage(checkout, '/return')
  t.match(await server.admin.client.post(`/payments/orders/${checkout.order_id}/refunds`, { amount: 1001 }), {
    status: 400,
    body: { error: { details: { field: 'amount', constraint: 'multiple_of' } } },
  })
  t.equal(
    (await server.admin.client.post(`/payments/orders/${checkout.order_id}/refunds`, { amount: 1010 }))
      .status,
    201,
  )
  t.match(
    await ada.client.post('/payments/orders', { items: [{ price_id: shop.price, quantity: 60_000 }] }),
    { status: 400, body: { error: { details: { field: 'items', constraint: 'maximum' } } } },
  )
})

t.test('a total that Stripe does not charge is refused, before anything waits for its payment', async (t) => {
  const priceOf = (fields: Parameters<typeof addPrice>[2]) =>
    addPrice(server.admin.client, shop.product, fields)
  const recurring = { interval: 'month', interval_count: 1 }
  const cents = await priceOf({ unit_amount: 30 })
  const plan = await priceOf({ unit_amount: 30, recurring: { ...recurring, trial_days: 7 } })
  const free = await priceOf({ unit_amount: 0, recurring })
  const { client } = await server.person()
  const { body: subscription } = await client.post('/payments/subscriptions', { items: [{ price_id: free }] })
  const urls = { success_url: 'https://shop.example/thanks', cancel_url: 'https://shop.example/cart' }
  const items = [{ price_id: plan }]
  const refused = [
    await client.post('/payments/orders', { items: [{ price_id: cents }] }),
    await client.post('/payments/checkout', { items: [{ price_id: cents }], ...urls }),
    await client.post('/payments/checkout', { mode: 'subscription', items, ...urls }),
    await client.post('/payments/subscriptions', { items }),
    await client.put(`/payments/subscriptions/${subscription.id}`, { items }),
    await client.put(`/payments/subscriptions/${subscription.id}`, { items, apply: 'period_end' }),
  ]
  for (const reply of refused)
    t.match(reply, {
      status: 400,
      body: { error: { details: { errors: [{ field: 'items', constraint: 'minimum' }] } } },
    })
  t.equal((await client.post('/payments/orders', { items: [{ price_id: cents, quantity: 2 }] })).status, 201)
})

t.test('processed events are deleted after 30 days', async (t) => {
  const { pool } = server.services.database
  const left = async (): Promise<string[]> =>
    (await pool.query('SELECT id FROM gateway_events')).rows.map(({ id }) => id)
  const before = await left()
  t.ok(before.length > 1)
  await pool.query("UPDATE gateway_events SET received_at = now() - interval '31 days' WHERE id <> $1", [
    before[0],
  ])
  t.match(await runRetention(server.services.database, { tasks: stripeEventRetentionTasks() }), {
    'gateway events': before.length - 1,
  })
  t.same(await left(), [before[0]])
})

t.test('no secret is logged', async (t) => {
  t.notOk(
    [...server.logs, ...server.errors.map((error) => `${error.stack} ${(error.cause as Error)?.stack}`)].some(
      (line) => line.includes(stripe.secretKey) || line.includes(stripe.env.STRIPE_WEBHOOK_SECRET),
    ),
  )
})

t.test('what is free needs no request to Stripe', async (t) => {
  const sent = stripe.requests.length
  const { body: product } = await server.admin.client.post('/payments/products', { name: 'Gift' })
  const recurring = { interval: 'month', interval_count: 1 }
  const once = await addPrice(server.admin.client, product.id, { unit_amount: 0 })
  const monthly = await addPrice(server.admin.client, product.id, { unit_amount: 0, recurring })
  const paid = await shop.checkout(ada, { items: [{ price_id: once }] })
  t.match(paid, { status: 'complete', payment_status: 'paid', total_amount: 0 })
  t.match(await shop.order(ada, paid.order_id), { status: 'paid' })
  const started = await shop.checkout(ada, { mode: 'subscription', items: [{ price_id: monthly }] })
  const subscription = `/payments/subscriptions/${started.subscription_id}`
  t.match((await ada.client.get(subscription)).body, { status: 'active' })
  t.match((await ada.client.post(`${subscription}/cancel`)).body, { cancel_at_period_end: true })
  await shop.waitForJobs()
  t.equal(stripe.requests.length, sent)
})
