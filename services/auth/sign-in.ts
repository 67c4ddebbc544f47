// The ways to sign in: a password, or a one-time token that was sent by e-mail. Neither the answers nor their
// time show whether an address has an account.
import * as sql from '../../generated/sql/auth.ts'
import type { components } from '../../generated/types.ts'
import type { User as UserRow } from '../../generated/prisma/client.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { tokenDigest } from '../../infra/encryption/tokens.ts'
import { forbidden, unauthorized } from '../../infra/errors.ts'
import { FairSemaphore } from '../../infra/fair-semaphore.ts'
import { networkOf } from '../../infra/network.ts'
import type { Emitter } from '../events/emit.ts'
import { alertAddress, alertUser, onceADay, queueMail, type Mails, type MailServices } from '../mail/mails.ts'
import type { Principal, Principals } from '../users/authentication.ts'
import { insertUser, lockUser, toProfile, toUser, updateUserRow } from '../users/users.ts'
import type { TokenPurpose } from './mailed-tokens.ts'
import { verifyPassword } from './passwords.ts'
import { endSessions, lockOwnSession, type Device } from './sessions.ts'

export interface SignInServices {
  cipher: Cipher
  mails: Mails
  events: Emitter
  principals: Principals
  filesUrl: () => string
}

export type CountingServices = MailServices & { db: Db }

/** Wrong passwords or codes in a day from which on only networks are served where the user has a session. */
export const maxFailures = 100

/**
 * The attempts at one account from one network run one after another, because an attempt counts as wrong
 * until its password is checked: several right ones at once would be refused.
 */
const attempts = new FairSemaphore({
  name: 'sign-ins',
  total: Infinity,
  perUser: 1,
  maxWaiting: 1_000,
  maxWaitMs: 60_000,
})

export interface CheckedPassword {
  userId: string
  hash: string
}

/**
 * The user with this address and password.
 * @throws 401, with the same answer whatever is wrong.
 */
export async function checkPassword(
  services: CountingServices,
  { email, password }: { email: string; password: string },
  { ip, identify }: Pick<Device, 'ip' | 'identify'>,
): Promise<CheckedPassword> {
  const recipient = email.toLowerCase()
  const attempt = { account: tokenDigest(recipient), network: networkOf(ip), recipient, password }
  return await attempts.run(`${attempt.account} ${attempt.network}`, () =>
    tryPassword(services, attempt, identify),
  )
}

async function tryPassword(
  services: CountingServices,
  { account, network, recipient, password }: Record<'account' | 'network' | 'recipient' | 'password', string>,
  identify: Device['identify'],
): Promise<CheckedPassword> {
  const { db } = services
  // Counted before the password is checked, so that a thousand attempts at once are a thousand attempts.
  const isCounted = await countAttempt(services, { account, network }, { recipient })
  const user = await sql.findPassword(db, { account, email: recipient, network })
  if (user !== undefined) identify?.(user.id)
  const mayTry = isCounted && user !== undefined && (user.is_known || user.failures <= maxFailures)
  const isRight = await verifyPassword(password, mayTry ? user.hash : null, network)
  if (!isRight || user === undefined) throw unauthorized('credentials')
  await sql.clearAttempts(db, { account, network })
  return { userId: user.id, hash: user.hash }
}

/**
 * Counts an attempt. After too many in a day the owner gets an e-mail, once a day: by user, or by an address
 * that may have no account, with the same work.
 * @returns false if the network must wait.
 */
export async function countAttempt(
  { db, ...services }: CountingServices,
  attempt: { account: string; network: string },
  owner: { userId: string } | { recipient: string },
): Promise<boolean> {
  const counted = await sql.countAttempt(db, attempt)
  if (counted !== undefined && counted.before > maxFailures) {
    const kind = 'sign_ins_blocked'
    const { dedupeKey } = onceADay(kind, attempt.account)
    await db.transaction(async (tx) => {
      if ('userId' in owner) await alertUser(tx, services, kind, owner.userId, { dedupeKey })
      else await queueMail(tx, services, { kind, ...owner, userId: null, dedupeKey })
    })
  }
  return counted !== undefined
}

