// The schemas of a contract as plain JSON Schema, each distinct one once, under a name that does not change when
// operations are added beside it: the component's, or that of the operation that uses it first.
import type { Operation, Parameter } from './model.ts'

type Json = any

/** Keywords of OpenAPI and annotations that say nothing about validity. */
const annotations = new Set([
  'example',
  'examples',
  'xml',
  'externalDocs',
  'discriminator',
  'description',
  'title',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
])
const componentRef = /^#\/components\/schemas\/([^/]+)(.*)$/
/** Keywords whose value maps names of the spec's author to schemas. */
const mapsOfSchemas = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs'])

/** What a pattern wants, in words that follow "must be": for the messages of validators. */
export const patternSays = 'x-pattern-says'

/** A schema for JSON Schema tools: annotations gone but for those `kept`, references to components as `refTo` writes them. */
export function plain(
  node: Json,
  refTo: (component: string, rest: string) => string,
  kept: string[] = [],
): Json {
  if (Array.isArray(node)) return node.map((item) => plain(item, refTo, kept))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries<Json>(node)
      .filter(([key]) => !annotations.has(key) && (!key.startsWith('x-') || kept.includes(key)))
      .map(([key, value]) => {
        if (key === '$ref')
          return [key, String(value).replace(componentRef, (_, name, rest) => refTo(name, rest))]
        if (key === 'const' || key === 'enum' || key === 'default') return [key, value]
        if (mapsOfSchemas.has(key))
          return [
            key,
            Object.fromEntries(
              Object.entries(value).map(([name, schema]) => [name, plain(schema, refTo, kept)]),
            ),
          ]
        return [key, plain(value, refTo, kept)]
      }),
  )
}

/** Gives equal schemas one name, so that each is compiled once. Schemas are as in the document. */
export class Pool {
  readonly schemas = new Map<string, Json>()
  #names = new Map<string, string>()
  #prefix: string
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** @param suggestion what follows the prefix, where the schema is no component. */
  add(schema: Json, suggestion: string): string {
    const key = JSON.stringify(schema)
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const component = Object.keys(schema).length === 1 ? componentOf(schema) : undefined
    let name = this.#prefix + capital(component ?? suggestion)
    while (this.schemas.has(name)) name += '_'
    this.#names.set(key, name)
    this.schemas.set(name, schema)
    return name
  }
}

/** The component that a schema is a reference to. */
export function componentOf(schema: Json): string | undefined {
  const [, name, rest] = componentRef.exec(schema.$ref ?? '') ?? []
  return rest === '' ? name : undefined
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export interface ValidatorNames {
  path?: string
  query: string
  header?: string
  body?: string
  form?: string
  responses: Record<number, string>
  /** By status and name of the event. */ streams: Record<number, Record<string, string>>
}

export interface Schemas {
  parameters: Map<string, Json>
  bodies: Map<string, Json>
  responses: Pool
  names: Map<string, ValidatorNames>
}

/** What there is to compile, and for each operation the names of what it uses. */
export function schemasOf(operations: Operation[]): Schemas {
  const paths = new Pool('path')
  const queries = new Pool('query')
  const headers = new Pool('header')
  const bodies = new Pool('body')
  const responses = new Pool('reply')
  const names = new Map<string, ValidatorNames>()
  for (const operation of operations) {
    const { id, path_, query, header, body } = operation
    names.set(id, {
      path: path_.length === 0 ? undefined : paths.add(objectOf(path_, true), suggestedName(path_, id)),
      // An operation without query parameters refuses every one.
      query: queries.add(objectOf(query, true), suggestedName(query, id)),
      header:
        header.length === 0 ? undefined : headers.add(objectOf(header, false), suggestedName(header, id)),
      body: body?.schema ? bodies.add(body.schema, id) : undefined,
      // With the bodies: each field is text or JSON, and nothing is made of one what it is not.
      form: body?.fields ? bodies.add(body.fields, id) : undefined,
      responses: Object.fromEntries(
        operation.responses
          .filter((r) => r.contentType === 'application/json')
          .map((r) => [r.status, responses.add(r.schema, id + r.status)]),
      ),
      streams: Object.fromEntries(
        operation.responses
          .filter((r) => r.events !== null)
          .map((r) => [
            r.status,
            Object.fromEntries(
              Object.entries(r.events!).map(([name, schema]) => [
                name,
                responses.add(schema, id + capital(name)),
              ]),
            ),
          ]),
      ),
    })
  }
  return {
    parameters: new Map([...paths.schemas, ...queries.schemas, ...headers.schemas]),
    bodies: bodies.schemas,
    responses,
    names,
  }
}

/** `IfMatch` where all are parameters of components, else the operation's own name. */
function suggestedName(parameters: Parameter[], id: string): string {
  if (parameters.length === 0) return 'None'
  return parameters.every((p) => p.component !== undefined)
    ? parameters.map((p) => capital(p.component!)).join('')
    : id
}

/** What a request's parameters of one place must be, as one object. Headers arrive in lower case. */
function objectOf(parameters: Parameter[], closed: boolean): Json {
  const name = (p: Parameter) => (p.in === 'header' ? p.name.toLowerCase() : p.name)
  return {
    type: 'object',
    ...(closed && { additionalProperties: false }),
    properties: Object.fromEntries(parameters.map((p) => [name(p), p.schema])),
    required: parameters.filter((p) => p.required).map(name),
  }
}
