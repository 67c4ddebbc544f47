// Deletes a file with the documents created from it.
import * as sql from '../../generated/sql/storage.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { deleteDocumentsOfFiles } from '../ai/knowledge/documents.ts'
import type { Emitter } from '../events/emit.ts'
import type { StoredFile } from './files.ts'

/** Deletes a locked file with its links and documents, and emits `file.deleted`. */
export async function deleteFile(tx: Transaction, events: Emitter, file: StoredFile): Promise<void> {
  await deleteDocumentsOfFiles(tx, events, [file.id])
  await sql.deleteFile(tx, { id: file.id })
  await events.emit(tx, 'file.deleted', file, { userId: file.owner_id })
}
