// The server-sent events of a streamed response. The official client's own iterator takes several times the
// work for each event.
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { maxBodyBytes, ResponseTooLarge } from './client.ts'
import { InvalidAnswer } from './errors.ts'

/** Characters of one event. */
const maxEventLength = 1024 * 1024

export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  readonly #decoder = new TextDecoder()
  readonly #parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: (event) => this.#events.push(event),
    onError: ({ type }) => {
      this.#tooLarge ||= type === 'max-buffer-size-exceeded'
    },
  })
  #events: EventSourceMessage[] = []
  #bytes = 0
  #tooLarge = false
  #ended = false
  /** The text of an answer that is JSON, from servers that do not stream; null for a stream. */
  #json: string | null = null

  /** @throws InvalidAnswer for a page. */
  constructor({ body, headers }: Response) {
    const type = headers.get('content-type') ?? ''
    if (/\bhtml\b/.test(type)) {
      void body?.cancel().catch(() => {})
      throw new InvalidAnswer('it answered with an HTML page', true)
    }
    if (/\bjson\b/.test(type)) this.#json = ''
    this.#reader = body?.getReader()
  }

  /** Waits for events. @returns those that arrived together; null at the end. */
  async next(): Promise<EventSourceMessage[] | null> {
    if (this.#reader === undefined) return null
    while (this.#events.length === 0) {
      if (this.#ended) return null
      if (this.#tooLarge) throw new ResponseTooLarge('The response is too large.')
      const { done, value } = await this.#reader.read()
      this.#feed(done ? undefined : value)
    }
    const events = this.#events
    this.#events = []
    return events
  }

  /** Closes the connection unless the response was read to its end. */
  close(): void {
    void this.#reader?.cancel().catch(() => {})
  }

  #feed(bytes: Uint8Array | undefined): void {
    this.#ended = bytes === undefined
    this.#bytes += bytes?.length ?? 0
    this.#tooLarge ||= this.#bytes > maxBodyBytes
    const text = this.#decoder.decode(bytes, { stream: !this.#ended })
    if (this.#json !== null) {
      this.#json += text
      if (this.#ended) this.#events.push({ id: undefined, event: undefined, data: this.#json })
      return
    }
    // Some servers omit the empty line after the last event.
    this.#parser.feed(this.#ended ? `${text}\n\n` : text)
  }
}
