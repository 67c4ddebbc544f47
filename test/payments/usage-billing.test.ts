// Usage on orders: each use is charged once, whatever changes, ends, comes late or is voided.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { insertedCustomer } from '../support/database/db-fixtures-payments.ts'
import {
  addPrice,
  cards,
  createCatalog,
  pages,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { createShop } from '../support/payments/shops.ts'
import { runDueTask } from '../../services/payments/renewals.ts'
import { moveClock } from '../../services/payments/clock.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { admin } = server
const { client } = admin
const { database } = server.services
const catalog = await createCatalog(server)
const daySeconds = 86_400
const monthly = { interval: 'month', interval_count: 1 }

t.afterEach(async () => {
  t.same(await ledgerViolations(database), [], 'the ledger balances')
})

async function post(path: string, body: object = {}, status = 200): Promise<any> {
  const reply = await client.post(`/payments/${path}`, body)
  if (reply.status !== status) throw new Error(`${path}: ${reply.status} ${reply.text}`)
  return reply.body
}
const get = async (path: string): Promise<any> => (await client.get(`/payments/${path}`)).body

let count = 0
async function newMeter(fields: object = {}): Promise<{ id: string; key: string }> {
  const key = `calls_${count++}`
  return await post('meters', { key, name: 'Calls', aggregation: 'sum', property: 'n', ...fields }, 201)
}

const perUnit = (meter: { id: string }, amount = '2') => ({
  meter_id: meter.id,
  model: 'per_unit',
  unit_amount: amount,
})

async function usagePrice(usage: object, fields: object = {}): Promise<string> {
  return await addPrice(client, catalog.product, { unit_amount: 500, recurring: monthly, usage, ...fields })
}

interface Subscriber {
  customer: string
  id: string
  start: string
  end: string
}

/** A new customer with a subscription to these prices and a stored card. */
async function subscriber(...prices: string[]): Promise<Subscriber> {
  const customer = await insertedCustomer(server)
  const fields = { customer_id: customer, items: prices.map((id) => ({ price_id: id })) }
  const { id } = await subscribe(server, admin, prices[0], fields as object)
  const { current_period_start: start, current_period_end: end } = await get(`subscriptions/${id}`)
  return { customer, id, start, end }
}

/** Records usage at a time; default: now. */
async function use(
  { customer }: { customer: string },
  meter: { key: string },
  n: number | string,
  at?: string,
) {
  const id = `use_${count++}`
  await post('usage', { events: [{ id, meter: meter.key, customer_id: customer, at, properties: { n } }] })
  return id
}

/** Takes recorded usage back. */
async function takeBack(id: string): Promise<void> {
  await post(`usage/${id}/void`)
}

const timeOf = async (customer: string): Promise<string> =>
  (await get(`test-clock?customer_id=${customer}`)).now
const after = (time: string, seconds: number): string =>
  new Date(Date.parse(time) + seconds * 1000).toISOString()

async function advanceTo({ customer }: { customer: string }, to: string): Promise<void> {
  await post('test-clock/advance', { customer_id: customer, to })
}
const advanceDays = async ({ customer }: { customer: string }, days: number): Promise<void> => {
  await post('test-clock/advance', { customer_id: customer, by_seconds: days * daySeconds })
}
const endOf = async ({ id }: { id: string }): Promise<string> =>
  (await get(`subscriptions/${id}`)).current_period_end
const renew = async (s: Subscriber): Promise<void> => {
  await advanceTo(s, await endOf(s))
}

const ordersOf = async ({ id }: { id: string }): Promise<any[]> =>
  (await get(`orders?subscription_id=${id}&limit=100&order=asc`)).data
/** The quantities and amounts of the usage of each order, after the first. */
async function usageOf(s: { id: string }): Promise<Array<Array<[string, number]>>> {
  const [, ...orders] = await ordersOf(s)
  return orders.map(({ items }) =>
    items.flatMap(({ usage, amount }: any) => (usage === null ? [] : [[usage.quantity, amount]])),
  )
}

t.test('a renewal charges the base fee and the usage of the period that ends', async (t: Test) => {
  const meter = await newMeter({ unit: 'call' })
  const s = await subscriber(await usagePrice(perUnit(meter, '0.5')))
  const [first] = await ordersOf(s)
  t.equal(first.total_amount, 500, 'the first order has the base fee alone')
  t.same(first.items[0].usage, null)
  await use(s, meter, '10.5')
  await use(s, meter, 3)
  const upcoming = await get(`subscriptions/${s.id}/upcoming`)
  t.match(upcoming, { subtotal_amount: 507, credit_amount: 0, total_amount: 507, period_end: s.end })
  await renew(s)
  const [, order] = await ordersOf(s)
  const [base, line] = order.items
  t.match(base, { amount: 500, usage: null })
  const day = (time: string) => time.slice(0, 10)
  t.same(line, {
    price_id: base.price_id,
    description: `Team plan (13.5 call), ${day(s.start)} to ${day(s.end)}`,
    quantity: 1,
    unit_amount: 7,
    amount: 7,
    usage: { meter_id: meter.id, quantity: '13.5', period_start: s.start, period_end: s.end },
  })
  t.match(order, { status: 'paid', total_amount: 507 })
  t.same(order.items, upcoming.lines, 'the order is the upcoming one')
  await renew(s)
  t.same((await usageOf(s))[1], [], 'a period without usage has no line')
})

t.test('usage belongs to the period in which it was, to the millisecond', async (t: Test) => {
  const meter = await newMeter()
  const s = await subscriber(await usagePrice(perUnit(meter)))
  await use(s, meter, 1, s.start)
  await use(s, meter, 100, after(s.start, -0.001))
  await advanceTo(s, after(s.end, -60))
  await use(s, meter, 10, after(s.end, -0.001))
  await use(s, meter, 1000, s.end)
  await renew(s)
  t.same(await usageOf(s), [[['11', 22]]])
  await renew(s)
  t.same((await usageOf(s))[1], [['1000', 2000]])
})

t.test('late usage and voids correct the next order, once', async (t: Test) => {
  const meter = await newMeter()
  const s = await subscriber(await usagePrice(perUnit(meter)))
  const many = await use(s, meter, 40)
  await renew(s)
  await use(s, meter, 2, after(s.start, 60))
  await use(s, meter, 5)
  await renew(s)
  await takeBack(many)
  await use(s, meter, 1)
  await renew(s)
  await use(s, meter, 50)
  await renew(s)
  await use(s, meter, 3)
  await renew(s)
  t.same(await usageOf(s), [
    [['40', 80]],
    [['7', 14]],
    [], // 1 − 40: nothing is charged, and 39 are carried.
    [['11', 22]],
    [['3', 6]],
  ])
})

t.test('a period that is over for longer than usage may be late stays', async (t: Test) => {
  const meter = await newMeter()
  const s = await subscriber(await usagePrice(perUnit(meter)))
  const event = await use(s, meter, 4)
  for (let i = 0; i < 4; i++) await renew(s)
  const { rows } = await database.pool.query(
    'SELECT settled, quantity FROM usage_periods WHERE subscription_id = $1 ORDER BY id LIMIT 1',
    [s.id],
  )
  t.match(rows, [{ settled: true, quantity: '4.000000000000' }])
  await takeBack(event)
  await renew(s)
  t.same((await usageOf(s)).flat(), [['4', 8]])
})

t.test('two workers that renew at once make one order', async (t: Test) => {
  const meter = await newMeter()
  const subscribers = await Promise.all(
    Array.from({ length: 4 }, async () => await subscriber(await usagePrice(perUnit(meter)))),
  )
  for (const s of subscribers) {
    await use(s, meter, 7)
    await moveClock(database, new Date(s.end), s.customer)
  }
  const task = ({ id, end }: Subscriber) => ({ kind: 'subscription' as const, id, at: new Date(end) })
  await Promise.all(
    subscribers.flatMap((s) =>
      Array.from({ length: 4 }, () => runDueTask(database, server.services, task(s))),
    ),
  )
  for (const s of subscribers) t.same(await usageOf(s), [[['7', 14]]])
})

t.test('a renewal that fails midway leaves no trace', async (t: Test) => {
  const meter = await newMeter()
  const s = await subscriber(await usagePrice(perUnit(meter)))
  await use(s, meter, 7)
  await moveClock(database, new Date(s.end), s.customer)
  const failing = { ...server.services, events: { emit: () => Promise.reject(new Error('power cut')) } }
  const task = { kind: 'subscription' as const, id: s.id, at: new Date(s.end) }
  await t.rejects(runDueTask(database, failing as never, task), { message: 'power cut' })
  t.same(await usageOf(s), [])
  await runDueTask(database, server.services, task)
  t.same(await usageOf(s), [[['7', 14]]])
})

t.test('a subscription that ends is charged for the rest', async (t: Test) => {
  const meter = await newMeter()
  const price = await usagePrice(perUnit(meter))
  const [now, atEnd, unused] = [await subscriber(price), await subscriber(price), await subscriber(price)]
  for (const s of [now, atEnd]) await use(s, meter, 6)
  await post(`subscriptions/${now.id}/cancel`, { at_period_end: false })
  t.same(await usageOf(now), [[['6', 12]]])
  const [, order] = await ordersOf(now)
  t.match(order, { status: 'paid', total_amount: 12 })
  t.equal((await client.get(`/payments/subscriptions/${now.id}/upcoming`)).status, 409)

  await post(`subscriptions/${atEnd.id}/cancel`)
  const upcoming = await get(`subscriptions/${atEnd.id}/upcoming`)
  t.match(upcoming, { total_amount: 12, lines: [{ usage: { quantity: '6' } }] })
  t.equal(upcoming.lines.length, 1, 'no next period')
  await renew(atEnd)
  t.same(await usageOf(atEnd), [[['6', 12]]])
  t.equal((await get(`subscriptions/${atEnd.id}`)).status, 'canceled')

  await post(`subscriptions/${unused.id}/cancel`, { at_period_end: false })
  t.same(await usageOf(unused), [], 'no order without usage')
})

/** A subscriber whose renewals are declined. */
async function declinedSubscriber(price: string): Promise<Subscriber> {
  const customer = await insertedCustomer(server)
  const fields = { customer_id: customer, card: cards.renewalDeclined }
  const { id } = await subscribe(server, admin, price, fields as object)
  const { current_period_start: start, current_period_end: end } = await get(`subscriptions/${id}`)
  return { customer, id, start, end }
}

t.test('a subscription that ends unpaid is charged for its usage, not for its prices', async (t: Test) => {
  const meter = await newMeter()
  const price = await usagePrice(perUnit(meter))
  const [canceled, retried] = [await declinedSubscriber(price), await declinedSubscriber(price)]
  for (const s of [canceled, retried]) {
    await use(s, meter, 6)
    await renew(s)
    t.equal((await get(`subscriptions/${s.id}`)).status, 'past_due')
    await use(s, meter, 3)
  }
  await post(`subscriptions/${canceled.id}/cancel`, { at_period_end: false })
  for (let days = 0; days < 20; days++) await advanceDays(retried, 1)
  const both: Array<[string, number]> = [
    ['6', 12],
    ['3', 6],
  ]
  for (const s of [canceled, retried]) {
    t.equal((await get(`subscriptions/${s.id}`)).status, 'canceled')
    const [, renewal, last, ...others] = await ordersOf(s)
    t.same(others, [])
    t.match(renewal, { status: 'canceled', total_amount: 512 })
    t.match(last, { status: 'pending', total_amount: 18 })
    t.same(await usageOf(s), [[['6', 12]], both])
    const session = await post('checkout', { ...pages, order_id: last.id }, 201)
    if (s === canceled) await post(`orders/${last.id}/cancel`)
    else await payWithCard(server, session.id, cards.succeeds)
    t.equal((await get(`orders/${last.id}`)).status, s === canceled ? 'canceled' : 'paid')
    t.equal((await get(`subscriptions/${s.id}`)).status, 'canceled')
  }
})

t.test(
  'what changes owe is charged at the end of a subscription whose renewal is unpaid',
  async (t: Test) => {
    const [basic, pro] = [
      await addPrice(client, catalog.product, { unit_amount: 1000, recurring: monthly }),
      await addPrice(client, catalog.product, { unit_amount: 3000, recurring: monthly }),
    ]
    const s = await declinedSubscriber(basic)
    const change = { items: [{ price_id: pro }], proration: 'next_period' }
    t.equal((await client.put(`/payments/subscriptions/${s.id}`, change)).status, 200)
    await renew(s)
    const [, renewal] = await ordersOf(s)
    const [, owed] = renewal.items
    t.match(renewal, { status: 'pending', total_amount: 3000 + owed.amount })
    await post(`subscriptions/${s.id}/cancel`, { at_period_end: false })
    t.match((await ordersOf(s)).at(-1), { status: 'pending', items: [owed], total_amount: owed.amount })
  },
)

t.test('usage counts from the change that adds a price until the one that removes it', async (t: Test) => {
  const meter = await newMeter()
  const price = await usagePrice(perUnit(meter))
  const s = await subscriber(catalog.monthly)
  const change = (ids: string[], more: object = {}) =>
    client.put(`/payments/subscriptions/${s.id}`, { items: ids.map((id) => ({ price_id: id })), ...more })
  await use(s, meter, 1000)
  await advanceDays(s, 3)
  t.equal((await change([catalog.monthly, price])).status, 200)
  await advanceDays(s, 1)
  await use(s, meter, 10)
  await advanceDays(s, 1)
  t.equal((await change([catalog.monthly])).status, 200)
  await advanceDays(s, 1)
  await use(s, meter, 2000)
  await advanceDays(s, 1)
  t.equal((await change([catalog.monthly, price])).status, 200)
  await advanceDays(s, 1)
  await use(s, meter, 5)
  await advanceDays(s, 1)
  t.equal((await change([catalog.monthly])).status, 200)
  t.match((await get(`subscriptions/${s.id}/upcoming`)).lines, [
    { usage: null },
    { usage: { quantity: '15' } },
  ])
  await renew(s)
  await renew(s)
  t.same((await usageOf(s)).slice(-2), [[['15', 30]], []])
})

t.test('a change that starts a new period charges the usage so far', async (t: Test) => {
  const meter = await newMeter()
  const price = await usagePrice(perUnit(meter))
  const weekly = await usagePrice(perUnit(meter, '3'), { recurring: { interval: 'week', interval_count: 1 } })
  const s = await subscriber(price)
  await use(s, meter, 10)
  await advanceDays(s, 2)
  const items = [{ price_id: weekly }]
  const preview = await post(`subscriptions/${s.id}/preview`, { items })
  t.match(preview.lines, [{ amount: 500 }, { amount: 20, usage: { quantity: '10' } }])
  t.equal((await client.put(`/payments/subscriptions/${s.id}`, { items })).status, 200)
  t.same(await usageOf(s), [[['10', 20]]])
  await advanceDays(s, 1)
  await use(s, meter, 4)
  await renew(s)
  t.same((await usageOf(s))[1], [['4', 12]])
})

t.test('a change at the end of the period charges the old price', async (t: Test) => {
  const meter = await newMeter()
  const [cheap, dear] = [await usagePrice(perUnit(meter)), await usagePrice(perUnit(meter, '9'))]
  const s = await subscriber(cheap)
  await use(s, meter, 10)
  const body = { items: [{ price_id: dear }], apply: 'period_end' }
  t.equal((await client.put(`/payments/subscriptions/${s.id}`, body)).status, 200)
  await renew(s)
  await use(s, meter, 10)
  await renew(s)
  t.same(await usageOf(s), [[['10', 20]], [['10', 90]]])
})

t.test('usage in a pause counts, and usage in a trial is free', async (t: Test) => {
  const meter = await newMeter()
  const paused = await subscriber(await usagePrice(perUnit(meter)))
  await use(paused, meter, 1)
  await post(`subscriptions/${paused.id}/pause`)
  await advanceDays(paused, 10)
  await use(paused, meter, 20)
  await post(`subscriptions/${paused.id}/unpause`)
  await renew(paused)
  t.same(await usageOf(paused), [[['21', 42]]])

  const ending = await subscriber(await usagePrice(perUnit(meter)))
  await post(`subscriptions/${ending.id}/cancel`)
  await post(`subscriptions/${ending.id}/pause`)
  await advanceDays(ending, 40)
  await use(ending, meter, 20)
  t.match(await get(`subscriptions/${ending.id}/upcoming`), { lines: [{ usage: { quantity: '20' } }] })
  await post(`subscriptions/${ending.id}/cancel`, { at_period_end: false })
  t.same(await usageOf(ending), [[['20', 40]]], 'the pause has moved its end')

  const recurring = { ...monthly, trial_days: 14 }
  const customer = await insertedCustomer(server)
  const items = [{ price_id: await usagePrice(perUnit(meter), { recurring }) }]
  const { id } = await post('subscriptions', { customer_id: customer, items }, 201)
  const trial = { customer, id }
  await use(trial, meter, 30)
  t.match(await get(`subscriptions/${id}/upcoming`), { total_amount: 500 })
  await advanceTo(trial, await endOf(trial))
  await use(trial, meter, 3, after(await timeOf(customer), -daySeconds))
  await use(trial, meter, 4)
  t.same(await usageOf(trial), [[['30', 0]]])
  t.match((await get(`subscriptions/${id}/upcoming`)).lines, [{ amount: 500 }, { usage: { quantity: '4' } }])
})

t.test('a plan without a base fee begins at once and charges usage alone', async (t: Test) => {
  const meter = await newMeter()
  const price = await usagePrice(perUnit(meter), { unit_amount: 0 })
  const s = await subscriber(price)
  await use(s, meter, 5)
  await renew(s)
  t.same(await usageOf(s), [[['5', 10]]])
  const [, order] = await ordersOf(s)
  t.equal(order.status, 'pending', 'there is no card')
  t.equal((await get(`subscriptions/${s.id}`)).status, 'past_due')
})

t.test('a change to a free plan still owes its usage', async (t: Test) => {
  const meter = await newMeter()
  const free = await addPrice(client, catalog.product, { unit_amount: 0, recurring: monthly })
  const s = await subscriber(await usagePrice(perUnit(meter)))
  await use(s, meter, 5)
  t.equal((await client.put(`/payments/subscriptions/${s.id}`, { items: [{ price_id: free }] })).status, 200)
  await renew(s)
  const order = (await ordersOf(s)).at(-1)
  t.match(order, { items: [{ amount: 0 }, { amount: 10 }], subtotal_amount: 10, status: 'paid' })
})

const commands = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('use' as const), n: fc.nat(9) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('use late' as const), n: fc.nat(9), when: fc.nat() }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('take back' as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.nat(8) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('change' as const), to: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const) }) },
  ),
  { minLength: 8, maxLength: 20, size: 'max' },
)

