// Which knowledge bases somebody may draw on.
import { statement, type Db } from '../../../infra/database/database.ts'
import { invalidField, notFound } from '../../../infra/errors.ts'
import { accessColumns, requireRole, type InSpace } from '../../projects/resource-access.ts'
import type { Principal } from '../../users/authentication.ts'

const knowledge = statement<InSpace & { id: string }>(
  `SELECT k.id, ${accessColumns('k', '$2')} FROM knowledge_bases k WHERE k.id = ANY($1)`,
)

/**
 * Throws 404 unless all of the knowledge bases are there, 403 unless the caller may read them, and 400 where one is not of
 * `projectId`, the project of what is to draw on them; outside of projects they may be of any.
 */
export async function requireKnowledgeBases(
  db: Db,
  principal: Principal,
  ids: string[],
  projectId: string | null,
): Promise<void> {
  if (ids.length === 0) return
  const rows = new Map((await db.sql(knowledge, [ids, principal.userId])).map((row) => [row.id, row]))
  const found = ids.map((id) => {
    const row = rows.get(id)
    if (row === undefined || row.project_status === 'deleted') throw notFound('knowledge base', id)
    return row
  })
  for (const row of found) requireRole(row, principal, 'viewer', 'knowledge base')
  const foreign = projectId === null ? undefined : found.find((row) => row.project_id !== projectId)
  if (foreign !== undefined)
    throw invalidField(
      'knowledge_base_ids',
      'project',
      `${foreign.id} is of another project than the session.`,
    )
}
