// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) from what a handler yields. Nothing
// is asked of the handler before the client has taken what came before, so a slow client costs no memory, and one that takes
// nothing for long is cut off.
import { Readable } from 'node:stream'
import type { SentEvent } from '../../infra/contract/operation.ts'

type Sent = SentEvent<Record<string, unknown>>

export interface EventStreamOptions {
  /**
   * Starts the events; the signal is aborted when the client is gone. What it throws before the first of them is answered
   * with a status.
   */
  start: (signal: AbortSignal) => AsyncIterable<Sent>
  /** The data of an event as JSON. */
  serialize: (event: string, data: unknown) => string
  /** Milliseconds of silence after which a comment shows that the stream is alive. */
  ping: number
  /** Milliseconds that a client may leave unread what it was sent. */
  patience: number
}

/** A client has left unread what it was sent. */
export class SlowReaderError extends Error {}

export class EventStream extends Readable {
  #options: EventStreamOptions
  #events: AsyncIterator<Sent>
  #gone = new AbortController()
  #timer: NodeJS.Timeout
  /** The last id, as its line; with the next comment it is told again. */
  #id = ''
  #wanted = false
  #running = false
  /** Bytes that were sent, and those of them that the client took; when that was. */
  #sent = 0
  #sentAt = performance.now()
  #taken = 0
  #takenAt = performance.now()

  constructor(options: EventStreamOptions) {
    super({ highWaterMark: 16 * 1024 })
    this.#options = options
    this.#events = options.start(this.#gone.signal)[Symbol.asyncIterator]()
    this.#timer = setInterval(() => this.#look(), Math.min(options.ping, options.patience) / 4)
    this.#timer.unref()
  }

  override _read(): void {
    this.#wanted = true
    if (!this.#running) void this.#run()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.#timer)
    this.#gone.abort()
    // What the handler has left to do is its own; the connection does not wait for it.
    this.#events.return?.().catch(() => {})
    callback(error)
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      while (this.#wanted && !this.destroyed) {
        const { value, done } = await this.#events.next()
        if (this.destroyed) return
        if (done) return this.#end()
        this.#tell(value)
      }
    } catch (error) {
      this.destroy(error as Error)
    } finally {
      this.#running = false
    }
  }

  #tell({ event, id, data }: Sent & { data?: unknown }): void {
    if (id !== undefined) this.#id = `id: ${id}\n`
    if (event === undefined) {
      // Where the stream begins is told at once, where it is then in a silence.
      if (this.#sent === 0) this.#comment('connected')
      return
    }
    // An event without a name is a `message`.
    const name = event === 'message' ? '' : `event: ${event}\n`
    this.#send(`${id === undefined ? '' : this.#id}${name}data: ${this.#options.serialize(event, data)}\n\n`)
  }

  #comment(text: string): void {
    this.#send(`: ${text}\n${this.#id}\n`)
  }

  #send(text: string): void {
    const bytes = Buffer.from(text)
    this.#sent += bytes.length
    this.#sentAt = performance.now()
    this.#wanted = this.push(bytes)
  }

  #end(): void {
    this.#wanted = false
    this.push(null)
  }

  #look(): void {
    const now = performance.now()
    const taken = this.#sent - this.readableLength
    if (this.readableLength === 0 || taken > this.#taken) {
      this.#taken = taken
      this.#takenAt = now
    }
    if (now - this.#takenAt >= this.#options.patience)
      this.destroy(new SlowReaderError('the client does not read'))
    else if (this.#wanted && now - this.#sentAt >= this.#options.ping) this.#comment('ping')
  }
}
