// The operations of a bundled document in the plain form that every emitter reads.
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

export interface Operation {
  id: string
  method: 'get' | 'put' | 'post' | 'delete' | 'patch'
  /** As in the spec, without the server's prefix. */
  path: string
  /** As in the spec, with the server's prefix. */
  fullPath: string
  tag: string
  /** null for a public operation. */
  scopes: string[] | null
  rateLimit: string | null
  path_: Parameter[]
  query: Parameter[]
  header: Parameter[]
  body: { required: boolean, contentTypes: string[], schema: Json | null } | null
  responses: Response[]
  projectAccess: { role: string, states?: string[] } | null
  secretAnswer: boolean
  /** The operation whose 200 is what If-Match is held against: the GET of the same path. */
  entity: string | null
}

export function operationsOf (document: Json): Operation[] {
  const found: Operation[] = []
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const method of ['get', 'put', 'post', 'delete', 'patch'] as const) {
      const operation = item[method]
      if (!operation) continue
      const parameters = mergedParameters(document, item, operation)
      const scopes = scopesOf(operation.security ?? document.security)
      const body = resolve(document, operation.requestBody)
      found.push({
        id: operation.operationId,
        method,
        path,
        fullPath: prefixOf(operation.servers ?? item.servers ?? document.servers) + path,
        tag: operation.tags[0],
        scopes,
        rateLimit: scopes === null ? null : operation['x-rate-limit'] ?? (method === 'get' ? 'default' : 'write'),
        path_: parameters.filter((p) => p.in === 'path'),
        query: parameters.filter((p) => p.in === 'query'),
        header: parameters.filter((p) => p.in === 'header'),
        body: body === undefined ? null : {
          required: body.required === true,
          contentTypes: Object.keys(body.content),
          schema: body.content['application/json']?.schema ?? null
        },
        responses: Object.entries<Json>(operation.responses).map(([status, node]) => {
          const response = resolve(document, node)
          const contentType = Object.keys(response.content ?? {})[0] ?? null
          return {
            status: Number(status),
            contentType,
            schema: contentType === null ? null : response.content[contentType].schema,
            events: contentType === null ? null : response.content[contentType]['x-stream-events'] ?? null,
            headers: Object.keys(response.headers ?? {}).map((name) => name.toLowerCase())
          }
        }),
        projectAccess: operation['x-project-access'] ?? null,
        secretAnswer: operation['x-secret-answer'] === true,
        entity: item.get?.operationId ?? null
      })
    }
  }
  return found
}

/** An operation's parameter replaces the path's of the same name and place. */
function mergedParameters (document: Json, item: Json, operation: Json): Parameter[] {
  const merged = new Map<string, Parameter>()
  for (const node of [...item.parameters ?? [], ...operation.parameters ?? []]) {
    const parameter = resolve(document, node)
    merged.set(`${parameter.in} ${parameter.name}`, { ...parameter, component: node.$ref?.split('/').at(-1) })
  }
  return [...merged.values()]
}

function scopesOf (security: Json[] | undefined): string[] | null {
  if (security === undefined || security.length === 0) return null
  return Object.values<string[]>(security[0])[0]
}

function prefixOf (servers: Json[] | undefined): string {
  const url = servers?.[0]?.url ?? '/'
  return url.replace(/^https?:\/\/[^/]+/, '').replace(/\/$/, '')
}
