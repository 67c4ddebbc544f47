// Serialises a handler's answer as the spec declares it. Undeclared fields never leave the server.
import serializers from '../../generated/serializers.js'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { Replay } from '../../infra/contract/replay.ts'
import { flattened } from '../../infra/validation/query-objects.ts'
import { assertMatchesSchema } from '../../infra/validation/response-check.ts'
import { etagOf } from './etag.ts'
import { operationsAt } from '../../infra/contract/operations-by-path.ts'

export interface RenderedResponse {
  status: number
  headers: Record<string, string>
  /** null for a response without a body. */
  text: string | null
}

/** The stored response, marked as a replay. */
export function replayOf(stored: RenderedResponse): Replay {
  return new Replay({ ...stored, headers: headersOf({ ...stored, replayed: true }) })
}

/** The return value of a handler. */
export interface HandlerAnswer {
  status: number
  body?: any
  headers?: Record<string, string>
  /**
   * Whether this repeats the response to an earlier request with the same Idempotency-Key. `cancelMessage`
   * assumes so when the answer is canceled already.
   */
  replayed?: boolean
}

/** The header fields of an answer. */
export function headersOf({ headers, replayed }: Omit<HandlerAnswer, 'status'>): Record<string, string> {
  return { ...headers, ...(replayed === true && { 'idempotent-replayed': 'true' }) }
}

/**
 * Throws for an undeclared status. With `strict` it also throws for a body that does not match its schema,
 * undeclared fields included.
 */
export function render(info: OperationInfo, answer: HandlerAnswer, strict: boolean): RenderedResponse {
  const { status, body } = answer
  const declared = info.replies[status]
  if (declared === undefined)
    throw new Error(`${info.id} answered ${status}, which the spec does not declare`)
  const headers = headersOf(answer)
  if (declared.contentType === null) return { status, headers, text: null }
  const text = serialize(info, status, body, strict)
  headers['content-type'] = `${declared.contentType}; charset=utf-8`
  if (info.etag && status < 300)
    headers.etag =
      headers.location === undefined
        ? etagFor(info, status, body, text)
        : createdTag(info, answer, headers.location, text)
  return { status, headers, text }
}

/** By serializer and data. */
const serialized = new Map<string, WeakMap<object, string>>()

/** The data of a server-sent event as JSON. Many streams send the same object, so it is serialised once. */
export function eventText(
  info: OperationInfo,
  status: number,
  event: string,
  data: object,
  strict: boolean,
): string {
  const serializer = info.replies[status].events?.[event]
  if (serializer === undefined)
    throw new Error(`${info.id} sent the event ${event}, which the spec does not declare`)
  let texts = serialized.get(serializer)
  if (texts === undefined) serialized.set(serializer, (texts = new WeakMap()))
  let text = texts.get(data)
  if (text === undefined) {
    text = write(`${info.id} ${event}`, serializer, data, strict)
    texts.set(data, text)
  }
  return text
}

/**
 * Caches, by operation and status, the GET operation of the created resource. The status matters: `addMember`
 * creates a member with 201 and an invitation with 202.
 */
const readOperations = new Map<string, OperationInfo>()

/**
 * The ETag that a GET of the new resource returns. The answer of the creation may have more fields, such as a
 * secret.
 */
function createdTag(
  info: OperationInfo,
  { status, body }: HandlerAnswer,
  location: string,
  text: string,
): string {
  const created = `${info.id} ${status}`
  const read = readOperations.get(created) ?? operationsAt(location).find(({ method }) => method === 'GET')
  if (read === undefined) throw new Error(`no GET operation has the path ${location}`)
  readOperations.set(created, read)
  const isSame = read.replies[200].serializer === info.replies[status].serializer
  return etagFor(read, 200, body, isSame ? text : serialize(read, 200, body, false))
}

/** The ETag that the GET operation of the same resource has for `entity`; If-Match is compared with it. */
export function entityTag(info: OperationInfo, entity: unknown): string {
  const read = operations[info.ifMatch as OperationId]
  return etagFor(read, 200, entity, serialize(read, 200, entity, false))
}

/** Sets volatile fields to 0 or null: counters that others change would make every precondition fail. */
function etagFor(info: OperationInfo, status: number, body: unknown, text: string): string {
  const { volatile } = info.replies[status]
  if (volatile === undefined) return etagOf(text)
  const stable = { ...(body as Record<string, unknown>) }
  for (const field of volatile) stable[field] = typeof stable[field] === 'number' ? 0 : null
  return etagOf(serialize(info, status, stable, false))
}

function serialize(info: OperationInfo, status: number, body: unknown, strict: boolean): string {
  const { serializer } = info.replies[status]
  return serializer === undefined ? (body as string) : write(`${info.id} ${status}`, serializer, body, strict)
}

function write(what: string, serializer: string, body: unknown, strict: boolean): string {
  if (strict) assertMatchesSchema(`the body of ${what}`, serializer, body)
  return serializers[serializer](body)
}

const maxLinkLength = 4096

interface Pagination {
  page: number
  total_pages: number
  next_cursor: string | null
}

/**
 * The Link header of a page (RFC 8288): first, prev, next and last. A page that was requested by a cursor
 * links to the first and the next page only. Other query parameters are kept. If the links are
 * long, only the one to the first page is sent, because clients and proxies refuse large headers.
 */
export function pageLinks(
  base: string,
  query: Record<string, unknown>,
  { page, total_pages, next_cursor }: Pagination,
): string {
  const { page: _page, cursor: _cursor, ...rest } = query
  const kept = `${new URLSearchParams(flattened(rest))}`
  const link = (rel: string, place = ''): string => {
    const parameters = [kept, place].filter((part) => part !== '').join('&')
    return `<${base}${parameters === '' ? '' : `?${parameters}`}>; rel="${rel}"`
  }
  const links: string[] = []
  if (query.cursor !== undefined) {
    links.push(link('first'))
    if (next_cursor !== null) links.push(link('next', `cursor=${encodeURIComponent(next_cursor)}`))
  } else {
    const last = Math.max(1, total_pages)
    links.push(link('first', 'page=1'))
    if (page > 1) links.push(link('prev', `page=${Math.min(page - 1, last)}`))
    if (page < last) links.push(link('next', `page=${page + 1}`))
    links.push(link('last', `page=${last}`))
  }
  const header = links.join(', ')
  return header.length > maxLinkLength ? links[0] : header
}
