// Creates files: receives an upload within the quota, stores it as a blob and inserts the row.
import type { Config } from '../../infra/config/config.ts'
import type { FilePart, OperationInfo } from '../../infra/contract/operation.ts'
import type { Once, Replay } from '../../infra/contract/replay.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { invalidField } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import type { Principal } from '../users/authentication.ts'
import type { TempFile } from './blobs/temp-files.ts'
import { claimPlace, type FileConflictPolicy } from './file-places.ts'
import { insertFile, newFileId, type NewFile, type StoredFile } from './files.ts'
import {
  chooseFolder,
  findFolder,
  openPlace,
  type FolderChoice,
  type FolderPlace,
  type OpenPlace,
  type PlaceChoice,
} from './folders.ts'
import { quotaExceeded, quotaFor, takeStorage, usageOf } from './quota.ts'
import type { Place, Reservation } from './reservations.ts'
import { requireNoShare } from './shares.ts'
import type { Storage } from './storage.ts'
import type { TrashServices } from './trash.ts'

export interface CreateFileServices {
  db: Db
  once: Once
  config: Readonly<Config>
  storage: Storage
  events: Emitter
}

export interface CreateFileRequest {
  operation: OperationInfo
  principal: Principal
  headers: { 'idempotency-key'?: string }
}

/** Who creates a file. */
export interface FileCreator {
  /** The own workspace, for files whose project is known only after them. */
  accountId: string
  /** Whether a repeated request gets the stored response. */
  isRepeatable: boolean
  /** Authorizes the creation, as the function `openPlace` does. */
  openPlace(db: Db, place: PlaceChoice, options?: { lock?: boolean }): Promise<OpenPlace>
}

/** The fields of a new file that a client sets. */
export interface FileFields
  extends
    Omit<NewFile, 'ownerId' | 'contentType' | 'declaredContentType' | 'bytes' | 'sha256' | 'folderId'>,
    FolderChoice {
  /** The expected SHA-256 in hex. Default: not checked. */
  sha256?: string
  /** Default: `duplicate`. */
  onConflict?: FileConflictPolicy
}

export interface FileUpload {
  file: FilePart
  maxBytes: number
  /** Creates the error for a file that is larger than `maxBytes`. Default: 413 PAYLOAD_TOO_LARGE. */
  tooLarge?: (limit: number) => Error
  /** The project of the file. undefined if it is only known after the file was read. */
  projectId: string | null | undefined
  /** The folder of the file, if the request names one by its id before the file. */
  folderId?: string
  /** Called after the file was read. */
  fields(): FileFields
  /** Throws to reject the file. Called after the file was read, before it is stored. */
  check?(received: TempFile): void
}

/**
 * Creates a file in a project or in the caller's own workspace. `respond` runs in the transaction that
 * inserts the row; a repeated request gets its stored response. Throws 413 as soon as the content exceeds the
 * quota or `maxBytes`, 400 when its SHA-256 differs, and the errors of `openWorkspace`. Nothing remains of a
 * file that was not created.
 */
export async function createFile<T>(
  services: CreateFileServices,
  request: CreateFileRequest,
  upload: FileUpload,
  respond: (tx: Transaction, file: StoredFile) => Promise<T>,
): Promise<T | Replay> {
  const creator: FileCreator = {
    accountId: request.principal.accountId,
    isRepeatable: request.headers['idempotency-key'] !== undefined,
    openPlace: (db, place, options) => openPlace(db, request, place, options),
  }
  return await createFileAs(services, creator, upload, respond)
}

/** Like `createFile`, for a creator who need not be the caller. */
export async function createFileAs<T>(
  services: CreateFileServices,
  creator: FileCreator,
  upload: FileUpload,
  respond: (tx: Transaction, file: StoredFile) => Promise<T>,
): Promise<T | Replay> {
  const { reservations, tempFiles } = services.storage
  const places = await placesOf(services, creator, upload)
  // A request repeated with its Idempotency-Key must get its response even when the quota is full. Then its
  // bytes are not stored, but their hash shows that the request is the same.
  const largest = places.reduce((most, place) => (place.quota > most.quota ? place : most))
  const full = async (db: Db = services.db): Promise<Error> => {
    const { bytes, reserved } = await usageOf(db, largest.workspaceId)
    return quotaExceeded(largest.workspaceId, largest.quota, bytes + reserved)
  }
  const reservation = reservations.begin({ places, ...(!creator.isRepeatable && { error: full }) })
  try {
    const received = await tempFiles.receive(upload.file, {
      maxBytes: upload.maxBytes,
      tooLarge: upload.tooLarge,
      admission: reservation,
    })
    try {
      return await storeFile(services, creator, upload, { received, reservation, full }, respond)
    } finally {
      await received.discard()
    }
  } finally {
    await reservation.end()
  }
}

