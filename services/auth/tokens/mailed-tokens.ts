// Requests for an e-mail with a one-time token. A request stores the token and queues the e-mail, and does
// the same work whether or not the address has an account: the job that sends the e-mail looks for it.
import * as sql from '../../../generated/sql/auth.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import type { Cipher } from '../../../infra/encryption/cipher.ts'
import { queueMail, type Mails } from '../../mail/mails.ts'
import { lifetimes, purposeOf, type Mailed } from '../../mail/templates.ts'
import { newOneTimeToken, tokenDigest } from '../../../infra/encryption/tokens.ts'

/** The purpose of a one-time token. `oidc` tokens are not sent by e-mail: the browser brings them back. */
export type TokenPurpose = Exclude<Mailed, 'account_invitation'> | 'oidc'

export interface MailedToken {
  kind: Mailed
  email: string
  /** The user whose address changes. */
  userId?: string | null
  /** The name of a new account. */
  name?: string | null
}

export async function mailToken(
  tx: Transaction,
  services: { cipher: Cipher; mails: Mails },
  mailed: MailedToken,
): Promise<void> {
  const { kind, email, userId = null } = mailed
  const secret = await storeToken(tx, mailed)
  await queueMail(tx, services, { kind, recipient: email.toLowerCase(), userId, secret })
}

/** @returns the token, for an e-mail or for the hands of an operator. */
export async function storeToken(
  db: Db,
  { kind, email, userId = null, name = null }: MailedToken,
): Promise<string> {
  const token = newOneTimeToken()
  await sql.insertToken(db, {
    digest: tokenDigest(token),
    purpose: purposeOf(kind),
    email: email.toLowerCase(),
    user_id: userId,
    name,
    seconds: lifetimes[kind],
  })
  return token
}

/** Mails a token for a change of a locked user's address. Tokens of earlier changes no longer work. */
export async function replaceEmailChange(
  tx: Transaction,
  services: { cipher: Cipher; mails: Mails },
  { email, userId }: { email: string; userId: string },
): Promise<void> {
  await sql.deleteEmailChanges(tx, { user_id: userId })
  await mailToken(tx, services, { kind: 'email_change', email, userId })
}
