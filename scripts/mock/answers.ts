// Mock responses: the examples of the contract, or valid values generated from its schemas.
import { sample } from 'openapi-sampler'
import { resolve } from '../generate/resolve.ts'

type Json = any

/** The `Prefer` header (RFC 7240): a declared status and the name of an example. */
export interface Preference {
  code?: number
  example?: string
}

export interface MockAnswer {
  status: number
  /** null if there is no body. */
  contentType: string | null
  headers: Record<string, string>
  body: string | Buffer | null
}

/** The preferences in the header that the mock supports. */
export function preferenceOf(header: string | undefined): Preference {
  const wanted = Object.fromEntries(
    (header ?? '')
      .split(/[,;]/)
      .map((part) => part.trim().split('='))
      .filter(([name]) => name !== '')
      .map(([name, value = '']) => [name.toLowerCase(), value.replace(/^"(.*)"$/, '$1')]),
  )
  return {
    ...(/^\d{3}$/.test(wanted.code ?? '') && { code: Number(wanted.code) }),
    ...(wanted.example !== undefined && { example: wanted.example }),
  }
}

/** The statuses that an operation declares. */
export function statusesOf(operation: Json): number[] {
  return Object.keys(operation.responses)
    .map(Number)
    .sort((a, b) => a - b)
}

/**
 * The response of the given status, or of the first success. Throws an Error if the contract has no such
 * status or example.
 */
export function answerOf(document: Json, operation: Json, { code, example }: Preference): MockAnswer {
  const statuses = statusesOf(operation)
  const status = code ?? statuses.find((status) => status < 400)!
  if (!statuses.includes(status))
    throw new Error(`${operation.operationId} declares no ${status}, but ${statuses.join(', ')}`)
  const response = resolve(document, operation.responses[status])
  const headers = Object.fromEntries(
    Object.entries<Json>(response.headers ?? {})
      .filter(([name]) => !omittedHeaders.has(name))
      .map(([name, header]) => [name, headerValue(document, name, resolve(document, header))]),
  )
  const [contentType, media] = Object.entries<Json>(response.content ?? {})[0] ?? [null, null]
  if (contentType === null) return { status, contentType, headers, body: null }
  if (media['x-stream-events'] !== undefined)
    return { status, contentType, headers, body: streamOf(document, media['x-stream-events']) }
  const schema = resolve(document, media.schema)
  const value = exampleOf(document, operation, media, schema, example, status)
  if (contentType === 'application/json') return { status, contentType, headers, body: JSON.stringify(value) }
  return {
    status,
    contentType: contentType === '*/*' ? 'application/octet-stream' : contentType,
    headers,
    body: schema?.format === 'binary' ? Buffer.from('bytes\n') : String(value),
  }
}

function exampleOf(
  document: Json,
  operation: Json,
  media: Json,
  schema: Json,
  name: string | undefined,
  status: number,
): Json {
  if (name !== undefined) {
    const named =
      media.examples?.[name] ??
      (Number.isInteger(Number(name)) ? { value: schema.examples?.[Number(name)] } : undefined)
    if (named?.value === undefined)
      throw new Error(`${operation.operationId} has no example ${name} for ${status}`)
    return resolve(document, named).value
  }
  const first = Object.values<Json>(media.examples ?? {})[0]
  if (first !== undefined) return resolve(document, first).value
  if (media.example !== undefined) return media.example
  return valueOf(document, media.schema)
}

/** A valid value of the schema: an example of the contract if there is one, else a generated value. */
export function valueOf(document: Json, schema: Json): Json {
  return sample(schema, { skipReadOnly: false, quiet: true, maxSampleDepth: 12 } as never, document)
}

/** The mock server sets the ID of the request itself, and stores no responses. */
const omittedHeaders = new Set(['X-Request-ID', 'Idempotent-Replayed'])

function headerValue(document: Json, name: string, header: Json): string {
  if (name.toLowerCase() === 'etag') return '"mock"'
  const value = valueOf(document, header.schema)
  return value === null || value === undefined || value === '' ? 'mock' : String(value)
}

/** Each event once, in the declared order. */
function streamOf(document: Json, events: Record<string, Json>): string {
  return Object.entries(events)
    .map(
      ([event, schema], i) =>
        `id: ${i + 1}\nevent: ${event}\ndata: ${JSON.stringify(valueOf(document, schema))}\n\n`,
    )
    .join('')
}
