// The jobs of storage: the deletion of a folder, and emptying the trash.
import * as sql from '../../generated/sql/storage.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { newId } from '../../infra/ids.ts'
import { startJob, type Job, type JobKinds, type JobServices, type LockedJob } from '../jobs/jobs.ts'
import { findFolder, lockFolders, pathIn, root, type Folder, type FolderPlace } from './folders.ts'
import { deleteTrashed, discardFiles, type TrashServices } from './trash.ts'

/** The files of a step. */
const filesPerStep = 500

export function storageJobs(services: TrashServices): JobKinds {
  return {
    folder_delete: {
      async step(tx, job) {
        const locked = await sql.lockFilesOfDeletion(tx, { job_id: job.id, limit: filesPerStep })
        const files = await sql.findFiles(tx, { ids: locked.map(({ id }) => id) })
        await discardFiles(tx, services, files, job.owner_id)
        const more = files.length === filesPerStep
        if (!more) await sql.deleteHiddenFolders(tx, { job_id: job.id })
        return { done: files.length, more }
      },
      prepareUndo: lockFolders,
      undo: (tx, job) => showFolder(tx, services, job),
    },
    trash_empty: {
      async step(tx, { workspace_id: workspaceId, until }) {
        if (until === null) return { done: 0, more: false }
        const files = await sql.lockTrash(tx, { workspace_id: workspaceId, until, limit: filesPerStep })
        await deleteTrashed(tx, services, files)
        return { done: files.length, more: files.length === filesPerStep }
      },
    },
  }
}

/**
 * Hides a folder whose workspace is locked, with everything in it, begins the job that deletes it, and emits
 * `folder.deleted`.
 */
export async function deleteFolder(
  tx: Transaction,
  services: JobServices,
  folder: Folder,
  { workspaceId, userId }: { workspaceId: string; userId: string },
): Promise<Job> {
  const { id, path, project_id: projectId } = folder
  const jobId = newId('job')
  const { files } = await sql.hideFolder(tx, { workspace_id: workspaceId, id, path, job_id: jobId })
  await services.events.emit(tx, 'folder.deleted', folder, { userId: folder.created_by })
  return await startJob(tx, services, {
    id: jobId,
    type: 'folder_delete',
    projectId,
    ownerId: userId,
    resourceId: id,
    total: files,
  })
}

/** Begins a job that deletes what is in the trash of a workspace now. */
export async function emptyTrash(
  tx: Transaction,
  services: JobServices,
  { workspaceId, projectId, userId }: { workspaceId: string; projectId: string | null; userId: string },
): Promise<Job> {
  const { files, last_at: until } = await sql.summarizeTrash(tx, { workspace_id: workspaceId })
  return await startJob(tx, services, {
    type: 'trash_empty',
    projectId,
    ownerId: userId,
    total: files,
    until: until ?? undefined,
  })
}

/** The folder of a deletion that is not done comes back with what is left in it. */
async function showFolder(tx: Transaction, { events }: TrashServices, job: LockedJob): Promise<void> {
  const { id: jobId, workspace_id: workspaceId, resource_id: id } = job
  const hidden = await sql.findHiddenFolder(tx, { id: id!, job_id: jobId })
  if (hidden === undefined) return
  const { name, path, parent_id: parentId, parent_path: parentPath } = hidden
  const parent = parentId === null ? root : { id: parentId, path: parentPath! }
  const place = (await freePlace(tx, workspaceId, parent, name))!
  const to = { name: place.name, parent_id: parent.id, new_path: place.path }
  await sql.showFolder(tx, { job_id: jobId, id: id!, path, ...to })
  const folder = await findFolder(tx, workspaceId, id!)
  await events.emit(tx, 'folder.restored', folder, { userId: folder.created_by })
}

/** The name, or the first free one of the form `reports (2)`: there are fewer folders than numbers. */
async function freePlace(
  tx: Transaction,
  workspaceId: string,
  parent: FolderPlace,
  name: string,
): Promise<{ name: string; path: string } | undefined> {
  for (let first = 1, count = 10; first <= 20_000; first += count, count *= 10) {
    const numbers = Array.from({ length: count }, (_, i) => first + i)
    const names = numbers.map((number) => (number === 1 ? name : `${name} (${number})`))
    const paths = names.map((each) => pathIn(parent, each))
    const found = await sql.findFreePath(tx, { workspace_id: workspaceId, paths })
    if (found !== undefined) return { name: names[paths.indexOf(found.path)], path: found.path }
  }
  return undefined
}
