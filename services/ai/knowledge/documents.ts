// Documents as the API returns them, and their statements. Every change of a document's content adds a
// parsing job to the queue in the same transaction; services/ai/knowledge/worker.ts processes the queue.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { violatedConstraint } from '../../../infra/database/errors.ts'
import { statement } from '../../../infra/database/statements.ts'
import { conflict, invalidState, notFound } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { listPage, type Page, containsPattern } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import {
  accessColumns,
  requirePermission,
  requireWorkspaceStatus,
  type WorkspaceResource,
} from '../../projects/resource-access.ts'

export type Document = components['schemas']['Document']
export type DocumentStatus = components['schemas']['DocumentStatus']
export type DocumentText = components['schemas']['DocumentText']

/** A job of the queue `documents`. The field names are stored with the job. */
export interface ParsingJob {
  document_id: string
  /** The version of the document to parse. The outcome of an older version is discarded. */
  wanted: number
  /** The project or user of the knowledge base. Workers take the jobs of all owners in turn. */
  space_id: string
  /** How often parsing failed for a temporary reason. */
  tries: number
}

export interface DocumentServices {
  documents: Queue<ParsingJob>
  events: Emitter
}

const ownColumns = `d.id, d.knowledge_base_id, d.name,
  jsonb_build_object(
    'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END, 'file_id', d.file_id
  ) AS source,
  d.content_type, d.status::text, d.error, d.sha256, d.tokens, d.chunk_count, d.metadata, d.created_at,
  d.updated_at, d.indexed_at`
/** The columns of a document `d` in the knowledge base `k`. */
export const documentColumns = `${ownColumns}, k.project_id`

/** A document with the fields that its events and jobs need. */
export type OwnedDocument = Document & { owner_id: string; wanted: number }

/** The document without internal fields. */
export function toDocument({ owner_id: _owner, wanted: _wanted, ...document }: OwnedDocument): Document {
  return document
}

type Row = OwnedDocument & WorkspaceResource

// The access columns come from the knowledge base. Without a matching document the row has a null `id`, so
// that a missing document (404) is distinguished from a forbidden one (403).
const select = (lock: boolean): string => `
  SELECT ${ownColumns}, d.wanted, ${accessColumns('k', '$2', { lock })} FROM knowledge_bases k
  LEFT JOIN LATERAL (
    SELECT * FROM documents WHERE id = $3 AND knowledge_base_id = k.id${lock ? ' FOR NO KEY UPDATE' : ''}
  ) d ON true WHERE k.id = $1`
const selectDocument = statement<Row>(select(false))
const selectAndLockDocument = statement<Row>(select(true))

export interface DocumentRequest {
  operation: OperationInfo
  params: { id: string; document_id: string }
  principal: Principal
}

/**
 * The document of the request, if the caller may perform the operation on it; otherwise throws 404, 403 or
 * 409. One statement. `lock` locks the document and its project against other writers until the transaction
 * ends.
 */
export async function openDocument(
  db: Db,
  request: DocumentRequest,
  { lock = false } = {},
): Promise<OwnedDocument> {
  const {
    params: { id, document_id: documentId },
    principal,
  } = request
  const [row] = await db.sql(lock ? selectAndLockDocument : selectDocument, [
    id,
    principal.userId,
    documentId,
  ])
  requirePermission(row, request, { name: 'knowledge base', id })
  if (row.id === null) throw notFound('document', documentId)
  requireWorkspaceStatus(row, request)
  const { your_role: _role, project_status: _project, ...document } = row
  return document
}

export interface DocumentListQuery {
  page: number
  limit: number
  sort: 'created_at' | 'name'
  order: 'asc' | 'desc'
  status?: DocumentStatus
  q?: string
}

// TypeIDs sort by creation time.
const sortKeys = { created_at: 'd.id', name: 'lower(d.name)' }

/** A page of the documents of a knowledge base. One statement, including the total. */
export async function listDocuments(
  db: Db,
  knowledgeBaseId: string,
  { status, q, ...query }: DocumentListQuery,
): Promise<Page<Document>> {
  const values: unknown[] = [knowledgeBaseId]
  const filters = ['knowledge_base_id = $1']
  if (status !== undefined) filters.push(`status = $${values.push(status)}::"DocumentStatus"`)
  const countedFilters = filters.join(' AND ')
  const documentFilters = filters.map((filter) => `d.${filter}`)
  if (q !== undefined) documentFilters.push(`lower(d.name) LIKE lower($${values.push(containsPattern(q))})`)
  return await listPage<Document>(
    db,
    {
      from: 'documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id',
      columns: documentColumns,
      filters: documentFilters,
      values,
      key: sortKeys[query.sort],
      id: 'd.id',
      // The table of counts has the total, unless the list is searched by name.
      total:
        q === undefined
          ? `SELECT coalesce(sum(count), 0) AS total FROM document_counts WHERE ${countedFilters}`
          : `SELECT count(*) AS total FROM documents d WHERE ${documentFilters.join(' AND ')}`,
      searches: documentFilters.length > 1,
    },
    query,
  )
}

export interface NewDocument {
  name: string
  contentType: string
  /** SHA-256 of the file, or of the text as UTF-8, in hexadecimal. */
  sha256: string
  metadata?: Record<string, string>
  /** The source: a file of the same project or user, or a text. */
  fileId?: string
  text?: string
}

/** `created` is false if the knowledge base already had a document with the same bytes. */
export interface AddedDocument {
  document: Document
  created: boolean
}

