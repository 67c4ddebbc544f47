// Changes the attributes of a file. With a new name or folder, the file takes another place.
import type { components } from '../../generated/types.ts'
import { changesOf, hasFields } from '../../infra/contract/changes.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { inProgress } from '../../infra/errors.ts'
import { timestampAfter } from '../../infra/database/timestamps.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import { claimPlace, type FileConflictPolicy } from './file-places.ts'
import { findFile, openFile, toFile, type StoredFile } from './files.ts'
import { chooseFolder, requireOneFolder } from './folders.ts'
import { requireNoShare } from './shares.ts'
import type { TrashServices } from './trash.ts'

export interface UpdateFileRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  body: components['schemas']['FileUpdate']
  ifMatch(entity: unknown): void
}

/** Throws 403, 404, 409 or 412. `newExpiry`: the expiry in the request. */
export async function updateFile(
  tx: Transaction,
  services: TrashServices,
  request: UpdateFileRequest,
  newExpiry: Date | null | undefined,
): Promise<StoredFile> {
  const {
    on_conflict: policy = 'duplicate',
    expires_at: _at,
    expires_in_seconds: _in,
    ...update
  } = request.body
  requireOneFolder(update)
  const { path, folder_id: folderId, ...fieldsToSet } = update
  const isMoved = path !== undefined || folderId !== undefined
  const claimed =
    policy === 'duplicate' && !isMoved ? null : await claimNewPlace(tx, services, request, policy)
  const previous = await openFile(tx, request, { lock: true })
  request.ifMatch(previous)
  if (update.visibility !== undefined || newExpiry !== undefined)
    requireNoShare(previous, 'change who sees files, or for how long')
  if (claimed !== null && !hasFields(previous, claimed.from))
    throw inProgress('Another request has given the file another name or folder.')
  const changes = changesOf(previous, {
    ...fieldsToSet,
    ...(newExpiry !== undefined && { expires_at: newExpiry?.toISOString() ?? null }),
    ...(claimed !== null && { name: claimed.name, folder_id: claimed.folderId }),
  })
  if (changes === null) return toFile(previous)
  const { expires_at: expiresAt, folder_id: newFolderId, ...fields } = changes
  await tx.prisma.file.update({
    where: { id: previous.id },
    data: {
      ...fields,
      folderId: newFolderId,
      expiresAt,
      updatedAt: timestampAfter(new Date(previous.updated_at)),
    },
    select: { id: true },
  })
  const file = (await findFile(tx, previous.id))!
  await services.events.emit(tx, 'file.updated', file, { previous, userId: file.owner_id })
  return file
}

/** The place is claimed before the file is locked: see `claimPlace`. */
async function claimNewPlace(
  tx: Transaction,
  services: TrashServices,
  request: UpdateFileRequest,
  policy: FileConflictPolicy,
): Promise<{ name: string; folderId: string | null; from: { name: string; folder_id: string | null } }> {
  const file = await openFile(tx, request)
  request.ifMatch(file)
  requireNoShare(file, 'move files, or choose what happens to others with their name')
  const workspaceId = await openWorkspace(tx, request, file.project_id, { lock: true })
  const { name = file.name, path, folder_id: folderId } = request.body
  const { userId } = request.principal
  const workspace = { workspaceId, projectId: file.project_id, ownerId: userId }
  const choice =
    path === undefined ? { folderId: folderId === undefined ? file.folder_id : folderId } : { path }
  const folder = await chooseFolder(tx, services.events, workspace, choice)
  return {
    name: await claimPlace(tx, services, { workspaceId, folder, name, besides: file.id, userId }, policy),
    folderId: folder.id,
    from: { name: file.name, folder_id: file.folder_id },
  }
}
