// Random sequences of changes of a subscription: after each, the ledger balances, and what was sold is what
// the time of the plans cost, to the minor unit. A renewal that is broken off at any statement is charged
// once, and of changes that race one wins.
import t from 'tap'
import fc from 'fast-check'
import { statement } from '../../infra/database/statements.ts'
import { moveClock } from '../../services/payments/clock.ts'
import { runDueTask } from '../../services/payments/renewals.ts'
import { isLongForm } from '../support/long-form.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { restOf } from '../support/payments/rest-of.ts'
import { startServer } from '../support/server/server.ts'
import { addPrice, advanceTo, createCatalog, subscribe } from '../support/operations/catalog-fixtures.ts'

const endConnection = statement('SELECT pg_terminate_backend(pg_backend_pid())')
const server = await startServer(t)
const catalog = await createCatalog(server)
const { database } = server.services
const admin = server.admin.client
const amounts = [1_000, 3_333, 9_999, 0]
const prices = await Promise.all(
  amounts.map((amount) =>
    addPrice(admin, catalog.product, {
      unit_amount: amount,
      recurring: { interval: 'month', interval_count: 1 },
    }),
  ),
)

interface Step {
  kind: 'change' | 'schedule' | 'cancel change' | 'pause' | 'unpause' | 'wait'
  plan: number
  quantity: number
  /** A share of the period that passes before the step. */
  share: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('change', 'change', 'schedule', 'cancel change', 'pause', 'unpause', 'wait'),
  plan: fc.nat(amounts.length - 1),
  quantity: fc.integer({ min: 1, max: 7 }),
  share: fc.double({ min: 0.01, max: 0.6, noNaN: true }),
})

/** What was sold to a customer, in minor units. */
async function revenueOf(customerId: string): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT coalesce(sum(CASE WHEN credit = 'revenue' THEN amount ELSE -amount END), 0)::int AS revenue
     FROM ledger_transfers WHERE customer_id = $1 AND 'revenue' IN (debit, credit)`,
    [customerId],
  )
  return rows[0].revenue
}

const costOf = ({ price_id: price, quantity }: any): number => amounts[prices.indexOf(price)] * quantity

async function play(steps: Step[]): Promise<void> {
  const person = await server.person()
  const { id } = await subscribe(server, person, prices[0])
  const path = `/payments/subscriptions/${id}`
  const read = async () => (await person.client.get(path)).body
  let before = await read()
  let sold = costOf(before)
  const stepBy = async ({ kind, plan, quantity, share }: Step) => {
    const whole = Date.parse(before.current_period_end) - Date.parse(before.current_period_start)
    const now = Date.parse((await admin.get('/payments/test-clock')).body.now)
    await advanceTo(server, new Date(now + whole * share))
    const renewed = await read()
    if (renewed.latest_order_id !== before.latest_order_id) sold += costOf(renewed)
    before = renewed
    if (kind === 'wait') return
    if (kind === 'pause' || kind === 'unpause') return await person.client.post(`${path}/${kind}`)
    if (kind === 'cancel change') return await person.client.post(`${path}/cancel-change`)
    const apply = kind === 'schedule' ? 'period_end' : 'now'
    return await person.client.put(path, { items: [{ price_id: prices[plan], quantity }], apply })
  }
  for (const each of steps) {
    const reply = await stepBy(each)
    if (reply !== undefined && reply.status !== 200 && reply.status !== 409) throw new Error(reply.text)
    const after = await read()
    if (each.kind === 'change' && reply?.status === 200) {
      const restarted = after.current_period_start !== before.current_period_start
      const changed = costOf(after) !== costOf(before)
      const at = restarted
        ? Date.parse(after.current_period_start)
        : changed
          ? await instantOf(id)
          : Date.parse(before.current_period_end)
      sold +=
        (restarted ? costOf(after) : restOf(costOf(after), before, at)) - restOf(costOf(before), before, at)
    }
    before = after
    const revenue = await revenueOf(after.customer_id)
    if (revenue !== sold)
      throw new Error(`sold ${sold}, in the ledger ${revenue}, after ${JSON.stringify({ each, after })}`)
    const violations = await ledgerViolations(database)
    if (violations.length > 0) throw new Error(violations.join('\n'))
  }
  await person.client.post(`${path}/cancel`, { at_period_end: false })
}

/** When the last change was made. */
async function instantOf(id: string): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT max(created_at) AS at FROM (
       SELECT created_at FROM ledger_transfers WHERE order_id = $1
       UNION ALL SELECT created_at FROM orders WHERE subscription_id = $1 AND period IS NULL) changes`,
    [id],
  )
  return rows[0].at.getTime()
}

t.test('what was sold is what the time of the plans cost', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), play), {
    numRuns: isLongForm ? 300 : 12,
    endOnFailure: !isLongForm,
  })
})

t.test('a renewal that is broken off at any statement is charged once', async (t) => {
  const person = await server.person()
  const { id } = await subscribe(server, person, prices[1])
  const { current_period_end: end } = (await person.client.get(`/payments/subscriptions/${id}`)).body
  await moveClock(database, new Date(end))
  const orders = async () =>
    (await person.client.get(`/payments/orders?subscription_id=${id}`)).body.data as any[]
  let broken = 0
  for (let n = 1; ; n++) {
    let statements = 0
    const db = {
      transaction: (work: (tx: any) => Promise<unknown>) =>
        database.transaction(async (tx) => {
          const sql = tx.sql.bind(tx)
          tx.sql = (async (...args: Parameters<typeof sql>) => {
            if (++statements === n) await sql(endConnection, [])
            return await sql(...args)
          }) as typeof tx.sql
          return await work(tx)
        }),
    }
    const failed = await runDueTask(db as never, server.services, {
      kind: 'subscription',
      id,
      at: new Date(),
    })
      .then(() => false)
      .catch(() => true)
    if (!failed) break
    broken++
    t.equal((await orders()).length, 1, `nothing remains after statement ${n}`)
  }
  t.ok(broken > 10, `${broken} statements were broken off`)
  t.match(await orders(), [{ status: 'paid', total_amount: 3_333 }, { status: 'paid' }])
  t.same(await ledgerViolations(database), [])
})

t.test('of many changes at once with one ETag, one wins each time', async (t) => {
  const person = await server.person()
  const { id } = await subscribe(server, person, prices[0])
  const path = `/payments/subscriptions/${id}`
  const [rounds, racers] = isLongForm ? [10, 100] : [2, 25]
  for (let round = 0; round < rounds; round++) {
    const etag = (await person.client.get(path)).headers.get('etag')!
    const replies = await Promise.all(
      Array.from({ length: racers }, (_, i) =>
        person.client.put(
          path,
          { items: [{ price_id: prices[0], quantity: round * racers + i + 2 }] },
          { headers: { 'if-match': etag } },
        ),
      ),
    )
    const count = (status: number) => replies.filter((reply) => reply.status === status).length
    t.equal(count(200), 1)
    t.equal(count(409) + count(412), racers - 1)
  }
  const orders = (await person.client.get(`/payments/orders?subscription_id=${id}`)).body.pagination.total
  t.equal(orders, rounds + 1, 'one order for each winner')
  t.same(await ledgerViolations(database), [])
})
