// Reads forms. Objects are JSON, and lists are repeated fields.
import { HttpError } from './handler.ts'
import type { FormInfo } from './operations.ts'

/**
 * @param type the whole header field `Content-Type`.
 * @returns the fields by name: files as `File`, JSON as its value, and all else as text.
 * @throws HttpError 400 if the bytes are no form, or a field is not JSON.
 */
export async function readForm(
  type: string,
  bytes: Buffer,
  { json, files, lists }: FormInfo,
): Promise<Record<string, unknown>> {
  const fields = new Map<string, unknown[]>()
  for (const [name, value] of await formData(type, bytes)) {
    const values = fields.get(name) ?? []
    fields.set(name, values)
    if (files.includes(name)) values.push(typeof value === 'string' ? new File([value], name) : value)
    else {
      const text = typeof value === 'string' ? value : await value.text()
      const read = json.includes(name) ? parsed(name, text) : text
      // The list may be in one field.
      if (lists.includes(name) && Array.isArray(read)) values.push(...read)
      else values.push(read)
    }
  }
  return Object.fromEntries(
    [...fields].map(([name, values]) => [
      name,
      values.length === 1 && !lists.includes(name) ? values[0] : values,
    ]),
  )
}

async function formData(type: string, bytes: Buffer): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
  } catch {
    throw new HttpError(400, 'The body is not a valid form')
  }
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const problem = { in: 'body' as const, at: `/${name}`, message: 'is not valid JSON' }
    throw new HttpError(400, 'The request is invalid', [problem])
  }
}
