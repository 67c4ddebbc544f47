// Waits for a condition in place of a fixed time, so that a slow machine does not fail a test.

type Falsy = false | null | undefined | 0 | ''

/**
 * Polls until the condition is truthy. @returns its value.
 * @throws after `milliseconds`, which no healthy run reaches.
 * The default is more than a background job that failed once waits for its next attempt.
 */
export async function waitUntil<T>(
  condition: () => T | Promise<T>,
  what = 'the condition',
  milliseconds = 240_000,
): Promise<Exclude<T, Falsy>> {
  const began = Date.now()
  const deadline = began + milliseconds
  for (;;) {
    const value = await condition()
    if (value) return value as Exclude<T, Falsy>
    if (Date.now() > deadline) throw new Error(`waited ${milliseconds / 1000} s for ${what}`)
    // What takes seconds is asked for less often: most conditions are requests.
    const pause = Date.now() - began < 1_000 ? 20 : 100
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

interface Database {
  pool: { query(text: string, values: string[]): Promise<{ rows: unknown[] }> }
}

/** Waits until `count` statements with `part` in their text wait for a lock. */
export async function waitForLock({ pool }: Database, { part = '', count = 1 } = {}): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`
  await waitUntil(
    async () => (await pool.query(waiting, [part])).rows.length >= count,
    `${count} statements to wait for a lock`,
  )
}
