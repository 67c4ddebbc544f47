// Knowledge bases: create, list, get, update, delete and search.
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import {
  deleteDocumentsInBatches,
  deleteKnowledgeBase,
  insertKnowledgeBase,
  listKnowledgeBases,
  openKnowledgeBase,
  toKnowledgeBase,
  requireValidChunking,
  updateKnowledgeBase,
} from '../services/ai/knowledge/knowledge-bases.ts'
import { requireKnowledgeBases } from '../services/ai/knowledge/access.ts'
import { searchWithinLimit } from '../services/ai/search/search-within-limit.ts'
import { toPassage } from '../services/ai/search/search.ts'
import { requiredAccess } from '../services/projects/access.ts'
import { openWorkspace, openWorkspaces } from '../services/projects/workspaces.ts'

export const aiKnowledge = {
  async listKnowledgeBases(request, { db }) {
    const workspaces = await openWorkspaces(db, request)
    return { status: 200, body: await listKnowledgeBases(db, workspaces, request.query) }
  },

  async createKnowledgeBase(request, { db, events }) {
    const { principal, body } = request
    requireValidChunking(body.chunking)
    return await db.transaction(async (tx) => {
      await openWorkspace(tx, request, body.project_id, { lock: true })
      const created = await insertKnowledgeBase(tx, principal.userId, body)
      await events.emit(tx, 'knowledge_base.created', created, { userId: principal.userId })
      return { status: 201, body: created, headers: { location: `/v1/ai/knowledge/${created.id}` } }
    })
  },

  async getKnowledgeBase(request, { db }) {
    return { status: 200, body: toKnowledgeBase(await openKnowledgeBase(db, request)) }
  },

  async updateKnowledgeBase(request, { db, events }) {
    requireValidChunking(request.body.chunking)
    return await db.transaction(async (tx) => {
      const previous = await openKnowledgeBase(tx, request, { lock: 'update' })
      request.ifMatch(previous)
      const changes = changesOf(previous, request.body)
      if (changes === null) return { status: 200, body: toKnowledgeBase(previous) }
      const updated = await updateKnowledgeBase(tx, previous, changes)
      await events.emit(tx, 'knowledge_base.updated', updated, { previous, userId: previous.owner_id })
      return { status: 200, body: updated }
    })
  },

  async deleteKnowledgeBase(request, { db, events }) {
    const found = await openKnowledgeBase(db, request)
    request.ifMatch(found)
    const { id, document_counts } = found
    await deleteDocumentsInBatches(db, id)
    return await db.transaction(async (tx) => {
      const current = await openKnowledgeBase(tx, request, { lock: 'update' })
      request.ifMatch(current)
      await deleteKnowledgeBase(tx, id)
      // The event has the counts from before the documents were deleted.
      const deleted = { ...current, document_counts }
      await events.emit(tx, 'knowledge_base.deleted', deleted, { userId: current.owner_id })
      return { status: 204 }
    })
  },

  async searchKnowledgeBase(request, services) {
    const { id, project_id: projectId } = await openKnowledgeBase(services.db, request)
    const { query, limit = 10, filters } = request.body
    const search = { knowledgeBaseIds: [id], projectId, limit, filters }
    const [{ passages }] = await searchWithinLimit(services, request, [query], search)
    return { status: 200, body: { data: passages.map(toPassage) } }
  },

  async searchKnowledgeBases(request, services) {
    const { knowledge_base_ids: ids, query, limit = 10, filters } = request.body
    const { role } = requiredAccess(request.operation)
    const projects = await requireKnowledgeBases(services.db, request.principal, ids, null, role)
    // The usage of a search in one project counts to it.
    const projectId = projects.size === 1 ? [...projects][0] : null
    if (projectId !== null) request.noteProject(projectId)
    const search = { knowledgeBaseIds: ids, projectId, limit, filters }
    const [{ passages }] = await searchWithinLimit(services, request, [query], search)
    return { status: 200, body: { data: passages.map(toPassage) } }
  },
} satisfies Handlers<'ai-knowledge'>
