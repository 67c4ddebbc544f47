// Brings a schema into one form, so that equal schemas with different spellings compare as equal: references
// and inline schemas, `allOf` and its merged parts, the ways to allow null, `const` and an enum of one value,
// exclusive limits, and keywords that allow everything.
import { unreadPattern } from '@platform-api/openapi/faults.ts'
import { child, nodeAt, same, type Node } from './change.ts'

type Json = any

export type Direction = 'request' | 'response'

export const annotations = [
  '$anchor',
  '$comment',
  '$defs',
  '$dynamicAnchor',
  '$id',
  '$schema',
  'definitions',
  'deprecated',
  'description',
  'example',
  'examples',
  'externalDocs',
  'title',
  'xml',
]

/** Values that allow everything, as if the keyword were absent. */
const withoutEffect: Record<string, Json[]> = {
  additionalItems: [true, {}],
  additionalProperties: [true, {}],
  allOf: [[]],
  contentSchema: [true, {}],
  dependentRequired: [{}],
  dependentSchemas: [{}],
  items: [true, {}],
  maxContains: [Infinity],
  minItems: [0],
  minLength: [0],
  minProperties: [0],
  not: [false],
  pattern: ['', '.*'],
  patternProperties: [{}],
  prefixItems: [[]],
  properties: [{}],
  propertyNames: [true, {}],
  readOnly: [false],
  required: [[]],
  unevaluatedItems: [true, {}],
  unevaluatedProperties: [true, {}],
  uniqueItems: [false],
  writeOnly: [false],
}

/**
 * The schema in its normal form. Only its own keywords are: `compareSchemas` normalizes what they hold.
 * The value is undefined if there is no schema.
 */
export function normalized(document: Json, node: Node, direction: Direction): Node {
  const found = resolved(document, node)
  if (found.value === undefined) return found
  let { value } = found
  // Compared as it is written, although no tool can validate it.
  if (value[unreadPattern] !== undefined) {
    const { [unreadPattern]: pattern, ...rest } = value
    value = { ...rest, pattern }
  }
  if (direction === 'response') value = withoutOtherValues(document, value)
  value = withSingleForm(withNullAsType(document, mergedParts(document, value), direction))
  return { value: withoutHidden(document, value, direction), pointer: found.pointer }
}

/** The target of the reference, with the keywords beside it. */
function resolved(document: Json, { value, pointer }: Node): Node {
  const beside: Json[] = []
  for (let hops = 0; typeof value?.$ref === 'string' && hops < 20; hops++) {
    const { $ref, ...rest } = value
    if (Object.keys(rest).length > 0) beside.push(rest)
    pointer = $ref.slice(1)
    value = nodeAt(document, pointer)
  }
  if (value === true) value = {}
  if (value === false) value = { not: {} }
  for (const rest of beside.reverse()) value = merged(rest, value) ?? { ...rest, allOf: [value] }
  return { value, pointer }
}

/** With the parts of `allOf`, and the only alternative of `anyOf` or `oneOf`, merged into the schema. */
function mergedParts(document: Json, schema: Json): Json {
  let value = schema
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const parts = value[keyword]
    if (!Array.isArray(parts) || (keyword !== 'allOf' && parts.length !== 1)) continue
    const { [keyword]: _, ...rest } = value
    const unmerged: Json[] = []
    value = rest
    for (const part of parts) {
      const whole = mergedParts(document, resolved(document, { value: part, pointer: '' }).value ?? {})
      const together = merged(value, whole)
      if (together === null) unmerged.push(part)
      else value = together
    }
    if (unmerged.length > 0) value = { ...value, allOf: [...(value.allOf ?? []), ...unmerged] }
  }
  return value
}

/** Both schemas as one; null if that is not possible. The annotations of `a` win. */
function merged(a: Json, b: Json): Json | null {
  // These keywords depend on the properties and items beside them.
  const closes = ({ additionalProperties, unevaluatedProperties, unevaluatedItems }: Json): boolean =>
    [additionalProperties, unevaluatedProperties, unevaluatedItems].some(
      (value) => value !== undefined && value !== true,
    )
  const holds = ({ properties, patternProperties, prefixItems }: Json): boolean =>
    [properties, patternProperties, prefixItems].some((value) => value !== undefined)
  if ((closes(a) && holds(b)) || (closes(b) && holds(a))) return null
  const result = { ...a }
  for (const [key, value] of Object.entries<Json>(b)) {
    const own = a[key]
    if (own === undefined || annotations.includes(key) || same(own, value)) result[key] = own ?? value
    else if (key === 'default') continue
    else if (key === 'required') result.required = [...new Set([...own, ...value])]
    else if (key === 'allOf') result.allOf = [...own, ...value]
    else if (key === 'enum')
      result.enum = own.filter((each: Json) => value.some((other: Json) => same(each, other)))
    else if (/^(min|exclusiveMin)/.test(key) && typeof own === 'number') result[key] = Math.max(own, value)
    else if (/^(max|exclusiveMax)/.test(key) && typeof own === 'number') result[key] = Math.min(own, value)
    else if (key === 'properties') {
      const names = Object.keys({ ...own, ...value })
      result.properties = Object.fromEntries(
        names.map((name) => [
          name,
          own[name] === undefined || value[name] === undefined || same(own[name], value[name])
            ? (own[name] ?? value[name])
            : { allOf: [own[name], value[name]] },
        ]),
      )
    } else return null
  }
  return result
}

/**
 * Without the alternative that stands for later values of an enum. An enum in a response is extensible in any
 * case.
 */
