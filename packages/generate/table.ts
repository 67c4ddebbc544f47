// Writes the table of operations and the routes of a server for any document.
import { keysOfFragment, valueAt } from '@platform-api/openapi/json-pointer.ts'
import { pathNames, type Operation, type Parameter, type Response } from '@platform-api/openapi/document.ts'
import { groupBy } from '@platform-api/openapi/group-by.ts'
import { concreteType, essenceOf } from '@platform-api/openapi/media-types.ts'
import { formOf } from './forms.ts'
import { modulesOf } from './names.ts'

type Json = any

const text = (value: string): string => JSON.stringify(value)

/** The source of operations.ts: the ids by tag, and what the server needs to know of each operation. */
export function emitTable(
  document: Json,
  operations: Operation[],
  { validatesFormats, bodyLimit = 1_048_576 }: { validatesFormats: boolean; bodyLimit?: number },
): string {
  const byTag = modulesOf(operations).map(
    ({ tag, operations: own }) => `  ${text(tag)}:\n${own.map(({ id }) => `    | ${text(id)}`).join('\n')}`,
  )
  const rows = operations.map(
    (operation) => `  ${text(operation.id)}: ${JSON.stringify(row(document, operation))},`,
  )
  const files = operations.flatMap(({ id, body }) => {
    const names = (body?.media ?? []).flatMap((media) => formOf(document, media)?.files ?? [])
    return names.length === 0 ? [] : [`  ${text(id)}: ${names.map(text).join(' | ')}`]
  })
  const streams = operations.filter(({ responses }) =>
    [...responses.values()].some(({ media }) => media.some(({ isItem }) => isItem)),
  )
  return `import type { ParameterStyle } from './openapi/parameters.ts'

/** The operations of each tag; a tag is a module of handlers/. */
export interface OperationsByTag {
${byTag.join('\n')}
}

export type OperationId = OperationsByTag[keyof OperationsByTag]

/** The fields of multipart forms that are files. */
export interface FormFiles {
${files.join('\n')}
}

/** The operations whose answers are streams of items by \`itemSchema\`. */
export type ItemStreams = ${streams.map(({ id }) => text(id)).join(' | ') || 'never'}

/** A place for the key in a request. */
export interface Credential {
  in: 'header' | 'query' | 'cookie'
  name: string
  scheme: 'bearer' | 'basic' | 'plain'
}

export interface ParameterInfo extends ParameterStyle {
  required: boolean
  /** Where openapi.json has the schema; null if there is none. */
  pointer: string | null
}

/** The fields of a form that are JSON, files and lists. */
export interface FormInfo {
  json: string[]
  files: string[]
  lists: string[]
}

export interface MediaInfo {
  type: string
  /** Where openapi.json has the schema; null if there is none. */
  pointer: string | null
  form?: FormInfo
}

export interface AnswerMedia {
  /** As declared; it may be a range. */
  type: string
  /** The media type that is sent if the answer names none. */
  sent: string
  /** Where openapi.json has the schema; null if there is none. */
  pointer: string | null
  /** Whether the schema is the one of each item of a stream. */
  isItem?: true
}

export interface AnswerInfo {
  media: AnswerMedia[]
  /** The names of the required header fields. */
  headers: string[]
}

export interface OperationInfo {
  id: OperationId
  method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH' | 'OPTIONS'
  /** In the notation of the router. The parameters are \`p0\`, \`p1\` and so on. */
  url: string
  /** The path as in the document. */
  template: string
  /** The names of its parameters, in order. */
  pathNames: string[]
  /** Values that the query must have: a document may have paths such as \`/items?beta=true\`. */
  fixedQuery?: Array<[name: string, value: string]>
  parameters: ParameterInfo[]
  body: { required: boolean; media: MediaInfo[] } | null
  /** By status, range of statuses (\`4XX\`), or \`default\`. */
  answers: Record<string, AnswerInfo>
  /** The alternatives of which a request meets one, by sending all its credentials; [] is none. */
  security: Credential[][]
  /** The alternative that most operations have. */
  credentials: Credential[]
  /** null for an operation without a key. */
  scopes: string[] | null
  optionalKey: boolean
  hasHead?: boolean
}

/** Whether values of schemas with a format must have it. */
export const validatesFormats = ${validatesFormats}

/** The most bytes of a request's body. */
export const bodyLimit = ${bodyLimit}

export const operations: Record<OperationId, OperationInfo> = {
${rows.join('\n')}
}
`
}

