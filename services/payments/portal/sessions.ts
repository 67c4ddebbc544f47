// Sessions of the customer portal. The token of a link is used once; then a cookie is the access. Both are
// random and stored as SHA-256.
import { randomBytes } from 'node:crypto'
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/portal.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { tokenDigest } from '../../../infra/encryption/tokens.ts'
import { notFound } from '../../../infra/errors.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import { deleteBatch, type RetentionTask } from '../../../infra/jobs/retention.ts'
import type { Emitter } from '../../events/emit.ts'

const linkSeconds = 1_800
export const portalSeconds = 3_600
/** The sessions of a customer that count: the latest. */
const maxSessions = 20

const newToken = (): string => randomBytes(32).toString('base64url')

/** Creates a session of a customer. `publicUrl` has no trailing slash. */
export async function createPortalSession(
  tx: Transaction,
  events: Emitter,
  fields: { customerId: string; returnUrl: string | null; createdBy: string; publicUrl: string },
): Promise<components['schemas']['PortalSessionWithUrl']> {
  const { customerId, returnUrl, createdBy, publicUrl } = fields
  const id = newId('pts')
  const token = newToken()
  const createdAt = timeOf(id)
  const session = await sql.insertSession(tx, {
    id,
    customer_id: customerId,
    digest: tokenDigest(token),
    return_url: returnUrl,
    created_by: createdBy,
    created_at: createdAt,
    expires_at: new Date(createdAt.getTime() + linkSeconds * 1000),
    others: maxSessions - 1,
  })
  await events.emit(tx, 'portal_session.created', session, { userId: customerId })
  return { ...session, url: `${publicUrl}/portal/${token}` }
}

/** Throws 404 unless the customer has this session and it has not ended. */
export async function findPortalSession(
  db: Db,
  customerId: string,
  id: string,
): Promise<components['schemas']['PortalSession']> {
  const session = await sql.findSessionById(db, { customer_id: customerId, id })
  if (session === undefined) throw notFound('portal session', id)
  return session
}

/** Uses up a link. @returns the value of the cookie; null for a link that is unknown, used or expired. */
export async function enterPortal(db: Db, token: string): Promise<string | null> {
  const cookie = newToken()
  const entered = await sql.enter(db, {
    digest: tokenDigest(token),
    cookie_digest: tokenDigest(cookie),
    seconds: portalSeconds,
  })
  return entered === undefined ? null : cookie
}

export type Portal = sql.FindSessionRow

/** The portal session of a cookie; null without one. */
export async function findPortal(db: Db, cookie: string | undefined): Promise<Portal | null> {
  if (cookie === undefined) return null
  return (await sql.findSession(db, { cookie_digest: tokenDigest(cookie) })) ?? null
}

export async function leavePortal(db: Db, { id }: Portal): Promise<void> {
  await sql.endSession(db, { id })
}

export function portalTasks(): RetentionTask[] {
  return [{ name: 'portal sessions', step: deleteBatch(sql.deleteExpired, 1_000) }]
}
