// One action with many files, in one transaction. The number of statements depends on the number of
// workspaces and folders, not on that of files. Locks what the single operations lock, in the same order:
// the projects, the storage of the workspaces, the files; each in the order of ids.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import { changesOf } from '../../infra/contract/changes.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { ApiError, inProgress, invalidField, notFound } from '../../infra/errors.ts'
import { hasRole, requireAccess, type WorkspaceResource } from '../projects/resource-access.ts'
import type { Principal } from '../users/authentication.ts'
import { toFile, type StoredFile } from './files.ts'
import { chooseFolder, normalizedPath, requireOneFolder, type FolderChoice } from './folders.ts'
import { requireNoShare } from './shares.ts'
import { deleteForever, discardFiles, type TrashServices } from './trash.ts'

type Batch = components['schemas']['FileBatch']
type Result = components['schemas']['FileBatchResult']

export interface BatchRequest {
  id: string
  clientRequestId: string | undefined
  operation: OperationInfo
  principal: Principal
  body: Batch
  noteProject?(id: string): void
}

type BatchFile = sql.LockFilesRow & Pick<WorkspaceResource, 'share'>

/** The fields of each action. */
const fieldsOf: Record<Batch['action'], string[]> = {
  move: ['path', 'folder_id'],
  trash: [],
  delete: [],
  restore: [],
  tag: ['tags', 'metadata'],
}

/** The actions that the role editor in a share of the folder allows, as the single operations do. */
const sharedActions = new Set<Batch['action']>(['trash', 'tag'])

/**
 * Does the action of the request with each file.
 * @returns the results in the order of the request. @throws 400 for fields of another action.
 */
export async function batchFiles(
  tx: Transaction,
  services: TrashServices,
  request: BatchRequest,
): Promise<Result[]> {
  requireFields(request.body)
  const { action, ids } = request.body
  const errors = new Map<string, ApiError>()
  const found = await openFiles(tx, request, ids, errors)
  await lockWorkspaces(tx, action, [...found.values()])
  const locked = await openFiles(tx, request, [...found.keys()], errors, { lock: true })
  const files = [...locked.values()].filter((file) => {
    const isSame = workspaceOf(file) === workspaceOf(found.get(file.id)!)
    if (!isSame) errors.set(file.id, inProgress('Another request has moved the file to another project.'))
    return isSame
  })
  await actions[action](tx, services, request, files, errors)
  return ids.map((id) => resultOf(request, id, errors.get(id)))
}

function requireFields(body: Batch): void {
  const allowed = ['action', 'ids', ...fieldsOf[body.action]]
  for (const field of Object.keys(body))
    if (!allowed.includes(field))
      throw invalidField(field, 'additionalProperties', `The action ${body.action} has no field ${field}.`)
  requireOneFolder(body)
  const wanted = fieldsOf[body.action]
  if (wanted.length > 0 && wanted.every((field) => !(field in body)))
    throw invalidField(wanted[0], 'required', `The action ${body.action} needs ${wanted.join(' or ')}.`)
}

function resultOf({ id, clientRequestId }: BatchRequest, fileId: string, error?: ApiError): Result {
  if (error === undefined) return { id: fileId, status: 200, error: null }
  // As in the response header X-Request-ID.
  return { id: fileId, status: error.status, error: error.toBody(clientRequestId ?? id).error }
}

/** The files that the caller may use for the action, by their ids. `errors` gets the errors of the others. */
async function openFiles(
  db: Db,
  request: BatchRequest,
  ids: string[],
  errors: Map<string, ApiError>,
  { lock = false } = {},
): Promise<Map<string, BatchFile>> {
  const { action } = request.body
  const { userId } = request.principal
  const trashed = action === 'delete' || action === 'restore'
  const where = { ids, user_id: userId, visible: action !== 'restore', trashed }
  const rows = ids.length === 0 ? [] : await (lock ? sql.lockFiles : sql.readFiles)(db, where)
  const read = new Map((await withShares(db, rows, request)).map((file) => [file.id, file]))
  const opened = new Map<string, BatchFile>()
  for (const id of ids) {
    try {
      opened.set(id, authorize(read.get(id), request, id))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      errors.set(id, error)
    }
  }
  return opened
}

/** What each action needs in the project of a file. */
function accessFor({ operation }: BatchRequest): OperationInfo {
  return { ...operation, projectAccess: { role: 'editor', states: ['active'] } }
}

/** `withSharedRole` for many files. */
async function withShares(db: Db, rows: BatchFile[], request: BatchRequest): Promise<BatchFile[]> {
  const { principal } = request
  const access = { operation: accessFor(request), principal }
  const others = rows.filter((row) => row.folder_id !== null && !hasRole(row, access))
  if (others.length === 0) return rows
  const folderIds = [...new Set(others.map((row) => row.folder_id!))]
  const shares = new Map(
    (await sql.findSharedRoles(db, { folder_ids: folderIds, user_id: principal.userId })).map(
      ({ folder_id: id, ...share }) => [id, share],
    ),
  )
  const withoutRole = new Set(others)
  return rows.map((row) => (withoutRole.has(row) ? { ...row, share: shares.get(row.folder_id!) } : row))
}

