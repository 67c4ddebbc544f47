// The ways to sign in: a password, or a one-time token that was sent by e-mail. Neither the answers nor their
// time show whether an address has an account.
import * as sql from '../../generated/sql/auth.ts'
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { forbidden, unauthorized } from '../../infra/errors.ts'
import { networkOf } from '../../infra/network.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import type { Emitter } from '../events/emit.ts'
import { queueMail, type Mails } from '../mail/mails.ts'
import type { Principals } from '../users/authentication.ts'
import { insertUser, lockUser, toProfile, toUser, updateUserRow } from '../users/users.ts'
import type { Mailed } from './mailed-tokens.ts'
import { verifyPassword } from './passwords.ts'
import { endSessions } from './sessions.ts'
import { tokenDigest } from '../../infra/encryption/tokens.ts'

export interface SignInServices {
  cipher: Cipher
  mails: Mails
  events: Emitter
  principals: Principals
  filesUrl: () => string
}

/** Wrong passwords in a day from which on only networks are served where the user has a session. */
const maxFailures = 100

export interface CheckedPassword {
  userId: string
  hash: string
}

/**
 * The user with this address and password.
 * @throws 401, with the same answer whatever is wrong.
 */
export async function checkPassword(
  db: Db,
  email: string,
  password: string,
  ip: string,
): Promise<CheckedPassword> {
  const account = tokenDigest(email.toLowerCase())
  const network = networkOf(ip)
  // Counted before the password is checked, so that a thousand attempts at once are a thousand attempts.
  const attempt = await sql.countAttempt(db, { account, network })
  const user = await sql.findPassword(db, { account, email: email.toLowerCase(), network })
  const mayTry =
    attempt !== undefined && user !== undefined && (user.is_known || user.failures <= maxFailures)
  const isRight = await verifyPassword(password, mayTry ? user.hash : null, network)
  if (!isRight || user === undefined) throw unauthorized('credentials')
  await sql.clearAttempts(db, { account, network })
  return { userId: user.id, hash: user.hash }
}

/**
 * Holds a checked password until the transaction ends, so that a change of the password also ends the session
 * that is created with it. Throws 401 if it has changed.
 */
export async function holdPassword(tx: Db, { userId, hash }: CheckedPassword): Promise<void> {
  if ((await sql.holdPassword(tx, { user_id: userId, hash })) === undefined) throw unauthorized('credentials')
}

/**
 * Throws 401 unless the password is the user's, or the user signed in with a link in the last ten minutes.
 * @returns the address of the user.
 */
export async function requirePassword(
  db: Db,
  { userId, sessionId, password, ip }: { userId: string; sessionId: string; password?: string; ip: string },
): Promise<string> {
  const found = await sql.readSignIn(db, { user_id: userId, session_id: sessionId })
  if (found === undefined) throw unauthorized('revoked', 'The session has ended: sign in again.')
  if (password === undefined && found.used_link_lately) return found.email
  if (password === undefined || !found.has_password)
    throw unauthorized('credentials', 'Send current_password, or sign in with a link before.')
  await checkPassword(db, found.email, password, ip).catch((error) => {
    throw error.status === 401 ? unauthorized('credentials', 'current_password is wrong.') : error
  })
  return found.email
}

/**
 * Uses a one-time token. It is deleted, so that of several requests one succeeds.
 * @throws 401 unless it is valid for one of the purposes.
 */
export async function useToken(tx: Db, token: string, purposes: Mailed[]): Promise<sql.UseTokenRow> {
  const row = await sql.useToken(tx, { digest: tokenDigest(token), purposes })
  if (row === undefined) throw unknownToken()
  return row
}

/** The user whom a token belongs to, before it is used. Null for a new account. Throws 401 as `useToken`. */
export async function userBeforeUse(db: Db, token: string, purposes: Mailed[]): Promise<string | null> {
  const row = await sql.findToken(db, { digest: tokenDigest(token), purposes })
  if (row === undefined) throw unknownToken()
  if (row.purpose === 'sign_up') return null
  return row.user_id ?? (await userOfToken(db, row))
}

function unknownToken(): Error {
  return unauthorized('unknown', 'The link is unknown, expired or was used before: ask for a new one.')
}

/** The id of the active user with the address that a token was sent to. */
export async function userOfToken(tx: Db, { email }: Pick<sql.UseTokenRow, 'email'>): Promise<string> {
  const { user_id: id } = await sql.findAccount(tx, { email })
  if (id === null) throw unauthorized('unknown', 'The account of the link no longer exists.')
  return id
}

export type SignUp = components['schemas']['SignUp']

/** Throws 403 for an address that nobody may sign up with. An invitation is looked up later. */
export function requireSignUp(policy: string, email: string): void {
  if (policy === 'off') throw forbidden('The platform does not let people sign up.', 'sign_up')
  if (policy === 'open' || policy === 'invited') return
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (!policy.split(',').includes(domain))
    throw forbidden(`People can sign up with addresses of ${policy.replaceAll(',', ', ')} only.`, 'sign_up')
}

/**
 * Creates the user of a confirmed sign-up, or gives a user the confirmed address.
 * @returns the id of the user. @throws 409 `email_taken` if another user has the address meanwhile.
 */
export async function confirmAddress(
  tx: Db,
  services: SignInServices,
  { purpose, email, user_id: userId, name, password_hash: hash }: sql.UseTokenRow,
): Promise<string> {
  const { events, filesUrl } = services
  if (purpose === 'sign_up') {
    const row = await insertUser(tx, { email, emailVerified: true, name: name!, role: 'user' })
    if (hash !== null) await sql.storePassword(tx, { user_id: row.id, hash })
    await events.emit(tx, 'user.created', toUser(row, filesUrl()))
    return row.id
  }
  const row = await lockUser(tx, userId!)
  if (row === null || row.status !== 'active')
    throw unauthorized('unknown', 'The account of the link no longer exists.')
  const previous = toUser(row, filesUrl())
  const user = toUser(await updateUserRow(tx, row, { email, email_verified: true }), filesUrl())
  await events.emit(tx, 'user.updated', user, { previous })
  await endSessions(tx, services, user.id)
  return user.id
}

/**
 * Sets the password of a user, ends the sessions, and tells the user.
 * @param except a session that goes on.
 */
export async function setPassword(
  tx: Db,
  services: SignInServices,
  { userId, hash, except }: { userId: string; hash: string; except: string | null },
): Promise<void> {
  const row = await lockUser(tx, userId)
  if (row === null || row.status !== 'active') throw unauthorized('disabled', 'The user is disabled.')
  await sql.storePassword(tx, { user_id: userId, hash })
  await services.events.emit(tx, 'password.changed', toProfile(row, services.filesUrl()), { userId })
  await endSessions(tx, services, userId, except)
  await queueMail(tx, services, { kind: 'password_changed', recipient: row.email!, userId })
}
