// The retention tasks of all domains, in the order in which they run.
import * as sql from '../../generated/sql/idempotency.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import { eventRetentionTasks } from '../events/retention.ts'
import { projectRetentionTasks } from './purge-project.ts'
import { projectCountTasks } from '../projects/counts.ts'
import { quotaCountTasks } from '../users/quotas.ts'
import { reachedLimitTasks } from '../events/reached-limits.ts'
import { webhookRetentionTasks } from '../webhooks/retention.ts'

export interface RetentionTasksOptions {
  /** How many days events are kept. Default 30. */
  eventDays?: number
}

const idempotencyRecordsPerStep = 5000

/** Tasks for projects, idempotency records, events and webhooks. */
export function coreRetentionTasks({ eventDays = 30 }: RetentionTasksOptions = {}): RetentionTask[] {
  return [
    ...projectRetentionTasks(),
    { name: 'answers', step: deleteBatch(sql.deleteOldRecords, idempotencyRecordsPerStep) },
    ...reachedLimitTasks(),
    ...eventRetentionTasks({ days: eventDays }),
    ...webhookRetentionTasks(),
  ]
}

/** Adds the changes of counters to their totals. */
export function countTasks(): RetentionTask[] {
  return [...quotaCountTasks(), ...projectCountTasks()]
}
