// Parses e-mails (EML and Outlook's MSG): the addresses, the subject, the date, the text, and the names of
// the attachments, whose content is not read.
import type { Address } from 'postal-mime'
import { ParsingError } from './errors.ts'
import { parseHtml } from './html.ts'
import { TextBuilder, toTitle, type ParsedDocument } from './parsed-document.ts'
import type { DocumentWarning } from './warnings.ts'

interface Email {
  subject: string
  from: string
  to: string
  date: string
  body: string
  attachments: string[]
}

const maxNesting = 20

export async function parseEml(bytes: Buffer, limit: number): Promise<ParsedDocument> {
  const { default: PostalMime } = await import('postal-mime')
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: maxNesting })
  return toDocument(
    {
      subject: mail.subject ?? '',
      from: addresses(mail.from === undefined ? [] : [mail.from]),
      to: addresses([...(mail.to ?? []), ...(mail.cc ?? [])]),
      date: mail.date ?? '',
      body: bodyOf(mail.text, mail.html, limit),
      attachments: mail.attachments.map(({ filename, mimeType }) => filename ?? mimeType),
    },
    limit,
  )
}

/** Throws `unsupported` for other compound files, such as documents of old versions of Word. */
export async function parseMsg(bytes: Buffer, limit: number): Promise<ParsedDocument> {
  if (bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'))) throw new ParsingError('encrypted')
  if (!bytes.includes(Buffer.from('__properties_version1.0', 'utf16le')))
    throw new ParsingError('unsupported')
  const { default: library } = await import('@kenjiuno/msgreader')
  const data = new library.default(new Uint8Array(bytes).buffer).getFileData()
  if (data.error !== undefined) throw new ParsingError('damaged')
  const html = data.html === undefined ? data.bodyHtml : Buffer.from(data.html).toString()
  const compressed = data.body === undefined && html === undefined ? data.compressedRtf : undefined
  const person = (name = '', email = ''): string =>
    name !== '' && email !== '' && name !== email ? `${name} <${email}>` : name || email
  return toDocument(
    {
      subject: data.subject ?? '',
      from: person(data.senderName, data.senderSmtpAddress ?? data.senderEmail),
      to: (data.recipients ?? [])
        .map(({ name, smtpAddress, email }) => person(name, smtpAddress ?? email))
        .join(', '),
      date: data.messageDeliveryTime ?? data.clientSubmitTime ?? '',
      body: compressed === undefined ? bodyOf(data.body, html, limit) : await rtfBody(compressed, limit),
      attachments: (data.attachments ?? []).map(({ fileName, name }) => fileName ?? name ?? ''),
    },
    limit,
  )
}

async function rtfBody(compressed: Uint8Array, limit: number): Promise<string> {
  const { decompressRTF } = await import('@kenjiuno/decompressrtf')
  // The header says the size: the bytes may not multiply beyond the limit.
  const size = Buffer.from(compressed.subarray(0, 8)).readUInt32LE(4)
  if (size > 8 * limit) throw new ParsingError('too_large')
  const { parseRtf } = await import('./rtf.ts')
  return parseRtf(Buffer.from(decompressRTF([...compressed])), limit).text
}

/** The plain text, or that of the HTML. */
function bodyOf(text: string | undefined, html: string | undefined, limit: number): string {
  if (text !== undefined && /\S/.test(text)) return text
  return html === undefined ? '' : parseHtml(html, limit).text
}

function addresses(list: Address[]): string {
  return list
    .flatMap((address) => address.group ?? [address])
    .map(({ name, address = '' }) => (name === '' ? address : address === '' ? name : `${name} <${address}>`))
    .join(', ')
}

function toDocument(email: Email, limit: number): ParsedDocument {
  const builder = new TextBuilder(limit)
  const { subject, from, to, date, body, attachments } = email
  const names = attachments.filter((name) => name !== '')
  const fields = { Subject: subject, From: from, To: to, Date: date, Attachments: names.join(', ') }
  const lines = Object.entries(fields).filter(([, value]) => value !== '')
  if (lines.length === 0 && !/\S/.test(body)) throw new ParsingError('empty')
  builder.add(lines.map(([name, value]) => `${name}: ${value.replace(/\s+/g, ' ').trim()}`).join('\n'))
  builder.add(
    `\n\n${body
      .replace(/\r\n/g, '\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim()}`,
  )
  const warnings: DocumentWarning[] = names.length > 0 ? [{ code: 'skipped_part', pages: null }] : []
  const headings = subject === '' ? [] : [{ start: 0, level: 1, title: toTitle(subject) }]
  return { text: builder.toString().trimEnd(), headings, rows: [], pages: null, warnings }
}
