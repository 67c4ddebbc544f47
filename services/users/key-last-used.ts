// Records when, and from which address, each API key and session was last used. The uses are collected in
// memory and written together every few seconds, so a request costs no write.
import type { Config } from '../../infra/config/config.ts'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/users.ts'

export interface LastUsed {
  touch(credentialId: string, ip: string): void
  /** Writes the pending uses now. */
  flush(): Promise<void>
  /** Stops the timer and writes the pending uses. */
  close(): Promise<void>
}

/** @param interval milliseconds between two writes. */
export function createLastUsed(
  db: Db,
  { sessionIdleDays, sessionMaxDays }: Pick<Config, 'sessionIdleDays' | 'sessionMaxDays'>,
  { interval = 5_000, onError = (_error: Error) => {} } = {},
): LastUsed {
  let pending = new Map<string, { at: number; ip: string }>()
  const timer = setInterval(() => {
    flush().catch(onError)
  }, interval)
  timer.unref()

  async function flush(): Promise<void> {
    if (pending.size === 0) return
    // Sorted by id, so that processes which write at the same time lock the rows in the same order.
    const batch = [...pending].sort(([a], [b]) => (a < b ? -1 : 1))
    pending = new Map()
    await sql.updateLastUsed(db, {
      ids: batch.map(([id]) => id),
      times: batch.map(([, { at }]) => new Date(at).toISOString()),
      ips: batch.map(([, { ip }]) => ip),
      idle_seconds: sessionIdleDays * 86_400,
      max_seconds: sessionMaxDays * 86_400,
    })
  }

  return {
    touch(credentialId, ip) {
      pending.set(credentialId, { at: Date.now(), ip })
    },
    flush,
    async close() {
      clearInterval(timer)
      await flush().catch(onError)
    },
  }
}
