// E-mails in tests: the outbox of a server, and an SMTP server.
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'
import { newId } from '../../../infra/ids.ts'
import { readOutbox, type OutboxMail } from '../../../services/mail/outbox.ts'
import type { TestServer } from '../server/server.ts'
import { waitUntil } from '../server/wait.ts'

/** Waits until the worker has kept `count` e-mails to an address. @returns all of them, the latest first. */
export async function mailsTo(
  { services: { database, cipher } }: TestServer,
  recipient: string,
  count: number,
): Promise<OutboxMail[]> {
  return await waitUntil(async () => {
    const mails = (await readOutbox(database, cipher, 1_000)).filter((mail) => mail.recipient === recipient)
    return mails.filter(({ status }) => status === 'kept').length === count && mails
  }, `${count} e-mails to ${recipient}`)
}

/** Waits until the worker has sent or dropped all e-mails to an address. @returns the kinds of those sent. */
export async function sentTo(
  { services: { database } }: TestServer,
  recipient: string,
  what: { kind?: string } = {},
): Promise<string[]> {
  const find = () => database.prisma.mail.findMany({ where: { recipient, ...what }, orderBy: { id: 'asc' } })
  await waitUntil(async () => (await find()).every(({ status }) => status !== 'queued'), 'the decision')
  return (await find()).map(({ kind }) => kind)
}

/** Notes e-mails of a kind as sent to an address, one each hour, the last some minutes ago. */
export async function noteSent(
  { services: { database } }: TestServer,
  {
    recipient,
    kind,
    count,
    minutesAgo,
  }: { recipient: string; kind: string; count: number; minutesAgo: number },
): Promise<string[]> {
  const data = Array.from({ length: count }, (_, i) => ({
    id: newId('mail'),
    kind,
    recipient,
    status: 'sent',
    createdAt: new Date(Date.now() - (minutesAgo + 60 * i) * 60_000),
  }))
  await database.prisma.mail.createMany({ data })
  return data.map(({ id }) => id)
}

export interface Received {
  from: string
  to: string[]
  text: string
}

/** An SMTP server that refuses the first e-mails. */
export async function openSmtp(
  t: Test,
  { refusals = 0 } = {},
): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  let left = refusals
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, callback) {
      let text = ''
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
      stream.on('end', () => {
        if (left-- > 0) return callback(Object.assign(new Error('later'), { responseCode: 451 }))
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        received.push({ from, to: envelope.rcptTo.map(({ address }) => address), text })
        callback()
      })
    },
  })
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve))
  t.teardown(() => smtp.close())
  const { port } = smtp.server.address() as AddressInfo
  return { url: `smtp://127.0.0.1:${port}`, received }
}
