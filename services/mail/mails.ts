// E-mails: queued in the transaction that makes them necessary, and sent by a job at least once.
import * as sql from '../../generated/sql/auth.ts'
import type { Transaction } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Queue, QueueOptions } from '../../infra/jobs/queue.ts'
import type { Alert } from './alerts.ts'
import { renderMail, type MailContent, type MailKind, type Receipt } from './templates.ts'

export interface MailJob {
  id: string
}

export type Mails = Queue<MailJob>

export const mailQueue: QueueOptions = {
  name: 'mails',
  // Longer than an SMTP server may take for one e-mail.
  expireInSeconds: 180,
  // The e-mails to an address one after another, so that each counts those before it.
  groupConcurrency: 1,
}

/** The name in MAIL_FROM, by which people know the platform. */
export function senderName(mailFrom: string): string {
  return mailFrom.replace(/<.*/, '').trim() || 'Platform'
}

interface Addressed {
  recipient: string
  /** The user whom the e-mail is about; null if it is for the account of the recipient. */
  userId: string | null
  /** The invitation that the link of the e-mail leads to. */
  resourceId?: string | null
  /** Of the e-mails with one key, the first is queued. */
  dedupeKey?: string
}

export type NewMail = Addressed &
  (
    | {
        kind: Exclude<MailKind, Receipt>
        /** A one-time token, which is stored encrypted until the e-mail is sent. */
        secret?: string
        content?: MailContent
      }
    | { kind: Receipt; secret?: undefined; content: MailContent }
  )

export interface MailServices {
  cipher: Cipher
  mails: Mails
}

/** Queues an e-mail. Without `content`, the worker writes it when it knows the account of the recipient. */
export async function queueMail(
  tx: Transaction,
  { cipher, mails }: MailServices,
  { kind, recipient, userId, secret, resourceId = null, content, dedupeKey }: NewMail,
): Promise<void> {
  const id = newId('mail')
  const queued = await sql.insertMail(tx, {
    id,
    kind,
    recipient,
    user_id: userId,
    resource_id: resourceId,
    secret: secret === undefined ? null : cipher.encrypt(secret, id),
    subject: content?.subject ?? null,
    content: content === undefined ? null : cipher.encrypt(JSON.stringify(content), id),
    dedupe_key: dedupeKey ?? null,
    created_at: timeOf(id).toISOString(),
  })
  if (queued !== undefined) await mails.add(tx, [{ data: { id }, group: recipient }])
}

/** Queues one alert a day about a thing. */
export function onceADay(kind: Alert, about: string): { dedupeKey: string } {
  return { dedupeKey: `${kind} ${new Date().toISOString().slice(0, 10)} ${about}` }
}

/**
 * Queues an alert to the address of a user. Service accounts, and users who are not active or whose address
 * is not verified, get none.
 * @param options.detail what the alert is about; nothing that an attacker can choose, such as a name or a URL
 */
export async function alertUser(
  tx: Transaction,
  services: MailServices,
  kind: Alert,
  userId: string,
  options: AlertOptions = {},
): Promise<void> {
  const found = await sql.findAddress(tx, { user_id: userId })
  if (found === undefined) return
  const user = { id: userId, email: found.email, emailVerified: true }
  await alertAddress(tx, services, kind, user, options)
}

interface AlertOptions {
  detail?: string
  dedupeKey?: string
}

/** Sends an alert to the given address of a user, such as the former one. */
export async function alertAddress(
  tx: Transaction,
  services: MailServices,
  kind: Alert,
  { id: userId, email, emailVerified }: { id: string; email: string | null; emailVerified: boolean },
  { detail, dedupeKey }: AlertOptions = {},
): Promise<void> {
  if (email === null || !emailVerified) return
  const content = detail === undefined ? undefined : renderMail(kind, { detail })
  await queueMail(tx, services, { kind, recipient: email, userId, content, dedupeKey })
}
