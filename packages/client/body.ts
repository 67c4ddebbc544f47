// Encodes the body of a request.
import type { OperationRow } from './operation-row.ts'
import { collected, isStreamedFile, uploadOf, type Uploadable } from './files.ts'
import { encodeForm } from './form.ts'
import { isWebPage } from './environment.ts'
import type { UploadBody } from './progress.ts'

export interface EncodedBody {
  body?: object | string
  type?: string
  /** Of a file. */
  upload?: UploadBody
}

export async function encodeBody({ form, type, json }: OperationRow, body: unknown): Promise<EncodedBody> {
  if (body === undefined) return {}
  if (form !== undefined && !(json && isOnlyJson(body, form.file))) {
    const fields = body as Record<string, unknown>
    const file = uploadOf(fields[form.file] as Uploadable)
    const sendable = isStreamedFile(file) && isWebPage() ? await collected(file) : file
    const upload = encodeForm(form, fields, sendable)
    return { body: upload.content, type: upload.contentType, upload }
  }
  if (type === undefined) return { body: body as object }
  if (type === 'application/x-www-form-urlencoded')
    return { body: new URLSearchParams(body as Record<string, string>).toString(), type }
  const blob = body instanceof Blob ? body : new Blob([body as ArrayBuffer])
  return { body: blob, type, upload: { content: blob, length: blob.size, start: 0, size: blob.size } }
}

/** Whether an operation that accepts a form or JSON gets JSON: there is no file. */
function isOnlyJson(body: unknown, file: string): boolean {
  return (body as Record<string, unknown> | null)?.[file] === undefined
}
