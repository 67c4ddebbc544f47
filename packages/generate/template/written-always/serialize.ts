// Serialises answers by their schemas: what a schema does not name never leaves the server. A property is
// left out if it is `writeOnly`, or if no schema has it in `properties`, `patternProperties`, or a declared
// `additionalProperties` or `unevaluatedProperties`. An object without any of these is sent as it is.
import { resolve } from './openapi/resolve.ts'

type Json = any

const places = ['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties']
const applicators = ['oneOf', 'anyOf', 'if', 'dependentSchemas']

/** @returns a function that copies a value as JSON, with what the schema names. */
export function createSerializer(document: Json): (schema: Json, value: unknown) => unknown {
  const partLists = new WeakMap<object, Json[]>()
  const known = new WeakMap<Json[], Map<string, Json[] | null>>()
  return (schema, value) => project([schema], value)

  function project(schemas: Json[], value: Json): unknown {
    const json = typeof value?.toJSON === 'function' ? value.toJSON() : value
    if (typeof json !== 'object' || json === null) return json
    const all = applied(schemas, json)
    if (Array.isArray(json)) return json.map((item, i) => project(itemSchemas(all, i), item) ?? null)
    const isFree = all.every(namesNothing)
    return Object.fromEntries(
      Object.entries(json).flatMap(([name, each]) => {
        const own = isFree ? [] : knownSchemas(all, name)
        return each === undefined || own === null ? [] : [[name, project(own, each)]]
      }),
    )
  }

  /** Most schemas have no alternatives: their parts are always the same list. */
  function knownSchemas(all: Json[], name: string): Json[] | null {
    let byName = known.get(all)
    if (byName === undefined) known.set(all, (byName = new Map()))
    const found = byName.get(name) ?? propertySchemas(all, name)
    // Additional properties have any number of names.
    if (all.some(({ properties = {} }) => Object.hasOwn(properties, name))) byName.set(name, found)
    return found
  }

  /** null for a property that is not sent. */
  function propertySchemas(all: Json[], name: string): Json[] | null {
    const own = all.flatMap(({ properties = {}, patternProperties = {} }) => [
      ...(Object.hasOwn(properties, name) ? [properties[name]] : []),
      ...Object.keys(patternProperties)
        .filter((pattern) => new RegExp(pattern, 'u').test(name))
        .map((pattern) => patternProperties[pattern]),
    ])
    if (own.length > 0) return own.some(isWriteOnly) ? null : own
    const others = all
      .flatMap(({ additionalProperties, unevaluatedProperties }) => [
        additionalProperties,
        unevaluatedProperties,
      ])
      .filter((each) => each !== undefined && each !== false)
    return others.length === 0 ? null : others
  }

  function itemSchemas(all: Json[], index: number): Json[] {
    return all.flatMap(
      ({ prefixItems = [], items, unevaluatedItems }) =>
        prefixItems[index] ?? items ?? unevaluatedItems ?? [],
    )
  }

  /** The parts of the schemas, and those of the alternatives that the value may be. */
  function applied(schemas: Json[], value: Json): Json[] {
    const parts = schemas.length === 1 ? partsOf(schemas[0]) : schemas.flatMap(partsOf)
    if (!parts.some((part) => applicators.some((key) => part[key] !== undefined))) return parts
    return parts.flatMap((part) => {
      const { oneOf = [], anyOf = [], if: condition, then, else: otherwise, dependentSchemas = {} } = part
      const alternatives = [...chosen(oneOf, value), ...chosen(anyOf, value)]
      const conditional = [condition, then, otherwise, ...Object.values(dependentSchemas)]
      const inner = [...alternatives, ...conditional.filter((each) => each !== undefined)]
      if (inner.length === 0) return [part]
      const open = alternatives.some(isOpen) ? [{ additionalProperties: true }] : []
      return [part, ...applied(inner, value), ...open]
    })
  }

  function chosen(list: Json[], value: Json): Json[] {
    const possible = list.filter((each) => mayBe(each, value))
    return possible.length === 0 ? list : possible
  }

  /** Whether the value has the type, the required properties and the constants of the schema. */
  function mayBe(schema: Json, value: Json): boolean {
    if (schema === false) return false
    return partsOf(schema).every((part) => {
      const { required = [], properties = {} } = part
      if (!fits(part, value)) return false
      if (Array.isArray(value)) return true
      return (
        required.every((name: string) => value[name] !== undefined || isWriteOnly(properties[name])) &&
        Object.entries(properties).every(
          ([name, node]) =>
            value[name] === undefined || partsOf(node).every((each) => fits(each, value[name])),
        )
      )
    })
  }

  /** An alternative such as `{ type: object }`, which takes any property. */
  function isOpen(schema: Json): boolean {
    const constraints = [...applicators, 'required']
    return partsOf(schema).every((part) => namesNothing(part) && !constraints.some((key) => key in part))
  }

  function isWriteOnly(schema: Json): boolean {
    return partsOf(schema).some(({ writeOnly }) => writeOnly === true)
  }

  /** The schema that a reference means, what is beside the reference, and the parts of `allOf`. */
  function partsOf(schema: Json): Json[] {
    if (typeof schema !== 'object' || schema === null) return []
    const known = partLists.get(schema)
    if (known !== undefined) return known
    const found: Json[] = []
    // Set before the parts are read: a schema may be a part of itself.
    partLists.set(schema, found)
    const { $ref, allOf = [], ...own } = schema
    if ($ref !== undefined) found.push(...partsOf(resolve(document, { $ref })))
    if (Object.keys(own).length > 0) found.push(own)
    found.push(...allOf.flatMap(partsOf))
    return found
  }
}

function namesNothing(part: Json): boolean {
  return !places.some((place) => part[place] !== undefined)
}

/** Whether the value has the type of the schema, and is its constant. */
function fits({ type, const: only, enum: listed }: Json, value: unknown): boolean {
  const isPrimitive = typeof value !== 'object' || value === null
  if (isPrimitive && only !== undefined && only !== value) return false
  if (isPrimitive && Array.isArray(listed) && !listed.includes(value)) return false
  return type === undefined || [type].flat().some((each) => isOfType(each, value))
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  // A Date becomes text.
  return typeof value === type || (type === 'string' && typeof (value as Json)?.toJSON === 'function')
}
