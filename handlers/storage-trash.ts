// Handlers of the trash.
import type { Handlers } from '../services/handler.ts'
import { openWorkspace, openWorkspaces } from '../services/projects/workspaces.ts'
import { restoreFile } from '../services/storage/restore-file.ts'
import { emptyTrash } from '../services/storage/storage-jobs.ts'
import { deleteTrashed, listTrash, openTrashed } from '../services/storage/trash.ts'

export const storageTrash = {
  async listTrash(request, { db, lists }) {
    return { status: 200, body: await listTrash(lists, await openWorkspaces(db, request), request.query) }
  },

  async getTrashedFile(request, { db }) {
    return { status: 200, body: await openTrashed(db, request) }
  },

  async restoreFile(request, { db, storage, events, config }) {
    return await db.transaction(async (tx) => {
      return { status: 200, body: await restoreFile(tx, { storage, events, config }, request) }
    })
  },

  async deleteTrashedFile(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const file = await openTrashed(tx, request, { lock: true })
      request.ifMatch(file)
      await deleteTrashed(tx, { events }, [file])
      return { status: 204 }
    })
  },

  async emptyTrash(request, { db, events, trackedJobs }) {
    const { project_id: projectId = null } = request.body
    const { userId } = request.principal
    return await db.transaction(async (tx) => {
      const workspaceId = await openWorkspace(tx, request, projectId, { lock: true })
      const job = await emptyTrash(tx, { events, trackedJobs }, { workspaceId, projectId, userId })
      return { status: 202, body: job }
    })
  },
} satisfies Handlers<'storage-trash'>
