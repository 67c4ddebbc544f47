// Read access to knowledge bases, for searches and chats.
import * as sql from '../../../generated/sql/knowledge.ts'
import type { Db } from '../../../infra/database/database.ts'
import { invalidField, notFound } from '../../../infra/errors.ts'
import type { Rank } from '../../projects/access.ts'
import { requireRole } from '../../projects/resource-access.ts'
import type { Principal } from '../../users/authentication.ts'

/**
 * Throws 404 if a knowledge base does not exist, 403 if the caller may not read it, and 400 if it does not
 * belong to the project `projectId`. A session outside of projects (`projectId` null) may use any knowledge
 * base.
 * @returns the projects of the knowledge bases, and null for those outside of projects.
 */
export async function requireKnowledgeBases(
  db: Db,
  principal: Principal,
  ids: string[],
  projectId: string | null,
  role: Rank = 'viewer',
): Promise<Set<string | null>> {
  if (ids.length === 0) return new Set()
  const rows = new Map(
    (await sql.readKnowledgeBasesAccess(db, { ids, user_id: principal.userId })).map((row) => [row.id, row]),
  )
  const knowledgeBases = ids.map((id) => {
    const row = rows.get(id)
    if (row === undefined || row.project_status === 'deleted') throw notFound('knowledge base', id)
    return row
  })
  for (const row of knowledgeBases) requireRole(row, principal, role, { name: 'knowledge base', id: row.id })
  const foreign = projectId === null ? undefined : knowledgeBases.find((row) => row.project_id !== projectId)
  if (foreign !== undefined)
    throw invalidField(
      'knowledge_base_ids',
      'project',
      `The knowledge base ${foreign.id} does not belong to the project.`,
    )
  return new Set(knowledgeBases.map((row) => row.project_id))
}
