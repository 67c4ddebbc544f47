// Folders: their rows, and where files are put. Only folders have paths. All changes of the folders of a
// workspace, and of what is in them, wait for each other: they lock its storage (`lock_storage`).
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { conflict, invalidRequest, limitReached, notFound, type Location } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'

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
  if ([...path].length > maxPathLength)
    throw conflict('path_length', `The path has more than ${maxPathLength} characters.`, 'path')
}

export function tooManyFolders(): Error {
  return limitReached('FORBIDDEN', 'folders', `There are already ${maxFolders} folders.`, {
    name: 'folders',
    limit: maxFolders,
    used: maxFolders,
    resets_at: null,
  })
}
