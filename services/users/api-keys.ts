// API keys: creation, rotation, and the rule that a key never makes one that may do more than itself or
// outlives it. Each key records the key that made it. Only a digest of the secret is stored; the secret
// itself is returned once, when the key is created.
import { operations } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/users.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import type { ApiKey as ApiKeyRow } from '../../generated/prisma/client.js'
import { digestOf, newSecret, keyPrefix, type KeyMode } from '../../infra/encryption/api-key-format.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { forbidden, invalidState, notFound, unauthorized } from '../../infra/errors.ts'
import { expiryOf } from '../../infra/contract/expiry.ts'
import { changesOf, type Changes } from '../../infra/contract/changes.ts'
import type { Page } from '../../infra/database/pagination.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import {
  isOperator,
  readPrincipalOfKey,
  readPrincipalOfSession,
  refusalOf,
  type Principal,
} from './authentication.ts'
import { Networks, requireNetworks } from './networks.ts'
import { allScopes, isOperatorScope, withIncluded, type Scope } from './scopes.ts'

export type ApiKey = components['schemas']['ApiKey']
export type CurrentApiKey = components['schemas']['CurrentApiKey']
export type ApiKeyWithSecret = components['schemas']['ApiKeyWithSecret']

export function toApiKey(row: Omit<ApiKeyRow, 'digest'>): ApiKey {
  return {
    id: row.id,
    name: row.name,
    start: row.start,
    scopes: row.scopes as Scope[],
    project_ids: row.allProjects ? null : row.projectIds,
    allowed_addresses: nullIfEmpty(row.allowedAddresses),
    expires_at: row.expiresAt?.toISOString() ?? null,
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    last_used_ip: row.lastUsedIp,
    metadata: row.metadata as Record<string, string>,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    revoked_at: row.revokedAt?.toISOString() ?? null,
    replaced_by: row.replacedBy,
    created_by_key: row.createdByKey,
    created_by: row.createdById,
  }
}

function nullIfEmpty(addresses: string[]): string[] | null {
  return addresses.length === 0 ? null : addresses
}

const operationsByName: readonly OperationInfo[] = Object.values<OperationInfo>(operations).sort((a, b) =>
  a.id < b.id ? -1 : 1,
)

/** The key of a request, from what is cached of it: no statement runs. */
export function currentApiKey(principal: Principal): CurrentApiKey {
  const { type, credentialId, userId, keyName, scopes, projectIds, networks, expiresAt } = principal
  return {
    type,
    id: credentialId,
    user_id: userId,
    name: keyName ?? 'session',
    scopes: allScopes.filter((scope) => scopes.has(scope)),
    operator_scopes: allScopes.filter((scope) => isOperatorScope(scope) && isOperator(principal, scope)),
    project_ids: projectIds === null ? null : [...projectIds],
    allowed_addresses: networks === null ? null : [...networks.texts],
    expires_at: expiresAt?.toISOString() ?? null,
    operations: operationsByName
      .filter((operation) => refusalOf(principal, operation) === null)
      .map(({ id }) => id),
  }
}

export async function listApiKeys(
  db: Db,
  { userId, credentialId, projectIds }: Principal,
  query: ListQuery<'listApiKeys'>,
): Promise<Page<ApiKey>> {
  const familyOf = projectIds === null ? undefined : credentialId
  return await sql.listApiKeys(db, { user_id: userId, family_of: familyOf, ...query })
}

/** The keys of a service account. */
export async function listApiKeysOf(
  db: Db,
  userId: string,
  query: ListQuery<'listServiceAccountKeys'>,
): Promise<Page<ApiKey>> {
  return await sql.listApiKeys(db, { user_id: userId, ...query })
}

/** The users who own the keys. */
export async function ownersOfKeys(tx: Transaction, ids: string[]): Promise<string[]> {
  return (await sql.ownersOfKeys(tx, { ids })).map(({ user_id }) => user_id)
}

export async function findApiKey(db: Db, id: string) {
  return await db.prisma.apiKey.findUnique({ where: { id } })
}

export interface NewApiKey {
  userId: string
  name: string
  scopes: Scope[]
  /** null for all projects of the user. */
  projectIds: string[] | null
  /** null for all addresses; default: null. */
  allowedAddresses?: string[] | null
  /** null for a key that does not expire. */
  expiresAt: Date | null
  metadata?: Record<string, string>
  /** The id of the key that makes this one; default: none. */
  createdByKey?: string | null
  /** The id of the user who makes it; default: none. */
  createdById?: string | null
}

/**
 * The fields of a new key of the user, by default with the addresses and the end of the calling key.
 * @throws 400 for a time in the past or a malformed network.
 */
