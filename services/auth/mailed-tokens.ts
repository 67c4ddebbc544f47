// Requests for an e-mail with a one-time token. A request stores the token and queues the e-mail, and does
// the same work whether or not the address has an account: the job that sends the e-mail looks for it.
import * as sql from '../../generated/sql/auth.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { queueMail, type Mails } from '../mail/mails.ts'
import { newOneTimeToken, tokenDigest } from '../../infra/encryption/tokens.ts'

export type Mailed = 'sign_up' | 'link' | 'password_reset' | 'email_change'

/** Seconds that the token of each kind of e-mail is valid. */
const lifetimes: Record<Mailed, number> = {
  sign_up: 86_400,
  link: 15 * 60,
  password_reset: 3_600,
  email_change: 3_600,
}

export interface MailedToken {
  kind: Mailed
  email: string
  /** The user whose address changes. */
  userId?: string | null
  /** The name and the password of a new account. */
  name?: string | null
  passwordHash?: string | null
}

export async function mailToken(
  tx: Db,
  services: { cipher: Cipher; mails: Mails },
  { kind, email, userId = null, name = null, passwordHash = null }: MailedToken,
): Promise<void> {
  const token = newOneTimeToken()
  const recipient = email.toLowerCase()
  await sql.insertToken(tx, {
    digest: tokenDigest(token),
    purpose: kind,
    email: recipient,
    user_id: userId,
    name,
    password_hash: passwordHash,
    seconds: lifetimes[kind],
  })
  await queueMail(tx, services, { kind, recipient, userId, secret: token })
}
