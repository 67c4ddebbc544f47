// Knowledge bases: made, listed, inspected, changed, deleted and searched.
import type { Handlers } from '../services/handler.ts'
import {
  insertKnowledge,
  knowledgeById,
  listKnowledge,
  openKnowledge,
  removeKnowledge,
  requireChunking,
  thinOut,
} from '../services/ai/knowledge/knowledge-bases.ts'
import { searchPassages } from '../services/ai/search/search.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { openWorkspace } from '../services/projects/workspaces.ts'

export const aiKnowledge = {
  async listKnowledgeBases({ operation, principal, query }, { db }) {
    return {
      status: 200,
      body: await listKnowledge(db, await openWorkspace(db, { operation, principal }, query.project_id), query),
    }
  },

  async createKnowledgeBase({ operation, principal, body }, { db, events }) {
    requireChunking(body.chunking)
    return await db.transaction(async (tx) => {
      await openWorkspace(tx, { operation, principal }, body.project_id, { lock: true })
      const made = await insertKnowledge(tx, principal.userId, body)
      await events.emit(tx, 'knowledge_base.created', made, { userId: principal.userId })
      return { status: 201, body: made, headers: { location: `/v1/ai/knowledge/${made.id}` } }
    })
  },

  async getKnowledgeBase(request, { db }) {
    const { owner_id: _owner, ...found } = await openKnowledge(db, request)
    return { status: 200, body: found }
  },

  async updateKnowledgeBase(request, { db, events }) {
    const { chunking, ...fields } = request.body
    requireChunking(chunking)
    return await db.transaction(async (tx) => {
      const previous = await openKnowledge(tx, request, { lock: 'change' })
      request.ifMatch(previous)
      await tx.prisma.knowledgeBase.update({
        where: { id: previous.id },
        data: {
          ...fields,
          maxTokens: chunking?.max_tokens,
          overlapTokens: chunking?.overlap_tokens,
          updatedAt: timestampAfter(new Date(previous.updated_at)),
        },
        select: { id: true },
      })
      const changed = await knowledgeById(tx, previous.id)
      await events.emit(tx, 'knowledge_base.updated', changed, { previous, userId: previous.owner_id })
      return { status: 200, body: changed }
    })
  },

  async deleteKnowledgeBase(request, { db, events }) {
    const asked = await openKnowledge(db, request)
    request.ifMatch(asked)
    const { id, document_counts } = asked
    await thinOut(db, id)
    return await db.transaction(async (tx) => {
      const found = await openKnowledge(tx, request, { lock: 'change' })
      request.ifMatch(found)
      await removeKnowledge(tx, id)
      await events.emit(
        tx,
        'knowledge_base.deleted',
        { ...found, document_counts },
        { userId: found.owner_id },
      )
      return { status: 204 }
    })
  },

  async searchKnowledgeBase(request, { db, upstreams }) {
    const { id } = await openKnowledge(db, request)
    const {
      principal,
      body: { query, limit = 10, filters },
    } = request
    const embedding = upstreams.embed === null ? null : (await upstreams.embed([query], request.signal))[0]
    const passages = await searchPassages(db, principal, {
      knowledgeBaseIds: [id],
      query,
      limit,
      filters,
      embedding,
    })
    return {
      status: 200,
      body: {
        data: passages.map(
          ({ space_id: _space, revision: _revision, content_type: _type, ...passage }) => passage,
        ),
      },
    }
  },
} satisfies Handlers<'ai-knowledge'>
