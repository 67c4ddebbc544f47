// The string formats of the spec: Ajv's standard formats, `timezone`, and stricter versions of the formats
// whose standard version accepts values that Date or PostgreSQL rejects. The compiled validators use them.
import type { ErrorObject, Format } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'

const zones = new Map<string, boolean>()

function isTimezone(name: string): boolean {
  let known = zones.get(name)
  if (known === undefined) {
    known = asTimezone(name)
    if (zones.size < 1000) zones.set(name, known)
  }
  return known
}

function asTimezone(name: string): boolean {
  // Intl also accepts offsets such as +01:00, which are not time zones.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/**
 * RFC 3339 with an offset, in the years 1 to 9999, without leap seconds: what Date and timestamptz both
 * store.
 */
function isDateTime(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/.test(text)) return false
  const time = Date.parse(text.toUpperCase())
  if (Number.isNaN(time)) return false
  const year = new Date(time).getUTCFullYear()
  // Date.parse turns 31 February into March, so the day is compared with the length of the month.
  const days = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  return year >= 1 && year <= 9999 && Number(text.slice(8, 10)) <= days
}

/** In the years 1 to 9999: PostgreSQL has no year 0. */
function isDate(text: string): boolean {
  return text.length === 10 && isDateTime(`${text}T00:00:00Z`)
}

const domainLabel = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const emailPattern = new RegExp(
  `^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${domainLabel}(?:\\.${domainLabel})+$`,
)

export function isEmail(text: string): boolean {
  return text.length <= 254 && emailPattern.test(text)
}

export const formats: Record<string, Format> = {
  ...fullFormats,
  timezone: isTimezone,
  'date-time': isDateTime,
  date: isDate,
  email: isEmail,
}

/** Ends a validation that found very many problems. */
export class TooManyProblems extends Error {
  errors: ErrorObject[]

  constructor(errors: ErrorObject[]) {
    super('too many problems')
    this.errors = errors
  }
}

const maxErrors = 300

/** Adds the problems of a part to those of the whole value. Called by the compiled validators. */
export function joined(errors: ErrorObject[] | null, further: ErrorObject[]): ErrorObject[] {
  if (errors === null) return further
  if (errors.length > maxErrors) throw new TooManyProblems(errors)
  for (const error of further) errors.push(error)
  return errors
}

/** The keyword `maxLength`. Ajv's own implementation counts the characters of every text to its end. */
export function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit || text.length > 2 * limit) return text.length > limit
  return charactersOf(text) > limit
}

/** The keyword `minLength`. */
export function isShorter(text: string, limit: number): boolean {
  if (text.length < limit || text.length >= 2 * limit) return text.length < limit
  return charactersOf(text) < limit
}

/**
 * The keywords for the length of a text, as Ajv gets them: for requests in generated code, for answers as
 * functions. Of a text that is too long and has a wrong format, the length is reported first.
 */
export const lengthKeywords = [
  { keyword: 'maxLength', isBroken: isLonger, words: 'more' },
  { keyword: 'minLength', isBroken: isShorter, words: 'fewer' },
].map(({ keyword, ...rest }) => ({
  ...rest,
  definition: { keyword, before: 'format', type: 'string', schemaType: 'number' } as const,
}))

function charactersOf(text: string): number {
  let characters = 0
  for (let i = 0; i < text.length; i++) {
    characters++
    if (text.codePointAt(i)! > 0xffff) i++
  }
  return characters
}

/** The keyword `uniqueItems` in linear time. Ajv's own implementation compares every pair. */
export function distinct(items: unknown[]): boolean {
  const seen = new Set<string>()
  for (const item of items) {
    const text = canonical(item)
    if (seen.has(text)) return false
    seen.add(text)
  }
  return true
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const members = value as Record<string, unknown>
  return `{${Object.keys(members)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(members[key])}`)
    .join()}}`
}
