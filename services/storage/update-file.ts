// Changes the attributes of a file. With a new name or folder, the file takes another place.
import type { components } from '../../generated/types.ts'
import { changesOf, hasFields } from '../../infra/contract/changes.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { inProgress } from '../../infra/errors.ts'
import { timestampAfter } from '../../infra/database/timestamps.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import type { DeleteFileServices } from './delete-file.ts'
import { claimPlace, type FileConflictPolicy } from './file-places.ts'
import { findFile, folderOf, openFile, toFile, type StoredFile } from './files.ts'

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
  services: DeleteFileServices,
  request: UpdateFileRequest,
  newExpiry: Date | null | undefined,
): Promise<StoredFile> {
  const {
    on_conflict: policy = 'duplicate',
    expires_at: _at,
    expires_in_seconds: _in,
    ...update
  } = request.body
  const claimed = policy === 'duplicate' ? null : await claimNewPlace(tx, services, request, policy)
  const previous = await openFile(tx, request, { lock: true })
  if (claimed !== null && !hasFields(previous, claimed.from))
    throw inProgress('Another request has given the file another name or folder.')
  request.ifMatch(previous)
  const changes = changesOf(previous, {
    ...update,
    ...(newExpiry !== undefined && { expires_at: newExpiry?.toISOString() ?? null }),
    ...(claimed !== null && { name: claimed.name }),
    ...(update.path !== undefined && { path: folderOf(update.path) }),
  })
  if (changes === null) return toFile(previous)
  const { expires_at: expiresAt, ...fields } = changes
  await tx.prisma.file.update({
    where: { id: previous.id },
    data: { ...fields, expiresAt, updatedAt: timestampAfter(new Date(previous.updated_at)) },
    select: { id: true },
  })
  const file = (await findFile(tx, previous.id))!
  await services.events.emit(tx, 'file.updated', file, { previous, userId: file.owner_id })
  return file
}

/** The place is claimed before the file is locked: see `claimPlace`. */
async function claimNewPlace(
  tx: Transaction,
  services: DeleteFileServices,
  request: UpdateFileRequest,
  policy: FileConflictPolicy,
): Promise<{ name: string; from: { name: string; path: string } }> {
  const file = await openFile(tx, request)
  request.ifMatch(file)
  await openWorkspace(tx, request, file.project_id, { lock: true })
  const { name = file.name, path = file.path } = request.body
  const workspaceId = file.project_id ?? file.owner_id
  const place = { workspaceId, folder: folderOf(path), name, besides: file.id }
  return {
    name: await claimPlace(tx, services, place, policy),
    from: { name: file.name, path: file.path },
  }
}
