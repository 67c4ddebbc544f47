// Financial records survive project deletion and move to their owner; subscriptions are canceled. Database
// triggers guarantee this for every deletion. This module detaches the records in batches, so that large
// projects take no long transaction.
import type { Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'

const batchSize = 1_000
// The lock order of settle.ts.
const detachBatches = [
  sql.detachSubscriptions,
  sql.detachOrders,
  sql.detachCheckouts,
  sql.detachPayments,
  sql.detachRefunds,
  sql.detachDisputes,
]

/** Detaches a batch of financial records from a project. @returns true if there may be more. */
export async function detachFromProject(tx: Transaction, projectId: string): Promise<boolean> {
  for (const detachBatch of detachBatches) {
    const { n } = await detachBatch(tx, { project_id: projectId, limit: batchSize })
    if (n === batchSize) return true
  }
  return false
}
