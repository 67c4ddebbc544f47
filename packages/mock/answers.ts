// Mock responses: the examples of the contract, or valid values generated from its schemas.
import fc from 'fast-check'
import { sample } from 'openapi-sampler'
import { responseFor, isJson, type Media, type Operation } from '@platform-api/openapi/document.ts'
import { concreteType, essenceOf } from '@platform-api/openapi/media-types.ts'
import type { Validation } from '@platform-api/contract/validation.ts'
import { isBodiless } from '@platform-api/contract/checks.ts'
import { valuesOf } from '@platform-api/contract/values.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'
import { keysOf } from '@platform-api/openapi/json-pointer.ts'

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
  /** The value of a JSON body, else its text or bytes; null if there is no body. */
  body: Json
}

/** The source of the answers. */
export interface Source {
  document: Json
  validation: Validation
  seed: number
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

/**
 * The first declared status of success. A range such as 2XX, and the default, stand for 200. The mock
 * upgrades no connection: an operation that declares only that fails.
 */
export function successStatus({ responses, otherResponses }: Operation): number {
  const statuses = [...responses.keys()].sort((a, b) => a - b)
  const exact = statuses.find((status) => status >= 200 && status < 400)
  if (exact === undefined && statuses[0] < 200) return statuses.find((status) => status >= 400) ?? 426
  return exact ?? (otherResponses.has('3XX') && !otherResponses.has('2XX') ? 302 : 200)
}

/** The first of the statuses that the operation declares, a range or the default included; else the first. */
export function declaredOf(operation: Operation, statuses: number[]): number {
  return (
    statuses.find((status) => operation.responses.has(status)) ??
    statuses.find((status) => responseFor(operation, status) !== undefined) ??
    statuses[0]
  )
}

/**
 * The response of the given status, or of the first success. Throws an Error if the contract has no such
 * status or example.
 */
export function answerOf(source: Source, operation: Operation, { code, example }: Preference): MockAnswer {
  const { document } = source
  const status = code ?? successStatus(operation)
  const declared = responseFor(operation, status)
  if (declared === undefined && code !== undefined)
    throw new Error(
      `${operation.id} declares no ${status}, but ` +
        [...operation.responses.keys(), ...operation.otherResponses.keys()].join(', '),
    )
  const headers = Object.fromEntries(
    (declared?.headers ?? [])
      .filter(
        ({ name, schema }) =>
          !omittedHeaders.has(name.toLowerCase()) || isOtherRequestId(source, name, schema),
      )
      // Most conflicts last: a client that waits and repeats its request would never end.
      .filter(({ name, required }) => required || status !== 409 || name.toLowerCase() !== 'retry-after')
      .map(({ name, schema }) => [name, headerValue(document, name, schema)]),
  )
  const media = declared?.media.find(({ type }) => isJson(type)) ?? declared?.media[0]
  if (media === undefined || isBodiless(status)) return { status, contentType: null, headers, body: null }
  const { node } = media
  if (node?.['x-stream-events'] !== undefined)
    return { status, contentType: media.type, headers, body: streamOf(document, node['x-stream-events']) }
  const contentType = concreteType(media.type, media.schema)
  const isText = isJson(contentType) || media.isItem || contentType.startsWith('text/')
  if (media.schema.format === 'binary' || !isText)
    return { status, contentType, headers, body: Buffer.from('bytes\n') }
  const value = bodyOf(source, operation, { media, node, name: example, status })
  const body = isJson(contentType) ? value : textBody(contentType, value, media.isItem)
  return { status, contentType, headers, body }
}

/** An event, a line of JSON, or a text. */
function textBody(type: string, value: Json, isItem: boolean): string {
  if (essenceOf(type) === 'text/event-stream') return eventOf(value, isItem)
  return isItem ? `${JSON.stringify(value)}\n` : textOf(value)
}

/** One event with the value; an example may be the text of a stream. */
function eventOf(value: Json, isItem: boolean): string {
  const isText = typeof value === 'string' && /^(data|event|id|retry|):/m.test(value)
  if (isItem && typeof value === 'object') {
    const { data = '', ...fields } = value
    const head = Object.entries(fields).map(([name, field]) => `${name}: ${String(field)}\n`)
    return head.join('') + eventOf(data, false)
  }
  return isText ? value : `data: ${textOf(value).replaceAll('\n', '\ndata: ')}\n\n`
}

const textOf = (value: Json): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

/** The first valid value of: the examples, a sample of the schema, and a generated value. */
function bodyOf(
  source: Source,
  operation: Operation,
  { media, node, name, status }: { media: Media; node: Json; name: string | undefined; status: number },
): Json {
  const { document, validation } = source
  if (name !== undefined) {
    const named =
      node.examples?.[name] ??
      (Number.isInteger(Number(name)) ? { value: media.schema.examples?.[Number(name)] } : undefined)
    if (named?.value === undefined) throw new Error(`${operation.id} has no example ${name} for ${status}`)
    return resolve(document, named).value
  }
  const examples = [
    ...Object.values<Json>(node?.examples ?? {}).map((each) => resolve(document, each)?.value),
    node?.example,
  ].filter((value) => value !== undefined)
  for (const value of examples) if (isValid(validation, media, value)) return value
  const sampled = withoutInvalid(validation, media, valueOf(document, media.schema))
  if (isValid(validation, media, sampled)) return sampled
  const values = valuesOf(document, media.schema, { ids: () => [], named: () => [] })
  if (values === null) return sampled
  for (const value of fc.sample(values, { numRuns: 10, seed: source.seed })) {
    const repaired = withoutInvalid(validation, media, value)
    if (isValid(validation, media, repaired)) return repaired
  }
  return sampled
}

/** A copy without the properties and items that are invalid, as far as the value is valid without them. */
function withoutInvalid(validation: Validation, { pointer }: Media, value: Json): Json {
  const copy = structuredClone(value)
  try {
    for (let round = 0; round < 20; round++) {
      const errors = validation.answered(pointer, copy)
      const paths = errors.map(({ instancePath }) => keysOf(`#${instancePath}`))
      const [deepest] = paths.toSorted((a, b) => b.length - a.length)
      if (deepest === undefined || deepest.length === 0) return copy
      const holder = deepest.slice(0, -1).reduce<Json>((at, key) => at[key], copy)
      const last = deepest.at(-1)!
      if (Array.isArray(holder)) holder.splice(Number(last), 1)
      else delete holder[last]
    }
  } catch {
    // The schema cannot be compiled.
  }
  return copy
}

/** Whether the value is valid. A schema that cannot be compiled has no valid values. */
export function isValid(validation: Validation, { pointer }: Media, value: Json): boolean {
  try {
    return validation.answered(pointer, value).length === 0
  } catch {
    return false
  }
}

/** A value of the schema: an example of the contract if there is one, else a generated value. */
export function valueOf(document: Json, schema: Json): Json {
  return sample(schema ?? {}, { skipReadOnly: false, quiet: true, maxSampleDepth: 12 } as never, document)
}

/** The mock server sets the ID of the request itself, stores no responses, and leaves framing to HTTP. */
const omittedHeaders = new Set([
  'x-request-id',
  'idempotent-replayed',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'trailer',
  'upgrade',
])

function headerValue(document: Json, name: string, schema: Json): string {
  if (name.toLowerCase() === 'etag') return '"mock"'
  const value = valueOf(document, schema)
  const text = value === null || value === undefined || value === '' ? 'mock' : textOf(value)
  return text.replace(/[^\t\x20-\x7e]/g, '?')
}

/** Whether the document has ids of requests that are not those of the mock. */
function isOtherRequestId({ validation }: Source, name: string, schema: Json): boolean {
  const own = `req_${'0'.repeat(32)}`
  return name.toLowerCase() === 'x-request-id' && validation.parameter(schema)(own).length > 0
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
