// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) from the events that a
// handler yields. The next event is requested only when the client has read the ones before, so a slow client
// costs no memory. A client that reads nothing for the write time-out is disconnected.
import { Readable } from 'node:stream'
import type { SentEvent } from '../../infra/contract/operation.ts'

type Sent = SentEvent<Record<string, unknown>>

export interface EventStreamOptions {
  /**
   * Starts the events. The signal aborts when the client disconnects. An error before the first event becomes
   * a status.
   */
  start: (signal: AbortSignal) => AsyncIterable<Sent>
  /** The data of an event as JSON. */
  serialize: (event: string, data: unknown) => string
  /** The data of an event that follows the last one, unless that is an `error`. */
  end?: string
  /** Milliseconds without an event after which a comment is sent as a keep-alive. */
  pingMs: number
  /** Milliseconds in which a client must read some of what was sent. */
  writeTimeoutMs: number
}

/** The client did not read what was sent within the write time-out. */
export class SlowReaderError extends Error {}

export class SseStream extends Readable {
  #options: EventStreamOptions
  #events: AsyncIterator<Sent>
  #disconnected = new AbortController()
  #timer: NodeJS.Timeout
  /** The `id` line of the last event. Comments repeat it. */
  #id = ''
  #hasFailed = false
  #hasDemand = false
  #running = false
  #sentBytes = 0
  #sentAt = performance.now()
  /** The sent bytes that the client has read. */
  #readBytes = 0
  #readAt = performance.now()

  constructor(options: EventStreamOptions) {
    super({ highWaterMark: 16 * 1024 })
    this.#options = options
    this.#events = options.start(this.#disconnected.signal)[Symbol.asyncIterator]()
    this.#timer = setInterval(() => this.#check(), Math.min(options.pingMs, options.writeTimeoutMs) / 4)
    this.#timer.unref()
  }

  override _read(): void {
    this.#hasDemand = true
    if (!this.#running) void this.#run()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.#timer)
    this.#disconnected.abort()
    // The handler cleans up by itself; the connection does not wait for it.
    this.#events.return?.().catch(() => {})
    callback(error)
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      while (this.#hasDemand && !this.destroyed) {
        const { value, done } = await this.#events.next()
        if (this.destroyed) return
        if (done) return this.#end()
        this.#sendEvent(value)
      }
    } catch (error) {
      this.destroy(error as Error)
    } finally {
      this.#running = false
    }
  }

  #sendEvent({ event, id, data }: Sent & { data?: unknown }): void {
    if (id !== undefined) this.#id = `id: ${id}\n`
    if (event === undefined) {
      // The position at which the stream begins is sent at once, even if no event follows for a while.
      if (this.#sentBytes === 0) this.#comment('connected')
      return
    }
    this.#hasFailed = event === 'error'
    // `message` is the default name of an event.
    const name = event === 'message' ? '' : `event: ${event}\n`
    this.#send(`${id === undefined ? '' : this.#id}${name}data: ${this.#options.serialize(event, data)}\n\n`)
  }

  #comment(text: string): void {
    this.#send(`: ${text}\n${this.#id}\n`)
  }

  #send(text: string): void {
    const bytes = Buffer.from(text)
    this.#sentBytes += bytes.length
    this.#sentAt = performance.now()
    this.#hasDemand = this.push(bytes)
  }

  #end(): void {
    const { end } = this.#options
    if (end !== undefined && !this.#hasFailed) this.#send(`data: ${end}\n\n`)
    this.#hasDemand = false
    this.push(null)
  }

  #check(): void {
    const now = performance.now()
    const read = this.#sentBytes - this.readableLength
    if (this.readableLength === 0 || read > this.#readBytes) {
      this.#readBytes = read
      this.#readAt = now
    }
    if (now - this.#readAt >= this.#options.writeTimeoutMs)
      this.destroy(new SlowReaderError('the client does not read its event stream'))
    else if (this.#hasDemand && now - this.#sentAt >= this.#options.pingMs) this.#comment('ping')
  }
}
