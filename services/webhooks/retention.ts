// Webhook retention: deletes the deliveries of deleted endpoints, and then the endpoints.
import type { Db } from '../../infra/database/database.ts'
import { deleteStatement } from '../../infra/database/batch-delete.ts'
import { statement } from '../../infra/database/statements.ts'
import type { RetentionTask } from '../../infra/jobs/retention.ts'

/** Deliveries that one step deletes. */
const batchSize = 2000

export function webhookRetentionTasks(): RetentionTask[] {
  return [{ name: 'deliveries', step: (db) => db.transaction(deleteDeliveries) }]
}

const deleteDeliveriesOfDeletedEndpoints = deleteStatement(
  'webhook_deliveries',
  `
  SELECT d.id FROM webhook_endpoints w
  CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE endpoint_id = w.id LIMIT $1) d
  WHERE w.deleted_at IS NOT NULL LIMIT $1`,
)
const deleteEndpoints = statement(`
  DELETE FROM webhook_endpoints w WHERE deleted_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)`)

/** Deletes the deliveries of deleted endpoints, and then the endpoints without deliveries. */
async function deleteDeliveries(tx: Db): Promise<{ removed: number; more: boolean }> {
  const [{ n }] = await tx.sql(deleteDeliveriesOfDeletedEndpoints, [batchSize])
  if (n < batchSize) await tx.sql(deleteEndpoints, [])
  return { removed: n, more: n === batchSize }
}
