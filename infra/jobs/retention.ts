// Data retention: runs the tasks that delete expired rows. Tasks run in small steps, so that no transaction
// becomes large, and a failing task does not stop the others. An advisory lock lets one process at a time run
// a round.
import type { Database, Db, Transaction } from '../database/database.ts'

/** Deletes one kind of expired rows. */
export interface RetentionTask {
  /** The name of the deleted things, as a plural, for errors and results. */
  name: string
  /**
   * Deletes a batch in its own transaction within a second or two, because a shutdown waits for it. Two
   * processes may run the same step at once.
   * @returns the number of deleted items, and whether there is more to delete.
   */
  step(db: Db): Promise<{ removed: number; more: boolean }>
}

/** A step that deletes at most `limit` rows with one statement, which returns their number `n`. */
export function deleteBatch(
  deleteRows: (db: Db, parameters: { limit: number }) => Promise<{ n: number }>,
  limit: number,
): RetentionTask['step'] {
  return async (db) => {
    const { n } = await deleteRows(db, { limit })
    return { removed: n, more: n === limit }
  }
}

export interface DeleteEachOptions<T> {
  /** A page of items in a fixed order: those after `after`, or the first. */
  list(db: Db, after: T | null): Promise<T[]>
  /** Deletes an item, or a part of it. The item may have changed or been deleted since it was listed. */
  remove(tx: Transaction, item: T): Promise<{ removed: number; more: boolean }>
}

/**
 * A step that deletes items one by one, each in its own transactions. An item that fails is skipped; the
 * first error is thrown at the end of the list.
 */
export function deleteEach<T>({ list, remove }: DeleteEachOptions<T>): RetentionTask['step'] {
  let items: T[] = []
  let after: T | null = null
  let failure: unknown = null
  return async (db) => {
    if (items.length === 0) items = await list(db, after)
    const [item] = items
    if (item === undefined) {
      const firstError = failure
      after = failure = null
      if (firstError !== null) throw firstError
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

export interface RetentionRunOptions {
  tasks: RetentionTask[]
  /** The name of the round's lock: one process at a time runs a round with this name. */
  round?: string
  /** Whether this process leads: then it runs the round, without a lock. */
  leads?: () => boolean
  /** Ends the round after the current step. */
  signal?: AbortSignal
  /**
   * Called with the error of each task that failed. By default the first error ends the round and is thrown.
   */
  onError?: (error: Error) => void
}

/**
 * Runs one step of each task in turn until no task has more to delete. @returns the number of deletions by
 * task.
 */
export async function runRetention(
  db: Database,
  {
    tasks,
    round = 'housekeeping',
    leads,
    signal,
    onError = (error) => {
      throw error
    },
  }: RetentionRunOptions,
): Promise<Record<string, number>> {
  const counts = Object.fromEntries(tasks.map(({ name }) => [name, 0]))
  const runTasks = async (): Promise<void> => {
    for (let left = tasks; left.length > 0;) {
      const unfinished: RetentionTask[] = []
      for (const task of left) {
        if (signal?.aborted) return
        try {
          const { removed, more } = await task.step(db)
          counts[task.name] += removed
          if (more) unfinished.push(task)
        } catch (cause) {
          onError(new Error(`data retention failed for the ${task.name}`, { cause }))
        }
      }
      left = unfinished
    }
  }
  if (leads === undefined) await withAdvisoryLock(db, round, runTasks)
  else if (leads()) await runTasks()
  return counts
}

const tryLock = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS locked'

/** Does the work unless another process holds the lock. The lock belongs to a connection of its own. */
async function withAdvisoryLock(db: Database, round: string, work: () => Promise<void>): Promise<void> {
  // If the connection breaks, another process may take the lock and run the same tasks, which is allowed.
  const connection = await db.openSession()
  try {
    const {
      rows: [{ locked }],
    } = await connection.query<{ locked: boolean }>(tryLock, [round])
    if (locked) await work()
  } finally {
    await connection.end()
  }
}

export interface RetentionOptions {
  tasks: RetentionTask[]
  /** The name of the round. Rounds with different names do not wait for each other. */
  round?: string
  /** Whether this process leads: then it runs the rounds, without a lock. */
  leads?: () => boolean
  /** Milliseconds between two rounds. Default an hour. */
  interval?: number
  /** Milliseconds before the first round. Default a minute: servers that restart often delete data, too. */
  delay?: number
  onError?: (error: Error) => void
}

/** Runs rounds until it is stopped. */
export function startRetention(
  db: Database,
  { tasks, round, leads, interval = 3_600_000, delay = 60_000, onError = () => {} }: RetentionOptions,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout
  const schedule = (wait: number): void => {
    timer = setTimeout(() => {
      running = runRetention(db, { tasks, round, leads, signal: stopping.signal, onError })
        .catch(onError)
        .then(() => {
          if (!stopping.signal.aborted) schedule(interval)
        })
    }, wait)
    timer.unref()
  }
  schedule(delay)
  return {
    /** Waits for the current step only. */
    async stop() {
      clearTimeout(timer)
      stopping.abort()
      await running
    },
  }
}
