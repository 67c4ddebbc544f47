// A reader of server-sent events as the WHATWG has them (https://html.spec.whatwg.org/multipage/server-sent-events.html), each
// held against the spec. It reads no further than it is asked to, so a test that does not read is a client that does not.
import type { ValidateFunction } from 'ajv'
import replies from '../../generated/replies.js'
import { operations, type OperationId } from '../../generated/operations.ts'
import { fullPath, assertMatchesSpec, operationAt } from './client.ts'

export interface StreamEvent {
  /** The last id that the stream has told when the event came. */
  id: string
  /** `message` where the stream names none; `comment` for a comment. */
  event: string
  /** What the JSON of its data is; of a comment undefined. */
  data: any
  /** The text of a comment, without the blank in front. */
  comment?: string
}

export interface OpenStream {
  status: number
  headers: Headers
  /** What an answer says that is no stream. */
  body: any
  /** What a browser would send as Last-Event-ID if it connected again; also by ids that come with no event. */
  readonly lastEventId: string
  /** Events until the stream ends or is closed. */
  events: AsyncIterable<StreamEvent>
  /** The next event. Throws when the stream ends before, or none comes for 30 seconds. */
  next(): Promise<StreamEvent>
  close(): Promise<void>
}

export interface StreamOptions {
  /** With its query; relative to /v1, or from there on. */
  path?: string
  lastEventId?: string
  /** What is posted; without it the stream is got. */
  post?: object
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Whether comments are events too. */
  comments?: boolean
}

/** Opens a stream of the server at `url`; resolves when its head is there, whatever the status. */
export async function openStream(
  url: string,
  key: string | null,
  { path = '/events/stream', lastEventId, post, headers: more, signal, comments = false }: StreamOptions = {},
): Promise<OpenStream> {
  const full = fullPath(path)
  const gone = new AbortController()
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
    signal: signal === undefined ? gone.signal : AbortSignal.any([signal, gone.signal]),
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
        if (comment === undefined) waiting.push({ id: eventId, event, data: held(id, event, data) })
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
      const patience = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`waited 30 seconds for the next event of ${full}`)), 30_000)
      })
      const event = await Promise.race([pull(), patience]).finally(() => clearTimeout(timer))
      if (event === null) throw new Error(`the stream ${full} has ended: ${status} ${JSON.stringify(body)}`)
      return event
    },
    async close() {
      closed = true
      await reader?.cancel().catch(() => {})
      gone.abort()
    },
  }
}

/** The data of an event as the operation declares it. @throws when it declares no such event, or another form. */
export function held(id: OperationId | null, event: string, text: string): unknown {
  const data = JSON.parse(text)
  if (id === null) return data
  const { events = {} } = operations[id].replies[200] as { events?: Record<string, string> }
  if (events[event] === undefined)
    throw new Error(`${id} sent the event ${event}, which the spec does not declare`)
  const validate = replies[events[event]] as ValidateFunction
  if (!validate(data))
    throw new Error(
      `the event ${event} of ${id} breaks the spec: ${JSON.stringify(validate.errors)} in ${text}`,
    )
  return data
}

interface Parsed {
  id: string
  event: string
  data: string
  comment?: string
}

/** Takes the bytes of a stream as they come, and answers what is whole so far. */
export function createEventParser() {
  // It takes a byte order mark away, once, as the rules want it.
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
        // A CR at the very end may be half of a CRLF.
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
    const whole = data === '' ? null : { id, event: event || 'message', data: data.slice(0, -1) }
    data = ''
    event = ''
    return whole
  }
}
