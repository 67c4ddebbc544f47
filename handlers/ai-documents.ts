// The documents of a knowledge base: added, listed, inspected, changed, deleted and read anew.
import { hash } from 'node:crypto'
import type { Handlers, HandlerServices } from '../services/handler.ts'
import {
  addDocument,
  changeDocument,
  listDocuments,
  openDocument,
  removeDocument,
  shown,
  textOf,
  type Document,
} from '../services/ai/knowledge/documents.ts'
import { openKnowledge, type KnowledgeRequest } from '../services/ai/knowledge/knowledge-bases.ts'
import type { Db } from '../infra/database/database.ts'
import {
  conflict,
  forbidden,
  invalidField,
  invalidState,
  payloadTooLarge,
  RolledBack,
} from '../infra/errors.ts'
import type { FilePart } from '../infra/contract/operation.ts'
import { openFile, type File } from '../services/storage/files.ts'
import { createFile, type CreateFileRequest } from '../services/storage/create-file.ts'

export const aiDocuments = {
  async listDocuments(request, { db }) {
    const { id } = await openKnowledge(db, request)
    return { status: 200, body: await listDocuments(db, id, request.query) }
  },

  async createDocument(request, services) {
    const { body } = request
    if ('file' in body) return await addUpload(request, body, services)
    return await services.db.transaction(async (tx) => {
      const base = await openKnowledge(tx, request, { lock: 'hold' })
      const { text, file_id: fileId, name, content_type: contentType, metadata } = body
      if (text !== undefined) {
        requireSize(Buffer.byteLength(text), services)
        return added(
          await addDocument(tx, services, base.id, {
            name: name ?? firstWords(text),
            contentType: contentType ?? 'text/markdown',
            sha256: hash('sha256', text),
            text,
            metadata,
          }),
        )
      }
      if (contentType !== undefined)
        throw invalidField(
          'content_type',
          'text',
          'content_type is for text only: a file says by its bytes what it is',
        )
      const file = await fileFor(tx, request, base.project_id, fileId!)
      requireSize(file.bytes, services)
      return added(
        await addDocument(tx, services, base.id, {
          name: name ?? file.name,
          contentType: file.content_type,
          sha256: file.sha256,
          fileId: file.id,
          metadata,
        }),
      )
    })
  },

  async getDocument(request, { db }) {
    return { status: 200, body: shown(await openDocument(db, request)) }
  },

  async updateDocument(request, { db, documents, events }) {
    const { name, metadata, text } = request.body
    return await db.transaction(async (tx) => {
      const previous = await openDocument(tx, request, { lock: true })
      request.ifMatch(previous)
      if (text !== undefined && previous.source.type === 'file')
        throw conflict('source', 'The document was made from a file: upload another one.', 'text')
      const sha256 = text === undefined ? previous.sha256 : hash('sha256', text)
      const other = text === undefined || sha256 === previous.sha256 ? undefined : { text, sha256 }
      return {
        status: 200,
        body: await changeDocument(tx, { documents, events }, previous, { name, metadata, text: other }),
      }
    })
  },

  async deleteDocument(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const document = await openDocument(tx, request, { lock: true })
      request.ifMatch(document)
      await removeDocument(tx, events, document)
      return { status: 204 }
    })
  },

  async getDocumentText(request, { db }) {
    return { status: 200, body: await textOf(db, await openDocument(db, request)) }
  },

  async retryDocument(request, { db, documents, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openDocument(tx, request, { lock: true })
      if (previous.status === 'queued' || previous.status === 'processing')
        throw invalidState('document', previous.status)
      return { status: 200, body: await changeDocument(tx, { documents, events }, previous, { anew: true }) }
    })
  },
} satisfies Handlers<'ai-documents'>

/** A document with the bytes is there: no file is made. */
class Known extends RolledBack {
  document: Document

  constructor(document: Document) {
    super('added before')
    this.document = document
  }
}

interface Uploaded {
  file: FilePart
  name?: string
  metadata?: Record<string, string>
}

async function addUpload(
  request: KnowledgeRequest & CreateFileRequest,
  { file, name, metadata }: Uploaded,
  services: HandlerServices,
) {
  if (!request.principal.scopes.has('storage:write'))
    throw forbidden(
      'A document from a form becomes a file in storage, which needs a key with the scope storage:write.',
      'scope',
    )
  const { db, config } = services
  const { project_id: projectId } = await openKnowledge(db, request)
  const maxBytes = Math.min(config.documentMaxBytes, config.uploadMaxBytes)
  try {
    return await createFile(
      services,
      request,
      { file, name: name!, projectId, maxBytes },
      async (tx, created) => {
        const base = await openKnowledge(tx, request, { lock: 'hold' })
        const { document, made } = await addDocument(tx, services, base.id, {
          name: name!,
          contentType: created.content_type,
          sha256: created.sha256,
          fileId: created.id,
          metadata,
        })
        if (!made) throw new Known(document)
        return added({ document, made })
      },
    )
  } catch (error) {
    if (!(error instanceof Known)) throw error
    return await db.transaction(async () => added({ document: error.document, made: false }))
  }
}

/** 201 with where it is, or 200 where it was there before. */
function added({ document, made }: { document: Document; made: boolean }) {
  if (!made) return { status: 200 as const, body: document }
  return {
    status: 201 as const,
    body: document,
    headers: { location: `/v1/ai/knowledge/${document.knowledge_base_id}/documents/${document.id}` },
  }
}

/** The file that a document is made from: one that the caller may read, in the space of the knowledge base. */
async function fileFor(
  tx: Db,
  { operation, principal }: KnowledgeRequest,
  projectId: string | null,
  id: string,
): Promise<File> {
  if (!principal.scopes.has('storage:read'))
    throw forbidden('A document from a file in storage needs a key with the scope storage:read.', 'scope')
  const file = await openFile(
    tx,
    { operation: { ...operation, projectAccess: { role: 'viewer' } }, principal, params: { id } },
    { lock: true },
  )
  if (file.project_id !== projectId)
    throw invalidField(
      'file_id',
      'project',
      'file_id is of another project than the knowledge base, or of none',
    )
  return file
}

function requireSize(bytes: number, { config: { documentMaxBytes } }: HandlerServices): void {
  if (bytes > documentMaxBytes) throw payloadTooLarge(documentMaxBytes)
}

const longestName = 80

/** What a text is called that has no name. */
function firstWords(text: string): string {
  const words = text.replaceAll(/[#*_>`\s]+/g, ' ').trim()
  if (words === '') return 'Text'
  if (words.length <= longestName) return words
  const cut = words.slice(0, longestName)
  return `${cut
    .slice(0, Math.max(cut.lastIndexOf(' '), longestName / 2))
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()}…`
}
