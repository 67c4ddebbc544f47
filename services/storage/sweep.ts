// The sweep of the blob store, the only place that removes blobs of deleted files. It lists the whole store,
// puts blobs that no row refers to into quarantine, and removes those that every sweep has found there for
// the days of the quarantine. It stops with an error when too many blobs have no row, because then the
// database is probably incomplete.
import { randomUUID } from 'node:crypto'
import type { Config } from '../../infra/config/config.ts'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { isBlobKey, type BlobStore, type ListedBlob } from './blobs/blob-store.ts'
import { requireOwnStore } from './ownership.ts'
import type { Storage } from './storage.ts'

export const sweepDocument = '.platform-sweep.json'

/** A sweep never stops for fewer unknown blobs than this, however small the store is. */
const allowedUnknown = 10
const removedPerStep = 200

export interface SweepLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

export interface SweepOptions {
  config: Pick<
    Config,
    'storageQuarantineDays' | 'storageSweepMaxPercent' | 'resumableUploadHours' | 'storageSecond'
  >
  log: SweepLog
}

export interface Sweep {
  /** Whether the last step left more to do. */
  readonly isRunning: boolean
  /**
   * Examines a page of the store or removes a batch of blobs. A younger blob than `before` is not examined:
   * its row may still come.
   */
  step(db: Db, before: Date): Promise<{ removed: number; more: boolean }>
}

export function createSweep(storage: Storage, options: SweepOptions): Sweep {
  let running: AsyncGenerator<number, void> | null = null
  return {
    get isRunning() {
      return running !== null
    },
    async step(db, before) {
      running ??= sweep(db, storage, { ...options, before })
      try {
        const { done, value } = await running.next()
        if (done === true) running = null
        return { removed: value ?? 0, more: done !== true }
      } catch (error) {
        running = null
        throw error
      }
    },
  }
}

interface Totals {
  blobs: number
  bytes: number
  quarantined: number
  quarantinedBytes: number
  unknown: number
}

/** Yields the number of removed blobs and files after each step. */
async function* sweep(
  db: Db,
  storage: Storage,
  { config, log, before }: SweepOptions & { before: Date },
): AsyncGenerator<number, void> {
  const started = performance.now()
  if (config.storageSecond !== null) {
    // A blob that is copied at this moment would come back without a row.
    log.warn({ storage_sweep: { removed: 0 } }, 'The storage sweep rests while STORAGE_SECOND is set.')
    yield await storage.tempFiles.deleteOlderThan(before)
    return
  }
  const store = await storage.blobStore()
  await requireOwnStore(db, store)
  const sweepId = await beginSweep(db, store, log)
  let failure: unknown = null
  await deleteUnusedParts(db, store, hoursBefore(before, config.resumableUploadHours)).catch((error) => {
    failure = error
  })
  yield await storage.tempFiles.deleteOlderThan(before)

  const totals: Totals = { blobs: 0, bytes: 0, quarantined: 0, quarantinedBytes: 0, unknown: 0 }
  const { n: expected } = await sql.countExpectedBlobs(db)
  for await (const page of store.list()) {
    await quarantine(db, { page, sweepId, before, totals })
    // The store cannot have more blobs than expected and unknown ones together.
    if (isTooMuch(totals.unknown, expected + totals.unknown, config))
      return await stop(db, totals, { config, log })
    yield 0
  }
  if (isTooMuch(totals.unknown, totals.blobs, config)) return await stop(db, totals, { config, log })
  const { n: released } = await sql.releaseBlobs(db, { sweep_id: sweepId })

  let [removed, removedBytes] = [0, 0]
  for (let after = ''; ;) {
    const batch = await nextBatch(db, store, { sweepId, after, days: config.storageQuarantineDays })
    if (batch.length === 0) break
    after = batch.at(-1)!.key
    const { deleted, error } = await store.delete(batch.map(({ key }) => key))
    await sql.deleteQuarantinedBlobs(db, { keys: deleted })
    failure ??= error
    removed += deleted.length
    removedBytes += batch
      .filter(({ key }) => deleted.includes(key))
      .reduce((sum, { bytes }) => sum + bytes, 0)
    yield deleted.length
  }
  await sql.finishSweep(db, { sweep_id: sweepId })
  const { blobs, bytes, quarantined, quarantinedBytes } = totals
  log.info(
    {
      storage_sweep: {
        blobs,
        bytes,
        quarantined: quarantined - removed,
        quarantined_bytes: quarantinedBytes - removedBytes,
        released,
        removed,
        removed_bytes: removedBytes,
        ms: Math.round(performance.now() - started),
      },
    },
    'storage sweep',
  )
  if (failure !== null) throw new Error('the sweep could not delete every blob', { cause: failure })
}

