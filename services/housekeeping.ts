// What time makes superfluous: projects deleted 30 days ago with all that is in them, remembered answers after 24 hours,
// events and their deliveries after the days that are configured. Of several processes one does the work at a time.
import { statement, type Database } from './database.ts'
import { restorableDays } from './projects.ts'

const turn = statement<{ mine: boolean }>("SELECT pg_try_advisory_xact_lock(hashtextextended('housekeeping', 0)) AS mine")
const purgeProjects = statement<{ id: string }>(`
  DELETE FROM projects WHERE id IN (
    SELECT id FROM projects WHERE deleted_at < now() - interval '${restorableDays} days' ORDER BY deleted_at LIMIT 100 FOR UPDATE SKIP LOCKED
  ) RETURNING id`)
const purgeTheirEvents = statement('DELETE FROM events WHERE project_id = ANY($1) AND sequence IS NOT NULL')
const forgetAnswers = statement<{ n: number }>(`
  WITH gone AS (DELETE FROM idempotency_records WHERE (owner_id, key_digest) IN (
    SELECT owner_id, key_digest FROM idempotency_records WHERE created_at < now() - interval '24 hours' LIMIT 5000
  ) RETURNING 1) SELECT count(*)::int AS n FROM gone`)

// From the oldest on and up to the first that is kept, so that the log begins in one place: two that were written at the
// same time may be numbered the other way round.
const forgetEvents = statement<{ n: number, through: number | null }>(`
  WITH oldest AS (
    SELECT sequence, created_at < now() - make_interval(days => $1) AS old
    FROM events WHERE sequence > (SELECT removed_through FROM event_log) ORDER BY sequence LIMIT 1000
  ), gone AS (
    DELETE FROM events WHERE sequence IN (
      SELECT sequence FROM oldest WHERE sequence < coalesce((SELECT min(sequence) FROM oldest WHERE NOT old), 9223372036854775807)
    ) RETURNING sequence
  )
  SELECT count(*)::int AS n, max(sequence) AS through FROM gone`)
const noteForgotten = statement('UPDATE event_log SET removed_through = greatest(removed_through, $1)')
const purgeDeliveries = statement<{ n: number }>(`
  WITH gone AS (DELETE FROM webhook_deliveries WHERE id IN (
    SELECT d.id FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id WHERE w.deleted_at IS NOT NULL LIMIT 1000
  ) RETURNING 1) SELECT count(*)::int AS n FROM gone`)
const purgeEndpoints = statement(`
  DELETE FROM webhook_endpoints w WHERE deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)`)

/** How many of each were removed. */
export interface Tidied { projects: number, answers: number, events: number, deliveries: number }

/** One round. */
export async function tidy (db: Database, { eventDays = 30 } = {}): Promise<Tidied> {
  const done = { projects: 0, answers: 0, events: 0, deliveries: 0 }
  for (let more = true; more;) {
    more = await db.transaction(async (tx) => {
      const [{ mine }] = await tx.sql(turn, [])
      if (!mine) return false
      const projects = await tx.sql(purgeProjects, [])
      if (projects.length > 0) await tx.sql(purgeTheirEvents, [projects.map(({ id }) => id)])
      const [{ n: answers }] = await tx.sql(forgetAnswers, [])
      const [{ n: events, through }] = await tx.sql(forgetEvents, [eventDays])
      if (through !== null) await tx.sql(noteForgotten, [through])
      const [{ n: deliveries }] = await tx.sql(purgeDeliveries, [])
      if (deliveries < 1000) await tx.sql(purgeEndpoints, [])
      done.projects += projects.length
      done.answers += answers
      done.events += events
      done.deliveries += deliveries
      return projects.length === 100 || answers === 5000 || events === 1000 || deliveries === 1000
    })
  }
  return done
}

export interface HousekeepingOptions {
  eventDays: number
  /** Milliseconds between two rounds. Default an hour. */
  interval?: number
  /** Milliseconds before the first, so that servers that are started often tidy too. Default a minute. */
  delay?: number
  onError?: (error: Error) => void
}

/** Tidies again and again until stopped. */
export function startHousekeeping (db: Database, { eventDays, interval = 3_600_000, delay = 60_000, onError = () => {} }: HousekeepingOptions): { stop (): Promise<void> } {
  let running: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout
  const next = (wait: number): void => {
    timer = setTimeout(() => {
      running = tidy(db, { eventDays }).catch(onError)
      next(interval)
    }, wait)
    timer.unref()
  }
  next(delay)
  return {
    async stop () {
      clearTimeout(timer)
      await running
    }
  }
}