function withoutOtherValues(document: Json, schema: Json): Json {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const alternatives = anyOf.map((value) => resolved(document, { value, pointer: '' }).value ?? {})
  const known = alternatives.find((value) => value.enum !== undefined)
  const isOther = (value: Json): boolean =>
    known !== undefined &&
    Object.keys(value).every((key) => key === 'type' || key === 'format') &&
    value.type !== 'null' &&
    typesOf(known).has(value.type)
  if (!alternatives.some(isOther)) return schema
  return { ...rest, anyOf: anyOf.filter((_, i) => !isOther(alternatives[i])) }
}

/** With an alternative that is only null, or `nullable`, as one of the types. */
function withNullAsType(document: Json, schema: Json, direction: Direction): Json {
  const { nullable, ...value } = schema
  if (nullable === true && value.type !== undefined) return orNull(value)
  for (const keyword of ['anyOf', 'oneOf']) {
    const alternatives: Json[] | undefined = value[keyword]
    if (!Array.isArray(alternatives)) continue
    const isNull = (alternative: Json): boolean => {
      const {
        type,
        enum: values,
        const: only,
      } = resolved(document, { value: alternative, pointer: '' }).value ?? {}
      return type === 'null' || (values ?? [only]).every((each: Json) => each === null)
    }
    const others = alternatives.filter((alternative) => !isNull(alternative))
    if (others.length === alternatives.length || others.length === 0) continue
    const { [keyword]: _, ...rest } = value
    if (others.length > 1) return orNull({ ...rest, [keyword]: others })
    const inner = normalized(document, { value: others[0], pointer: '' }, direction).value
    const together = merged(rest, inner)
    if (together !== null) return orNull(together)
  }
  return value
}

/** The schema or null. */
function orNull(schema: Json): Json {
  if (schema.enum !== undefined || Object.hasOwn(schema, 'const')) {
    const { const: only, enum: values = [only], ...rest } = schema
    return {
      ...rest,
      ...(schema.type !== undefined && { type: [...new Set([schema.type].flat()).add('null')] }),
      enum: values.includes(null) ? values : [...values, null],
    }
  }
  if (schema.type !== undefined) return { ...schema, type: [...new Set([schema.type].flat()).add('null')] }
  const keyword = schema.oneOf === undefined ? 'anyOf' : 'oneOf'
  return { ...schema, [keyword]: [...(schema[keyword] ?? []), { type: 'null' }] }
}

function withSingleForm(schema: Json): Json {
  const value = { ...schema }
  for (const [key, ignored] of Object.entries(withoutEffect))
    if (ignored.some((each) => same(each, value[key]))) delete value[key]
  if (value.if === undefined || (value.then === undefined && value.else === undefined)) {
    delete value.if
    delete value.then
    delete value.else
  }
  if (value.contains === undefined) {
    delete value.minContains
    delete value.maxContains
  } else if (value.minContains === 1) delete value.minContains
  if (value.type !== undefined) {
    const types = new Set([value.type].flat())
    if (types.has('number')) types.delete('integer')
    value.type = types.size === 1 ? [...types][0] : [...types].sort()
  }
  const isInteger = [...typesOf(value)].every((type) => type === 'integer' || type === 'null')
  oneLimit(value, 'minimum', 'exclusiveMinimum', isInteger, 1)
  oneLimit(value, 'maximum', 'exclusiveMaximum', isInteger, -1)
  return value
}

/** Keeps the stricter of the inclusive and the exclusive limit; of integers always the inclusive one. */
function oneLimit(value: Json, inclusive: string, exclusive: string, isInteger: boolean, step: 1 | -1): void {
  if (value[exclusive] === true) {
    value[exclusive] = value[inclusive]
    delete value[inclusive]
  } else if (value[exclusive] === false) delete value[exclusive]
  if (isInteger && typeof value[exclusive] === 'number') {
    const limit = (step === 1 ? Math.floor : Math.ceil)(value[exclusive]) + step
    value[inclusive] = (step === 1 ? Math.max : Math.min)(limit, value[inclusive] ?? limit)
    delete value[exclusive]
  }
  if (value[inclusive] === undefined || value[exclusive] === undefined) return
  const exclusiveIsStricter = (value[exclusive] - value[inclusive]) * step >= 0
  delete value[exclusiveIsStricter ? inclusive : exclusive]
}

/** Without the properties that the direction does not have: `readOnly` and `writeOnly`. */
function withoutHidden(document: Json, value: Json, direction: Direction): Json {
  const hidden = direction === 'request' ? 'readOnly' : 'writeOnly'
  const names = Object.keys(value.properties ?? {}).filter(
    (name) =>
      resolved(document, child({ value: value.properties, pointer: '' }, name)).value?.[hidden] === true,
  )
  if (names.length === 0) return value
  const { properties, required, ...rest } = value
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
    ...(required !== undefined && { required: required.filter((name: string) => !names.includes(name)) }),
  }
}

const allTypes = ['null', 'boolean', 'object', 'array', 'string', 'number']

/** The JSON types that the schema allows. */
export function typesOf(schema: Json): Set<string> {
  const { type, enum: values, const: only } = schema
  if (type !== undefined) return new Set(Array.isArray(type) ? type : [type])
  if (values === undefined && !Object.hasOwn(schema, 'const')) return new Set(allTypes)
  return new Set(
    (values ?? [only]).map((value: Json) =>
      value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value,
    ),
  )
}

/** The values that the schema lists; null if it lists none. */
export function valuesOf(schema: Json): Json[] | null {
  if (schema === undefined) return null
  return schema.enum ?? (Object.hasOwn(schema, 'const') ? [schema.const] : null)
}
