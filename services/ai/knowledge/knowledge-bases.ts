// Knowledge bases as the API shows them, and the statements behind them. Their documents go with them.
import type { components } from '../../../generated/types.ts'
import { type Db } from '../../../infra/database/database.ts'
import { statement, statementOf, type Statement } from '../../../infra/database/statements.ts'
import { invalidField } from '../../../infra/errors.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { containsPattern, offsetOf, pageOfRows, type Page } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { deleteStatement } from '../../../infra/database/batch-delete.ts'
import { accessColumns, requireAccess, type InSpace } from '../../projects/resource-access.ts'

export type KnowledgeBase = components['schemas']['KnowledgeBase']
export type Chunking = components['schemas']['Chunking']

/** How documents are cut where nothing else is said. */
const usualChunking: Chunking = { max_tokens: 400, overlap_tokens: 60 }

const counts = ['queued', 'processing', 'ready', 'failed'].map(
  (status) => `'${status}', coalesce(sum(c.count) FILTER (WHERE c.status = '${status}'), 0)`,
)
const ownColumns = `k.id, k.name, k.description, jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
  (SELECT jsonb_build_object(${counts.join(', ')}) FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
  k.metadata, k.created_at, k.updated_at`
const columns = `${ownColumns}, k.project_id`

type Row = KnowledgeBase & InSpace

const where = 'FROM knowledge_bases k WHERE k.id = $1'
const statements = {
  none: statement<Row>(`SELECT ${ownColumns}, ${accessColumns('k', '$2')} ${where}`),
  // Against being deleted, while something is added to it.
  hold: statement<Row>(
    `SELECT ${ownColumns}, ${accessColumns('k', '$2', { lock: true })} ${where} FOR KEY SHARE OF k`,
  ),
  change: statement<Row>(
    `SELECT ${ownColumns}, ${accessColumns('k', '$2', { lock: true })} ${where} FOR NO KEY UPDATE OF k`,
  ),
}

export interface KnowledgeRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/** A knowledge base and whose it is. */
export type OpenKnowledge = KnowledgeBase & { owner_id: string }

/**
 * The knowledge base of the request, when the caller may do with it what the operation does. One statement. `lock` keeps it,
 * with its project, as it is until the transaction ends: `change` from other writers, `hold` from being deleted.
 */
export async function openKnowledge(
  db: Db,
  request: KnowledgeRequest,
  { lock = 'none' }: { lock?: keyof typeof statements } = {},
): Promise<OpenKnowledge> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(statements[lock], [id, principal.userId])
  requireAccess(row, request, { name: 'knowledge base', id })
  const { your_role: _role, project_status: _project, ...found } = row
  return found
}

const byId = statement<KnowledgeBase>(`SELECT ${columns} FROM knowledge_bases k WHERE k.id = $1`)

export async function knowledgeById(db: Db, id: string): Promise<KnowledgeBase> {
  const [found] = await db.sql(byId, [id])
  return found
}

/** The overlap is at most half of a passage: otherwise each would say little that is new. */
export function requireChunking(chunking: Chunking | undefined): void {
  if (chunking !== undefined && chunking.overlap_tokens * 2 > chunking.max_tokens) {
    throw invalidField(
      'chunking.overlap_tokens',
      'maximum',
      'chunking.overlap_tokens must be at most half of max_tokens',
    )
  }
}

const insert: Statement<KnowledgeBase> = statement(`
  WITH k AS (
    INSERT INTO knowledge_bases (id, project_id, owner_id, space_id, name, description, max_tokens, overlap_tokens, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7, $8, $9, $9) RETURNING *
  ) SELECT ${columns} FROM k`)

/** A new knowledge base of a space that the caller may write in. */
export async function insertKnowledge(
  tx: Db,
  ownerId: string,
  fields: components['schemas']['KnowledgeBaseCreate'],
): Promise<KnowledgeBase> {
  const {
    project_id: projectId = null,
    name,
    description = null,
    chunking = usualChunking,
    metadata = {},
  } = fields
  const id = newId('kb')
  const [made] = await tx.sql(insert, [
    id,
    projectId,
    ownerId,
    name,
    description,
    chunking.max_tokens,
    chunking.overlap_tokens,
    metadata,
    timeOf(id),
  ])
  return made
}

