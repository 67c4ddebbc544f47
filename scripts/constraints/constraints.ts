// Collects all schema constraints of the contract with their places.
import { escaped } from '../../infra/validation/json-pointer.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

/** One keyword at one place; for `required`, one name. */
export interface Constraint {
  /** A pointer to the schema, parameter or body, with parameters by location and name: `query limit`. */
  place: string
  keyword: string
  /** The property that `required` lists. */
  name?: string
}

/** The constraints of each place. A keyword that contains schemas has the value `true` or their number. */
export type Constraints = Map<string, Record<string, Json>>

/** Keywords that constrain a value directly. */
export const assertions = [
  'type',
  'enum',
  'const',
  'pattern',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'required',
  'dependentRequired',
  '$ref',
]
/** Keywords that contain one schema. */
export const holders = ['items', 'propertyNames', 'additionalProperties']
/** Keywords that contain a list of schemas. */
export const choices = ['anyOf', 'oneOf', 'allOf']

/** The constraint's name in messages. */
export function nameOf({ place, keyword, name }: Constraint): string {
  return `${place}/${keyword}${name === undefined ? '' : `/${name}`}`
}

/**
 * @param document the bundled document.
 * @param isWritten whether a component is written in the spec, not generated.
 */
export function constraintsOf(
  document: Json,
  isWritten: (component: string) => boolean = () => true,
): Constraints {
  const found: Constraints = new Map()
  eachHolder(document, (node, place, kind) => {
    if (place.startsWith('/components/schemas/') && !isWritten(place.split('/')[3])) return
    if (kind === 'schema') walk(node, place)
    else if (node.required === true) found.set(place, { required: true })
  })
  return found

  function walk(schema: Json, place: string): void {
    const own: Record<string, Json> = {}
    for (const keyword of assertions) if (schema[keyword] !== undefined) own[keyword] = schema[keyword]
    // The width of an integer is for generated clients; `minimum` and `maximum` limit its values.
    if (own.format === 'int32' || own.format === 'int64') delete own.format
    for (const keyword of holders)
      if (schema[keyword] !== undefined)
        own[keyword] = typeof schema[keyword] === 'object' ? true : schema[keyword]
    for (const keyword of choices) if (schema[keyword] !== undefined) own[keyword] = schema[keyword].length
    if (schema.additionalProperties === true) delete own.additionalProperties
    else if (typeof schema.additionalProperties === 'object') own.additionalProperties = 'schema'
    if (Object.keys(own).length > 0) found.set(place, own)
    eachInside(schema, place, walk)
  }
}

/** Calls `visit` for each direct subschema. */
export function eachInside(schema: Json, place: string, visit: (inner: Json, place: string) => void): void {
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    visit(inner, `${place}/properties/${escaped(name)}`)
  for (const keyword of holders)
    if (typeof schema[keyword] === 'object') visit(schema[keyword], `${place}/${keyword}`)
  for (const keyword of choices)
    (schema[keyword] ?? []).forEach((inner: Json, i: number) => visit(inner, `${place}/${keyword}/${i}`))
}

/** Visits every top-level schema of components and paths, every parameter and every body. */
function eachHolder(
  document: Json,
  visit: (node: Json, place: string, kind: 'schema' | 'parameter' | 'body') => void,
): void {
  const { components = {}, paths = {} } = document
  const parameter = (node: Json, place: string): void => {
    if (node.$ref !== undefined) return
    visit(node, place, 'parameter')
    visit(node.schema, `${place}/schema`, 'schema')
  }
  const content = (node: Json, place: string): void => {
    for (const [type, media] of Object.entries<Json>(node.content ?? {})) {
      if (media.schema !== undefined)
        visit(media.schema, `${place}/content/${escaped(type)}/schema`, 'schema')
      for (const [name, schema] of Object.entries(media['x-stream-events'] ?? {}))
        visit(schema, `${place}/content/${escaped(type)}/x-stream-events/${escaped(name)}`, 'schema')
    }
  }
  const response = (node: Json, place: string): void => {
    if (node.$ref !== undefined) return
    content(node, place)
    for (const [name, header] of Object.entries<Json>(node.headers ?? {}))
      if (header.schema !== undefined)
        visit(header.schema, `${place}/headers/${escaped(name)}/schema`, 'schema')
  }
  for (const [name, schema] of Object.entries(components.schemas ?? {}))
    visit(schema, `/components/schemas/${escaped(name)}`, 'schema')
  for (const [name, node] of Object.entries(components.parameters ?? {}))
    parameter(node, `/components/parameters/${escaped(name)}`)
  for (const [name, node] of Object.entries<Json>(components.headers ?? {}))
    visit(node.schema, `/components/headers/${escaped(name)}/schema`, 'schema')
  for (const [name, node] of Object.entries(components.responses ?? {}))
    response(node, `/components/responses/${escaped(name)}`)
  for (const [path, item] of Object.entries<Json>(paths)) {
    const at = `/paths/${escaped(path)}`
    for (const node of item.parameters ?? []) parameter(node, `${at}/parameters/${parameterName(node)}`)
    for (const [method, operation] of Object.entries<Json>(item)) {
      if (typeof operation !== 'object' || Array.isArray(operation) || operation.responses === undefined)
        continue
      for (const node of operation.parameters ?? [])
        parameter(node, `${at}/${method}/parameters/${parameterName(node)}`)
      if (operation.requestBody !== undefined && operation.requestBody.$ref === undefined) {
        visit(operation.requestBody, `${at}/${method}/requestBody`, 'body')
        content(operation.requestBody, `${at}/${method}/requestBody`)
      }
      for (const [status, node] of Object.entries(operation.responses))
        response(node, `${at}/${method}/responses/${status}`)
    }
  }
}

export function parameterName(parameter: Json): string {
  return `${parameter.in} ${parameter.name}`
}

/** All constraints one by one. */
export function* each(constraints: Constraints): Generator<Constraint> {
  for (const [place, own] of constraints) {
    for (const [keyword, value] of Object.entries(own)) {
      if (keyword === 'required' && Array.isArray(value))
        for (const name of value) yield { place, keyword, name }
      else yield { place, keyword }
    }
  }
}

export function same(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** The schema with `$ref` and `allOf` merged in. */
export function flattened(document: Json, schema: Json): Json {
  const { $ref, allOf, ...own } = schema
  const parts = [...($ref === undefined ? [] : [resolve(document, { $ref })]), ...(allOf ?? [])]
  return parts.reduceRight((all: Json, part: Json) => ({ ...flattened(document, part), ...all }), own)
}
