// The operations of a bundled document in the plain form that every emitter reads.
import { deprecationOf, type Deprecation } from './deprecation.ts'
import { methods } from './methods.ts'
import { resolve } from './resolve.ts'

type Json = any

export interface Response {
  status: number
  /** The media type of the body, or null when there is none. */
  contentType: string | null
  /** The schema as the document has it: a `$ref` where it is one. */
  schema: Json | null
  /** The data of each kind of event, where the body is a stream of them. */
  events: Record<string, Json> | null
  /** Its fields that have no part in the ETag. */
  volatile: string[]
  /** Whether the body is bytes that no schema describes. */
  binary: boolean
  headers: string[]
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Json
  /** Its name among the document's components, where it is one of them. */
  component?: string
}

export interface Body {
  required: boolean
  contentTypes: string[]
  /** What JSON, or the fields of a short form, have to be. */
  schema: Json | null
  /** The form's file, whether it has a field for the file's name, and which fields are JSON or may come several times. */
  form: { file: string; named: boolean; json: string[]; lists: string[] } | null
  /** What the other fields of a form have to be. */
  fields: Json | null
  /** Whether it is bytes, or has them in it: then its handler reads it while it arrives. JSON is not, where it is taken too. */
  streamed: boolean
  /** Whether its handler gets the bytes of JSON as they came, because they are signed. */
  raw: boolean
}

export interface Operation {
  id: string
  method: 'get' | 'put' | 'post' | 'delete' | 'patch' | 'options'
  /** As in the spec, without the server's prefix. */
  path: string
  /** As in the spec, with the server's prefix. */
  fullPath: string
  tag: string
  summary: string
  /** null for a public operation. */
  scopes: string[] | null
  /** Whether a request without a key is let through to the handler. */
  keyOptional: boolean
  rateLimit: string | null
  path_: Parameter[]
  query: Parameter[]
  header: Parameter[]
  body: Body | null
  responses: Response[]
  projectAccess: { role: string; states?: string[] } | null
  deprecation: Deprecation | null
  secretAnswer: boolean
  /** Whether the handler stores the response of an Idempotency-Key itself. */
  handlesIdempotency: boolean
  /** Whether a repeated Idempotency-Key runs the operation again, because it changes nothing. */
  ignoresIdempotencyKey: boolean
  /** The operation whose 200 is what If-Match is held against: the GET of the same path. */
  entity: string | null
}

export function operationsOf(document: Json): Operation[] {
  const found: Operation[] = []
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const method of methods) {
      const operation = item[method]
      if (!operation) continue
      const parameters = mergedParameters(document, item, operation)
      const security = operation.security ?? document.security
      const scopes = scopesOf(security)
      const body = resolve(document, operation.requestBody)
      found.push({
        id: operation.operationId,
        method,
        path,
        fullPath: prefixOf(operation.servers ?? item.servers ?? document.servers) + path,
        tag: operation.tags[0],
        summary: operation.summary,
        scopes,
        keyOptional:
          scopes !== null && security.some((alternative: Json) => Object.keys(alternative).length === 0),
        rateLimit:
          operation['x-rate-limit'] ?? (scopes === null ? null : method === 'get' ? 'default' : 'write'),
        path_: parameters.filter((p) => p.in === 'path'),
        query: parameters.filter((p) => p.in === 'query'),
        header: parameters.filter((p) => p.in === 'header'),
        body: body === undefined ? null : bodyOf(document, body),
        responses: Object.entries<Json>(operation.responses).map(([status, node]) => {
          const response = resolve(document, node)
          const contentType = Object.keys(response.content ?? {})[0] ?? null
          return {
            status: Number(status),
            contentType,
            schema: contentType === null ? null : response.content[contentType].schema,
            events: contentType === null ? null : (response.content[contentType]['x-stream-events'] ?? null),
            volatile: contentType === null ? [] : volatileOf(document, response.content[contentType].schema),
            binary:
              contentType !== null &&
              resolve(document, response.content[contentType].schema)?.format === 'binary',
            headers: Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()),
          }
        }),
        projectAccess: operation['x-project-access'] ?? null,
        deprecation: deprecationOf(document, operation, (other, its) =>
          prefixOf(other.servers ?? its.servers ?? document.servers),
        ),
        secretAnswer: operation['x-secret-answer'] === true,
        handlesIdempotency: operation['x-idempotency'] === 'handler',
        ignoresIdempotencyKey: operation['x-idempotency'] === 'anew',
        entity: item.get?.operationId ?? null,
      })
    }
  }
  return found
}

function volatileOf(document: Json, schema: Json): string[] {
  const properties = Object.entries<Json>(resolve(document, schema)?.properties ?? {})
  return properties.filter(([, property]) => property['x-volatile'] === true).map(([name]) => name)
}

function bodyOf(document: Json, body: Json): Body {
  const contentTypes = Object.keys(body.content)
  const text = body.content['application/json'] ?? body.content['application/x-www-form-urlencoded']
  const shared = {
    required: body.required === true,
    contentTypes,
    schema: text?.schema ?? null,
    raw: body['x-raw'] === true,
  }
  const media = body.content['multipart/form-data']
  if (media === undefined)
    return {
      ...shared,
      form: null,
      fields: null,
      streamed: contentTypes.some(
        (type) => resolve(document, body.content[type].schema)?.format === 'binary',
      ),
    }
  const { properties, required = [], ...rest } = resolve(document, media.schema)
  const typeOf = (name: string): Json => resolve(document, properties[name])
  const names = Object.keys(properties)
  const file = names.find((name) => typeOf(name).format === 'binary')!
  const fields = Object.fromEntries(Object.entries(properties).filter(([name]) => name !== file))
  return {
    ...shared,
    fields: { ...rest, properties: fields, required: required.filter((name: string) => name !== file) },
    streamed: true,
    form: {
      file,
      named: names.includes('name'),
      json: names.filter((name) => typeOf(name).type === 'object'),
      lists: names.filter((name) => typeOf(name).type === 'array'),
    },
  }
}

/** An operation's parameter replaces the path's of the same name and place. */
function mergedParameters(document: Json, item: Json, operation: Json): Parameter[] {
  const merged = new Map<string, Parameter>()
  for (const node of [...(item.parameters ?? []), ...(operation.parameters ?? [])]) {
    const parameter = resolve(document, node)
    merged.set(`${parameter.in} ${parameter.name}`, { ...parameter, component: node.$ref?.split('/').at(-1) })
  }
  return [...merged.values()]
}

function scopesOf(security: Json[] | undefined): string[] | null {
  if (security === undefined || security.length === 0) return null
  return Object.values<string[]>(security[0])[0]
}

function prefixOf(servers: Json[] | undefined): string {
  const url = servers?.[0]?.url ?? '/'
  return url.replace(/^https?:\/\/[^/]+/, '').replace(/\/$/, '')
}
