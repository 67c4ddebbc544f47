// Purges projects 30 days after their deletion, with all resources in them. Financial records survive and
// move to their owner.
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/projects.ts'
import { deleteBatch, deleteEach, type RetentionTask } from '../../infra/jobs/retention.ts'
import { deleteProjectEvents } from '../events/retention.ts'
import { detachFromProject } from '../payments/detach-from-project.ts'
import { deleteDocumentBatchOfProject } from '../ai/knowledge/knowledge-bases.ts'
import { endServiceAccountsOf } from '../organizations/service-accounts.ts'
import { restorableDays } from '../projects/projects.ts'

const filesPerStep = 1000
const invitationsPerStep = 1000

export function projectRetentionTasks(): RetentionTask[] {
  return [
    { name: 'projects', step: deleteEach({ list: listProjects, remove: purgeProject }) },
    { name: 'expired invitations', step: deleteBatch(sql.deleteExpiredInvitations, invitationsPerStep) },
  ]
}

async function listProjects(
  db: Db,
  after: sql.ListExpiredProjectsRow | null,
): Promise<sql.ListExpiredProjectsRow[]> {
  return await sql.listExpiredProjects(db, {
    deleted_at: after?.deleted_at ?? null,
    id: after?.id ?? null,
    restorable_days: restorableDays,
  })
}

/** Deletes a batch of the project's events, documents or files; the project itself when none are left. */
async function purgeProject(
  tx: Transaction,
  { id }: { id: string },
): Promise<{ removed: number; more: boolean }> {
  const found = await sql.lockExpiredProject(tx, { id, restorable_days: restorableDays })
  if (found === undefined) return { removed: 0, more: false }
  const { more } = await deleteProjectEvents(tx, found.id)
  if (more) return { removed: 0, more }
  if (await deleteDocumentBatchOfProject(tx, found.id)) return { removed: 0, more: true }
  const { n: files } = await sql.deleteFiles(tx, { project_id: found.id, limit: filesPerStep })
  if (files === filesPerStep) return { removed: 0, more: true }
  if (await detachFromProject(tx, found.id)) return { removed: 0, more: true }
  await endServiceAccountsOf(tx, found.id)
  await sql.deleteStorageUsage(tx, { project_id: found.id })
  await sql.deleteProject(tx, { id: found.id })
  return { removed: 1, more: false }
}
