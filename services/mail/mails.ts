// E-mails: queued in the transaction that makes them necessary, and sent by a job at least once.
import * as sql from '../../generated/sql/auth.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Queue, QueueOptions } from '../../infra/jobs/queue.ts'
import type { MailKind } from './templates.ts'

export interface MailJob {
  id: string
}

export type Mails = Queue<MailJob>

export const mailQueue: QueueOptions = {
  name: 'mails',
  // Longer than an SMTP server may take for one e-mail.
  expireInSeconds: 180,
  groupConcurrency: 4,
}

/** The name in MAIL_FROM, by which people know the platform. */
export function senderName(mailFrom: string): string {
  return mailFrom.replace(/<.*/, '').trim() || 'Platform'
}

export interface NewMail {
  kind: MailKind
  recipient: string
  /** The user whom the e-mail is about; null if it is for the account of the recipient. */
  userId: string | null
  /** A one-time token, which is stored encrypted until the e-mail is sent. */
  secret?: string
  /** The invitation that the link of the e-mail leads to. */
  resourceId?: string | null
}

export async function queueMail(
  tx: Db,
  { cipher, mails }: { cipher: Cipher; mails: Mails },
  { kind, recipient, userId, secret, resourceId = null }: NewMail,
): Promise<void> {
  const id = newId('mail')
  await sql.insertMail(tx, {
    id,
    kind,
    recipient,
    user_id: userId,
    resource_id: resourceId,
    secret: secret === undefined ? null : cipher.encrypt(secret, id),
    created_at: timeOf(id).toISOString(),
  })
  await mails.add(tx, [{ data: { id }, group: recipient }])
}
