// What a mocked operation answers: the examples of its contract, or values made up from its schemas, which keep them.
import { sample } from 'openapi-sampler'
import { resolve } from '../generate/resolve.ts'

type Json = any

/** What a client asks for with `Prefer` (RFC 7240): a status of those that are declared, and an example by its name. */
export interface Preference {
  code?: number
  example?: string
}

export interface MockAnswer {
  status: number
  /** null where there is no body. */
  contentType: string | null
  headers: Record<string, string>
  body: string | Buffer | null
}

/** The preferences of the header's value; those that a mock knows. */
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
 * The answer of the status: its first success where none is given. Throws a plain Error that says so where the contract has no such status or example.
 */
export function answerOf(document: Json, operation: Json, { code, example }: Preference): MockAnswer {
  const statuses = statusesOf(operation)
  const status = code ?? statuses.find((status) => status < 400)!
  if (!statuses.includes(status))
    throw new Error(`${operation.operationId} declares no ${status}, but ${statuses.join(', ')}`)
  const response = resolve(document, operation.responses[status])
  const headers = Object.fromEntries(
    Object.entries<Json>(response.headers ?? {}).map(([name, header]) => [
      name,
      headerValue(document, name, resolve(document, header)),
    ]),
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

/** A value that keeps the schema. What the contract gives as an example is taken before anything is made up. */
export function valueOf(document: Json, schema: Json): Json {
  return sample(schema, { skipReadOnly: false, quiet: true, maxSampleDepth: 12 } as never, document)
}

function headerValue(document: Json, name: string, header: Json): string {
  if (name.toLowerCase() === 'etag') return '"mock"'
  const value = valueOf(document, header.schema)
  return value === null || value === undefined || value === '' ? 'mock' : String(value)
}

/** Each kind of event once, in the order in which they are declared. */
function streamOf(document: Json, events: Record<string, Json>): string {
  return Object.entries(events)
    .map(
      ([event, schema], i) =>
        `id: ${i + 1}\nevent: ${event}\ndata: ${JSON.stringify(valueOf(document, schema))}\n\n`,
    )
    .join('')
}
