// A file store belongs to one database. A document in the store, the marker, has the id of that database;
// a server of another database refuses to use the store, because it knows none of its files.
import { randomUUID } from 'node:crypto'
import type { Db } from '../../infra/database/database.ts'
import { ApiError } from '../../infra/errors.ts'
import * as sql from '../../generated/sql/storage.ts'
import { isBlobKey, storeUnavailable, type BlobStore, type StoreDocuments } from './blobs/blob-store.ts'

export const markerName = '.platform-store.json'

/** The store must not be used with this database. The message is one sentence for the operator. */
export class StoreOwnershipError extends Error {}

export interface StoreMarker {
  store_id: string
  /** The database that owns the store. */
  database_id: string
  /** The id of the backup from which the store is being restored. */
  restoring?: string
}

/** A folder or a bucket that has a marker. */
export interface OwnedPlace {
  location: string
  documents: StoreDocuments
}

const howToFix =
  'set STORAGE_DIR or S3_BUCKET, or DATABASE_URL, to the right one, or take the store over with ' +
  '`npm run admin -- store adopt`.'

/** How many blobs of a store without a marker are compared with the database. */
const adoptedSample = 20_000

export async function databaseIdOf(db: Db): Promise<string> {
  return (await sql.readIdentity(db, { hours: 0 })).database_id
}

/** @returns null for a store without a marker. @throws StoreOwnershipError for a damaged one. */
export async function readMarker({ documents, location }: OwnedPlace): Promise<StoreMarker | null> {
  const text = await documents.read(markerName)
  if (text === null) return null
  try {
    const { store_id, database_id, restoring } = JSON.parse(text) as StoreMarker
    if (typeof store_id === 'string' && typeof database_id === 'string')
      return { store_id, database_id, restoring }
  } catch {
    // Reported below.
  }
  throw new StoreOwnershipError(
    `The marker ${markerName} of the file store ${location} is damaged: restore it from a backup, or write ` +
      'a new one with `npm run admin -- store adopt`.',
  )
}

/** @throws StoreOwnershipError unless the marker of the store names this database. */
export async function requireOwnStore(db: Db, place: OwnedPlace): Promise<void> {
  if ((await readOwnMarker(db, place)) === null)
    throw new StoreOwnershipError(`The file store ${place.location} has lost its marker ${markerName}.`)
}

/** @returns null for a store without a marker. @throws StoreOwnershipError for that of another database. */
export async function readOwnMarker(db: Db, place: OwnedPlace): Promise<StoreMarker | null> {
  const marker = await readMarker(place)
  if (marker !== null) requireSame(place, marker, await databaseIdOf(db))
  return marker
}

function requireSame({ location }: OwnedPlace, marker: StoreMarker, databaseId: string): void {
  if (marker.restoring !== undefined)
    throw new StoreOwnershipError(
      `The file store ${location} is being restored from the backup ${marker.restoring}: wait for the end ` +
        'of `npm run restore`, or run it again if it was interrupted.',
    )
  if (marker.database_id === databaseId) return
  throw new StoreOwnershipError(
    `The file store ${location} belongs to the database ${marker.database_id}, but this is the database ` +
      `${databaseId}: ${howToFix}`,
  )
}

/**
 * Makes the store that of this database, if it is empty, or from a version without markers and with files
 * that the database knows. Several servers may call it at once. @throws StoreOwnershipError
 */
export async function claimStore(db: Db, store: BlobStore): Promise<void> {
  await claim(db, store, (databaseId) => requireAdoptable(db, store, databaseId))
}

/**
 * Like `claimStore`, for the stores between which files move. If one is that of this database, the other may
 * be empty. @throws StoreOwnershipError
 */
export async function claimStores(db: Db, stores: BlobStore[]): Promise<void> {
  let isOwned = false
  for (const store of stores) if ((await readOwnMarker(db, store)) !== null) isOwned = true
  for (const store of stores)
    await claim(db, store, (databaseId) => requireAdoptable(db, store, databaseId, isOwned))
}

