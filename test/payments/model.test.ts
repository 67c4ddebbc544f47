// Model-based test: random commands run against the platform and the model, which is
// test/support/payments/payment-model.ts. After every step both have the same state, and the ledger balances.
// A failure is shrunk and printed with its replay command:
// REPLAY='seed path replayPath' node scripts/test/main.ts test/payments/model.test.ts
// `npm test` runs 25 sequences of up to 25 commands, FAULTS=long 600 of up to 60.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Reply } from '../support/http/client.ts'
import {
  PaymentModel,
  day,
  hour,
  type ModelOrder,
  type ModelSession,
  type ModelSubscription,
} from '../support/payments/payment-model.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { startServer } from '../support/server/server.ts'
import {
  addPrice,
  advance,
  answerConfirmation,
  cards,
  createCatalog,
  pages,
  payWithCard,
} from '../support/operations/catalog-fixtures.ts'
import { isLongForm } from '../support/long-form.ts'

const { runs, commands } = isLongForm ? { runs: 600, commands: 60 } : { runs: 25, commands: 25 }

const server = await startServer(t)
const catalog = await createCatalog(server)
const ada = await server.person()
const { admin } = server
const { database } = server.services
const lengths = { '3 days': 3 * day, '2 weeks': 14 * day, '40 days': 40 * day }
const recurring = {
  '3 days': await addPrice(admin.client, catalog.product, {
    unit_amount: 300,
    recurring: { interval: 'day', interval_count: 3 },
  }),
  '2 weeks': await addPrice(admin.client, catalog.product, {
    unit_amount: 300,
    recurring: { interval: 'week', interval_count: 2 },
  }),
  '40 days': await addPrice(admin.client, catalog.product, {
    unit_amount: 300,
    recurring: { interval: 'day', interval_count: 40 },
  }),
}

const post = (path: string, body?: object, client = ada.client): Promise<Reply> =>
  client.post(`/payments/${path}`, body)
const get = async (path: string): Promise<any> => (await ada.client.get(`/payments/${path}`)).body

/** The status of a reply, and the constraint of an error. */
function summarize({ status, body }: Reply): string {
  return [status, body?.error?.details?.constraint].filter((part) => part !== undefined).join(' ')
}

/** The actual start of each subscription's first period. */
const anchors = new Map<string, number>()

/** Asserts that the API's state equals the model's. */
async function compareWithModel(model: PaymentModel): Promise<void> {
  const [orders, subscriptions] = await Promise.all([
    get('orders?limit=100&order=asc'),
    get('subscriptions?limit=100&order=asc'),
  ])
  assert.equal(orders.pagination.total, model.orders.length, 'the number of orders')
  for (const order of orders.data) {
    const known =
      model.orders.find(({ id }) => id === order.id) ??
      model.orders.find(({ id, subscription }) => id === null && subscription?.id === order.subscription_id)
    assert.ok(known, `${order.id} is expected`)
    known.id = order.id
    assert.deepEqual(
      [order.status, order.total_amount, order.refunded_amount, order.subscription_id],
      [known.status, known.total, known.refunded, known.subscription?.id ?? null],
      order.id,
    )
  }
  for (const subscription of subscriptions.data) {
    const known = model.subscriptions.find(({ id }) => id === subscription.id)!
    const {
      status,
      latest_order_id: latest,
      cancel_at_period_end: cancelAtPeriodEnd,
      current_period_start: start,
      current_period_end: end,
    } = subscription
    assert.deepEqual(
      [status, latest, cancelAtPeriodEnd],
      [known.status, known.orders.at(-1)!.id, known.cancelAtPeriodEnd],
      subscription.id,
    )
    if (start !== null && !anchors.has(known.id))
      anchors.set(known.id, Date.parse(start) - (known.period - 1) * known.length)
    const started = known.period === 0 ? null : anchors.get(known.id)! + (known.period - 1) * known.length
    assert.deepEqual(
      [start, end],
      started === null
        ? [null, null]
        : [new Date(started).toISOString(), new Date(started + known.length).toISOString()],
      subscription.id,
    )
  }
  assert.equal(subscriptions.data.length, model.subscriptions.length)
  for (const known of model.sessions) {
    if (known.status !== 'open' && checkedSessions.has(known.id)) continue
    const { status, payment_status: payment } = await get(`checkout/${known.id}`)
    assert.deepEqual(
      [status, payment],
      [known.status, known.status === 'complete' ? 'paid' : 'unpaid'],
      known.id,
    )
    if (known.status !== 'open') checkedSessions.add(known.id)
  }
  assert.deepEqual(await ledgerViolations(database), [])
}

