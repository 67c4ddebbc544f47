// A schema with `allOf`, `anyOf` or `oneOf` as a list of schemas without them: each value of one of these
// schemas meets all parts and an alternative.
import { isDeepStrictEqual } from 'node:util'
import { schemaOf, type Json } from './document.ts'

/** More combinations of the alternatives of several parts are left out. */
const maxCombinations = 64
const known = new WeakMap<object, Json[]>()

/**
 * Empty if no value meets the schema. That each value meets only one `oneOf` is not ensured.
 * @param open the schemas that contain this one as a part or an alternative
 */
export function flatSchemas(document: Json, node: Json, open: unknown[] = []): Json[] {
  if (node === true || node === undefined) return [{}]
  const name = node.$ref ?? node
  if (node === false || open.includes(name)) return []
  const found = known.get(node)
  if (found !== undefined) return found
  const { allOf = [], anyOf, oneOf, ...own } = schemaOf(document, node)
  const inner = (part: Json): Json[] => flatSchemas(document, part, [...open, name])
  const choices = [anyOf, oneOf].filter((each) => Array.isArray(each))
  const flat = [...allOf.map(inner), ...choices.map((choice) => choice.flatMap(inner))].reduce<Json[]>(
    (all, part) =>
      all
        .flatMap((one) => part.flatMap((other: Json) => intersectionOf(one, other) ?? []))
        .slice(0, Math.max(maxCombinations, all.length, part.length)),
    conflictOf(own, own) === null ? [own] : [],
  )
  // A schema that refers to itself has fewer alternatives further inside.
  if (open.length === 0) known.set(node, flat)
  return flat
}

/** Why no value meets the schema, as far as its parts and required properties say it; null if one may. */
export function contradictionIn(document: Json, node: Json, depth = 0): string | null {
  const flat = flatSchemas(document, node)
  if (flat.length === 0) return conflictIn(document, node) ?? 'its parts have no common value'
  if (depth > 4) return null
  const reasons = flat.map((schema) =>
    (schema.required ?? [])
      .map((name: string) => contradictionIn(document, schema.properties?.[name], depth + 1))
      .find((reason: string | null) => reason !== null),
  )
  return reasons.every((reason) => reason !== undefined) ? reasons[0] : null
}

function conflictIn(document: Json, node: Json): string | null {
  const { allOf = [], ...own } = schemaOf(document, node)
  const parts: Json[] = [...allOf, own].map(
    (part: Json) => flatSchemas(document, part)[0] ?? schemaOf(document, part),
  )
  for (const [i, part] of parts.entries())
    for (const other of parts.slice(i)) {
      const found = conflictOf(part, other)
      if (found !== null) return found
    }
  return null
}

/** Why no value meets both schemas; null if one may. */
function conflictOf(a: Json, b: Json): string | null {
  if (a === false || b === false) return 'a part of it is false, which no value meets'
  if (commonTypes(a.type, b.type)?.length === 0)
    return `it has the types ${[a.type].flat().join(' or ')}, and ${[b.type].flat().join(' or ')}`
  if (commonValues(valuesIn(a), valuesIn(b))?.length === 0) return 'its enums have no common value'
  for (const [one, other] of [
    [a, b],
    [b, a],
  ]) {
    const refused = other.required?.find((name: string) => !allows(one, name))
    if (refused !== undefined) return `additionalProperties: false refuses "${refused}", which is required`
  }
  return null
}

/** The schema of the values that meet both, as far as it can be written; null if there are none. */
export function intersectionOf(a: Json, b: Json): Json | null {
  if (conflictOf(a, b) !== null) return null
  const type = commonTypes(a.type, b.type)
  const values = commonValues(valuesIn(a), valuesIn(b))
  const required = [...new Set([...(a.required ?? []), ...(b.required ?? [])])]
  const isAllowed = (name: string): boolean => allows(a, name) && allows(b, name)
  const { const: _a, ...first } = a
  const { const: _b, ...second } = b
  const together: Json = { ...first, ...second }
  for (const [key, value] of Object.entries<Json>(second)) {
    const own = first[key]
    if (own === undefined) continue
    if (/^(min|exclusiveMin)/.test(key)) together[key] = Math.max(own, value)
    else if (/^(max|exclusiveMax)/.test(key)) together[key] = Math.min(own, value)
    else if (key === 'items') together.items = both(own, value)
    else if (key === 'additionalProperties') together[key] = own === false ? false : both(own, value)
  }
  return {
    ...together,
    ...(type !== undefined && { type: type.length === 1 ? type[0] : type }),
    ...(values !== undefined && { enum: values }),
    ...(required.length > 0 && { required }),
    ...((a.properties ?? b.properties) !== undefined && {
      properties: Object.fromEntries(
        Object.keys({ ...a.properties, ...b.properties })
          .filter(isAllowed)
          .map((name) => [name, both(a.properties?.[name], b.properties?.[name])]),
      ),
    }),
  }
}

/** The schema of a property that two parts declare. */
export function both(a: Json, b: Json): Json {
  if (a === undefined || a === true) return b
  if (b === undefined || b === true || isDeepStrictEqual(a, b)) return a
  return a === false || b === false ? false : { allOf: [a, b] }
}

function commonTypes(a: Json, b: Json): string[] | undefined {
  if (a === undefined || b === undefined) return (a ?? b) === undefined ? undefined : [a ?? b].flat()
  const [first, second]: string[][] = [[a].flat(), [b].flat()]
  return [
    ...first.filter((each) => second.includes(each) || (each === 'integer' && second.includes('number'))),
    ...second.filter((each) => each === 'integer' && first.includes('number') && !first.includes(each)),
  ]
}

const valuesIn = (schema: Json): Json[] | undefined => ('const' in schema ? [schema.const] : schema.enum)

function commonValues(a: Json[] | undefined, b: Json[] | undefined): Json[] | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return a.filter((each) => b.some((other) => isDeepStrictEqual(each, other)))
}

/** Whether an object of the schema may have the property. */
function allows({ properties, patternProperties, additionalProperties }: Json, name: string): boolean {
  return (
    additionalProperties !== false || Object.hasOwn(properties ?? {}, name) || patternProperties !== undefined
  )
}