/**
 * Holds a checked password until the transaction ends, so that a change of the password also ends the session
 * that is created with it. Throws 401 if it has changed.
 */
export async function holdPassword(tx: Db, { userId, hash }: CheckedPassword): Promise<void> {
  if ((await sql.holdPassword(tx, { user_id: userId, hash })) === undefined) throw unauthorized('credentials')
}

/** What shows that the owner is there: the password, or (null) a sign-in without it a short time ago. */
export type Proof = CheckedPassword | null

/** Throws 403 for a wrong password, or without it unless the user signed in without it lately. */
export async function requireProof(
  services: CountingServices,
  { userId, credentialId: sessionId }: Principal,
  password: string | undefined,
  ip: string,
): Promise<Proof> {
  const found = await sql.readSignIn(services.db, { user_id: userId, session_id: sessionId })
  if (found === undefined) throw unauthorized('revoked', 'The session has ended: sign in again.')
  if (password === undefined && found.is_recent) return null
  if (password === undefined || !found.has_password)
    throw wrongPassword('Send current_password, or sign in with a link before.')
  return await checkPassword(services, { email: found.email, password }, { ip }).catch((error) => {
    throw error.status === 401 ? wrongPassword('current_password is wrong.') : error
  })
}

/** The same in the transaction of the change, with the user and the session locked. @returns the user. */
export async function holdProof(tx: Db, principal: Principal, proof: Proof): Promise<UserRow> {
  const { userId, credentialId: sessionId } = principal
  const user = await lockActiveUser(tx, userId)
  await lockOwnSession(tx, sessionId, principal)
  if (proof !== null) await holdPassword(tx, proof)
  else {
    const found = await sql.readSignIn(tx, { user_id: userId, session_id: sessionId })
    if (found?.is_recent !== true) throw wrongPassword('Send current_password.')
  }
  return user
}

function wrongPassword(message: string): Error {
  return forbidden(message, 'current_password')
}

/** Locks a user. Throws 401 if the user is not active. */
export async function lockActiveUser(tx: Db, id: string): Promise<UserRow> {
  const row = await lockUser(tx, id)
  if (row === null || row.status !== 'active') throw unauthorized('disabled', 'The user is disabled.')
  return row
}

/**
 * Uses a one-time token. It is deleted, so that of several requests one succeeds.
 * @throws 401 unless it is valid for the purpose.
 */
export async function useToken(
  tx: Db,
  token: string,
  purpose: TokenPurpose,
  digest = tokenDigest(token),
): Promise<sql.UseTokenRow> {
  const row = await sql.useToken(tx, { digest, purpose })
  if (row === undefined) throw unknownToken()
  return row
}

/** The user with the address that a token was sent to, before it is used. Throws 401 as `useToken`. */
export async function userBeforeUse(
  db: Db,
  token: string,
  purpose: TokenPurpose,
  digest = tokenDigest(token),
): Promise<string> {
  const row = await sql.findToken(db, { digest, purpose })
  if (row === undefined) throw unknownToken()
  return await userWith(db, row.email)
}

/**
 * The address that a token was sent to, and the provider whose identity its use links; null for a token that
 * is not valid.
 */
export async function findTokenGoal(
  db: Db,
  purpose: TokenPurpose,
  digest: string,
): Promise<{ account: string; linksProvider: string | null } | null> {
  const row = await sql.findToken(db, { digest, purpose })
  return row === undefined ? null : { account: row.email, linksProvider: row.provider }
}

/** The same when it is used, and the user locked. */
export async function lockUserOfToken(tx: Db, { email }: Pick<sql.UseTokenRow, 'email'>): Promise<string> {
  const id = await userWith(tx, email)
  if ((await lockActiveUser(tx, id)).email !== email) throw unknownToken()
  return id
}

async function userWith(db: Db, email: string): Promise<string> {
  const { user_id: id } = await sql.findAccount(db, { email })
  if (id === null) throw unauthorized('unknown', 'The account of the link no longer exists.')
  return id
}

function unknownToken(): Error {
  return unauthorized('unknown', 'The link is unknown, expired or was used before: ask for a new one.')
}

