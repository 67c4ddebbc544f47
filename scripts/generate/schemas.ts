// Collects the schemas of the contract as plain JSON Schema, each distinct schema once. Its name comes from
// the component or the first operation that uses it, so that names stay stable when operations are added.
import {
  isDiscriminated,
  isMapped,
  withChosenAlternative,
  withNestedAlternatives,
} from '@platform-api/openapi/discriminators.ts'
import type { Schemas } from '../compile/schemas.ts'
import { lowercase, patternSays } from '../compile/validators.ts'
import type { Operation, Parameter } from './model.ts'

type Json = any

/** Keywords of OpenAPI and annotations that do not affect validation. */
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
/** Keywords whose value maps arbitrary names to schemas. */
const mapsOfSchemas = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs'])

/** Their limits are the schema's `minimum` and `maximum`; a format is for generated clients. */
const integerFormats = new Set(['int32', 'int64'])

/**
 * The schema without annotations, except those in `kept`.
 * @param refTo writes a reference to a component.
 * @param chosen writes the alternatives of a `discriminator`.
 */
export function plain(
  node: Json,
  refTo: (component: string, rest: string) => string,
  kept: string[] = [],
  chosen: (schema: Json) => Json = withChosenAlternative,
): Json {
  const inner = (value: Json): Json => plain(value, refTo, kept, chosen)
  if (Array.isArray(node)) return node.map(inner)
  if (typeof node !== 'object' || node === null) return node
  const schema = isDiscriminated(node) && isMapped(node) ? chosen(node) : node
  return Object.fromEntries(
    Object.entries<Json>(schema)
      .filter(([key]) => !annotations.has(key) && (!key.startsWith('x-') || kept.includes(key)))
      .filter(([key, value]) => key !== 'format' || !integerFormats.has(value))
      .map(([key, value]) => {
        if (key === '$ref')
          return [key, String(value).replace(componentRef, (_, name, rest) => refTo(name, rest))]
        if (key === 'const' || key === 'enum' || key === 'default') return [key, value]
        if (mapsOfSchemas.has(key))
          return [
            key,
            Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, inner(schema)])),
          ]
        return [key, inner(value)]
      }),
  )
}

/** The parts of generated/schemas.json that come from the operations and the events. */
type Parts = Partial<Record<Exclude<keyof Schemas, 'components' | 'serialized'>, Map<string, Json>>>

/** The components and the parts in the form of generated/schemas.json. */
export function plainSchemas(document: Json, { parameters, bodies, responses, payloads }: Parts): Schemas {
  const idOf = (component: string, rest = ''): string => `spec:${component}${rest && `#${rest}`}`
  const components = Object.entries<Json>(document.components?.schemas ?? {}).map(
    ([name, schema]): [string, Json] => [idOf(name), schema],
  )
  const kept = [patternSays, lowercase]
  const plainOf = (schemas: Iterable<[string, Json]> = []): Record<string, Json> =>
    Object.fromEntries([...schemas].map(([name, schema]) => [name, plain(schema, idOf, kept)]))
  const serialized = [...components, ...(responses ?? [])].flatMap(
    ([name, schema]): Array<[string, Json]> => {
      const nested = plain(schema, idOf, kept, withNestedAlternatives)
      return JSON.stringify(nested) === JSON.stringify(plain(schema, idOf, kept)) ? [] : [[name, nested]]
    },
  )
  return {
    components: plainOf(components),
    parameters: plainOf(parameters),
    bodies: plainOf(bodies),
    responses: plainOf(responses),
    payloads: plainOf(payloads),
    serialized: Object.fromEntries(serialized),
  }
}

/** One schema per line. */
export function emitSchemas(schemas: Schemas): string {
  const parts = Object.entries(schemas).map(([part, own]) => {
    const lines = Object.entries(own).map(
      ([name, schema]) => `${JSON.stringify(name)}: ${JSON.stringify(schema)}`,
    )
    return `${JSON.stringify(part)}: {\n${lines.join(',\n')}\n}`
  })
  return `{\n${parts.join(',\n')}\n}\n`
}

/** Gives equal schemas one name, so that each is compiled once. */
export class Pool {
  readonly schemas = new Map<string, Json>()
  #names = new Map<string, string>()
  #prefix: string
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** @param suggestion the name after the prefix, unless the schema is a component. */
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

/** The name of the component, if the schema is a `$ref` to one. */
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
  /** By status and event name. */
  streams: Record<number, Record<string, string>>
}

export interface NamedSchemas {
  parameters: Map<string, Json>
  bodies: Map<string, Json>
  responses: Pool
  names: Map<string, ValidatorNames>
}

/** The schemas to compile, and for each operation the names of its validators and serializers. */
export function schemasOf(operations: Operation[]): NamedSchemas {
  const paths = new Pool('path')
  const queries = new Pool('query')
  const headers = new Pool('header')
  const bodies = new Pool('body')
  const responses = new Pool('reply')
  const names = new Map<string, ValidatorNames>()
  for (const operation of operations) {
    const {
      id,
      pathParameters: path,
      queryParameters: query,
      openQuery,
      headerParameters: header,
      body,
    } = operation
    names.set(id, {
      path: path.length === 0 ? undefined : paths.add(objectOf(path, true), suggestedName(path, id)),
      // An operation without query parameters rejects all query parameters.
      query: queries.add(objectOf(query, !openQuery), suggestedName(query, id)),
      header:
        header.length === 0 ? undefined : headers.add(objectOf(header, false), suggestedName(header, id)),
      body: body?.schema ? bodies.add(body.schema, id) : undefined,
      // Compiled with the bodies, without type coercion: form fields are text or JSON.
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

/** The components' names if all parameters are components, such as `IfMatch`; else the operation's id. */
function suggestedName(parameters: Parameter[], id: string): string {
  if (parameters.length === 0) return 'None'
  return parameters.every((p) => p.component !== undefined)
    ? parameters.map((p) => capital(p.component!)).join('')
    : id
}

/** The parameters of one location as an object schema. Node gives header names in lower case. */
function objectOf(parameters: Parameter[], closed: boolean): Json {
  const name = (p: Parameter) => (p.in === 'header' ? p.name.toLowerCase() : p.name)
  return {
    type: 'object',
    ...(closed && { additionalProperties: false }),
    properties: Object.fromEntries(parameters.map((p) => [name(p), p.schema])),
    required: parameters.filter((p) => p.required).map(name),
  }
}
