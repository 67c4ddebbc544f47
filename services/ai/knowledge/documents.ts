// Documents as the API returns them, and their statements. Every change of a document's content adds a
// parsing job to the queue in the same transaction; services/ai/knowledge/worker.ts processes the queue.
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/knowledge.ts'
import type { ListQuery } from '../../../infra/contract/query.ts'
import type { Db, Transaction, SqlClient } from '../../../infra/database/database.ts'
import { violatedConstraint } from '../../../infra/database/errors.ts'
import { conflict, inProgress, invalidState, notFound } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { containsPattern, type Page } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { requireAccess, requirePermission, requireWorkspaceStatus } from '../../projects/resource-access.ts'

export type KnowledgeDocument = components['schemas']['KnowledgeDocument']
export type DocumentStatus = components['schemas']['DocumentStatus']
export type DocumentText = components['schemas']['DocumentText']

/** A job of the queue `documents`. The field names are stored with the job. */
export interface ParsingJob {
  document_id: string
  /** The version of the document to parse. The outcome of an older version is discarded. */
  wanted: number
  /** The project or user of the knowledge base. Workers take the jobs of all owners in turn. */
  workspace_id: string
  /** How often parsing failed for a temporary reason. */
  tries: number
  /** Whether another job for this version began before. Default false. */
  is_retry?: boolean
}

export interface DocumentServices {
  documents: Queue<ParsingJob>
  events: Emitter
}

/** A document with the fields that its events and jobs need. */
export type OwnedDocument = KnowledgeDocument & { owner_id: string; wanted: number }

/** The document without internal fields. */
export function toDocument({
  owner_id: _owner,
  wanted: _wanted,
  ...document
}: OwnedDocument): KnowledgeDocument {
  return document
}

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
  const row = await (lock ? sql.lockDocument : sql.readDocument)(db, {
    knowledge_base_id: id,
    document_id: documentId,
    user_id: principal.userId,
  })
  requirePermission(row, request, { name: 'knowledge base', id })
  if (row.id === null) throw notFound('document', documentId)
  requireWorkspaceStatus(row, request)
  const { your_role: _role, project_status: _project, ...document } = row
  // With its id, the row has the other columns of a document.
  return document as OwnedDocument
}

/** The document that the request names by its id alone, if the caller may perform the operation on it. */
export async function openDocumentById(
  db: Db,
  request: Omit<DocumentRequest, 'params'> & { params: { id: string } },
): Promise<OwnedDocument> {
  const { id } = request.params
  const row = await sql.readDocumentAlone(db, { id, user_id: request.principal.userId })
  requireAccess(row, request, { name: 'document', id })
  const { your_role: _role, project_status: _project, ...document } = row
  return document
}

/** A page of the documents of a knowledge base, with the total, in one statement. */
export async function listDocuments(
  db: SqlClient,
  knowledgeBaseId: string,
  { q, ...query }: ListQuery<'listDocuments'>,
): Promise<Page<KnowledgeDocument>> {
  return await sql.listDocuments(db, {
    knowledge_base_id: knowledgeBaseId,
    pattern: q === undefined ? undefined : containsPattern(q),
    ...query,
  })
}

export interface NewDocument {
  createdBy: string
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
  document: KnowledgeDocument
  created: boolean
}

const maxInsertAttempts = 5

/**
 * Adds a document to a locked knowledge base and enqueues its parsing. If the knowledge base already has a
 * document with the same bytes, returns that document and changes nothing.
 */
export async function addDocument(
  tx: Transaction,
  { documents, events }: DocumentServices,
  knowledgeBaseId: string,
  fields: NewDocument,
): Promise<AddedDocument> {
  const { createdBy, name, contentType, sha256, metadata = {}, fileId = null, text = null } = fields
  // The existing document may be deleted between the two statements.
  for (let attempt = 0; attempt < maxInsertAttempts; attempt++) {
    const id = newId('doc')
    const created = await sql.insertDocument(tx, {
      id,
      knowledge_base_id: knowledgeBaseId,
      file_id: fileId,
      name,
      content_type: contentType,
      sha256,
      source: text,
      metadata,
      created_by: createdBy,
      created_at: timeOf(id),
    })
    if (created !== undefined) {
      await enqueueParsing(tx, documents, created)
      await events.emit(tx, 'document.created', created, { userId: created.owner_id })
      return { document: toDocument(created), created: true }
    }
    const existing = await sql.findDocumentByContent(tx, { knowledge_base_id: knowledgeBaseId, sha256 })
    if (existing !== undefined) return { document: existing, created: false }
  }
  throw inProgress('A document with the same content is being added and deleted at the same time. Try again.')
}

async function enqueueParsing(
  tx: Transaction,
  documents: Queue<ParsingJob>,
  { id, wanted, project_id: projectId, owner_id: ownerId }: OwnedDocument,
): Promise<void> {
  const workspaceId = projectId ?? ownerId
  await documents.add(tx, [
    { data: { document_id: id, wanted, workspace_id: workspaceId, tries: 0 }, group: workspaceId },
  ])
}

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
  tx: Transaction,
  { documents, events }: DocumentServices,
  previous: OwnedDocument,
  { name = null, metadata = null, text, reparse = text !== undefined }: DocumentUpdate,
): Promise<KnowledgeDocument> {
  if (text !== undefined) {
    const content = { id: previous.id, source: text.text, sha256: text.sha256 }
    await sql.updateDocumentSource(tx, content).catch((error) => {
      throw violatedConstraint(error) === 'documents_knowledge_base_id_sha256_key'
        ? conflict('sha256', 'Another document of this knowledge base has the same text.', 'text')
        : error
    })
  }
  if (reparse) await sql.queueDocumentAgain(tx, { id: previous.id })
  const updated = await sql.updateDocument(tx, { id: previous.id, name, metadata })
  if (reparse) await enqueueParsing(tx, documents, updated)
  await events.emit(tx, 'document.updated', updated, { previous, userId: updated.owner_id })
  return toDocument(updated)
}

export async function deleteDocument(
  tx: Transaction,
  events: Emitter,
  document: OwnedDocument,
): Promise<void> {
  await sql.deleteDocument(tx, { id: document.id })
  await events.emit(tx, 'document.deleted', document, { userId: document.owner_id })
}

/** Deletes the documents that were created from the files. Call this before the files are deleted. */
export async function deleteDocumentsOfFiles(
  tx: Transaction,
  events: Emitter,
  fileIds: string[],
): Promise<void> {
  for (const document of await sql.lockDocumentsOfFiles(tx, { file_ids: fileIds }))
    await deleteDocument(tx, events, document)
}

/**
 * The parsed text, which the offsets of chunks and citations refer to. Throws 409 unless the document is
 * ready.
 */
export async function getDocumentText(
  db: Db,
  { id, knowledge_base_id: base, status }: KnowledgeDocument,
): Promise<DocumentText> {
  const text =
    status === 'ready'
      ? await sql.findDocumentText(db, { knowledge_base_id: base, document_id: id })
      : undefined
  if (text === undefined) throw invalidState('document', status)
  return text
}
