// The caller's own API keys. The secret of a key is in the response that creates it, and nowhere else.
import { expiryOf } from '../infra/contract/expiry.ts'
import { invalidState } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { alertUser } from '../services/mail/mails.ts'
import { requireMembership } from '../services/projects/access.ts'
import { requireNetworks } from '../services/users/networks.ts'
import {
  changesOfApiKey,
  currentApiKey,
  findApiKey,
  findOwnApiKey,
  insertApiKey,
  listApiKeys,
  lockKeys,
  newKeyFields,
  ownersOfKeys,
  replaceApiKey,
  requireGrantable,
  requireRecentSignIn,
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

  async createApiKey({ principal, body }, services) {
    const { db, config, events } = services
    const { userId } = principal
    return await db.transaction(async (tx) => {
      const caller = await lockKeys(tx, principal)
      const fields = newKeyFields(caller, userId, body)
      requireGrantable(caller, fields)
      await requireRecentSignIn(tx, caller)
      for (const id of fields.projectIds ?? []) await requireMembership(tx, id, caller)
      // A program cannot hide who made its key.
      if (caller.serviceAccountId !== null)
        fields.createdById = (await findApiKey(tx, caller.credentialId))?.createdById
      const key = await insertApiKey(tx, config.keyMode, fields)
      await events.emit(tx, 'api_key.created', key, { userId })
      // A key outlives the session or the key, so an attacker with a stolen one would create one.
      // Two kinds, so that many keys of a stolen key do not use up the alerts of keys of sessions.
      await alertUser(
        tx,
        services,
        fields.createdByKey === null ? 'api_key_created' : 'api_key_created_by_key',
        userId,
      )
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },

  async getApiKey({ principal, params: { id } }, { db }) {
    return { status: 200, body: toApiKey(await findOwnApiKey(db, id, principal)) }
  },

  async updateApiKey({ principal, params: { id }, body, ifMatch }, { db, events, principals }) {
    const { userId } = principal
    requireNetworks(body.allowed_addresses ?? [])
    return await db.transaction(async (tx) => {
      const caller = await lockKeys(tx, principal)
      const row = await findOwnApiKey(tx, id, caller)
      const previous = toApiKey(row)
      ifMatch(previous)
      if (row.revokedAt !== null) throw invalidState('key', 'revoked', undefined, 'revoked_at')
      const changes = changesOfApiKey(caller, previous, body)
      if (changes === null) return { status: 200, body: previous }
      const { name, scopes, metadata, allowed_addresses: allowedAddresses } = changes
      const addresses = allowedAddresses === undefined ? {} : { allowedAddresses: allowedAddresses ?? [] }
      const key = toApiKey(
        await tx.prisma.apiKey.update({ where: { id }, data: { name, scopes, metadata, ...addresses } }),
      )
      await events.emit(tx, 'api_key.updated', key, { previous, userId })
      tx.afterCommit(() => principals.waitForInvalidation(userId))
      return { status: 200, body: key }
    })
  },

  async revokeApiKey({ principal, params: { id }, query, ifMatch }, { db, events, principals }) {
    const { userId } = principal
    return await db.transaction(async (tx) => {
      const row = await findOwnApiKey(tx, id, await lockKeys(tx, principal))
      ifMatch(toApiKey(row))
      const revoked = await revokeApiKeys(tx, row, query.cascade)
      for (const { key, previous } of revoked)
        await events.emit(tx, 'api_key.revoked', key, { previous, userId })
      // A key may have made keys of service accounts.
      const owners = await ownersOfKeys(tx, [id, ...revoked.map(({ key }) => key.id)])
      for (const owner of owners) tx.afterCommit(() => principals.waitForInvalidation(owner))
      return { status: 204 }
    })
  },

  async rotateApiKey({ principal, params: { id }, body }, services) {
    const { db, config, events, principals } = services
    const rotation = {
      expiresAt: body ? expiryOf(body) : undefined,
      overlapSeconds: body?.overlap_seconds ?? 0,
    }
    const { userId } = principal
    return await db.transaction(async (tx) => {
      const caller = await lockKeys(tx, principal)
      await requireRecentSignIn(tx, caller)
      const { key, previous } = await replaceApiKey(tx, config.keyMode, caller, id, rotation)
      await events.emit(tx, 'api_key.rotated', key, { previous, userId })
      if (key.created_by_key === caller.credentialId)
        await alertUser(tx, services, 'api_key_created_by_key', userId)
      tx.afterCommit(() => principals.waitForInvalidation(userId))
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },
} satisfies Handlers<'api-keys'>
