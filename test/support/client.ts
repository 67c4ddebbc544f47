// Requests over real HTTP, each answer held against the published contract: status, headers, media type and body.
import replies from '../../generated/replies.js'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { ValidateFunction } from 'ajv'

export interface Reply { status: number, headers: Headers, body: any, text: string, operation: OperationId | null }

export interface Init { body?: unknown, headers?: Record<string, string>, /** The body as it is, instead of JSON. */ raw?: string | Uint8Array<ArrayBuffer> }

/** Every operation and status that was seen and held against the spec, as `getProject 200`. */
export const seen = new Set<string>()

// A path without parameters means its own operation and no other.
const table = Object.values(operations).map((info) => ({
  info, pattern: new RegExp(`^${info.path.replace(/[.]/g, '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`)
})).sort((a, b) => Number(a.info.path.includes('{')) - Number(b.info.path.includes('{')))

/** The operation that a request means, by method and path. */
export function operationAt (method: string, path: string): OperationId | null {
  const plain = path.split('?')[0]
  const found = table.find(({ info, pattern }) => info.method === method && pattern.test(plain))
  return found === undefined ? null : found.info.id as OperationId
}

/** @throws when the answer is not one that the spec declares for the operation. */
export function holdAgainstSpec (id: OperationId, status: number, headers: Headers, body: unknown): void {
  const declared = operations[id].replies[status]
  if (declared === undefined) throw new Error(`${id} answered ${status}, which the spec does not declare: ${JSON.stringify(body)}`)
  const type = headers.get('content-type')
  if (declared.contentType === null) {
    if (body !== undefined && body !== '') throw new Error(`${id} ${status} has a body, which the spec does not declare`)
  } else {
    if (type?.split(';')[0] !== declared.contentType) throw new Error(`${id} ${status} is ${type}, declared is ${declared.contentType}`)
    if (declared.serializer !== undefined) {
      const validate = replies[declared.serializer] as ValidateFunction
      if (!validate(body)) throw new Error(`${id} ${status} breaks the spec: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`)
    }
  }
  if (headers.get('x-request-id') === null) throw new Error(`${id} ${status} has no X-Request-ID`)
  if (headers.get('x-content-type-options') !== 'nosniff') throw new Error(`${id} ${status} has no X-Content-Type-Options`)
  if (operations[id].etag && status < 300 && headers.get('etag') === null) throw new Error(`${id} ${status} has no ETag`)
  if (operations[id].paged && status === 200 && headers.get('link') === null) throw new Error(`${id} ${status} has no Link`)
  if (status >= 400 && headers.get('cache-control') !== 'no-store' && declared.contentType === 'application/json' && id !== 'getReadiness') throw new Error(`${id} ${status} could be cached`)
  seen.add(`${id} ${status}`)
}

/** Paths are relative to /v1, or absolute for what stands outside it. */
export function fullPath (path: string): string {
  return /^\/(healthz|readyz|openapi\.(json|yaml)|docs|metrics|v1)/.test(path) ? path : `/v1${path}`
}

export type Client = ReturnType<typeof createClient>

export function createClient (url: string, key: string | null) {
  async function call (method: string, path: string, { body, raw, headers = {} }: Init = {}): Promise<Reply> {
    const full = fullPath(path)
    const sent: Record<string, string> = { ...headers }
    if (key !== null && sent.authorization === undefined) sent.authorization = `Bearer ${key}`
    if (body !== undefined && sent['content-type'] === undefined) sent['content-type'] = 'application/json'
    const response = await fetch(url + full, { method, headers: sent, body: raw ?? (body === undefined ? undefined : JSON.stringify(body)), redirect: 'manual' })
    const type = response.headers.get('content-type')
    const text = type?.startsWith('text/event-stream') ? await beginningOf(response) : await response.text()
    const isJson = type?.startsWith('application/json') === true
    const parsed = text === '' ? undefined : isJson ? JSON.parse(text) : text
    const operation = operationAt(method, full)
    if (operation !== null) holdAgainstSpec(operation, response.status, response.headers, parsed)
    return { status: response.status, headers: response.headers, body: parsed, text, operation }
  }
  return {
    call,
    get: (path: string, init?: Init) => call('GET', path, init),
    post: (path: string, body?: unknown, init: Init = {}) => call('POST', path, { body, ...init }),
    put: (path: string, body?: unknown, init: Init = {}) => call('PUT', path, { body, ...init }),
    delete: (path: string, init?: Init) => call('DELETE', path, init)
  }
}

/** What a stream that never ends says first; then it is left. */
async function beginningOf (response: Response): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value)
}
