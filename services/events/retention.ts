// Event retention: deletes old events with their deliveries, and the events of deleted users.
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import type { RetentionTask } from '../../infra/jobs/retention.ts'

/** How many rows a step deletes; a delivery with its attempts is the largest row there is. */
const batchSize = { events: 500, deliveries: 2000 }

/** `days` is how long events are kept. */
export function eventRetentionTasks({ days }: { days: number }): RetentionTask[] {
  return [
    { name: 'events', step: (db) => db.transaction((tx) => removeOldEvents(tx, days)) },
    { name: 'events of deleted users', step: (db) => db.transaction(removeEventsOfDeletedUsers) },
  ]
}

const eventsOfProject = statement<{ id: string }>(
  'SELECT id FROM events WHERE project_id = $1 AND sequence IS NOT NULL ORDER BY sequence LIMIT $2',
)

/** Deletes some events of a project, with their deliveries. */
export async function removeEventsOfProject(
  tx: Db,
  projectId: string,
): Promise<{ removed: number; more: boolean }> {
  return await removeEvents(tx, await tx.sql(eventsOfProject, [projectId, batchSize.events]))
}

// From the oldest on and up to the first that is kept, so that the log begins in one place: two that were written at the
// same time may be numbered the other way round.
const oldEvents = statement<{ id: string; sequence: number }>(`
  WITH oldest AS (
    SELECT id, sequence, created_at < now() - make_interval(days => $1) AS old
    FROM events WHERE sequence > (SELECT removed_through FROM event_log) ORDER BY sequence LIMIT $2
  )
  SELECT id, sequence FROM oldest
  WHERE sequence < coalesce((SELECT min(sequence) FROM oldest WHERE NOT old), 9223372036854775807) ORDER BY sequence`)
const noteForgotten = statement('UPDATE event_log SET removed_through = greatest(removed_through, $1)')

async function removeOldEvents(tx: Db, days: number): Promise<{ removed: number; more: boolean }> {
  const events = await tx.sql(oldEvents, [days, batchSize.events])
  const { removed, more } = await removeEvents(tx, events)
  if (removed > 0) await tx.sql(noteForgotten, [events[removed - 1].sequence])
  return { removed, more }
}

const eventsOfDeletedUsers = statement<{ id: string }>(`
  SELECT e.id FROM users u CROSS JOIN LATERAL (
    SELECT id FROM events WHERE project_id IS NULL AND user_id = u.id AND sequence IS NOT NULL ORDER BY sequence LIMIT $1
  ) e WHERE u.status = 'deleted' LIMIT $1`)

/** What they alone could read, and tells of them. */
async function removeEventsOfDeletedUsers(tx: Db): Promise<{ removed: number; more: boolean }> {
  return await removeEvents(tx, await tx.sql(eventsOfDeletedUsers, [batchSize.events]))
}

// One event after the other, so that the first ones are done with while there is more of the last.
const deliveriesOfEvents = statement<{ n: number; reached: number }>(`
  WITH next AS (
    SELECT d.id, e.position FROM unnest($1::text[]) WITH ORDINALITY e (id, position)
    CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE event_id = e.id LIMIT $2) d LIMIT $2
  ), gone AS (DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM next)))
  SELECT count(*)::int AS n, max(position)::int AS reached FROM next`)
const deleteEvents = statement('DELETE FROM events WHERE id = ANY($1)')

/** Removes deliveries of events, of which `batchSize.events` were looked for, and the events that have none left: so many, from the first on. */
async function removeEvents(
  tx: Db,
  events: Array<{ id: string }>,
): Promise<{ removed: number; more: boolean }> {
  const ids = events.map(({ id }) => id)
  const [{ n, reached }] = await tx.sql(deliveriesOfEvents, [ids, batchSize.deliveries])
  const gone = n < batchSize.deliveries ? ids : ids.slice(0, reached - 1)
  await tx.sql(deleteEvents, [gone])
  return { removed: gone.length, more: gone.length < events.length || events.length === batchSize.events }
}
