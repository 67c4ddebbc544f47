// Compares the rows of files, avatars and exports with the blobs in the store, in constant memory. It changes
// nothing and may run while servers do.
import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import pLimit from 'p-limit'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { BlobNotFound, isBlobKey, type BlobStore, type ListedBlob } from './blobs/blob-store.ts'

export interface Difference {
  /** A row without its blob, a blob without a row, or a blob with other bytes than its row says. */
  kind: 'missing' | 'unknown' | 'wrong_size' | 'wrong_hash'
  key: string
  /** The bytes of the blob; of a missing one, those of its row. */
  bytes: number
}

export interface VerifyOptions {
  /** Whether to read every blob and compare its SHA-256. */
  hash?: boolean
  onDifference?: (difference: Difference) => void
  onProgress?: (message: string) => void
}

export interface Verification {
  /** Blobs in the store. */
  blobs: number
  bytes: number
  /** Blobs of deleted files, and others that the sweep will remove. */
  quarantined: number
  /** Young blobs without a row, which may still come. */
  uploading: number
  differences: Record<Difference['kind'], number>
}

const hour = 3_600_000
const pageSize = 1_000
const concurrentChecks = 20

/** A check of the whole store. Every row counts for one shard: the end of the key. */
class Verifier {
  readonly #db: Db
  readonly #store: BlobStore
  readonly #options: VerifyOptions
  /** Rows from before this time are counted; younger ones are checked one by one. */
  readonly #before = new Date(Date.now() - 24 * hour)
  /** The counted rows whose blob was not found yet, by shard. */
  readonly #left = new Map<string, number>()
  readonly result: Verification = {
    blobs: 0,
    bytes: 0,
    quarantined: 0,
    uploading: 0,
    differences: { missing: 0, unknown: 0, wrong_size: 0, wrong_hash: 0 },
  }

  constructor(db: Db, store: BlobStore, options: VerifyOptions) {
    this.#db = db
    this.#store = store
    this.#options = options
  }

  async run(): Promise<void> {
    for (const { shard, n } of await sql.countBlobsByShard(this.#db, { before: this.#before }))
      this.#left.set(shard, n)
    for await (const page of this.#store.list())
      await this.#comparePage(page.filter(({ key }) => isBlobKey(key)))
    this.#options.onProgress?.('looking for missing blobs')
    await this.#findMissing()
  }

  async #comparePage(blobs: ListedBlob[]): Promise<void> {
    const rows = await this.#rowsOf(blobs.map(({ key }) => key))
    for (const blob of blobs) {
      this.result.blobs++
      this.result.bytes += blob.bytes
      this.#options.onProgress?.(`blobs: ${this.result.blobs}`)
      await this.#compare(blob, rows.get(blob.key)!)
    }
  }

  async #rowsOf(keys: string[]): Promise<Map<string, sql.CompareBlobsRow>> {
    const rows = await sql.compareBlobs(this.#db, { keys, before: this.#before })
    return new Map(rows.map((row) => [row.key, row]))
  }

  async #compare({ key, bytes, modifiedAt }: ListedBlob, row: sql.CompareBlobsRow): Promise<void> {
    if (row.bytes === null) {
      if (row.is_quarantined) this.result.quarantined++
      else if (modifiedAt.getTime() > Date.now() - hour) this.result.uploading++
      else this.#report({ kind: 'unknown', key, bytes })
      return
    }
    if (row.is_counted) this.#left.set(shardOf(key), this.#left.get(shardOf(key))! - 1)
    if (row.bytes !== bytes) return this.#report({ kind: 'wrong_size', key, bytes })
    if (this.#options.hash !== true) return
    const sha256 = await this.#hashOf(key)
    if (sha256 !== null && sha256 !== row.sha256) this.#report({ kind: 'wrong_hash', key, bytes })
  }

  /** @returns null for a blob that was removed meanwhile. */
  async #hashOf(key: string): Promise<string | null> {
    const hash = createHash('sha256')
    try {
      await pipeline(await this.#store.read(key), hash)
    } catch (error) {
      if (error instanceof BlobNotFound) return null
      throw error
    }
    return hash.digest('hex')
  }

  /** Looks for the blobs of rows in shards with fewer blobs than rows, and of young rows. */
  async #findMissing(): Promise<void> {
    for (const list of [sql.listFileBlobs, sql.listExportBlobs])
      for (let after = ''; ;) {
        const rows = await list(this.#db, { before: this.#before, after, limit: pageSize })
        await this.#requireBlobs(rows)
        if (rows.length < pageSize) break
        after = rows.at(-1)!.key
      }
    for (let after = ''; ;) {
      const avatars = await sql.listAvatarBlobs(this.#db, { before: this.#before, after, limit: pageSize })
      await this.#requireBlobs(
        avatars.flatMap(({ id, variants, is_counted }) =>
          variants.map(({ size, bytes }) => ({ key: `${id}-${size}`, bytes, is_counted })),
        ),
      )
      if (avatars.length < pageSize) break
      after = avatars.at(-1)!.id
    }
  }

  async #requireBlobs(rows: sql.ListFileBlobsRow[]): Promise<void> {
    const limit = pLimit(concurrentChecks)
    const missing: sql.ListFileBlobsRow[] = []
    const doubtful = rows.filter(({ key, is_counted }) => !is_counted || this.#left.get(shardOf(key)) !== 0)
    await Promise.all(
      doubtful.map((row) =>
        limit(async () => {
          if ((await this.#store.sizeOf(row.key)) === null) missing.push(row)
        }),
      ),
    )
    if (missing.length === 0) return
    // The row may have been deleted meanwhile.
    const now = await this.#rowsOf(missing.map(({ key }) => key))
    for (const { key, bytes } of missing)
      if (now.get(key)!.bytes !== null) this.#report({ kind: 'missing', key, bytes })
  }

  #report(difference: Difference): void {
    this.result.differences[difference.kind]++
    this.#options.onDifference?.(difference)
  }
}

function shardOf(key: string): string {
  return key.split('-')[0].slice(-2)
}

export async function verifyStore(
  db: Db,
  store: BlobStore,
  options: VerifyOptions = {},
): Promise<Verification> {
  const verifier = new Verifier(db, store, options)
  await verifier.run()
  return verifier.result
}