/** @throws 404 for a file that the caller cannot see, else what the single operation throws. */
function authorize(file: BatchFile | undefined, request: BatchRequest, id: string): BatchFile {
  const { principal, noteProject } = request
  const { action } = request.body
  const isSeen =
    file !== undefined &&
    file.project_status !== 'deleted' &&
    (file.your_role !== null ||
      file.share !== undefined ||
      (file.project_id === null && file.owner_id === principal.userId))
  if (!isSeen) throw notFound('file', id)
  const access = { operation: accessFor(request), principal, noteProject }
  const byShare = file.share !== undefined && !hasRole(file, access)
  const counted = byShare && !sharedActions.has(action) && action !== 'delete' ? withoutShare(file) : file
  requireAccess(counted, access, { name: 'file', id })
  if (action === 'delete') requireNoShare({ by_share: byShare }, 'delete files permanently')
  return counted
}

function withoutShare({ share: _share, ...file }: BatchFile): BatchFile {
  return file
}

function workspaceOf({ project_id: projectId, owner_id: ownerId }: BatchFile): string {
  return projectId ?? ownerId
}

async function lockWorkspaces(tx: Transaction, action: Batch['action'], files: BatchFile[]): Promise<void> {
  const projects = new Set(files.flatMap((file) => file.project_id ?? []))
  if (projects.size > 0) await sql.lockProjects(tx, { ids: [...projects] })
  const changesFolders = action === 'move' || action === 'restore'
  if (!changesFolders || files.length === 0) return
  const workspaces = [...new Set(files.map(workspaceOf))].toSorted()
  await sql.lockStorages(tx, { workspace_ids: workspaces })
}

type Action = (
  tx: Transaction,
  services: TrashServices,
  request: BatchRequest,
  files: BatchFile[],
  errors: Map<string, ApiError>,
) => Promise<void>

const actions: Record<Batch['action'], Action> = {
  async trash(tx, services, { principal }, files) {
    await discardFiles(tx, services, files.map(withoutColumns), principal.userId)
  },

  async delete(tx, services, _request, files) {
    await deleteForever(tx, services, files.map(withoutColumns))
  },

  async move(tx, services, request, files, errors) {
    const { path, folder_id: folderId } = request.body
    const choice = path === undefined ? { folderId } : { path }
    for (const ofWorkspace of Map.groupBy(files, workspaceOf).values()) {
      const folder = await folderFor(tx, services, request, ofWorkspace, choice, errors)
      const moved = ofWorkspace.filter((file) => folder !== undefined && file.folder_id !== folder)
      if (moved.length === 0) continue
      const ids = moved.map(({ id }) => id)
      await emitChanges(
        tx,
        services,
        'file.updated',
        moved,
        await sql.moveFiles(tx, { ids, folder_id: folder! }),
      )
    }
  },

  async restore(tx, services, request, files, errors) {
    const groups = [...Map.groupBy(files, (file) => `${workspaceOf(file)} ${file.path}`).values()]
    const places = groups.map(([file]) => ({
      workspace_id: workspaceOf(file),
      path: normalizedPath(file.path),
    }))
    const known = await sql.findFoldersByPaths(tx, {
      workspace_ids: places.map((place) => place.workspace_id),
      paths: places.map(({ path }) => path),
    })
    const keyOf = (place: { workspace_id: string; path: string }) => `${place.workspace_id} ${place.path}`
    const knownIds = new Map(known.map((folder) => [keyOf(folder), folder.id]))
    const restored = new Map<string, string | null>()
    for (const [i, group] of groups.entries()) {
      const { path } = places[i]
      const folder =
        knownIds.get(keyOf(places[i])) ?? (await folderFor(tx, services, request, group, { path }, errors))
      if (folder !== undefined) for (const { id } of group) restored.set(id, folder)
    }
    const to = { ids: [...restored.keys()], folder_ids: [...restored.values()] }
    await emitChanges(tx, services, 'file.restored', files, await sql.restoreFiles(tx, to))
  },

  async tag(tx, services, { body: { tags, metadata } }, files, errors) {
    const changes: { id: string; tags: string[]; metadata: Record<string, string> }[] = []
    for (const file of files) {
      try {
        const changed = changesOf(file, { tags, metadata })
        if (changed === null) continue
        const { tags: newTags = file.tags, metadata: newMetadata = file.metadata } = changed
        changes.push({ id: file.id, tags: newTags, metadata: newMetadata })
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        errors.set(file.id, error)
      }
    }
    if (changes.length === 0) return
    const tagged = await sql.tagFiles(tx, { changes: JSON.stringify(changes) })
    await emitChanges(tx, services, 'file.updated', files, tagged)
  },
}

/** The folder of files of one workspace; undefined if there is none, which is the error of all of them. */
async function folderFor(
  tx: Transaction,
  { events }: TrashServices,
  { principal }: BatchRequest,
  files: BatchFile[],
  choice: FolderChoice,
  errors: Map<string, ApiError>,
): Promise<string | null | undefined> {
  const [file] = files
  const workspace = {
    workspaceId: workspaceOf(file),
    projectId: file.project_id,
    ownerId: principal.userId,
  }
  try {
    return (await chooseFolder(tx, events, workspace, choice)).id
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    for (const { id } of files) errors.set(id, error)
    return undefined
  }
}

async function emitChanges(
  tx: Transaction,
  { events }: TrashServices,
  type: 'file.updated' | 'file.restored',
  before: BatchFile[],
  after: StoredFile[],
): Promise<void> {
  const previous = new Map(before.map((file) => [file.id, withoutColumns(file)]))
  const changes = after.map((file) => ({
    object: file,
    previous: previous.get(file.id),
    userId: file.owner_id,
  }))
  await events.emitAll(tx, type, changes)
}

/** The file without the columns that decide about the access to it. */
function withoutColumns({
  your_role: _role,
  project_status: _project,
  owner_status: _owner,
  share: _share,
  ...file
}: BatchFile): StoredFile {
  return toFile(file)
}
