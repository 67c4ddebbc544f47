// Handlers of jobs.
import type { Handlers } from '../services/handler.ts'
import { cancelJob, listJobs, openJob } from '../services/jobs/jobs.ts'
import { openWorkspaces } from '../services/projects/workspaces.ts'
import { storageJobs } from '../services/storage/storage-jobs.ts'

export const jobs = {
  async listJobs(request, { db, lists }) {
    return { status: 200, body: await listJobs(lists, await openWorkspaces(db, request), request.query) }
  },

  async getJob(request, { db }) {
    const { workspace_id: _workspace, ...job } = await openJob(db, request)
    return { status: 200, body: job }
  },

  async cancelJob(request, { db, storage, events, config }) {
    const kinds = storageJobs({ storage, events, config })
    return await db.transaction(async (tx) => {
      return { status: 200, body: await cancelJob(tx, events, kinds, request) }
    })
  },
} satisfies Handlers<'jobs'>
