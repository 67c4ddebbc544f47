// Documents of a knowledge base: add, list, get, update, delete, and retry failed parsing.
import { hash } from 'node:crypto'
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import {
  createDocument,
  createDocuments,
  createUploadedDocument,
  requireSize,
} from '../services/ai/knowledge/create-document.ts'
import {
  deleteDocument,
  getDocumentText,
  listDocuments,
  openDocument,
  openDocumentById,
  toDocument,
  updateDocument,
  type AddedDocument,
} from '../services/ai/knowledge/documents.ts'
import { openKnowledgeBase } from '../services/ai/knowledge/knowledge-bases.ts'
import { ApiError, conflict } from '../infra/errors.ts'

export const aiDocuments = {
  async listDocuments(request, { db, lists }) {
    const { id } = await openKnowledgeBase(db, request)
    return { status: 200, body: await listDocuments(lists, id, request.query) }
  },

  async createDocument(request, services) {
    const { body } = request
    if ('file' in body) return await createUploadedDocument(request, services, body, toReply)
    return await services.db.transaction(async (tx) =>
      toReply(await createDocument(tx, request, services, body)),
    )
  },

  async createDocuments(request, services) {
    return await services.db.transaction(async (tx) => {
      const results = await createDocuments(tx, request, services, request.body.documents)
      const data = results.map((result, i) => toResult(result, `documents[${i}]`))
      return { status: 200, body: { data } }
    })
  },

  async getDocument(request, { db }) {
    return { status: 200, body: toDocument(await openDocument(db, request)) }
  },

  async getDocumentById(request, { db }) {
    return { status: 200, body: toDocument(await openDocumentById(db, request)) }
  },

  async updateDocument(request, { db, documents, events, config }) {
    const { text, ...fields } = request.body
    if (text !== undefined) requireSize(Buffer.byteLength(text), { config })
    return await db.transaction(async (tx) => {
      const previous = await openDocument(tx, request, { lock: true })
      request.ifMatch(previous)
      if (text !== undefined && previous.source.type === 'file')
        throw conflict(
          'source',
          'The text of a document created from a file cannot be changed. Add a new document instead.',
          'text',
        )
      const sha256 = text === undefined ? previous.sha256 : hash('sha256', text)
      const newText = text === undefined || sha256 === previous.sha256 ? undefined : { text, sha256 }
      const changes = changesOf(previous, fields)
      if (changes === null && newText === undefined) return { status: 200, body: toDocument(previous) }
      const update = { ...changes, text: newText }
      return { status: 200, body: await updateDocument(tx, { documents, events }, previous, update) }
    })
  },

  async deleteDocument(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const document = await openDocument(tx, request, { lock: true })
      request.ifMatch(document)
      await deleteDocument(tx, events, document)
      return { status: 204 }
    })
  },

  async getDocumentText(request, { db }) {
    return { status: 200, body: await getDocumentText(db, await openDocument(db, request)) }
  },

  async retryDocument(request, { db, documents, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openDocument(tx, request, { lock: true })
      if (previous.status === 'queued' || previous.status === 'processing')
        return { status: 200, body: toDocument(previous) }
      const body = await updateDocument(tx, { documents, events }, previous, { reparse: true })
      return { status: 200, body }
    })
  },
} satisfies Handlers<'ai-documents'>

/** @param place the document in the request. */
function toResult(result: AddedDocument | ApiError, place: string) {
  if (!(result instanceof ApiError)) return { document: result.document, error: null }
  const { code, message, details } = result.toBody('').error
  // An error about a resource names no field: it is that of the file.
  const name = details.field ?? (result.resourceId === undefined ? undefined : 'file_id')
  const field = name === undefined ? null : `${place}.${name}`
  return {
    document: null,
    error: { code, message, reason: details.reason, field },
  }
}

/** 201 with a Location header for a new document, 200 for one that existed. */
function toReply({ document, created }: AddedDocument) {
  if (!created) return { status: 200 as const, body: document }
  return {
    status: 201 as const,
    body: document,
    headers: { location: `/v1/ai/knowledge/${document.knowledge_base_id}/documents/${document.id}` },
  }
}
