// The server-sent events of a streamed response. The official client's own iterator takes several times the
// work for each event.
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { maxBodyBytes, ResponseTooLarge } from './client.ts'

/** Characters of one event. */
const maxEventLength = 1024 * 1024

/** Yields the events that arrived together. Leaving the iteration closes the connection. */
export async function* readEvents({ body }: Response): AsyncGenerator<EventSourceMessage[], void, undefined> {
  if (body === null) return
  let events: EventSourceMessage[] = []
  let tooLarge = false
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: (event) => events.push(event),
    onError: ({ type }) => {
      tooLarge ||= type === 'max-buffer-size-exceeded'
    },
  })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      bytes += value?.length ?? 0
      // Some servers omit the empty line after the last event.
      parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }))
      if (events.length > 0) {
        yield events
        events = []
      }
      if (done) return
      if (tooLarge || bytes > maxBodyBytes) throw new ResponseTooLarge('The response is too large.')
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
