// Whatever is done in whatever order, the platform says what the model (test/support/payment-model.ts) says, after every step, and the ledger balances.
// A failure is shrunk and printed with what plays it again: REPLAY='seed path replayPath' node scripts/test/main.ts test/payments/model.test.ts
// `npm test` runs 60 sequences of up to 25 commands, FAULTS=long 600 of up to 60.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Reply } from '../support/client.ts'
import {
  PaymentModel,
  day,
  hour,
  type ModelOrder,
  type ModelSession,
  type ModelSubscription,
} from '../support/payment-model.ts'
import { ledgerViolations } from '../support/ledger-invariants.ts'
import { startServer } from '../support/server.ts'
import {
  addPrice,
  advance,
  answerConfirmation,
  cards,
  createCatalog,
  pages,
  payBy,
} from '../support/catalog-fixtures.ts'

const long = process.env['FAULTS'] === 'long'
const { runs, commands } = long ? { runs: 600, commands: 60 } : { runs: 60, commands: 25 }

const server = await startServer(t)
const shop = await createCatalog(server)
const ada = await server.person()
const { admin } = server
const { database } = server.services
const lengths = { '3 days': 3 * day, '2 weeks': 14 * day, '40 days': 40 * day }
const recurring = {
  '3 days': await addPrice(admin.client, shop.product, {
    unit_amount: 300,
    recurring: { interval: 'day', interval_count: 3 },
  }),
  '2 weeks': await addPrice(admin.client, shop.product, {
    unit_amount: 300,
    recurring: { interval: 'week', interval_count: 2 },
  }),
  '40 days': await addPrice(admin.client, shop.product, {
    unit_amount: 300,
    recurring: { interval: 'day', interval_count: 40 },
  }),
}

const post = (path: string, body?: object, client = ada.client): Promise<Reply> =>
  client.post(`/payments/${path}`, body)
const get = async (path: string): Promise<any> => (await ada.client.get(`/payments/${path}`)).body

/** What an answer is, in a word or two: its status, and what a refusal names. */
function gist({ status, body }: Reply): string {
  return [status, body?.error?.details?.constraint].filter((part) => part !== undefined).join(' ')
}

/** When the first period of each subscription really began. */
const anchors = new Map<string, number>()

/** The model's view is what the API says. */
async function compare(books: PaymentModel): Promise<void> {
  const [orders, subscriptions] = await Promise.all([
    get('orders?limit=100&order=asc'),
    get('subscriptions?limit=100&order=asc'),
  ])
  assert.equal(orders.pagination.total, books.orders.length, 'there are as many orders')
  for (const order of orders.data) {
    const known =
      books.orders.find(({ id }) => id === order.id) ??
      books.orders.find(({ id, subscription }) => id === null && subscription?.id === order.subscription_id)
    assert.ok(known, `${order.id} is expected`)
    known.id = order.id
    assert.deepEqual(
      [order.status, order.total_amount, order.refunded_amount, order.subscription_id],
      [known.status, known.total, known.refunded, known.subscription?.id ?? null],
      order.id,
    )
  }
  for (const subscription of subscriptions.data) {
    const known = books.subscriptions.find(({ id }) => id === subscription.id)!
    const {
      status,
      latest_order_id: latest,
      cancel_at_period_end: ending,
      current_period_start: start,
      current_period_end: end,
    } = subscription
    assert.deepEqual(
      [status, latest, ending],
      [known.status, known.orders.at(-1)!.id, known.ending],
      subscription.id,
    )
    if (start !== null && !anchors.has(known.id))
      anchors.set(known.id, Date.parse(start) - (known.period - 1) * known.length)
    const begun = known.period === 0 ? null : anchors.get(known.id)! + (known.period - 1) * known.length
    assert.deepEqual(
      [start, end],
      begun === null
        ? [null, null]
        : [new Date(begun).toISOString(), new Date(begun + known.length).toISOString()],
      subscription.id,
    )
  }
  assert.equal(subscriptions.data.length, books.subscriptions.length)
  for (const known of books.sessions) {
    if (known.status !== 'open' && settled.has(known.id)) continue
    const { status, payment_status: payment } = await get(`checkout/${known.id}`)
    assert.deepEqual(
      [status, payment],
      [known.status, known.status === 'complete' ? 'paid' : 'unpaid'],
      known.id,
    )
    if (known.status !== 'open') settled.add(known.id)
  }
  assert.deepEqual(await ledgerViolations(database), [])
}

/** Sessions that are over, and were looked at then. */
const settled = new Set<string>()

/** A command: does something to both, and holds the one against the other. `which` picks one of what there is. */
function command<Args extends unknown[]>(
  name: string,
  act: (books: PaymentModel, ...args: Args) => Promise<void>,
  possible: (books: PaymentModel) => boolean = () => true,
) {
  return (...args: Args): fc.AsyncCommand<PaymentModel, null> => ({
    check: (books) => possible(books as PaymentModel),
    async run(books) {
      await act(books, ...args)
      await compare(books)
    },
    toString: () => `${name}(${args.map(String).join(', ')})`,
  })
}

