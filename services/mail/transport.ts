// Sends e-mails by SMTP, or keeps them in the outbox of the database.
import type { Transporter } from 'nodemailer'
import { Lazy } from '../../infra/concurrency/lazy.ts'
import type { MailContent } from './templates.ts'

export interface MailTransport {
  /**
   * Throws when the server did not accept the e-mail. `id` makes the Message-ID: the same for each attempt.
   */
  send(mail: { id: string; recipient: string } & MailContent): Promise<void>
  close(): Promise<void>
}

/** Less than a job of an e-mail may take. */
const timeouts = { connectionTimeout: 20_000, greetingTimeout: 20_000, socketTimeout: 60_000 }

/** Null without SMTP_URL: e-mails stay in the outbox. */
export function createTransport(smtpUrl: string | null, from: string): MailTransport | null {
  if (smtpUrl === null) return null
  const smtp = new Lazy<Transporter>(async () => {
    const { createTransport: connect } = await import('nodemailer')
    return connect({ url: smtpUrl, ...timeouts }, { from })
  })
  return {
    async send({ id, recipient, subject, text, html }) {
      const transporter = await smtp.get()
      await transporter.sendMail({
        to: { name: '', address: recipient },
        subject,
        text,
        html,
        messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1).replace('>', '')}>`,
        headers: { 'auto-submitted': 'auto-generated' },
      })
    },
    async close() {
      const transporter = await smtp.peek()
      transporter?.close()
    },
  }
}
