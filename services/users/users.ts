// Users: conversion to the API's objects, creation, updates, and the rule that the platform always has an
// active admin.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/users.ts'
import type { User as UserRow } from '../../generated/prisma/client.js'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction, SqlClient } from '../../infra/database/database.ts'
import { isUniqueViolation, violatedConstraint } from '../../infra/database/errors.ts'
import { conflict, notFound, unauthorized } from '../../infra/errors.ts'
import { timestampAfter } from '../../infra/database/timestamps.ts'
import { containsPattern, type Page } from '../../infra/database/pagination.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Changes } from '../../infra/contract/changes.ts'

export type User = components['schemas']['User']

export function toProfile(row: UserRow, origin: string): components['schemas']['Profile'] {
  const { role, ...profile } = toUser(row, origin)
  return profile
}

/** @param origin of the server, for the absolute URL of the avatar */
export function toUser(row: UserRow, origin: string): User {
  return {
    id: row.id,
    email: row.email!,
    email_verified: row.emailVerified,
    name: row.name,
    bio: row.bio,
    locale: row.locale,
    timezone: row.timezone,
    avatar_url: row.avatarUrl === null ? null : `${origin}${row.avatarUrl}`,
    status: row.status as 'active' | 'disabled',
    role: row.role,
    metadata: row.metadata as Record<string, string>,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}

/** A person. Throws 404 when the user does not exist, or is a service account. */
export async function findUser(db: Db, id: string): Promise<UserRow> {
  const row = await db.prisma.user.findUnique({ where: { id } })
  if (row === null || row.status === 'deleted' || (await isServiceAccount(db, id))) throw notFound('user', id)
  return row
}

async function isServiceAccount(db: Db, id: string): Promise<boolean> {
  return (await sql.isServiceAccount(db, { id })) !== undefined
}

export async function listUsers(
  db: SqlClient,
  { q, ...query }: ListQuery<'listUsers'>,
  origin: string,
): Promise<Page<User>> {
  return await sql.listUsers(db, {
    ...query,
    origin,
    pattern: q === undefined ? undefined : containsPattern(q),
  })
}

/** Locks a user until the transaction ends. Returns null when the user does not exist or is deleted. */
export async function lockUser(tx: Transaction, id: string): Promise<UserRow | null> {
  const locked = await sql.lockUser(tx, { id })
  return locked === undefined ? null : await tx.prisma.user.findUniqueOrThrow({ where: { id } })
}

/** Locks a user. Throws 401 if the user is not active. */
export async function lockActiveUser(tx: Transaction, id: string): Promise<UserRow> {
  const row = await lockUser(tx, id)
  if (row === null || row.status !== 'active') throw unauthorized('disabled', 'The user is disabled.')
  return row
}

/**
 * Locks all admins, ordered by id, and the user. With all admins locked, two concurrent changes cannot each
 * remove the admin that the other change relies on.
 * @throws 404 when the user does not exist, or is a service account.
 */
export async function lockAdminsAndUser(tx: Transaction, id: string): Promise<UserRow> {
  await sql.lockAdmins(tx)
  const row = await lockUser(tx, id)
  if (row === null || (await isServiceAccount(tx, id))) throw notFound('user', id)
  return row
}

/** Throws 409 `last_admin` when the user is the only active admin. Call `lockAdminsAndUser` first. */
export async function requireNotLastAdmin(tx: Transaction, id: string): Promise<void> {
  if ((await sql.isAdmin(tx, { id })) === undefined) return
  if ((await sql.hasOtherAdmin(tx, { id })) !== undefined) return
  throw conflict('last_admin', 'The user is the last active admin; the platform needs at least one.')
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

/** Inserts a user with default settings. Throws 409 `email_taken` when another user has the email address. */
export async function insertUser(tx: Transaction, fields: NewUser): Promise<UserRow> {
  const id = newId('usr')
  const at = timeOf(id)
  try {
    const user = await tx.prisma.user.create({
      data: { ...fields, email: fields.email.toLowerCase(), id, createdAt: at, updatedAt: at },
    })
    await tx.prisma.settings.create({ data: { userId: id, updatedAt: at } })
    return user
  } catch (error) {
    throw toEmailTakenError(error)
  }
}

/** Updates a locked user. Throws 409 `email_taken` when another user has the email address. */
export async function updateUserRow(
  tx: Transaction,
  row: UserRow,
  { email, email_verified: emailVerified, ...fields }: Changes<components['schemas']['UserUpdate']>,
): Promise<UserRow> {
  try {
    return await tx.prisma.user.update({
      where: { id: row.id },
      data: {
        ...fields,
        email,
        emailVerified,
        updatedAt: timestampAfter(row.updatedAt),
      },
    })
  } catch (error) {
    throw toEmailTakenError(error)
  }
}

/**
 * Converts a unique violation of the email column to 409 `email_taken`; returns any other error unchanged.
 */
function toEmailTakenError(error: unknown): unknown {
  return isUniqueViolation(error) &&
    /email/.test(violatedConstraint(error) ?? JSON.stringify((error as { meta?: unknown }).meta))
    ? conflict('email_taken', 'Another user has this email address.', 'email')
    : error
}
