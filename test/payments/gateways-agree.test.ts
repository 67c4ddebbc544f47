// The same steps with the sandbox and with Stripe lead to the same states, payments and events.
import t from 'tap'
import { addPrice, createCheckout } from '../support/operations/catalog-fixtures.ts'
import {
  startWithSandbox,
  startWithStripe,
  type Card,
  type GatewayFixture,
} from '../support/payments/both-gateways.ts'

/** Runs the scenario. @returns what its steps led to. */
async function run({ server, catalog, pay, settle, advance }: GatewayFixture): Promise<unknown[]> {
  const admin = server.admin.client
  const ada = await server.person()
  const { database } = server.services
  const monthly = (amount: number, fields: object = {}): Promise<string> =>
    addPrice(admin, catalog.product, {
      unit_amount: amount,
      recurring: { interval: 'month', interval_count: 1, ...fields },
    })
  const prices = {
    basic: await monthly(1_000),
    pro: await monthly(3_000),
    free: await monthly(0),
    trial: await monthly(2_000, { trial_days: 7 }),
  }
  const names = Object.fromEntries(Object.entries(prices).map(([name, id]) => [id, name]))
  const seen: unknown[] = []

  const read = async (id: string): Promise<any> =>
    (await ada.client.get(`/payments/subscriptions/${id}`)).body
  const note = async (step: string, id: string): Promise<any> => {
    await settle()
    const subscription = await read(id)
    const { status, items, scheduled_change: change, cancel_at_period_end: ends } = subscription
    const orders = (await ada.client.get(`/payments/orders?subscription_id=${id}&order=asc`)).body.data
    const payments = (await ada.client.get(`/payments/payments?subscription_id=${id}&order=asc`)).body.data
    seen.push({
      step,
      status,
      items: items.map(({ price_id: price, quantity }: any) => `${quantity} ${names[price]}`),
      waits: change !== null,
      ends,
      // The time of a step differs by milliseconds.
      orders: orders.map((order: any) => [order.status, Math.round(order.total_amount / 10)]),
      payments: payments.map((one: any) => [one.status, one.failure_code, one.card?.last4 ?? null]),
    })
    return subscription
  }
  const subscribe = async (price: string, card: Card): Promise<string> => {
    const checkout = await createCheckout(ada, { mode: 'subscription', items: [{ price_id: price }] })
    await pay(checkout, card)
    return checkout.subscription_id
  }
  const payOrder = async (order: string, card: Card): Promise<void> =>
    await pay(await createCheckout(ada, { order_id: order }), card)
  const call = async (id: string, action: string, body: object = {}): Promise<void> => {
    const reply = await ada.client.post(`/payments/subscriptions/${id}/${action}`, body)
    if (reply.status !== 200) throw new Error(`${action}: ${reply.text}`)
  }
  const change = async (id: string, items: object[], terms: object = {}): Promise<void> => {
    const reply = await ada.client.put(`/payments/subscriptions/${id}`, { items, ...terms })
    if (reply.status !== 200) throw new Error(reply.text)
  }
  const middleOf = ({ current_period_start: start, current_period_end: end }: any): Date =>
    new Date((Date.parse(start) + Date.parse(end)) / 2)
  const endOf = ({ current_period_end: end }: any): Date => new Date(end)
  const daysAfter = (date: Date, days: number): Date => new Date(date.getTime() + days * 86_400_000)

  const good = await subscribe(prices.basic, 'good')
  let now = await note('subscribed', good)
  await advance(endOf(now))
  now = await note('renewed', good)
  await advance(middleOf(now))
  await change(good, [{ price_id: prices.pro, quantity: 2 }, { price_id: prices.basic }])
  await note('upgraded', good)
  await call(good, 'pause')
  await note('paused', good)
  await call(good, 'unpause')
  await change(good, [{ price_id: prices.basic }], { apply: 'period_end' })
  now = await note('downgrade scheduled', good)
  await advance(endOf(now))
  now = await note('downgraded', good)
  await change(good, [{ price_id: prices.free }])
  now = await note('free', good)
  await advance(endOf(now))
  await note('renewed free', good)
  await call(good, 'cancel')
  now = await note('set to end', good)
  await advance(endOf(now))
  await note('ended', good)

  const weak = await subscribe(prices.basic, 'weak')
  now = await note('subscribed with a weak card', weak)
  await change(weak, [{ price_id: prices.pro }])
  await note('change declined', weak)
  await payOrder((await read(weak)).scheduled_change.order_id, 'weak')
  now = await note('change paid', weak)
  await advance(endOf(now))
  now = await note('declined', weak)
  await advance(daysAfter(new Date(now.current_period_start), 4))
  await note('declined twice more', weak)
  await payOrder((await read(weak)).latest_order_id, 'good')
  now = await note('recovered', weak)
  await advance(endOf(now))
  await note('renewed by the new card', weak)
  await call(weak, 'cancel', { at_period_end: false })
  await note('canceled', weak)

  const lost = await subscribe(prices.basic, 'weak')
  await advance(daysAfter(endOf(await read(lost)), 15))
  await note('given up', lost)

  const { body: trial } = await ada.client.post('/payments/subscriptions', {
    items: [{ price_id: prices.trial }],
  })
  await note('trial', trial.id)
  await advance(new Date(trial.trial_end))
  now = await note('trial ended', trial.id)
  await payOrder(now.latest_order_id, 'good')
  now = await note('trial paid', trial.id)
  await advance(endOf(now))
  await note('renewed after the trial', trial.id)

  // With Stripe, `subscription.updated` comes before the outcome of a charge.
  const { rows } = await database.pool.query<{ type: string }>(
    `SELECT type FROM events WHERE user_id = $1 AND type ~ '^(order|checkout|subscription)\\.'
      AND type <> 'subscription.updated' ORDER BY position`,
    [ada.id],
  )
  return [...seen, rows.map(({ type }) => type)]
}

t.test('both gateways lead to the same states, payments and events', async (t) => {
  const expected = await run(await startWithSandbox(t))
  const found = await run(await startWithStripe(t))
  t.equal(found.length, 24)
  for (const [i, state] of expected.entries()) t.same(found[i], state)
})
