// Parses request bodies as strict JSON (RFC 8259 and I-JSON, RFC 7493). JSON that PostgreSQL or another
// parser would read differently is rejected with 400.
import { isUtf8 } from 'node:buffer'
import { invalidField, type ApiError } from '../errors.ts'

const maxDepth = 32
/** More values than any schema allows: a larger body is refused before it is parsed. */
const defaultMaxValues = 5_000

/**
 * The value of a body; undefined for an empty body.
 * Throws 400 for invalid JSON, duplicate or dangerous keys, NUL, lone surrogates, more than 32 levels and
 * more than `maxValues` values.
 */
export function parseStrictJson(body: Buffer, maxValues = defaultMaxValues): unknown {
  if (body.length === 0) return undefined
  if (!isUtf8(body)) throw refuse('utf8', 'The body is not valid UTF-8.')
  const text = body.toString('utf8')
  const members = countMembers(text, maxValues)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuse('json', 'The body is not valid JSON.')
  }
  if (inspect(value) !== members) throw refuse('unique_keys', 'An object in the body has a duplicate key.')
  return value
}

/**
 * The number of members of all objects in the text, counted by their colons. JSON.parse keeps only one of two
 * equal keys, so with a duplicate key its result has fewer members.
 */
function countMembers(text: string, maxValues: number): number {
  let members = 0
  let depth = 0
  let values = 1
  const count = (): void => {
    if (++values > maxValues) throw refuse('max_values', `The body has more than ${maxValues} values.`)
  }
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: // "
        i = endOfString(text, i)
        break
      case 0x2c: // ,
        count()
        break
      case 0x3a:
        members++
        break // :
      case 0x7b:
      case 0x5b: // { [
        count()
        if (++depth > maxDepth) throw refuse('max_depth', `The body has more than ${maxDepth} levels.`)
        break
      case 0x7d:
      case 0x5d:
        depth--
        break // } ]
    }
  }
  return members
}

/** The index of the quote that ends the string which starts at `start`; the end of the text without one. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1)
  if (quote === -1) return text.length
  if (text.charCodeAt(quote - 1) !== 0x5c) return quote
  // There are escapes: each character counts.
  let end = start + 1
  while (end < text.length && text.charCodeAt(end) !== 0x22) end += text.charCodeAt(end) === 0x5c ? 2 : 1
  return end
}

/** Rejects strings that are not valid text, and counts the members of all objects. */
function inspect(value: unknown): number {
  if (typeof value === 'string') return inspectText(value)
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + inspect(item), 0)
  let members = 0
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw refuse('forbidden_key', 'The key `__proto__` is not allowed.')
    inspectText(key)
    members += 1 + inspect((value as Record<string, unknown>)[key])
  }
  return members
}

function inspectText(text: string): 0 {
  if (text.includes('\0')) throw refuse('no_nul', 'A string in the body contains a NUL character.')
  if (!text.isWellFormed())
    throw refuse('well_formed', 'A string in the body contains an unpaired surrogate.')
  return 0
}

function refuse(constraint: string, message: string): ApiError {
  return invalidField('body', constraint, message)
}

/** Whether the value is an object of JSON: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