/** Throws 403 for an address that nobody may sign up with. An invitation is looked up later. */
export function requireSignUp(policy: string, email: string): void {
  if (policy === 'off') throw forbidden('The platform does not let people sign up.', 'sign_up')
  if (policy === 'open' || policy === 'invited') return
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (!policy.split(',').includes(domain))
    throw forbidden(`People can sign up with addresses of ${policy.replaceAll(',', ', ')} only.`, 'sign_up')
}

/**
 * Creates the user of a confirmed sign-up.
 * @param hash of the password, if the user has chosen one
 * @returns the id. @throws 409 `email_taken` if another user has the address meanwhile.
 */
export async function createConfirmedUser(
  tx: Db,
  { events, filesUrl }: SignInServices,
  { email, name }: Pick<sql.UseTokenRow, 'email' | 'name'>,
  hash: string | null,
): Promise<string> {
  const row = await insertUser(tx, { email, emailVerified: true, name: name!, role: 'user' })
  if (hash !== null) await sql.storePassword(tx, { user_id: row.id, hash })
  await sql.deleteTokensOfUser(tx, { user_id: row.id, email })
  await events.emit(tx, 'user.created', toUser(row, filesUrl()))
  return row.id
}

/**
 * Gives a user the address that a token was sent to, and ends the other sessions.
 * @throws 403 for the token of another user; 409 `email_taken` if another user has the address meanwhile.
 */
export async function changeAddress(
  tx: Db,
  services: SignInServices,
  { userId, credentialId: sessionId }: Principal,
  token: sql.UseTokenRow,
): Promise<components['schemas']['Profile']> {
  const origin = services.filesUrl()
  if (token.user_id !== userId) throw forbidden('The link belongs to another account.', 'owner')
  const row = await lockActiveUser(tx, userId)
  const changed = await updateUserRow(tx, row, { email: token.email, email_verified: true })
  const [profile, previous] = [toProfile(changed, origin), toProfile(row, origin)]
  await services.events.emit(tx, 'profile.updated', profile, { previous, userId })
  await endAddress(tx, services, row)
  await endSessions(tx, services, userId, sessionId)
  return profile
}

/**
 * Deletes the tokens and the identities of the former address of a user, and sends an alert to that address.
 */
async function endAddress(
  tx: Db,
  services: Omit<SignInServices, 'filesUrl'>,
  former: FormerUser,
): Promise<void> {
  const { id: userId } = former
  const email = former.email!
  await alertAddress(tx, services, 'former_address', former, { detail: new Date().toUTCString() })
  await sql.deleteTokensOfUser(tx, { user_id: userId, email })
  for (const identity of await sql.deleteIdentitiesOfAddress(tx, { user_id: userId, email })) {
    await services.events.emit(tx, 'identity.removed', identity, { userId })
    await alertAddress(tx, services, 'identity_removed', former)
  }
}

/** A user before a change. */
type FormerUser = Pick<UserRow, 'id' | 'email' | 'emailVerified'>

/**
 * Sets the password of a locked user, ends the sessions and the tokens that were sent before, and tells the
 * user.
 * @param except a session that goes on
 */
export async function setPassword(
  tx: Db,
  services: SignInServices,
  row: UserRow,
  { hash, except }: { hash: string; except: string | null },
): Promise<void> {
  const { id: userId, email } = row
  await sql.storePassword(tx, { user_id: userId, hash })
  await services.events.emit(tx, 'password.changed', toProfile(row, services.filesUrl()), { userId })
  await sql.deleteTokensOfUser(tx, { user_id: userId, email: email! })
  await endSessions(tx, services, userId, except)
  await alertUser(tx, services, 'password_changed', userId)
}

/**
 * After an admin has disabled a user or changed the address: ends the sessions and the tokens that were sent
 * before, and tells the former address.
 * @param row the user before
 */
export async function endAccess(
  tx: Db,
  services: Omit<SignInServices, 'filesUrl'>,
  row: FormerUser,
  { hasNewAddress }: { hasNewAddress: boolean },
): Promise<void> {
  await sql.deleteTokensOfUser(tx, { user_id: row.id, email: row.email! })
  await endSessions(tx, services, row.id)
  if (hasNewAddress) await endAddress(tx, services, row)
}
