// The operations of the OpenAPI document with references resolved. A run knows nothing else of the server.
import { escaped, keysOfFragment, valueAt } from './json-pointer.ts'
import { separators, styleOf, type Encoding } from './form-fields.ts'
import { hasItems, isForm, isJson, isJsonLines, isRange } from './media-types.ts'
import { methods } from './methods.ts'
import type { ParameterStyle } from './parameters.ts'
import { resolve } from './resolve.ts'
import { serverPath } from './servers.ts'
import { idKey, listIn, ownIdKey } from './resource-ids.ts'

export type Json = any

export { isJson, separators, styleOf, type Encoding }

export interface Parameter extends ParameterStyle {
  required: boolean
  schema: Json
  /** The JSON pointer of the schema in the document; null if there is none. */
  pointer: string | null
  /** The examples of the parameter itself, not those of its schema. */
  examples: Json[]
}

/** A media type of a body, its schema, and the JSON pointer of the schema in the document. */
export interface Media {
  type: string
  /** As in the document. */
  node: Json
  schema: Json
  pointer: string
  /** Whether the schema is the one of each item (`itemSchema`), in a stream of events or lines of JSON. */
  isItem: boolean
  /** How the properties of a form are sent, by name. */
  encoding: Record<string, Encoding>
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
  /** The path as in the document: `/projects/{id}`. */
  template: string
  /** The path item and the operation in the document. */
  item: Json
  node: Json
  tag: string
  parameters: Parameter[]
  body: { required: boolean; media: Media[] } | null
  responses: Map<number, Response>
  /** The responses for a range of statuses such as `4XX`, and for all others: `default`. */
  otherResponses: Map<string, Response>
  /**
   * The alternatives of which a request meets one, by sending all its credentials. An alternative without
   * credentials is an anonymous request. Empty if the operation has no security.
   */
  security: Credential[][]
  /** Where requests send the key: the alternative that most operations have. */
  credentials: Credential[]
  /** null if the operation needs no key. */
  scopes: string[] | null
  /** Whether the operation accepts a key but does not need one. */
  optionalKey: boolean
}

/** A place for the key in a request, such as the header `Authorization` with the prefix `Bearer `. */
export interface Credential {
  in: 'header' | 'query' | 'cookie'
  name: string
  scheme: 'bearer' | 'basic' | 'plain'
}

/** The operations in the order of the document. */
export function operationsOf(document: Json): Operation[] {
  const operations = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method] !== undefined && !isHidden(document, path, method))
      .map((method) => operationOf(document, path, item, method)),
  )
  const uses = new Map<string, number>()
  for (const name of operations.flatMap(({ security }) => [...new Set(security.map(nameOf))]))
    uses.set(name, (uses.get(name) ?? 0) + 1)
  for (const operation of operations) operation.credentials = mostUsed(operation.security, uses)
  return operations
}

/** Whether an earlier operation has the same path: no request has what follows a `#`. */
export function isHidden({ paths }: Json, path: string, method: string): boolean {
  const [own] = path.split('#')
  if (own === path) return false
  const before = Object.keys(paths).slice(0, Object.keys(paths).indexOf(path))
  return [own, ...before.filter((other) => other.startsWith(`${own}#`))].some(
    (other) => paths[other]?.[method] !== undefined,
  )
}

const nameOf = (credentials: Credential[]): string => JSON.stringify(credentials)

/** One key fits one kind of security, so that the operations of a document are called with the same one. */
function mostUsed(security: Credential[][], uses: Map<string, number>): Credential[] {
  const [first = []] = security
    .filter((credentials) => credentials.length > 0)
    .sort((a, b) => uses.get(nameOf(b))! - uses.get(nameOf(a))!)
  return first
}

