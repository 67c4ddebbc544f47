// What time makes superfluous: projects deleted 30 days ago with all that is in them, remembered answers after 24 hours,
// events and their deliveries after the days that are configured. Kind by kind and in small steps, so that no step is too
// large for its transaction, and none that fails keeps the others. Of several processes one does the work at a time.
import pg from 'pg'
import { removeDocumentsOfProject } from './ai/knowledge/knowledge-bases.ts'
import { statement, type Database, type Db } from '../infra/database/database.ts'
import { keepRecords } from './payments/detach-from-project.ts'
import { restorableDays } from './projects/projects.ts'
import { removal, removing } from '../infra/database/batch-delete.ts'

/** A kind of thing that is removed some day. */
export interface Kind {
  name: string
  /**
   * Removes some, in its own transaction and in a second or two: a stop waits for it. Where two processes do it at once, or
   * one dies in it, nothing is lost but time.
   * @returns how many are gone, and whether there is more to do.
   */
  step(db: Db): Promise<{ removed: number; more: boolean }>
}

export interface Items<T> {
  /** Some items in one order, those after the given one or the first. */
  list(db: Db, after: T | null): Promise<T[]>
  /** Removes one that may have changed or gone since it was listed, or a part of it. */
  remove(tx: Db, item: T): Promise<{ removed: number; more: boolean }>
}

/** A step of removing items one by one, each in its own transactions: one that fails is told of at the end, and keeps none of the others. */
export function oneByOne<T>({ list, remove }: Items<T>): Kind['step'] {
  let items: T[] = []
  let after: T | null = null
  let failure: unknown = null
  return async (db) => {
    if (items.length === 0) items = await list(db, after)
    const [item] = items
    if (item === undefined) {
      const told = failure
      after = failure = null
      if (told !== null) throw told
      return { removed: 0, more: false }
    }
    const { removed, more } = await db
      .transaction((tx) => remove(tx, item))
      .catch((error) => {
        failure ??= error
        return { removed: 0, more: false }
      })
    if (!more) after = items.shift()!
    return { removed, more: true }
  }
}

export interface KindsOptions {
  /** How long events are kept. Default 30. */
  eventDays?: number
}

/** What is removed at once; a row of a delivery with its attempts is the largest there is. */
const most = { answers: 5000, events: 500, deliveries: 2000, files: 1000 }

// A key that is used again after that long has its row written anew: locked, it is looked at as it is then.
const oldAnswers =
  "SELECT ctid FROM idempotency_records WHERE created_at < now() - interval '24 hours' LIMIT $1 FOR UPDATE SKIP LOCKED"

export function kindsOfWaste({ eventDays = 30 }: KindsOptions = {}): Kind[] {
  return [
    { name: 'projects', step: oneByOne({ list: listProjects, remove: removeProject }) },
    { name: 'answers', step: removing('idempotency_records', oldAnswers, most.answers, { key: 'ctid' }) },
    { name: 'events', step: (db) => db.transaction((tx) => removeOldEvents(tx, eventDays)) },
    { name: 'events of deleted users', step: (db) => db.transaction(removeEventsOfDeletedUsers) },
    { name: 'deliveries', step: (db) => db.transaction(removeDeliveries) },
  ]
}

export interface TidyOptions {
  /** Default those of this module. */
  kinds?: Kind[]
  /** Of several processes one at a time does the round of this name. */
  round?: string
  /** Ends the round after the step that is under way. */
  signal?: AbortSignal
  /** Told of each kind that failed; without it the first failure ends the round and is thrown. */
  onError?: (error: Error) => void
}

/** One round: a step of each kind, again and again until none has more. @returns how many of each were removed. */
export async function tidy(
  db: Database,
  {
    kinds = kindsOfWaste(),
    round = 'housekeeping',
    signal,
    onError = (error) => {
      throw error
    },
  }: TidyOptions = {},
): Promise<Record<string, number>> {
  const done = Object.fromEntries(kinds.map(({ name }) => [name, 0]))
  await inTurn(db, round, async () => {
    for (let left = kinds; left.length > 0;) {
      const unfinished: Kind[] = []
      for (const kind of left) {
        if (signal?.aborted) return
        try {
          const { removed, more } = await kind.step(db)
          done[kind.name] += removed
          if (more) unfinished.push(kind)
        } catch (cause) {
          onError(new Error(`housekeeping failed for the ${kind.name}`, { cause }))
        }
      }
      left = unfinished
    }
  })
  return done
}

const turn = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine'

/** Does the work unless another process is at it. The turn belongs to a connection of its own, and ends with it. */
async function inTurn(db: Database, round: string, work: () => Promise<void>): Promise<void> {
  const connection = new pg.Client(db.pool.options)
  // Whoever takes the turn then does the same work beside this one, which is allowed.
  connection.on('error', () => {})
  await connection.connect()
  try {
    const {
      rows: [{ mine }],
    } = await connection.query<{ mine: boolean }>(turn, [round])
    if (mine) await work()
  } finally {
    await connection.end()
  }
}

interface OldProject {
  id: string
  deleted_at: string
}

