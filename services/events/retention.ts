// Event retention: deletes old events with their deliveries, and the events of deleted users.
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/events.ts'
import type { RetentionTask } from '../../infra/jobs/retention.ts'

/** Rows that one step deletes. Deliveries are the largest rows, because they contain their attempts. */
const batchSize = { events: 500, deliveries: 2000 }

/** @param options.days events are deleted after this many days. */
export function eventRetentionTasks({ days }: { days: number }): RetentionTask[] {
  return [
    { name: 'events', step: (db) => db.transaction((tx) => deleteOldEvents(tx, days)) },
    { name: 'events of deleted users', step: (db) => db.transaction(deleteEventsOfDeletedUsers) },
  ]
}

/** Deletes a batch of the events of a project, with their deliveries. */
export async function deleteProjectEvents(
  tx: Db,
  projectId: string,
): Promise<{ removed: number; more: boolean }> {
  const events = await sql.listProjectEvents(tx, { project_id: projectId, limit: batchSize.events })
  return await deleteWithDeliveries(tx, events)
}

async function deleteOldEvents(tx: Db, days: number): Promise<{ removed: number; more: boolean }> {
  const events = await sql.listOldEvents(tx, { days, limit: batchSize.events })
  const { removed, more } = await deleteWithDeliveries(tx, events)
  if (removed > 0) await sql.updateRemovedThrough(tx, { sequence: events[removed - 1].sequence })
  return { removed, more }
}

/** Deletes a batch of the events that only a deleted user could read. */
async function deleteEventsOfDeletedUsers(tx: Db): Promise<{ removed: number; more: boolean }> {
  const events = await sql.listEventsOfDeletedUsers(tx, { limit: batchSize.events })
  return await deleteWithDeliveries(tx, events)
}

/**
 * Deletes a batch of the deliveries of these events, and then the events that have no deliveries left.
 * @param events at most `batchSize.events`, in order.
 * @returns how many events were deleted, counted from the first, and whether there may be more to delete.
 */
async function deleteWithDeliveries(
  tx: Db,
  events: Array<{ id: string }>,
): Promise<{ removed: number; more: boolean }> {
  const ids = events.map(({ id }) => id)
  const { n, reached } = await sql.deleteDeliveries(tx, { event_ids: ids, limit: batchSize.deliveries })
  const deletable = n < batchSize.deliveries ? ids : ids.slice(0, reached! - 1)
  await sql.deleteEvents(tx, { ids: deletable })
  const more = deletable.length < events.length || events.length === batchSize.events
  return { removed: deletable.length, more }
}
