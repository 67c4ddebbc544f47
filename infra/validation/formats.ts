// The string formats of the spec: the standard ones, others beyond them, and ours where a standard one lets through what a
// Date or the database then refuses. Used by the compiled validators.
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
  // Intl also takes offsets such as +01:00, which are no time zones.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** RFC 3339 with an offset, in the years 1 to 9999, no leap second: what Date and timestamptz both keep. */
function isDateTime(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/.test(text)) return false
  const time = Date.parse(text.toUpperCase())
  if (Number.isNaN(time)) return false
  const year = new Date(time).getUTCFullYear()
  // Date.parse rolls 31 February over; the day must be the one that was written.
  const days = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  return year >= 1 && year <= 9999 && Number(text.slice(8, 10)) <= days
}

function isEmail(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/.test(
      text,
    )
  )
}

export const formats: Record<string, Format> = {
  ...fullFormats,
  timezone: isTimezone,
  'date-time': isDateTime,
  email: isEmail,
}

/** Thrown out of a validation that has found more problems than anybody reads. */
export class TooManyProblems extends Error {
  errors: ErrorObject[]

  constructor(errors: ErrorObject[]) {
    super('too many problems')
    this.errors = errors
  }
}

const mostErrors = 10_000

/** The problems of a value with those of a part of it. */
export function joined(errors: ErrorObject[] | null, further: ErrorObject[]): ErrorObject[] {
  if (errors === null) return further
  if (errors.length > mostErrors) throw new TooManyProblems(errors)
  for (const error of further) errors.push(error)
  return errors
}

/** The keyword uniqueItems in linear time; Ajv's own compares every pair. */
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
