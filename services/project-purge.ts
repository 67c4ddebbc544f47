// Purges projects 30 days after their deletion, with all resources in them. Financial records survive and
// move to their owner.
import type { Db } from '../infra/database/database.ts'
import { deleteStatement } from '../infra/database/batch-delete.ts'
import { statement } from '../infra/database/statements.ts'
import { deleteEach, type RetentionTask } from '../infra/jobs/retention.ts'
import { deleteProjectEvents } from './events/retention.ts'
import { detachFromProject } from './payments/detach-from-project.ts'
import { deleteDocumentBatchOfProject } from './ai/knowledge/knowledge-bases.ts'
import { restorableDays } from './projects/projects.ts'

const filesPerStep = 1000

export function projectRetentionTasks(): RetentionTask[] {
  return [{ name: 'projects', step: deleteEach({ list: listProjects, remove: purgeProject }) }]
}

interface ExpiredProject {
  id: string
  deleted_at: string
}

const isExpired = `deleted_at < now() - interval '${restorableDays} days'`
const expiredProjects = statement<ExpiredProject>(`
  SELECT id, deleted_at FROM projects
  WHERE ${isExpired} AND ($1::timestamptz IS NULL OR (deleted_at, id) > ($1, $2))
  ORDER BY deleted_at, id LIMIT 100`)
const lockProject = statement<{ id: string }>(
  `SELECT id FROM projects WHERE id = $1 AND ${isExpired} FOR UPDATE SKIP LOCKED`,
)
const filesOfProject = deleteStatement('files', 'SELECT id FROM files WHERE space_id = $1 LIMIT $2')
const deleteUsage = statement('DELETE FROM storage_usage WHERE space_id = $1')
const deleteProject = statement('DELETE FROM projects WHERE id = $1')

async function listProjects(db: Db, after: ExpiredProject | null): Promise<ExpiredProject[]> {
  return await db.sql(expiredProjects, [after?.deleted_at ?? null, after?.id ?? null])
}

/** Deletes a batch of the project's events, documents or files; the project itself when none are left. */
async function purgeProject(tx: Db, { id }: ExpiredProject): Promise<{ removed: number; more: boolean }> {
  const [found] = await tx.sql(lockProject, [id])
  if (found === undefined) return { removed: 0, more: false }
  const { more } = await deleteProjectEvents(tx, found.id)
  if (more) return { removed: 0, more }
  if (await deleteDocumentBatchOfProject(tx, found.id)) return { removed: 0, more: true }
  const [{ n: files }] = await tx.sql(filesOfProject, [found.id, filesPerStep])
  if (files === filesPerStep) return { removed: 0, more: true }
  if (await detachFromProject(tx, found.id)) return { removed: 0, more: true }
  await tx.sql(deleteUsage, [found.id])
  await tx.sql(deleteProject, [found.id])
  return { removed: 1, more: false }
}
