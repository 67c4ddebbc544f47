// Documents as the API shows them, who may do what with them, and the statements behind them. Whoever changes what is to be
// read of one puts a job into the queue in the same transaction; services/ai/knowledge/worker.ts takes it out.
import type { components } from '../../../generated/types.ts'
import { type Db } from '../../../infra/database/database.ts'
import { violatedConstraint } from '../../../infra/database/errors.ts'
import { statement, statementOf } from '../../../infra/database/statements.ts'
import { conflict, invalidState, notFound } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { containsPattern, offsetOf, pageOfRows, type Page } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import {
  accessColumns,
  requirePermission,
  requireState,
  type InSpace,
} from '../../projects/resource-access.ts'

export type Document = components['schemas']['Document']
export type DocumentStatus = components['schemas']['DocumentStatus']

/** Reading a document. */
export interface ReadingJob {
  document_id: string
  /** Which reading of it: only the outcome of the last one that was asked for counts. */
  wanted: number
  /** Whose turn it is: a project's or a user's. */
  space_id: string
  /** How often it was put off already. */
  tries: number
}

export interface DocumentServices {
  documents: Queue<ReadingJob>
  events: Emitter
}

const ownColumns = `d.id, d.knowledge_base_id, d.name,
  jsonb_build_object('type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END, 'file_id', d.file_id) AS source,
  d.content_type, d.status::text, d.error, d.sha256, d.tokens, d.chunk_count, d.metadata, d.created_at, d.updated_at, d.indexed_at`
/** Of a document d of the knowledge base k. */
export const documentColumns = `${ownColumns}, k.project_id`

/** A document and whose it is, as far as its events and jobs have to know. */
export type OwnedDocument = Document & { owner_id: string; wanted: number }

/** As it is answered. */
export function shown({ owner_id: _owner, wanted: _wanted, ...document }: OwnedDocument): Document {
  return document
}

type Row = OwnedDocument & InSpace

// The access stands with the knowledge base, so that a document that is not there is told from one that is someone else's.
const open = (lock: boolean): string => `
  SELECT ${ownColumns}, d.wanted, ${accessColumns('k', '$2', { lock })} FROM knowledge_bases k
  LEFT JOIN LATERAL (SELECT * FROM documents WHERE id = $3 AND knowledge_base_id = k.id${lock ? ' FOR NO KEY UPDATE' : ''}) d ON true WHERE k.id = $1`
const readDocument = statement<Row>(open(false))
const lockDocument = statement<Row>(open(true))

export interface DocumentRequest {
  operation: OperationInfo
  params: { id: string; document_id: string }
  principal: Principal
}

/**
 * The document of the request, when the caller may do with it what the operation does. One statement; `lock` holds it against
 * other writers, and its project, until the transaction ends.
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
  const [row] = await db.sql(lock ? lockDocument : readDocument, [id, principal.userId, documentId])
  requirePermission(row, request, { name: 'knowledge base', id })
  if (row.id === null) throw notFound('document', documentId)
  requireState(row, request)
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

// TypeIDs sort by creation.
const sortKeys = { created_at: 'd.id', name: 'lower(d.name)' }

/** A page of the documents of a knowledge base: one statement, total included. */
export async function listDocuments(
  db: Db,
  baseId: string,
  query: DocumentListQuery,
): Promise<Page<Document>> {
  const values: unknown[] = [baseId]
  const value = (v: unknown): string => `$${values.push(v)}`
  const filters = ['d.knowledge_base_id = $1']
  const status = query.status === undefined ? '' : ` AND status = ${value(query.status)}::"DocumentStatus"`
  if (status !== '') filters.push(`d.${status.slice(5)}`)
  // Without a search the counts know.
  let total = `SELECT coalesce(sum(count), 0) AS total FROM document_counts WHERE knowledge_base_id = $1${status}`
  if (query.q !== undefined) {
    filters.push(`lower(d.name) LIKE lower(${value(containsPattern(query.q))})`)
    total = `SELECT count(*) AS total FROM documents d WHERE ${filters.join(' AND ')}`
  }
  const direction = query.order === 'asc' ? 'ASC' : 'DESC'
  const key = sortKeys[query.sort]
  const order = key === 'd.id' ? `d.id ${direction}` : `${key} ${direction}, d.id ${direction}`
  const text = `SELECT t.total::int, x.* FROM (${total}) t LEFT JOIN LATERAL (
    SELECT * FROM (
      SELECT ${documentColumns} FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
      WHERE ${filters.join(' AND ')} ORDER BY ${order} LIMIT 100 OFFSET ${value(offsetOf(query))}
    ) page LIMIT ${value(query.limit)}) x ON true`
  return pageOfRows(
    await db.sql(statementOf<Document & { total: number }>(text, { searches: filters.length > 1 }), values),
    query,
  )
}

export interface NewDocument {
  name: string
  contentType: string
  /** Of the bytes, or of the text in UTF-8, in hex. */
  sha256: string
  metadata?: Record<string, string>
  /** What it is made from: a file of the same space, or a text. */
  fileId?: string
  text?: string
}

