// Sends e-mails by SMTP, or keeps them in the outbox of the database.
import type { Transporter } from 'nodemailer'
import { Lazy } from '../../infra/concurrency/lazy.ts'
import { brand } from '../../infra/html/brand.ts'
import { html } from '../../infra/html/html.ts'
import { logoPng } from '../../infra/html/logo-png.ts'
import type { MailContent } from './templates.ts'

const logoId = 'logo'

/** The name of the installation at the end of the text, and with its logo at the top of the HTML. */
function withName(text: string): string {
  const { name } = brand()
  return name === null ? text : `${text}\n-- \n${name}\n`
}

function htmlWithName(text: string): string {
  const { name, light, logo } = brand()
  if (name === null && logo === null) return text
  const style = `margin:0 0 16px;font:600 16px sans-serif;color:${light}`
  const image = html`<img src="cid:${logoId}" alt="" height="40" style="display:block;margin:0 0 8px" />`
  return text.replace(
    '</title>',
    `</title>${html`<p style="${style}">${logo === null ? null : image}${name}</p>`}`,
  )
}

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
    async send({ id, recipient, subject, text, html: shown }) {
      const transporter = await smtp.get()
      const logo = await logoPng()
      await transporter.sendMail({
        to: { name: '', address: recipient },
        subject,
        text: withName(text),
        html: htmlWithName(shown),
        ...(logo !== null && {
          attachments: [{ cid: logoId, filename: 'logo.png', contentType: 'image/png', content: logo }],
        }),
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
