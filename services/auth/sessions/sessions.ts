// Sessions of users who have signed in. A session has short-lived access tokens and one valid refresh token.
// A refresh token has the id of the session and a number. Its successor is signed, not stored: all servers
// give the same answer when a token is sent again.
import * as sql from '../../../generated/sql/auth.ts'
import type { components } from '../../../generated/types.ts'
import type { Config } from '../../../infra/config/config.ts'
import type { ListQuery } from '../../../infra/contract/query.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import type { Page } from '../../../infra/database/pagination.ts'
import { forbidden, notFound, unauthorized } from '../../../infra/errors.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Emitter } from '../../events/emit.ts'
import { alertUser, type MailServices } from '../../mail/mails.ts'
import type { Principal, Principals } from '../../users/authentication.ts'
import { networkOf } from '../../users/client-network.ts'
import {
  newAccessToken,
  newCookieToken,
  newRefreshToken,
  readRefreshToken,
} from '../../../infra/encryption/tokens.ts'

export type Session = components['schemas']['SignInSession']
export type SessionTokens = components['schemas']['SessionTokens']
export type Method = Session['methods'][number]

/** The data of the request that signs in, for its session. */
export interface Device {
  ip: string
  userAgent: string | null
  /** Whether the browser keeps the session in a cookie. */
  inCookie?: boolean
  /** Names the account, once it is known, and its session to the audit log. */
  identify?: (userId: string, sessionId?: string) => void
}

export function deviceOf({
  ip,
  headers,
  identify,
}: { headers: object } & Pick<Device, 'ip' | 'identify'>): Device {
  const userAgent = (headers as Record<string, string | undefined>)['user-agent'] ?? null
  return { ip, userAgent, identify }
}

interface SessionServices extends MailServices {
  config: Readonly<Config>
  events: Emitter
  principals: Principals
}

const maxDeviceLength = 200
const day = 86_400

/** Creates a session in the transaction `tx`. A user has at most 100: the least used ones end. */
export async function createSession(
  tx: Transaction,
  { config, cipher, events }: SessionServices,
  {
    userId,
    methods,
    ip,
    userAgent,
    inCookie = false,
    identify,
  }: Device & { userId: string; methods: Method[] },
): Promise<SessionTokens> {
  for (const ended of await sql.endSurplusSessions(tx, { user_id: userId }))
    await events.emit(tx, 'sign_in.ended', { ...ended, current: false }, { userId })
  const id = newId('ses')
  identify?.(userId, id)
  const row = await sql.insertSession(tx, {
    id,
    user_id: userId,
    methods,
    ip,
    network: networkOf(ip),
    device: userAgent?.slice(0, maxDeviceLength) ?? null,
    in_cookie: inCookie,
    created_at: timeOf(id).toISOString(),
    idle_seconds: config.sessionIdleDays * day,
    max_seconds: config.sessionMaxDays * day,
  })
  await events.emit(tx, 'sign_in.created', { ...row, current: false }, { userId })
  return tokensOf({ config, cipher }, { ...row, current: true }, 0)
}

/**
 * Seconds in which a refresh token that is sent again, from the same network, has the same successor: an
 * answer was lost, or two pages of an application refresh at once.
 */
const repeatSeconds = 20

/**
 * Uses a refresh token. One that was used before `repeatSeconds` ends the session: of its two users, one is
 * not the owner.
 * @throws 401
 */
export async function refreshSession(
  db: Db,
  services: SessionServices,
  token: string,
  device: Pick<Device, 'ip' | 'identify'>,
): Promise<SessionTokens> {
  const use = { token, device, use: sql.refreshSession, inCookie: false }
  const { row, generation } = await useRefreshToken(db, services, use)
  return tokensOf(services, row, generation + 1)
}

/**
 * Uses a refresh token to move its session into a cookie. The tokens of the session are no longer valid.
 * @returns the session, and the token for the cookie. @throws 401 as `refreshSession`.
 */
export async function moveToCookie(
  db: Db,
  services: SessionServices,
  token: string,
  device: Pick<Device, 'ip' | 'identify'>,
): Promise<{ session: Session; cookie: string }> {
  const use = { token, device, use: sql.moveSessionToCookie, inCookie: true }
  const { row } = await useRefreshToken(db, services, use)
  await services.principals.waitForInvalidation(row.id)
  return { session: row, cookie: newCookieToken(services.cipher, row.id) }
}

interface TokenUse {
  token: string
  device: Pick<Device, 'ip' | 'identify'>
  use: typeof sql.refreshSession
  /** Whether the session is in a cookie afterwards. */
  inCookie: boolean
}

