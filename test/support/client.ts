// Requests over real HTTP, each answer held against the published contract: status, headers, media type and body.
import replies from '../../generated/replies.js'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { ValidateFunction } from 'ajv'
import { patternOf } from '../../infra/validation/path-template.ts'
import { headersOf } from './contract-schema.ts'
import { headerProblem } from './header-values.ts'

export interface Reply {
  status: number
  headers: Headers
  body: any
  text: string
  /** As they came. */ bytes: Buffer
  operation: OperationId | null
}

export interface Init {
  body?: unknown
  headers?: Record<string, string>
  /** The body as it is, instead of JSON. */ raw?: string | Uint8Array<ArrayBuffer>
}

/** Every operation and status that was seen and held against the spec, as `getProject 200`. */
export const seen = new Set<string>()

// A path without parameters means its own operation and no other.
const table = Object.values(operations)
  .map((info) => ({ info, pattern: patternOf(info.path) }))
  .sort((a, b) => Number(a.info.path.includes('{')) - Number(b.info.path.includes('{')))

/** The operation that a request means, by method and path. */
export function operationAt(method: string, path: string): OperationId | null {
  const plain = path.split('?')[0]
  const found = table.find(({ info, pattern }) => info.method === method && pattern.test(plain))
  return found === undefined ? null : (found.info.id as OperationId)
}

/** @throws when the answer is not one that the spec declares for the operation. */
export function holdAgainstSpec(id: OperationId, status: number, headers: Headers, body: unknown): void {
  const declared = operations[id].replies[status]
  if (declared === undefined)
    throw new Error(`${id} answered ${status}, which the spec does not declare: ${JSON.stringify(body)}`)
  const type = headers.get('content-type')
  if (declared.binary === true) {
    if (type === null) throw new Error(`${id} ${status} has no Content-Type`)
    if (headers.get('content-length') === null) throw new Error(`${id} ${status} has no Content-Length`)
  } else if (declared.contentType === null) {
    if (body !== undefined && body !== '')
      throw new Error(`${id} ${status} has a body, which the spec does not declare`)
  } else {
    if (type?.split(';')[0] !== declared.contentType)
      throw new Error(`${id} ${status} is ${type}, declared is ${declared.contentType}`)
    if (declared.serializer !== undefined) {
      const validate = replies[declared.serializer] as ValidateFunction
      if (!validate(body))
        throw new Error(
          `${id} ${status} breaks the spec: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`,
        )
    }
  }
  if (headers.get('x-request-id') === null) throw new Error(`${id} ${status} has no X-Request-ID`)
  if (headers.get('x-content-type-options') !== 'nosniff')
    throw new Error(`${id} ${status} has no X-Content-Type-Options`)
  for (const [name, schema] of declaredHeaders(id, status)) {
    const value = headers.get(name)
    if (value === null && sometimes.has(name)) continue
    if (value === null) throw new Error(`${id} ${status} has no ${name}`)
    if (schema.const !== undefined && value !== schema.const)
      throw new Error(`${id} ${status} has ${name}: ${value}, declared is ${schema.const}`)
    const wrong = headerProblem(schema, value)
    if (wrong !== null) throw new Error(`${id} ${status} has ${name}: ${value}, which ${wrong}`)
  }
  if (operations[id].etag && status < 300 && headers.get('etag') === null)
    throw new Error(`${id} ${status} has no ETag`)
  if (operations[id].paged && status === 200 && headers.get('link') === null)
    throw new Error(`${id} ${status} has no Link`)
  if (
    status >= 400 &&
    headers.get('cache-control') !== 'no-store' &&
    declared.contentType === 'application/json' &&
    id !== 'getReadiness'
  )
    throw new Error(`${id} ${status} could be cached`)
  seen.add(`${id} ${status}`)
}

/** What tells of an upload's way: not before there is something to tell, or when it is over. */
const sometimes = new Set(['Upload-Offset', 'Upload-Expires', 'Upload-File-Id'])
const found = new Map<string, ReturnType<typeof headersOf>>()

function declaredHeaders(id: OperationId, status: number): ReturnType<typeof headersOf> {
  const name = `${id} ${status}`
  if (!found.has(name)) found.set(name, headersOf(id, status))
  return found.get(name)!
}

/** Paths are relative to /v1, or absolute for what stands outside it. */
export function fullPath(path: string): string {
  return /^\/(healthz|readyz|openapi\.(json|yaml)|docs|metrics|v1|pay\/)/.test(path) ? path : `/v1${path}`
}

export type Client = ReturnType<typeof createClient>

export function createClient(url: string, key: string | null) {
  async function call(method: string, path: string, { body, raw, headers = {} }: Init = {}): Promise<Reply> {
    const full = fullPath(path)
    const sent: Record<string, string> = { ...headers }
    if (key !== null && sent.authorization === undefined) sent.authorization = `Bearer ${key}`
    if (body !== undefined && sent['content-type'] === undefined) sent['content-type'] = 'application/json'
    const response = await fetch(url + full, {
      method,
      headers: sent,
      body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
      redirect: 'manual',
    })
    const type = response.headers.get('content-type')
    const { status } = response
    const operation = operationAt(method, full)
    const bytes =
      operation === 'streamEvents' && status === 200
        ? await beginningOf(response)
        : Buffer.from(await response.arrayBuffer())
    const text = new TextDecoder().decode(bytes)
    const binary = operation !== null && operations[operation].replies[status]?.binary === true
    const isJson = type?.startsWith('application/json') === true && !binary
    const parsed = text === '' ? undefined : isJson ? JSON.parse(text) : text
    if (operation !== null) holdAgainstSpec(operation, status, response.headers, parsed)
    return { status, headers: response.headers, body: parsed, text, bytes, operation }
  }
  return {
    call,
    get: (path: string, init?: Init) => call('GET', path, init),
    post: (path: string, body?: unknown, init: Init = {}) => call('POST', path, { body, ...init }),
    put: (path: string, body?: unknown, init: Init = {}) => call('PUT', path, { body, ...init }),
    delete: (path: string, init?: Init) => call('DELETE', path, init),
  }
}

/** What a stream that never ends says first; then it is left. */
async function beginningOf(response: Response): Promise<Buffer> {
  if (response.body === null) return Buffer.alloc(0)
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return Buffer.from(value ?? [])
}