const insert = statement<OwnedDocument>(`
  WITH d AS (
    INSERT INTO documents (id, knowledge_base_id, file_id, name, content_type, sha256, source, metadata,
      created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
    ON CONFLICT (knowledge_base_id, sha256) DO NOTHING RETURNING *
  ) SELECT ${documentColumns}, k.owner_id, d.wanted
  FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`)
const selectByContent = statement<Document>(`
  SELECT ${documentColumns} FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  WHERE d.knowledge_base_id = $1 AND d.sha256 = $2`)

const maxInsertAttempts = 5

/**
 * Adds a document to a locked knowledge base and enqueues its parsing. If the knowledge base already has a
 * document with the same bytes, returns that document and changes nothing.
 */
export async function addDocument(
  tx: Db,
  { documents, events }: DocumentServices,
  knowledgeBaseId: string,
  fields: NewDocument,
): Promise<AddedDocument> {
  const { name, contentType, sha256, metadata = {}, fileId = null, text = null } = fields
  // The existing document may be deleted between the two statements.
  for (let attempt = 0; attempt < maxInsertAttempts; attempt++) {
    const id = newId('doc')
    const [created] = await tx.sql(insert, [
      id,
      knowledgeBaseId,
      fileId,
      name,
      contentType,
      sha256,
      text,
      metadata,
      timeOf(id),
    ])
    if (created !== undefined) {
      await enqueueParsing(tx, documents, created)
      await events.emit(tx, 'document.created', created, { userId: created.owner_id })
      return { document: toDocument(created), created: true }
    }
    const [existing] = await tx.sql(selectByContent, [knowledgeBaseId, sha256])
    if (existing !== undefined) return { document: existing, created: false }
  }
  throw conflict(
    'in_progress',
    'A document with the same content is being added and deleted at the same time. Try again.',
  )
}

async function enqueueParsing(
  tx: Db,
  documents: Queue<ParsingJob>,
  { id, wanted, project_id: projectId, owner_id: ownerId }: OwnedDocument,
): Promise<void> {
  const spaceId = projectId ?? ownerId
  await documents.add(tx, [
    { data: { document_id: id, wanted, space_id: spaceId, tries: 0 }, group: spaceId },
  ])
}

const setUpdatedAt = "updated_at = greatest(now(), updated_at + interval '1 millisecond')"
const updateFields = statement<OwnedDocument>(`
  WITH d AS (
    UPDATE documents SET name = coalesce($2, name), metadata = coalesce($3, metadata), ${setUpdatedAt}
    WHERE id = $1 RETURNING *
  ) SELECT ${documentColumns}, k.owner_id, d.wanted
  FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`)
const updateText = statement(`UPDATE documents SET source = $2, sha256 = $3 WHERE id = $1`)
const queueAgain = statement(
  `UPDATE documents SET wanted = wanted + 1, status = 'queued', error = NULL WHERE id = $1`,
)

export interface DocumentUpdate {
  name?: string | null
  metadata?: Record<string, string> | null
  /** A new text with its SHA-256. */
  text?: { text: string; sha256: string }
  /** Whether to parse the document again. Default: only with a new text. */
  reparse?: boolean
}

/** Updates a locked document. Throws 409 if another document of the knowledge base has the new text. */
export async function updateDocument(
  tx: Db,
  { documents, events }: DocumentServices,
  previous: OwnedDocument,
  { name = null, metadata = null, text, reparse = text !== undefined }: DocumentUpdate,
): Promise<Document> {
  if (text !== undefined) {
    await tx.sql(updateText, [previous.id, text.text, text.sha256]).catch((error) => {
      throw violatedConstraint(error) === 'documents_knowledge_base_id_sha256_key'
        ? conflict('sha256', 'Another document of this knowledge base has the same text.', 'text')
        : error
    })
  }
  if (reparse) await tx.sql(queueAgain, [previous.id])
  const [updated] = await tx.sql(updateFields, [previous.id, name, metadata])
  if (reparse) await enqueueParsing(tx, documents, updated)
  await events.emit(tx, 'document.updated', updated, { previous, userId: updated.owner_id })
  return toDocument(updated)
}

// Deletes one document per statement, because each may have tens of thousands of chunks.
const deleteById = statement('DELETE FROM documents WHERE id = $1')
// Locks the documents in one order, to avoid deadlocks.
const selectAndLockByFiles = statement<OwnedDocument>(`
  SELECT ${documentColumns}, k.owner_id, d.wanted
  FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  WHERE d.file_id = ANY($1) ORDER BY d.id FOR UPDATE OF d`)

export async function deleteDocument(tx: Db, events: Emitter, document: OwnedDocument): Promise<void> {
  await tx.sql(deleteById, [document.id])
  await events.emit(tx, 'document.deleted', document, { userId: document.owner_id })
}

/** Deletes the documents that were created from the files. Call this before the files are deleted. */
export async function deleteDocumentsOfFiles(tx: Db, events: Emitter, fileIds: string[]): Promise<void> {
  for (const document of await tx.sql(selectAndLockByFiles, [fileIds]))
    await deleteDocument(tx, events, document)
}

const selectText = statement<DocumentText>(
  'SELECT document_id, text, pages FROM document_texts WHERE document_id = $1',
)

/**
 * The parsed text, which the offsets of chunks and citations refer to. Throws 409 unless the document is
 * ready.
 */
export async function getDocumentText(db: Db, { id, status }: Document): Promise<DocumentText> {
  const [text] = status === 'ready' ? await db.sql(selectText, [id]) : []
  if (text === undefined) throw invalidState('document', status)
  return text
}
