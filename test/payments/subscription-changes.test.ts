// Changes of subscriptions in the sandbox: now and at the end of the period, their preview and their payment,
// trials, free plans, pauses, credits and the ledger.
import t, { type Test } from 'tap'
import { insertedDispute } from '../support/database/db-fixtures-payments.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { restOf } from '../support/payments/rest-of.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  addPrice,
  advance,
  advanceTo,
  cards,
  createCatalog,
  createCheckout,
  eventTypesOf,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'

const server = await startServer(t)
const catalog = await createCatalog(server)
const { database } = server.services
const admin = server.admin.client
const day = 86_400_000
const ada = await server.person()

const monthlyAt = (amount: number, fields: object = {}): Promise<string> =>
  addPrice(admin, catalog.product, {
    unit_amount: amount,
    recurring: { interval: 'month', interval_count: 1, ...fields },
  })
const [basic, pro, free, yearly] = [
  await monthlyAt(3_000),
  await monthlyAt(6_000),
  await monthlyAt(0),
  await addPrice(admin, catalog.product, {
    unit_amount: 60_000,
    recurring: { interval: 'year', interval_count: 1 },
  }),
]

const path = (id: string, action = ''): string => `/payments/subscriptions/${id}${action}`
const read = async (id: string, { client }: Pick<Person, 'client'> = ada): Promise<any> =>
  (await client.get(path(id))).body
const ordersOf = async (id: string, { client }: Pick<Person, 'client'> = ada): Promise<any[]> =>
  (await client.get(`/payments/orders?subscription_id=${id}&limit=100&order=asc`)).body.data
const change = (id: string, items: object[], terms: object = {}, { client }: Pick<Person, 'client'> = ada) =>
  client.put(path(id), { items, ...terms })
const preview = (id: string, items: object[], terms: object = {}) =>
  ada.client.post(path(id, '/preview'), { items, ...terms })
const create = (body: object, { client }: Pick<Person, 'client'> = ada) =>
  client.post('/payments/subscriptions', body)
const clockNow = async (): Promise<number> => Date.parse((await admin.get('/payments/test-clock')).body.now)

