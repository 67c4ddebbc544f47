// Knowledge bases as the API returns them, and their statements. Deleting a knowledge base deletes its
// documents.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement, type Statement } from '../../../infra/database/statements.ts'
import { invalidField } from '../../../infra/errors.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { listPage, type Page, containsPattern } from '../../../infra/database/pagination.ts'
import { timestampAfter } from '../../../infra/database/timestamps.ts'
import type { Principal } from '../../users/authentication.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../../projects/resource-access.ts'
import { deleteStatement } from '../../../infra/database/batch-delete.ts'

export type KnowledgeBase = components['schemas']['KnowledgeBase']
export type Chunking = components['schemas']['Chunking']

const defaultChunking: Chunking = { max_tokens: 400, overlap_tokens: 60 }

const statusCounts = ['queued', 'processing', 'ready', 'failed'].map(
  (status) => `'${status}', coalesce(sum(c.count) FILTER (WHERE c.status = '${status}'), 0)`,
)
const ownColumns = `k.id, k.name, k.description,
  jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
  (SELECT jsonb_build_object(${statusCounts.join(', ')})
    FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
  k.metadata, k.created_at, k.updated_at`
const columns = `${ownColumns}, k.project_id`

type Row = KnowledgeBase & WorkspaceResource

const select = (lock: boolean): string =>
  `SELECT ${ownColumns}, ${accessColumns('k', '$2', { lock })} FROM knowledge_bases k WHERE k.id = $1`
const selectWithLock = {
  none: statement<Row>(select(false)),
  reference: statement<Row>(`${select(true)} FOR KEY SHARE OF k`),
  update: statement<Row>(`${select(true)} FOR NO KEY UPDATE OF k`),
}

export interface KnowledgeBaseRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

export type OwnedKnowledgeBase = KnowledgeBase & { owner_id: string }

/**
 * The knowledge base of the request, if the caller may perform the operation on it; otherwise throws 404, 403
 * or 409. One statement. `lock` locks the knowledge base and its project until the transaction ends: `update`
 * against all other writers, `reference` only against deletion, for adding documents.
 */
export async function openKnowledgeBase(
  db: Db,
  request: KnowledgeBaseRequest,
  { lock = 'none' }: { lock?: keyof typeof selectWithLock } = {},
): Promise<OwnedKnowledgeBase> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(selectWithLock[lock], [id, principal.userId])
  requireAccess(row, request, { name: 'knowledge base', id })
  const { your_role: _role, project_status: _project, ...knowledgeBase } = row
  return knowledgeBase
}

const selectById = statement<KnowledgeBase>(`SELECT ${columns} FROM knowledge_bases k WHERE k.id = $1`)

/** Limits the overlap to half of a chunk: with more, each chunk would add little new text. */
export function requireValidChunking(chunking: Chunking | undefined): void {
  if (chunking !== undefined && chunking.overlap_tokens * 2 > chunking.max_tokens) {
    throw invalidField(
      'chunking.overlap_tokens',
      'maximum',
      'chunking.overlap_tokens must be at most half of chunking.max_tokens',
    )
  }
}

const insert: Statement<KnowledgeBase> = statement(`
  WITH k AS (
    INSERT INTO knowledge_bases (id, project_id, owner_id, space_id, name, description, max_tokens,
      overlap_tokens, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7, $8, $9, $9) RETURNING *
  ) SELECT ${columns} FROM k`)

