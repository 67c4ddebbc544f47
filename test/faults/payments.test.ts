// Random concurrent and repeated calls that create, pay, refund and cancel, while the server is killed
// repeatedly. Each Idempotency-Key has one effect, and the ledger balances. `npm run faults` makes 10,000
// calls with 20 kills, `npm test` 200 with 1.
import t from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { createClient, type Client, type Reply } from '../support/http/client.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { bootstrapKey, spawnServer, type ServerProcess } from '../support/server/process.ts'
import {
  answerConfirmation,
  cards,
  createCatalog,
  pages,
  payWithCard,
} from '../support/operations/catalog-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const { calls, kills } = isLongForm ? { calls: 10_000, kills: 20 } : { calls: 200, kills: 1 }
const callers = 12

type Kind = 'order' | 'session' | 'purchase' | 'refund' | 'cancel' | 'expire'

/** A request that must have one effect, however often it is sent. */
interface RepeatableRequest {
  key: string
  kind: Kind
  path: string
  body: object
  /** The successful replies. */
  done: any[]
  /** Whether every call got a final reply. */
  answered: boolean
}

/** Of `fetch`, or of the test client. */
function isBrokenConnection(error: unknown): boolean {
  if (error instanceof TypeError) return true
  const { code } = error as { code?: unknown }
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(String(code))
}