const hasOrders = ({ orders }: PaymentModel): boolean => orders.some(({ id }) => id !== null)
const hasSessions = ({ sessions }: PaymentModel): boolean => sessions.length > 0
const hasSubscriptions = ({ subscriptions }: PaymentModel): boolean => subscriptions.length > 0
/** The newest are picked most often. */
const pick = <T>(things: T[], which: number): T => things[things.length - 1 - (which % things.length)]
const orderAt = ({ orders }: PaymentModel, which: number): ModelOrder => pick(orders, which)
const sessionAt = ({ sessions }: PaymentModel, which: number): ModelSession => pick(sessions, which)
const subscriptionAt = ({ subscriptions }: PaymentModel, which: number): ModelSubscription =>
  pick(subscriptions, which)

const createOrder = command('order', async (books, quantity: number) => {
  const reply = await post('orders', { items: [{ price_id: shop.price, quantity }] })
  assert.equal(gist(reply), '201')
  books.addOrder(reply.body.id, 1999 * quantity)
})

const checkoutOrder = command(
  'checkout of order',
  async (books, which: number) => {
    const order = orderAt(books, which)
    const reply = await post('checkout', { order_id: order.id, ...pages })
    const open = books.openSessionOf(order)
    assert.equal(
      gist(reply),
      order.status !== 'pending' ? `409 ${order.status}` : open !== undefined ? '409 open_checkout' : '201',
    )
    if (reply.status === 201) books.addSession(reply.body.id, order, { ownsOrder: false, lasts: day })
  },
  hasOrders,
)

const checkoutItems = command('checkout of items', async (books, quantity: number, hours: number) => {
  const reply = await post('checkout', {
    items: [{ price_id: shop.price, quantity }],
    expires_in_seconds: hours * 3600,
    ...pages,
  })
  assert.equal(gist(reply), '201')
  books.addSession(reply.body.id, books.addOrder(reply.body.order_id, 1999 * quantity), {
    ownsOrder: true,
    lasts: hours * hour,
  })
})

const subscribe = command('subscribe', async (books, every: keyof typeof recurring, quantity: number) => {
  const reply = await post('checkout', {
    mode: 'subscription',
    items: [{ price_id: recurring[every], quantity }],
    ...pages,
  })
  assert.equal(gist(reply), '201')
  const subscription = books.addSubscription(reply.body.subscription_id, lengths[every], 300 * quantity)
  books.addSession(reply.body.id, books.addOrder(reply.body.order_id, 300 * quantity, subscription), {
    ownsOrder: true,
    lasts: day,
  })
})

/** The same, and its first order is paid: what is to be seen of subscriptions comes after. */
const begin = command(
  'begin subscription',
  async (books, every: keyof typeof recurring, card: 'pays' | 'paysOnce') => {
    const reply = await post('checkout', {
      mode: 'subscription',
      items: [{ price_id: recurring[every] }],
      ...pages,
    })
    const subscription = books.addSubscription(reply.body.subscription_id, lengths[every], 300)
    books.addSession(reply.body.id, books.addOrder(reply.body.order_id, 300, subscription), {
      ownsOrder: true,
      lasts: day,
    })
    await payBy(server, reply.body.id, cards[card])
    books.pay(books.sessions.at(-1)!, card)
  },
)

const pay = command(
  'pay',
  async (books, which: number, card: keyof typeof cards) => {
    const session = sessionAt(books, which)
    const reply = await payBy(server, session.id, cards[card])
    // Who paid slowly, and too late, waits to hear that it is given back.
    assert.equal(reply.status, session.status === 'expired' && session.slowUntil <= books.now ? 410 : 303)
    books.pay(session, card)
  },
  hasSessions,
)

/** Pays the latest order of a subscription that is overdue, by a new session. */
const recover = command(
  'pay overdue',
  async (books, which: number, card: keyof typeof cards) => {
    const order = pick(books.subscriptions.filter(isOverdue(books)), which).orders.at(-1)!
    const reply = await post('checkout', { order_id: order.id, ...pages })
    assert.equal(gist(reply), '201')
    books.addSession(reply.body.id, order, { ownsOrder: false, lasts: day })
    await payBy(server, reply.body.id, cards[card])
    books.pay(books.sessions.at(-1)!, card)
  },
  (books) => books.subscriptions.some(isOverdue(books)),
)

const isOverdue =
  (books: PaymentModel) =>
  ({ status, orders }: ModelSubscription): boolean =>
    status === 'past_due' && books.openSessionOf(orders.at(-1)!) === undefined

/** Pays slowly by a session of an order that was there before, and lets nobody pay by it any more. */
const payTooLate = command('pay too late', async (books, quantity: number) => {
  const order = (await post('orders', { items: [{ price_id: shop.price, quantity }] })).body
  const session = (await post('checkout', { order_id: order.id, ...pages })).body
  books.addSession(session.id, books.addOrder(order.id, 1999 * quantity), { ownsOrder: false, lasts: day })
  await payBy(server, session.id, cards.slow)
  books.pay(books.sessions.at(-1)!, 'slow')
  assert.equal(gist(await post(`checkout/${session.id}/expire`)), '200')
  books.expire(books.sessions.at(-1)!)
})

