// Clients must accept new values of `anyOf: [enum, { type: string }]`. A server must send only the values
// that its own contract lists, so a run checks against the enum alone.
import { resolve } from '@platform-api/openapi/resolve.ts'
import type { Json } from '@platform-api/openapi/document.ts'

export function withListedValues(document: Json): Json {
  return exact(document)

  function exact(node: Json): Json {
    if (Array.isArray(node)) return node.map(exact)
    if (typeof node !== 'object' || node === null) return node
    const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, exact(value)]))
    if (!Array.isArray(copy.anyOf) || !copy.anyOf.some(isEnum)) return copy
    const { anyOf, ...rest } = copy
    const kept = anyOf.filter((one) => !isAnyValue(one))
    return kept.length === 1 ? { ...rest, ...kept[0] } : { ...rest, anyOf: kept }
  }

  function isEnum(schema: Json): boolean {
    return resolve(document, schema)?.enum !== undefined
  }
}

/** Whether the schema is only a type with its format. Null is a value of its own. */
function isAnyValue(schema: Json): boolean {
  return Object.keys(schema).every((key) => key === 'type' || key === 'format') && schema.type !== 'null'
}
