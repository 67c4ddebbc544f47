// Two servers and a worker on one database: each delivery is sent by exactly one process, and every process
// sends some.
import t from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { openReceiver } from '../support/http/receiver.ts'
import { spawnWorker } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { jobMisfits, startWorkingServer } from '../support/server/working-server.ts'

t.test('two servers and a worker share the deliveries, and none is sent twice', async (t) => {
  const env = { WEBHOOK_CONCURRENCY: '5' }
  const sent = { first: 0, second: 0 }
  const first = await startWorkingServer(t, { env, sends: false })
  const {
    admin,
    databaseUrl,
    services: { database },
  } = first
  const second = await startServer(t, { env, databaseUrl })
  await first.work({
    onSent: () => {
      sent.first++
    },
  })
  await first.work({
    services: second.services,
    onSent: () => {
      sent.second++
    },
  })
  await spawnWorker(t, { ...env, DATABASE_URL: databaseUrl, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' })

  const receiver = await openReceiver(t, {
    answer: () => ({ when: new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20)) }),
  })
  const ids: string[] = []
  for (let i = 0; i < 4; i++) {
    const { body } = await admin.client.post('/webhooks/endpoints', {
      url: `${receiver.url}/${i}`,
      event_types: ['project.created'],
    })
    ids.push(body.id)
  }
  let written = 0
  const byWorker = (): number => receiver.received.length - sent.first - sent.second
  // Responds when every process has had time to fetch jobs.
  const all = (): boolean => written >= 30 && Math.min(sent.first, sent.second, byWorker()) >= 5
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!all() && written < 2_000) {
        written++
        await admin.client.post('/projects', { name: 'shared' })
      }
    }),
  )
  await waitUntil(() => receiver.received.length >= written * ids.length, 'everything')
  await waitUntil(
    async () =>
      (
        await database.sql(
          statement<{ n: number }>(
            "SELECT count(*)::int AS n FROM webhook_deliveries WHERE status = 'pending'",
          ),
          [],
        )
      )[0].n === 0,
    'its record',
  )
  t.comment(
    `${written * ids.length} deliveries: ${sent.first} by the first server, ${sent.second} by the second, ` +
      `${byWorker()} by the worker`,
  )
  t.ok(Math.min(sent.first, sent.second, byWorker()) > 0, 'every process sent some')
  t.equal(receiver.received.length, written * ids.length, 'none was lost or sent twice')
  t.equal(
    new Set(receiver.received.map(({ path, headers }) => `${path} ${headers['webhook-id']}`)).size,
    written * ids.length,
  )
  t.same(
    await database.sql(
      statement(
        `SELECT status::text, jsonb_array_length(attempts) AS attempts, count(*)::int AS n
         FROM webhook_deliveries GROUP BY 1, 2`,
      ),
      [],
    ),
    [{ status: 'succeeded', attempts: 1, n: written * ids.length }],
  )
  t.same(await jobMisfits(first), [])
  t.same(first.errors, [])
})
