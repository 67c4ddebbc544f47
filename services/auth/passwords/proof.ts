// The proof that the owner of an account asks for a change of its password or address.
import * as sql from '../../../generated/sql/auth.ts'
import type { User as UserRow } from '../../../generated/prisma/client.js'
import type { Transaction } from '../../../infra/database/database.ts'
import { forbidden, unauthorized } from '../../../infra/errors.ts'
import type { Principal } from '../../users/authentication.ts'
import { lockActiveUser } from '../../users/users.ts'
import type { CountingServices } from './attempts.ts'
import { checkPassword, holdPassword, type CheckedPassword } from './check.ts'
import { lockOwnSession } from '../sessions/sessions.ts'

/** The password, or null for a sign-in without it a short time ago. */
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

/**
 * Checks the proof again in the transaction of the change, with the user and the session locked.
 * @returns the user.
 */
export async function holdProof(tx: Transaction, principal: Principal, proof: Proof): Promise<UserRow> {
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
