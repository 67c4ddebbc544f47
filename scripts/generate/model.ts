// The operations of the bundled document in the form that all emitters use.
import { batchValues, longTextBytes, maxBodyBytes } from './body-limit.ts'
import { deprecationOf, type Deprecation } from './deprecation.ts'
import { methods } from '@platform-api/openapi/methods.ts'
import { acceptsPatch } from './patch-operations.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'
import { serverPath } from '@platform-api/openapi/servers.ts'

type Json = any

export interface Response {
  status: number
  /** The media type of the body; null if there is no body. */
  contentType: string | null
  /** All media types. The first is `contentType`. */
  contentTypes: string[]
  /** The schema as in the document; it may be a `$ref`. null for an event stream. */
  schema: Json | null
  /** The schema of each event's data, if the body is an event stream. */
  events: Record<string, Json> | null
  /** The data of the event after the last one (`x-stream-end`); null without one. */
  streamEnd: string | null
  /** Fields with `x-volatile`, which are left out of the ETag. */
  volatile: string[]
  /** Whether the body is raw bytes. */
  binary: boolean
  headers: string[]
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Json
  /** The name of the component, if the parameter is one. */
  component?: string
}

export interface Body {
  required: boolean
  contentTypes: string[]
  /** The schema of a JSON body or a URL-encoded form. */
  schema: Json | null
  /**
   * For multipart/form-data: the field of the file, whether the form has a `name` field, and the fields
   * that are JSON or repeatable.
   */
  form: { file: string; named: boolean; json: string[]; lists: string[]; integers: string[] } | null
  /** The schema of the multipart form without its file. */
  fields: Json | null
  /** Whether the handler reads the body as a stream: raw bytes or a form with a file, but never JSON. */
  streamed: boolean
  /** Whether the handler gets the unparsed bytes of the JSON, to verify a signature. */
  raw: boolean
  /** The size limit of a JSON body with long texts. */
  maxBytes: number | undefined
  /** The limit of values of a batch. */
  maxValues: number | undefined
}

export interface Operation {
  id: string
  method: 'get' | 'put' | 'post' | 'delete' | 'patch' | 'options'
  /** Whether PATCH does the same. */
  acceptsPatch: boolean
  /** The path without the server's prefix. */
  path: string
  /** The path with the server's prefix. */
  fullPath: string
  tag: string
  summary: string
  /** null for a public operation. */
  scopes: string[] | null
  /** Whether requests without a key are accepted. */
  keyOptional: boolean
  rateLimit: string | null
  pathParameters: Parameter[]
  queryParameters: Parameter[]
  headerParameters: Parameter[]
  body: Body | null
  responses: Response[]
  /** The fields of the resource that its update does not take. */
  fixedFields: string[]
  projectAccess: { role: string; states?: string[] } | null
  organizationAccess: { role: string; operators?: string } | null
  deprecation: Deprecation | null
  secretAnswer: boolean
  /** Whether the response depends only on the server. */
  static: boolean
  /** Whether API keys that are limited to some projects get 403. */
  unlimitedKey: boolean
  organizationSellers: boolean
  needsSession: boolean
  limitedSession: boolean
  filesOrigin: boolean
  /** Whether query parameters that the spec does not declare are ignored. */
  openQuery: boolean
  /** Whether the lists of the operation may be read from a read replica. */
  readReplica: boolean
  /** The values of `include`, each with the property of the id and that of the user. */
  includes: Record<string, { id: string; as: string }> | null
  /** Whether the handler stores the response of an Idempotency-Key itself. */
  handlesIdempotency: boolean
  /** The GET whose ETag If-Match is compared with: that of `x-entity`, or of the same path. */
  entity: string | null
}

