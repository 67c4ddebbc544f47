// The caller's own API keys. Another person's key is 403, as everywhere; its secret is in the answer that makes it only.
import type { Handlers } from '../services/handler.ts'
import { requireMembership } from '../services/projects/access.ts'
import { type Db } from '../infra/database/database.ts'
import { statement } from '../infra/database/statements.ts'
import { forbidden, invalidField, invalidState, notFound } from '../infra/errors.ts'
import { pageArgs, pageOf } from '../infra/database/pagination.ts'
import type { Principal } from '../services/users/authentication.ts'
import { insertKey, toApiKey, type Scope } from '../services/users/users.ts'

const sortColumns = { created_at: 'createdAt', name: 'name' } as const
const lockKey = statement<{ digest: string }>(
  "SELECT encode(digest, 'hex') AS digest FROM api_keys WHERE id = $1 FOR NO KEY UPDATE",
)

export const apiKeys = {
  async listApiKeys({ principal, query }, { db }) {
    const where = { userId: principal.userId }
    const [rows, total] = await Promise.all([
      db.prisma.apiKey.findMany({ where, ...pageArgs(query, sortColumns) }),
      db.prisma.apiKey.count({ where }),
    ])
    return { status: 200, body: pageOf(rows.map(toApiKey), total, query) }
  },

  async createApiKey({ principal, body }, { db, config, events }) {
    const expiresAt = future(body.expires_at)
    refuseMore(principal, body.scopes, body.project_ids ?? null)
    return await db.transaction(async (tx) => {
      for (const id of body.project_ids ?? []) await requireMembership(tx, id, principal)
      const key = await insertKey(tx, config.keyMode, {
        userId: principal.userId,
        name: body.name,
        scopes: body.scopes,
        projectIds: body.project_ids ?? null,
        expiresAt,
      })
      await events.emit(tx, 'api_key.created', key, { userId: principal.userId })
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },

  async getApiKey({ principal, params: { id } }, { db }) {
    return { status: 200, body: toApiKey(await ownKey(db, id, principal)) }
  },

  async revokeApiKey({ principal, params: { id }, ifMatch }, { db, events, principals }) {
    return await db.transaction(async (tx) => {
      const [locked] = await tx.sql(lockKey, [id])
      const previous = toApiKey(await ownKey(tx, id, principal))
      ifMatch(previous)
      if (previous.revoked_at === null) {
        const key = toApiKey(
          await tx.prisma.apiKey.update({ where: { id }, data: { revokedAt: new Date() } }),
        )
        await events.emit(tx, 'api_key.revoked', key, { previous, userId: principal.userId })
      }
      tx.afterCommit(() => principals.settle(locked.digest))
      return { status: 204 }
    })
  },

  async rotateApiKey({ principal, params: { id }, body }, { db, config, events, principals }) {
    const newEnd = future(body?.expires_at)
    return await db.transaction(async (tx) => {
      const [locked] = await tx.sql(lockKey, [id])
      const old = await ownKey(tx, id, principal)
      if (old.revokedAt !== null) throw invalidState('key', 'revoked')
      if (old.expiresAt !== null && old.expiresAt <= new Date()) throw invalidState('key', 'expired')
      const projectIds = old.allProjects ? null : old.projectIds
      refuseMore(principal, old.scopes as Scope[], projectIds)
      const key = await insertKey(tx, config.keyMode, {
        userId: old.userId,
        name: old.name,
        scopes: old.scopes as Scope[],
        projectIds,
        expiresAt: body?.expires_at === undefined ? old.expiresAt : newEnd,
      })
      const overlap = (body?.overlap_seconds ?? 0) * 1000
      const end = new Date(Math.min(Date.now() + overlap, old.expiresAt?.getTime() ?? Infinity))
      await tx.prisma.apiKey.update({
        where: { id },
        data: overlap === 0 ? { revokedAt: end } : { expiresAt: end },
        select: { id: true },
      })
      await events.emit(tx, 'api_key.rotated', key, { previous: toApiKey(old), userId: old.userId })
      tx.afterCommit(() => principals.settle(locked.digest))
      return { status: 201, body: key, headers: { location: `/v1/user/api-keys/${key.id}` } }
    })
  },
} satisfies Handlers<'api-keys'>

async function ownKey(db: Db, id: string, { userId }: Principal) {
  const row = await db.prisma.apiKey.findUnique({ where: { id } })
  if (row === null) throw notFound('API key', id)
  if (row.userId !== userId) throw forbidden("This API key is someone else's.")
  return row
}

/** A key makes none that may do more than itself. */
function refuseMore(principal: Principal, scopes: Scope[], projectIds: string[] | null): void {
  const beyond = scopes.find((scope) => !principal.scopes.has(scope))
  if (beyond !== undefined) throw forbidden(`This key does not have the scope ${beyond} itself.`, 'scope')
  const mine = principal.projectIds
  if (mine === null) return
  if (projectIds === null || projectIds.some((id) => !mine.has(id))) {
    throw forbidden('This key is for some projects only; so must be the keys it makes.', 'project_ids')
  }
}

function future(text: string | null | undefined): Date | null {
  if (text === null || text === undefined) return null
  const date = new Date(text)
  if (date.getTime() <= Date.now())
    throw invalidField('expires_at', 'future', 'expires_at must be in the future')
  return date
}
