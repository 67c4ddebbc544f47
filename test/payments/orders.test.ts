// Orders, checkout sessions and refunds over the sandbox, from the first call to the last state, and what keeps their books.
import t from 'tap'
import { RolledBack } from '../../infra/errors.ts'
import { payByCard } from '../../services/payments/sandbox/checkout-state.ts'
import { ledgerViolations } from '../support/ledger-invariants.ts'
import { startServer } from '../support/server.ts'
import {
  addPrice,
  advance,
  answerConfirmation,
  beginCheckout,
  cards,
  eventsAbout,
  createCatalog,
  pages,
  payBy,
  subscribe,
} from '../support/catalog-fixtures.ts'

const server = await startServer(t)
const shop = await createCatalog(server)
const ada = await server.person()
const { admin } = server
const { database } = server.services

const order = async (items: object[] = [{ price_id: shop.price }], fields: object = {}): Promise<any> =>
  (await ada.client.post('/payments/orders', { items, ...fields })).body
const get = async (path: string): Promise<any> => (await ada.client.get(`/payments/${path}`)).body
const cancel = (id: string) => ada.client.post(`/payments/orders/${id}/cancel`)
const refund = (id: string, body: object = {}, person = admin) =>
  person.client.post(`/payments/orders/${id}/refunds`, body)
const paidOrder = async (items?: object[]): Promise<any> => {
  const { id } = await order(items)
  await payBy(server, (await beginCheckout(ada, { order_id: id })).id, cards.pays)
  return await get(`orders/${id}`)
}
const triesOf = async (id: string): Promise<string[]> => {
  const { rows } = await database.pool.query(
    "SELECT concat_ws(' ', status::text, failure_code) AS text FROM payments WHERE order_id = $1 ORDER BY id",
    [id],
  )
  return rows.map(({ text }) => text)
}

t.afterEach(async () => {
  t.same(await ledgerViolations(database), [], 'the ledger balances')
})

