// Webhook retention: deletes the deliveries of deleted endpoints, and then the endpoints.
import { deleteStatement } from '../../infra/database/batch-delete.ts'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import type { RetentionTask } from '../../infra/jobs/retention.ts'

/** How many deliveries a step deletes. */
const batchSize = 2000

export function webhookRetentionTasks(): RetentionTask[] {
  return [{ name: 'deliveries', step: (db) => db.transaction(removeDeliveries) }]
}

const deliveriesOfDeleted = deleteStatement(
  'webhook_deliveries',
  `
  SELECT d.id FROM webhook_endpoints w CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE endpoint_id = w.id LIMIT $1) d
  WHERE w.deleted_at IS NOT NULL LIMIT $1`,
)
const purgeEndpoints = statement(`
  DELETE FROM webhook_endpoints w WHERE deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)`)

/** Those of deleted endpoints, and then the endpoints. */
async function removeDeliveries(tx: Db): Promise<{ removed: number; more: boolean }> {
  const [{ n }] = await tx.sql(deliveriesOfDeleted, [batchSize])
  if (n < batchSize) await tx.sql(purgeEndpoints, [])
  return { removed: n, more: n === batchSize }
}
