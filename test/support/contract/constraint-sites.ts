// Finds the sites of constraints: every place in a request part or response body where a constraint of the
// contract applies, with the path to it.
import {
  constraintsOf,
  each,
  nameOf,
  parameterName,
  type Constraint,
} from '../../../scripts/constraints/constraints.ts'
import type { Operation, Parameter } from '../../../scripts/generate/model.ts'
import { resolve } from '../../../packages/openapi/resolve.ts'
import { escaped } from '../../../infra/validation/json-pointer.ts'

type Json = any

export type Part = 'path' | 'query' | 'header' | 'body' | 'form' | 'fields' | 'answer'

/** The schema that one validator is compiled from. */
export interface SchemaRoot {
  operation: string
  part: Part
  /** Only of responses. */
  status?: number
  /** Only of event streams. */
  event?: string
  schema: Json
  /** The location of the schema in the document; for parameters, one location per name. */
  place: string | Record<string, string>
}

/** One step on the path into a value. */
export type Step =
  | { kind: 'property'; name: string; schema: Json }
  | { kind: 'item' | 'value' | 'name'; schema: Json }
  /**
   * Selects an alternative of anyOf or oneOf; the value stays the same. `chooser`: the property of a
   * discriminator.
   */
  | { kind: 'choice'; index: number; schema: Json; among: Json[]; chooser?: string }

export interface Site {
  constraint: Constraint
  steps: Step[]
  /** The schema with the constraint, references not resolved. */
  schema: Json
  /** The structural constraints on the path, by name. Deleting one of them removes this constraint too. */
  through: string[]
}

/** The parts of the operation's requests that have a JSON Schema. */
export function requestRoots(document: Json, operation: Operation): SchemaRoot[] {
  const { id, method, path, body } = operation
  const { pathParameters, queryParameters, headerParameters } = operation
  const declared = parameterPlaces(document, path, method)
  const ofParameters = (part: Part, parameters: Parameter[]): SchemaRoot[] =>
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
    ...ofParameters('path', pathParameters),
    ...ofParameters('query', queryParameters),
    ...ofParameters('header', headerParameters),
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
      place: targetPlace(
        `${at}/content/multipart~1form-data/schema`,
        resolve(document, document.paths[path][method].requestBody).content['multipart/form-data'].schema,
      ),
    })
  return roots
}

/** The responses with a JSON body, and the events of streams. */
export function answerRoots(document: Json, operation: Operation): SchemaRoot[] {
  const responses = document.paths[operation.path][operation.method].responses
  return operation.responses.flatMap(({ status, contentType, schema, events }): SchemaRoot[] => {
    const response = `/paths/${escaped(operation.path)}/${operation.method}/responses/${status}`
    const content = `${targetPlace(response, responses[status])}/content`
    const place = `${content}/${escaped('application/json')}/schema`
    const streamed = Object.entries(events ?? {}).map(([event, data]): SchemaRoot => ({
      operation: operation.id,
      part: 'answer',
      status,
      event,
      schema: data,
      place: `${content}/${escaped('text/event-stream')}/x-stream-events/${escaped(event)}`,
    }))
    return contentType === 'application/json'
      ? [{ operation: operation.id, part: 'answer', status, schema, place }, ...streamed]
      : streamed
  })
}

/** Every site of a constraint in values of this root. */
export function sitesOf(document: Json, root: SchemaRoot): Site[] {
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
    const own = ownConstraints(schema, place)
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
    const chooser = schema.discriminator?.propertyName
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
      for (const [index, inner] of (schema[keyword] ?? []).entries()) {
        const further: Step[] =
          keyword === 'allOf'
            ? steps
            : [...steps, { kind: 'choice', index, schema: inner, among: schema[keyword], chooser }]
        walk(inner, `${place}/${keyword}/${index}`, further, past(keyword), references)
      }
    }
  }
}

/** The constraints of this schema itself, without those of its properties. */
function ownConstraints(schema: Json, place: string): Constraint[] {
  const { properties: _, ...own } = schema
  const listed = constraintsOf({ components: { schemas: { it: own } } }).get('/components/schemas/it') ?? {}
  return [...each(new Map([[place, listed]]))]
}

/** The parameters of one location as an object schema. */
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
  return targetPlace(
    `/paths/${escaped(path)}/${method}/requestBody`,
    document.paths[path][method].requestBody,
  )
}

function targetPlace(place: string, node: Json): string {
  return node?.$ref === undefined ? place : node.$ref.slice(1)
}
