// Adds recorded usage to that of its hours, and deletes what is old or of deleted customers.
import * as sql from '../../../generated/sql/metering.ts'
import { deleteBatch, type RetentionTask } from '../../../infra/jobs/retention.ts'

const deltasPerStep = 5_000
const rowsPerStep = 5_000

/** Adds up what requests have recorded since the last round. One process at a time does. */
export function usageFoldTasks(): RetentionTask[] {
  return [
    {
      name: 'recorded usage',
      step: async (db) =>
        await db.transaction(async (tx) => {
          if (!(await sql.tryLockFold(tx)).locked) return { removed: 0, more: false }
          const { n } = await sql.foldDeltas(tx, { limit: deltasPerStep })
          return { removed: n, more: n === deltasPerStep }
        }),
    },
  ]
}

/** @param options.eventDays events are kept for this many days after their time. */
export function meterRetentionTasks({ eventDays }: { eventDays: number }): RetentionTask[] {
  return [
    {
      name: 'events of usage',
      step: deleteBatch((db, { limit }) => sql.deleteOldEvents(db, { days: eventDays, limit }), rowsPerStep),
    },
    { name: 'hours of usage', step: deleteBatch(sql.deleteOldHours, rowsPerStep) },
    { name: 'values of usage', step: deleteBatch(sql.deleteOldValues, rowsPerStep) },
    {
      name: 'usage of deleted customers',
      step: async (db) =>
        await db.transaction(async (tx) => {
          if (!(await sql.tryLockFold(tx)).locked) return { removed: 0, more: false }
          const { n, more } = await sql.deleteForgotten(tx, { limit: rowsPerStep })
          return { removed: n, more }
        }),
    },
  ]
}