/** Closed sessions that were already compared. */
const checkedSessions = new Set<string>()

/**
 * A command that acts on the platform and on the model and compares them. `which` picks one of the objects.
 */
function command<Args extends unknown[]>(
  name: string,
  act: (model: PaymentModel, ...args: Args) => Promise<void>,
  possible: (model: PaymentModel) => boolean = () => true,
) {
  return (...args: Args): fc.AsyncCommand<PaymentModel, null> => ({
    check: (model) => possible(model as PaymentModel),
    async run(model) {
      await act(model, ...args)
      await compareWithModel(model)
    },
    toString: () => `${name}(${args.map(String).join(', ')})`,
  })
}

const hasOrders = ({ orders }: PaymentModel): boolean => orders.some(({ id }) => id !== null)
const hasSessions = ({ sessions }: PaymentModel): boolean => sessions.length > 0
const hasSubscriptions = ({ subscriptions }: PaymentModel): boolean => subscriptions.length > 0
/** Prefers the newest objects. */
const pick = <T>(things: T[], which: number): T => things[things.length - 1 - (which % things.length)]
const orderAt = ({ orders }: PaymentModel, which: number): ModelOrder => pick(orders, which)
const sessionAt = ({ sessions }: PaymentModel, which: number): ModelSession => pick(sessions, which)
const subscriptionAt = ({ subscriptions }: PaymentModel, which: number): ModelSubscription =>
  pick(subscriptions, which)

const createOrder = command('order', async (model, quantity: number) => {
  const reply = await post('orders', { items: [{ price_id: catalog.price, quantity }] })
  assert.equal(summarize(reply), '201')
  model.addOrder(reply.body.id, 1999 * quantity)
})

const checkoutOrder = command(
  'checkout of order',
  async (model, which: number) => {
    const order = orderAt(model, which)
    const reply = await post('checkout', { order_id: order.id, ...pages })
    const open = model.openSessionOf(order)
    assert.equal(
      summarize(reply),
      order.status !== 'pending' ? `409 ${order.status}` : open !== undefined ? '409 open_checkout' : '201',
    )
    if (reply.status === 201) model.addSession(reply.body.id, order, { ownsOrder: false, lasts: day })
  },
  hasOrders,
)

const checkoutItems = command('checkout of items', async (model, quantity: number, hours: number) => {
  const reply = await post('checkout', {
    items: [{ price_id: catalog.price, quantity }],
    expires_in_seconds: hours * 3600,
    ...pages,
  })
  assert.equal(summarize(reply), '201')
  model.addSession(reply.body.id, model.addOrder(reply.body.order_id, 1999 * quantity), {
    ownsOrder: true,
    lasts: hours * hour,
  })
})

const subscribe = command('subscribe', async (model, every: keyof typeof recurring, quantity: number) => {
  const reply = await post('checkout', {
    mode: 'subscription',
    items: [{ price_id: recurring[every], quantity }],
    ...pages,
  })
  assert.equal(summarize(reply), '201')
  const subscription = model.addSubscription(reply.body.subscription_id, lengths[every], 300 * quantity)
  model.addSession(reply.body.id, model.addOrder(reply.body.order_id, 300 * quantity, subscription), {
    ownsOrder: true,
    lasts: day,
  })
})

/** Creates a subscription and pays its first order: most of its behavior comes after that. */
const begin = command(
  'create subscription',
  async (model, every: keyof typeof recurring, card: 'succeeds' | 'renewalDeclined') => {
    const reply = await post('checkout', {
      mode: 'subscription',
      items: [{ price_id: recurring[every] }],
      ...pages,
    })
    const subscription = model.addSubscription(reply.body.subscription_id, lengths[every], 300)
    model.addSession(reply.body.id, model.addOrder(reply.body.order_id, 300, subscription), {
      ownsOrder: true,
      lasts: day,
    })
    await payWithCard(server, reply.body.id, cards[card])
    model.pay(model.sessions.at(-1)!, card)
  },
)

const pay = command(
  'pay',
  async (model, which: number, card: keyof typeof cards) => {
    const session = sessionAt(model, which)
    const reply = await payWithCard(server, session.id, cards[card])
    // An expired session with a slow payment shows the processing page until that payment is refunded.
    assert.equal(reply.status, session.status === 'expired' && session.slowUntil <= model.now ? 410 : 303)
    model.pay(session, card)
  },
  hasSessions,
)

