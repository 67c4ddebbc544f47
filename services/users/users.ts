// People and their keys: how rows become what the API shows, and the making of users and keys, which the operator's
// command line, the first start and the handlers share.
import type { components } from '../../generated/types.ts'
import { Prisma, type ApiKey as ApiKeyRow, type User as UserRow } from '../../generated/prisma/client.ts'
import { type Db } from '../../infra/database/database.ts'
import { violatedConstraint } from '../../infra/database/errors.ts'
import { statement } from '../../infra/database/statements.ts'
import { conflict } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { digestOf, newSecret, keyPrefix, type KeyMode } from '../../infra/api-key-format.ts'

export type Scope = components['schemas']['Scope']
export type User = components['schemas']['User']
export type ApiKey = components['schemas']['ApiKey']
export type ApiKeyWithSecret = components['schemas']['ApiKeyWithSecret']

export const allScopes: readonly Scope[] = [
  'user:read',
  'user:write',
  'projects:read',
  'projects:write',
  'storage:read',
  'storage:write',
  'ai:read',
  'ai:write',
  'payments:read',
  'payments:write',
  'webhooks:read',
  'webhooks:write',
  'keys:write',
  'admin',
]

/** What the first key of a user of this role may do. */
export function scopesFor(role: 'user' | 'admin'): Scope[] {
  return allScopes.filter((scope) => scope !== 'admin' || role === 'admin')
}

export function toProfile(row: UserRow): components['schemas']['Profile'] {
  const { role, ...profile } = toUser(row)
  return profile
}

export function toUser(row: UserRow): User {
  return {
    id: row.id,
    email: row.email!,
    email_verified: row.emailVerified,
    name: row.name,
    bio: row.bio,
    locale: row.locale,
    timezone: row.timezone,
    avatar_url: row.avatarUrl,
    status: row.status as 'active' | 'disabled',
    role: row.role,
    metadata: row.metadata as Record<string, string>,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}

export function toApiKey(row: Omit<ApiKeyRow, 'digest'>): ApiKey {
  return {
    id: row.id,
    name: row.name,
    start: row.start,
    scopes: row.scopes as Scope[],
    project_ids: row.allProjects ? null : row.projectIds,
    expires_at: row.expiresAt?.toISOString() ?? null,
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    revoked_at: row.revokedAt?.toISOString() ?? null,
  }
}

const lockUser = statement<{ id: string }>(
  "SELECT id FROM users WHERE id = $1 AND status <> 'deleted' FOR NO KEY UPDATE",
)

/** Holds a user against other writers until the transaction ends. null when there is none, or only a deleted one. */
export async function lockedUser(tx: Db, id: string): Promise<UserRow | null> {
  const [found] = await tx.sql(lockUser, [id])
  return found === undefined ? null : await tx.prisma.user.findUniqueOrThrow({ where: { id } })
}

export interface NewUser {
  email: string
  emailVerified: boolean
  name: string
  bio?: string | null
  locale?: string
  timezone?: string
  role: 'user' | 'admin'
  metadata?: Record<string, string>
}

/** A user with settings. 409 `email_taken` when the address is someone's. */
export async function insertUser(tx: Db, fields: NewUser): Promise<UserRow> {
  const id = newId('usr')
  const at = timeOf(id)
  try {
    const user = await tx.prisma.user.create({
      data: { ...fields, email: fields.email.toLowerCase(), id, createdAt: at, updatedAt: at },
    })
    await tx.prisma.settings.create({ data: { userId: id, updatedAt: at } })
    return user
  } catch (error) {
    throw emailTaken(error)
  }
}

/** A unique violation of the address as the answer that it is. */
export function emailTaken(error: unknown): unknown {
  const unique = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002'
  return unique && /email/.test(violatedConstraint(error) ?? JSON.stringify(error.meta))
    ? conflict('email_taken', 'Another user has this email.', 'email')
    : error
}

export interface NewKey {
  userId: string
  name: string
  scopes: Scope[]
  projectIds: string[] | null
  expiresAt: Date | null
}

/** A key with its secret, which is not kept anywhere. `secret` is for one that was chosen beforehand. */
export async function insertKey(
  tx: Db,
  mode: KeyMode,
  { userId, name, scopes, projectIds, expiresAt }: NewKey,
  secret = newSecret(mode),
): Promise<ApiKeyWithSecret> {
  const id = newId('key')
  const row = await tx.prisma.apiKey.create({
    data: {
      id,
      userId,
      name,
      scopes,
      projectIds: projectIds ?? [],
      allProjects: projectIds === null,
      expiresAt,
      start: keyPrefix(secret),
      digest: Buffer.from(digestOf(secret), 'hex'),
      createdAt: timeOf(id),
    },
  })
  return { ...toApiKey(row), key: secret }
}
