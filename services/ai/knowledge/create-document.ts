// Creates documents from their three sources: a text, a file that is already stored, or an upload, which
// first becomes a stored file. All are subject to DOCUMENT_MAX_BYTES.
import { hash } from 'node:crypto'
import type { components } from '../../../generated/types.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import {
  ApiError,
  forbidden,
  invalidField,
  payloadTooLarge,
  RolledBack,
  unsupportedFileType,
} from '../../../infra/errors.ts'
import type { FormWithFile } from '../../../infra/contract/operation.ts'
import type { Replay } from '../../../infra/contract/replay.ts'
import type { TempFile } from '../../storage/blobs/temp-files.ts'
import { openFile, type StoredFile } from '../../storage/files.ts'
import { isSupportedType } from '../parsing/detect-type.ts'
import { supportedTypes } from '../parsing/errors.ts'
import { createFile, type CreateFileRequest, type CreateFileServices } from '../../storage/create-file.ts'
import {
  addDocument,
  type AddedDocument,
  type KnowledgeDocument,
  type DocumentServices,
} from './documents.ts'
import { openKnowledgeBase, type KnowledgeBaseRequest, type OwnedKnowledgeBase } from './knowledge-bases.ts'
import { truncateText } from '../../../infra/text.ts'

export type CreateDocumentServices = DocumentServices & CreateFileServices & { db: Db }

export type DocumentFields = components['schemas']['DocumentCreate']
type TextDocument = Extract<DocumentFields, { text: string }>
type FileDocument = Extract<DocumentFields, { file_id: string }>

/** Adds a document from a text or a stored file to the knowledge base of the request, which it locks. */
export async function createDocument(
  tx: Transaction,
  request: KnowledgeBaseRequest,
  services: CreateDocumentServices,
  fields: DocumentFields,
): Promise<AddedDocument> {
  const knowledgeBase = await openKnowledgeBase(tx, request, { lock: 'reference' })
  return await add(tx, request, services, knowledgeBase, fields)
}

/**
 * Adds several documents, in one transaction. @returns for each the document, or why it was not added: by an
 * error that is known before anything of it is written.
 */
export async function createDocuments(
  tx: Transaction,
  request: KnowledgeBaseRequest,
  services: CreateDocumentServices,
  documents: DocumentFields[],
): Promise<Array<AddedDocument | ApiError>> {
  const knowledgeBase = await openKnowledgeBase(tx, request, { lock: 'reference' })
  const results: Array<AddedDocument | ApiError> = []
  // Two batches lock their files and contents in the same order.
  const keys = documents.map(({ file_id: id, text }) => id ?? hash('sha256', text!))
  const order = [...keys.keys()].sort((a, b) => (keys[a] < keys[b] ? -1 : 1))
  for (const i of order)
    results[i] = await add(tx, request, services, knowledgeBase, documents[i]).catch((error) => {
      if (error instanceof ApiError && error.status < 500) return error
      throw error
    })
  return results
}

async function add(
  tx: Transaction,
  request: KnowledgeBaseRequest,
  services: CreateDocumentServices,
  knowledgeBase: OwnedKnowledgeBase,
  fields: DocumentFields,
): Promise<AddedDocument> {
  return fields.text !== undefined
    ? await addText(tx, request, services, knowledgeBase, fields)
    : await addStoredFile(tx, request, services, knowledgeBase, fields)
}

async function addText(
  tx: Transaction,
  { principal }: KnowledgeBaseRequest,
  services: CreateDocumentServices,
  knowledgeBase: OwnedKnowledgeBase,
  { text, name, content_type: contentType = 'text/markdown', metadata }: TextDocument,
): Promise<AddedDocument> {
  requireSize(Buffer.byteLength(text), services)
  return await addDocument(tx, services, knowledgeBase.id, {
    createdBy: principal.userId,
    name: name ?? nameFromText(text),
    contentType,
    sha256: hash('sha256', text),
    text,
    metadata,
  })
}

async function addStoredFile(
  tx: Transaction,
  request: KnowledgeBaseRequest,
  services: CreateDocumentServices,
  knowledgeBase: OwnedKnowledgeBase,
  { file_id: fileId, name, metadata }: FileDocument,
): Promise<AddedDocument> {
  const file = await openSourceFile(tx, request, knowledgeBase.project_id, fileId)
  requireSize(file.bytes, services)
  requireSupportedType(file.content_type, 'file_id')
  return await addDocument(tx, services, knowledgeBase.id, {
    createdBy: request.principal.userId,
    name: name ?? file.name,
    contentType: file.content_type,
    sha256: file.sha256,
    fileId: file.id,
    metadata,
  })
}