async function balanceOf({ id }: Pick<Person, 'id'>): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT coalesce(sum(b.amount), 0)::int AS amount FROM customer_balances b
      JOIN customers c ON c.id = b.customer_id WHERE c.user_id = $1`,
    [id],
  )
  return rows[0].amount
}

/** Moves the clock to a share of the period of a subscription. */
async function advanceInto(id: string, share: number, person?: Person): Promise<void> {
  const { current_period_start: start, current_period_end: end } = await read(id, person)
  await advanceTo(server, new Date(Date.parse(start) + (Date.parse(end) - Date.parse(start)) * share))
}

t.afterEach(async () => {
  t.same(await ledgerViolations(database), [], 'the ledger balances')
})

t.test('an upgrade charges the rest of the period and gives a credit for the unused time', async (t) => {
  const ben = await server.person()
  const { id } = await subscribe(server, ben, basic)
  await advanceTo(server, new Date(Date.parse((await read(id, ben)).current_period_start) + 10 * day))
  const before = await read(id, ben)
  const reply = await change(id, [{ price_id: pro }], {}, ben)
  t.equal(reply.status, 200)
  t.match(reply.body, {
    status: 'active',
    price_id: pro,
    scheduled_change: null,
    current_period_end: before.current_period_end,
    latest_order_id: before.latest_order_id,
  })
  const order = (await ordersOf(id, ben)).at(-1)
  const charged = restOf(6_000, before, order.created_at)
  const unused = restOf(3_000, before, order.created_at)
  t.match(order, {
    status: 'paid',
    subtotal_amount: charged,
    credit_amount: unused,
    total_amount: charged - unused,
    items: [{ price_id: pro, quantity: 1, unit_amount: charged }],
  })
  t.equal(await balanceOf(ben), 0)
  t.same((await eventTypesOf(server, id, order.id)).slice(-3), [
    'order.created',
    'order.paid',
    'subscription.updated',
  ])

  await advanceTo(server, before.current_period_end)
  t.match((await ordersOf(id, ben)).at(-1), { status: 'paid', total_amount: 6_000, credit_amount: 0 })
  const receipt = await ben.client.get(`/payments/orders/${order.id}/receipt`)
  t.match(receipt.text, 'Credit')
})

t.test('a downgrade gives a credit, which pays the next orders', async (t) => {
  const ben = await server.person()
  const { id } = await subscribe(server, ben, pro)
  const started = await read(id, ben)
  await advanceTo(server, new Date(Date.parse(started.current_period_start) + 3 * day))
  t.equal((await change(id, [{ price_id: basic }], {}, ben)).status, 200)
  const [first, second] = await ordersOf(id, ben)
  const at = second.created_at
  t.match(second, { status: 'paid', total_amount: 0, subtotal_amount: restOf(3_000, started, at) })
  const credit = restOf(6_000, started, at) - restOf(3_000, started, at)
  t.equal(await balanceOf(ben), credit)
  t.equal(first.refunded_amount, 0, 'nothing is refunded')

  await advanceTo(server, started.current_period_end)
  t.match((await ordersOf(id, ben)).at(-1), {
    status: 'paid',
    subtotal_amount: 3_000,
    credit_amount: credit,
    total_amount: 3_000 - credit,
  })
  t.equal(await balanceOf(ben), 0)
})

t.test('a change credits no unused time whose payment was returned', async (t) => {
  const ben = await server.person()
  const { id, order } = await subscribe(server, ben, pro)
  const started = await read(id, ben)
  await advanceInto(id, 0.5, ben)
  const refund = async (amount: number) =>
    t.equal((await admin.post(`/payments/orders/${order}/refunds`, { amount })).status, 201)
  const unusedOf = async (terms: object = {}): Promise<number> => {
    const { body } = await ben.client.post(path(id, '/preview'), { items: [{ price_id: free }], ...terms })
    return body.unused_amount
  }
  const full = await unusedOf()
  t.ok(full > 2_990 && full < 3_010, `half of the period: ${full}`)
  await refund(1_000)
  const rest = await unusedOf()
  t.ok(rest > 1_990 && rest < 2_010, `less the refund: ${rest}`)
  await refund(5_000)
  t.equal(await unusedOf(), 0)
  t.equal((await change(id, [{ price_id: basic }], {}, ben)).status, 200)
  const charged = (await ordersOf(id, ben)).at(-1)
  t.match(charged, {
    status: 'paid',
    credit_amount: 0,
    total_amount: restOf(3_000, started, charged.created_at),
  })
  t.equal(await balanceOf(ben), 0)
  const again = await unusedOf()
  t.ok(again >= charged.total_amount - 5 && again <= charged.total_amount, `what was paid since: ${again}`)
  await advanceTo(server, started.current_period_end)
  await advanceInto(id, 0.5, ben)
  t.ok((await unusedOf()) > 1_400, 'the refunds of the last period do not count')

  const eve = await server.person()
  const disputed = await subscribe(server, eve, pro, { card: '4000 0000 0000 0259' })
  t.match((await eve.client.get(`/payments/disputes?order_id=${disputed.order}`)).body.data, [
    { amount: 6_000 },
  ])
  t.equal((await change(disputed.id, [{ price_id: free }], {}, eve)).status, 200)
  t.equal(await balanceOf(eve), 0, 'nor a disputed payment')

  const joe = await server.person()
  const paused = await subscribe(server, joe, basic)
  t.match((await change(paused.id, [{ price_id: yearly }], {}, joe)).body, { price_id: yearly })
  const [, restart] = await ordersOf(paused.id, joe)
  t.equal((await joe.client.post(path(paused.id, '/pause'))).status, 200)
  await advance(server, { by_seconds: 60 })
  t.equal((await joe.client.post(path(paused.id, '/unpause'))).status, 200)
  t.equal((await admin.post(`/payments/orders/${restart.id}/refunds`, {})).status, 201)
  const { body } = await joe.client.post(path(paused.id, '/preview'), { items: [{ price_id: free }] })
  t.equal(body.unused_amount, restart.credit_amount, 'a pause does not move the start of the period')
})

t.test('a returned payment drops a change that waits for its payment', async (t) => {
  const returns = {
    refund: async (order: string) =>
      t.equal((await admin.post(`/payments/orders/${order}/refunds`, { amount: 3_000 })).status, 201),
    dispute: async (order: string) => t.ok(await insertedDispute(server, order)),
  }
  for (const [name, giveBack] of Object.entries(returns)) {
    const ben = await server.person()
    const { id, order } = await subscribe(server, ben, basic, { card: cards.renewalDeclined })
    await advanceInto(id, 0.5, ben)
    const upgrade = async (): Promise<any> => {
      const { body } = await change(id, [{ price_id: pro }], {}, ben)
      return (await ben.client.get(`/payments/orders/${body.scheduled_change.order_id}`)).body
    }
    const quoted = await upgrade()
    t.ok(quoted.credit_amount > 1_400, `the unused time: ${quoted.credit_amount}`)
    await giveBack(order)
    t.match(await read(id, ben), { price_id: basic, status: 'active', scheduled_change: null }, name)
    t.match((await ben.client.get(`/payments/orders/${quoted.id}`)).body, { status: 'canceled' })
    t.equal((await eventTypesOf(server, id)).at(-1), 'subscription.updated')
    t.match(await upgrade(), { credit_amount: 0, total_amount: quoted.subtotal_amount })
    t.equal(await balanceOf(ben), 0)
  }
})

t.test('the preview has the amounts of the change, and changes nothing', async (t) => {
  const { id } = await subscribe(server, ada, basic, { quantity: 2 })
  await advanceInto(id, 0.5)
  const before = await read(id)
  const items = [{ price_id: basic, quantity: 5 }, { price_id: pro }]
  const { status, body } = await preview(id, items)
  t.equal(status, 200)
  const at = body.effective_at
  t.match(body, {
    lines: [
      { price_id: basic, quantity: 1, amount: restOf(15_000, before, at) },
      { price_id: pro, quantity: 1, amount: restOf(6_000, before, at) },
    ],
    currency: 'eur',
    unused_amount: restOf(6_000, before, at),
    total_amount: body.subtotal_amount - body.credit_amount,
    period_end: before.current_period_end,
    next_amount: 21_000,
  })
  t.same(await read(id), before)
  t.match((await preview(id, items, { apply: 'period_end' })).body, {
    lines: [],
    total_amount: 0,
    effective_at: before.current_period_end,
    next_amount: 21_000,
  })
  const later = (await preview(id, items, { proration: 'next_period' })).body
  t.equal(later.total_amount, 0)
  t.equal(
    later.next_amount - 21_000,
    restOf(15_000, before, later.effective_at) +
      restOf(6_000, before, later.effective_at) -
      restOf(6_000, before, later.effective_at),
  )
  t.equal((await preview(id, items, { proration: 'none' })).body.total_amount, 0)
})

t.test('what a change owes is added to the next order', async (t) => {
  const { id } = await subscribe(server, ada, basic)
  await advanceInto(id, 0.25)
  const before = await read(id)
  const quoted = (await preview(id, [{ price_id: basic, quantity: 3 }], { proration: 'next_period' })).body
  await change(id, [{ price_id: basic, quantity: 3 }], { proration: 'next_period' }, server.admin)
  t.equal((await ordersOf(id)).length, 1)
  await advanceTo(server, before.current_period_end)
  const order = (await ordersOf(id)).at(-1)
  t.equal(order.items.length, 2)
  t.ok(Math.abs(order.total_amount - quoted.next_amount) <= 1)
  t.match(await read(id), { quantity: 3, status: 'active' })
})

t.test('what a change owes is charged when the subscription ends', async (t) => {
  for (const body of [{ at_period_end: false }, { at_period_end: true }]) {
    const { id } = await subscribe(server, ada, basic)
    await advanceInto(id, 0.25)
    await change(id, [{ price_id: basic, quantity: 3 }], { proration: 'next_period' }, server.admin)
    await ada.client.post(path(id, '/cancel'), body)
    await advanceTo(server, (await read(id)).current_period_end)
    const order = (await ordersOf(id)).at(-1)
    t.match(order, { status: 'paid', items: [{ description: 'Changes in the last period' }] })
    t.equal((await read(id)).status, 'canceled')
  }
})

t.test('only a seller decides about the proration, and no order of changes makes money', async (t) => {
  const ben = await server.person()
  const { id } = await subscribe(server, ben, basic)
  for (const proration of ['none', 'next_period'])
    t.match(await change(id, [{ price_id: pro }], { proration }, ben), {
      status: 403,
      body: { error: { details: { constraint: 'scope' } } },
    })
  const sell = (price: string, proration: string) =>
    change(id, [{ price_id: price }], { proration }, server.admin)
  await sell(pro, 'none')
  await sell(basic, 'now')
  t.equal(await balanceOf(ben), 0, 'what was not charged is not credited')
  await sell(pro, 'next_period')
  await change(id, [{ price_id: basic }], {}, ben)
  const credit = await balanceOf(ben)
  t.ok(credit <= 1, `what is owed is paid first; ${credit} are left`)
  const { current_period_end: end } = await read(id, ben)
  await advanceTo(server, end)
  const { total_amount: total, credit_amount: spent } = (await ordersOf(id, ben)).at(-1)
  t.ok(Math.abs(total + spent - 3_000) <= 1, `the renewal costs ${total} and a credit of ${spent}`)
})

t.test('a change at the end of the period can be taken back', async (t) => {
  const { id } = await subscribe(server, ada, pro)
  const { updated_at: created } = await read(id)
  const scheduled = await change(id, [{ price_id: basic }], { apply: 'period_end' })
  const { current_period_end: end } = scheduled.body
  t.match(scheduled.body, {
    price_id: pro,
    scheduled_change: {
      items: [{ price_id: basic, quantity: 1 }],
      effective_at: end,
      order_id: null,
      unused_amount: 0,
      expires_at: null,
    },
  })
  t.ok(scheduled.body.updated_at > created, 'it is a change')
  const taken = await ada.client.post(path(id, '/cancel-change'))
  t.ok(taken.body.updated_at > scheduled.body.updated_at)
  t.match(taken, { status: 200, body: { scheduled_change: null, price_id: pro } })
  t.same((await ada.client.post(path(id, '/cancel-change'))).body, taken.body, 'again')
  await change(id, [{ price_id: basic }], { apply: 'period_end' })
  await advanceTo(server, end)
  t.match(await read(id), { price_id: basic, scheduled_change: null, status: 'active' })
  t.match((await ordersOf(id)).at(-1), { total_amount: 3_000, items: [{ price_id: basic }] })
})

t.test('a change of the interval starts a new period', async (t) => {
  const { id } = await subscribe(server, ada, basic)
  await advanceInto(id, 0.5)
  const before = await read(id)
  const { body } = await change(id, [{ price_id: yearly }])
  const order = (await ordersOf(id)).at(-1)
  const unused = restOf(3_000, before, order.created_at)
  t.match(order, { subtotal_amount: 60_000, credit_amount: unused, total_amount: 60_000 - unused })
  t.equal(body.current_period_start, order.created_at)
  const end = new Date(body.current_period_start)
  end.setUTCFullYear(end.getUTCFullYear() + 1)
  t.equal(body.current_period_end, end.toISOString())
  await change(id, [{ price_id: basic }], { apply: 'period_end' })
  await advanceTo(server, end)
  const next = new Date(end)
  next.setUTCMonth(next.getUTCMonth() + 1)
  t.match(await read(id), { price_id: basic, current_period_start: end.toISOString() })
  t.equal((await ordersOf(id)).at(-1).total_amount, 3_000)
})

t.test('a change without a card, or with one that is declined, waits for a checkout', async (t) => {
  const ben = await server.person()
  const created = await create({ items: [{ price_id: free }] }, ben)
  t.match(created, { status: 201, body: { status: 'active', price_id: free } })
  const { id } = created.body
  const waiting = await change(id, [{ price_id: pro }], {}, ben)
  const orderId = waiting.body.scheduled_change.order_id
  t.match(waiting, { status: 200, body: { price_id: free, scheduled_change: { effective_at: null } } })
  const session = await createCheckout(ben, { order_id: orderId })
  await payWithCard(server, session.id, cards.declined)
  t.match(await read(id, ben), { price_id: free, status: 'active' })
  await payWithCard(server, session.id, cards.succeeds)
  const paid = await read(id, ben)
  t.match(paid, { price_id: pro, status: 'active', scheduled_change: null })
  t.equal(paid.current_period_start, (await ben.client.get(`/payments/orders/${orderId}`)).body.created_at)

  await advanceTo(server, paid.current_period_end)
  t.match((await ordersOf(id, ben)).at(-1), { status: 'paid', total_amount: 6_000 }, 'by the stored card')
})

t.test(
  'a change that is not paid is dropped after 23 hours, with its order and its hold of a credit',
  async (t) => {
    const ben = await server.person()
    const { id } = await subscribe(server, ben, basic, { card: cards.renewalDeclined })
    await advanceTo(server, new Date((await clockNow()) + day))
    const before = await read(id, ben)
    const replies = [
      await change(id, [{ price_id: pro }], {}, ben),
      await change(id, [{ price_id: yearly }], {}, ben),
    ]
    const orders = replies.map(({ body }) => body.scheduled_change.order_id)
    t.match((await ben.client.get(`/payments/orders/${orders[0]}`)).body, { status: 'canceled' }, 'replaced')
    t.match((await ben.client.get(`/payments/orders/${orders[1]}`)).body, { status: 'pending' })
    t.equal((await ben.client.post(`/payments/orders/${orders[1]}/cancel`)).status, 409)
    await advance(server, { by_seconds: 23 * 3600 + 1 })
    t.match((await ben.client.get(`/payments/orders/${orders[1]}`)).body, { status: 'canceled' })
    t.match(await read(id, ben), { ...before, updated_at: String })
    t.equal(await balanceOf(ben), 0)
  },
)

t.test('a trial begins without a card, once for each customer and product', async (t) => {
  const ben = await server.person()
  const trial = await monthlyAt(3_000, { trial_days: 14 })
  const { status, body, headers } = await create(
    { items: [{ price_id: trial }], metadata: { from: 'site' } },
    ben,
  )
  t.equal(status, 201)
  t.match(headers.get('location'), `/v1/payments/subscriptions/${body.id}`)
  t.match(body, { status: 'trialing', trial_end: body.current_period_end, metadata: { from: 'site' } })
  t.equal(Date.parse(body.trial_end) - Date.parse(body.current_period_start), 14 * day)
  t.match(await ordersOf(body.id, ben), [{ total_amount: 0, status: 'paid' }])
  const second = await create({ items: [{ price_id: trial }] }, ben)
  t.match(second.body, { status: 'incomplete', trial_end: null }, 'no second trial')

  await change(body.id, [{ price_id: pro, quantity: 2 }], {}, ben)
  t.match(await read(body.id, ben), { status: 'trialing', price_id: pro, trial_end: body.trial_end })
  await advanceTo(server, new Date(Date.parse(body.trial_end) - 3 * day - 1_000))
  t.notOk((await eventTypesOf(server, body.id)).includes('subscription.trial_will_end'))
  await advance(server, { by_seconds: 2 })
  t.equal((await eventTypesOf(server, body.id)).at(-1), 'subscription.trial_will_end')
  await advanceTo(server, body.trial_end)
  const unpaid = await read(body.id, ben)
  t.match(unpaid, { status: 'past_due' }, 'no card: no free time')
  t.equal((await ben.client.get(path(second.body.id))).body.status, 'canceled', 'never paid')

  const { id: session } = await createCheckout(ben, { order_id: unpaid.latest_order_id })
  await payWithCard(server, session, cards.succeeds)
  t.match(await read(body.id, ben), { status: 'active', current_period_start: body.trial_end })
  await advanceTo(server, unpaid.current_period_end)
  t.match((await ordersOf(body.id, ben)).at(-1), { status: 'paid', total_amount: 12_000 })
})

t.test('a seller decides about a trial; a customer does not', async (t) => {
  const ben = await server.person()
  const body = { items: [{ price_id: pro }], trial_days: 30 }
  t.match(await create(body, ben), { status: 403, body: { error: { details: { constraint: 'scope' } } } })
  const sold = await create({ ...body, user_id: ben.id }, server.admin)
  t.match(sold, { status: 201, body: { status: 'trialing', user_id: ben.id } })
  t.match(await create({ ...body, user_id: ben.id }, server.admin), {
    status: 409,
    body: { error: { details: { constraint: 'trial' } } },
  })
  const racing = await server.person()
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => create({ ...body, user_id: racing.id }, server.admin)),
  )
  t.equal(replies.filter(({ status }) => status === 201).length, 1, 'of eight at once')
})

t.test('a pause keeps the rest of the period', async (t) => {
  const { id } = await subscribe(server, ada, basic)
  await advanceInto(id, 0.5)
  const before = await read(id)
  const until = new Date((await clockNow()) + 60 * day).toISOString()
  const paused = await ada.client.post(path(id, '/pause'), { resumes_at: until })
  t.match(paused, { status: 200, body: { status: 'paused', resumes_at: until, paused_at: String } })
  t.equal((await ada.client.post(path(id, '/pause'))).text, paused.text, 'again')
  t.equal((await change(id, [{ price_id: pro }])).status, 409)
  await advanceTo(server, new Date(Date.parse(until) - 1_000))
  t.equal((await ordersOf(id)).length, 1, 'nothing is charged')
  await advanceTo(server, until)
  const shift = Date.parse(until) - Date.parse(paused.body.paused_at)
  const continued = await read(id)
  t.match(continued, { status: 'active', paused_at: null, resumes_at: null })
  const late = Date.parse(continued.current_period_end) - Date.parse(before.current_period_end) - shift
  t.ok(late >= 0 && late < 10_000, `the period ends ${late} ms later than the pause was long`)
  t.same((await eventTypesOf(server, id)).slice(-4), [
    'subscription.updated',
    'subscription.paused',
    'subscription.updated',
    'subscription.resumed',
  ])
  await advanceTo(server, continued.current_period_end)
  t.match((await ordersOf(id)).at(-1), { status: 'paid', total_amount: 3_000 })
  t.match(await ada.client.post(path(id, '/unpause')), { status: 200, body: { status: 'active' } })
  for (const resumesAt of ['2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z'])
    t.match(await ada.client.post(path(id, '/pause'), { resumes_at: resumesAt }), {
      status: 400,
      body: { error: { details: { errors: [{ field: 'resumes_at', constraint: 'range' }] } } },
    })
})

t.test('changes that do not fit are refused and leave nothing', async (t) => {
  const usd = await addPrice(admin, catalog.product, {
    unit_amount: 100,
    currency: 'usd',
    recurring: { interval: 'month', interval_count: 1 },
  })
  const dear = await monthlyAt(999_999_999)
  const { id } = await subscribe(server, ada, basic)
  const before = await read(id)
  const refused: Array<[object[], string]> = [
    [[{ price_id: usd }], 'currency'],
    [[{ price_id: basic }, { price_id: yearly }], 'interval'],
    [[{ price_id: basic }, { price_id: basic }], 'uniqueItems'],
    [[{ price_id: catalog.price }], 'recurring'],
    [[{ price_id: dear, quantity: 1_001 }], 'max_total'],
    [[], 'minItems'],
  ].map(([items, constraint]) => [items as object[], constraint as string])
  for (const [items, constraint] of refused)
    t.match(
      await change(id, items),
      { status: 400, body: { error: { details: { errors: [{ constraint }] } } } },
      constraint,
    )
  t.same(await read(id), before)
  await ada.client.post(path(id, '/cancel'))
  t.equal((await change(id, [{ price_id: pro }], { apply: 'period_end' })).status, 409)
  await ada.client.post(path(id, '/cancel'), { at_period_end: false })
  for (const request of [
    change(id, [{ price_id: pro }]),
    preview(id, [{ price_id: pro }]),
    ada.client.post(path(id, '/pause')),
    ada.client.post(path(id, '/unpause')),
  ])
    t.equal((await request).status, 409)
})

t.test('after the last try, a subscription may go on unpaid', async (t) => {
  const { dunning } = server.services
  const configured = { ...dunning }
  Object.assign(dunning, { days: [1, 2], end: 'unpaid' })
  t.teardown(() => Object.assign(dunning, configured))
  const { id } = await subscribe(server, ada, basic, { card: cards.renewalDeclined })
  const { current_period_end: end } = await read(id)
  await advanceTo(server, new Date(Date.parse(end) + 10 * day))
  const unpaid = await read(id)
  t.match(unpaid, { status: 'unpaid' })
  t.equal((await ordersOf(id)).length, 2)
  const { id: session } = await createCheckout(ada, { order_id: unpaid.latest_order_id })
  await payWithCard(server, session, cards.succeeds)
  const active = await read(id)
  t.match(active, { status: 'active' })
  t.ok(Date.parse(active.current_period_start) >= Date.parse(end) + 10 * day, 'its period begins again')
})

t.test('a change that races its renewal is charged once', async (t) => {
  const { id } = await subscribe(server, ada, basic)
  const { current_period_end: end } = await read(id)
  await advanceTo(server, new Date(Date.parse(end) - 1_000))
  const replies = await Promise.all([
    advance(server, { by_seconds: 5 }),
    ...Array.from({ length: 6 }, (_, i) => change(id, [{ price_id: basic, quantity: i + 2 }])),
  ])
  for (const { status, text } of replies) t.equal(status, 200, text)
  const renewals = (await ordersOf(id)).filter(({ items }) => items[0].description === 'Team plan')
  t.equal(renewals.length, 2, 'the first period and the second')
})

t.test('the ledger and the balance of a customer are kept by the database', async (t: Test) => {
  const query = (text: string) => database.pool.query(text)
  await t.rejects(query('UPDATE ledger_transfers SET amount = 1'), /never change/)
  await t.rejects(query('DELETE FROM ledger_transfers'), /never change/)
  await t.rejects(
    query(`INSERT INTO customer_balances VALUES ('x', 'eur', 5);
      INSERT INTO ledger_transfers (debit, credit, amount, currency, customer_id, created_at)
      VALUES ('balance', 'held', 6, 'eur', 'x', now())`),
    /customer_balances_amount/,
  )
  await t.rejects(
    query(`INSERT INTO ledger_transfers (debit, credit, amount, currency, created_at)
      VALUES ('gateway', 'gateway', 6, 'eur', now())`),
    /ledger_transfers_valid/,
  )
})
