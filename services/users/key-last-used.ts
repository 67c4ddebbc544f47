// When each key was last used, without a write a request: kept in memory and written together every few seconds.
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'

const write = statement(`
  UPDATE api_keys k SET last_used_at = u.at FROM unnest($1::text[], $2::timestamptz[]) AS u(id, at)
  WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`)

export interface LastUsed {
  touch(keyId: string): void
  /** Writes what is not written yet. */
  flush(): Promise<void>
  close(): Promise<void>
}

export function createLastUsed(db: Db, { interval = 5_000, onError = (_error: Error) => {} } = {}): LastUsed {
  let pending = new Map<string, number>()
  const timer = setInterval(() => {
    flush().catch(onError)
  }, interval)
  timer.unref()

  async function flush(): Promise<void> {
    if (pending.size === 0) return
    const batch = [...pending].sort(([a], [b]) => (a < b ? -1 : 1))
    pending = new Map()
    await db.sql(write, [batch.map(([id]) => id), batch.map(([, at]) => new Date(at).toISOString())])
  }

  return {
    touch(keyId) {
      pending.set(keyId, Date.now())
    },
    flush,
    async close() {
      clearInterval(timer)
      await flush().catch(onError)
    },
  }
}