function operationOf(document: Json, path: string, item: Json, method: string): Operation {
  const node = item[method]
  const security: Json[] = node.security ?? document.security ?? []
  const base = serverPath(node.servers ?? item.servers ?? document.servers)
  const at = `#/paths/${segment(path)}/${method}`
  const own = parametersOf(document, node.parameters, at)
  const shared = parametersOf(document, item.parameters, `#/paths/${segment(path)}`).filter(
    (parameter) => !own.some((other) => other.name === parameter.name && other.in === parameter.in),
  )
  // The body of a GET has no meaning in HTTP, and clients such as browsers cannot send one.
  const body =
    node.requestBody === undefined || method === 'get'
      ? null
      : located(document, node.requestBody, `${at}/requestBody`)
  const credentials = security.map((alternative) => credentialsOf(document, alternative))
  const needed = credentials.length > 0 && credentials.every((all) => all.length > 0)
  const responses = Object.keys(node.responses ?? {}).map((status) => {
    const response = located(document, node.responses[status], `${at}/responses/${status}`)
    const headers = Object.entries<Json>(response.node.headers ?? {}).map(([name, header]) => {
      const found = located(document, header, `${response.pointer}/headers/${segment(name)}`)
      const { required = false, schema } = found.node
      return { name, required, schema: schemaOf(document, schema), pointer: `${found.pointer}/schema` }
    })
    return [status, { media: mediaOf(document, response), headers }] as const
  })
  return {
    id: node.operationId ?? `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path: `${base}${path.split('#')[0]}`,
    template: path,
    item,
    node,
    tag: node.tags?.[0] ?? '',
    parameters: [...shared, ...own],
    body:
      body === null
        ? null
        : {
            required: body.node.required === true,
            media: mediaOf(document, body).toSorted(
              (a, b) => Number(isJson(b.type)) - Number(isJson(a.type)),
            ),
          },
    responses: new Map(
      responses
        .filter(([status]) => /^\d{3}$/.test(status))
        .map(([status, response]) => [Number(status), response]),
    ),
    otherResponses: new Map(
      responses
        .filter(([status]) => !/^\d{3}$/.test(status))
        .map(([status, response]) => [status.toUpperCase(), response]),
    ),
    security: credentials,
    credentials: [],
    scopes: needed
      ? [...new Set(security.flatMap((scheme) => Object.values<string[]>(scheme).flat()))]
      : null,
    optionalKey: !needed && credentials.some((all) => all.length > 0),
  }
}

/**
 * Header fields that are described elsewhere, so that a parameter of this name is ignored (OpenAPI 3.1,
 * 4.8.12).
 */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization'])

/** Whether OpenAPI ignores the parameter. */
export function isIgnoredParameter({ in: where, name }: { in: string; name: string }): boolean {
  return where === 'header' && ignoredHeaders.has(name.toLowerCase())
}

/** A parameter for the query as one value, which no tool reads. */
export const isQuerystring = (parameter: Json): boolean => parameter.in === 'querystring'

function parametersOf(document: Json, list: Json[] = [], at: string): Parameter[] {
  return list
    .map((given, i) => located(document, given, `${at}/parameters/${i}`))
    .filter(({ node }) => !isIgnoredParameter(node) && !isQuerystring(node))
    .map(({ node, pointer }) => {
      const { name, in: where, required = false, example, examples } = node
      // A parameter has a schema, or content of one media type.
      const [[type, media] = ['', {}]] = Object.entries<Json>(node.content ?? {})
      const within = node.schema === undefined ? `${pointer}/content/${segment(type)}` : pointer
      const schema = schemaOf(document, node.schema ?? media.schema)
      return {
        ...styleOfParameter(document, node, schema, type),
        name,
        in: where,
        required,
        schema,
        pointer: (node.schema ?? media.schema) === undefined ? null : `${within}/schema`,
        examples: [
          ...(example === undefined ? [] : [example]),
          ...Object.values<Json>(examples ?? {}).map((each) => resolve(document, each).value),
        ],
      }
    })
}

function styleOfParameter(
  document: Json,
  { in: where, style, explode, allowReserved, allowEmptyValue }: Json,
  schema: Json,
  content: string,
): Omit<ParameterStyle, 'name' | 'in'> {
  const own = style ?? (where === 'query' || where === 'cookie' ? 'form' : 'simple')
  const shapes = content === '' ? alternativesIn(document, schema) : []
  const types = new Set(
    shapes.flatMap(({ type, items, properties }) => type ?? (items ? 'array' : properties ? 'object' : [])),
  )
  const kind = types.has('array') ? 'array' : types.has('object') ? 'object' : 'primitive'
  const objects = shapes.filter(
    ({ properties, type }) => properties !== undefined || [type].flat().includes('object'),
  )
  const values =
    kind === 'array'
      ? shapes.map(({ items }) => items ?? {})
      : objects.flatMap(({ properties = {}, additionalProperties }) => [
          ...Object.values<Json>(properties),
          ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
        ])
  const isText = values.some((value) =>
    alternativesIn(document, value).some(
      (each) => each.enum === undefined && each.const === undefined && mayBeText(each.type),
    ),
  )
  const hasObjects = values.some((value) =>
    alternativesIn(document, value).some(
      ({ type, properties }) => properties !== undefined || [type].flat().includes('object'),
    ),
  )
  return {
    style: own,
    explode: explode ?? (own === 'form' || own === 'cookie' || own === 'deepObject'),
    kind,
    ...(kind !== 'primitive' && isText && { isText }),
    ...(hasObjects && { hasObjects }),
    ...(kind === 'array' &&
      [...types].some((type) => !['array', 'object', 'null'].includes(type)) && { orPrimitive: true }),
    ...(kind === 'object' && {
      names: [...new Set(objects.flatMap(({ properties = {} }) => Object.keys(properties)))],
      isOpen: objects.some(({ additionalProperties = true, properties }) =>
        additionalProperties === true ? properties === undefined : additionalProperties !== false,
      ),
    }),
    ...(content !== '' && isJson(content) && { isJson: true }),
    ...(allowReserved === true && { allowReserved }),
    ...(allowEmptyValue === true && { allowEmptyValue }),
  }
}

const mayBeText = (type: Json): boolean => type === undefined || [type].flat().includes('string')

/** The schema and its parts and alternatives, references resolved. */
function alternativesIn(document: Json, node: Json, depth = 0): Json[] {
  const schema = schemaOf(document, node === true || node === false ? {} : node)
  const inner = depth > 4 ? [] : [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  return [schema, ...inner.flatMap((each: Json) => alternativesIn(document, each, depth + 1))]
}

/** The schema with its `$ref` resolved; keywords beside each `$ref` are merged in. */
export function schemaOf(document: Json, schema: Json, hops = 0): Json {
  if (schema?.$ref === undefined || hops > 20) return schema ?? {}
  const { $ref, ...beside } = schema
  const target = schemaOf(document, valueAt(document, keysOfFragment($ref)), hops + 1)
  const { properties, required } = target
  return {
    ...target,
    ...beside,
    ...(properties && beside.properties && { properties: { ...properties, ...beside.properties } }),
    ...(required && beside.required && { required: [...new Set([...required, ...beside.required])] }),
  }
}

function mediaOf(document: Json, { node, pointer }: { node: Json; pointer: string }): Media[] {
  return Object.entries<Json>(node.content ?? {}).map(([type, media]) => {
    const isItem = hasItems(type) && media.schema === undefined && media.itemSchema !== undefined
    const keyword = isItem ? 'itemSchema' : 'schema'
    const schema = schemaOf(document, media[keyword])
    return {
      type,
      node: media,
      schema: isTextual(type) ? schema : orBytes(schema),
      pointer: `${pointer}/content/${segment(type)}/${keyword}`,
      isItem,
      encoding: media.encoding ?? {},
    }
  })
}

const isTextual = (type: string): boolean =>
  isJson(type) || isForm(type) || isJsonLines(type) || type.startsWith('text/') || isRange(type)

/** A body that is no text needs no schema (OpenAPI 3.1, 4.8.14.1). */
const orBytes = (schema: Json): Json =>
  Object.keys(schema).length === 0 ? { type: 'string', format: 'binary' } : schema

function located(document: Json, node: Json, pointer: string): { node: Json; pointer: string } {
  return node.$ref === undefined
    ? { node, pointer }
    : located(document, resolve(document, { $ref: node.$ref }), node.$ref)
}

function segment(name: string): string {
  return encodeURIComponent(escaped(name))
}

/** How the properties of a form of this media type are sent. */
export function encodingOf({ body }: Operation, type: string): Media['encoding'] {
  return body?.media.find((each) => each.type === type)?.encoding ?? {}
}

/** The declared response for the status, also by its range (`4XX`) or as the default. */
export function responseFor({ responses, otherResponses }: Operation, status: number): Response | undefined {
  return (
    responses.get(status) ??
    otherResponses.get(`${Math.floor(status / 100)}XX`) ??
    otherResponses.get('DEFAULT')
  )
}

/** Whether the operation declares a success. A client of HTTP does not see an upgrade (1xx). */
export function hasSuccess({ responses, otherResponses }: Operation): boolean {
  return [...responses.keys(), ...otherResponses.keys()].some((status) => /^([23]|DEFAULT)/.test(`${status}`))
}

/** The success response: the lowest declared status below 300 with a JSON body, or null. */
export function successOf(operation: Operation): { status: number; media: Media } | null {
  const ranges = [...operation.otherResponses].flatMap(([range, response]): Array<[number, Response]> =>
    range === '2XX' ? [[200, response]] : [],
  )
  for (const [status, { media }] of [...operation.responses, ...ranges].sort(([a], [b]) => a - b)) {
    const found = status < 300 ? media.find(({ type }) => isJson(type)) : undefined
    if (found !== undefined) return { status, media: found }
  }
  return null
}

/**
 * The kind of resource that the schema's values identify: of a typed id its prefix (`prj_` for
 * `^prj_[0-7]…`), of another id its collection. null if the schema is no id.
 */
export function kindOf(schema: Json): string | null {
  // A filter may also take `*`.
  const [pattern] = (schema?.pattern ?? '').split('|^\\*$')
  return schema?.[idKey] ?? /^\^([a-z]+_)(\[[^\]]+\])+\{\d+\}\$$/.exec(pattern)?.[1] ?? null
}

/** The name of the property that identifies an object of the schema, and the kind of the object; or null. */
export function ownId(document: Json, schema: Json): { name: string; kind: string } | null {
  const properties: Json = schema?.properties ?? {}
  const name = Object.keys(properties).find((each) => properties[each]?.[ownIdKey] === true) ?? 'id'
  const kind = kindOf(schemaOf(document, properties[name]))
  return kind === null ? null : { name, kind }
}

/** The id of an object of the schema as text; null if it has none. */
export function idIn(document: Json, schema: Json, value: Json): string | null {
  const id = value?.[ownId(document, schema)?.name ?? 'id']
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null
}

/** The list that the operation returns: the schema of its items, and the property that holds them. */
export function listOf(document: Json, operation: Operation): { item: Json; property: string | null } | null {
  const schema = operation.method === 'GET' ? successOf(operation)?.media.schema : undefined
  return schema === undefined ? null : listIn(document, schema)
}

/** The places of the key for an alternative of an operation's security. */
function credentialsOf(document: Json, alternative: Json): Credential[] {
  return Object.keys(alternative).flatMap((name) => placeOf(document, name) ?? [])
}

/** Where the credentials of the security scheme go; null for client certificates, which no request has. */
export function placeOf(document: Json, name: string): Credential | null {
  const node = resolve(document, document.components?.securitySchemes?.[name]) ?? {}
  if (node.type === 'mutualTLS') return null
  if (node.type === 'apiKey') return { in: node.in, name: node.name, scheme: 'plain' }
  const scheme = node.type === 'http' ? node.scheme?.toLowerCase() : 'bearer'
  return {
    in: 'header',
    name: 'Authorization',
    scheme: scheme === 'bearer' || scheme === 'basic' ? scheme : 'plain',
  }
}

/** The names of a path's parameters, in order. */
export function pathNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
}