/**
 * Deletes parts and tails in S3 that no unfinished upload uses. Younger ones than the longest upload stay,
 * because another copy of the database may know them.
 */
async function deleteUnusedParts(db: Db, store: BlobStore, before: Date): Promise<void> {
  await store.deleteIncompletePuts(before, async (keys) =>
    (await sql.listUnusedMultiparts(db, { keys })).map(({ key }) => key),
  )
  if (store.parts === null) return
  for await (const tails of store.parts.listTails()) {
    const names = tails.filter(({ modifiedAt }) => modifiedAt < before).map(({ name }) => name)
    const unused = await sql.listUnusedPartialFiles(db, { names })
    await store.parts.deleteTails(unused.map(({ name }) => name))
  }
}

function hoursBefore(time: Date, hours: number): Date {
  return new Date(time.getTime() - hours * 3_600_000)
}

/**
 * The store and the database both record the sweep. They differ when the database was restored from a backup,
 * or when a copy of it uses the same store: then the quarantine starts again, so that no blob is removed that
 * the other copy knows.
 */
async function beginSweep(db: Db, store: BlobStore, log: SweepLog): Promise<string> {
  const { sweep_id: last } = await sql.readIdentity(db, { hours: 0 })
  if ((await sweepOf(store)) !== last) {
    await sql.restartQuarantine(db)
    log.warn(
      { storage_sweep: { restarted: true } },
      'The store was last swept by another copy of this database, or before a restore: ' +
        'the quarantine starts again.',
    )
  }
  const sweepId = randomUUID()
  await sql.beginSweep(db, { sweep_id: sweepId })
  await store.documents.write(sweepDocument, `${JSON.stringify({ sweep_id: sweepId })}\n`)
  return sweepId
}

async function sweepOf(store: BlobStore): Promise<string | null> {
  const text = await store.documents.read(sweepDocument)
  try {
    return text === null ? null : (JSON.parse(text) as { sweep_id: string }).sweep_id
  } catch {
    return 'unreadable'
  }
}

async function quarantine(
  db: Db,
  { page, sweepId, before, totals }: { page: ListedBlob[]; sweepId: string; before: Date; totals: Totals },
): Promise<void> {
  const blobs = page.filter(({ key }) => isBlobKey(key))
  totals.blobs += blobs.length
  totals.bytes += blobs.reduce((sum, { bytes }) => sum + bytes, 0)
  const found = await sql.quarantineBlobs(db, {
    keys: blobs.map(({ key }) => key),
    bytes: blobs.map(({ bytes }) => bytes),
    are_old: blobs.map(({ modifiedAt }) => modifiedAt < before),
    sweep_id: sweepId,
  })
  totals.quarantined += found.blobs
  totals.quarantinedBytes += found.bytes
  totals.unknown += found.unknown
}

function isTooMuch(
  unknown: number,
  blobs: number,
  { storageSweepMaxPercent: percent }: SweepOptions['config'],
): boolean {
  return unknown > allowedUnknown && unknown > (blobs * percent) / 100
}

/** Ends the sweep as if it had not looked. The next one follows a day later. */
async function stop(db: Db, { blobs, unknown }: Totals, { config, log }: SweepOptions): Promise<void> {
  await sql.undoQuarantine(db)
  const { sweep_id: sweepId } = await sql.readIdentity(db, { hours: 0 })
  await sql.finishSweep(db, { sweep_id: sweepId! })
  log.error(
    { storage_sweep: { blobs, unknown, removed: 0 } },
    `The storage sweep stopped and removed nothing: the database knows no file for ${unknown} of ${blobs} ` +
      `blobs, more than STORAGE_SWEEP_MAX_PERCENT=${config.storageSweepMaxPercent} allows. Check that the ` +
      'database is complete; compare it with the store by `npm run verify`.',
  )
}

/** Blobs to remove now. None when the store has another owner or another sweep meanwhile. */
async function nextBatch(
  db: Db,
  store: BlobStore,
  { sweepId, after, days }: { sweepId: string; after: string; days: number },
): Promise<sql.ListRemovableBlobsRow[]> {
  const rows = await sql.listRemovableBlobs(db, { sweep_id: sweepId, days, after, limit: removedPerStep })
  if (rows.length === 0) return []
  await requireOwnStore(db, store)
  if ((await sweepOf(store)) !== sweepId) throw new Error('another sweep of the store has begun')
  return rows
}
