// Restores files from the trash.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import { claimPlace } from './file-places.ts'
import type { StoredFile } from './files.ts'
import { chooseFolder } from './folders.ts'
import { openTrashed, type TrashRequest, type TrashServices } from './trash.ts'

/** Takes a file out of the trash, back to its path, and emits `file.restored`. */
export async function restoreFile(
  tx: Transaction,
  services: TrashServices,
  request: TrashRequest & { body: components['schemas']['FileRestore'] },
): Promise<StoredFile> {
  const found = await openTrashed(tx, request)
  const { project_id: projectId, owner_id: fileOwner, path, name } = found
  const { userId } = request.principal
  // The place is claimed before the file is locked, as for an update.
  await openWorkspace(tx, request, projectId, { lock: true })
  const workspace = { workspaceId: projectId ?? fileOwner, projectId, ownerId: userId }
  const folder = await chooseFolder(tx, services.events, workspace, { path })
  const place = { workspaceId: workspace.workspaceId, folder, name, besides: found.id, userId }
  const free = await claimPlace(tx, services, place, request.body.on_conflict ?? 'duplicate')
  const previous = await openTrashed(tx, request, { lock: true })
  const file = await sql.restoreFile(tx, { id: previous.id, folder_id: folder.id, name: free })
  await services.events.emit(tx, 'file.restored', file, { previous, userId: file.owner_id })
  return file
}