t.test('an order is made, paid by a session, and given back in two parts', async (t) => {
  const made = await order([{ price_id: shop.price, quantity: 3 }], { metadata: { cart: '7' } })
  t.match(made, {
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
  t.same(made.items, [
    { price_id: shop.price, description: 'Team plan', quantity: 3, unit_amount: 1999, amount: 5997 },
  ])
  const checkout = await beginCheckout(ada, { order_id: made.id })
  t.match(checkout, {
    status: 'open',
    payment_status: 'unpaid',
    mode: 'payment',
    amount_total: 5997,
    order_id: made.id,
    subscription_id: null,
  })
  t.equal(
    (await ada.client.post('/payments/checkout', { order_id: made.id, ...pages })).body.error.details
      .constraint,
    'open_checkout',
  )
  await payBy(server, checkout.id, cards.declined)
  await payBy(server, checkout.id, cards.asks)
  await answerConfirmation(server, checkout.id, 'reject')
  t.equal((await get(`orders/${made.id}`)).status, 'pending')
  await payBy(server, checkout.id, cards.pays)
  const paid = await get(`orders/${made.id}`)
  t.match(paid, { status: 'paid', checkout_id: checkout.id })
  t.ok(paid.paid_at >= made.created_at && paid.updated_at > made.updated_at)
  t.match(await get(`checkout/${checkout.id}`), { status: 'complete', payment_status: 'paid' })
  t.same(await triesOf(made.id), ['failed card_declined', 'failed not_confirmed', 'succeeded'])

  const first = await refund(made.id, { amount: 1000, reason: 'One was broken' })
  t.match(first, {
    status: 201,
    body: { status: 'succeeded', amount: 1000, currency: 'eur', order_id: made.id, reason: 'One was broken' },
  })
  t.match(await get(`orders/${made.id}`), {
    status: 'partially_refunded',
    refunded_amount: 1000,
    total_amount: 5997,
  })
  t.match(await refund(made.id, { amount: 4998 }), {
    status: 400,
    body: { error: { message: /4997/, details: { field: 'amount', constraint: 'maximum' } } },
  })
  t.equal((await refund(made.id)).body.amount, 4997)
  t.match(await get(`orders/${made.id}`), { status: 'refunded', refunded_amount: 5997 })
  t.match(await refund(made.id), {
    status: 409,
    body: { error: { code: 'INVALID_STATE', details: { constraint: 'refunded' } } },
  })
  t.same(
    (await get(`orders/${made.id}/refunds?order=asc`)).data.map(({ amount }: any) => amount),
    [1000, 4997],
  )
  const ids = (await get(`orders/${made.id}/refunds?order=asc`)).data.map(({ id }: any) => id)
  t.same(await eventsAbout(server, made.id, checkout.id, ...ids), [
    'order.created',
    'checkout.created',
    'order.paid',
    'checkout.completed',
    'refund.created',
    'order.refunded',
    'refund.created',
    'order.refunded',
  ])
})

t.test('what an order comes to is computed from its prices', async (t) => {
  const most = await addPrice(admin.client, shop.product, { unit_amount: 999_999_999 })
  const cent = await addPrice(admin.client, shop.product, { unit_amount: 1 })
  const mixed = await order([
    { price_id: shop.price, quantity: 2 },
    { price_id: cent, quantity: 1_000_000 },
    { price_id: shop.price },
  ])
  t.same(
    mixed.items.map(({ amount }: any) => amount),
    [3998, 1_000_000, 1999],
  )
  t.equal(mixed.total_amount, 1_005_997)
  t.equal(
    (
      await order([
        { price_id: most, quantity: 1000 },
        { price_id: cent, quantity: 999 },
      ])
    ).total_amount,
    999_999_999_999,
    'the most that there may be',
  )
  const name = (await admin.client.put(`/payments/products/${shop.product}`, { name: 'Renamed plan' })).body
  t.equal(
    (await get(`orders/${mixed.id}`)).items[0].description,
    'Team plan',
    'what is ordered keeps its name',
  )
  t.ok(name.updated_at > name.created_at)
  await admin.client.put(`/payments/products/${shop.product}`, { name: 'Team plan' })
})

t.test('an order that is not paid can be cancelled, with its session', async (t) => {
  const made = await order()
  const checkout = await beginCheckout(ada, { order_id: made.id })
  await payBy(server, checkout.id, cards.asks)
  t.match(await cancel(made.id), { status: 200, body: { status: 'canceled', paid_at: null } })
  t.equal((await get(`checkout/${checkout.id}`)).status, 'expired')
  t.same(await triesOf(made.id), ['failed expired'])
  t.same(await eventsAbout(server, made.id, checkout.id), [
    'order.created',
    'checkout.created',
    'order.canceled',
    'checkout.expired',
  ])
  const refused: Array<[string, () => Promise<any>, string]> = [
    ['cancel it again', () => cancel(made.id), 'canceled'],
    ['pay it', () => ada.client.post('/payments/checkout', { order_id: made.id, ...pages }), 'canceled'],
    ['give it back', () => refund(made.id), 'canceled'],
    ['expire its session', () => ada.client.post(`/payments/checkout/${checkout.id}/expire`), 'expired'],
  ]
  const paid = await paidOrder()
  refused.push(
    ['cancel one that is paid', () => cancel(paid.id), 'paid'],
    ['pay it twice', () => ada.client.post('/payments/checkout', { order_id: paid.id, ...pages }), 'paid'],
    [
      'expire a session by which somebody paid',
      () => ada.client.post(`/payments/checkout/${paid.checkout_id}/expire`),
      'complete',
    ],
    ['give back what is pending', async () => await refund((await order()).id), 'pending'],
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
  t.equal((await payBy(server, checkout.id, cards.pays)).status, 410)
  t.equal((await get(`orders/${made.id}`)).status, 'canceled')
})

t.test('a payment that comes too late is given back', async (t) => {
  const canceled = await order()
  const checkout = await beginCheckout(ada, { order_id: canceled.id })
  await payBy(server, checkout.id, cards.slow)
  await payBy(server, checkout.id, cards.pays)
  t.same(await triesOf(canceled.id), ['processing'], 'while one is under way there is no other')
  await cancel(canceled.id)
  await advance(server, { seconds: 5 })
  t.same(await triesOf(canceled.id), ['returned'])
  t.equal((await get(`orders/${canceled.id}`)).status, 'canceled')

  const elsewhere = await order()
  const first = await beginCheckout(ada, { order_id: elsewhere.id })
  await payBy(server, first.id, cards.slow)
  t.equal((await ada.client.post(`/payments/checkout/${first.id}/expire`)).body.status, 'expired')
  t.equal(
    (await get(`orders/${elsewhere.id}`)).status,
    'pending',
    'an order that was there before its session stays',
  )
  const second = await beginCheckout(ada, { order_id: elsewhere.id })
  await payBy(server, second.id, cards.pays)
  await advance(server, { seconds: 5 })
  t.same(await triesOf(elsewhere.id), ['returned', 'succeeded'])
  t.match(await get(`orders/${elsewhere.id}`), { status: 'paid', checkout_id: second.id })
})

t.test('what is archived is not sold, and can be archived while it is', async (t) => {
  const price = await addPrice(admin.client, shop.product, { unit_amount: 5 })
  let selling = true
  let sold = 0
  const buyers = Array.from({ length: 4 }, async () => {
    while (selling)
      if ((await ada.client.post('/payments/orders', { items: [{ price_id: price }] })).status === 201) sold++
  })
  t.equal(
    (
      await admin.client.put(`/payments/products/${shop.product}`, {
        description: 'Sold while it is changed',
      })
    ).status,
    200,
  )
  t.equal((await admin.client.put(`/payments/prices/${price}`, { active: false })).status, 200)
  selling = false
  await Promise.all(buyers)
  t.comment(`${sold} sold meanwhile`)
  const refused = {
    status: 400,
    body: { error: { details: { field: 'items[0].price_id', constraint: 'active' } } },
  }
  t.match(await ada.client.post('/payments/orders', { items: [{ price_id: price }] }), refused)
  t.match(await ada.client.post('/payments/checkout', { items: [{ price_id: price }], ...pages }), refused)
})

t.test('a key for some projects gives back what was paid in these', async (t) => {
  const project = (await ada.client.post('/projects', { name: 'shop' })).body.id
  const made = await order(undefined, { project_id: project })
  await payBy(server, (await beginCheckout(ada, { order_id: made.id })).id, cards.pays)
  const here = await server.person({ role: 'admin', projectIds: [project] })
  const elsewhere = await server.person({ role: 'admin', projectIds: ['prj_01jd6y8m5qe8btc4y5w1r0n3fz'] })
  t.match(await refund(made.id, {}, elsewhere), {
    status: 403,
    body: { error: { details: { constraint: 'project_ids' } } },
  })
  t.match(await refund((await paidOrder()).id, {}, here), {
    status: 403,
    body: { error: { details: { constraint: 'project_ids' } } },
  })
  t.equal((await refund(made.id, {}, here)).status, 201)
})

t.test('a session of another gateway is not paid by a test card', async (t) => {
  const made = await order()
  const { id } = await beginCheckout(ada, { order_id: made.id })
  await database.pool.query("UPDATE checkouts SET gateway = 'stripe' WHERE id = $1", [id])
  await payByCard(database, server.services, id, cards.pays)
  t.same(await triesOf(made.id), [])
  t.equal((await get(`orders/${made.id}`)).status, 'pending')
  await database.pool.query("UPDATE checkouts SET gateway = 'sandbox' WHERE id = $1", [id])
})

t.test('the database itself refuses what must never be', async (t) => {
  const paid = await paidOrder()
  const pending = await order()
  const { id: open } = await beginCheckout(ada, { order_id: pending.id })
  const { id: subscription } = await subscribe(server, ada, shop.monthly)
  const given = (await refund(paid.id, { amount: 1 })).body.id
  const refused: Array<[string, string, string]> = [
    [
      `UPDATE orders SET status = 'pending', paid_at = NULL, refunded_amount = 0 WHERE id = '${paid.id}'`,
      'orders_transition',
      'what is paid is not pending again',
    ],
    [
      `UPDATE orders SET status = 'canceled' WHERE id = '${paid.id}'`,
      'orders_transition',
      'what is paid is not cancelled',
    ],
    [
      `UPDATE orders SET status = 'refunded', paid_at = now(), refunded_amount = total_amount WHERE id = '${pending.id}'`,
      'orders_transition',
      'what is not paid is not given back',
    ],
    [
      `UPDATE orders SET status = 'paid' WHERE id = '${pending.id}'`,
      'orders_paid',
      'what is paid was paid at some time',
    ],
    [
      `UPDATE orders SET total_amount = 1 WHERE id = '${pending.id}'`,
      'orders_fixed',
      'no order changes its amount',
    ],
    [
      `UPDATE orders SET refunding_amount = total_amount WHERE id = '${paid.id}'`,
      'orders_amounts',
      'no more is given back than was paid',
    ],
    [
      `UPDATE order_items SET quantity = 2 WHERE order_id = '${pending.id}'`,
      'order_items_fixed',
      'no item changes',
    ],
    [`UPDATE prices SET unit_amount = 1 WHERE id = '${shop.price}'`, 'prices_fixed', 'no price changes'],
    [
      `UPDATE payments SET amount = 1 WHERE order_id = '${paid.id}'`,
      'payments_fixed',
      'no payment changes its amount',
    ],
    [
      `UPDATE payments SET status = 'failed' WHERE order_id = '${paid.id}'`,
      'payments_transition',
      'no payment fails that has succeeded',
    ],
    [
      `INSERT INTO payments SELECT 'pay_x', order_id, NULL, status, amount, currency, gateway, NULL, card, NULL, NULL, created_at, updated_at FROM payments WHERE order_id = '${paid.id}'`,
      'payments_succeeded_idx',
      'no order is paid twice',
    ],
    [`UPDATE refunds SET amount = 2 WHERE id = '${given}'`, 'refunds_fixed', 'no refund changes its amount'],
    [
      `UPDATE refunds SET status = 'failed' WHERE id = '${given}'`,
      'refunds_transition',
      'no refund fails that has succeeded',
    ],
    [
      `UPDATE checkouts SET status = 'open' WHERE id = '${paid.checkout_id}'`,
      'checkouts_transition',
      'no session opens again',
    ],
    [
      `INSERT INTO checkouts SELECT (jsonb_populate_record(c, '{"id":"chk_x"}')).* FROM checkouts c WHERE id = '${open}'`,
      'checkouts_open_idx',
      'no order has two open sessions',
    ],
    [
      `UPDATE subscriptions SET status = 'incomplete' WHERE id = '${subscription}'`,
      'subscriptions_transition',
      'no subscription begins again',
    ],
    [
      `INSERT INTO orders SELECT (jsonb_populate_record(o, '{"id":"ord_x","number":"x"}')).* FROM orders o WHERE subscription_id = '${subscription}'`,
      'orders_subscription_id_period_key',
      'no period is ordered twice',
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

t.test('each request sends no more statements than its work needs', async (t) => {
  const count = async (work: () => Promise<unknown>): Promise<string[]> => {
    server.statements.length = 0
    await work()
    return server.statements
      .filter((text) => !/last_used_at|^SELECT 1$|LISTEN|number_events|api_keys/.test(text))
      .map((text) => text.trim().replace(/\s+/g, ' ').slice(0, 80))
  }
  const made = await order()
  const other = await order()
  const { id: session } = await beginCheckout(ada, { order_id: made.id })
  const begun = await subscribe(server, ada, shop.monthly, { card: null })
  const project = (await ada.client.post('/projects', { name: 'shop' })).body.id
  const costs: Array<[string, number, () => Promise<unknown>]> = [
    ['an order', 5, () => order()],
    [
      'an order of 100 items in a project',
      6,
      () =>
        order(
          Array.from({ length: 100 }, () => ({ price_id: shop.price })),
          { project_id: project },
        ),
    ],
    ['reading an order', 1, () => get(`orders/${made.id}`)],
    ['a list of orders', 1, () => get('orders?limit=100')],
    ['reading a session', 1, () => get(`checkout/${session}`)],
    ['a session of items', 8, () => beginCheckout(ada, { items: [{ price_id: shop.price }] })],
    [
      'a session of a subscription',
      11,
      () => beginCheckout(ada, { mode: 'subscription', items: [{ price_id: shop.monthly }] }),
    ],
    ['a session of an order', 9, () => beginCheckout(ada, { order_id: other.id })],
    ['paying an order', 14, () => payByCard(database, server.services, session, cards.pays)],
    [
      'paying the first order of a subscription',
      16,
      () => payByCard(database, server.services, begun.session, cards.pays),
    ],
    ['a refund', 11, () => refund(made.id, { amount: 1 })],
    ['reading a subscription', 1, () => get(`subscriptions/${begun.id}`)],
    ['cancelling a subscription', 6, () => ada.client.post(`/payments/subscriptions/${begun.id}/cancel`)],
    [
      'cancelling it at once',
      9,
      () => ada.client.post(`/payments/subscriptions/${begun.id}/cancel`, { at_period_end: false }),
    ],
  ]
  for (const [what, statements, work] of costs) {
    const sent = await count(work)
    t.equal(sent.length, statements, `${what}: ${sent.join('\n')}`)
  }
})

t.test('the ledger finds every kind of damage', async (t) => {
  const paid = await paidOrder()
  await refund(paid.id, { amount: 5 })
  const pending = await order()
  const { id: open } = await beginCheckout(ada, { order_id: pending.id })
  const { id: subscription } = await subscribe(server, ada, shop.monthly)
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
      `INSERT INTO payments (id, order_id, status, amount, currency, gateway, created_at, updated_at) VALUES ('pay_x', '${pending.id}', 'succeeded', 1999, 'eur', 'sandbox', now(), now())`,
      /succeeded payment that is not paid/,
    ],
    [`UPDATE orders SET refunded_amount = 6 WHERE id = '${paid.id}'`, /sum of its succeeded refunds/],
    [`UPDATE orders SET refunding_amount = 6 WHERE id = '${paid.id}'`, /sum of its pending refunds/],
    [
      `UPDATE checkouts SET status = 'complete' WHERE id = '${open}'`,
      /complete session by which nobody paid/,
    ],
    [
      `UPDATE orders SET status = 'canceled' WHERE id = '${pending.id}'`,
      /open session of an order that is not pending/,
    ],
    [`UPDATE checkouts SET amount_total = 1 WHERE id = '${open}'`, /session of another amount/],
    [`UPDATE subscriptions SET due_at = NULL WHERE id = '${subscription}'`, /never renewed/],
    [
      `UPDATE subscriptions SET period_end = period_end + interval '1 ms' WHERE id = '${subscription}'`,
      /not counted from its first/,
    ],
    [`UPDATE subscriptions SET status = 'past_due' WHERE id = '${subscription}'`, /latest order contradicts/],
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
      `INSERT INTO events SELECT 'evt_x', nextval('events_position_seq'), NULL, type, project_id, user_id, scope, role, request_id, data, now() FROM events WHERE type = 'order.refunded' AND data->'object'->>'id' = '${paid.id}'`,
      /order without exactly the events/,
    ],
    [
      `UPDATE events SET data = jsonb_set(data::jsonb, '{previous_attributes}', '{}')::json WHERE type = 'order.paid' AND data->'object'->>'id' = '${paid.id}'`,
      /tells of no change/,
    ],
    [
      `DELETE FROM events WHERE type = 'order.refunded' AND data->'object'->>'id' = '${paid.id}'`,
      /last told of as something/,
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