t.test(`${calls} calls and ${kills} times kill -9`, { timeout: 2_400_000 }, async (t) => {
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
  const catalog = await createCatalog({ admin: { client } as never })

  const requests: RepeatableRequest[] = []
  const orders: string[] = []
  const sessions: string[] = []
  const orderOf = new Map<string, string>()
  /** Orders that may be paid. */
  const touched: string[] = []
  const statuses: Record<string, number> = {}
  let made = 0
  let broken = 0
  const any = <T>(things: T[]): T => things[Math.floor(Math.random() * things.length)]
  // Prefers recent objects: older ones are in final states.
  const recent = (things: string[]): string =>
    things[Math.max(0, things.length - 1 - Math.floor(Math.random() * 30))]

  /** Makes a call; undefined if the connection broke because the server was killed. */
  async function attempt(what: string, call: () => Promise<Reply>): Promise<Reply | undefined> {
    await up
    made++
    try {
      const reply = await call()
      const gist = `${what} ${reply.status}`
      statuses[gist] = (statuses[gist] ?? 0) + 1
      return reply
    } catch (error) {
      if (!isBrokenConnection(error)) throw error
      broken++
      return undefined
    }
  }

  async function send(request: RepeatableRequest): Promise<void> {
    const { kind, path, body, key } = request
    const reply = await attempt(kind, () => client.post(path, body, { headers: { 'idempotency-key': key } }))
    if (
      reply === undefined ||
      reply.status === 503 ||
      (reply.status === 409 && reply.body.error.details.constraint === 'in_progress')
    )
      request.answered = false
    else if (reply.status < 300) {
      if (request.done.push(reply.body) > 1) return
      if (kind === 'order') orders.push(reply.body.id)
      if (kind === 'purchase') orders.push(reply.body.order_id)
      if (kind === 'session' || kind === 'purchase') {
        sessions.push(reply.body.id)
        orderOf.set(reply.body.id, reply.body.order_id)
      }
    } else if (![400, 409].includes(reply.status))
      throw new Error(`${kind} returned ${reply.status}: ${reply.text}`)
  }

  function newRequest(kind: Kind, path: string, body: object): RepeatableRequest {
    const request: RepeatableRequest = {
      key: `${kind}-${requests.length}`,
      kind,
      path: `/payments/${path}`,
      body,
      done: [],
      answered: true,
    }
    requests.push(request)
    return request
  }

  async function step(): Promise<void> {
    const dice = Math.random()
    if (dice < 0.12 || orders.length === 0)
      return await send(
        newRequest('order', 'orders', {
          items: [{ price_id: catalog.price, quantity: 1 + Math.floor(Math.random() * 3) }],
        }),
      )
    if (dice < 0.24 || sessions.length === 0)
      return await send(
        newRequest('purchase', 'checkout', { items: [{ price_id: catalog.price }], ...pages }),
      )
    if (dice < 0.34)
      return await send(newRequest('session', 'checkout', { order_id: recent(orders), ...pages }))
    if (dice < 0.56) return await times(1 + Math.floor(Math.random() * 3), payRecent)
    if (dice < 0.62) return await confirmRecent()
    if (dice < 0.76) {
      const order = recent(touched.length > 0 && Math.random() < 0.9 ? touched : orders)
      return await send(
        newRequest(
          'refund',
          `orders/${order}/refunds`,
          Math.random() < 0.3 ? {} : { amount: 1 + Math.floor(Math.random() * 1500) },
        ),
      )
    }
    if (dice < 0.81) return await send(newRequest('cancel', `orders/${recent(orders)}/cancel`, {}))
    if (dice < 0.85) return await send(newRequest('expire', `checkout/${recent(sessions)}/expire`, {}))
    // Repeat an earlier request, several times at once.
    const again = any(requests.slice(-200))
    await times(1 + Math.floor(Math.random() * 3), () => send(again))
  }

  async function times(count: number, work: () => Promise<unknown>): Promise<void> {
    await Promise.all(Array.from({ length: count }, work))
  }

  async function payRecent(): Promise<void> {
    const session = recent(sessions)
    const card = any(Object.values(cards))
    await attempt('pay', () => payWithCard(server, session, card))
    if (card === cards.succeeds) touched.push(orderOf.get(session)!)
  }

  /** Pays with a card that needs confirmation, then confirms. Both calls may break or come too late. */
  async function confirmRecent(): Promise<void> {
    const session = recent(sessions)
    if ((await attempt('pay', () => payWithCard(server, session, cards.needsConfirmation))) === undefined)
      return
    if (!/name="payment"/.test((await attempt('look', () => client.get(`/pay/${session}`)))?.text ?? ''))
      return
    await attempt('confirm', () => answerConfirmation(server, session, 'confirm'))
  }

  // The dice pay a few orders in most runs only.
  await send(newRequest('purchase', 'checkout', { items: [{ price_id: catalog.price }], ...pages }))
  await attempt('pay', () => payWithCard(server, sessions[0], cards.succeeds))

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

  // Repeat every request without a final reply.
  for (
    let left = requests.filter(({ answered }) => !answered);
    left.length > 0;
    left = left.filter(({ answered }) => !answered)
  ) {
    for (const request of left) {
      request.answered = true
      await send(request)
    }
  }
  const underWay = statement<{ n: number }>(
    "SELECT count(*)::int AS n FROM payments WHERE status IN ('processing', 'returning')",
  )
  await waitUntil(async () => (await database.sql(underWay, []))[0].n === 0, 'the slow payments')

  const effects = (kind: Kind): RepeatableRequest[] =>
    requests.filter((request) => request.kind === kind && request.done.length > 0)
  const count = async (text: string, what = 'count(*)::int'): Promise<number> =>
    (await database.sql<{ n: number }>({ text: `SELECT ${what} AS n FROM ${text}` }, []))[0].n
  for (const { key, done } of requests)
    t.same(new Set(done.map(({ id }) => id)).size, Math.min(1, done.length), `${key} has one effect`)
  for (const { key, done } of effects('refund'))
    t.same(
      done.slice(1),
      done.slice(1).map(() => done[0]),
      `${key} always gets the same reply`,
    )
  t.equal(
    await count('orders'),
    effects('order').length + effects('purchase').length,
    'one order per successful Idempotency-Key',
  )
  t.equal(await count('checkouts'), effects('session').length + effects('purchase').length)
  t.equal(await count('refunds'), effects('refund').length)
  t.equal(
    await count('refunds', 'coalesce(sum(amount), 0)::bigint'),
    effects('refund').reduce((sum, { done }) => sum + done[0].amount, 0),
    'the refunded amount',
  )
  // An order that is canceled already, or a session that is expired, is answered as by the first request.
  const of = (kind: Kind): Set<string> => new Set(effects(kind).map(({ done }) => done[0].id))
  const own = of('purchase')
  const ofExpired = [...of('expire')].filter((id) => own.has(id)).map((id) => orderOf.get(id)!)
  t.equal(await count("orders WHERE status = 'canceled'"), new Set([...of('cancel'), ...ofExpired]).size)
  t.equal(
    await count('idempotency_records'),
    requests.filter(({ done }) => done.length > 0).length,
    'one idempotency record per effect',
  )
  t.same(await ledgerViolations(database), [], 'the ledger balances')
  const paid = await count("orders WHERE status NOT IN ('pending', 'canceled')")
  t.ok(paid > 0, `${paid} orders were paid`)
  t.comment(
    `${made} calls in ${Math.round(seconds)} s, ${broken} broken by ${kills} kills; ` +
      `${orders.length} orders, ${paid} paid, ${effects('refund').length} refunds; ` +
      JSON.stringify(statuses),
  )
  await server.end('SIGTERM')
})
