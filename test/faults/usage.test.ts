// Kills server and worker with SIGKILL while usage is recorded, voided and added up. Events are sent doubled
// and out of order, and two processes add up: each event counts once. `npm run faults` kills 10 times during
// 1,000,000 events, `npm test` twice during 20,000.
import pg from 'pg'
import t from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { runRetention } from '../../infra/jobs/retention.ts'
import { usageFoldTasks } from '../../services/payments/usage/retention.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { isLongForm } from '../support/long-form.ts'
import { bootstrapKey, spawnServer, spawnWorker } from '../support/server/process.ts'
import { waitUntil } from '../support/server/wait.ts'

const total = isLongForm ? 1_000_000 : 20_000
const kills = isLongForm ? 10 : 2
const perRequest = isLongForm ? 1_000 : 500
const senders = 4
const customers = 20
const hours = 72
const aggregations = ['sum', 'count', 'max', 'last', 'unique']

/** Small pseudo-random numbers that are the same in each run. */
function generator(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** What the hours must have, from the events alone, and what they have. */
const differences = `
  WITH expected AS (
    SELECT e.meter_id, e.customer_id, date_trunc('hour', e.at, 'UTC') AS hour, e.dimensions,
      CASE m.aggregation WHEN 'sum' THEN sum(e.quantity) WHEN 'count' THEN count(*)
        WHEN 'max' THEN max(e.quantity) ELSE (array_agg(e.quantity ORDER BY e.at DESC, e.id DESC))[1] END AS q
    FROM usage_events e JOIN meters m ON m.id = e.meter_id
    WHERE e.voided_at IS NULL AND m.aggregation <> 'unique'
    GROUP BY 1, 2, 3, 4, m.aggregation
  )
  SELECT count(*) FROM expected e FULL JOIN usage_hours h USING (meter_id, customer_id, hour, dimensions)
  WHERE coalesce(e.q, 0) <> coalesce(h.quantity, 0)`
const differentValues = `
  SELECT count(*) FROM (
    SELECT DISTINCT meter_id, customer_id, date_trunc('hour', at, 'UTC') AS hour, dimensions, value, 1 AS n
    FROM usage_events WHERE value IS NOT NULL AND voided_at IS NULL) e
  FULL JOIN usage_values v USING (meter_id, customer_id, hour, dimensions, value)
  WHERE e.n IS NULL OR v.meter_id IS NULL`

t.test(`${total} events count once in spite of ${kills} kills`, { timeout: 2_300_000 }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const env = { DATABASE_URL: databaseUrl }
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  const count = async (query: string): Promise<number> => Number((await pool.query(query)).rows[0].count)

  let server = await spawnServer(t, env)
  let worker = await spawnWorker(t, env)
  /** Sends a request until it succeeds. */
  const call = async (path: string, body: object): Promise<any> => {
    for (;;) {
      const headers = { authorization: `Bearer ${bootstrapKey}`, 'content-type': 'application/json' }
      const request = { method: 'POST', headers, body: JSON.stringify(body) }
      const answer = await fetch(`${server.url}/v1/payments/${path}`, request).catch(() => null)
      const text = await answer?.text().catch(() => null)
      if (answer != null && text != null && answer.status < 300) return JSON.parse(text)
      if (answer != null && answer.status < 500 && answer.status !== 429) throw new Error(text ?? '')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  for (const aggregation of aggregations) {
    const property = aggregation === 'count' ? undefined : 'n'
    await call('meters', { key: aggregation, name: 'Use', aggregation, property, dimensions: ['region'] })
  }
  for (let i = 0; i < customers; i++) await call('customers', { external_id: `c${i}` })

  const random = generator(7)
  const start = Math.floor(Date.now() / 3_600_000 - hours) * 3_600_000
  let sum = 0
  const events = Array.from({ length: total }, (_, i) => {
    const n = random(1000)
    const meter = aggregations[i % aggregations.length]
    if (meter === 'sum') sum += n
    return {
      id: `e${i}`,
      meter,
      customer_external_id: `c${random(customers)}`,
      at: new Date(start + random(hours * 3_600_000)).toISOString(),
      properties: { n, region: `r${random(3)}` },
    }
  })
  // Three of ten are sent twice, two of ten at another place.
  const sent = events.flatMap((event) => (random(10) < 3 ? [event, event] : [event]))
  for (let i = 0; i < sent.length; i++) {
    if (random(10) >= 2) continue
    const other = random(sent.length)
    ;[sent[i], sent[other]] = [sent[other], sent[i]]
  }

  let next = 0
  let voidedSum = 0
  let voids = 0
  const send = async (): Promise<void> => {
    while (next < sent.length) {
      const batch = sent.slice(next, (next += perRequest))
      await call('usage', { events: batch })
      // Events of each aggregation are voided, some of them twice.
      for (const event of batch.filter(({ id }) => Number(id.slice(1)) % 503 === 0)) {
        const { voided_at: at, quantity } = await call(`usage/${event.id}/void`, {})
        t.ok(at !== null && (quantity === null || Number(quantity) >= 0))
      }
    }
  }
  for (const { id, meter, properties } of events) {
    if (Number(id.slice(1)) % 503 !== 0) continue
    voids++
    if (meter === 'sum') voidedSum += properties.n
  }
  // This process adds up, too, as a leader that does not know that it is none any more.
  const database = openDatabase({ url: databaseUrl, poolSize: 2 })
  t.teardown(async () => await database.close())
  const stopping = new AbortController()
  const folding = (async () => {
    while (!stopping.signal.aborted) {
      await runRetention(database, { tasks: usageFoldTasks(), leads: () => true })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const sending = Promise.all(Array.from({ length: senders }, send))
  for (let kill = 1; kill <= kills; kill++) {
    await waitUntil(() => next >= (kill * sent.length) / (kills + 1), 'the next kill', 600_000)
    if (kill % 2 === 1) {
      t.equal((await server.end('SIGKILL')).signal, 'SIGKILL')
      server = await spawnServer(t, env)
    } else {
      t.equal((await worker.end('SIGKILL')).signal, 'SIGKILL')
      worker = await spawnWorker(t, env)
    }
  }
  await sending
  await waitUntil(async () => (await count('SELECT count(*) FROM usage_deltas')) === 0, 'the sums', 600_000)
  stopping.abort()
  await folding

  t.equal(await count('SELECT count(*) FROM usage_events'), total, 'every event is stored once')
  t.equal(await count('SELECT count(*) FROM usage_events WHERE voided_at IS NOT NULL'), voids)
  t.equal(await count(differences), 0, 'the hours have what the events come to')
  t.equal(await count(differentValues), 0, 'and the different values')
  t.equal(
    await count(
      `SELECT sum(h.quantity) AS count FROM usage_hours h JOIN meters m ON m.id = h.meter_id
        WHERE m.key = 'sum'`,
    ),
    sum - voidedSum,
    'the sum is that of the events that were sent',
  )
  await Promise.all([server.end('SIGTERM'), worker.end('SIGTERM')])
})