const over = `deleted_at < now() - interval '${restorableDays} days'`
const oldProjects = statement<OldProject>(`
  SELECT id, deleted_at FROM projects WHERE ${over} AND ($1::timestamptz IS NULL OR (deleted_at, id) > ($1, $2)) ORDER BY deleted_at, id LIMIT 100`)
const lockProject = statement<{ id: string }>(
  `SELECT id FROM projects WHERE id = $1 AND ${over} FOR UPDATE SKIP LOCKED`,
)
const eventsOfProject = statement<{ id: string }>(
  'SELECT id FROM events WHERE project_id = $1 AND sequence IS NOT NULL ORDER BY sequence LIMIT $2',
)
const filesOfProject = removal('files', 'SELECT id FROM files WHERE space_id = $1 LIMIT $2')
const deleteUsage = statement('DELETE FROM storage_usage WHERE space_id = $1')
const deleteProject = statement('DELETE FROM projects WHERE id = $1')

async function listProjects(db: Db, after: OldProject | null): Promise<OldProject[]> {
  return await db.sql(oldProjects, [after?.deleted_at ?? null, after?.id ?? null])
}

/** A project that can be restored no more, or some of its events, documents and files. */
async function removeProject(tx: Db, { id }: OldProject): Promise<{ removed: number; more: boolean }> {
  const [found] = await tx.sql(lockProject, [id])
  if (found === undefined) return { removed: 0, more: false }
  const { more } = await removeEvents(tx, await tx.sql(eventsOfProject, [found.id, most.events]))
  if (more) return { removed: 0, more }
  if (await removeDocumentsOfProject(tx, found.id)) return { removed: 0, more: true }
  const [{ n: files }] = await tx.sql(filesOfProject, [found.id, most.files])
  if (files === most.files) return { removed: 0, more: true }
  if (await keepRecords(tx, found.id)) return { removed: 0, more: true }
  await tx.sql(deleteUsage, [found.id])
  await tx.sql(deleteProject, [found.id])
  return { removed: 1, more: false }
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
  const events = await tx.sql(oldEvents, [days, most.events])
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
  return await removeEvents(tx, await tx.sql(eventsOfDeletedUsers, [most.events]))
}

// One event after the other, so that the first ones are done with while there is more of the last.
const deliveriesOfEvents = statement<{ n: number; reached: number }>(`
  WITH next AS (
    SELECT d.id, e.position FROM unnest($1::text[]) WITH ORDINALITY e (id, position)
    CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE event_id = e.id LIMIT $2) d LIMIT $2
  ), gone AS (DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM next)))
  SELECT count(*)::int AS n, max(position)::int AS reached FROM next`)
const deleteEvents = statement('DELETE FROM events WHERE id = ANY($1)')

/** Removes deliveries of events, of which `most.events` were looked for, and the events that have none left: so many, from the first on. */
async function removeEvents(
  tx: Db,
  events: Array<{ id: string }>,
): Promise<{ removed: number; more: boolean }> {
  const ids = events.map(({ id }) => id)
  const [{ n, reached }] = await tx.sql(deliveriesOfEvents, [ids, most.deliveries])
  const gone = n < most.deliveries ? ids : ids.slice(0, reached - 1)
  await tx.sql(deleteEvents, [gone])
  return { removed: gone.length, more: gone.length < events.length || events.length === most.events }
}

const deliveriesOfDeleted = removal(
  'webhook_deliveries',
  `
  SELECT d.id FROM webhook_endpoints w CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE endpoint_id = w.id LIMIT $1) d
  WHERE w.deleted_at IS NOT NULL LIMIT $1`,
)
const purgeEndpoints = statement(`
  DELETE FROM webhook_endpoints w WHERE deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)`)

/** Those of deleted endpoints, and then the endpoints. */
async function removeDeliveries(tx: Db): Promise<{ removed: number; more: boolean }> {
  const [{ n }] = await tx.sql(deliveriesOfDeleted, [most.deliveries])
  if (n < most.deliveries) await tx.sql(purgeEndpoints, [])
  return { removed: n, more: n === most.deliveries }
}

export interface HousekeepingOptions {
  kinds: Kind[]
  /** Its name, where there are several rounds, which do not wait for each other. */
  round?: string
  /** Milliseconds between two rounds. Default an hour. */
  interval?: number
  /** Milliseconds before the first, so that servers that are started often tidy too. Default a minute. */
  delay?: number
  onError?: (error: Error) => void
}

/** Tidies again and again until stopped. */
export function startHousekeeping(
  db: Database,
  { kinds, round, interval = 3_600_000, delay = 60_000, onError = () => {} }: HousekeepingOptions,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout
  const schedule = (wait: number): void => {
    timer = setTimeout(() => {
      running = tidy(db, { kinds, round, signal: stopping.signal, onError })
        .catch(onError)
        .then(() => {
          if (!stopping.signal.aborted) schedule(interval)
        })
    }, wait)
    timer.unref()
  }
  schedule(delay)
  return {
    /** Waits for no more than the step that is under way. */
    async stop() {
      clearTimeout(timer)
      stopping.abort()
      await running
    },
  }
}
