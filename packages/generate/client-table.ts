// The table of operations that a generated client reads at run time.
import type { OperationRow } from '../client/operation-row.ts'
import type { ListShape, NextPage } from '../client/pages.ts'
import {
  listOf,
  placeOf,
  schemaOf,
  successOf,
  type Media,
  type Operation,
  type Parameter,
  type Response,
} from '@platform-api/openapi/document.ts'
import { plain } from '@platform-api/openapi/plain-schemas.ts'
import { essenceOf, isJson } from '@platform-api/openapi/media-types.ts'
import { pagingOf } from '@platform-api/openapi/paging.ts'
import type { ParameterStyle } from '@platform-api/openapi/parameters.ts'
import { formOf } from './forms.ts'
import { serverPath } from '@platform-api/openapi/servers.ts'
import { propertiesOf } from '@platform-api/openapi/views.ts'

type Json = any

const eventStream = 'text/event-stream'

export function rowOf(document: Json, operation: Operation, name?: string): OperationRow {
  const { method, template, path, node, parameters, body } = operation
  const media = body?.media ?? []
  const isPlainJson = media.length === 1 && essenceOf(media[0].type) === 'application/json'
  const header = (pattern: RegExp): Parameter | undefined =>
    parameters.find((each) => each.in === 'header' && pattern.test(each.name))
  const answer = answerOf(document, operation)
  const stream = streamOf(operation)
  return {
    method,
    path: template,
    prefix: path.slice(0, path.length - template.split('#')[0].length),
    origin: ownOrigin(document, operation),
    name,
    body: body === null ? undefined : true,
    query: parameters.some((each) => each.in === 'query') || undefined,
    parameters: orNothing(parameters.filter((each) => !isUsual(each)).map(styleOf)),
    answer,
    accept: acceptOf(document, operation),
    media:
      media.length === 0 || isPlainJson
        ? undefined
        : media.map((each) => ({
            type: each.type,
            files: orNothing(requiredFiles(document, each)),
            encoding: Object.keys(each.encoding).length === 0 ? undefined : each.encoding,
          })),
    idempotent: header(/^(x-)?idempotency-?key$/i)?.name,
    list: answer === 'json' ? pagesOf(document, operation) : undefined,
    streams: (stream !== null && answer !== 'events') || undefined,
    ends: stream?.ends,
    resumes: stream === null ? undefined : header(/^last-event-id$/i) !== undefined || undefined,
    answers: stream?.answers,
    security: ownSecurity(document, node),
  }
}

function requiredFiles(document: Json, media: Media): string[] {
  const { required = [] } = media.schema
  return (formOf(document, media)?.files ?? []).filter((name) => required.includes(name))
}

/** undefined if it is that of the document. */
function ownSecurity(document: Json, node: Json): string[][] | undefined {
  if (node.security === undefined) return undefined
  const [own, shared] = [node.security, document.security ?? []].map((each) => namesOf(document, each))
  return JSON.stringify(own) === JSON.stringify(shared) ? undefined : own
}

/** The names of the security schemes of each alternative whose credentials are in a request. */
export function namesOf(document: Json, security: Json[]): string[][] {
  return security.map((alternative) =>
    Object.keys(alternative).filter((name) => placeOf(document, name) !== null),
  )
}

const orNothing = <Item>(items: Item[]): Item[] | undefined => (items.length === 0 ? undefined : items)

/** Whether the client writes the parameter as it is declared without a style in the table. */
function isUsual({ in: where, style, explode, kind, isJson: json, allowReserved }: Parameter): boolean {
  const inQuery = where === 'query' || where === 'cookie'
  return (
    json !== true &&
    allowReserved !== true &&
    style === (inQuery ? 'form' : 'simple') &&
    (kind === 'primitive' || (kind === 'array' && inQuery === explode))
  )
}

function styleOf(parameter: Parameter): ParameterStyle {
  const { in: where, name, style, explode, kind, isJson: json, allowReserved } = parameter
  return { in: where, name, style, explode, kind, isJson: json, allowReserved }
}

/** The origin of the operation's own server, if the document's is another one. */
function ownOrigin(document: Json, { node, item }: Operation): string | undefined {
  const own = node.servers ?? item.servers
  const origin = own === undefined ? undefined : originOf(own)
  return origin === originOf(document.servers) ? undefined : origin
}

/** undefined if the first server is relative, or has variables without a value. */
export function originOf(servers: Json[] | undefined): string | undefined {
  const { url = '', variables = {} } = servers?.[0] ?? {}
  const filled = url.replace(/\{([^}]+)\}/g, (_: string, name: string) => variables[name]?.default ?? '')
  return /^https?:/i.test(filled) && URL.canParse(filled) ? new URL(filled).origin : undefined
}

export const prefixOf = (document: Json): string => serverPath(document.servers)

/** The responses of a success: those below 300, or else the default one. */
export function successesOf(operation: Operation): Array<[status: string, response: Response]> {
  const declared = Object.keys(operation.node.responses ?? {})
  const all = declared.flatMap((status): Array<[string, Response]> => {
    const response =
      operation.responses.get(Number(status)) ?? operation.otherResponses.get(status.toUpperCase())
    return response === undefined ? [] : [[status, response]]
  })
  const successes = all.filter(([status]) => /^[12]/.test(status))
  return successes.length > 0 ? successes : all.filter(([status]) => status === 'default')
}

