// Copies and moves files, also between workspaces. No bytes are copied: the new row has the same blob.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Config } from '../../infra/config/config.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { inProgress, notFound } from '../../infra/errors.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import type { DeleteFileServices } from './delete-file.ts'
import { claimPlace } from './file-places.ts'
import { findFile, insertFile, newFileId, openFile, toFile, type StoredFile } from './files.ts'
import { chooseFolder, lockFolders, requireOneFolder, type FolderPlace } from './folders.ts'
import { findLink } from './links.ts'
import { quotaFor, takeStorage } from './quota.ts'

export interface PlaceFileRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  body: components['schemas']['FileDestination']
  noteProject?(id: string): void
}

export interface PlaceFileServices extends DeleteFileServices {
  config: Readonly<Config>
}

/** Where a copied or moved file is put. */
interface Destination {
  workspaceId: string
  projectId: string | null
  ownerId: string
  folder: FolderPlace
  name: string
}

type Attributes = Pick<StoredFile, 'project_id' | 'owner_id' | 'folder_id' | 'name'>

/** What a copy needs in the project that it is put in; the source is only read. */
const targetAccess = { role: 'editor', states: ['active'] }

/**
 * Copies a file. The bytes of the copy count in the quota of its workspace. Throws 404 for a missing file,
 * project or folder, 403 without the role viewer at the source or editor at the target, 409 for a taken
 * place, and 413 for a full quota.
 */
export async function copyFile(
  tx: Transaction,
  services: PlaceFileServices,
  request: PlaceFileRequest,
): Promise<StoredFile> {
  requireOneFolder(request.body)
  const read = await openFile(tx, request)
  const operation = { ...request.operation, projectAccess: targetAccess }
  const projectId = projectOf(request, read)
  const workspaceId = await openWorkspace(tx, { ...request, operation }, projectId, { lock: true })
  const target = { workspaceId, projectId, ownerId: request.principal.userId }
  // The copy does not replace the file that it is made from.
  const besides = request.body.on_conflict === 'replace' ? read.id : undefined
  const { folder, name } = await choosePlace(tx, services, request, read, { ...target, besides })
  const source = await sql.lockSourceFile(tx, { id: read.id })
  if (source === undefined) throw notFound('file', read.id)
  requireUnmoved(source, read)
  const quota = quotaFor(services.config, projectId)
  await takeStorage(tx, workspaceId, { id: null, bytes: source.bytes, quota })
  const file = await insertFile(tx, newFileId(), {
    projectId,
    ownerId: target.ownerId,
    name,
    folderId: folder.id,
    contentType: source.content_type,
    declaredContentType: source.declared_content_type,
    bytes: source.bytes,
    sha256: source.sha256,
    metadata: source.metadata,
    tags: source.tags,
    blobKey: source.blob_key,
  })
  await services.events.emit(tx, 'file.created', file, { userId: file.owner_id })
  return file
}

/**
 * Moves a file, with the role editor at both places. When it leaves its workspace, its bytes and those of its
 * versions count in the quota of the other one, its links are revoked and the documents that were created
 * from it are deleted. Throws what `copyFile` throws.
 */
export async function moveFile(
  tx: Transaction,
  services: PlaceFileServices,
  request: PlaceFileRequest,
): Promise<StoredFile> {
  requireOneFolder(request.body)
  const read = await openFile(tx, request)
  const projectId = projectOf(request, read)
  // Locks in the order of ids, so that two moves between the same workspaces do not deadlock.
  const workspaces = new Map<string | null, string>()
  for (const id of [...new Set([read.project_id, projectId])].toSorted(nullFirst))
    workspaces.set(id, await openWorkspace(tx, request, id, { lock: true }))
  for (const id of [...workspaces.values()].toSorted(nullFirst)) await lockFolders(tx, id)
  const workspaceId = workspaces.get(projectId)!
  const isLeaving = projectId !== read.project_id
  const ownerId = projectId === null ? request.principal.userId : read.owner_id
  const target = { workspaceId, projectId, ownerId }
  const { folder, name } = await choosePlace(tx, services, request, read, { ...target, besides: read.id })
  const previous = await openFile(tx, request, { lock: true })
  requireUnmoved(previous, read)
  if (isLeaving) await leaveWorkspace(tx, services, previous, target)
  else if (folder.id === previous.folder_id && name === previous.name) return toFile(previous)
  await sql.moveFile(tx, {
    id: read.id,
    project_id: projectId,
    owner_id: ownerId,
    folder_id: folder.id,
    name,
  })
  const file = (await findFile(tx, read.id))!
  if (isLeaving) {
    // Each workspace sees its own part: the readers of one may not know the other.
    await services.events.emit(tx, 'file.deleted', toFile(previous), { userId: previous.owner_id })
    await services.events.emit(tx, 'file.created', file, { userId: file.owner_id })
  } else {
    await services.events.emit(tx, 'file.updated', file, {
      previous: toFile(previous),
      userId: file.owner_id,
    })
  }
  return file
}

/** The project of the request; by default that of the file. */
function projectOf({ body }: PlaceFileRequest, file: StoredFile): string | null {
  return body.project_id === undefined ? file.project_id : body.project_id
}

/** By default the file keeps its name, and in its own workspace its folder. Locks the storage. */
async function choosePlace(
  tx: Transaction,
  services: PlaceFileServices,
  { body }: PlaceFileRequest,
  file: StoredFile,
  { besides, ...target }: Omit<Destination, 'folder' | 'name'> & { besides?: string },
): Promise<Pick<Destination, 'folder' | 'name'>> {
  const { path, folder_id: folderId, name = file.name, on_conflict: policy = 'duplicate' } = body
  const ownFolder = target.projectId === file.project_id ? file.folder_id : null
  const choice = path === undefined ? { folderId: folderId === undefined ? ownFolder : folderId } : { path }
  const folder = await chooseFolder(tx, services.events, target, choice)
  const place = { workspaceId: target.workspaceId, folder, name, besides, userId: target.ownerId }
  return { folder, name: await claimPlace(tx, services, place, policy) }
}

/** @throws 409 if another request has moved the file meanwhile. */
function requireUnmoved(now: Attributes, read: Attributes): void {
  const isUnmoved =
    now.project_id === read.project_id && now.folder_id === read.folder_id && now.name === read.name
  if (!isUnmoved) throw inProgress('Another request has given the file another name or folder.')
}

/** Takes the bytes in the target, and ends what belongs to the former workspace. */
async function leaveWorkspace(
  tx: Transaction,
  { config, events, storage }: PlaceFileServices,
  file: StoredFile & { blob_key: string },
  { workspaceId, projectId }: Omit<Destination, 'folder' | 'name'>,
): Promise<void> {
  const { bytes: versionBytes } = await sql.sumVersions(tx, { file_id: file.id })
  const bytes = file.bytes + versionBytes
  await takeStorage(tx, workspaceId, { id: null, bytes, quota: quotaFor(config, projectId) })
  for (const { id } of await sql.revokeLinksOfFile(tx, { file_id: file.id }))
    await events.emit(tx, 'file_link.revoked', await findLink(tx, file, id), { userId: file.owner_id })
  await storage.deleteDocuments(tx, [file.id])
}

function nullFirst(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : 1
}