/**
 * Authorizes the operation in the workspace, and says where the bytes of the file are reserved. If the
 * project is only known after the file, they are reserved in the caller's own workspace. If that has no room,
 * the user has one more place, as large as a file may be; the exact check follows when the file is inserted.
 */
async function placesOf(
  { db, config }: CreateFileServices,
  creator: FileCreator,
  { projectId, folderId, maxBytes }: FileUpload,
): Promise<Place[]> {
  if (projectId !== undefined || folderId !== undefined) {
    const place = await creator.openPlace(db, { projectId, folderId })
    if (folderId !== undefined) await findFolder(db, place.workspaceId, folderId)
    return [{ workspaceId: place.workspaceId, quota: quotaFor(config, place.projectId) }]
  }
  const { accountId } = creator
  return [
    { workspaceId: accountId, quota: config.storageQuotaUser },
    { workspaceId: `${accountId}:undecided`, quota: Math.min(maxBytes, config.storageQuotaProject) },
  ]
}

interface ReceivedFile {
  received: TempFile
  reservation: Reservation
  /** The error for a quota without room for the file. */
  full: (db?: Db) => Promise<Error>
}

/** Stores the received file as a blob and inserts its row. */
async function storeFile<T>(
  services: CreateFileServices,
  creator: FileCreator,
  upload: FileUpload,
  { received, reservation, full }: ReceivedFile,
  respond: (tx: Transaction, file: StoredFile) => Promise<T>,
): Promise<T | Replay> {
  const { db, once, storage } = services
  const { sha256, folderId, path, ...fields } = upload.fields()
  if (sha256 !== undefined && sha256 !== received.sha256)
    throw invalidField('sha256', 'sha256', `The SHA-256 of the received file is ${received.sha256}.`)
  upload.check?.(received)
  const choice = { projectId: fields.projectId, folderId }
  if (upload.projectId === undefined) await creator.openPlace(db, choice)
  if (!received.isStored)
    return await once(async (tx) => {
      throw await full(tx)
    })
  const id = newFileId()
  return await storage.storeBlob(id, received, () =>
    once(async (tx) => {
      // The upload may have taken long, so access and quota are checked again.
      const place = await creator.openPlace(tx, choice, { lock: true })
      if (fields.visibility === 'public') requireNoShare({ by_share: place.byShare }, 'publish files')
      const file = {
        ...fields,
        projectId: place.projectId,
        folder: await chooseFolder(tx, services.events, place, { folderId, path }),
        ownerId: place.ownerId,
        contentType: received.contentType,
        declaredContentType: upload.file.declaredType,
        bytes: received.bytes,
        sha256: received.sha256,
      }
      const created = await addFile(tx, services, id, file, reservation.id)
      tx.afterCommit(() => reservation.end({ isDeleted: true }))
      return await respond(tx, created)
    }),
  )
}

export interface AddedFile extends Omit<NewFile, 'folderId'> {
  folder: FolderPlace
  onConflict?: FileConflictPolicy
}

/**
 * Inserts a file whose blob is stored, and emits `file.created`. The workspace must be locked, and its
 * storage too if the file is in a folder. Throws 413 when the file exceeds the quota, and 409 when its place
 * is taken.
 * @param reservedBy the reservation or the unfinished upload whose bytes become the file's.
 */
export async function addFile(
  tx: Transaction,
  services: TrashServices & { config: Readonly<Config> },
  id: string,
  { onConflict = 'duplicate', folder, ...fields }: AddedFile,
  reservedBy: string | null,
): Promise<StoredFile> {
  const { projectId, ownerId, bytes } = fields
  const workspaceId = projectId ?? ownerId
  const place = { workspaceId, folder, name: fields.name, userId: ownerId }
  const name = await claimPlace(tx, services, place, onConflict)
  const quota = quotaFor(services.config, projectId)
  await takeStorage(tx, workspaceId, { id: reservedBy, bytes, quota })
  const file = await insertFile(tx, id, { ...fields, folderId: folder.id, name })
  await services.events.emit(tx, 'file.created', file, { userId: ownerId })
  return file
}
