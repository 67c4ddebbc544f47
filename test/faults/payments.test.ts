// Calls that make, pay, complete, give back and cancel in random order, twice and at once, while the server is killed again and again: what has
// been done is what the Idempotency-Keys say, each once, and the ledger balances. `npm run faults` makes 10,000 calls with 20 kills, `npm test` 400
// with 2.
import t from 'tap'
import { openDatabase, statement } from '../../infra/database/database.ts'
import { createClient, type Client, type Reply } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { ledgerViolations } from '../support/ledger-invariants.ts'
import { bootstrapKey, spawnServer, type ServerProcess } from '../support/process.ts'
import { answerConfirmation, cards, createCatalog, pages, payBy } from '../support/catalog-fixtures.ts'
import { waitUntil } from '../support/wait.ts'

const long = process.env['FAULTS'] === 'long'
const { calls, kills } = long ? { calls: 10_000, kills: 20 } : { calls: 400, kills: 2 }
const callers = 12

type Kind = 'order' | 'session' | 'purchase' | 'refund' | 'cancel' | 'expire'

/** Something that is to be done once, however often it is asked for. */
interface Intent {
  key: string
  kind: Kind
  path: string
  body: object
  /** The answers that had an effect. */
  done: any[]
  /** Whether every time that it was asked for it was answered. */
  known: boolean
}

