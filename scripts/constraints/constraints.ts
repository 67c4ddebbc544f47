// Every constraint that a contract sets, each with its place.
import { escaped } from '../../infra/validation/json-pointer.ts'
import { resolve } from '../generate/resolve.ts'

type Json = any

/** One keyword at one place; of `required` one name. */
export interface Constraint {
  /** Of the schema, parameter or body: a pointer in which a parameter is called by its place and name, as `query limit`. */
  place: string
  keyword: string
  /** The name that `required` demands. */
  name?: string
}

/** The constraints of each place, as the spec has them. Where a keyword holds schemas it is `true`, or says how many. */
export type Constraints = Map<string, Record<string, Json>>

/** Keywords that say something of a value by themselves. */
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
  '$ref',
]
/** Keywords that hold one schema, or several. */
export const holders = ['items', 'propertyNames', 'additionalProperties']
export const choices = ['anyOf', 'oneOf', 'allOf']

/** What one constraint is called in messages. */
export function nameOf({ place, keyword, name }: Constraint): string {
  return `${place}/${keyword}${name === undefined ? '' : `/${name}`}`
}

/**
 * @param document as it is bundled.
 * @param isWritten whether a component stands in the spec, and is not made from it.
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

/** Calls `visit` for each schema that stands right inside of one. */
export function eachInside(schema: Json, place: string, visit: (inner: Json, place: string) => void): void {
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    visit(inner, `${place}/properties/${escaped(name)}`)
  for (const keyword of holders)
    if (typeof schema[keyword] === 'object') visit(schema[keyword], `${place}/${keyword}`)
  for (const keyword of choices)
    (schema[keyword] ?? []).forEach((inner: Json, i: number) => visit(inner, `${place}/${keyword}/${i}`))
}

/** Every schema of components and paths that is no part of another, and every parameter and body. */
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

/** Each constraint by itself. */
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

/** The schema behind references, for whoever has to know what else holds at a place. */
export function flattened(document: Json, schema: Json): Json {
  const { $ref, allOf, ...own } = schema
  const parts = [...($ref === undefined ? [] : [resolve(document, { $ref })]), ...(allOf ?? [])]
  return parts.reduceRight((all: Json, part: Json) => ({ ...flattened(document, part), ...all }), own)
}
