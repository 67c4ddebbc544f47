// Folders: their rows, and where files are put. Only folders have paths. All changes of the folders of a
// workspace, and of what is in them, wait for each other: they lock its storage (`lock_storage`).
import type { components } from '../../generated/types.ts'
import { lockProject } from '../../generated/sql/projects.ts'
import * as sql from '../../generated/sql/storage.ts'
import { changesOf } from '../../infra/contract/changes.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, SqlClient, Transaction } from '../../infra/database/database.ts'
import { containsPattern, type Page } from '../../infra/database/pagination.ts'
import { conflict, invalidRequest, limitReached, notFound, type Location } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Emitter } from '../events/emit.ts'
import { requireAccess } from '../projects/resource-access.ts'
import { openWorkspace, type WorkspaceFilter } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import { withSharedRole } from './shares.ts'

export type Folder = components['schemas']['Folder']

/** The folders of a workspace. */
export const maxFolders = 10_000
/** The characters of a path. */
export const maxPathLength = 1024

/** The workspace of a folder, and who creates it. */
export interface FolderWorkspace {
  workspaceId: string
  projectId: string | null
  ownerId: string
}

/** Where a file is put: the id of a folder, or a path, which is created if it does not exist. */
export interface FolderChoice {
  /** null for the root. */
  folderId?: string | null
  path?: string
}

/** A folder of files; the root has no id and an empty path. */
export interface FolderPlace {
  id: string | null
  path: string
}

export const root: FolderPlace = { id: null, path: '' }

/** The folder in a path: without the slash at either end. */
export function folderOf(path: string): string {
  return path.replace(/^\/|\/$/g, '')
}

/** The folder in a path, in the Unicode form NFC. @throws 409 if that is too long. */
export function normalizedPath(path: string): string {
  const normalized = folderOf(path).normalize('NFC')
  requirePathLength(normalized)
  return normalized
}

/** @throws 400 for a request that names a folder both by its id and by its path. */
export function requireOneFolder(
  { folder_id: folderId, path }: { folder_id?: string | null; path?: string },
  location: Location = 'body',
): void {
  if (folderId === undefined || path === undefined) return
  const message = 'folder_id and path exclude each other: send one of them.'
  throw invalidRequest([{ field: 'folder_id', constraint: 'exclusive', message, location }])
}

/**
 * The folder that is chosen. Locks the storage of the workspace, so that the folder is not moved or deleted
 * before the transaction ends. Creates the missing folders of a path and emits `folder.created` for each.
 * @throws 404 for the id of another folder than one of the workspace, 403 for too many folders.
 */
export async function chooseFolder(
  tx: Transaction,
  events: Emitter,
  workspace: FolderWorkspace,
  { folderId, path = '' }: FolderChoice,
): Promise<FolderPlace> {
  if (folderId === undefined) return await ensureFolder(tx, events, workspace, path)
  await lockFolders(tx, workspace.workspaceId)
  return folderId === null ? root : await findFolder(tx, workspace.workspaceId, folderId)
}

/** Like `chooseFolder`, for an upload that named a folder when it began: if it is gone, its path counts. */
export async function chooseFolderOfUpload(
  tx: Transaction,
  events: Emitter,
  workspace: FolderWorkspace,
  { folderId, path = '' }: FolderChoice,
): Promise<FolderPlace> {
  await lockFolders(tx, workspace.workspaceId)
  const where = { id: folderId ?? '', workspace_id: workspace.workspaceId }
  const found = folderId == null ? undefined : await sql.findFolder(tx, where)
  return found ?? (await ensureFolder(tx, events, workspace, path))
}

/** A folder of a workspace. @throws 404 */
export async function findFolder(db: Db, workspaceId: string, id: string): Promise<Folder> {
  const folder = await sql.findFolder(db, { id, workspace_id: workspaceId })
  if (folder === undefined) throw notFound('folder', id)
  return folder
}

/** Makes the changes of the folders of a workspace wait for each other until the transaction ends. */
export async function lockFolders(tx: Transaction, workspaceId: string): Promise<void> {
  await sql.lockStorage(tx, { workspace_id: workspaceId, besides: null })
}

