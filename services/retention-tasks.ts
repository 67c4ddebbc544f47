// The retention tasks of all domains, in the order in which they run.
import { deleteBatchStep } from '../infra/database/batch-delete.ts'
import type { RetentionTask } from '../infra/jobs/retention.ts'
import { deleteDocumentsOfFiles } from './ai/knowledge/documents.ts'
import { eventRetentionTasks } from './events/retention.ts'
import { projectRetentionTasks } from './project-purge.ts'
import { expiryTasks, type StorageRetention } from './storage/retention.ts'
import { webhookRetentionTasks } from './webhooks/retention.ts'

export interface RetentionTasksOptions {
  /** How many days events are kept. Default 30. */
  eventDays?: number
}

const idempotencyRecordsPerStep = 5000

// FOR UPDATE reads the latest version of a row: a request that reuses the key after 24 hours updates it.
const oldIdempotencyRecords = `
  SELECT ctid FROM idempotency_records WHERE created_at < now() - interval '24 hours'
  LIMIT $1 FOR UPDATE SKIP LOCKED`

/** Tasks for projects, idempotency records, events and webhooks. */
export function coreRetentionTasks({ eventDays = 30 }: RetentionTasksOptions = {}): RetentionTask[] {
  return [
    ...projectRetentionTasks(),
    {
      name: 'answers',
      step: deleteBatchStep('idempotency_records', oldIdempotencyRecords, idempotencyRecordsPerStep, {
        key: 'ctid',
      }),
    },
    ...eventRetentionTasks({ days: eventDays }),
    ...webhookRetentionTasks(),
  ]
}

/** Deletes expired files and uploads. Documents that were created from a file are deleted before the file. */
export function fileExpiryTasks({ storage, events }: StorageRetention): RetentionTask[] {
  return expiryTasks({
    storage,
    events,
    deleteDocuments: (tx, fileId) => deleteDocumentsOfFiles(tx, events, [fileId]),
  })
}