/** The media types of the successes that the method returns: JSON, or else those of the first success. */
export function returnedMedia(operation: Operation): Array<{ status: string; media: Media | null }> {
  const successes = successesOf(operation)
  const hasJson = successes.some(([, { media }]) => media.some(({ type }) => isJson(type)))
  const first = successes.find(([, { media }]) => media.length > 0)?.[1].media[0].type
  return successes.map(([status, { media }]) => ({
    status,
    media: media.find(({ type }) => (hasJson ? isJson(type) : type === first)) ?? null,
  }))
}

export function answerOf(document: Json, operation: Operation): OperationRow['answer'] {
  const media = returnedMedia(operation).find((each) => each.media !== null)?.media
  if (media === null || media === undefined) return null
  const type = essenceOf(media.type)
  if (type === eventStream) return 'events'
  if (isJson(type)) return 'json'
  if (schemaOf(document, media.schema).format === 'binary') return 'bytes'
  return type.startsWith('text/') || /[/+]xml$|^application\/(yaml|x-yaml)$/.test(type) ? 'text' : 'bytes'
}

/** The media types to ask for, if the successes have others as well. */
function acceptOf(document: Json, operation: Operation): string | undefined {
  const all = successesOf(operation).flatMap(([, { media }]) => media.map(({ type }) => type))
  const wanted = [...new Set(returnedMedia(operation).flatMap(({ media }) => media?.type ?? []))]
  return wanted.length > 0 && all.some((type) => !wanted.includes(type)) ? wanted.join(', ') : undefined
}

interface Stream {
  status: string
  media: Media
  /** The schemas of the events by name (`x-stream-events`), if the document has them. */
  events: Record<string, Json> | null
  ends: string[] | undefined
  answers: OperationRow['answers']
}

/** The event stream that a success is or can be. */
export function streamOf(operation: Operation): Stream | null {
  for (const [status, { media }] of successesOf(operation)) {
    const found = media.find(({ type }) => essenceOf(type) === eventStream)
    if (found === undefined) continue
    return {
      status,
      media: found,
      events: found.node['x-stream-events'] ?? null,
      ends: found.node['x-stream-ends'],
      answers: found.node['x-stream-answer'],
    }
  }
  return null
}

/** How the pages of the list are read, by what the document declares; undefined if it is no list or whole. */
export function pagesOf(document: Json, operation: Operation): ListShape | undefined {
  const success = operation.method === 'GET' ? successOf(operation) : null
  if (success === null) return undefined
  const body = propertiesOf(document, success.media.schema)
  const items = itemsProperty(document, operation, success.media.schema, body)
  if (items === undefined) return undefined
  const next = nextPageOf(document, operation, body)
  const { page } = pagingOf(operation)
  return next === null
    ? undefined
    : { items, next, page: next.by === 'page' || page === null ? undefined : page.name }
}

/** The property with the items; null if the body is the list; undefined if there is none. */
function itemsProperty(
  document: Json,
  operation: Operation,
  schema: Json,
  body: Record<string, Json>,
): string | null | undefined {
  const isList = (node: Json): boolean => [schemaOf(document, node).type].flat().includes('array')
  if (isList(schema)) return null
  const known = listOf(document, operation)?.property
  if (known !== undefined && known !== null) return known
  const lists = Object.keys(body).filter((name) => isList(body[name]))
  return lists.length === 1
    ? lists[0]
    : lists.find((name) => /^(data|items|results|values|entries)$/i.test(name))
}

const cursorNames =
  /^(next|next_?(page_?)?(cursor|token)|(page_?)?(cursor|token)_?next|next_?page|continuation(_?token)?)$/i
const moreNames = /^(has_?(more|next)(_?page)?|more)$/i

function nextPageOf(document: Json, operation: Operation, body: Record<string, Json>): NextPage | null {
  const { cursor, page, offset, limit } = pagingOf(operation)
  const find = (names: RegExp, type: string): string[] | undefined =>
    wayTo(document, body, (name, schema) => names.test(name) && [schema.type].flat().includes(type))
  const more = find(moreNames, 'boolean')
  const next = find(cursorNames, 'string')
  const isUrl = next !== undefined && schemaAt(document, body, next).format === 'uri'
  if (cursor !== null && next !== undefined && !isUrl)
    return { by: 'cursor', parameter: cursor.name, from: next, more }
  if (cursor !== null && more !== undefined && /after$/i.test(cursor.name))
    return { by: 'after', parameter: cursor.name, id: 'id', more }
  if (isUrl) return { by: 'link', from: next }
  const success = successesOf(operation)[0]?.[1]
  if (success?.headers.some(({ name }) => name.toLowerCase() === 'link')) return { by: 'link' }
  const numbered = page ?? offset
  if (numbered === null) return null
  const { default: first, minimum } = numbered.schema
  return {
    by: page === null ? 'offset' : 'page',
    parameter: numbered.name,
    first: first ?? minimum ?? (page === null ? 0 : 1),
    limit: limit?.name,
    size: limit?.schema.default,
    maximum: limit?.schema.maximum,
  }
}

/** The way to a property of the body, or of an object in it. */
function wayTo(
  document: Json,
  body: Record<string, Json>,
  matches: (name: string, schema: Json) => boolean,
): string[] | undefined {
  const names = Object.keys(body)
  const own = names.find((name) => matches(name, plain(document, body[name])))
  if (own !== undefined) return [own]
  for (const name of names) {
    const inner = propertiesOf(document, plain(document, body[name]))
    const found = Object.keys(inner).find((each) => matches(each, plain(document, inner[each])))
    if (found !== undefined) return [name, found]
  }
  return undefined
}

function schemaAt(document: Json, body: Record<string, Json>, [first, second]: string[]): Json {
  const own = plain(document, body[first])
  return second === undefined ? own : plain(document, propertiesOf(document, own)[second])
}