export function newKeyFields(
  { networks, expiresAt: end, type, userId: createdById, credentialId }: Principal,
  userId: string,
  body: components['schemas']['ApiKeyCreate'],
): NewApiKey {
  const { name, scopes, metadata, project_ids: projectIds = null } = body
  const { allowed_addresses: allowedAddresses = networks && [...networks.texts] } = body
  requireNetworks(allowedAddresses ?? [])
  const asked = expiryOf(body)
  const expiresAt = asked === undefined ? end : asked
  const createdByKey = type === 'api_key' ? credentialId : null
  return {
    userId,
    name,
    scopes,
    projectIds,
    allowedAddresses,
    expiresAt,
    metadata,
    createdByKey,
    createdById,
  }
}

/**
 * Inserts a key and returns it with its secret.
 * @param secret the secret to use; default: a new random secret.
 */
export async function insertApiKey(
  tx: Transaction,
  mode: KeyMode,
  { projectIds, allowedAddresses, ...fields }: NewApiKey,
  secret = newSecret(mode),
): Promise<ApiKeyWithSecret> {
  const id = newId('key')
  const row = await tx.prisma.apiKey.create({
    data: {
      ...fields,
      id,
      projectIds: projectIds ?? [],
      allProjects: projectIds === null,
      allowedAddresses: allowedAddresses ?? [],
      start: keyPrefix(secret),
      digest: Buffer.from(digestOf(secret), 'hex'),
      createdAt: timeOf(id),
    },
  })
  return { ...toApiKey(row), key: secret }
}

/**
 * The caller's API key.
 * @throws 404 when the key does not exist; 403 when it belongs to another user, or the calling key is limited
 * to some projects and did not make it.
 */
export async function findOwnApiKey(db: Db, id: string, { userId, credentialId, projectIds }: Principal) {
  const row = await findApiKey(db, id)
  if (row === null) throw notFound('API key', id)
  if (row.userId !== userId) throw forbidden('This API key belongs to another user.', 'owner')
  if (projectIds === null || id === credentialId) return row
  if ((await sql.isInKeyFamily(db, { id, family_of: credentialId })) === undefined)
    throw forbidden(
      'The caller is limited to some projects, so it reaches only itself and the keys made with it.',
      'project_ids',
    )
  return row
}

/**
 * Locks the keys of the caller against other changes until the transaction ends. Throws 401 when the calling
 * key was revoked, or the session has ended, since it was authenticated: it must not leave a new key behind.
 * @returns the caller as it is now: it cannot hand out what it has lost meanwhile.
 */
export async function lockKeys(tx: Transaction, { type, credentialId: id }: Principal): Promise<Principal> {
  const [lock, read] =
    type === 'session'
      ? [sql.lockSessionOfCaller, readPrincipalOfSession]
      : [sql.lockKeysOfCaller, readPrincipalOfKey]
  const current = (await lock(tx, { id })) === undefined ? null : await read(tx, id)
  if (current === null) throw unauthorized('revoked')
  return current
}

/**
 * Throws 403 unless the user of a session signed in during the last ten minutes: a token that was stolen
 * later must not become a key.
 */
export async function requireRecentSignIn(tx: Transaction, { type, credentialId }: Principal): Promise<void> {
  if (type !== 'session' || (await sql.isRecentSignIn(tx, { id: credentialId })) !== undefined) return
  throw forbidden('You signed in more than ten minutes ago: sign in again.', 'recent_sign_in')
}

/**
 * Revokes a key. Call `lockKeys` before.
 * @param cascade whether to revoke the whole family: the keys made with it, and all their rotations. Default:
 * only for a key that does nothing but make keys. A rotated key has handed its family over to the new key.
 * @returns the keys that were not revoked yet, after and before the change.
 */
export async function revokeApiKeys(
  tx: Transaction,
  row: Omit<ApiKeyRow, 'digest'>,
  cascade = row.replacedBy === null && row.scopes.every((scope) => scope === 'keys:write'),
): Promise<Array<{ key: ApiKey; previous: ApiKey }>> {
  const own = row.revokedAt === null ? [toApiKey(row)] : []
  const active = cascade ? await sql.lockKeyFamily(tx, { family_of: row.id }) : own
  if (active.length === 0) return []
  const revoked = await sql.revokeKeys(tx, { ids: active.map(({ id }) => id) })
  const byId = new Map(active.map((previous) => [previous.id, previous]))
  return revoked.map((key) => ({ key, previous: byId.get(key.id)! }))
}

export type ApiKeyUpdate = components['schemas']['ApiKeyUpdate']

/**
 * The fields of the key after the update; null if nothing changes.
 * @throws 403 when the key would get scopes, or when the calling key may not make a key with these fields.
 */
