// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as an async iterator.
// After a disconnect the stream resumes if the operation accepts Last-Event-ID; otherwise it fails.
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { backOff, type Clock } from './clock.ts'
import { ConnectionError, throwIfAborted, withAbortError } from './error.ts'

export interface StreamedEvent {
  event: string
  id: string | null
  data: unknown
}

export interface EventStreamOptions {
  /** The id of the last event that is known; null to start at the beginning. */
  after: string | null
  /** Opens the stream, after the event with this id if there is one. */
  open(lastEventId: string | null, signal: AbortSignal): Promise<Response>
  /** The events that end the stream; without any, a stream that cannot resume ends with its response. */
  ends: readonly string[]
  /** Whether the stream can resume. */
  resumes: boolean
  /** Consecutive attempts to resume without receiving any data. */
  retries: number
  /** Milliseconds without data, comments included, after which the connection counts as broken. */
  idleTimeout: number
  clock: Clock
  signal?: AbortSignal
}

/** The first `next()` opens the stream. `return()`, which `break` calls, closes the connection at once. */
export function readEvents(options: EventStreamOptions): AsyncGenerator<StreamedEvent, void, undefined> {
  const closed = new AbortController()
  const events = read(options, closed.signal)
  return {
    next: () =>
      events.next().catch((error: unknown) => {
        throw withAbortError(error, options.signal)
      }),
    throw: (error) => {
      closed.abort()
      return events.throw(error)
    },
    return: (value) => {
      closed.abort()
      return events.return(value as undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return()
    },
  }
}

async function* read(
  { after, open, ends, resumes, retries, idleTimeout, clock, signal }: EventStreamOptions,
  closed: AbortSignal,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const state: State = { lastEventId: after, wait: null, failures: 0 }
  const stopped = signal === undefined ? closed : AbortSignal.any([signal, closed])
  while (!closed.aborted) {
    let cause: unknown
    try {
      const response = await open(state.lastEventId, stopped)
      for await (const { event = 'message', data } of messagesOf(response, { idleTimeout, stopped, state })) {
        throwIfAborted(signal)
        yield { event, id: state.lastEventId, data: jsonOrText(data) }
        if (ends.includes(event)) return
      }
      if (ends.length === 0 && !resumes) return
    } catch (error) {
      if (closed.aborted) return
      throwIfAborted(signal)
      if (!(error instanceof TypeError || error instanceof ConnectionError)) throw error
      cause = error
    }
    if (!resumes || state.failures >= retries)
      throw new ConnectionError('The connection was lost before the stream ended.', { cause })
    await clock.sleep(state.wait ?? backOff(state.failures, clock), stopped).catch((error: unknown) => {
      if (!closed.aborted) throw error
    })
    state.failures++
  }
}

function jsonOrText(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}

/** `wait`: the stream's `retry` field in milliseconds. `failures`: consecutive disconnects without data. */
interface State {
  lastEventId: string | null
  wait: number | null
  failures: number
}

interface ReadOptions {
  idleTimeout: number
  stopped: AbortSignal
  state: State
}

async function* messagesOf(
  response: Response,
  { idleTimeout, stopped, state }: ReadOptions,
): AsyncGenerator<EventSourceMessage> {
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  const waiting: EventSourceMessage[] = []
  const parser = createParser({
    onEvent: (message) => {
      waiting.push(message)
    },
    onId: (id) => {
      waiting.push({ id } as EventSourceMessage)
    },
    onRetry: (wait) => {
      state.wait = wait
    },
  })
  try {
    for (;;) {
      const { value, done } = await readWithin(reader, idleTimeout, stopped)
      if (done) return
      state.failures = 0
      parser.feed(decoder.decode(value, { stream: true }))
      for (const message of waiting.splice(0)) {
        // An id may arrive without an event; the id of an event arrives before the event.
        if (message.data === undefined) state.lastEventId = message.id!
        else yield message
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/**
 * @throws TypeError, as for a broken connection, after the idle time-out; the signal's reason when it is
 * aborted.
 */
async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleTimeout: number,
  stopped: AbortSignal,
): ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> {
  let reject!: (reason: unknown) => void
  const failure = new Promise<never>((_resolve, fail) => {
    reject = fail
  })
  const timer = setTimeout(() => reject(new TypeError(`no data for ${idleTimeout} ms`)), idleTimeout)
  const stop = (): void => reject(stopped.reason)
  stopped.addEventListener('abort', stop, { once: true })
  try {
    stopped.throwIfAborted()
    return await Promise.race([reader.read(), failure])
  } finally {
    clearTimeout(timer)
    stopped.removeEventListener('abort', stop)
  }
}
