// The header field Retry-After of a response (RFC 9110, 10.2.3): seconds, or a date.

/** @returns milliseconds from now; null without a valid value. */
export function retryAfterMs(value: string | null | undefined): number | null {
  if (value == null) return null
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  if (!/^[A-Z][a-z]{2,8}, .* GMT$/.test(value)) return null
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}
