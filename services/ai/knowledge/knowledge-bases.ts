// Knowledge bases as the API returns them, and their statements. Deleting a knowledge base deletes its
// documents.
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/knowledge.ts'
import type { ListQuery } from '../../../infra/contract/query.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { invalidField } from '../../../infra/errors.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { type Page, containsPattern } from '../../../infra/database/pagination.ts'
import { timestampAfter } from '../../../infra/database/timestamps.ts'
import type { Changes } from '../../../infra/contract/changes.ts'
import type { Principal } from '../../users/authentication.ts'
import { requireAccess } from '../../projects/resource-access.ts'
import type { WorkspaceFilter } from '../../projects/workspaces.ts'

export type KnowledgeBase = components['schemas']['KnowledgeBase']
export type Chunking = components['schemas']['Chunking']

const defaultChunking: Chunking = { max_tokens: 400, overlap_tokens: 60 }

const openWithLock = {
  none: sql.openKnowledgeBase,
  reference: sql.referenceKnowledgeBase,
  update: sql.lockKnowledgeBase,
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
  { lock = 'none' }: { lock?: keyof typeof openWithLock } = {},
): Promise<OwnedKnowledgeBase> {
  const {
    params: { id },
    principal,
  } = request
  const row = await openWithLock[lock](db, { id, user_id: principal.userId })
  requireAccess(row, request, { name: 'knowledge base', id })
  const { your_role: _role, project_status: _project, ...knowledgeBase } = row
  return knowledgeBase
}

/** The knowledge base without internal fields. */
export function toKnowledgeBase({ owner_id: _owner, ...knowledgeBase }: OwnedKnowledgeBase): KnowledgeBase {
  return knowledgeBase
}

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

/** Inserts a knowledge base. The caller must have checked that its owner may write to the project. */
export async function insertKnowledgeBase(
  tx: Transaction,
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
  return await sql.insertKnowledgeBase(tx, {
    id,
    project_id: projectId,
    owner_id: ownerId,
    name,
    description,
    ...chunking,
    metadata,
    created_at: timeOf(id),
  })
}

/** Updates a locked knowledge base. */
export async function updateKnowledgeBase(
  tx: Transaction,
  { id, updated_at: updatedAt }: KnowledgeBase,
  { chunking, ...fields }: Changes<components['schemas']['KnowledgeBaseUpdate']>,
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
  return await sql.findKnowledgeBase(tx, { id })
}

/** A page of the knowledge bases of workspaces. One statement, including the total. */
export async function listKnowledgeBases(
  db: Db,
  workspaces: WorkspaceFilter,
  query: ListQuery<'listKnowledgeBases'>,
): Promise<Page<KnowledgeBase>> {
  return await sql.listKnowledgeBases(db, {
    ...query,
    ...workspaces,
    q: query.q === undefined ? undefined : containsPattern(query.q),
  })
}

/** The maximum number of chunks of the documents that a statement deletes, so that none runs long. */
const maxChunks = 10_000

/**
 * Deletes documents in batches until one batch is left, which `deleteKnowledgeBase` deletes. Call this
 * outside of a transaction, so that each batch commits.
 */
export async function deleteDocumentsInBatches(db: Db, knowledgeBaseId: string): Promise<void> {
  const batch = { knowledge_base_id: knowledgeBaseId, max_chunks: maxChunks }
  while ((await sql.deleteAllButLastDocuments(db, batch)).n > 0) continue
}

/** Deletes one batch of documents. @returns whether there may be more. */
export async function deleteDocumentBatch(db: Db, knowledgeBaseId: string): Promise<boolean> {
  const { n } = await sql.deleteDocuments(db, { knowledge_base_id: knowledgeBaseId, max_chunks: maxChunks })
  return n > 0
}

/** Deletes the knowledge base and its remaining documents. */
export async function deleteKnowledgeBase(tx: Transaction, id: string): Promise<void> {
  await tx.prisma.knowledgeBase.delete({ where: { id }, select: { id: true } })
}

/** Deletes one batch of a project's documents. @returns whether there may be more. */
export async function deleteDocumentBatchOfProject(tx: Transaction, projectId: string): Promise<boolean> {
  const { n } = await sql.deleteDocumentsOfProject(tx, { project_id: projectId, max_chunks: maxChunks })
  return n > 0
}
