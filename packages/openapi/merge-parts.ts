// Merges the objects of an `allOf` into one, so that a resource described in parts has its properties in one
// place.
import { both, intersectionOf } from './intersections.ts'
import { resolve } from './resolve.ts'

type Json = any

const merging = new Set(['type', 'properties', 'required', 'description', 'title', 'example', 'examples'])

/** A copy of the document. Parts with other keywords than those of plain objects are left as they are. */
export function withMergedParts(document: Json): Json {
  const copy = structuredClone(document)
  const visit = (node: Json, open: Json[]): void => {
    if (typeof node !== 'object' || node === null || open.includes(node)) return
    if (Array.isArray(node.allOf)) mergeInto(copy, node)
    for (const value of Object.values(node)) visit(value, [...open, node])
  }
  visit(copy, [])
  return copy
}

function mergeInto(document: Json, schema: Json): void {
  const parts = schema.allOf.map((part: Json) => plainParts(document, part, 0))
  if (schema.allOf.length === 0 || parts.some((part: Json) => part === null)) return
  const { allOf: _parts, properties, required, ...rest } = schema
  // It knows only the properties beside it.
  const isClosed = ![undefined, true].includes(rest.additionalProperties)
  const isOwn = (name: string): boolean => Object.hasOwn(properties ?? {}, name)
  if (isClosed && !parts.flatMap((part: Json) => Object.keys(part.properties ?? {})).every(isOwn)) return
  const all = [...parts, { properties, required }]
  const names = new Set(all.flatMap((part) => part.required ?? []))
  for (const key of Object.keys(schema)) delete schema[key]
  Object.assign(schema, rest, {
    type: rest.type ?? 'object',
    properties: structuredClone(propertiesOf(all)),
    ...(names.size > 0 && { required: [...names] }),
  })
}

/** Several parts may declare a property: its value meets all of them. */
function propertiesOf(parts: Json[]): Json {
  const found: Json = {}
  for (const [name, property] of parts.flatMap((part) => Object.entries<Json>(part.properties ?? {})))
    found[name] = Object.hasOwn(found, name) ? together(found[name], property) : property
  return found
}

function together(a: Json, b: Json): Json {
  const isPlain = (schema: Json): boolean => !['$ref', 'allOf', 'anyOf', 'oneOf'].some((key) => key in schema)
  return (isPlain(a) && isPlain(b) ? intersectionOf(b, a) : null) ?? both(a, b)
}

/** The properties of a part, those of its own parts included; null if it is no plain object. */
function plainParts(document: Json, node: Json, depth: number): Json | null {
  const schema = resolve(document, node)
  if (schema === undefined || depth > 8) return null
  const { allOf = [], ...own } = schema
  if (own.type !== undefined && own.type !== 'object') return null
  if (Object.keys(own).some((key) => !merging.has(key) && !key.startsWith('x-'))) return null
  const parts = allOf.map((part: Json) => plainParts(document, part, depth + 1))
  if (parts.includes(null)) return null
  const all = [...parts, own]
  return {
    properties: propertiesOf(all),
    required: all.flatMap((part) => part.required ?? []),
  }
}
