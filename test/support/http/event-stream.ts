// A reader of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) that
// validates each event against the spec. It reads only when the test asks for the next event, so a test can
// act as a client that does not read.
import { replies } from '../../../infra/validation/replies.ts'
import { operations, type OperationId } from '../../../generated/operations.ts'
import { fullPath, assertMatchesSpec, operationAt } from './client.ts'

export interface StreamEvent {
  /** The last event id of the stream when the event arrived. */
  id: string
  /** `message` if the stream names no event type; `comment` for a comment. */
  event: string
  /** The parsed JSON data; undefined for a comment. */
  data: any
  /** The text of a comment, without the leading space. */
  comment?: string
}

export interface OpenStream {
  status: number
  headers: Headers
  /** The JSON body of a response that is not a stream. */
  body: any
  /** The Last-Event-ID that a browser would send when it reconnects. Includes ids without an event. */
  readonly lastEventId: string
  /** The events, until the stream ends or is closed. */
  events: AsyncIterable<StreamEvent>
  /** The next event. Throws when the stream ends first, or no event arrives within 30 seconds. */
  next(): Promise<StreamEvent>
  close(): Promise<void>
}

export interface StreamOptions {
  /** The path with its query, with or without /v1. */
  path?: string
  lastEventId?: string
  /** The JSON body of a POST request. Without it the request is a GET. */
  post?: object
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Whether comments are returned as events, too. */
  comments?: boolean
}

/** Opens a stream of the server at `url`. Resolves when the response headers have arrived, for any status. */
export async function openStream(
  url: string,
  key: string | null,
  { path = '/events/stream', lastEventId, post, headers: more, signal, comments = false }: StreamOptions = {},
): Promise<OpenStream> {
  const full = fullPath(path)
  const disconnect = new AbortController()
  const method = post === undefined ? 'GET' : 'POST'
  const response = await fetch(url + full, {
    method,
    ...(post !== undefined && { body: JSON.stringify(post) }),
    headers: {
      accept: 'text/event-stream',
      ...(post !== undefined && { 'content-type': 'application/json' }),
      ...more,
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    signal: signal === undefined ? disconnect.signal : AbortSignal.any([signal, disconnect.signal]),
  })
  const { status, headers } = response
  const id = operationAt(method, full)
  const streams = headers.get('content-type')?.startsWith('text/event-stream') === true
  const body = streams ? undefined : JSON.parse(await response.text())
  if (id !== null) assertMatchesSpec(id, status, headers, body)
  const parser = createEventParser()
  const reader = streams ? response.body!.getReader() : null
  const waiting: StreamEvent[] = []
  let closed = false

  async function pull(): Promise<StreamEvent | null> {
    while (waiting.length === 0) {
      if (reader === null || closed) return null
      const { value, done } = await reader.read()
      if (done) return null
      for (const { event, id: eventId, data, comment } of parser.write(value)) {
        if (comment !== undefined && comments) waiting.push({ id: eventId, event, data: undefined, comment })
        if (comment === undefined) waiting.push({ id: eventId, event, data: parseEventData(id, event, data) })
      }
    }
    return waiting.shift()!
  }

  async function* read(): AsyncGenerator<StreamEvent> {
    for (let event = await pull(); event !== null; event = await pull()) yield event
  }

  return {
    status,
    headers,
    body,
    get lastEventId() {
      return parser.lastEventId
    },
    events: { [Symbol.asyncIterator]: read },
    async next() {
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`waited 30 seconds for the next event of ${full}`)), 30_000)
      })
      const event = await Promise.race([pull(), timeout]).finally(() => clearTimeout(timer))
      if (event === null) throw new Error(`the stream ${full} has ended: ${status} ${JSON.stringify(body)}`)
      return event
    },
    async close() {
      closed = true
      await reader?.cancel().catch(() => {})
      disconnect.abort()
    },
  }
}

/**
 * Parses the data of an event. Throws when the data does not match the spec, or the operation does not
 * declare the event.
 */
export function parseEventData(id: OperationId | null, event: string, text: string): unknown {
  const data = JSON.parse(text)
  if (id === null) return data
  const { events = {} } = operations[id].replies[200] as { events?: Record<string, string> }
  if (events[event] === undefined)
    throw new Error(`${id} sent the event ${event}, which the spec does not declare`)
  const validate = replies[events[event]]
  if (!validate(data))
    throw new Error(
      `the event ${event} of ${id} does not match the spec: ${JSON.stringify(validate.errors)} in ${text}`,
    )
  return data
}

interface Parsed {
  id: string
  event: string
  data: string
  comment?: string
}

/** A parser of a stream's bytes. `write` returns the events that are complete. */
export function createEventParser() {
  // Removes one byte order mark at the start, as the standard requires.
  const decoder = new TextDecoder()
  let rest = ''
  let lastEventId = ''
  let id = ''
  let event = ''
  let data = ''

  return {
    get lastEventId() {
      return lastEventId
    },
    write(bytes: Uint8Array): Parsed[] {
      rest += decoder.decode(bytes, { stream: true })
      const found: Parsed[] = []
      for (;;) {
        // A CR at the end may be the first half of a CRLF.
        const end = /\r\n|\n|\r(?!$)/.exec(rest)
        if (end === null) return found
        const line = rest.slice(0, end.index)
        rest = rest.slice(end.index + end[0].length)
        const one = take(line)
        if (one !== null) found.push(one)
      }
    },
  }

  function take(line: string): Parsed | null {
    if (line === '') return dispatch()
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (colon === 0) return { id: lastEventId, event: 'comment', data: '', comment: value }
    if (field === 'data') data += `${value}\n`
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) id = value
    return null
  }

  function dispatch(): Parsed | null {
    lastEventId = id
    const parsed = data === '' ? null : { id, event: event || 'message', data: data.slice(0, -1) }
    data = ''
    event = ''
    return parsed
  }
}
