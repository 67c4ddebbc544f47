// Kills server and worker with SIGKILL while events are written and delivered. Every event reaches every
// endpoint at least once, and at most the running deliveries arrive twice. `npm run faults` kills 20 times
// during 5,000 events, `npm test` once during 60.
import { createServer } from 'node:http'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/database/database.ts'
import {
  bootstrapKey,
  spawnServer,
  spawnWorker,
  type ServerProcess,
  type WorkerProcess,
} from '../support/server/process.ts'
import { waitUntil } from '../support/server/wait.ts'
import { listen } from '../support/http/listen.ts'
import { isLongForm } from '../support/long-form.ts'

const kills = isLongForm ? 20 : 1
const events = isLongForm ? 5_000 : 60
const endpoints = 3
const writers = 8

/** The number of received requests by endpoint and event. */
async function receiver(t: Test): Promise<{ url: string; got: Map<string, number> }> {
  const got = new Map<string, number>()
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const what = `${request.url} ${request.headers['webhook-id']}`
      got.set(what, (got.get(what) ?? 0) + 1)
      // Responds after a short delay, so that some deliveries are always running.
      setTimeout(() => response.end('thanks'), 5 + Math.random() * 20)
    })
  })
  const port = await listen(t, server)
  return { url: `http://127.0.0.1:${port}`, got }
}

t.test(
  `${events} events reach ${endpoints} endpoints in spite of ${kills} kills`,
  { timeout: 540_000 },
  async (t) => {
    const { url: databaseUrl } = await createTestDatabase(t)
    const { url: receiverUrl, got } = await receiver(t)
    const env = { DATABASE_URL: databaseUrl, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' }
    const database = new pg.Pool({ connectionString: databaseUrl, max: 2 })
    database.on('error', () => {})
    t.teardown(() => database.end())
    const count = async (query: string): Promise<number> =>
      Number((await database.query(query)).rows[0].count)

    let server: ServerProcess = await spawnServer(t, env)
    let worker: WorkerProcess = await spawnWorker(t, env)
    const call = async (method: string, path: string, body?: unknown, key?: string): Promise<Response> =>
      await fetch(`${server.url}/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${bootstrapKey}`,
          'content-type': 'application/json',
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      })
    for (let i = 0; i < endpoints; i++) {
      const made = await call('POST', '/webhooks/endpoints', {
        url: `${receiverUrl}/${i}`,
        event_types: ['project.created'],
      })
      t.equal(made.status, 201)
    }

    let written = 0
    let next = 0
    const write = async (): Promise<void> => {
      while (next < events) {
        const name = `event ${next++}`
        // Repeats the request with the same Idempotency-Key until it succeeds, so the event is written once.
        for (;;) {
          const answer = await call('POST', '/projects', { name }, name.replace(' ', '-')).catch(() => null)
          await answer?.text().catch(() => {})
          if (answer?.status === 201) break
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        written++
      }
    }
    const writing = Promise.all(Array.from({ length: writers }, write))

    let underWay = 0
    for (let kill = 1; kill <= kills; kill++) {
      await waitUntil(
        () => written >= Math.min(events - 1, (kill * events) / (kills + 2)),
        'the next kill',
        120_000,
      )
      // The worker, both or the server; in a short run both.
      const who = isLongForm ? kill % 3 : 2
      const dead = await Promise.all([
        ...(who === 1 ? [] : [server.end('SIGKILL')]),
        ...(who === 0 ? [] : [worker.end('SIGKILL')]),
      ])
      t.ok(dead.every(({ signal }) => signal === 'SIGKILL'))
      // Jobs that were fetched and not completed: their requests were sent or are about to be.
      underWay += await count(
        "SELECT count(*) FROM jobs WHERE queue = 'webhook-deliveries' AND fetches > 0 AND due_at > now()",
      )
      // Both processes are dead. Their jobs expire now instead of in 30 s.
      if (!isLongForm) await database.query('UPDATE jobs SET due_at = now() WHERE fetches > 0')
      if (who !== 1) server = await spawnServer(t, env)
      if (who !== 0) worker = await spawnWorker(t, env)
    }
    await writing
    await waitUntil(
      async () => (await count("SELECT count(*) FROM webhook_deliveries WHERE status = 'pending'")) === 0,
      'all events to be delivered',
      240_000,
    )

    const ids = (
      await database.query(
        "SELECT e.id FROM events e JOIN projects p ON p.id = e.project_id WHERE e.type = 'project.created'",
      )
    ).rows.map(({ id }) => id as string)
    t.equal(await count('SELECT count(*) FROM projects'), events, 'every write was applied once')
    t.equal(ids.length, events, 'and emitted one event')
    t.equal(
      await count("SELECT count(*) FROM webhook_deliveries WHERE status = 'succeeded'"),
      events * endpoints,
    )
    const missing = ids
      .flatMap((id) => Array.from({ length: endpoints }, (_, i) => `/${i} ${id}`))
      .filter((what) => !got.has(what))
    t.same(missing, [], 'every event reached every endpoint')
    const extras = [...got.values()].reduce((sum, times) => sum + times - 1, 0)
    t.ok(extras <= underWay, `${extras} deliveries arrived twice, ${underWay} were running at the kills`)
    t.equal(
      await count("SELECT count(*) FROM jobs WHERE queue = 'webhook-deliveries'"),
      0,
      'the queue is empty',
    )
    const {
      rows: [{ gaps }],
    } = await database.query('SELECT max(sequence) - count(*) AS gaps FROM events')
    t.equal(Number(gaps), 0, 'the log has no gaps')
    t.comment(
      `${events} events to ${endpoints} endpoints, ${kills} kills: none lost; ` +
        `${extras} of the ${underWay} running deliveries arrived twice`,
    )

    const before = got.size
    const started = performance.now()
    t.equal((await call('POST', '/projects', { name: 'idle' })).status, 201)
    await waitUntil(() => got.size > before, 'the first delivery of an idle system')
    t.comment(`the first delivery of an idle system came after ${Math.round(performance.now() - started)} ms`)

    // The lock holds up the deliveries of an event that is numbered, until both processes are dead.
    const lock = await database.connect()
    await lock.query('BEGIN')
    await lock.query('LOCK TABLE webhook_deliveries IN SHARE MODE')
    t.equal((await call('POST', '/projects', { name: 'between' })).status, 201)
    const undelivered = 'SELECT count(*) FROM event_log WHERE delivered_sequence < last_sequence'
    await waitUntil(async () => (await count(undelivered)) === 1, 'the event to be numbered')
    await Promise.all([server.end('SIGKILL'), worker.end('SIGKILL')])
    await lock.query('ROLLBACK')
    lock.release()
    server = await spawnServer(t, env)
    worker = await spawnWorker(t, env)
    await waitUntil(() => got.size === before + 2 * endpoints, 'the deliveries of the numbered event', 60_000)
    await Promise.all([server.end('SIGTERM'), worker.end('SIGTERM')])
  },
)
