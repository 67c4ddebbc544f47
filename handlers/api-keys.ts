// The caller's own API keys. The secret of a key is in the response that creates it, and nowhere else.
import type { Handlers } from '../services/handler.ts'
import { requireMembership } from '../services/projects/access.ts'
import {
  findOwnApiKey,
  insertApiKey,
  listApiKeys,
  lockOwnApiKey,
  parseExpiresAt,
  replaceApiKey,
  requireGrantable,
  toApiKey,
} from '../services/users/api-keys.ts'

export const apiKeys = {
  async listApiKeys({ principal, query }, { db }) {
    return { status: 200, body: await listApiKeys(db, principal, query) }
  },

  async createApiKey({ principal, body }, { db, config, events }) {
    const { name, scopes, metadata, project_ids: projectIds = null } = body
    const expiresAt = parseExpiresAt(body.expires_at) ?? null
    requireGrantable(principal, scopes, projectIds)
    return await db.transaction(async (tx) => {
      for (const id of projectIds ?? []) await requireMembership(tx, id, principal)
      const { userId } = principal
      const fields = { userId, name, scopes, projectIds, expiresAt, metadata }
      const key = await insertApiKey(tx, config.keyMode, fields)
      await events.emit(tx, 'api_key.created', key, { userId })
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },

  async getApiKey({ principal, params: { id } }, { db }) {
    return { status: 200, body: toApiKey(await findOwnApiKey(db, id, principal)) }
  },

  async revokeApiKey({ principal, params: { id }, ifMatch }, { db, events, principals }) {
    return await db.transaction(async (tx) => {
      const { row, digest } = await lockOwnApiKey(tx, id, principal)
      const previous = toApiKey(row)
      ifMatch(previous)
      if (previous.revoked_at === null) {
        const key = toApiKey(
          await tx.prisma.apiKey.update({ where: { id }, data: { revokedAt: new Date() } }),
        )
        await events.emit(tx, 'api_key.revoked', key, { previous, userId: principal.userId })
      }
      tx.afterCommit(() => principals.waitForInvalidation(digest))
      return { status: 204 }
    })
  },

  async rotateApiKey({ principal, params: { id }, body }, { db, config, events, principals }) {
    const rotation = {
      expiresAt: parseExpiresAt(body?.expires_at),
      overlapSeconds: body?.overlap_seconds ?? 0,
    }
    return await db.transaction(async (tx) => {
      const { key, previous, digest } = await replaceApiKey(tx, config.keyMode, principal, id, rotation)
      await events.emit(tx, 'api_key.rotated', key, { previous, userId: principal.userId })
      tx.afterCommit(() => principals.waitForInvalidation(digest))
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },
} satisfies Handlers<'api-keys'>
