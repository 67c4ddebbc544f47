// Deletes a file with the documents created from it.
import * as sql from '../../generated/sql/storage.ts'
import type { Transaction } from '../../infra/database/database.ts'
import type { Emitter } from '../events/emit.ts'
import type { StoredFile } from './files.ts'
import type { Storage } from './storage.ts'

export interface DeleteFileServices {
  storage: Pick<Storage, 'deleteDocuments'>
  events: Emitter
}

/** Deletes a locked file with its links and documents, and emits `file.deleted`. */
export async function deleteFile(
  tx: Transaction,
  { storage, events }: DeleteFileServices,
  file: StoredFile,
): Promise<void> {
  await storage.deleteDocuments(tx, [file.id])
  await sql.deleteFile(tx, { id: file.id })
  await events.emit(tx, 'file.deleted', file, { userId: file.owner_id })
}