const insert = statement<OwnedDocument>(`
  WITH d AS (
    INSERT INTO documents (id, knowledge_base_id, file_id, name, content_type, sha256, source, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (knowledge_base_id, sha256) DO NOTHING RETURNING *
  ) SELECT ${documentColumns}, k.owner_id, d.wanted FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`)
const byContent = statement<Document>(`
  SELECT ${documentColumns} FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id WHERE d.knowledge_base_id = $1 AND d.sha256 = $2`)

/** Adds a document to a held knowledge base; it is read soon, unless there is one with these bytes: then that is the answer, and nothing is done. */
export async function addDocument(
  tx: Db,
  { documents, events }: DocumentServices,
  baseId: string,
  fields: NewDocument,
): Promise<{ document: Document; made: boolean }> {
  const { name, contentType, sha256, metadata = {}, fileId = null, text = null } = fields
  // What is there may be deleted before it is looked at.
  for (let tries = 0; tries < 5; tries++) {
    const id = newId('doc')
    const [made] = await tx.sql(insert, [
      id,
      baseId,
      fileId,
      name,
      contentType,
      sha256,
      text,
      metadata,
      timeOf(id),
    ])
    if (made !== undefined) {
      await wantReading(tx, documents, made)
      await events.emit(tx, 'document.created', made, { userId: made.owner_id })
      return { document: shown(made), made: true }
    }
    const [known] = await tx.sql(byContent, [baseId, sha256])
    if (known !== undefined) return { document: known, made: false }
  }
  throw conflict('in_progress', 'A document with these bytes is just being added and deleted; try again.')
}

async function wantReading(
  tx: Db,
  documents: Queue<ReadingJob>,
  { id, wanted, project_id: projectId, owner_id: ownerId }: OwnedDocument,
): Promise<void> {
  const spaceId = projectId ?? ownerId
  await documents.add(tx, [
    { data: { document_id: id, wanted, space_id: spaceId, tries: 0 }, group: spaceId },
  ])
}

const later = "updated_at = greatest(now(), updated_at + interval '1 millisecond')"
const change = statement<OwnedDocument>(`
  WITH d AS (
    UPDATE documents SET name = coalesce($2, name), metadata = coalesce($3, metadata), ${later} WHERE id = $1 RETURNING *
  ) SELECT ${documentColumns}, k.owner_id, d.wanted FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`)
const changeText = statement(`UPDATE documents SET source = $2, sha256 = $3 WHERE id = $1`)
const want = statement(
  `UPDATE documents SET wanted = wanted + 1, status = 'queued', error = NULL WHERE id = $1`,
)

export interface DocumentChange {
  name?: string | null
  metadata?: Record<string, string> | null
  /** Another text than it has, with its SHA-256; or a reading anew of what it has. */
  text?: { text: string; sha256: string }
  anew?: boolean
}

/** Changes a locked document; with another text, or anew, it is read soon. Throws 409 where another document has the text. */
export async function changeDocument(
  tx: Db,
  { documents, events }: DocumentServices,
  previous: OwnedDocument,
  { name = null, metadata = null, text, anew = text !== undefined }: DocumentChange,
): Promise<Document> {
  if (text !== undefined) {
    await tx.sql(changeText, [previous.id, text.text, text.sha256]).catch((error) => {
      throw violatedConstraint(error) === 'documents_knowledge_base_id_sha256_key'
        ? conflict('sha256', 'Another document has this text.', 'text')
        : error
    })
  }
  if (anew) await tx.sql(want, [previous.id])
  const [changed] = await tx.sql(change, [previous.id, name, metadata])
  if (anew) await wantReading(tx, documents, changed)
  await events.emit(tx, 'document.updated', changed, { previous, userId: changed.owner_id })
  return shown(changed)
}

// One by one, since each may have tens of thousands of chunks.
const remove = statement('DELETE FROM documents WHERE id = $1')
// In one order, so that two of them never wait for each other.
const ofFiles = statement<OwnedDocument>(`
  SELECT ${documentColumns}, k.owner_id, d.wanted FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  WHERE d.file_id = ANY($1) ORDER BY d.id FOR UPDATE OF d`)

export async function removeDocument(tx: Db, events: Emitter, document: OwnedDocument): Promise<void> {
  await tx.sql(remove, [document.id])
  await events.emit(tx, 'document.deleted', document, { userId: document.owner_id })
}

/** The documents that were made from files, before these are deleted. */
export async function removeDocumentsOf(tx: Db, events: Emitter, fileIds: string[]): Promise<void> {
  for (const document of await tx.sql(ofFiles, [fileIds])) {
    await tx.sql(remove, [document.id])
    await events.emit(tx, 'document.deleted', document, { userId: document.owner_id })
  }
}

const readText = statement<components['schemas']['DocumentText']>(
  'SELECT document_id, text, pages FROM document_texts WHERE document_id = $1',
)

/** What citations count in. 409 while it is not ready. */
export async function textOf(
  db: Db,
  { id, status }: Document,
): Promise<components['schemas']['DocumentText']> {
  const [text] = status === 'ready' ? await db.sql(readText, [id]) : []
  if (text === undefined) throw invalidState('document', status)
  return text
}
