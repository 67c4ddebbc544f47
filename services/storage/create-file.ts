// Makes a file of what is uploaded: read to its end within what the space has room for, kept, and then there as a whole.
import type { Config } from '../../infra/config/config.ts'
import type { Db } from '../../infra/database/database.ts'
import { quotaExceeded, payloadTooLarge } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import type { FilePart, OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import { newFileId, usageOf, type File, type NewFile } from './files.ts'
import type { Arrived } from './blobs/temp-files.ts'
import { addFile, openSpace, quotaOf } from './quota.ts'
import type { Storage } from './storage.ts'

export interface StoreServices {
  config: Readonly<Config>
  storage: Storage
  events: Emitter
}

export interface StoreRequest {
  operation: OperationInfo
  principal: Principal
  headers: { 'idempotency-key'?: string }
}

export interface Reception {
  file: FilePart
  /** With the declared type it tells kinds of text apart. */
  name: string | undefined
  projectId: string | null
  /** The largest that is taken. */
  maxBytes: number
}

/** What is uploaded, which whoever asks for it discards. Throws 413 as soon as there is more than may be, and what `openSpace` throws. */
export async function receiveFile(
  db: Db,
  { config, storage }: StoreServices,
  request: StoreRequest,
  { file, name, projectId, maxBytes }: Reception,
): Promise<Arrived> {
  const spaceId = await openSpace(db, request, projectId)
  const quota = quotaOf(config, projectId)
  // A repetition must come to its answer even where the first has filled the quota.
  const left =
    request.headers['idempotency-key'] === undefined ? quota - (await usageOf(db, spaceId)).bytes : Infinity
  const room = Math.min(left, maxBytes)
  return await storage.incoming.receive(file, {
    maxBytes: Math.max(0, room),
    name,
    tooLarge: () => (left < maxBytes ? quotaExceeded(quota) : payloadTooLarge(room)),
  })
}

export type FileFields = Omit<NewFile, 'ownerId' | 'contentType' | 'bytes' | 'sha256'>

/** Keeps what has arrived as a file of the space. `work` is done in the transaction that makes it: together or not at all. */
export async function keepFile<T>(
  db: Db,
  { config, storage, events }: StoreServices,
  request: StoreRequest,
  arrived: Arrived,
  fields: FileFields,
  work: (tx: Db, file: File) => Promise<T>,
): Promise<T> {
  const id = newFileId()
  return await storage.keep(id, arrived, () =>
    db.transaction(async (tx) => {
      // It may have taken long: who may, and whether there is room, is asked again.
      await openSpace(tx, request, fields.projectId, { lock: true })
      const { bytes, contentType, sha256 } = arrived
      return await work(
        tx,
        await addFile(tx, { config, events }, id, {
          ...fields,
          ownerId: request.principal.userId,
          contentType,
          bytes,
          sha256,
        }),
      )
    }),
  )
}
