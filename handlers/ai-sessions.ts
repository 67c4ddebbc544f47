// Chat sessions: conversations that are stored.
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import { requireKnowledgeBases } from '../services/ai/knowledge/access.ts'
import { listMessages } from '../services/ai/chat/messages.ts'
import {
  insertSession,
  listSessions,
  openSession,
  findSession,
  toSession,
} from '../services/ai/chat/sessions.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { requireModel } from '../services/ai/providers/providers.ts'
import { openWorkspace, openWorkspaces } from '../services/projects/workspaces.ts'

export const aiSessions = {
  async listSessions(request, { db }) {
    return { status: 200, body: await listSessions(db, await openWorkspaces(db, request), request.query) }
  },

  async createSession(request, { db, events, providers }) {
    const { principal, body } = request
    const {
      project_id: projectId = null,
      system_prompt: systemPrompt,
      knowledge_base_ids: knowledgeBaseIds = [],
      ...fields
    } = body
    requireModel(providers, body.model)
    return await db.transaction(async (tx) => {
      await openWorkspace(tx, request, projectId, { lock: true })
      await requireKnowledgeBases(tx, principal, knowledgeBaseIds, projectId)
      const session = await insertSession(tx, {
        ...fields,
        projectId,
        ownerId: principal.userId,
        systemPrompt,
        knowledgeBaseIds,
      })
      await events.emit(tx, 'session.created', session, { userId: principal.userId })
      return { status: 201, body: session, headers: { location: `/v1/ai/sessions/${session.id}` } }
    })
  },

  async getSession(request, { db }) {
    return { status: 200, body: toSession(await openSession(db, request)) }
  },

  async updateSession(request, { db, events, providers }) {
    requireModel(providers, request.body.model)
    return await db.transaction(async (tx) => {
      const { owner_id: userId, ...previous } = await openSession(tx, request, { lock: true })
      request.ifMatch(previous)
      const changes = changesOf(previous, request.body)
      if (changes === null) return { status: 200, body: previous }
      const { system_prompt: systemPrompt, knowledge_base_ids: knowledgeBaseIds, ...fields } = changes
      if (knowledgeBaseIds !== undefined)
        await requireKnowledgeBases(tx, request.principal, knowledgeBaseIds, previous.project_id)
      await tx.prisma.session.update({
        where: { id: previous.id },
        data: {
          ...fields,
          systemPrompt,
          knowledgeBaseIds,
          updatedAt: timestampAfter(new Date(previous.updated_at)),
        },
        select: { id: true },
      })
      const session = await findSession(tx, previous.id)
      await events.emit(tx, 'session.updated', session, { previous, userId })
      return { status: 200, body: session }
    })
  },

  async deleteSession(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const { owner_id: userId, ...session } = await openSession(tx, request, { lock: true })
      request.ifMatch(session)
      await tx.prisma.session.delete({ where: { id: session.id }, select: { id: true } })
      await events.emit(tx, 'session.deleted', session, { userId })
      return { status: 204 }
    })
  },

  async listSessionMessages(request, { db }) {
    const session = await openSession(db, request)
    return { status: 200, body: await listMessages(db, request.principal, session.id, request.query) }
  },
} satisfies Handlers<'ai-sessions'>
