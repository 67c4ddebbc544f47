// Merges the changes of the sales counts.
import * as sql from '../../generated/sql/payments.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'

const changesPerStep = 5000

export function salesCountTasks(): RetentionTask[] {
  return [{ name: 'sales counts', step: deleteBatch(sql.mergeSalesCounts, changesPerStep) }]
}
