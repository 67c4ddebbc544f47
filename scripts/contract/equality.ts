// Whether what comes back is what was sent: times count as moments, addresses of mail in any case, and an object has at least what was sent of it.
import type { Json } from './document.ts'

export function isKept(sent: Json, came: Json): boolean {
  if (typeof sent === 'string' && typeof came === 'string') {
    if (sent === came) return true
    if (/^\d{4}-\d\d-\d\dT/.test(sent)) return Date.parse(sent) === Date.parse(came)
    return sent.includes('@') && sent.toLowerCase() === came
  }
  if (Array.isArray(sent))
    return (
      Array.isArray(came) && sent.length === came.length && sent.every((item, i) => isKept(item, came[i]))
    )
  if (typeof sent === 'object' && sent !== null)
    return (
      typeof came === 'object' &&
      came !== null &&
      Object.entries(sent).every(([name, value]) => isKept(value, came[name]))
    )
  return sent === came
}

/** The names of the given properties that are another than before; those that one of the two does not have are left out. */
export function changedOf(before: Json, after: Json, names: Iterable<string>): string[] {
  return [...names].filter(
    (name) =>
      name in (before ?? {}) &&
      (after === undefined ||
        !(name in after) ||
        JSON.stringify(before[name]) !== JSON.stringify(after[name])),
  )
}
