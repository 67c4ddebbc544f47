// Schemas for values that are sent as text.

type Json = any

/**
 * A copy with `anyOf` instead of `oneOf`: the text 12 is a string and also an integer, so that more than one
 * alternative may be valid.
 */
export function forText(node: Json): Json {
  if (Array.isArray(node)) return node.map(forText)
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key === 'oneOf' && Array.isArray(value) && node.anyOf === undefined ? 'anyOf' : key,
      typeof value === 'string' && key === '$ref' ? value.replaceAll('/oneOf/', '/anyOf/') : forText(value),
    ]),
  )
}
