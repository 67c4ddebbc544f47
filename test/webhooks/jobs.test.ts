// The job of a delivery, which a statement adds for many events, is as one that the queue adds.
import t from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { createWebhookEndpoint } from '../support/database/db-fixtures.ts'
import { whenDelivered } from '../support/server/changes.ts'
import { startServer } from '../support/server/server.ts'

// Leaves out the ids and times, which differ between any two jobs.
const jobs = statement<{ job: Record<string, unknown> }>(`
  SELECT to_jsonb(j) - ARRAY['id', 'due_at']
    || jsonb_build_object('data', j.data - 'delivery_id', 'due', j.due_at <= now()) AS job
  FROM jobs j WHERE j.queue = 'webhook-deliveries' AND j.group_id = $1 ORDER BY j.due_at`)
const setFailing = statement(
  "UPDATE webhook_endpoints SET failing_since = now() - interval '1 hour' WHERE id = $1",
)
const disable = statement('UPDATE webhook_endpoints SET enabled = false WHERE id = $1')

t.test('the job of an event is as one that the queue adds', async (t) => {
  const server = await startServer(t, { env: { WORKER: 'false' } })
  const { database, deliveries } = server.services
  const person = await server.person()
  const jobsOf = async (id: string) => (await database.sql(jobs, [id])).map(({ job }) => job)
  for (const lane of [undefined, 'failing']) {
    const id = await createWebhookEndpoint(server, person.id)
    if (lane !== undefined) await database.sql(setFailing, [id])
    await person.client.post('/projects', { name: 'Launch' })
    await whenDelivered(database.pool)
    await database.transaction((tx) =>
      deliveries.add(tx, [{ data: { delivery_id: 'whd_x' }, group: id, lane }]),
    )
    const found = await jobsOf(id)
    t.equal(found.length, 2)
    t.same(found[0], found[1], lane ?? 'the first lane')
    await database.sql(disable, [id])
  }
})
