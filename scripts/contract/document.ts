// The operations of the OpenAPI document with references resolved. A run knows nothing else of the server.
import { escaped } from '../../infra/validation/json-pointer.ts'
import { methods } from '../generate/methods.ts'
import { resolve } from '../generate/resolve.ts'
import { serverPath } from '../generate/servers.ts'

export type Json = any

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Json
}

/** A media type of a body, its schema, and the JSON pointer of the schema in the document. */
export interface Media {
  type: string
  schema: Json
  pointer: string
}

export interface Response {
  media: Media[]
  headers: Array<{ name: string; required: boolean; schema: Json; pointer: string }>
}

export interface Operation {
  id: string
  method: string
  /** Includes the server's prefix: `/v1/projects/{id}`. */
  path: string
  tag: string
  parameters: Parameter[]
  body: { required: boolean; media: Media[] } | null
  responses: Map<number, Response>
  /** null if the operation needs no key. */
  scopes: string[] | null
  /** Whether the operation accepts a key but does not need one. */
  optionalKey: boolean
}

/** The operations in the order of the document. */
export function operationsOf(document: Json): Operation[] {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method] !== undefined)
      .map((method) => operationOf(document, path, item, method)),
  )
}

function operationOf(document: Json, path: string, item: Json, method: string): Operation {
  const node = item[method]
  const security: Json[] = node.security ?? document.security ?? []
  const base = serverPath(node.servers ?? item.servers ?? document.servers)
  const own = (node.parameters ?? []).map((parameter: Json) => resolve(document, parameter))
  const shared = (item.parameters ?? [])
    .map((parameter: Json) => resolve(document, parameter))
    .filter(
      (parameter: Json) =>
        !own.some((other: Json) => other.name === parameter.name && other.in === parameter.in),
    )
  const at = `#/paths/${segment(path)}/${method}`
  const body =
    node.requestBody === undefined ? null : located(document, node.requestBody, `${at}/requestBody`)
  const needed = security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0)
  return {
    id: node.operationId,
    method: method.toUpperCase(),
    path: `${base}${path}`,
    tag: node.tags?.[0] ?? '',
    parameters: [...shared, ...own].map(({ name, in: where, required = false, schema }) => ({
      name,
      in: where,
      required,
      schema: schemaOf(document, schema),
    })),
    body: body === null ? null : { required: body.node.required === true, media: mediaOf(document, body) },
    responses: new Map(
      Object.keys(node.responses)
        .filter((status) => /^\d{3}$/.test(status))
        .map((status) => {
          const response = located(document, node.responses[status], `${at}/responses/${status}`)
          const headers = Object.entries<Json>(response.node.headers ?? {}).map(([name, header]) => {
            const found = located(document, header, `${response.pointer}/headers/${segment(name)}`)
            const { required = false, schema } = found.node
            return { name, required, schema: schemaOf(document, schema), pointer: `${found.pointer}/schema` }
          })
          return [Number(status), { media: mediaOf(document, response), headers }]
        }),
    ),
    scopes: needed ? [...new Set(security.flatMap((scheme) => Object.values<string[]>(scheme)[0]))] : null,
    optionalKey: !needed && security.some((scheme) => Object.keys(scheme).length > 0),
  }
}

/** The schema with its `$ref` resolved; keywords beside the `$ref` are merged in. */
export function schemaOf(document: Json, schema: Json): Json {
  if (schema?.$ref === undefined) return schema ?? {}
  const { $ref: _ref, ...beside } = schema
  return { ...schemaOf(document, resolve(document, { $ref: schema.$ref })), ...beside }
}

function mediaOf(document: Json, { node, pointer }: { node: Json; pointer: string }): Media[] {
  return Object.entries<Json>(node.content ?? {}).map(([type, media]) => ({
    type,
    schema: schemaOf(document, media.schema),
    pointer: `${pointer}/content/${segment(type)}/schema`,
  }))
}

function located(document: Json, node: Json, pointer: string): { node: Json; pointer: string } {
  return node.$ref === undefined
    ? { node, pointer }
    : located(document, resolve(document, { $ref: node.$ref }), node.$ref)
}

function segment(name: string): string {
  return encodeURIComponent(escaped(name))
}

/** The success response: the lowest declared status below 300 with this media type, or null. */
export function successOf(
  operation: Operation,
  type = 'application/json',
): { status: number; media: Media } | null {
  for (const [status, { media }] of [...operation.responses].sort(([a], [b]) => a - b)) {
    const found = status < 300 ? media.find((each) => each.type === type) : undefined
    if (found !== undefined) return { status, media: found }
  }
  return null
}

/** The prefix of a typed id, which identifies the resource: `prj_` for `^prj_[0-7]…`. Else null. */
export function kindOf(schema: Json): string | null {
  return /^\^([a-z]+_)(\[[^\]]+\])+\{\d+\}\$$/.exec(schema?.pattern ?? '')?.[1] ?? null
}

/** The names of a path's parameters, in order. */
export function pathNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
}
