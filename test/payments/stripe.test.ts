// Payments by Stripe: from the session to the paid order and its refund, told by signed events and found on the customer's return.
import t from 'tap'
import { runRetention } from '../support/retention.ts'
import { stripeEventRetentionTasks } from '../../services/payments/stripe/events.ts'
import { startStripeFixture } from '../support/stripe-fixtures.ts'
import { waitUntil } from '../support/wait.ts'

const shop = await startStripeFixture(t)
const { server, stripe } = shop
const ada = await server.person()

t.test("an order is paid on Stripe's page and given back in two parts", async (t) => {
  const bob = await server.person()
  const checkout = await shop.checkout(bob, {
    items: [{ price_id: shop.price, quantity: 3 }],
    metadata: { cart: '7' },
  })
  t.match(checkout, { status: 'open', url: `${server.url}/pay/${checkout.id}`, amount_total: 5997 })
  t.equal(stripe.asked.length, 0, 'Stripe hears nothing before somebody comes to pay')
  const first = await shop.visit(checkout)
  const session = stripe.sessionFor(checkout.id)
  t.match(first, { status: 303, location: session.url })
  t.match(await shop.visit(checkout), { status: 303, location: session.url }, 'and once for all who come')
  t.equal(stripe.asked.length, 1)
  const [{ key, params }] = stripe.asked
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
  t.notOk(JSON.stringify(params).includes('cart":"7'), 'what the seller notes is not told')
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
  t.match(await shop.visit(checkout), { status: 303, location: 'https://shop.example/thanks' })
  t.match(await shop.visit(checkout, '/return'), { status: 303 })

  const refund = await server.admin.client.post(`/payments/orders/${checkout.order_id}/refunds`, {
    amount: 1000,
  })
  t.match(refund.body, { status: 'pending', amount: 1000 })
  await shop.settled()
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
  await shop.settled()
  t.match(await shop.order(bob, checkout.order_id), { status: 'refunded', refunded_amount: 5997 })
  t.same(
    [...stripe.refunds.values()].map(({ amount }) => amount),
    [1000, 4997],
  )
  await shop.deliverFrom(0)
  const asked = stripe.asked.length
  await shop.deliverFrom(0)
  t.equal(stripe.asked.length, asked, 'what was heard before is not even asked about')
  t.same(await shop.types(bob), [
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
    stripe.asked.every(({ method, key }) => method !== 'POST' || /^(checkout|refund):(chk|ref)_/.test(key!)),
    'whatever is asked of Stripe has a key of ours',
  )
})

t.test('who comes back has paid, whether or not Stripe has told', async (t) => {
  const { checkout, session } = await shop.begin(ada)
  t.match(await shop.visit(checkout, '/return'), { status: 303 })
  t.equal((await shop.order(ada, checkout.order_id)).status, 'pending', 'coming back is no payment')
  stripe.customer.pay(session)
  const back = await shop.visit(checkout, '/return')
  t.equal(new URL(back.location!, `${checkout.url}/return`).href, checkout.url)
  t.match(await shop.visit(checkout), { status: 303, location: 'https://shop.example/thanks' })
  t.equal((await shop.order(ada, checkout.order_id)).status, 'paid')
})

t.test('only what Stripe has signed lately is heard, byte for byte', async (t) => {
  const { checkout, session } = await shop.begin(ada)
  const before = stripe.events.length
  stripe.customer.pay(session)
  const event = stripe.events.slice(before).find(({ type }) => type === 'checkout.session.completed')!
  const asked = stripe.asked.length
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
  t.equal(stripe.asked.length, asked, 'Stripe was not asked')
  t.equal((await shop.order(ada, checkout.order_id)).status, 'pending')
  t.same((await send(event.body, stripe.sign(event.body, { timestamp: second - 290 }))).body, {
    received: true,
  })
  t.equal((await shop.order(ada, checkout.order_id)).status, 'paid')
})

t.test('what is of no matter, or of nobody here, is heard without effect', async (t) => {
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

t.test('a bank that takes its time pays later, or not at all', async (t) => {
  const bob = await server.person()
  const paid = await shop.begin(bob)
  const failed = await shop.begin(bob)
  const before = stripe.events.length
  stripe.customer.order(paid.session)
  stripe.customer.order(failed.session)
  await shop.deliverFrom(before)
  t.match(await shop.order(bob, paid.checkout.order_id), { status: 'pending' })
  t.match((await bob.client.get(`/payments/checkout/${paid.checkout.id}`)).body, {
    status: 'open',
    payment_status: 'unpaid',
  })
  t.match(
    await shop.visit(paid.checkout),
    { status: 303, location: 'https://shop.example/thanks' },
    'the customer has done all there is to do',
  )
  stripe.customer.arrive(paid.session, true)
  stripe.customer.arrive(failed.session, false)
  await shop.deliverFrom(before)
  t.match(await shop.order(bob, paid.checkout.order_id), { status: 'paid' })
  t.match(await shop.order(bob, failed.checkout.order_id), { status: 'canceled' })
  t.match((await bob.client.get(`/payments/checkout/${failed.checkout.id}`)).body, { status: 'expired' })
  t.same(await shop.types(bob), [
    'order.created',
    'checkout.created',
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'checkout.expired',
    'order.canceled',
  ])
})

t.test('a session that ends at Stripe ends here, and the other way round', async (t) => {
  const there = await shop.begin(ada)
  const before = stripe.events.length
  stripe.calendar.expire(there.session)
  await shop.deliverFrom(before)
  t.match((await ada.client.get(`/payments/checkout/${there.checkout.id}`)).body, { status: 'expired' })
  t.equal((await shop.order(ada, there.checkout.order_id)).status, 'canceled')
  t.match(await shop.visit(there.checkout), { status: 410 })

  const here = await shop.begin(ada)
  await ada.client.post(`/payments/checkout/${here.checkout.id}/expire`)
  await waitUntil(() => here.session.status === 'expired', 'Stripe to hear of it')
  t.match(await shop.visit(here.checkout), { status: 410 })

  const unseen = await shop.checkout(ada)
  const asked = stripe.asked.length
  await ada.client.post(`/payments/checkout/${unseen.id}/expire`)
  await shop.settled()
  t.equal(stripe.asked.length, asked, 'of a session that Stripe knows nothing of it hears nothing')
})

t.test('when its time is over a session is ended at Stripe', async (t) => {
  const { checkout, session } = await shop.begin(ada, { expires_in_seconds: 1800 })
  t.ok(session.expires_at * 1000 > Date.parse(checkout.expires_at), 'which takes no time that short')
  await shop.bringForward()
  await waitUntil(() => session.status === 'expired', 'Stripe to end it')
  await waitUntil(
    async () => (await ada.client.get(`/payments/checkout/${checkout.id}`)).body.status === 'expired',
  )
  t.equal((await shop.order(ada, checkout.order_id)).status, 'canceled')
})

t.test('who pays what is over has the money back', async (t) => {
  const bob = await server.person()
  const order = (await bob.client.post('/payments/orders', { items: [{ price_id: shop.price }] })).body
  await server.stopWork()
  const { checkout, session } = await shop.begin(bob, { items: undefined, order_id: order.id })
  t.equal((await bob.client.post(`/payments/orders/${order.id}/cancel`)).status, 200)
  stripe.customer.pay(session)
  const before = stripe.events.length
  await server.work()
  await waitUntil(
    () =>
      [...stripe.refunds.values()].some(({ payment_intent: intent }) => intent === session.payment_intent),
    'the money to be given back',
  )
  await shop.deliverFrom(before)
  await shop.settled()
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
  t.match(await shop.visit(checkout), { status: 410, text: /given back/ })
  t.same(await shop.types(bob), ['order.created', 'checkout.created', 'order.canceled', 'checkout.expired'])
})

t.test('a session that is over before Stripe has made its page is ended there', async (t) => {
  const checkout = await shop.checkout(ada)
  const { asked, release } = stripe.hold(/^POST \/v1\/checkout\/sessions$/)
  const visit = shop.visit(checkout)
  await asked
  await ada.client.post(`/payments/checkout/${checkout.id}/expire`)
  release()
  t.match(await visit, { status: 303, location: checkout.url }, 'nobody sees it')
  t.match(await shop.visit(checkout), { status: 410 })
  await waitUntil(() => stripe.sessionFor(checkout.id).status === 'expired', 'Stripe to end it')
})

t.test('amounts are told in the units that Stripe takes', async (t) => {
  const add = (unit_amount: number, currency: string) =>
    server.admin.client.post('/payments/prices', { product_id: shop.product, unit_amount, currency })
  for (const [amount, currency, told] of [
    [500, 'jpy', '500'],
    [5, 'isk', '500'],
    [5, 'ugx', '500'],
    [1900, 'mga', '19'],
    [5120, 'kwd', '5120'],
    [1999, 'huf', '1999'],
  ] as const) {
    const price = (await add(amount, currency)).body.id
    const { checkout, session } = await shop.begin(ada, { items: [{ price_id: price }] })
    t.equal(
      stripe.asked.findLast(({ path }) => path === '/v1/checkout/sessions')!.params.line_items[0].price_data
        .unit_amount,
      told,
      currency,
    )
    stripe.customer.pay(session)
    await shop.visit(checkout, '/return')
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
  const { checkout, session } = await shop.begin(ada, { items: [{ price_id: dinars }] })
  stripe.customer.pay(session)
  await shop.visit(checkout, '/return')
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

t.test('what was heard is forgotten when Stripe does not tell it again', async (t) => {
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