export function operationsOf(document: Json): Operation[] {
  const found: Operation[] = []
  const forOperators = new Set(['admin', ...(document['x-included-scopes']?.admin ?? [])])
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
        acceptsPatch: method === 'put' && acceptsPatch(item),
        path,
        fullPath: serverPath(operation.servers ?? item.servers ?? document.servers) + path,
        tag: operation.tags[0],
        summary: operation.summary,
        scopes,
        keyOptional:
          scopes !== null && security.some((alternative: Json) => Object.keys(alternative).length === 0),
        rateLimit:
          operation['x-rate-limit'] ?? (scopes === null ? null : method === 'get' ? 'default' : 'write'),
        pathParameters: parameters.filter((p) => p.in === 'path'),
        queryParameters: parameters.filter((p) => p.in === 'query'),
        headerParameters: parameters.filter((p) => p.in === 'header'),
        body: body === undefined ? null : bodyOf(document, body),
        responses: Object.entries<Json>(operation.responses).map(([status, node]) => {
          const response = resolve(document, node)
          const contentTypes = Object.keys(response.content ?? {})
          const contentType = contentTypes[0] ?? null
          return {
            status: Number(status),
            contentType,
            contentTypes,
            schema: contentType === null ? null : (response.content[contentType].schema ?? null),
            events: streamOf(response)?.['x-stream-events'] ?? null,
            streamEnd: streamOf(response)?.['x-stream-end'] ?? null,
            volatile: contentType === null ? [] : volatileOf(document, response.content[contentType].schema),
            binary:
              contentType !== null &&
              resolve(document, response.content[contentType].schema)?.format === 'binary',
            headers: Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()),
          }
        }),
        projectAccess: operation['x-project-access'] ?? null,
        organizationAccess: operation['x-organization-access'] ?? null,
        deprecation: deprecationOf(document, operation, (other, its) =>
          serverPath(other.servers ?? its.servers ?? document.servers),
        ),
        fixedFields: method === 'put' && body !== undefined ? fixedFieldsOf(document, operation) : [],
        secretAnswer: operation['x-secret-answer'] === true,
        static: operation['x-static'] === true,
        unlimitedKey:
          operation['x-unlimited-key'] ?? scopes?.some((scope) => forOperators.has(scope)) ?? false,
        organizationSellers: operation['x-organization-sellers'] === true,
        needsSession: operation['x-needs-session'] === true,
        limitedSession: operation['x-limited-session'] === true,
        filesOrigin: operation['x-files-origin'] === true,
        openQuery: operation['x-open-query'] === true,
        readReplica: operation['x-read-replica'] === true,
        includes: includesOf(document, operation, parameters),
        handlesIdempotency: operation['x-idempotency'] === 'handler',
        entity: operation['x-entity'] ?? item.get?.operationId ?? null,
      })
    }
  }
  return found
}

/**
 * The values of the query parameter `include`, by `x-user-of` of the resource: the property with the id of a
 * user, and the property that gets the user. Null for other operations.
 */
function includesOf(document: Json, operation: Json, parameters: Parameter[]): Operation['includes'] {
  if (!parameters.some(({ name, in: place }) => name === 'include' && place === 'query')) return null
  const content = resolve(document, operation.responses['200'])?.content?.['application/json']
  const schema = resolve(document, content?.schema)
  const items = resolve(document, schema?.properties?.data)?.items
  const { properties = {} } = resolve(document, items ?? schema) ?? {}
  const found = Object.entries<Json>(properties).flatMap(([as, { 'x-user-of': id }]) =>
    id === undefined ? [] : [[includeName(id), { id, as }] as const],
  )
  return found.length === 0 ? null : Object.fromEntries(found)
}

/** The value of `include` for the property with the id: `user` for `user_id`. */
export function includeName(id: string): string {
  return id.replace(/_id$/, '')
}

/** The media type of the events. A response may also have JSON, for requests that ask for no stream. */
function streamOf(response: Json): Json {
  return Object.values<Json>(response.content ?? {}).find((media) => media['x-stream-events'] !== undefined)
}

function volatileOf(document: Json, schema: Json): string[] {
  const properties = Object.entries<Json>(resolve(document, schema)?.properties ?? {})
  return properties.filter(([, property]) => property['x-volatile'] === true).map(([name]) => name)
}

/** The fields of the resource that its update does not take. */
function fixedFieldsOf(document: Json, operation: Json): string[] {
  const fieldsOf = (message: Json): string[] =>
    Object.keys(
      resolve(document, resolve(document, message)?.content?.['application/json']?.schema)?.properties ?? {},
    )
  const changeable = fieldsOf(operation.requestBody)
  return fieldsOf(operation.responses['200']).filter((name) => !changeable.includes(name))
}

function bodyOf(document: Json, body: Json): Body {
  const contentTypes = Object.keys(body.content)
  const text = body.content['application/json'] ?? body.content['application/x-www-form-urlencoded']
  const shared = {
    required: body.required === true,
    contentTypes,
    schema: text?.schema ?? null,
    raw: body['x-raw'] === true,
    maxBytes:
      body['x-raw'] === true || body['x-batch'] === true
        ? longTextBytes
        : maxBodyBytes(document, text?.schema),
    maxValues: body['x-batch'] === true ? batchValues : undefined,
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
      integers: names.filter((name) => typeOf(name).type === 'integer'),
    },
  }
}

/** An operation's parameter replaces a path parameter with the same name and location. */
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
