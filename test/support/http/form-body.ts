// Encodes a JSON-like body as multipart/form-data, with the file last, or as URL-encoded fields.
import type { FormInfo } from '../../../infra/contract/operation.ts'

/** A file in a form. */
export interface Attachment {
  filename: string
  type: string
  bytes: Uint8Array
}

const boundary = 'the-form-of-the-contract-tests'

export const formType = `multipart/form-data; boundary=${boundary}`

/** The Content-Type of a form without a file. */
export const fieldsType = 'application/x-www-form-urlencoded'

export function fieldsOf(body: Record<string, unknown>): string {
  return new URLSearchParams(body as Record<string, string>).toString()
}

/**
 * Encodes the body as multipart/form-data. A list field becomes one part per item. Other values that are not
 * strings are sent as JSON, and a file value that is no Attachment is sent as an ordinary field.
 */
export function formOf(info: FormInfo, body: Record<string, unknown>): Uint8Array<ArrayBuffer> {
  const { [info.file]: file, ...fields } = body
  const parts: Uint8Array[] = []
  const add = (name: string, head: string, content: string | Uint8Array): void => {
    parts.push(
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"${head}\r\n\r\n`),
      Buffer.from(content as string),
      Buffer.from('\r\n'),
    )
  }
  const field = (name: string, value: unknown): void =>
    add(name, '', typeof value === 'string' && !info.json.includes(name) ? value : JSON.stringify(value))
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    if (info.lists.includes(name) && Array.isArray(value)) for (const item of value) field(name, item)
    else field(name, value)
  }
  if (isAttachment(file))
    add(info.file, `; filename="${file.filename}"\r\ncontent-type: ${file.type}`, file.bytes)
  else if (file !== undefined) field(info.file, file)
  return new Uint8Array(Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]))
}

function isAttachment(value: unknown): value is Attachment {
  return (value as Attachment | undefined)?.bytes instanceof Uint8Array
}