/** Inserts a knowledge base. The caller must have checked that its owner may write to the project. */
export async function insertKnowledgeBase(
  tx: Db,
  ownerId: string,
  fields: components['schemas']['KnowledgeBaseCreate'],
): Promise<KnowledgeBase> {
  const {
    project_id: projectId = null,
    name,
    description = null,
    chunking = defaultChunking,
    metadata = {},
  } = fields
  const id = newId('kb')
  const [created] = await tx.sql(insert, [
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
  return created
}

/** Updates a locked knowledge base. */
export async function updateKnowledgeBase(
  tx: Db,
  { id, updated_at: updatedAt }: KnowledgeBase,
  { chunking, ...fields }: components['schemas']['KnowledgeBaseUpdate'],
): Promise<KnowledgeBase> {
  await tx.prisma.knowledgeBase.update({
    where: { id },
    data: {
      ...fields,
      maxTokens: chunking?.max_tokens,
      overlapTokens: chunking?.overlap_tokens,
      updatedAt: timestampAfter(new Date(updatedAt)),
    },
    select: { id: true },
  })
  const [updated] = await tx.sql(selectById, [id])
  return updated
}

export interface KnowledgeBaseListQuery {
  page: number
  limit: number
  sort: 'created_at' | 'name'
  order: 'asc' | 'desc'
  q?: string
}

// TypeIDs sort by creation time.
const sortKeys = { created_at: 'k.id', name: 'lower(k.name)' }

/** A page of the knowledge bases of a project or user. One statement, including the total. */
export async function listKnowledgeBases(
  db: Db,
  spaceId: string,
  query: KnowledgeBaseListQuery,
): Promise<Page<KnowledgeBase>> {
  const values: unknown[] = [spaceId]
  const filters = ['k.space_id = $1']
  if (query.q !== undefined) {
    values.push(containsPattern(query.q))
    filters.push('(k.name ILIKE $2 OR k.description ILIKE $2)')
  }
  return await listPage<KnowledgeBase>(
    db,
    {
      from: 'knowledge_bases k',
      columns,
      filters,
      values,
      key: sortKeys[query.sort],
      id: 'k.id',
      searches: query.q !== undefined,
    },
    query,
  )
}

/** Limits of a batch of documents to delete, so that no statement runs long. */
const batchSize = { documents: 100, chunks: 10_000 }

/** The first of the documents, limited by their total number of chunks; at least one. */
const batchOf = (documents: string): string => `
  SELECT id FROM (
    SELECT id, sum(chunk_count) OVER (ORDER BY id) - chunk_count AS before
    FROM (${documents} ORDER BY d.id LIMIT ${batchSize.documents}) d
  ) s WHERE before < ${batchSize.chunks}`

const documentsOfKnowledgeBase = 'SELECT d.id, d.chunk_count FROM documents d WHERE d.knowledge_base_id = $1'
const deleteBatch = deleteStatement('documents', batchOf(documentsOfKnowledgeBase))
// Deletes nothing if the batch contains all documents that are left.
const deleteBatchOfMany = statement<{ n: number }>(`
  WITH batch AS MATERIALIZED (${batchOf(documentsOfKnowledgeBase)}), deleted AS (
    DELETE FROM documents WHERE id = ANY(ARRAY(SELECT id FROM batch))
      AND (SELECT sum(count) FROM document_counts WHERE knowledge_base_id = $1) > (SELECT count(*) FROM batch)
    RETURNING 1
  ) SELECT count(*)::int AS n FROM deleted`)
const deleteById = statement('DELETE FROM knowledge_bases WHERE id = $1')

/**
 * Deletes documents in batches until one batch is left, which `deleteKnowledgeBase` deletes. Call this
 * outside of a transaction, so that each batch commits.
 */
export async function deleteDocumentsInBatches(db: Db, knowledgeBaseId: string): Promise<void> {
  while ((await db.sql(deleteBatchOfMany, [knowledgeBaseId]))[0].n > 0) continue
}

/** Deletes one batch of documents. @returns whether there may be more. */
export async function deleteDocumentBatch(db: Db, knowledgeBaseId: string): Promise<boolean> {
  return (await db.sql(deleteBatch, [knowledgeBaseId]))[0].n > 0
}

/** Deletes the knowledge base and its remaining documents. */
export async function deleteKnowledgeBase(tx: Db, id: string): Promise<void> {
  await tx.sql(deleteById, [id])
}

const deleteBatchOfProject = deleteStatement(
  'documents',
  batchOf(
    `SELECT d.id, d.chunk_count
    FROM knowledge_bases k JOIN documents d ON d.knowledge_base_id = k.id WHERE k.project_id = $1`,
  ),
)

/** Deletes one batch of a project's documents. @returns whether there may be more. */
export async function deleteDocumentBatchOfProject(tx: Db, projectId: string): Promise<boolean> {
  return (await tx.sql(deleteBatchOfProject, [projectId]))[0].n > 0
}
