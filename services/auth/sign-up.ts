// New accounts: who may sign up, and the user of a confirmed sign-up.
import * as sql from '../../generated/sql/auth.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { forbidden } from '../../infra/errors.ts'
import { insertUser, toUser } from '../users/users.ts'
import type { AccountServices } from './account-changes.ts'

/** Throws 403 for an address that may not sign up. An invitation is looked up later. */
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
  tx: Transaction,
  { events, filesUrl }: Pick<AccountServices, 'events' | 'filesUrl'>,
  { email, name }: Pick<sql.UseTokenRow, 'email' | 'name'>,
  hash: string | null,
): Promise<string> {
  const row = await insertUser(tx, { email, emailVerified: true, name: name!, role: 'user' })
  if (hash !== null) await sql.storePassword(tx, { user_id: row.id, hash })
  await sql.deleteTokensOfUser(tx, { user_id: row.id, email })
  await events.emit(tx, 'user.created', toUser(row, filesUrl()))
  return row.id
}
