// Handlers of folders.
import type { Handlers } from '../services/handler.ts'
import { openWorkspaces } from '../services/projects/workspaces.ts'
import {
  createFolder,
  findFolder,
  listFolders,
  openFolder,
  openFolderLocked,
  openPlace,
  updateFolder,
} from '../services/storage/folders.ts'
import { listItems } from '../services/storage/items.ts'
import { deleteFolder } from '../services/storage/storage-jobs.ts'

export const storageFolders = {
  async listFolders(request, { db, lists }) {
    return { status: 200, body: await listFolders(lists, await openWorkspaces(db, request), request.query) }
  },

  async createFolder(request, { db, events }) {
    const { project_id: projectId, parent_id: folderId } = request.body
    return await db.transaction(async (tx) => {
      const place = await openPlace(tx, request, { projectId, folderId }, { lock: true })
      const folder = await createFolder(tx, events, place, request.body)
      return { status: 201, body: folder, headers: { location: `/v1/storage/folders/${folder.id}` } }
    })
  },

  async getFolder(request, { db }) {
    const { workspace_id: _workspace, ...folder } = await openFolder(db, request)
    return { status: 200, body: folder }
  },

  async updateFolder(request, { db, events }) {
    return await db.transaction(async (tx) => {
      return { status: 200, body: await updateFolder(tx, events, request) }
    })
  },

  async deleteFolder(request, { db, events, trackedJobs }) {
    const { userId } = request.principal
    return await db.transaction(async (tx) => {
      const { folder, workspaceId } = await openFolderLocked(tx, request)
      request.ifMatch(folder)
      const job = await deleteFolder(tx, { events, trackedJobs }, folder, { workspaceId, userId })
      return { status: 202, body: job }
    })
  },

  async listStorageItems(request, { db }) {
    const { project_id: projectId, folder_id: folderId = null, ...query } = request.query
    const { workspaceId } = await openPlace(db, request, { projectId, folderId })
    if (projectId !== undefined && folderId !== null) await findFolder(db, workspaceId, folderId)
    return { status: 200, body: await listItems(db, workspaceId, folderId, query) }
  },
} satisfies Handlers<'storage-folders'>
