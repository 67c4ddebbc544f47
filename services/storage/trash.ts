// The trash: deleted files are kept in it for some days, and users can restore them. A file in the trash is
// in no folder and is not visible; it counts in the quota.
import * as sql from '../../generated/sql/storage.ts'
import type { Config } from '../../infra/config/config.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, SqlClient, Transaction } from '../../infra/database/database.ts'
import { containsPattern, type Page } from '../../infra/database/pagination.ts'
import { notFound } from '../../infra/errors.ts'
import { requireAccess } from '../projects/resource-access.ts'
import type { WorkspaceFilter } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import type { DeleteFileServices } from './delete-file.ts'
import type { StoredFile } from './files.ts'

export interface TrashServices extends DeleteFileServices {
  config: Pick<Config, 'storageTrashDays'>
}

export interface TrashRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  noteProject?(id: string): void
}

/** Moves locked files to the trash, or deletes them on a server without one. */
export async function discardFiles(
  tx: Transaction,
  services: TrashServices,
  files: StoredFile[],
  userId: string,
): Promise<void> {
  if (services.config.storageTrashDays === 0) await deleteForever(tx, services, files)
  else await trashFiles(tx, services, files, userId)
}

/** Deletes locked files, in the trash or not, with their documents, and emits `file.deleted`. */
export async function deleteForever(
  tx: Transaction,
  services: DeleteFileServices,
  files: StoredFile[],
): Promise<void> {
  const ids = files.map(({ id }) => id)
  if (ids.length > 0) await services.storage.deleteDocuments(tx, ids)
  await deleteTrashed(tx, services, files)
}

/** Moves locked files to the trash, deletes the documents created from them, and emits `file.trashed`. */
export async function trashFiles(
  tx: Transaction,
  { storage, events, config }: TrashServices,
  files: StoredFile[],
  userId: string,
): Promise<void> {
  if (files.length === 0) return
  const previous = new Map(files.map((file) => [file.id, file]))
  const ids = [...previous.keys()]
  await storage.deleteDocuments(tx, ids)
  const days = config.storageTrashDays
  const trashed = await sql.trashFiles(tx, { ids, user_id: userId, days })
  const changes = trashed.map((file) => ({
    object: file,
    previous: previous.get(file.id),
    userId: file.owner_id,
  }))
  await events.emitAll(tx, 'file.trashed', changes)
}

/** Deletes locked files of the trash, and emits `file.deleted`. */
export async function deleteTrashed(
  tx: Transaction,
  { events }: Pick<TrashServices, 'events'>,
  files: StoredFile[],
): Promise<void> {
  if (files.length === 0) return
  await sql.deleteFiles(tx, { ids: files.map(({ id }) => id) })
  const changes = files.map((file) => ({ object: file, userId: file.owner_id }))
  await events.emitAll(tx, 'file.deleted', changes)
}

/** Loads a file in the trash and authorizes the operation. `lock` locks it against other writers. */
export async function openTrashed(
  db: Db,
  { params: { id }, ...request }: TrashRequest,
  { lock = false } = {},
): Promise<StoredFile> {
  const read = lock ? sql.lockTrashedFile : sql.readTrashedFile
  const row = await read(db, { id, user_id: request.principal.userId })
  if (row === undefined || row.project_status === 'deleted') throw notFound('file', id)
  requireAccess(row, request, { name: 'file', id })
  const { your_role: _role, project_status: _project, owner_status: _owner, blob_key: _key, ...file } = row
  return file
}

export async function listTrash(
  db: SqlClient,
  workspaces: WorkspaceFilter,
  { q, ...query }: ListQuery<'listTrash'>,
): Promise<Page<StoredFile>> {
  const pattern = q === undefined ? undefined : containsPattern(q)
  return await sql.listTrash(db, { ...query, ...workspaces, name_pattern: pattern })
}
