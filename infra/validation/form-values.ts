// The values of fields that arrive as text, in a form or in the metadata of a resumable upload.
import type { FormInfo } from '../contract/operation.ts'
import { parseStrictJson } from './strict-json.ts'

/** The value, or what the text must be. */
export type ParsedField = { value: unknown } | { must: string }

/** An object is JSON. A list is a JSON array or comma-separated; in a form it may also be repeated. */
export function parseField({ json, lists, integers }: FormInfo, field: string, text: string): ParsedField {
  if (integers.includes(field))
    return /^-?\d{1,15}$/.test(text) ? { value: Number(text) } : { must: 'be an integer' }
  if (json.includes(field)) return parseJson(text) ?? { must: 'be a JSON object' }
  if (!lists.includes(field)) return { value: text }
  if (!text.trimStart().startsWith('[')) return { value: text.split(',').map((item) => item.trim()) }
  return parseJson(text) ?? { must: 'be a JSON array or a comma-separated list' }
}

function parseJson(text: string): { value: unknown } | null {
  try {
    const value = parseStrictJson(Buffer.from(text))
    return value === undefined ? null : { value }
  } catch {
    return null
  }
}
