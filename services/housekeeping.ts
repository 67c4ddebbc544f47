// What time makes superfluous: projects deleted 30 days ago, remembered answers after 24 hours. Of several servers one
// does the work at a time.
import { statement, type Database } from './database.ts'
import { restorableDays } from './projects.ts'

const turn = statement<{ mine: boolean }>("SELECT pg_try_advisory_xact_lock(hashtextextended('housekeeping', 0)) AS mine")
const purgeProjects = statement<{ id: string }>(`
  DELETE FROM projects WHERE id IN (
    SELECT id FROM projects WHERE deleted_at < now() - interval '${restorableDays} days' ORDER BY deleted_at LIMIT 100 FOR UPDATE SKIP LOCKED
  ) RETURNING id`)
const forgetAnswers = statement<{ n: number }>(`
  WITH gone AS (DELETE FROM idempotency_records WHERE (owner_id, key_digest) IN (
    SELECT owner_id, key_digest FROM idempotency_records WHERE created_at < now() - interval '24 hours' LIMIT 5000
  ) RETURNING 1) SELECT count(*)::int AS n FROM gone`)

/** One round. @returns how many of each were removed. */
export async function tidy (db: Database): Promise<{ projects: number, answers: number }> {
  const done = { projects: 0, answers: 0 }
  for (let more = true; more;) {
    more = await db.transaction(async (tx) => {
      const [{ mine }] = await tx.sql(turn, [])
      if (!mine) return false
      const projects = await tx.sql(purgeProjects, [])
      const [{ n }] = await tx.sql(forgetAnswers, [])
      done.projects += projects.length
      done.answers += n
      return projects.length === 100 || n === 5000
    })
  }
  return done
}

/** Tidies every `interval` milliseconds until stopped. */
export function startHousekeeping (db: Database, { interval = 3_600_000, onError = (_error: Error) => {} } = {}): { stop (): Promise<void> } {
  let running: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => { running = tidy(db).catch(onError) }, interval)
  timer.unref()
  return {
    async stop () {
      clearInterval(timer)
      await running
    }
  }
}
