// Event retention: makes the months of events and deliveries, drops the old ones, and deletes the events of
// deleted users.
import type { Db, Transaction, SqlClient } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/events.ts'
import type { RetentionTask } from '../../infra/jobs/retention.ts'

/** Rows that one step deletes. Deliveries are the largest rows, because they contain their attempts. */
const batchSize = { events: 500, deliveries: 2000 }

/** @param options.days events are kept for at least this many days; then their month is dropped. */
export function eventRetentionTasks({ days }: { days: number }): RetentionTask[] {
  return [
    { name: 'months to come', step: makeMonths },
    { name: 'months of events', step: (db) => dropOldMonth(db, days) },
    { name: 'events of deleted users', step: (db) => db.transaction(deleteEventsOfDeletedUsers) },
  ]
}

/** @throws if an event or a delivery is in no month, because `makeMonths` did not run for two months. */
export async function requireMonths(db: SqlClient): Promise<void> {
  const { filled } = await sql.defaultPartitionsHaveRows(db)
  if (filled)
    throw new Error(
      'events_default or webhook_deliveries_default has rows: months are missing, or a clock is wrong',
    )
}

async function makeMonths(db: Db): Promise<{ removed: number; more: boolean }> {
  await sql.makePartitions(db)
  await requireMonths(db)
  return { removed: 0, more: false }
}

/** Drops one month of events or deliveries. */
async function dropOldMonth(db: Db, days: number): Promise<{ removed: number; more: boolean }> {
  const { name } = await sql.dropOldPartition(db, { days })
  return { removed: name === null ? 0 : 1, more: name !== null }
}

/** Deletes a batch of the events of a project, with their deliveries. */
export async function deleteProjectEvents(
  tx: Transaction,
  projectId: string,
): Promise<{ removed: number; more: boolean }> {
  const events = await sql.listProjectEvents(tx, { project_id: projectId, limit: batchSize.events })
  return await deleteWithDeliveries(tx, events)
}

/** Deletes a batch of the events that only a deleted user could read. */
async function deleteEventsOfDeletedUsers(tx: Transaction): Promise<{ removed: number; more: boolean }> {
  const events = await sql.listEventsOfDeletedUsers(tx, { limit: batchSize.events })
  return await deleteWithDeliveries(tx, events)
}

/**
 * Deletes a batch of the deliveries of these events, and then the events that have no deliveries left.
 * @param events at most `batchSize.events`, in order.
 * @returns how many events were deleted, counted from the first, and whether there may be more to delete.
 */
async function deleteWithDeliveries(
  tx: Transaction,
  events: Array<{ id: string }>,
): Promise<{ removed: number; more: boolean }> {
  const ids = events.map(({ id }) => id)
  const { n, reached } = await sql.deleteDeliveries(tx, { event_ids: ids, limit: batchSize.deliveries })
  const deletable = n < batchSize.deliveries ? ids : ids.slice(0, reached! - 1)
  await sql.deleteEvents(tx, { ids: deletable })
  const more = deletable.length < events.length || events.length === batchSize.events
  return { removed: deletable.length, more }
}
