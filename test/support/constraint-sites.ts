// Where the constraints of a contract meet a value: for each part of a request, and for each body of an answer, every
// constraint that holds there, with the way to the value that it is about.
import {
  constraintsOf,
  each,
  nameOf,
  parameterName,
  type Constraint,
} from '../../scripts/constraints/constraints.ts'
import type { Operation, Parameter } from '../../scripts/generate/model.ts'
import { resolve } from '../../scripts/generate/resolve.ts'
import { escaped } from '../../infra/validation/json-pointer.ts'

type Json = any

export type Part = 'path' | 'query' | 'header' | 'body' | 'form' | 'fields' | 'answer'

/** What one validator is compiled from. */
export interface Root {
  operation: string
  part: Part
  /** Of an answer. */
  status?: number
  /** Of a stream's answer. */
  event?: string
  schema: Json
  /** Where the schema stands; of parameters there are several, by their names in `schema`. */
  place: string | Record<string, string>
}

/** One step from a value into it. */
export type Step =
  | { kind: 'property'; name: string; schema: Json }
  | { kind: 'item' | 'value' | 'name'; schema: Json }
  /** Stays where it is: the value is to be of this alternative. */
  | { kind: 'choice'; index: number; schema: Json; among: Json[] }

export interface Site {
  constraint: Constraint
  steps: Step[]
  /** The schema that the constraint is a part of, references not followed. */
  schema: Json
  /** The constraints that hold schemas, on the way there, by name: with one of them gone, this one is too. */
  through: string[]
}

/** Every part of a request that JSON Schema describes. */
export function requestRoots(document: Json, operation: Operation): Root[] {
  const { id, method, path, path_, query, header, body } = operation
  const declared = parameterPlaces(document, path, method)
  const ofParameters = (part: Part, parameters: Parameter[]): Root[] =>
    parameters.length === 0
      ? []
      : [
          {
            operation: id,
            part,
            schema: objectOf(parameters, part !== 'header'),
            place: Object.fromEntries(
              parameters.map((p) => [
                part === 'header' ? p.name.toLowerCase() : p.name,
                declared.get(parameterName(p))!,
              ]),
            ),
          },
        ]
  const at = bodyPlace(document, path, method)
  const roots = [
    ...ofParameters('path', path_),
    ...ofParameters('query', query),
    ...ofParameters('header', header),
  ]
  if (body?.schema && !body.raw) {
    const json = body.contentTypes.includes('application/json')
    const type = json ? 'application/json' : 'application/x-www-form-urlencoded'
    roots.push({
      operation: id,
      part: json ? 'body' : 'fields',
      schema: body.schema,
      place: `${at}/content/${escaped(type)}/schema`,
    })
  }
  if (body?.form)
    roots.push({
      operation: id,
      part: 'form',
      schema: body.fields,
      place: placeBehind(
        `${at}/content/multipart~1form-data/schema`,
        resolve(document, document.paths[path][method].requestBody).content['multipart/form-data'].schema,
      ),
    })
  return roots
}

/** Every answer that has a JSON body, and each event of one that is a stream. */
export function answerRoots(document: Json, operation: Operation): Root[] {
  const responses = document.paths[operation.path][operation.method].responses
  return operation.responses.flatMap(({ status, contentType, schema, events }): Root[] => {
    const place = `${placeBehind(`/paths/${escaped(operation.path)}/${operation.method}/responses/${status}`, responses[status])}/content/${escaped(contentType ?? '')}`
    if (events !== null)
      return Object.entries(events).map(([event, data]) => ({
        operation: operation.id,
        part: 'answer',
        status,
        event,
        schema: data,
        place: `${place}/x-stream-events/${escaped(event)}`,
      }))
    return contentType === 'application/json'
      ? [{ operation: operation.id, part: 'answer', status, schema, place: `${place}/schema` }]
      : []
  })
}

