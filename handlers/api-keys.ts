// The caller's own API keys. The secret of a key is in the response that creates it, and nowhere else.
import type { Handlers } from '../services/handler.ts'
import { requireMembership } from '../services/projects/access.ts'
import {
  currentApiKey,
  findOwnApiKey,
  insertApiKey,
  listApiKeys,
  lockKeys,
  parseExpiresAt,
  replaceApiKey,
  requireGrantable,
  revokeApiKeys,
  toApiKey,
} from '../services/users/api-keys.ts'

export const apiKeys = {
  async getCurrentApiKey({ principal }) {
    return { status: 200, body: currentApiKey(principal) }
  },

  async listApiKeys({ principal, query }, { db }) {
    return { status: 200, body: await listApiKeys(db, principal, query) }
  },

  async createApiKey({ principal, body }, { db, config, events }) {
    const { name, scopes, metadata, project_ids: projectIds = null } = body
    const { userId, keyId: createdByKey } = principal
    const asked = parseExpiresAt(body.expires_at)
    const expiresAt = asked === undefined ? principal.expiresAt : asked
    const fields = { userId, name, scopes, projectIds, expiresAt, metadata, createdByKey }
    requireGrantable(principal, fields)
    return await db.transaction(async (tx) => {
      await lockKeys(tx, principal)
      for (const id of projectIds ?? []) await requireMembership(tx, id, principal)
      const key = await insertApiKey(tx, config.keyMode, fields)
      await events.emit(tx, 'api_key.created', key, { userId })
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },

  async getApiKey({ principal, params: { id } }, { db }) {
    return { status: 200, body: toApiKey(await findOwnApiKey(db, id, principal)) }
  },

  async revokeApiKey({ principal, params: { id }, query, ifMatch }, { db, events, principals }) {
    const { userId } = principal
    return await db.transaction(async (tx) => {
      await lockKeys(tx, principal)
      const row = await findOwnApiKey(tx, id, principal)
      ifMatch(toApiKey(row))
      for (const { key, previous } of await revokeApiKeys(tx, row, query.cascade))
        await events.emit(tx, 'api_key.revoked', key, { previous, userId })
      tx.afterCommit(() => principals.waitForInvalidation(userId))
      return { status: 204 }
    })
  },

  async rotateApiKey({ principal, params: { id }, body }, { db, config, events, principals }) {
    const rotation = {
      expiresAt: parseExpiresAt(body?.expires_at),
      overlapSeconds: body?.overlap_seconds ?? 0,
    }
    const { userId } = principal
    return await db.transaction(async (tx) => {
      await lockKeys(tx, principal)
      const { key, previous } = await replaceApiKey(tx, config.keyMode, principal, id, rotation)
      await events.emit(tx, 'api_key.rotated', key, { previous, userId })
      tx.afterCommit(() => principals.waitForInvalidation(userId))
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },
} satisfies Handlers<'api-keys'>