t.test(
  'whatever happens, the orders charge what was used while the subscription had a price',
  async (t: Test) => {
    const meter = await newMeter()
    const week = { recurring: { interval: 'week', interval_count: 1 } }
    const fiveDays = { recurring: { interval: 'day', interval_count: 5 } }
    const without = await addPrice(client, catalog.product, { unit_amount: 100, ...week })
    const plans = [
      await usagePrice(perUnit(meter), week),
      await usagePrice(perUnit(meter), fiveDays),
      without,
    ]
    const property = fc.asyncProperty(commands, async (sequence) => {
      const s = await subscriber(plans[0])
      let plan = 0
      let days = 0
      const times: Array<{ at: string; counts: boolean }> = []
      const events: Array<{ id: string; n: number; counts: boolean; voided: boolean }> = []
      for (const command of sequence) {
        await post('test-clock/advance', { customer_id: s.customer, by_seconds: 3600 })
        if (command.do === 'use' || (command.do === 'use late' && times.length > 0)) {
          const counts = plan !== 2
          const time =
            command.do === 'use'
              ? { at: await timeOf(s.customer), counts }
              : times[command.when % times.length]
          times.push(time)
          const id = await use(s, meter, command.n, time.at)
          events.push({ id, n: command.n, counts: time.counts, voided: false })
        } else if (command.do === 'take back' && events.length > 0) {
          const event = events[command.which % events.length]
          if (!event.voided) await takeBack(event.id)
          event.voided = true
        } else if (command.do === 'wait' && days + command.days <= 28) {
          days += command.days
          if (command.days > 0) await advanceDays(s, command.days)
        } else if (command.do === 'change') {
          const reply = await client.put(`/payments/subscriptions/${s.id}`, {
            items: [{ price_id: plans[command.to] }],
          })
          if (reply.status !== 200) throw new Error(reply.text)
          plan = command.to
        } else if (command.do === 'pause') {
          await post(`subscriptions/${s.id}/pause`)
          await post('test-clock/advance', { customer_id: s.customer, by_seconds: 3600 })
          await post(`subscriptions/${s.id}/unpause`)
        }
      }
      await post(`subscriptions/${s.id}/cancel`, { at_period_end: false })
      const used = events.reduce((sum, { n, counts, voided }) => sum + (counts && !voided ? n : 0), 0)
      const charged = (await usageOf(s)).flat().reduce((sum, [quantity]) => sum + Number(quantity), 0)
      const { rows } = await database.pool.query(
        'SELECT coalesce(sum(carried), 0)::float AS carried FROM usage_periods WHERE subscription_id = $1',
        [s.id],
      )
      if (charged + rows[0].carried !== used)
        throw new Error(`charged ${charged}, carried ${rows[0].carried}, used ${used}`)
    })
    const { failed, counterexample, errorInstance, seed } = await fc.check(property, {
      numRuns: 12,
      endOnFailure: true,
    })
    t.notOk(failed, `seed ${seed}: ${JSON.stringify(counterexample)} ${String(errorInstance)}`)
  },
)

