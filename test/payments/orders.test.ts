// Orders, checkout sessions and refunds with the sandbox gateway, and the constraints that protect the
// ledger.
import t from 'tap'
import { RolledBack } from '../../infra/errors.ts'
import { payByCard } from '../../services/payments/sandbox/checkout-state.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { startServer } from '../support/server/server.ts'
import {
  addPrice,
  advance,
  answerConfirmation,
  createCheckout,
  cards,
  eventTypesOf,
  createCatalog,
  pages,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'

/** Of the cards. */
const expiry = { month: 12, year: 2034 }
const server = await startServer(t)
const catalog = await createCatalog(server)
const ada = await server.person()
const { admin } = server
const { database } = server.services

const order = async (items: object[] = [{ price_id: catalog.price }], fields: object = {}): Promise<any> =>
  (await ada.client.post('/payments/orders', { items, ...fields })).body
const get = async (path: string): Promise<any> => (await ada.client.get(`/payments/${path}`)).body
const cancel = (id: string) => ada.client.post(`/payments/orders/${id}/cancel`)
const refund = (id: string, body: object = {}, person = admin) =>
  person.client.post(`/payments/orders/${id}/refunds`, body)
const paidOrder = async (items?: object[]): Promise<any> => {
  const { id } = await order(items)
  await payWithCard(server, (await createCheckout(ada, { order_id: id })).id, cards.succeeds)
  return await get(`orders/${id}`)
}
const attemptsOf = async (id: string): Promise<string[]> => {
  const { rows } = await database.pool.query(
    "SELECT concat_ws(' ', status::text, failure_code) AS text FROM payments WHERE order_id = $1 ORDER BY id",
    [id],
  )
  return rows.map(({ text }) => text)
}

t.afterEach(async () => {
  t.same(await ledgerViolations(database), [], 'the ledger balances')
})

t.test('a currency may be written in capital letters, and is stored in lowercase', async (t) => {
  const product = (await admin.client.post('/payments/products', { name: 'Imported' })).body.id
  const price = (currency: unknown): Promise<any> =>
    admin.client.post('/payments/prices', { product_id: product, unit_amount: 100, currency })
  const { id } = (await price('CHF')).body
  t.equal((await price('Chf')).body.currency, 'chf')
  for (const unknown of ['XYZ', 'ＣＨＦ', ' CHF', '', null, 5]) t.equal((await price(unknown)).status, 400)
  const stored = await database.pool.query('SELECT currency FROM prices WHERE id = $1', [id])
  t.same(stored.rows, [{ currency: 'chf' }])
  const { data } = await get(`prices?currency=CHF&product_id=${product}`)
  t.equal(data.length, 2)
})

t.test('an order is created, paid by a session and refunded in two parts', async (t) => {
  const created = await order([{ price_id: catalog.price, quantity: 3 }], { metadata: { cart: '7' } })
  t.match(created, {
    status: 'pending',
    project_id: null,
    subtotal_amount: 5997,
    total_amount: 5997,
    refunded_amount: 0,
    currency: 'eur',
    paid_at: null,
    checkout_id: null,
    subscription_id: null,
    metadata: { cart: '7' },
    number: /^\d{6}-\w{5}-\w{5}$/,
  })
  t.same(created.items, [
    {
      price_id: catalog.price,
      description: 'Team plan',
      quantity: 3,
      unit_amount: 1999,
      amount: 5997,
      usage: null,
    },
  ])
  const checkout = await createCheckout(ada, { order_id: created.id })
  t.match(checkout, {
    status: 'open',
    payment_status: 'unpaid',
    mode: 'payment',
    total_amount: 5997,
    order_id: created.id,
    subscription_id: null,
  })
  t.equal(
    (await ada.client.post('/payments/checkout', { order_id: created.id, ...pages })).body.error.details
      .constraint,
    'open_checkout',
  )
  await payWithCard(server, checkout.id, cards.declined)
  await payWithCard(server, checkout.id, cards.needsConfirmation)
  await answerConfirmation(server, checkout.id, 'reject')
  t.equal((await get(`orders/${created.id}`)).status, 'pending')
  await payWithCard(server, checkout.id, cards.succeeds)
  const paid = await get(`orders/${created.id}`)
  t.match(paid, { status: 'paid', checkout_id: checkout.id })
  t.ok(paid.paid_at >= created.created_at && paid.updated_at > created.updated_at)
  t.match(await get(`checkout/${checkout.id}`), { status: 'complete', payment_status: 'paid' })
  t.same(await attemptsOf(created.id), ['failed card_declined', 'failed not_confirmed', 'succeeded'])

  const first = await refund(created.id, { amount: 1000, reason: 'One was broken' })
  t.match(first, {
    status: 201,
    body: {
      status: 'succeeded',
      amount: 1000,
      currency: 'eur',
      order_id: created.id,
      reason: 'One was broken',
    },
  })
  t.match(await get(`orders/${created.id}`), {
    status: 'partially_refunded',
    refunded_amount: 1000,
    total_amount: 5997,
  })
  t.match(await refund(created.id, { amount: 4998 }), {
    status: 400,
    body: { error: { message: /4997/, details: { field: 'amount', constraint: 'maximum' } } },
  })
  t.equal((await refund(created.id)).body.amount, 4997)
  t.match(await get(`orders/${created.id}`), { status: 'refunded', refunded_amount: 5997 })
  t.match(await refund(created.id), {
    status: 409,
    body: { error: { code: 'INVALID_STATE', details: { constraint: 'refunded' } } },
  })
  t.same(
    (await get(`orders/${created.id}/refunds?order=asc`)).data.map(({ amount }: any) => amount),
    [1000, 4997],
  )
  const ids = (await get(`orders/${created.id}/refunds?order=asc`)).data.map(({ id }: any) => id)
  t.same(await eventTypesOf(server, created.id, checkout.id, ...ids), [
    'order.created',
    'checkout.created',
    'order.payment_failed',
    'order.payment_failed',
    'order.paid',
    'checkout.completed',
    'refund.created',
    'order.refunded',
    'refund.created',
    'order.refunded',
  ])
})

t.test('the total of an order is computed from its prices', async (t) => {
  const highest = await addPrice(admin.client, catalog.product, { unit_amount: 999_999_999 })
  const cent = await addPrice(admin.client, catalog.product, { unit_amount: 1 })
  const mixed = await order([
    { price_id: catalog.price, quantity: 2 },
    { price_id: cent, quantity: 1_000_000 },
    { price_id: catalog.price },
  ])
  t.same(
    mixed.items.map(({ amount }: any) => amount),
    [3998, 1_000_000, 1999],
  )
  t.equal(mixed.total_amount, 1_005_997)
  t.equal(
    (
      await order([
        { price_id: highest, quantity: 1000 },
        { price_id: cent, quantity: 999 },
      ])
    ).total_amount,
    999_999_999_999,
    'the maximum total',
  )
  const name = (await admin.client.put(`/payments/products/${catalog.product}`, { name: 'Renamed plan' }))
    .body
  t.equal(
    (await get(`orders/${mixed.id}`)).items[0].description,
    'Team plan',
    'an order keeps the product name',
  )
  t.ok(name.updated_at > name.created_at)
  await admin.client.put(`/payments/products/${catalog.product}`, { name: 'Team plan' })
})

t.test('an unpaid order can be canceled with its session', async (t) => {
  const created = await order()
  const checkout = await createCheckout(ada, { order_id: created.id })
  await payWithCard(server, checkout.id, cards.needsConfirmation)
  t.match(await cancel(created.id), { status: 200, body: { status: 'canceled', paid_at: null } })
  t.equal((await get(`checkout/${checkout.id}`)).status, 'expired')
  t.same(await attemptsOf(created.id), ['failed expired'])
  t.same(await eventTypesOf(server, created.id, checkout.id), [
    'order.created',
    'checkout.created',
    'order.canceled',
    'checkout.expired',
  ])
  const events = await eventTypesOf(server, created.id, checkout.id)
  t.match(await cancel(created.id), { status: 200, body: { status: 'canceled' } }, 'again')
  t.match(await ada.client.post(`/payments/checkout/${checkout.id}/expire`), {
    status: 200,
    body: { status: 'expired' },
  })
  t.same(await eventTypesOf(server, created.id, checkout.id), events, 'nothing changes')
  const refused: Array<[string, () => Promise<any>, string]> = [
    [
      'pay the canceled order',
      () => ada.client.post('/payments/checkout', { order_id: created.id, ...pages }),
      'canceled',
    ],
    ['refund the canceled order', () => refund(created.id), 'canceled'],
  ]
  const paid = await paidOrder()
  refused.push(
    ['cancel a paid order', () => cancel(paid.id), 'paid'],
    [
      'pay an order twice',
      () => ada.client.post('/payments/checkout', { order_id: paid.id, ...pages }),
      'paid',
    ],
    [
      'expire a complete session',
      () => ada.client.post(`/payments/checkout/${paid.checkout_id}/expire`),
      'complete',
    ],
    ['refund a pending order', async () => await refund((await order()).id), 'pending'],
  )
  for (const [what, ask, state] of refused)
    t.match(
      await ask(),
      {
        status: 409,
        body: { error: { code: 'INVALID_STATE', details: { field: 'status', constraint: state } } },
      },
      what,
    )
  t.equal((await payWithCard(server, checkout.id, cards.succeeds)).status, 410)
  t.equal((await get(`orders/${created.id}`)).status, 'canceled')
})

t.test('a late payment is refunded', async (t) => {
  const canceled = await order()
  const checkout = await createCheckout(ada, { order_id: canceled.id })
  await payWithCard(server, checkout.id, cards.slow)
  await payWithCard(server, checkout.id, cards.succeeds)
  t.same(await attemptsOf(canceled.id), ['processing'], 'no second payment while one is processing')
  await cancel(canceled.id)
  await advance(server, { by_seconds: 5 })
  t.same(await attemptsOf(canceled.id), ['returned'])
  t.equal((await get(`orders/${canceled.id}`)).status, 'canceled')

  const elsewhere = await order()
  const first = await createCheckout(ada, { order_id: elsewhere.id })
  await payWithCard(server, first.id, cards.slow)
  t.equal((await ada.client.post(`/payments/checkout/${first.id}/expire`)).body.status, 'expired')
  t.equal(
    (await get(`orders/${elsewhere.id}`)).status,
    'pending',
    'an order that existed before its session stays pending',
  )
  const second = await createCheckout(ada, { order_id: elsewhere.id })
  await payWithCard(server, second.id, cards.succeeds)
  await advance(server, { by_seconds: 5 })
  t.same(await attemptsOf(elsewhere.id), ['returned', 'succeeded'])
  t.match(await get(`orders/${elsewhere.id}`), { status: 'paid', checkout_id: second.id })
})

t.test('an archived price cannot be ordered, and a price can be archived during orders', async (t) => {
  const price = await addPrice(admin.client, catalog.product, { unit_amount: 5 })
  let ordering = true
  let sold = 0
  const buyers = Array.from({ length: 4 }, async () => {
    while (ordering)
      if ((await ada.client.post('/payments/orders', { items: [{ price_id: price }] })).status === 201) sold++
  })
  t.equal(
    (
      await admin.client.put(`/payments/products/${catalog.product}`, {
        description: 'Changed during orders',
      })
    ).status,
    200,
  )
  t.equal((await admin.client.put(`/payments/prices/${price}`, { active: false })).status, 200)
  ordering = false
  await Promise.all(buyers)
  t.comment(`${sold} orders during the change`)
  const refused = {
    status: 400,
    body: { error: { details: { field: 'items[0].price_id', constraint: 'active' } } },
  }
  t.match(await ada.client.post('/payments/orders', { items: [{ price_id: price }] }), refused)
  t.match(await ada.client.post('/payments/checkout', { items: [{ price_id: price }], ...pages }), refused)
})

t.test('an API key for some projects refunds nothing', async (t) => {
  const project = (await ada.client.post('/projects', { name: 'shop' })).body.id
  const created = await order(undefined, { project_id: project })
  await payWithCard(server, (await createCheckout(ada, { order_id: created.id })).id, cards.succeeds)
  const here = await server.person({ role: 'admin', projectIds: [project] })
  const elsewhere = await server.person({ role: 'admin', projectIds: ['prj_01jd6y8m5qe8btc4y5w1r0n3fz'] })
  t.match(await refund(created.id, {}, elsewhere), {
    status: 403,
    body: { error: { details: { constraint: 'project_ids' } } },
  })
  for (const id of [created.id, (await paidOrder()).id])
    t.match(await refund(id, {}, here), {
      status: 403,
      body: { error: { details: { constraint: 'project_ids' } } },
    })
})

t.test('a test card cannot pay a session of another gateway', async (t) => {
  const created = await order()
  const { id } = await createCheckout(ada, { order_id: created.id })
  await database.pool.query("UPDATE checkouts SET gateway = 'stripe' WHERE id = $1", [id])
  await payByCard(database, server.services, id, { number: cards.succeeds, expiry })
  t.same(await attemptsOf(created.id), [])
  t.equal((await get(`orders/${created.id}`)).status, 'pending')
  await database.pool.query("UPDATE checkouts SET gateway = 'sandbox' WHERE id = $1", [id])
})

t.test('database constraints reject invalid changes', async (t) => {
  const paid = await paidOrder()
  const pending = await order()
  const { id: open } = await createCheckout(ada, { order_id: pending.id })
  const { id: subscription } = await subscribe(server, ada, catalog.monthly)
  const refundId = (await refund(paid.id, { amount: 1 })).body.id
  const refused: Array<[string, string, string]> = [
    [
      `UPDATE orders SET status = 'pending', paid_at = NULL, refunded_amount = 0 WHERE id = '${paid.id}'`,
      'orders_transition',
      'a paid order cannot become pending',
    ],
    [
      `UPDATE orders SET status = 'canceled' WHERE id = '${paid.id}'`,
      'orders_transition',
      'a paid order cannot be canceled',
    ],
    [
      `UPDATE orders SET status = 'refunded', paid_at = now(), refunded_amount = total_amount
        WHERE id = '${pending.id}'`,
      'orders_transition',
      'an unpaid order cannot be refunded',
    ],
    [
      `UPDATE orders SET status = 'paid' WHERE id = '${pending.id}'`,
      'orders_paid',
      'a paid order has paid_at',
    ],
    [
      `UPDATE orders SET total_amount = 1 WHERE id = '${pending.id}'`,
      'orders_fixed',
      'the amount of an order is immutable',
    ],
    [
      `UPDATE orders SET refunding_amount = total_amount WHERE id = '${paid.id}'`,
      'orders_amounts',
      'refunds cannot exceed the total',
    ],
    [
      `UPDATE order_items SET quantity = 2 WHERE order_id = '${pending.id}'`,
      'order_items_fixed',
      'order items are immutable',
    ],
    [
      `UPDATE prices SET unit_amount = 1 WHERE id = '${catalog.price}'`,
      'prices_fixed',
      'prices are immutable',
    ],
    [
      `UPDATE payments SET amount = 1 WHERE order_id = '${paid.id}'`,
      'payments_fixed',
      'the amount of a payment is immutable',
    ],
    [
      `UPDATE payments SET status = 'failed' WHERE order_id = '${paid.id}'`,
      'payments_transition',
      'a succeeded payment cannot fail',
    ],
    [
      `INSERT INTO payments SELECT 'pay_x', order_id, NULL, status, amount,
        currency, gateway, NULL, card, NULL, NULL, created_at, updated_at FROM payments
        WHERE order_id = '${paid.id}'`,
      'payments_succeeded_idx',
      'an order has one succeeded payment',
    ],
    [
      `UPDATE refunds SET amount = 2 WHERE id = '${refundId}'`,
      'refunds_fixed',
      'the amount of a refund is immutable',
    ],
    [
      `UPDATE refunds SET status = 'failed' WHERE id = '${refundId}'`,
      'refunds_transition',
      'a succeeded refund cannot fail',
    ],
    [
      `UPDATE checkouts SET status = 'open' WHERE id = '${paid.checkout_id}'`,
      'checkouts_transition',
      'a complete session cannot reopen',
    ],
    [
      `INSERT INTO checkouts SELECT (jsonb_populate_record(c, '{"id":"chk_x"}')).* FROM checkouts c
        WHERE id = '${open}'`,
      'checkouts_open_idx',
      'an order has one open session',
    ],
    [
      `UPDATE subscriptions SET status = 'incomplete' WHERE id = '${subscription}'`,
      'subscriptions_transition',
      'an active subscription cannot become incomplete',
    ],
    [
      `INSERT INTO orders SELECT (jsonb_populate_record(o, '{"id":"ord_x","number":"x"}')).* FROM orders o
        WHERE subscription_id = '${subscription}'`,
      'orders_subscription_id_period_key',
      'a period has one order',
    ],
  ]
  for (const [text, constraint, what] of refused)
    t.equal(
      await database.pool.query(text).then(
        () => null,
        (error) => error.constraint ?? error.message,
      ),
      constraint,
      what,
    )
})

t.test('each request runs a known number of statements', async (t) => {
  const count = async (work: () => Promise<unknown>): Promise<string[]> => {
    server.statements.length = 0
    await work()
    return server.statements
      .filter((text) => !/last_used_at|^SELECT 1$|LISTEN|number_events|pg_notify|api_keys/.test(text))
      .map((text) => text.trim().replace(/\s+/g, ' ').slice(0, 80))
  }
  const created = await order()
  const other = await order()
  const { id: session } = await createCheckout(ada, { order_id: created.id })
  const started = await subscribe(server, ada, catalog.monthly, { card: null })
  const project = (await ada.client.post('/projects', { name: 'shop' })).body.id
  const costs: Array<[string, number, () => Promise<unknown>]> = [
    ['an order', 6, () => order()],
    [
      'an order of 100 items in a project',
      8,
      () =>
        order(
          Array.from({ length: 100 }, () => ({ price_id: catalog.price })),
          { project_id: project },
        ),
    ],
    ['reading an order', 1, () => get(`orders/${created.id}`)],
    ['a list of orders', 1, () => get('orders?limit=100')],
    ['reading a session', 1, () => get(`checkout/${session}`)],
    ['a session with a new order', 9, () => createCheckout(ada, { items: [{ price_id: catalog.price }] })],
    [
      'a session with a new subscription',
      11,
      () => createCheckout(ada, { mode: 'subscription', items: [{ price_id: catalog.monthly }] }),
    ],
    ['a session of an existing order', 9, () => createCheckout(ada, { order_id: other.id })],
    [
      'paying an order',
      18,
      () => payByCard(database, server.services, session, { number: cards.succeeds, expiry }),
    ],
    [
      'paying the first order of a subscription',
      24,
      () => payByCard(database, server.services, started.session, { number: cards.succeeds, expiry }),
    ],
    ['a refund', 16, () => refund(created.id, { amount: 1 })],
    ['reading a subscription', 1, () => get(`subscriptions/${started.id}`)],
    [
      'canceling a subscription at period end',
      6,
      () => ada.client.post(`/payments/subscriptions/${started.id}/cancel`),
    ],
    [
      'canceling a subscription immediately',
      10,
      () => ada.client.post(`/payments/subscriptions/${started.id}/cancel`, { at_period_end: false }),
    ],
  ]
  for (const [what, statements, work] of costs) {
    const sent = await count(work)
    t.equal(sent.length, statements, `${what}: ${sent.join('\n')}`)
  }
})

t.test('the ledger check finds every kind of damage', async (t) => {
  const paid = await paidOrder()
  await refund(paid.id, { amount: 5 })
  const pending = await order()
  const { id: open } = await createCheckout(ada, { order_id: pending.id })
  const { id: subscription } = await subscribe(server, ada, catalog.monthly)
  const damage: Array<[string, RegExp]> = [
    [
      `UPDATE order_items SET quantity = 2, amount = 3998 WHERE order_id = '${pending.id}'`,
      /total is not the sum/,
    ],
    [`DELETE FROM order_items WHERE order_id = '${pending.id}'`, /total is not the sum/],
    [
      `UPDATE payments SET status = 'failed' WHERE order_id = '${paid.id}'`,
      /without exactly one succeeded payment/,
    ],
    [`UPDATE payments SET amount = 1 WHERE order_id = '${paid.id}'`, /another amount than its order/],
    [
      `INSERT INTO payments (id, order_id, status, amount, currency, gateway, created_at, updated_at)
        VALUES ('pay_x', '${pending.id}', 'succeeded', 1999, 'eur', 'sandbox', now(), now())`,
      /unpaid order with a succeeded payment/,
    ],
    [`UPDATE orders SET refunded_amount = 6 WHERE id = '${paid.id}'`, /sum of its succeeded refunds/],
    [`UPDATE orders SET refunding_amount = 6 WHERE id = '${paid.id}'`, /sum of its pending refunds/],
    [
      `UPDATE checkouts SET status = 'complete' WHERE id = '${open}'`,
      /complete session without a succeeded payment/,
    ],
    [
      `UPDATE orders SET status = 'canceled' WHERE id = '${pending.id}'`,
      /open session of an order that is not pending/,
    ],
    [`UPDATE checkouts SET total_amount = 1 WHERE id = '${open}'`, /session with another amount/],
    [`UPDATE subscriptions SET due_at = NULL WHERE id = '${subscription}'`, /never renewed/],
    [
      `UPDATE subscriptions SET period_end = period_end + interval '1 ms' WHERE id = '${subscription}'`,
      /not counted from its first/,
    ],
    [
      `UPDATE subscriptions SET status = 'past_due'
      WHERE id = '${subscription}'`,
      /contradicts its latest order/,
    ],
    [
      `DELETE FROM events WHERE type = 'order.paid' AND data->'object'->>'id' = '${paid.id}'`,
      /order without exactly the events/,
    ],
    [
      `DELETE FROM events WHERE type LIKE 'checkout.%' AND data->'object'->>'id' = '${open}'`,
      /session without exactly the events/,
    ],
    [
      `DELETE FROM events WHERE data->'object'->>'id' = '${subscription}'`,
      /subscription without exactly the events/,
    ],
    [
      `INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, data, actor, created_at)
        SELECT 'evt_x', type, project_id, user_id, scope, role, request_id, data, actor, now()
        FROM events WHERE type = 'order.refunded'
        AND data->'object'->>'id' = '${paid.id}'`,
      /order without exactly the events/,
    ],
    [
      `UPDATE events SET data = jsonb_set(data::jsonb, '{previous_attributes}', '{}')::json
        WHERE type = 'order.paid' AND data->'object'->>'id' = '${paid.id}'`,
      /event without a change/,
    ],
    [
      `DELETE FROM events WHERE type = 'order.refunded' AND data->'object'->>'id' = '${paid.id}'`,
      /differs from the object of its last event/,
    ],
  ]
  for (const [text, sentence] of damage) {
    const damaged = database.transaction(async (tx) => {
      for (const table of ['orders', 'order_items', 'payments', 'checkouts', 'subscriptions'])
        await tx.sql({ text: `ALTER TABLE ${table} DISABLE TRIGGER USER` }, [])
      await tx.sql({ text }, [])
      t.match((await ledgerViolations(tx)).join('\n'), sentence, text)
      throw new RolledBack()
    })
    await damaged.catch((error) => {
      if (!(error instanceof RolledBack)) throw error
    })
  }
})