t.test(`${calls} calls, and ${kills} times kill -9`, { timeout: 2_400_000 }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const database = openDatabase({ url: databaseUrl })
  t.teardown(() => database.close())
  const start = async (): Promise<ServerProcess> =>
    await spawnServer(t, {
      DATABASE_URL: databaseUrl,
      RATE_LIMIT_PAGE: '1000000',
      VALIDATE_RESPONSES: 'true',
    })
  let server: ServerProcess = await start()
  let client: Client = createClient(server.url, bootstrapKey)
  let up: Promise<void> = Promise.resolve()
  const shop = await createCatalog({ admin: { client } as never })

  const intents: Intent[] = []
  const orders: string[] = []
  const sessions: string[] = []
  const orderOf = new Map<string, string>()
  /** Orders by whose sessions somebody may have paid. */
  const touched: string[] = []
  const statuses: Record<string, number> = {}
  let made = 0
  let cut = 0
  const any = <T>(things: T[]): T => things[Math.floor(Math.random() * things.length)]
  // Mostly what is new: what is old is over.
  const recent = (things: string[]): string =>
    things[Math.max(0, things.length - 1 - Math.floor(Math.random() * 30))]

  /** A call that the end of the server may cut off, then undefined. */
  async function attempt(what: string, call: () => Promise<Reply>): Promise<Reply | undefined> {
    await up
    made++
    try {
      const reply = await call()
      const gist = `${what} ${reply.status}`
      statuses[gist] = (statuses[gist] ?? 0) + 1
      return reply
    } catch (error) {
      // Everything but a broken connection is an answer that the contract does not know.
      if (!(error instanceof TypeError)) throw error
      cut++
      return undefined
    }
  }

  async function ask(intent: Intent): Promise<void> {
    const { kind, path, body, key } = intent
    const reply = await attempt(kind, () => client.post(path, body, { headers: { 'idempotency-key': key } }))
    if (
      reply === undefined ||
      reply.status === 503 ||
      (reply.status === 409 && reply.body.error.details.constraint === 'in_progress')
    )
      intent.known = false
    else if (reply.status < 300) {
      if (intent.done.push(reply.body) > 1) return
      if (kind === 'order') orders.push(reply.body.id)
      if (kind === 'purchase') orders.push(reply.body.order_id)
      if (kind === 'session' || kind === 'purchase') {
        sessions.push(reply.body.id)
        orderOf.set(reply.body.id, reply.body.order_id)
      }
    } else if (![400, 409].includes(reply.status))
      throw new Error(`${kind} was answered ${reply.status}: ${reply.text}`)
  }

  function intend(kind: Kind, path: string, body: object): Intent {
    const intent: Intent = {
      key: `${kind}-${intents.length}`,
      kind,
      path: `/payments/${path}`,
      body,
      done: [],
      known: true,
    }
    intents.push(intent)
    return intent
  }

  async function step(): Promise<void> {
    const dice = Math.random()
    if (dice < 0.12 || orders.length === 0)
      return await ask(
        intend('order', 'orders', {
          items: [{ price_id: shop.price, quantity: 1 + Math.floor(Math.random() * 3) }],
        }),
      )
    if (dice < 0.24 || sessions.length === 0)
      return await ask(intend('purchase', 'checkout', { items: [{ price_id: shop.price }], ...pages }))
    if (dice < 0.34) return await ask(intend('session', 'checkout', { order_id: recent(orders), ...pages }))
    if (dice < 0.56) return await times(1 + Math.floor(Math.random() * 3), payRecent)
    if (dice < 0.62) return await confirmRecent()
    if (dice < 0.76) {
      const order = recent(touched.length > 0 && Math.random() < 0.9 ? touched : orders)
      return await ask(
        intend(
          'refund',
          `orders/${order}/refunds`,
          Math.random() < 0.3 ? {} : { amount: 1 + Math.floor(Math.random() * 1500) },
        ),
      )
    }
    if (dice < 0.81) return await ask(intend('cancel', `orders/${recent(orders)}/cancel`, {}))
    if (dice < 0.85) return await ask(intend('expire', `checkout/${recent(sessions)}/expire`, {}))
    // Again, what was asked for before, and at the same time.
    const again = any(intents.slice(-200))
    await times(1 + Math.floor(Math.random() * 3), () => ask(again))
  }

  async function times(count: number, work: () => Promise<unknown>): Promise<void> {
    await Promise.all(Array.from({ length: count }, work))
  }

  async function payRecent(): Promise<void> {
    const session = recent(sessions)
    const card = any(Object.values(cards))
    await attempt('pay', () => payBy(server, session, card))
    if (card === cards.pays) touched.push(orderOf.get(session)!)
  }

  /** Asks a session for a confirmation, and gives it; both may be cut off, or come too late. */
  async function confirmRecent(): Promise<void> {
    const session = recent(sessions)
    if ((await attempt('pay', () => payBy(server, session, cards.asks))) === undefined) return
    if (!/name="payment"/.test((await attempt('look', () => client.get(`/pay/${session}`)))?.text ?? ''))
      return
    await attempt('confirm', () => answerConfirmation(server, session, 'confirm'))
  }

  const began = Date.now()
  const working = Array.from({ length: callers }, async () => {
    while (made < calls) await step()
  })
  for (let i = 1; i <= kills; i++) {
    await waitUntil(() => made >= (calls * i) / (kills + 1), 'the calls', 600_000)
    up = (async () => {
      await server.end('SIGKILL')
      server = await start()
      client = createClient(server.url, bootstrapKey)
    })()
    await up
  }
  await Promise.all(working)
  const seconds = (Date.now() - began) / 1000

  // Whoever was cut off asks again, until it is answered.
  for (
    let left = intents.filter(({ known }) => !known);
    left.length > 0;
    left = left.filter(({ known }) => !known)
  ) {
    for (const intent of left) {
      intent.known = true
      await ask(intent)
    }
  }
  const underWay = statement<{ n: number }>(
    "SELECT count(*)::int AS n FROM payments WHERE status IN ('processing', 'returning')",
  )
  await waitUntil(async () => (await database.sql(underWay, []))[0].n === 0, 'the slow payments')

  const effects = (kind: Kind): Intent[] =>
    intents.filter((intent) => intent.kind === kind && intent.done.length > 0)
  const count = async (text: string, what = 'count(*)::int'): Promise<number> =>
    (await database.sql<{ n: number }>({ text: `SELECT ${what} AS n FROM ${text}` }, []))[0].n
  for (const { key, done } of intents)
    t.same(new Set(done.map(({ id }) => id)).size, Math.min(1, done.length), `${key} has one effect`)
  for (const { key, done } of effects('refund'))
    t.same(
      done.slice(1),
      done.slice(1).map(() => done[0]),
      `${key} is answered alike`,
    )
  t.equal(
    await count('orders'),
    effects('order').length + effects('purchase').length,
    'orders are as many as keys by which some were made',
  )
  t.equal(await count('checkouts'), effects('session').length + effects('purchase').length)
  t.equal(await count('refunds'), effects('refund').length)
  t.equal(
    await count('refunds', 'coalesce(sum(amount), 0)::bigint'),
    effects('refund').reduce((sum, { done }) => sum + done[0].amount, 0),
    'and so much was given back',
  )
  const own = new Set(effects('purchase').map(({ done }) => done[0].id))
  t.equal(
    await count("orders WHERE status = 'canceled'"),
    effects('cancel').length + effects('expire').filter(({ done }) => own.has(done[0].id)).length,
  )
  t.equal(
    await count('idempotency_records'),
    intents.filter(({ done }) => done.length > 0).length,
    'what had an effect is remembered, and nothing else',
  )
  t.same(await ledgerViolations(database), [], 'the ledger balances')
  const paid = await count("orders WHERE status NOT IN ('pending', 'canceled')")
  t.ok(paid > calls / 50, `${paid} orders were paid`)
  t.comment(
    `${made} calls in ${Math.round(seconds)} s, ${cut} cut off by ${kills} kills; ${orders.length} orders, ${paid} paid, ${effects('refund').length} refunds; ${JSON.stringify(statuses)}`,
  )
  await server.end('SIGTERM')
})