export interface KnowledgeListQuery {
  page: number
  limit: number
  sort: 'created_at' | 'name'
  order: 'asc' | 'desc'
  q?: string
}

// TypeIDs sort by creation.
const sortKeys = { created_at: 'k.id', name: 'lower(k.name)' }

/** A page of the knowledge bases of a space: one statement, total included. */
export async function listKnowledge(
  db: Db,
  spaceId: string,
  query: KnowledgeListQuery,
): Promise<Page<KnowledgeBase>> {
  const values: unknown[] = [spaceId]
  const value = (v: unknown): string => `$${values.push(v)}`
  const filters = ['k.space_id = $1']
  if (query.q !== undefined) {
    const pattern = value(containsPattern(query.q))
    filters.push(`(k.name ILIKE ${pattern} OR k.description ILIKE ${pattern})`)
  }
  const where = filters.join(' AND ')
  const direction = query.order === 'asc' ? 'ASC' : 'DESC'
  const key = sortKeys[query.sort]
  const order = key === 'k.id' ? `k.id ${direction}` : `${key} ${direction}, k.id ${direction}`
  const text = `SELECT t.total::int, x.* FROM (SELECT count(*) AS total FROM knowledge_bases k WHERE ${where}) t LEFT JOIN LATERAL (
    SELECT * FROM (SELECT ${columns} FROM knowledge_bases k WHERE ${where} ORDER BY ${order} LIMIT 100 OFFSET ${value(offsetOf(query))}) page
    LIMIT ${value(query.limit)}) x ON true`
  return pageOfRows(
    await db.sql(
      statementOf<KnowledgeBase & { total: number }>(text, { searches: filters.length > 1 }),
      values,
    ),
    query,
  )
}

/** What is removed at once, so that nobody waits for long. */
const most = { documents: 100, chunks: 10_000 }

/** Of documents, as many as have so many chunks together, and one at least. */
const fewOf = (documents: string): string => `
  SELECT id FROM (SELECT id, sum(chunk_count) OVER (ORDER BY id) - chunk_count AS before FROM (${documents} ORDER BY d.id LIMIT ${most.documents}) d) s
  WHERE before < ${most.chunks}`

const ofBase = 'SELECT d.id, d.chunk_count FROM documents d WHERE d.knowledge_base_id = $1'
const removeSome = deleteStatement('documents', fewOf(ofBase))
const removeMany = statement<{ n: number }>(`
  WITH few AS MATERIALIZED (${fewOf(ofBase)}), gone AS (
    DELETE FROM documents WHERE id = ANY(ARRAY(SELECT id FROM few))
      AND (SELECT sum(count) FROM document_counts WHERE knowledge_base_id = $1) > (SELECT count(*) FROM few) RETURNING 1
  ) SELECT count(*)::int AS n FROM gone`)
const remove = statement('DELETE FROM knowledge_bases WHERE id = $1')

/** Removes documents, where they are many, in small steps until few are left. To be called outside of a transaction. */
export async function thinOut(db: Db, id: string): Promise<void> {
  while ((await db.sql(removeMany, [id]))[0].n > 0) continue
}

/** A step of deleting a knowledge base. @returns whether there may be more. */
export async function removeDocumentsOfBase(db: Db, id: string): Promise<boolean> {
  return (await db.sql(removeSome, [id]))[0].n > 0
}

/** What few documents it has go with it. */
export async function removeKnowledge(tx: Db, id: string): Promise<void> {
  await tx.sql(remove, [id])
}

const removeOfProject = deleteStatement(
  'documents',
  fewOf(
    'SELECT d.id, d.chunk_count FROM knowledge_bases k JOIN documents d ON d.knowledge_base_id = k.id WHERE k.project_id = $1',
  ),
)

/** A step of deleting a project. @returns whether there may be more. */
export async function removeDocumentsOfProject(tx: Db, projectId: string): Promise<boolean> {
  return (await tx.sql(removeOfProject, [projectId]))[0].n > 0
}
