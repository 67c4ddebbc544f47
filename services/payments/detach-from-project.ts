// Financial records survive project deletion and move to their owner; subscriptions are canceled. Database
// triggers guarantee this for every deletion. This module detaches the records in batches, so that large
// projects take no long transaction.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'

const batchSize = 1_000
// The lock order of settle.ts.
const tables = ['subscriptions', 'orders', 'checkouts']
const detachBatches = tables.map((table) =>
  statement<{ n: number }>(`
  WITH detached AS (
    UPDATE ${table} SET project_id = NULL
    WHERE id = ANY(ARRAY(SELECT id FROM ${table} WHERE project_id = $1 LIMIT ${batchSize})) RETURNING 1
  ) SELECT count(*)::int AS n FROM detached`),
)

/** Detaches a batch of financial records from a project. @returns true if there may be more. */
export async function detachFromProject(tx: Db, projectId: string): Promise<boolean> {
  for (const detachBatch of detachBatches) {
    const [{ n }] = await tx.sql(detachBatch, [projectId])
    if (n === batchSize) return true
  }
  return false
}
