// Webhook retention: deletes the deliveries of deleted endpoints, and then the endpoints.
import * as sql from '../../generated/sql/webhooks.ts'
import type { Transaction } from '../../infra/database/database.ts'
import type { RetentionTask } from '../../infra/jobs/retention.ts'

/** Deliveries that one step deletes. */
const batchSize = 2000

export function webhookRetentionTasks(): RetentionTask[] {
  return [{ name: 'deliveries', step: (db) => db.transaction(deleteDeliveries) }]
}

/** Deletes the deliveries of deleted endpoints, and then the endpoints without deliveries. */
async function deleteDeliveries(tx: Transaction): Promise<{ removed: number; more: boolean }> {
  const { n } = await sql.deleteDeliveriesOfDeletedEndpoints(tx, { limit: batchSize })
  if (n < batchSize) await sql.deleteEndpoints(tx)
  return { removed: n, more: n === batchSize }
}