function row(document: Json, operation: Operation): object {
  const { id, method, path, parameters, body, security, credentials, scopes, optionalKey, item } = operation
  const [pathPart, queryPart] = path.split('?')
  const all = [...operation.responses, ...operation.otherResponses]
  return {
    id,
    method,
    url: routerUrl(pathPart),
    pathNames: pathNames(pathPart),
    fixedQuery: queryPart === undefined ? undefined : [...new URLSearchParams(queryPart)],
    template: pathPart,
    parameters: parameters.map(parameterRow),
    body:
      body === null
        ? null
        : {
            required: body.required,
            media: body.media.map((media) => ({
              type: essenceOf(media.type),
              pointer: hasSchema(document, media.pointer) ? media.pointer : null,
              form: formOf(document, media) ?? undefined,
            })),
          },
    answers: Object.fromEntries(
      all.map(([status, response]) => [
        status === 'DEFAULT' ? 'default' : String(status),
        answerRow(document, response),
      ]),
    ),
    security,
    credentials,
    scopes,
    optionalKey,
    hasHead: item.head === undefined ? undefined : true,
  }
}

function answerRow(document: Json, { media, headers }: Response): object {
  return {
    media: media.map(({ type, schema, pointer, isItem }) => ({
      type,
      sent: concreteType(type, schema),
      pointer: hasSchema(document, pointer) ? pointer : null,
      isItem: isItem || undefined,
    })),
    headers: headers
      .filter(({ required, name }) => required && !/^content-type$/i.test(name))
      .map(({ name }) => name),
  }
}

/** The parameter without what openapi.json has of it. */
function parameterRow({ schema: _schema, examples: _examples, ...row }: Parameter): object {
  return row
}

const resolveOnce = (document: Json, ref: string): Json => valueAt(document, keysOfFragment(ref))

function hasSchema(document: Json, pointer: string): boolean {
  return resolveOnce(document, pointer) !== undefined
}

/** `/pets/{petId}:feed` as `/pets/:p0([^/]+?)::feed`. Routers do not accept all names of parameters. */
function routerUrl(path: string): string {
  let count = 0
  return path
    .split('/')
    .map((part) => {
      if (/^\{[^}]+\}$/.test(part)) return `:p${count++}`
      return part.replaceAll(':', '::').replace(/\{[^}]+\}/g, () => `:p${count++}([^/]+?)`)
    })
    .join('/')
}

/** The source of handlers.ts: all handlers in one object. */
export function emitHandlers(operations: Operation[], folder: string): string {
  const modules = modulesOf(operations)
  return `${modules.map(({ name, file }) => `import { ${name} } from '../${folder}/${file}.ts'`).join('\n')}
import type { AllHandlers } from './handler.ts'

/** The handlers of all operations. A missing handler is a type error. */
export const handlers: AllHandlers = {
${modules.map(({ name }) => `  ...${name},`).join('\n')}
}
`
}

/** The source of routes.ts: a minimal document for fastify-openapi-glue. */
export function emitRoutes(operations: Operation[]): string {
  const paths = groupBy(operations, ({ path }) => path.split('?')[0])
  const rows = [...paths].map(([path, own]) => {
    // Operations with the same method and path differ in their query: the server chooses.
    const entries = [...groupBy(own, ({ method }) => method)].map(
      ([method, [{ id }]]) => `${method.toLowerCase()}: route(${text(id)})`,
    )
    return `    ${text(path)}: { ${entries.join(', ')} },`
  })
  return `import type { OperationId } from './operations.ts'

const route = (operationId: OperationId) => ({ operationId, responses: { default: { description: '' } } })

/** A minimal document for fastify-openapi-glue: only paths and operationIds. */
export const skeleton = {
  openapi: '3.1.0',
  info: { title: 'skeleton', version: '1' },
  paths: {
${rows.join('\n')}
  },
}
`
}
