// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as an iterator. Where the operation
// takes Last-Event-ID, a stream that breaks is opened again where it was; where it does not, a break is an error.
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { backOff, type Clock } from './clock.ts'
import { ConnectionError } from './error.ts'

export interface StreamedEvent {
  event: string
  id: string | null
  data: unknown
}

export interface Following {
  /** Opens the stream, after an event where one was seen. */
  open(lastEventId: string | null, signal: AbortSignal): Promise<Response>
  /** The events after which nothing comes. */
  ends: readonly string[]
  /** Whether it can be opened again. */
  resumes: boolean
  /** How often in a row it is opened again with nothing coming. */
  retries: number
  /** Milliseconds without a word, comments included, after which the connection counts as broken. */
  silence: number
  clock: Clock
  signal?: AbortSignal
}

/** Opened with the first `next()`. `return()`, which `break` calls, closes the connection at once. */
export function followEvents(following: Following): AsyncGenerator<StreamedEvent, void, undefined> {
  const left = new AbortController()
  const events = read(following, left.signal)
  return {
    next: () => events.next(),
    throw: (error) => {
      left.abort()
      return events.throw(error)
    },
    return: (value) => {
      left.abort()
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
  { open, ends, resumes, retries, silence, clock, signal }: Following,
  left: AbortSignal,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const state: State = { lastEventId: null, wait: null, failures: 0 }
  const gone = signal === undefined ? left : AbortSignal.any([signal, left])
  while (!left.aborted) {
    let cause: unknown
    try {
      const response = await open(state.lastEventId, gone)
      for await (const { event = 'message', data } of messagesOf(response, { silence, gone, state })) {
        signal?.throwIfAborted()
        yield { event, id: state.lastEventId, data: JSON.parse(data) }
        if (ends.includes(event)) return
      }
    } catch (error) {
      if (left.aborted) return
      signal?.throwIfAborted()
      if (!(error instanceof TypeError || error instanceof ConnectionError)) throw error
      cause = error
    }
    if (!resumes || state.failures >= retries)
      throw new ConnectionError('The stream broke off before its last event.', { cause })
    await clock.sleep(state.wait ?? backOff(state.failures, clock), gone).catch((error: unknown) => {
      if (!left.aborted) throw error
    })
    state.failures++
  }
}

/** `wait`: what the stream says of it, in milliseconds; `failures`: how often in a row it broke and nothing came. */
interface State {
  lastEventId: string | null
  wait: number | null
  failures: number
}

interface Reading {
  silence: number
  gone: AbortSignal
  state: State
}

async function* messagesOf(
  response: Response,
  { silence, gone, state }: Reading,
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
      const { value, done } = await readWithin(reader, silence, gone)
      if (done) return
      state.failures = 0
      parser.feed(decoder.decode(value, { stream: true }))
      for (const message of waiting.splice(0)) {
        // An id may come alone, with no event; the one of an event comes before it.
        if (message.data === undefined) state.lastEventId = message.id!
        else yield message
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** @throws TypeError, as a broken connection does, when nothing comes; the reason of the signal at once when it is aborted. */
async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silence: number,
  gone: AbortSignal,
): ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> {
  const { promise: patience, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new TypeError(`nothing came for ${silence} ms`)), silence)
  const stop = (): void => reject(gone.reason)
  gone.addEventListener('abort', stop, { once: true })
  try {
    gone.throwIfAborted()
    return await Promise.race([reader.read(), patience])
  } finally {
    clearTimeout(timer)
    gone.removeEventListener('abort', stop)
  }
}
