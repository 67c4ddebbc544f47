// The expiry that a request sets: `expires_at` or `expires_in_seconds`.
import { invalidField } from '../errors.ts'

export interface ExpiryFields {
  /** null for never. */
  expires_at?: string | null
  expires_in_seconds?: number
}

export interface ExpiryRange {
  /** The time from which seconds count. Default: now. */
  from?: Date
  /** The limits of `expires_in_seconds` in the spec, for `expires_at`, too. Default: none. */
  seconds?: { min: number; max: number }
}

/**
 * When something expires: undefined if the request does not say, null for never.
 * @throws 400 for both fields, and for a time that is in the past or outside of the range.
 */
export function expiryOf(
  fields: ExpiryFields & { expires_at?: string },
  range?: ExpiryRange,
): Date | undefined
export function expiryOf(fields: ExpiryFields, range?: ExpiryRange): Date | null | undefined
export function expiryOf(
  { expires_at: at, expires_in_seconds: inSeconds }: ExpiryFields,
  { from = new Date(), seconds }: ExpiryRange = {},
): Date | null | undefined {
  if (at !== undefined && inSeconds !== undefined)
    throw invalidField(
      'expires_in_seconds',
      'exclusive',
      'only one of expires_at and expires_in_seconds can be given',
    )
  if (inSeconds !== undefined) return new Date(from.getTime() + inSeconds * 1000)
  if (at === undefined || at === null) return at
  const date = new Date(at)
  const left = (date.getTime() - from.getTime()) / 1000
  if (left <= 0) throw invalidField('expires_at', 'future', 'expires_at must be in the future')
  if (seconds === undefined) return date
  const { min, max } = seconds
  if (left < min || left > max)
    throw invalidField(
      'expires_at',
      left < min ? 'minimum' : 'maximum',
      `expires_at must be between ${min} and ${max} seconds from now`,
    )
  return date
}