async function ensureFolder(
  tx: Transaction,
  events: Emitter,
  { workspaceId, projectId, ownerId }: FolderWorkspace,
  given: string,
): Promise<FolderPlace> {
  const path = normalizedPath(given)
  if (path === '') return root
  const { id, created } = await sql.ensureFolder(tx, {
    workspace_id: workspaceId,
    project_id: projectId,
    owner_id: ownerId,
    path,
    most: maxFolders,
  })
  if (id === null) throw tooManyFolders()
  for (const each of created) {
    const folder = await findFolder(tx, workspaceId, each)
    await events.emit(tx, 'folder.created', folder, { userId: ownerId })
  }
  return { id, path }
}

/** A path may become longer in the form NFC, and by a move. @throws 409 */
export function requirePathLength(path: string): void {
  if (lengthOf(path) > maxPathLength) throw pathTooLong()
}

/** The characters of a text, as PostgreSQL counts them. */
function lengthOf(text: string): number {
  return [...text].length
}

function pathTooLong(): Error {
  return conflict('path_length', `A path would have more than ${maxPathLength} characters.`, 'name')
}

export function tooManyFolders(): Error {
  return limitReached('FORBIDDEN', 'folders', `There are already ${maxFolders} folders.`, {
    name: 'folders',
    limit: maxFolders,
    used: maxFolders,
    resets_at: null,
  })
}

interface FolderRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  noteProject?(id: string): void
}

/** Loads the folder of the request and authorizes the operation. @throws 404, 403 or 409 */
export async function openFolder(
  db: Db,
  { params: { id }, ...request }: FolderRequest,
): Promise<Folder & { workspace_id: string }> {
  const found = await readFolder(db, id, request)
  requireAccess(found, request, { name: 'folder', id })
  const { your_role: _role, project_status: _status, owner_id: _owner, share: _share, ...folder } = found
  return folder
}

/** The folder with the caller's access to it, also by a share; undefined if there is none. */
async function readFolder(db: Db, id: string, request: Omit<FolderRequest, 'params'>) {
  const row = await sql.readFolder(db, { id, user_id: request.principal.userId })
  return row && (await withSharedRole(db, row, id, request))
}

/** What a request says of its place. */
export interface PlaceChoice {
  projectId?: string | null
  folderId?: string | null
}

/** Where a request works: a workspace, who owns what it creates there, and whether it is by a share. */
export interface OpenPlace extends FolderWorkspace {
  byShare: boolean
}

/**
 * Authorizes the operation in the workspace that the request names: by a project, or by a folder alone, which
 * may be shared with the caller. What is created by a share belongs to the user who shares the folder. `lock`
 * locks the project. Throws what `openWorkspace` throws, and 404 for a folder that the caller cannot see.
 */
export async function openPlace(
  db: Db,
  request: Omit<FolderRequest, 'params'>,
  { projectId = null, folderId }: PlaceChoice,
  { lock = false } = {},
): Promise<OpenPlace> {
  const { userId: ownerId } = request.principal
  if (projectId !== null || folderId == null) {
    const workspaceId = await openWorkspace(db, request, projectId, { lock })
    return { workspaceId, projectId, ownerId, byShare: false }
  }
  let found = await readFolder(db, folderId, request)
  if (lock && found !== undefined && found.project_id !== null) {
    await lockProject(db, { id: found.project_id })
    found = await readFolder(db, folderId, request)
  }
  if (found === undefined || (found.your_role === null && found.owner_id !== ownerId && !found.share))
    throw notFound('folder', folderId)
  requireAccess(found, request, { name: 'folder', id: folderId })
  const { share, workspace_id: workspaceId, project_id: itsProject } = found
  return {
    workspaceId,
    projectId: itsProject,
    ownerId: share === undefined ? ownerId : itsProject === null ? workspaceId : share.owner_id,
    byShare: share !== undefined,
  }
}

/** Like `openFolder`, and locks the project and all folders of the workspace until the transaction ends. */
export async function openFolderLocked(
  tx: Transaction,
  request: FolderRequest,
): Promise<{ folder: Folder; workspaceId: string }> {
  const { project_id: projectId, workspace_id: workspaceId } = await openFolder(tx, request)
  await openWorkspace(tx, request, projectId, { lock: true })
  await lockFolders(tx, workspaceId)
  return { folder: await findFolder(tx, workspaceId, request.params.id), workspaceId }
}