/** Pays the latest order of a past-due subscription by a new session. */
const recover = command(
  'pay past-due order',
  async (model, which: number, card: keyof typeof cards) => {
    const order = pick(model.subscriptions.filter(isPastDue(model)), which).orders.at(-1)!
    const reply = await post('checkout', { order_id: order.id, ...pages })
    assert.equal(summarize(reply), '201')
    model.addSession(reply.body.id, order, { ownsOrder: false, lasts: day })
    await payWithCard(server, reply.body.id, cards[card])
    model.pay(model.sessions.at(-1)!, card)
  },
  (model) => model.subscriptions.some(isPastDue(model)),
)

const isPastDue =
  (model: PaymentModel) =>
  ({ status, orders }: ModelSubscription): boolean =>
    status === 'past_due' && model.openSessionOf(orders.at(-1)!) === undefined

/** Pays a session of an existing order by the slow card, then expires the session. */
const payLate = command('pay late', async (model, quantity: number) => {
  const order = (await post('orders', { items: [{ price_id: catalog.price, quantity }] })).body
  const session = (await post('checkout', { order_id: order.id, ...pages })).body
  model.addSession(session.id, model.addOrder(order.id, 1999 * quantity), { ownsOrder: false, lasts: day })
  await payWithCard(server, session.id, cards.slow)
  model.pay(model.sessions.at(-1)!, 'slow')
  assert.equal(summarize(await post(`checkout/${session.id}/expire`)), '200')
  model.expire(model.sessions.at(-1)!)
})

const answer = command(
  'answer',
  async (model, which: number, decision: 'confirm' | 'reject') => {
    const asked = model.sessions.filter(
      ({ status, awaits }) => status === 'open' && awaits === 'confirmation',
    )
    const session = pick(asked, which)
    assert.equal((await answerConfirmation(server, session.id, decision)).status, 303)
    model.confirm(session, decision === 'confirm')
  },
  ({ sessions }) => sessions.some(({ status, awaits }) => status === 'open' && awaits === 'confirmation'),
)

const expire = command(
  'expire',
  async (model, which: number) => {
    const session = sessionAt(model, which)
    const reply = await post(`checkout/${session.id}/expire`)
    assert.equal(summarize(reply), session.status === 'complete' ? '409 complete' : '200')
    if (session.status === 'open') model.expire(session)
  },
  hasSessions,
)

const cancelOrder = command(
  'cancel order',
  async (model, which: number) => {
    const order = orderAt(model, which)
    const reply = await post(`orders/${order.id}/cancel`)
    assert.equal(
      summarize(reply),
      order.subscription !== null && order.subscription.status !== 'canceled'
        ? '409 subscription'
        : order.status === 'pending' || order.status === 'canceled'
          ? '200'
          : `409 ${order.status}`,
    )
    if (reply.status === 200 && order.status === 'pending') model.cancel(order)
  },
  hasOrders,
)

const refund = command(
  'refund',
  async (model, which: number, amount: number | undefined) => {
    const order = orderAt(model, which)
    const left = order.total - order.refunded
    const reply = await post(`orders/${order.id}/refunds`, { amount }, admin.client)
    const refundable = order.status === 'paid' || order.status === 'partially_refunded'
    assert.equal(
      summarize(reply),
      !refundable ? `409 ${order.status}` : amount !== undefined && amount > left ? '400 maximum' : '201',
    )
    if (reply.status === 201) model.refund(order, amount ?? left)
  },
  hasOrders,
)

const cancelSubscription = command(
  'cancel subscription',
  async (model, which: number, atEnd: boolean) => {
    const subscription = subscriptionAt(model, which)
    const { status, cancelAtPeriodEnd } = subscription
    const reply = await post(`subscriptions/${subscription.id}/cancel`, { at_period_end: atEnd })
    assert.equal(summarize(reply), '200')
    if (status === 'canceled' || (status === 'active' && atEnd && cancelAtPeriodEnd)) return
    if (status === 'active' && atEnd) subscription.cancelAtPeriodEnd = true
    else model.cancelSubscription(subscription)
  },
  hasSubscriptions,
)