/** Every constraint that a value of the root is held against, one for each place in the value. */
export function sitesOf(document: Json, root: Root): Site[] {
  const found: Site[] = []
  if (typeof root.place === 'string') walk(root.schema, root.place, [], [], [])
  else {
    for (const [name, schema] of Object.entries<Json>(root.schema.properties)) {
      const place = root.place[name]
      if (root.schema.required.includes(name))
        found.push({
          constraint: { place, keyword: 'required' },
          steps: [{ kind: 'property', name, schema }],
          schema,
          through: [],
        })
      walk(schema, `${place}/schema`, [{ kind: 'property', name, schema }], [], [])
    }
  }
  return found

  function walk(schema: Json, place: string, steps: Step[], through: string[], references: string[]): void {
    const own = constraintsOfOne(schema, place)
    for (const constraint of own) found.push({ constraint, steps, schema, through })
    const past = (keyword: string): string[] => [...through, nameOf({ place, keyword })]
    if (schema.$ref !== undefined && !references.includes(schema.$ref)) {
      walk(resolve(document, schema), schema.$ref.slice(1), steps, past('$ref'), [...references, schema.$ref])
    }
    for (const [name, inner] of Object.entries<Json>(schema.properties ?? {}))
      walk(
        inner,
        `${place}/properties/${escaped(name)}`,
        [...steps, { kind: 'property', name, schema: inner }],
        through,
        references,
      )
    if (typeof schema.items === 'object')
      walk(
        schema.items,
        `${place}/items`,
        [...steps, { kind: 'item', schema: schema.items }],
        past('items'),
        references,
      )
    if (typeof schema.additionalProperties === 'object')
      walk(
        schema.additionalProperties,
        `${place}/additionalProperties`,
        [...steps, { kind: 'value', schema: schema.additionalProperties }],
        past('additionalProperties'),
        references,
      )
    if (typeof schema.propertyNames === 'object')
      walk(
        schema.propertyNames,
        `${place}/propertyNames`,
        [...steps, { kind: 'name', schema: schema.propertyNames }],
        past('propertyNames'),
        references,
      )
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
      for (const [index, inner] of (schema[keyword] ?? []).entries()) {
        const further: Step[] =
          keyword === 'allOf'
            ? steps
            : [...steps, { kind: 'choice', index, schema: inner, among: schema[keyword] }]
        walk(inner, `${place}/${keyword}/${index}`, further, past(keyword), references)
      }
    }
  }
}

/** The constraints that the schema itself has. */
function constraintsOfOne(schema: Json, place: string): Constraint[] {
  const { properties: _, ...own } = schema
  const listed = constraintsOf({ components: { schemas: { it: own } } }).get('/components/schemas/it') ?? {}
  return [...each(new Map([[place, listed]]))]
}

/** What a request's parameters of one place must be, as one object. */
function objectOf(parameters: Parameter[], closed: boolean): Json {
  const name = (p: Parameter): string => (p.in === 'header' ? p.name.toLowerCase() : p.name)
  return {
    type: 'object',
    ...(closed && { additionalProperties: false }),
    properties: Object.fromEntries(parameters.map((p) => [name(p), p.schema])),
    required: parameters.filter((p) => p.required).map(name),
  }
}

function parameterPlaces(document: Json, path: string, method: string): Map<string, string> {
  const item = document.paths[path]
  const at = `/paths/${escaped(path)}`
  const places = (nodes: Json[], under: string): Array<[string, string]> =>
    nodes.map((node) => {
      const name = parameterName(resolve(document, node))
      return [name, node.$ref === undefined ? `${under}/parameters/${escaped(name)}` : node.$ref.slice(1)]
    })
  return new Map([
    ...places(item.parameters ?? [], at),
    ...places(item[method].parameters ?? [], `${at}/${method}`),
  ])
}

function bodyPlace(document: Json, path: string, method: string): string {
  return placeBehind(
    `/paths/${escaped(path)}/${method}/requestBody`,
    document.paths[path][method].requestBody,
  )
}

function placeBehind(place: string, node: Json): string {
  return node?.$ref === undefined ? place : node.$ref.slice(1)
}
