// Sources of a knowledge base: list, add, get, delete and sync.
import { openKnowledgeBase } from '../services/ai/knowledge/knowledge-bases.ts'
import {
  deleteSource,
  insertSource,
  listSources,
  openSource,
  requestSync,
  toSource,
} from '../services/ai/sources/sources.ts'
import type { Handlers } from '../services/handler.ts'
import { requirePublicUrl } from '../services/webhooks/endpoints.ts'

export const aiSources = {
  async listSources(request, { db }) {
    const { id } = await openKnowledgeBase(db, request)
    return { status: 200, body: await listSources(db, id, request.query) }
  },

  async createSource(request, { db, events, webhookClient }) {
    const { body, principal } = request
    requirePublicUrl(webhookClient, body.url)
    return await db.transaction(async (tx) => {
      const { id } = await openKnowledgeBase(tx, request, { lock: 'update' })
      const created = await insertSource(
        tx,
        events,
        { knowledgeBaseId: id, createdBy: principal.userId },
        body,
      )
      const location = `/v1/ai/knowledge/${id}/sources/${created.id}`
      return { status: 201, body: created, headers: { location } }
    })
  },

  async getSource(request, { db }) {
    return { status: 200, body: toSource(await openSource(db, request)) }
  },

  async deleteSource(request, { db, events }) {
    request.ifMatch(await openSource(db, request))
    await deleteSource(db, events, (tx) => openSource(tx, request, { lock: true }))
    return { status: 204 }
  },

  async syncSource(request, { db }) {
    return await db.transaction(async (tx) => {
      const source = await openSource(tx, request, { lock: true })
      return { status: 200, body: await requestSync(tx, source) }
    })
  },
} satisfies Handlers<'ai-sources'>
