// What is sent of a handler's answer, and whether the contract declares the answer.
import { Readable } from 'node:stream'
import { createCheck, document, type Check } from './contract.ts'
import { keysOfFragment, valueAt } from './openapi/json-pointer.ts'
import { isJson, isJsonLines, mediaFor } from './openapi/media-types.ts'
import { responseView } from './openapi/views.ts'
import type { AnswerInfo, AnswerMedia, OperationInfo } from './operations.ts'
import { createSerializer } from './serialize.ts'

export interface AnyAnswer {
  status: number
  type?: string
  headers?: Record<string, string>
  body?: unknown
}

/** An event of a stream (`text/event-stream`). `data` is sent as JSON, unless it is text. */
export interface ServerSentEvent<Data = unknown> {
  data: Data
  event?: string
  id?: string
  /** In milliseconds. */
  retry?: number
}

/** The contract does not declare the answer. The message is for the log; the client gets a 500. */
export class AnswerError extends Error {}

const serialize = createSerializer(document)
let check: Check | undefined

export interface AnswerOptions {
  isChecked: boolean
  /** The milliseconds without an event after which a stream sends a comment. */
  keepAlive: number
}

/**
 * The media type and the body as it is sent.
 * @throws AnswerError if `isChecked`, and the contract does not declare the answer.
 */
export function renderAnswer(
  operation: OperationInfo,
  { status, type: given, headers = {}, body }: AnyAnswer,
  { isChecked, keepAlive }: AnswerOptions,
): { type: string | undefined; payload: string | Buffer | Readable | undefined } {
  const declared = declaredAnswer(operation, status)
  const media = given === undefined ? declared?.media[0] : mediaFor(declared?.media ?? [], given)
  const type = given ?? media?.sent
  const events = eventsOf(body)
  const isSentRaw =
    Buffer.isBuffer(body) ||
    body instanceof Readable ||
    (typeof body === 'string' && type !== undefined && !isJson(type))
  const isJsonBody = !isSentRaw && body !== undefined && events === null
  const value = isJsonBody ? serialize(schemaOf(media), body) : undefined
  if (isChecked) {
    const problem =
      problemOf(operation, declared, { status, type, headers, body }) ??
      (isJsonBody && media !== undefined ? schemaProblem(media, value, 'the body') : undefined)
    if (problem !== undefined) throw new AnswerError(`${operation.id} answered ${status}: ${problem}`)
  }
  if (events !== null) {
    const texts = itemTexts(operation, media, events, isChecked)
    // A comment would be no line of JSON.
    return { type, payload: Readable.from(isJsonLines(type ?? '') ? texts : keptAlive(texts, keepAlive)) }
  }
  return { type, payload: isSentRaw ? body : isJsonBody ? JSON.stringify(value) : undefined }
}

/** The events or lines that a handler yields; null for another body. */
function eventsOf(body: unknown): AsyncIterable<unknown> | null {
  const isIterable = typeof body === 'object' && body !== null && Symbol.asyncIterator in body
  return isIterable && !(body instanceof Readable) ? (body as AsyncIterable<unknown>) : null
}

/**
 * An error before the first event becomes a status; a later one ends the connection. A client that
 * disconnects ends the handler's iterator.
 */
async function* itemTexts(
  { id: operationId }: OperationInfo,
  media: AnswerMedia | undefined,
  items: AsyncIterable<unknown>,
  isChecked: boolean,
): AsyncGenerator<string> {
  // The schema is that of the whole item, or of the data of an event.
  const isWhole = media?.isItem === true
  const isLine = isWhole && isJsonLines(media.type)
  let hasBegun = false
  try {
    for await (const item of items) {
      const value = serialize(schemaOf(media), isWhole ? item : (item as ServerSentEvent).data)
      const what = isWhole ? 'an item' : 'the data of an event'
      const problem = isChecked && media !== undefined && schemaProblem(media, value, what)
      if (problem) throw new AnswerError(`${operationId} answered: ${problem}`)
      hasBegun = true
      if (isLine) yield `${JSON.stringify(value)}\n`
      else yield eventText(isWhole ? (value as ServerSentEvent) : { ...(item as object), data: value })
    }
  } catch (error) {
    if (hasBegun) console.error(error instanceof AnswerError ? error.message : error)
    throw error
  }
}

function eventText({ data, ...fields }: Partial<ServerSentEvent>): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  const head = Object.entries(fields).filter(([, field]) => field !== undefined)
  return [
    ...head.map(([name, field]) => `${name}: ${String(field).replace(/[\r\n]/g, ' ')}`),
    ...(text?.split(/\r\n|\r|\n/) ?? []).map((line) => `data: ${line}`),
    '\n',
  ].join('\n')
}

/** Sends a comment where nothing is sent for a while: proxies close connections that are silent. */
async function* keptAlive(texts: AsyncGenerator<string>, pause: number): AsyncGenerator<string> {
  try {
    for (let next = texts.next(); ; next = texts.next()) {
      let result = await withinPause(next, pause)
      for (; result === null; result = await withinPause(next, pause)) yield ': keep-alive\n\n'
      if (result.done === true) return
      yield result.value
    }
  } finally {
    void texts.return(undefined)
  }
}

/** null if the time is over. */
async function withinPause<Value>(value: Promise<Value>, pause: number): Promise<Value | null> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<null>((done) => (timer = setTimeout(done, pause, null)))
  return await Promise.race([value, end]).finally(() => clearTimeout(timer))
}

/** The declared answer of the status, also by its range (`4XX`) or as the default. */
function declaredAnswer({ answers }: OperationInfo, status: number): AnswerInfo | undefined {
  return answers[status] ?? answers[`${Math.floor(status / 100)}XX`] ?? answers.default
}

const schemaOf = (media: AnswerMedia | undefined): unknown =>
  media?.pointer == null ? {} : valueAt(document, keysOfFragment(media.pointer))

function problemOf(
  { answers }: OperationInfo,
  declared: AnswerInfo | undefined,
  { status, type, headers = {}, body }: AnyAnswer,
): string | undefined {
  const statuses = Object.keys(answers)
  // An operation may declare no answers at all.
  if (statuses.length === 0) return undefined
  if (declared === undefined) return `the status is not declared, only ${statuses.join(', ')}`
  const types = declared.media.map((each) => each.type)
  if (body === undefined)
    return types.length === 0 || status === 204 || status === 304 ? undefined : 'the body is missing'
  if (types.length === 0) return 'no body is declared'
  if (type !== undefined && mediaFor(declared.media, type) === undefined)
    return `the type ${type} is not declared, only ${types.join(', ')}`
  const sent = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const missing = declared.headers.find((name) => !sent.has(name.toLowerCase()))
  return missing === undefined ? undefined : `the header ${missing} is missing`
}

function schemaProblem({ pointer }: AnswerMedia, value: unknown, what: string): string | undefined {
  if (pointer === null) return undefined
  check ??= createCheck(responseView(document), { isText: false })
  const [first] = check(pointer, () => ({ $ref: `contract${pointer}` }), value)
  if (first === undefined) return undefined
  return `${what} at "${first.instancePath}" ${first.message} ${JSON.stringify(first.params)}`
}
