// Encodes request bodies: JSON, forms and files.
import { crc32, deflateSync } from 'node:zlib'
import type { Encoding, Json } from '@platform-api/openapi/document.ts'
import { fieldsOf as formFields, type Field as FormField } from '@platform-api/openapi/form-fields.ts'
import { isJson, isJsonLines } from '@platform-api/openapi/media-types.ts'

/** The value of a field of the format `binary`. */
export interface Attachment {
  filename: string
  type: string
  bytes: Buffer
}

export function isAttachment(value: Json): value is Attachment {
  return Buffer.isBuffer(value?.bytes)
}

/** The value with the texts of its files. */
export function withoutAttachments(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (isAttachment(value)) return value.bytes.toString('latin1')
  if (Array.isArray(value)) return value.map(withoutAttachments)
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutAttachments(item)]))
}

const boundary = 'contract-tests-form'

/**
 * In a form, objects are JSON and lists are repeated fields (OpenAPI 3.1, 4.8.15).
 * @param encoding says otherwise for a property, by its style or content type
 */
export function encodeBody(
  type: string,
  body: Json,
  encoding: Record<string, Encoding> = {},
): { contentType: string; bytes: Buffer } {
  if (type === 'multipart/form-data')
    return { contentType: `${type}; boundary=${boundary}`, bytes: multipart(fieldsOf(body, encoding)) }
  if (type === 'application/x-www-form-urlencoded')
    return { contentType: type, bytes: Buffer.from(urlEncoded(fieldsOf(body, encoding))) }
  if (isAttachment(body)) return { contentType: type, bytes: body.bytes }
  if (isJsonLines(type) && Array.isArray(body))
    return { contentType: type, bytes: Buffer.from(body.map((each) => `${JSON.stringify(each)}\n`).join('')) }
  if (!isJson(type) && typeof body !== 'object')
    return { contentType: type, bytes: Buffer.from(String(body)) }
  return { contentType: type, bytes: Buffer.from(JSON.stringify(body)) }
}

/** Whether the value has null, an empty list or an empty object, which a form cannot send. */
export function hasEmpty(value: Json): boolean {
  if (value === null) return true
  if (typeof value !== 'object' || isAttachment(value)) return false
  const items = Object.values<Json>(value)
  return items.length === 0 || items.some(hasEmpty)
}

type Field = FormField<Attachment>

/** The fields of a form in sending order; files come last. */
export const fieldsOf = (body: Json, encoding: Record<string, Encoding> = {}): Field[] =>
  formFields(body, encoding, isAttachment)

/** Only text: a form of this type has no files. */
function urlEncoded(fields: Field[]): string {
  const text = ({ value }: Field): string => (isAttachment(value) ? value.bytes.toString() : value)
  return new URLSearchParams(fields.map((field): [string, string] => [field.name, text(field)])).toString()
}

function multipart(fields: Field[]): Buffer {
  const parts = fields.map(({ name, value, type }) => {
    const quoted = name.replace(/["\r\n]/g, encodeURIComponent)
    const file = isAttachment(value) ? `; filename="${value.filename}"` : ''
    const own = isAttachment(value) ? value.type : type
    const head =
      `--${boundary}\r\ncontent-disposition: form-data; name="${quoted}"${file}\r\n` +
      (own === undefined ? '\r\n' : `content-type: ${own}\r\n\r\n`)
    return Buffer.concat([
      Buffer.from(head),
      isAttachment(value) ? value.bytes : Buffer.from(value),
      Buffer.from('\r\n'),
    ])
  })
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
}

/** A valid PNG of 64 by 64 pixels in one color. */
export const picture = png(64)

function png(side: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const named = Buffer.concat([Buffer.from(type), data])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(named))
    return Buffer.concat([length, named, sum])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(side, 0)
  head.writeUInt32BE(side, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(side * 3, 120)])
  const rows = deflateSync(Buffer.concat(Array.from({ length: side }, () => row)))
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
