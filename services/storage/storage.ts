// The store of files as the handlers use it: what arrives, where it is kept, and how often it was fetched.
import type { Config } from '../../infra/config/config.ts'
import { wasRolledBack, type Database } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { RolledBack } from '../../infra/errors.ts'
import type { Blobs, Received } from './blobs/blob-store.ts'
import { createDiskBlobs } from './blobs/disk.ts'
import { createIncoming, type Incoming } from './blobs/temp-files.ts'
import { createStaging, type Staging } from './blobs/partial-files.ts'

export interface Storage {
  incoming: Incoming
  /** The bytes of unfinished uploads. */
  staging: Staging
  /** Connected on first use. */
  blobs(): Promise<Blobs>
  /**
   * Keeps what has arrived as `key`, then runs the transaction that makes its row. Where that did nothing, the blob goes
   * again; where nobody knows, because the connection broke at the commit, it stays, and the sweep decides.
   */
  keep<T>(key: string, received: Received, work: () => Promise<T>): Promise<T>
  /** The same for several that belong together, each by its key. */
  keepAll<T>(received: Map<string, Received>, work: () => Promise<T>): Promise<T>
  /** Notes that a download of the file has begun. The count in the database follows within seconds. */
  countDownload(fileId: string): void
  /** Throws when the store is out of reach. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StorageOptions {
  onError?: (error: Error) => void
  /** Milliseconds between two writes of the counts. Default 2,000. */
  interval?: number
}

const writeCounts = statement(`
  UPDATE files f SET download_count = f.download_count + c.n
  FROM unnest($1::text[], $2::int[]) AS c (id, n) WHERE f.id = c.id`)

async function createBlobs({ s3, storageDir }: Readonly<Config>): Promise<Blobs> {
  if (s3 === null) return createDiskBlobs(storageDir)
  // Only who uses it pays for loading it.
  const { createS3Blobs } = await import('./blobs/s3.ts')
  return createS3Blobs(s3)
}

export function createStorage(
  db: Database,
  config: Readonly<Config>,
  { onError = () => {}, interval = 2_000 }: StorageOptions = {},
): Storage {
  const incoming = createIncoming(config.storageDir)
  const staging = createStaging(config.storageDir)
  let opened: Promise<Blobs> | undefined
  const blobs = (): Promise<Blobs> =>
    (opened ??= createBlobs(config).catch((error) => {
      opened = undefined
      throw error
    }))
  let counts = new Map<string, number>()
  let writing: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    if (counts.size > 0) writing = flush()
  }, interval)
  timer.unref()

  return {
    incoming,
    staging,
    blobs,
    keep: (key, received, work) => keepAll(new Map([[key, received]]), work),
    keepAll,
    countDownload(fileId) {
      counts.set(fileId, (counts.get(fileId) ?? 0) + 1)
    },
    async ping() {
      await (await blobs()).ping()
    },
    async close() {
      clearInterval(timer)
      await writing
      await flush()
      if (opened !== undefined) await (await opened).close()
    },
  }

  async function keepAll<T>(received: Map<string, Received>, work: () => Promise<T>): Promise<T> {
    const store = await blobs()
    const kept: string[] = []
    try {
      for (const [key, one] of received) {
        await store.put(key, one)
        kept.push(key)
      }
      return await work()
    } catch (error) {
      const didNothing = kept.length < received.size || error instanceof RolledBack || wasRolledBack(error)
      if (didNothing) {
        const removal = await store.remove(kept)
        if (removal.error !== null) onError(removal.error as Error)
      }
      throw error
    }
  }

  async function flush(): Promise<void> {
    const taken = counts
    counts = new Map()
    if (taken.size === 0) return
    // In one order, so that two processes never wait for each other.
    const rows = [...taken].sort(([a], [b]) => (a < b ? -1 : 1))
    try {
      await db.sql(writeCounts, [rows.map(([id]) => id), rows.map(([, n]) => n)])
    } catch (error) {
      for (const [id, n] of rows) counts.set(id, (counts.get(id) ?? 0) + n)
      onError(error as Error)
    }
  }
}