const resume = command(
  'resume',
  async (model, which: number) => {
    const subscription = subscriptionAt(model, which)
    const reply = await post(`subscriptions/${subscription.id}/resume`)
    assert.equal(summarize(reply), subscription.status !== 'active' ? `409 ${subscription.status}` : '200')
    if (reply.status === 200) subscription.cancelAtPeriodEnd = false
  },
  hasSubscriptions,
)

const wait = command('wait hours', async (model, hours: number) => {
  assert.equal(summarize(await advance(server, { by_seconds: hours * 3600 })), '200')
  model.advance(hours * hour)
})

const which = fc.nat({ max: 3 })
const every = fc.constantFrom(...(Object.keys(recurring) as Array<keyof typeof recurring>))
const card = fc.constantFrom(...(Object.keys(cards) as Array<keyof typeof cards>))
const quantity = fc.integer({ min: 1, max: 3 })
const anyCommand = [
  quantity.map(createOrder),
  which.map(checkoutOrder),
  which.map(checkoutOrder),
  fc.tuple(quantity, fc.constantFrom(1, 5, 24)).map((args) => checkoutItems(...args)),
  fc.tuple(every, quantity).map((args) => subscribe(...args)),
  ...Array.from({ length: 4 }, () =>
    fc
      .tuple(every, fc.constantFrom('succeeds' as const, 'renewalDeclined' as const))
      .map((args) => begin(...args)),
  ),
  ...Array.from({ length: 4 }, () => fc.tuple(which, card).map((args) => pay(...args))),
  ...Array.from({ length: 4 }, () => fc.tuple(which, card).map((args) => recover(...args))),
  quantity.map(payLate),
  fc
    .tuple(which, fc.constantFrom('confirm' as const, 'confirm' as const, 'reject' as const))
    .map((args) => answer(...args)),
  which.map(expire),
  which.map(cancelOrder),
  fc
    .tuple(which, fc.oneof(fc.constant(undefined), fc.constantFrom(1, 300, 1999, 4000)))
    .map((args) => refund(...args)),
  fc.tuple(which, fc.boolean()).map((args) => cancelSubscription(...args)),
  which.map(resume),
  fc
    .oneof(
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 10 }).map((days) => days * 24),
      fc.integer({ min: 1, max: 3 }).map((weeks) => weeks * 168),
    )
    .map(wait),
  ...Array.from({ length: 3 }, () => fc.integer({ min: 1, max: 15 }).map((days) => wait(days * 24))),
]

/** Deletes the data of earlier sequences: every step of the clock would renew their subscriptions. */
async function forget(): Promise<void> {
  await database.pool.query(
    `TRUNCATE order_items, refunds, disputes, payments, checkouts, orders, usage_periods, subscriptions,
        payment_methods; DELETE FROM events
      WHERE type ~ '^(order|refund|checkout|subscription)\\.'`,
  )
}

t.test('a retry, also the last, succeeds once the customer has paid with a better card', async () => {
  const days = (n: number) => wait(n * 24)
  for (const before of [4, 14]) {
    await forget()
    const sequence = [
      begin('3 days', 'renewalDeclined'),
      days(before),
      begin('3 days', 'succeeds'),
      days(3),
      days(10),
    ]
    await fc.asyncModelRun(() => ({ model: new PaymentModel(), real: null }), sequence)
  }
})

t.test(`${runs} sequences of up to ${commands} commands`, { timeout: 0 }, async (t) => {
  const [seed, path, replayPath] = (process.env['REPLAY'] ?? '').split(' ')
  let steps = 0
  const property = fc.asyncProperty(
    fc.commands(anyCommand, { maxCommands: commands, size: 'max', replayPath }),
    async (sequence) => {
      await forget()
      const model = new PaymentModel()
      await fc.asyncModelRun(() => ({ model: model, real: null }), sequence)
      steps += [...sequence].length
    },
  )
  const outcome = await fc.check(property, { numRuns: runs, ...(seed && { seed: Number(seed), path }) })
  const found = /replayPath="([^"]+)"/.exec(String(outcome.counterexample?.[0]))?.[1]
  t.comment(`${outcome.numRuns} sequences, ${steps} commands, seed ${outcome.seed}`)
  const replay = `${outcome.seed} ${outcome.counterexamplePath} ${found}`
  const again = `REPLAY='${replay}' node scripts/test/main.ts test/payments/model.test.ts`
  t.notOk(
    outcome.failed,
    outcome.failed
      ? `${again}\n${String(outcome.counterexample?.[0])}\n${(outcome.errorInstance as Error)?.stack}`
      : 'the platform matches the model',
  )
})
