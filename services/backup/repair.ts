// Repairs a file store after a check: lost and damaged blobs come back from another blob with the same bytes,
// or from a backup, and wrong counts of the usage are counted again. Nothing that a row refers to is deleted
// before its bytes are at hand.
import type { Database, Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import type { Difference } from '../storage/verify.ts'
import { copyBlob, type ExpectedBlob } from './copy-blobs.ts'

export interface RepairOptions {
  store: BlobStore
  /** The blobs of a backup. */
  backup: BlobStore | null
  /** For blobs on their way; on the disk of the store, if it is on disk. */
  tempFolder: string
}

/** @returns whether the blob of a row has its bytes again. An unknown blob is left to the sweep. */
export async function repairBlob(
  db: Db,
  { kind, key }: Difference,
  { store, backup, tempFolder }: RepairOptions,
): Promise<boolean> {
  if (kind === 'unknown') return false
  const expected = await expectedOf(db, key)
  if (expected === null) return false
  const copies = await sql.listBlobsWithContent(db, expected)
  const sources = [
    ...copies.map((copy) => ({ from: store, sourceKey: copy.key })),
    ...(backup === null ? [] : [key, ...copies.map((copy) => copy.key)]).map((sourceKey) => ({
      from: backup!,
      sourceKey,
    })),
  ]
  for (const source of sources) {
    const options = { ...source, to: store, tempFolder, replaces: true }
    if ((await copyBlob(expected, options)) === 'copied') return true
  }
  return false
}

/** null for a blob whose row has been deleted meanwhile. */
async function expectedOf(db: Db, key: string): Promise<ExpectedBlob | null> {
  const [row] = await sql.compareBlobs(db, { keys: [key], before: new Date(0) })
  return row.bytes === null ? null : { key, bytes: row.bytes, sha256: row.sha256! }
}

/** Counts the usage of workspaces again where it is wrong. @returns their ids. */
export async function repairUsage(db: Database): Promise<string[]> {
  const wrong = await sql.listWrongUsage(db)
  for (const where of wrong) {
    await db.transaction(async (tx) => {
      await sql.lockUsage(tx, where)
      await sql.recountUsage(tx, where)
    })
  }
  return wrong.map(({ workspace_id: id }) => id)
}
