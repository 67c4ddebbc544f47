// Compares a returned value with the value that was sent: timestamps as instants, e-mail addresses without
// case, texts by Unicode's canonical equivalence, and objects by the properties that were sent, of which null
// removes one.
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@platform-api/openapi/document.ts'

export function matchesSent(sent: Json, actual: Json): boolean {
  if (typeof sent === 'string' && typeof actual === 'string') {
    if (sent.normalize() === actual.normalize()) return true
    if (/^\d{4}-\d\d-\d\dT/.test(sent)) return Date.parse(sent) === Date.parse(actual)
    return sent.includes('@') && sent.toLowerCase() === actual
  }
  if (Array.isArray(sent))
    return (
      Array.isArray(actual) &&
      sent.length === actual.length &&
      sent.every((item, i) => matchesSent(item, actual[i]))
    )
  if (typeof sent === 'object' && sent !== null)
    return (
      typeof actual === 'object' &&
      actual !== null &&
      Object.entries(sent).every(([name, value]) =>
        value === null ? (actual[name] ?? null) === null : matchesSent(value, actual[name]),
      )
    )
  return sent === actual
}

/** The names of the properties whose value changed. Properties that `before` does not have are skipped. */
export function changedNames(before: Json, after: Json, names: Iterable<string>): string[] {
  return [...names].filter(
    (name) =>
      name in (before ?? {}) &&
      (after === undefined || !(name in after) || !isDeepStrictEqual(before[name], after[name])),
  )
}
