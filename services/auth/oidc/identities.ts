// The accounts of users at identity providers: which user signs in with which, and new users.
import * as sql from '../../../generated/sql/auth.ts'
import type { components } from '../../../generated/types.ts'
import type { Config } from '../../../infra/config/config.ts'
import type { ListQuery } from '../../../infra/contract/query.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import type { Page } from '../../../infra/database/pagination.ts'
import { newOneTimeToken, tokenDigest } from '../../../infra/encryption/tokens.ts'
import { forbidden, notFound, unauthorized } from '../../../infra/errors.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import { alertUser } from '../../mail/mails.ts'
import { requireRecentSignIn } from '../../users/api-keys.ts'
import type { Principal } from '../../users/authentication.ts'
import { lockActiveUser } from '../../users/users.ts'
import type { Claims } from './oidc.ts'
import { createConfirmedUser, requireSignUp } from '../sign-up.ts'
import type { AccountServices } from '../account-changes.ts'

export type Identity = components['schemas']['Identity']

/** Why a person who has signed in at a provider has no account here. */
export type Refusal = 'email_not_verified' | 'account_not_verified' | 'disabled' | 'sign_up'

/** Seconds in which the application must use the token that the browser brings back. */
const tokenSeconds = 300

export interface SignedInAtProvider {
  provider: string
  claims: Claims
  /** SHA-256 of the verifier that the use of the token requires; null if it requires none. */
  challenge: string | null
}

/** By which a token is stored: with a challenge, only its verifier leads to the same digest. */
export function oidcTokenDigest(token: string, challenge: string | null): string {
  return tokenDigest(challenge === null ? token : `${token} ${challenge}`)
}

type IdentityServices = AccountServices & { config: Readonly<Pick<Config, 'signUp'>> }

/**
 * The one-time token of a person who has signed in at a provider, or why there is none. A new identity is
 * linked to the user with its email address only if both sides have verified it: otherwise an attacker could
 * prepare an account here with the address of a victim, or take over the account of that address.
 * It is linked to a user who exists when the token is used: the person has agreed by then.
 * `createdId`: the user whom this created.
 */
export async function tokenFor(
  tx: Transaction,
  services: IdentityServices,
  { provider, claims, challenge }: SignedInAtProvider,
): Promise<{ token: string; createdId: string | null } | { refusal: Refusal }> {
  const { subject, email } = claims
  const known = await sql.findIdentity(tx, { provider, subject })
  const found =
    known === undefined ? await findAccount(tx, services, claims) : { userId: known.user_id, isNew: false }
  if ('refusal' in found) return found
  const user = await lockActiveUser(tx, found.userId).catch(nullIfRefused)
  if (user === null) return { refusal: 'disabled' }
  // The user may have changed since.
  const isSame = known !== undefined || user.email === email
  if (!user.emailVerified || !isSame) return { refusal: 'account_not_verified' }
  if (known !== undefined) await sql.useIdentity(tx, { provider, subject, email })
  else if (found.isNew) await link(tx, services, { userId: user.id, provider, subject, email: email! })
  const links = known === undefined && !found.isNew
  const token = newOneTimeToken()
  await sql.insertProviderToken(tx, {
    digest: oidcTokenDigest(token, challenge),
    email: user.email!,
    user_id: user.id,
    provider: links ? provider : null,
    subject: links ? subject : null,
    seconds: tokenSeconds,
  })
  return { token, createdId: found.isNew ? user.id : null }
}

/** The user with the verified address, or a new one. */
async function findAccount(
  tx: Transaction,
  services: IdentityServices,
  { email, isEmailVerified, name }: Claims,
): Promise<{ userId: string; isNew: boolean } | { refusal: Refusal }> {
  if (email === null || !isEmailVerified) return { refusal: 'email_not_verified' }
  const account = await sql.findAccount(tx, { email })
  if (account.user_id !== null) return { userId: account.user_id, isNew: false }
  if (account.is_taken) return { refusal: 'account_not_verified' }
  if (!maySignUp(services.config.signUp, email, account.is_invited)) return { refusal: 'sign_up' }
  const person = { email, name: name ?? email.slice(0, email.lastIndexOf('@')) }
  return { userId: await createConfirmedUser(tx, services, person, null), isNew: true }
}