/**
 * Claims the store at the start of a process. A store that is unreachable does not stop the start: it is
 * claimed when it is first used, and until then requests that need it get 503. @throws StoreOwnershipError
 */
export async function claimAtStart(
  storage: { claim(): Promise<void> },
  onError: (error: Error) => void,
): Promise<void> {
  await storage.claim().catch((error) => {
    if (!(error instanceof ApiError)) throw error
    const cause = (error.cause ?? error) as Error
    const reason = cause.name === 'Error' ? cause.message : cause.name
    onError(
      new Error(
        `The file store cannot be used (${reason}), and requests for files get 503 until it can: check ` +
          'STORAGE_DIR, or S3_BUCKET, S3_ENDPOINT and the credentials of S3.',
        { cause },
      ),
    )
  })
}

/** Like `claimStore`, for the folder of uploads in progress of a server whose files are in S3. */
export async function claimFolder(db: Db, folder: OwnedPlace): Promise<void> {
  await claim(db, folder, async () => {})
}

async function claim(
  db: Db,
  place: OwnedPlace,
  requireUsable: (databaseId: string) => Promise<void>,
): Promise<void> {
  const databaseId = await databaseIdOf(db)
  // The marker is read again after it was written: of two databases that write at once, one loses.
  for (let attempt = 0; attempt < 5; attempt++) {
    const marker = await readMarker(place)
    if (marker !== null) return requireSame(place, marker, databaseId)
    await requireUsable(databaseId)
    await place.documents.create(markerName, newMarker(databaseId))
  }
  throw storeUnavailable(new Error('the marker was written and cannot be read'))
}

/** Makes this database the owner of the store, without a check of its blobs. @returns the previous owner. */
export async function adoptStore(db: Db, place: OwnedPlace): Promise<string | null> {
  const previous = await readMarker(place).catch((error) => {
    if (error instanceof StoreOwnershipError) return null
    throw error
  })
  await place.documents.write(markerName, newMarker(await databaseIdOf(db), previous?.store_id))
  return previous?.database_id ?? null
}

/** While the store is being restored, no server uses it. @param restoring null at the end of the restore. */
export async function markRestoring(
  place: OwnedPlace,
  databaseId: string,
  restoring: string | null,
): Promise<void> {
  const previous = await readMarker(place)
  const marker = newMarker(databaseId, previous?.store_id, restoring ?? undefined)
  await place.documents.write(markerName, marker)
}

function newMarker(databaseId: string, storeId: string = randomUUID(), restoring?: string): string {
  const marker: StoreMarker = { store_id: storeId, database_id: databaseId, restoring }
  return `${JSON.stringify({ ...marker, written_at: new Date().toISOString() }, null, 2)}\n`
}

/** Crashes leave single blobs without a row, but a store of another database has no known blob at all. */
async function requireAdoptable(
  db: Db,
  store: BlobStore,
  databaseId: string,
  mayBeEmpty = false,
): Promise<void> {
  let [blobs, unknown] = [0, 0]
  for await (const page of store.list()) {
    const keys = page.map(({ key }) => key).filter(isBlobKey)
    const rows = await sql.compareBlobs(db, { keys, before: new Date() })
    blobs += keys.length
    unknown += rows.filter(({ bytes, is_quarantined }) => bytes === null && !is_quarantined).length
    if (blobs >= adoptedSample) break
  }
  if (blobs === 0) return mayBeEmpty ? undefined : await requireNoFiles(db, store, databaseId)
  if (unknown < blobs && unknown <= Math.max(10, blobs / 20)) return
  throw new StoreOwnershipError(
    `The file store ${store.location} has no marker, and the database ${databaseId} does not know ` +
      `${unknown} of its first ${blobs} files: ${howToFix}`,
  )
}

async function requireNoFiles(db: Db, store: BlobStore, databaseId: string): Promise<void> {
  if (!(await sql.hasFiles(db)).has_files) return
  throw new StoreOwnershipError(
    `The file store ${store.location} is empty, but the database ${databaseId} has files: ${howToFix}`,
  )
}
