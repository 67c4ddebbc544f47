// The outbox: e-mails that were not sent, because there is no SMTP server, or not yet.
import * as sql from '../../generated/sql/auth.ts'
import type { SqlClient } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import type { MailContent } from './templates.ts'

export interface OutboxMail {
  id: string
  recipient: string
  subject: string | null
  status: string
  error: string | null
  createdAt: string
  /** Null while the e-mail is not written yet. */
  text: string | null
}

/** The latest e-mails, the newest first. */
export async function readOutbox(db: SqlClient, cipher: Cipher, limit = 20): Promise<OutboxMail[]> {
  const rows = await sql.listOutbox(db, { limit })
  return rows.map(({ id, recipient, subject, status, error, created_at: createdAt, content }) => ({
    id,
    recipient,
    subject,
    status,
    error,
    createdAt,
    text: content === null ? null : textOf(cipher, id, content),
  }))
}

function textOf(cipher: Cipher, id: string, content: string): string {
  try {
    return (JSON.parse(cipher.decrypt(content, id)) as MailContent).text
  } catch {
    return 'This e-mail was encrypted with another SECRET_KEY.'
  }
}