interface NewLink {
  userId: string
  provider: string
  subject: string
  email: string
}

/**
 * Links the identity of a used token to its locked user, and sends an e-mail to the user; does nothing for a
 * token without one. Throws 401 if the identity was linked to another user meanwhile.
 */
export async function linkIdentityOf(
  tx: Transaction,
  services: AccountServices,
  userId: string,
  { provider, subject, email }: Pick<sql.UseTokenRow, 'provider' | 'subject' | 'email'>,
): Promise<void> {
  if (provider === null || subject === null) return
  if (await link(tx, services, { userId, provider, subject, email }))
    return await alertUser(tx, services, 'identity_linked', userId)
  const known = await sql.findIdentity(tx, { provider, subject })
  if (known?.user_id !== userId)
    throw unauthorized('unknown', 'The account at the identity provider was linked to another account.')
}

/** Links an identity to a locked user. @returns false if another sign-in has linked it meanwhile. */
async function link(
  tx: Transaction,
  { events }: Pick<AccountServices, 'events'>,
  { userId, provider, subject, email }: NewLink,
): Promise<boolean> {
  const id = newId('idn')
  const row = await sql.insertIdentity(tx, {
    id,
    user_id: userId,
    provider,
    subject,
    email,
    created_at: timeOf(id).toISOString(),
  })
  if (row !== undefined) await events.emit(tx, 'identity.linked', row, { userId })
  return row !== undefined
}

function maySignUp(policy: string, email: string, isInvited: boolean): boolean {
  if (policy === 'invited') return isInvited
  try {
    requireSignUp(policy, email)
    return true
  } catch {
    return false
  }
}

function nullIfRefused(error: { status?: number }): null {
  if (error.status !== 401) throw error
  return null
}

export async function listIdentities(
  db: Db,
  { userId }: Principal,
  query: ListQuery<'listIdentities'>,
): Promise<Page<Identity>> {
  return await sql.listIdentities(db, { user_id: userId, ...query })
}

/** Throws 404, or 403 for an identity of another user. */
export async function findOwnIdentity(db: Db, id: string, { userId }: Principal): Promise<Identity> {
  const row = await sql.readIdentity(db, { id })
  if (row === undefined) throw notFound('identity', id)
  if (row.user_id !== userId) throw forbidden('This identity belongs to another user.', 'owner', id)
  return row
}

const shownIdentities = 100

/** The identities of a user for a page, newest first. */
export async function listOwnIdentities(db: Db, { userId }: Principal): Promise<Identity[]> {
  return await sql.listOwnIdentities(db, { user_id: userId, limit: shownIdentities })
}

/**
 * Removes an identity of the caller. Throws 404, 401 for an inactive user, and 403 for an identity of another
 * user or without a recent sign-in.
 * @param check is called when the identity was found, and may throw.
 */
export async function removeOwnIdentity(
  tx: Transaction,
  services: AccountServices,
  { id, principal }: { id: string; principal: Principal },
  check: (identity: Identity) => void = () => {},
): Promise<void> {
  await lockActiveUser(tx, principal.userId)
  const identity = await findOwnIdentity(tx, id, principal)
  await requireRecentSignIn(tx, principal)
  check(identity)
  await removeIdentity(tx, services, identity)
}

/** Removes an identity of a locked user, and sends an e-mail to the user. */
async function removeIdentity(tx: Transaction, services: AccountServices, identity: Identity): Promise<void> {
  const { id, user_id: userId } = identity
  await tx.prisma.identity.delete({ where: { id }, select: { id: true } })
  await services.events.emit(tx, 'identity.removed', identity, { userId })
  await alertUser(tx, services, 'identity_removed', userId)
}