const answer = command(
  'answer',
  async (books, which: number, decision: 'confirm' | 'reject') => {
    const asked = books.sessions.filter(
      ({ status, awaits }) => status === 'open' && awaits === 'confirmation',
    )
    const session = pick(asked, which)
    assert.equal((await answerConfirmation(server, session.id, decision)).status, 303)
    books.answer(session, decision === 'confirm')
  },
  ({ sessions }) => sessions.some(({ status, awaits }) => status === 'open' && awaits === 'confirmation'),
)

const expire = command(
  'expire',
  async (books, which: number) => {
    const session = sessionAt(books, which)
    const reply = await post(`checkout/${session.id}/expire`)
    assert.equal(gist(reply), session.status === 'open' ? '200' : `409 ${session.status}`)
    if (session.status === 'open') books.expire(session)
  },
  hasSessions,
)

const cancelOrder = command(
  'cancel order',
  async (books, which: number) => {
    const order = orderAt(books, which)
    const reply = await post(`orders/${order.id}/cancel`)
    assert.equal(
      gist(reply),
      order.subscription !== null
        ? '409 subscription'
        : order.status === 'pending'
          ? '200'
          : `409 ${order.status}`,
    )
    if (reply.status === 200) books.cancel(order)
  },
  hasOrders,
)

const refund = command(
  'refund',
  async (books, which: number, amount: number | undefined) => {
    const order = orderAt(books, which)
    const left = order.total - order.refunded
    const reply = await post(`orders/${order.id}/refunds`, { amount }, admin.client)
    const refundable = order.status === 'paid' || order.status === 'partially_refunded'
    assert.equal(
      gist(reply),
      !refundable ? `409 ${order.status}` : amount !== undefined && amount > left ? '400 maximum' : '201',
    )
    if (reply.status === 201) books.refund(order, amount ?? left)
  },
  hasOrders,
)

const cancelSubscription = command(
  'cancel subscription',
  async (books, which: number, atEnd: boolean) => {
    const subscription = subscriptionAt(books, which)
    const { status, ending } = subscription
    const reply = await post(`subscriptions/${subscription.id}/cancel`, { at_period_end: atEnd })
    assert.equal(
      gist(reply),
      status === 'canceled' || (status === 'active' && atEnd && ending) ? `409 ${status}` : '200',
    )
    if (reply.status !== 200) return
    if (status === 'active' && atEnd) subscription.ending = true
    else books.end(subscription)
  },
  hasSubscriptions,
)

const resume = command(
  'resume',
  async (books, which: number) => {
    const subscription = subscriptionAt(books, which)
    const reply = await post(`subscriptions/${subscription.id}/resume`)
    assert.equal(
      gist(reply),
      subscription.status === 'active' && subscription.ending ? '200' : `409 ${subscription.status}`,
    )
    if (reply.status === 200) subscription.ending = false
  },
  hasSubscriptions,
)

const wait = command('wait hours', async (books, hours: number) => {
  assert.equal(gist(await advance(server, { seconds: hours * 3600 })), '200')
  books.advance(hours * hour)
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
    fc.tuple(every, fc.constantFrom('pays' as const, 'paysOnce' as const)).map((args) => begin(...args)),
  ),
  ...Array.from({ length: 4 }, () => fc.tuple(which, card).map((args) => pay(...args))),
  ...Array.from({ length: 4 }, () => fc.tuple(which, card).map((args) => recover(...args))),
  quantity.map(payTooLate),
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

/** Begins anew: what earlier sequences left would be renewed with every step of the clock. */
async function forget(): Promise<void> {
  await database.pool.query(
    "TRUNCATE order_items, refunds, payments, checkouts, orders, subscriptions; DELETE FROM events WHERE type ~ '^(order|refund|checkout|subscription)\\.'",
  )
}

t.test(`${runs} sequences of up to ${commands} commands`, { timeout: 0 }, async (t) => {
  const [seed, path, replayPath] = (process.env['REPLAY'] ?? '').split(' ')
  let steps = 0
  const property = fc.asyncProperty(
    fc.commands(anyCommand, { maxCommands: commands, size: 'max', replayPath }),
    async (sequence) => {
      await forget()
      const books = new PaymentModel()
      await fc.asyncModelRun(() => ({ model: books, real: null }), sequence)
      steps += [...sequence].length
    },
  )
  const outcome = await fc.check(property, { numRuns: runs, ...(seed && { seed: Number(seed), path }) })
  const found = /replayPath="([^"]+)"/.exec(String(outcome.counterexample?.[0]))?.[1]
  t.comment(`${outcome.numRuns} sequences, ${steps} commands, seed ${outcome.seed}`)
  const again = `REPLAY='${outcome.seed} ${outcome.counterexamplePath} ${found}' node scripts/test/main.ts test/payments/model.test.ts`
  t.notOk(
    outcome.failed,
    outcome.failed
      ? `${again}\n${String(outcome.counterexample?.[0])}\n${(outcome.errorInstance as Error)?.stack}`
      : 'the platform does what the model does',
  )
})