t.test('the aggregations of meters', async (t: Test) => {
  const expected = { sum: '9', count: '3', max: '4', last: '3', unique: '3' }
  for (const [aggregation, quantity] of Object.entries(expected)) {
    const meter = await newMeter({ aggregation, property: aggregation === 'count' ? null : 'n' })
    const s = await subscriber(await usagePrice(perUnit(meter)))
    const now = await timeOf(s.customer)
    await use(s, meter, 2, now)
    await use(s, meter, 4, after(now, 1))
    await use(s, meter, 3, after(now, 2))
    await renew(s)
    t.same(await usageOf(s), [[[quantity, 2 * Number(quantity)]]], aggregation)
  }
})

t.test('an order charges at most the maximum', async (t: Test) => {
  const meter = await newMeter()
  const s = await subscriber(await usagePrice(perUnit(meter, '99999999999999999999')))
  await use(s, meter, '99999999999')
  t.equal((await get(`subscriptions/${s.id}/upcoming`)).total_amount, 999_999_999_999)
  await renew(s)
  t.match((await ordersOf(s)).at(-1), { total_amount: 999_999_999_999 })
})

t.test('prices with usage need a period of at most a month and a meter of their seller', async (t: Test) => {
  const meter = await newMeter()
  const shop = await createShop(server)
  const foreign = (
    await shop.client.post('/payments/meters', {
      organization_id: shop.id,
      key: 'calls',
      name: 'Calls',
      aggregation: 'count',
    })
  ).body
  const archived = await newMeter()
  await client.put(`/payments/meters/${archived.id}`, { active: false })
  const create = (usage: object, recurring?: object) =>
    client.post('/payments/prices', {
      product_id: catalog.product,
      unit_amount: 0,
      currency: 'eur',
      recurring,
      usage,
    })
  const refused: Array<[object, object | undefined, number, string]> = [
    [perUnit(meter), undefined, 400, 'recurring'],
    [perUnit(meter), { interval: 'year', interval_count: 1 }, 400, 'recurring.interval'],
    [perUnit(meter), { interval: 'month', interval_count: 2 }, 400, 'recurring.interval_count'],
    [perUnit(meter), { interval: 'week', interval_count: 5 }, 400, 'recurring.interval_count'],
    [perUnit(meter), { interval: 'day', interval_count: 32 }, 400, 'recurring.interval_count'],
    [perUnit(foreign), monthly, 404, 'usage.meter_id'],
    [perUnit({ id: 'mtr_01jd6y8m5qe8btc4y5w1r0n3fz' }), monthly, 404, 'usage.meter_id'],
    [perUnit(archived), monthly, 400, 'usage.meter_id'],
    [perUnit(meter, '-1'), monthly, 400, 'usage.unit_amount'],
    [perUnit(meter, '0.0000000000001'), monthly, 400, 'usage.unit_amount'],
    [{ ...perUnit(meter), model: 'package' }, monthly, 400, 'usage.package_size'],
  ]
  for (const [usage, recurring, status, field] of refused)
    t.match(await create(usage, recurring), { status, body: { error: { details: { field } } } }, field)
  const reply = await create(perUnit(meter, '0.25'), monthly)
  const expected = { ...perUnit(meter, '0.25'), package_size: null, tiers: null }
  t.match(reply, { status: 201, body: { usage: expected } })
  t.same((await get(`prices/${reply.body.id}`)).usage, expected)
  await t.rejects(
    database.pool.query('UPDATE prices SET usage = NULL WHERE id = $1', [reply.body.id]),
    /a price never changes/,
  )
})

t.test('the customer and the seller read the upcoming order, and nobody else', async (t: Test) => {
  const meter = await newMeter()
  const person = await server.person()
  const { id } = await subscribe(server, person, await usagePrice(perUnit(meter)), { card: cards.succeeds })
  const read = async (reader: typeof client) =>
    (await reader.get(`/payments/subscriptions/${id}/upcoming`)).status
  t.equal(await read(person.client), 200)
  t.equal(await read(client), 200)
  t.equal(await read((await server.person()).client), 403, 'as getSubscription')
})
