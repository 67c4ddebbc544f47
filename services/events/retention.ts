// Event retention: deletes old events with their deliveries, and the events of deleted users.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
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

const selectProjectEvents = statement<{ id: string }>(
  'SELECT id FROM events WHERE project_id = $1 AND sequence IS NOT NULL ORDER BY sequence LIMIT $2',
)

/** Deletes a batch of the events of a project, with their deliveries. */
export async function deleteProjectEvents(
  tx: Db,
  projectId: string,
): Promise<{ removed: number; more: boolean }> {
  return await deleteWithDeliveries(tx, await tx.sql(selectProjectEvents, [projectId, batchSize.events]))
}

// From the oldest event up to the first event that is young enough to stay, so that the log always starts at
// one sequence: the sequence does not follow created_at exactly, because concurrent events may be numbered in
// another order.
const selectOldEvents = statement<{ id: string; sequence: number }>(`
  WITH oldest AS (
    SELECT id, sequence, created_at < now() - make_interval(days => $1) AS old
    FROM events WHERE sequence > (SELECT removed_through FROM event_log) ORDER BY sequence LIMIT $2
  )
  SELECT id, sequence FROM oldest
  WHERE sequence < coalesce((SELECT min(sequence) FROM oldest WHERE NOT old), 9223372036854775807)
  ORDER BY sequence`)
const updateRemovedThrough = statement('UPDATE event_log SET removed_through = greatest(removed_through, $1)')

async function deleteOldEvents(tx: Db, days: number): Promise<{ removed: number; more: boolean }> {
  const events = await tx.sql(selectOldEvents, [days, batchSize.events])
  const { removed, more } = await deleteWithDeliveries(tx, events)
  if (removed > 0) await tx.sql(updateRemovedThrough, [events[removed - 1].sequence])
  return { removed, more }
}

const selectEventsOfDeletedUsers = statement<{ id: string }>(`
  SELECT e.id FROM users u CROSS JOIN LATERAL (
    SELECT id FROM events WHERE project_id IS NULL AND user_id = u.id AND sequence IS NOT NULL
    ORDER BY sequence LIMIT $1
  ) e WHERE u.status = 'deleted' LIMIT $1`)

/** Deletes a batch of the events that only a deleted user could read. */
async function deleteEventsOfDeletedUsers(tx: Db): Promise<{ removed: number; more: boolean }> {
  return await deleteWithDeliveries(tx, await tx.sql(selectEventsOfDeletedUsers, [batchSize.events]))
}

// Event by event, so that the first events have no deliveries left while the last event may still have some.
// `reached` is the position of the last event from which a delivery was deleted.
const deleteDeliveries = statement<{ n: number; reached: number }>(`
  WITH next AS (
    SELECT d.id, e.position FROM unnest($1::text[]) WITH ORDINALITY e (id, position)
    CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE event_id = e.id LIMIT $2) d LIMIT $2
  ), deleted AS (DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM next)))
  SELECT count(*)::int AS n, max(position)::int AS reached FROM next`)
const deleteEvents = statement('DELETE FROM events WHERE id = ANY($1)')

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
  const [{ n, reached }] = await tx.sql(deleteDeliveries, [ids, batchSize.deliveries])
  const deletable = n < batchSize.deliveries ? ids : ids.slice(0, reached - 1)
  await tx.sql(deleteEvents, [deletable])
  const more = deletable.length < events.length || events.length === batchSize.events
  return { removed: deletable.length, more }
}
