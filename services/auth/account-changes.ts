// Changes of the address or the password of an account, and the end of its sessions and tokens.
import * as sql from '../../generated/sql/auth.ts'
import type { components } from '../../generated/types.ts'
import type { User as UserRow } from '../../generated/prisma/client.js'
import type { Transaction } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { forbidden } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { alertAddress, alertUser, type Mails } from '../mail/mails.ts'
import type { Principal, Principals } from '../users/authentication.ts'
import { lockActiveUser, toProfile, updateUserRow } from '../users/users.ts'
import { endSessions } from './sessions/sessions.ts'

export interface AccountServices {
  cipher: Cipher
  mails: Mails
  events: Emitter
  principals: Principals
  filesUrl: () => string
}

/**
 * Gives a user the address that a token was sent to, and ends the other sessions.
 * @throws 403 for the token of another user; 409 `email_taken` if another user has the address meanwhile.
 */
export async function changeAddress(
  tx: Transaction,
  services: AccountServices,
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
  tx: Transaction,
  services: Omit<AccountServices, 'filesUrl'>,
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
 * Sets the password of a locked user, ends the sessions and the tokens that were sent before, and alerts the
 * user.
 * @param except a session that goes on
 */
export async function setPassword(
  tx: Transaction,
  services: AccountServices,
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
 * before, and sends an alert to a former address.
 * @param row the user before
 */
export async function endAccess(
  tx: Transaction,
  services: Omit<AccountServices, 'filesUrl'>,
  row: FormerUser,
  { hasNewAddress }: { hasNewAddress: boolean },
): Promise<void> {
  await sql.deleteTokensOfUser(tx, { user_id: row.id, email: row.email! })
  await endSessions(tx, services, row.id)
  if (hasNewAddress) await endAddress(tx, services, row)
}