export function changesOfApiKey(
  principal: Principal,
  key: ApiKey,
  update: ApiKeyUpdate,
): Changes<ApiKeyUpdate> | null {
  const changes = changesOf(key, update)
  if (changes === null) return null
  const scopes = changes.scopes ?? key.scopes
  const own = withIncluded(key.scopes)
  const added = scopes.find((scope) => !own.has(scope))
  if (added !== undefined)
    throw forbidden(`This API key does not have the scope ${added}; scopes can only be removed.`, 'scope')
  requireGrantable(principal, {
    scopes,
    projectIds: key.project_ids,
    allowedAddresses:
      changes.allowed_addresses === undefined ? key.allowed_addresses : changes.allowed_addresses,
    expiresAt: key.expires_at === null ? null : new Date(key.expires_at),
  })
  return changes
}

export interface Rotation {
  /** When the new key expires; undefined: when the old key would have expired. */
  expiresAt: Date | null | undefined
  /** How long the old key stays valid. With 0 it is revoked at once. */
  overlapSeconds: number
}

/**
 * Replaces a key by a new key with the same name, scopes, projects and metadata. Call `lockKeys` before.
 * @returns the new key, and the old key as it was before.
 */
export async function replaceApiKey(
  tx: Transaction,
  mode: KeyMode,
  principal: Principal,
  id: string,
  { expiresAt, overlapSeconds }: Rotation,
): Promise<{ key: ApiKeyWithSecret; previous: ApiKey }> {
  const old = await findOwnApiKey(tx, id, principal)
  if (old.expiresAt !== null && old.expiresAt <= new Date())
    throw invalidState('key', 'expired', undefined, 'expires_at')
  if (old.revokedAt !== null) throw invalidState('key', 'revoked', undefined, 'revoked_at')
  // The new key would inherit the end of the overlap.
  if (old.replacedBy !== null)
    throw invalidState('key', 'replaced', `The key was replaced by ${old.replacedBy}.`, 'replaced_by')
  const isOther = principal.type === 'api_key' && principal.credentialId !== id
  const fields: NewApiKey = {
    userId: old.userId,
    name: old.name,
    scopes: old.scopes as Scope[],
    projectIds: old.allProjects ? null : old.projectIds,
    allowedAddresses: nullIfEmpty(old.allowedAddresses),
    expiresAt: expiresAt === undefined ? old.expiresAt : expiresAt,
    metadata: old.metadata as Record<string, string>,
    // The keys that a leaked key replaces are of its family.
    createdByKey: isOther ? principal.credentialId : old.createdByKey,
    // A program cannot hide who made its key.
    createdById: principal.serviceAccountId === null ? principal.userId : old.createdById,
  }
  requireGrantable(principal, fields)
  const key = await insertApiKey(tx, mode, fields)
  const validUntil = new Date(
    Math.min(Date.now() + overlapSeconds * 1000, old.expiresAt?.getTime() ?? Infinity),
  )
  await tx.prisma.apiKey.update({
    where: { id },
    data: {
      replacedBy: key.id,
      ...(overlapSeconds === 0 ? { revokedAt: validUntil } : { expiresAt: validUntil }),
    },
    select: { id: true },
  })
  return { key, previous: toApiKey(old) }
}

/**
 * Throws 403 when a key or session would have scopes or projects that the caller does not have, would be
 * usable from more addresses, or would outlive the calling key.
 */
export function requireGrantable(
  principal: Principal,
  {
    scopes,
    projectIds,
    allowedAddresses = null,
    expiresAt,
  }: Pick<NewApiKey, 'scopes' | 'projectIds' | 'allowedAddresses' | 'expiresAt'>,
): void {
  const missing = scopes.find((scope) => !principal.scopes.has(scope))
  if (missing !== undefined)
    throw forbidden(`The scope ${missing} cannot be granted: the caller does not have it.`, 'scope')
  const { networks } = principal
  if (networks !== null && (allowedAddresses === null || !networks.includes(new Networks(allowedAddresses))))
    throw forbidden(
      'This API key is limited to some IP addresses; allowed_addresses must name only those.',
      'allowed_addresses',
    )
  const end = principal.expiresAt
  if (end !== null && (expiresAt === null || expiresAt > end))
    throw forbidden(
      `This API key expires at ${end.toISOString()}; a key made with it must not expire later.`,
      'expires_at',
    )
  const own = principal.projectIds
  if (own === null) return
  if (projectIds === null || projectIds.some((id) => !own.has(id))) {
    throw forbidden(
      'The caller is limited to some projects; project_ids must name only those projects.',
      'project_ids',
    )
  }
}

const keysPerStep = 1_000

/** Expired keys end, so that they no longer count as keys of their users. */
export function keyRetentionTasks(): RetentionTask[] {
  return [{ name: 'expired API keys', step: deleteBatch(sql.endExpiredKeys, keysPerStep) }]
}