/** The folders at the root, in a folder, or all of them (`*`). */
export async function listFolders(
  db: SqlClient,
  workspaces: WorkspaceFilter,
  { parent_id: parentId, q, ...query }: ListQuery<'listFolders'>,
): Promise<Page<Folder>> {
  return await sql.listFolders(db, {
    ...query,
    ...workspaces,
    in_root: parentId === undefined ? true : undefined,
    parent_id: parentId === '*' ? undefined : parentId,
    name_pattern: q === undefined ? undefined : containsPattern(q),
  })
}

/** Creates a folder in a locked workspace, and emits `folder.created`. @throws 403, 404 or 409 */
export async function createFolder(
  tx: Transaction,
  events: Emitter,
  { workspaceId, projectId, ownerId }: FolderWorkspace,
  { name: given, parent_id: parentId, metadata = {} }: components['schemas']['FolderCreate'],
): Promise<Folder> {
  await lockFolders(tx, workspaceId)
  const parent = parentId === undefined ? root : await findFolder(tx, workspaceId, parentId)
  const name = given.normalize('NFC')
  const path = pathIn(parent, name)
  requirePathLength(path)
  await requireFreeFolder(tx, workspaceId, path)
  if ((await sql.countFolders(tx, { workspace_id: workspaceId })).n >= maxFolders) throw tooManyFolders()
  const id = newId('fld')
  const folder = await sql.insertFolder(tx, {
    id,
    project_id: projectId,
    owner_id: ownerId,
    parent_id: parent.id,
    name,
    path,
    metadata,
    created_at: timeOf(id),
  })
  await events.emit(tx, 'folder.created', folder, { userId: ownerId })
  return folder
}

/** Renames, moves or changes a folder, and emits `folder.updated`. @throws 403, 404, 409 or 412 */
export async function updateFolder(
  tx: Transaction,
  events: Emitter,
  request: FolderRequest & {
    body: components['schemas']['FolderUpdate']
    ifMatch(entity: unknown): void
  },
): Promise<Folder> {
  const { folder: previous, workspaceId } = await openFolderLocked(tx, request)
  request.ifMatch(previous)
  const { name: newName = previous.name, parent_id: newParent = previous.parent_id } = request.body
  const to = { name: newName.normalize('NFC'), parent_id: newParent }
  const changes = changesOf(previous, { ...to, metadata: request.body.metadata })
  if (changes === null) return previous
  const { id } = previous
  if (to.name !== previous.name || newParent !== previous.parent_id)
    await moveFolder(tx, workspaceId, previous, to)
  if (changes.metadata !== undefined)
    await tx.prisma.folder.update({ where: { id }, data: { metadata: changes.metadata } })
  const folder = await findFolder(tx, workspaceId, id)
  await events.emit(tx, 'folder.updated', folder, { previous, userId: folder.created_by })
  return folder
}

async function moveFolder(
  tx: Transaction,
  workspaceId: string,
  { id, path }: Folder,
  { name, parent_id: parentId }: { name: string; parent_id: string | null },
): Promise<void> {
  const parent = parentId === null ? root : await findFolder(tx, workspaceId, parentId)
  if (parent.id === id || parent.path.startsWith(`${path}/`))
    throw conflict('cycle', 'The new parent is the folder itself or in it.', 'parent_id')
  const newPath = pathIn(parent, name)
  await requireFreeFolder(tx, workspaceId, newPath)
  const { length } = await sql.longestPath(tx, { workspace_id: workspaceId, id, path })
  if (length - lengthOf(path) + lengthOf(newPath) > maxPathLength) throw pathTooLong()
  const to = { name, parent_id: parent.id, new_path: newPath }
  await sql.moveFolder(tx, { workspace_id: workspaceId, id, path, ...to })
}

/** The path of a folder with this name in another one. */
export function pathIn(parent: FolderPlace, name: string): string {
  return parent.path === '' ? name : `${parent.path}/${name}`
}

async function requireFreeFolder(tx: Transaction, workspaceId: string, path: string): Promise<void> {
  if ((await sql.findFolderByPath(tx, { workspace_id: workspaceId, path })) !== undefined)
    throw conflict('name_taken', `There is a folder ${path} already.`, 'name')
}