async function useRefreshToken(
  db: Db,
  services: SessionServices,
  { token, device: { ip, identify }, use, inCookie }: TokenUse,
): Promise<{ row: Session; generation: number }> {
  const { config, cipher } = services
  const claims = readRefreshToken(cipher, token)
  if (claims === null) throw unauthorized('unknown', 'Unknown refresh token.')
  const { sessionId: id, generation } = claims
  const lifetimes = {
    idle_seconds: config.sessionIdleDays * day,
    max_seconds: config.sessionMaxDays * day,
  }
  const network = networkOf(ip)
  const row = await use(db, { id, generation, ip, network, ...lifetimes })
  if (row !== undefined) {
    identify?.(row.user_id, id)
    return { row: { ...row, current: true }, generation }
  }
  const repeated = await sql.findRepeatedRefresh(db, { id, generation, network, seconds: repeatSeconds })
  if (repeated !== undefined) {
    const { in_cookie: isInCookie, ...session } = repeated
    identify?.(session.user_id, id)
    if (isInCookie !== inCookie)
      throw unauthorized('revoked', 'This refresh token was used for another answer.')
    return { row: { ...session, current: true }, generation }
  }
  const session = await sql.findSession(db, { id })
  if (session === undefined) throw unauthorized('revoked', 'The session has ended: sign in again.')
  identify?.(session.user_id, id)
  if (session.status !== 'active') throw unauthorized('disabled', 'The user is disabled.')
  if (Date.parse(session.expires_at) <= Date.now())
    throw unauthorized('expired', 'The session has expired: sign in again.')
  await db.transaction(async (tx) => {
    const ended = await endSession(tx, services, id)
    if (ended !== null) await alertUser(tx, services, 'refresh_token_reused', ended.user_id)
  })
  throw unauthorized('reused')
}

/**
 * Ends a session. Its tokens are rejected from the next request on.
 * @returns the session; null if it had ended before.
 */
export async function endSession(
  tx: Transaction,
  { events, principals }: Pick<SessionServices, 'events' | 'principals'>,
  id: string,
): Promise<sql.EndSessionRow | null> {
  const row = await sql.endSession(tx, { id })
  if (row !== undefined)
    await events.emit(tx, 'sign_in.ended', { ...row, current: false }, { userId: row.user_id })
  tx.afterCommit(() => principals.waitForInvalidation(id))
  return row ?? null
}

/** Ends the sessions of a user. @param except the id of one that goes on. */
export async function endSessions(
  tx: Transaction,
  { events, principals }: Pick<SessionServices, 'events' | 'principals'>,
  userId: string,
  except: string | null = null,
): Promise<void> {
  for (const row of await sql.endSessions(tx, { user_id: userId, except }))
    await events.emit(tx, 'sign_in.ended', { ...row, current: false }, { userId })
  tx.afterCommit(() => principals.waitForInvalidation(userId))
}

export async function listSignIns(
  db: Db,
  principal: Principal,
  query: ListQuery<'listSignIns'>,
): Promise<Page<Session>> {
  const { userId, credentialId } = principal
  return await sql.listSessions(db, { user_id: userId, current: credentialId, ...query })
}

/** As many as a user can have. */
const shownSessions = 100

/** The sessions of a user for a page, newest first. */
export async function listOwnSessions(db: Db, { userId, credentialId }: Principal): Promise<Session[]> {
  return await sql.listOwnSessions(db, { user_id: userId, current: credentialId, limit: shownSessions })
}

/** Throws 403 for a session of another user, and 404 for one that has ended. */
export async function findOwnSession(db: Db, id: string, principal: Principal): Promise<Session> {
  return requireOwn(await sql.readSession(db, { id }), id, principal)
}

/** Finds and locks a session of the caller. Throws 401 if the session of the request has ended. */
export async function lockOwnSession(tx: Transaction, id: string, principal: Principal): Promise<Session> {
  const row = await sql.lockSession(tx, { id })
  if (row === undefined && id === principal.credentialId) throw unauthorized('revoked')
  return requireOwn(row, id, principal)
}

function requireOwn(
  row: sql.ReadSessionRow | undefined,
  id: string,
  { userId, credentialId }: Principal,
): Session {
  if (row === undefined) throw notFound('session', id)
  if (row.user_id !== userId) throw forbidden('This session belongs to another user.', 'owner', id)
  return { ...row, current: id === credentialId }
}

function tokensOf(
  { config, cipher }: Pick<SessionServices, 'config' | 'cipher'>,
  session: Session,
  generation: number,
): SessionTokens {
  const end = Math.floor(Date.parse(session.expires_at) / 1000)
  const now = Math.floor(Date.now() / 1000)
  const expiresAt = Math.min(now + config.accessTokenMinutes * 60, end)
  return {
    ...session,
    access_token: newAccessToken(cipher, session.id, expiresAt),
    token_type: 'Bearer',
    expires_in: Math.max(1, expiresAt - now),
    refresh_token: newRefreshToken(cipher, session.id, generation),
  }
}