/** The stored file, locked, if the caller may read it and it belongs to the project of the knowledge base. */
async function openSourceFile(
  tx: Transaction,
  { operation, principal }: KnowledgeBaseRequest,
  projectId: string | null,
  id: string,
): Promise<StoredFile> {
  if (!principal.scopes.has('storage:read'))
    throw forbidden('Creating a document from a stored file requires the scope storage:read.', 'scope')
  const file = await openFile(
    tx,
    { operation: { ...operation, projectAccess: { role: 'viewer' } }, principal, params: { id } },
    { lock: true },
  )
  if (file.project_id !== projectId)
    throw invalidField(
      'file_id',
      'project',
      'file_id must be a file of the same project as the knowledge base, or of no project if it has none',
    )
  return file
}

/** The HTTP layer sets the name from the form's file name if the field is missing. */
export type DocumentForm = FormWithFile<Omit<components['schemas']['DocumentUpload'], 'file'>>

/** Rolls back the new file, because a document with the same bytes exists. */
class DocumentExists extends RolledBack {
  document: KnowledgeDocument

  constructor(document: KnowledgeDocument) {
    super('a document with the same bytes exists')
    this.document = document
  }
}

/**
 * Stores an upload as a file and adds a document from it, in one transaction. If the knowledge base already
 * has a document with the same bytes, returns that document and stores no file. `toReply` runs inside the
 * transaction, and once per Idempotency-Key.
 */
export async function createUploadedDocument<Reply>(
  request: KnowledgeBaseRequest & CreateFileRequest,
  services: CreateDocumentServices,
  form: DocumentForm,
  toReply: (added: AddedDocument) => Reply,
): Promise<Reply | Replay> {
  if (!request.principal.scopes.has('storage:write'))
    throw forbidden('Uploading a document stores a file, which requires the scope storage:write.', 'scope')
  const { db, once, config } = services
  const { project_id: projectId } = await openKnowledgeBase(db, request)
  const maxBytes = Math.min(config.documentMaxBytes, config.uploadMaxBytes)
  const addCreated = async (tx: Transaction, created: StoredFile): Promise<Reply> => {
    const { id } = await openKnowledgeBase(tx, request, { lock: 'reference' })
    const { id: fileId, content_type: contentType, sha256 } = created
    const { metadata } = form.fields()
    const added = await addDocument(tx, services, id, {
      createdBy: request.principal.userId,
      name: created.name,
      contentType,
      sha256,
      fileId,
      metadata,
    })
    if (!added.created) throw new DocumentExists(added.document)
    return toReply(added)
  }
  const upload = {
    file: form.file,
    maxBytes,
    projectId,
    fields: () => ({ name: form.fields().name!, projectId }),
    check: ({ contentType }: TempFile) => requireSupportedType(contentType, 'file'),
  }
  try {
    return await createFile(services, request, upload, addCreated)
  } catch (error) {
    if (!(error instanceof DocumentExists)) throw error
    return await once(async () => toReply({ document: error.document, created: false }))
  }
}

/** Throws 413 for a document of more than DOCUMENT_MAX_BYTES. */
export function requireSize(
  bytes: number,
  { config: { documentMaxBytes } }: Pick<CreateDocumentServices, 'config'>,
): void {
  if (bytes > documentMaxBytes) throw payloadTooLarge(documentMaxBytes)
}

/** Throws 415 for a type that parsing would reject. */
function requireSupportedType(contentType: string, field: string): void {
  if (!isSupportedType(contentType)) throw unsupportedFileType(contentType, supportedTypes, field)
}

const maxDerivedName = 80

/**
 * The first words of a text, without Markdown markup, as the name of a document that was created without a
 * name.
 */
function nameFromText(text: string): string {
  const words = text.replaceAll(/[#*_>`\s]+/g, ' ').trim()
  if (words === '') return 'Text'
  if (words.length <= maxDerivedName) return words
  const blank = words.lastIndexOf(' ', maxDerivedName - 1)
  return `${truncateText(words, Math.max(blank, maxDerivedName / 2)).trimEnd()}…`
}
