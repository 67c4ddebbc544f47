// Encodes request bodies: JSON, forms and files.
import { crc32, deflateSync } from 'node:zlib'
import type { Json } from '@platform-api/openapi/document.ts'

/** The value of a field of the format `binary`. */
export interface Attachment {
  filename: string
  type: string
  bytes: Buffer
}

export function isAttachment(value: Json): value is Attachment {
  return Buffer.isBuffer(value?.bytes)
}

const boundary = 'contract-tests-form'

/**
 * In a form, objects are JSON and lists are repeated fields (OpenAPI 3.1, 4.8.15).
 * @param encoding the style `deepObject` of a property sends one field for each key: `address[city]`
 */
export function encodeBody(
  type: string,
  body: Json,
  encoding: Record<string, { style?: string }> = {},
): { contentType: string; bytes: Buffer } {
  if (type === 'multipart/form-data')
    return { contentType: `${type}; boundary=${boundary}`, bytes: multipart(body) }
  if (type === 'application/x-www-form-urlencoded')
    return {
      contentType: type,
      bytes: Buffer.from(
        new URLSearchParams(
          Object.entries<Json>(body).flatMap(([name, value]): Array<[string, string]> =>
            encoding[name]?.style === 'deepObject'
              ? deepFields(name, value)
              : [value].flat().map((item): [string, string] => [name, plain(item)]),
          ),
        ).toString(),
      ),
    }
  if (isAttachment(body)) return { contentType: type, bytes: body.bytes }
  if (type.startsWith('text/')) return { contentType: type, bytes: Buffer.from(String(body)) }
  return { contentType: type, bytes: Buffer.from(JSON.stringify(body)) }
}

/** Whether the value has an empty list or object, which a form cannot send. */
export function hasEmpty(value: Json): boolean {
  if (typeof value !== 'object' || value === null || isAttachment(value)) return false
  const items = Object.values<Json>(value)
  return items.length === 0 || items.some(hasEmpty)
}

function deepFields(name: string, value: Json): Array<[string, string]> {
  if (typeof value !== 'object' || value === null) return [[name, plain(value ?? '')]]
  return Object.entries(value).flatMap(([key, item]) => deepFields(`${name}[${key}]`, item))
}

/** The fields of a form in sending order; files come last. */
export function fieldsOf(body: Json): Array<[name: string, value: string | Attachment]> {
  return Object.entries<Json>(body)
    .sort(([, a], [, b]) => Number(isAttachment(a)) - Number(isAttachment(b)))
    .flatMap(([name, value]): Array<[string, string | Attachment]> =>
      Array.isArray(value)
        ? value.map((item) => [name, plain(item)])
        : [[name, isAttachment(value) ? value : plain(value)]],
    )
}

function multipart(body: Json): Buffer {
  const parts = fieldsOf(body).map(([name, value]) =>
    isAttachment(value)
      ? Buffer.concat([
          Buffer.from(
            `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; ` +
              `filename="${value.filename}"\r\ncontent-type: ${value.type}\r\n\r\n`,
          ),
          value.bytes,
          Buffer.from('\r\n'),
        ])
      : Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`),
  )
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
}

function plain(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
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
