// From what a handler answers to the bytes that go out: serialized as the spec declares, so that what it does not
// declare never leaves.
import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'
import serializers from '../generated/serializers.js'
import { operations, type OperationId } from '../generated/operations.ts'
import type { OperationInfo } from '../services/operation.ts'
import { etagOf } from './conditional.ts'

const require = createRequire(import.meta.url)
let replies: Record<string, ValidateFunction> | undefined

export interface Rendered {
  status: number
  headers: Record<string, string>
  /** null for an answer with no body. */
  text: string | null
}

interface Answer { status: number, body?: unknown, headers?: Record<string, string> }

/**
 * `strict` holds the body against the spec, undeclared fields included, and throws when it breaks it.
 * An undeclared status always throws.
 */
export function render (info: OperationInfo, answer: Answer, strict: boolean): Rendered {
  const { status, body } = answer
  const declared = info.replies[status]
  if (declared === undefined) throw new Error(`${info.id} answered ${status}, which the spec does not declare`)
  const headers: Record<string, string> = { ...answer.headers }
  if (declared.contentType === null) return { status, headers, text: null }
  const text = serialize(info, status, body, strict)
  headers['content-type'] = `${declared.contentType}; charset=utf-8`
  if (info.etag && status < 300) headers.etag = etagOf(text)
  return { status, headers, text }
}

/** The ETag that the GET of this operation's path would give for `entity`: what If-Match is held against. */
export function entityTag (info: OperationInfo, entity: unknown): string {
  return etagOf(serialize(operations[info.ifMatch as OperationId], 200, entity, false))
}

function serialize (info: OperationInfo, status: number, body: unknown, strict: boolean): string {
  const { serializer } = info.replies[status]
  if (serializer === undefined) return body as string
  if (strict) {
    // A third of the generated code, and only tests and a setting have a use for it.
    replies ??= (require('../generated/replies.js') as { default: Record<string, ValidateFunction> }).default
    const validate = replies[serializer]
    if (!validate(body)) {
      const first = validate.errors![0]
      throw new Error(`${info.id} answered a ${status} body that breaks the spec: ${first.instancePath} ${first.message} ${JSON.stringify(first.params)}`)
    }
  }
  return serializers[serializer](body)
}

/** The Link header of a page (RFC 8288): first, prev, next and last, with the other parameters kept. */
export function pageLinks (base: string, query: Record<string, unknown>, pagination: { page: number, total_pages: number }): string {
  const { page, total_pages: last } = pagination
  const link = (to: number, rel: string): string => {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) if (value !== undefined && name !== 'page') parameters.set(name, String(value))
    parameters.set('page', String(to))
    return `<${base}?${parameters}>; rel="${rel}"`
  }
  return [
    link(1, 'first'),
    ...(page > 1 ? [link(Math.min(page - 1, Math.max(1, last)), 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next')] : []),
    link(Math.max(1, last), 'last')
  ].join(', ')
}
