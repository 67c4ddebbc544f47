// Data retention: runs the tasks that delete expired rows, in small steps, so that no step is too large for
// its transaction and a task that fails does not stop the others. One process at a time runs a round, by an
// advisory lock.
import pg from 'pg'
import type { Database, Db } from '../database/database.ts'

/** A kind of thing that is removed some day. */
export interface RetentionTask {
  name: string
  /**
   * Removes some, in its own transaction and in a second or two: a stop waits for it. Where two processes do
   * it at once, or one dies in it, nothing is lost but time.
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

/**
 * A step of removing items one by one, each in its own transactions: one that fails is told of at the end,
 * and keeps none of the others.
 */
export function deleteEach<T>({ list, remove }: Items<T>): RetentionTask['step'] {
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

export interface RetentionRunOptions {
  tasks: RetentionTask[]
  /** Of several processes one at a time does the round of this name. */
  round?: string
  /** Ends the round after the step that is under way. */
  signal?: AbortSignal
  /** Told of each kind that failed; without it the first failure ends the round and is thrown. */
  onError?: (error: Error) => void
}

/**
 * One round: a step of each kind, again and again until none has more. @returns how many of each were
 * removed.
 */
export async function runRetention(
  db: Database,
  {
    tasks,
    round = 'housekeeping',
    signal,
    onError = (error) => {
      throw error
    },
  }: RetentionRunOptions,
): Promise<Record<string, number>> {
  const done = Object.fromEntries(tasks.map(({ name }) => [name, 0]))
  await withAdvisoryLock(db, round, async () => {
    for (let left = tasks; left.length > 0;) {
      const unfinished: RetentionTask[] = []
      for (const task of left) {
        if (signal?.aborted) return
        try {
          const { removed, more } = await task.step(db)
          done[task.name] += removed
          if (more) unfinished.push(task)
        } catch (cause) {
          onError(new Error(`housekeeping failed for the ${task.name}`, { cause }))
        }
      }
      left = unfinished
    }
  })
  return done
}

const turn = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine'

/**
 * Does the work unless another process is at it. The turn belongs to a connection of its own, and ends with
 * it.
 */
async function withAdvisoryLock(db: Database, round: string, work: () => Promise<void>): Promise<void> {
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

export interface RetentionOptions {
  tasks: RetentionTask[]
  /** Its name, where there are several rounds, which do not wait for each other. */
  round?: string
  /** Milliseconds between two rounds. Default an hour. */
  interval?: number
  /**
   * Milliseconds before the first, so that servers that are started often runRetention too. Default a minute.
   */
  delay?: number
  onError?: (error: Error) => void
}

/** Tidies again and again until stopped. */
export function startRetention(
  db: Database,
  { tasks, round, interval = 3_600_000, delay = 60_000, onError = () => {} }: RetentionOptions,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout
  const schedule = (wait: number): void => {
    timer = setTimeout(() => {
      running = runRetention(db, { tasks, round, signal: stopping.signal, onError })
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
