// The stream of an answer, with its text and its final event. After a disconnect it resumes by the
// operation that the contract names (`x-stream-answer`).
import { ConnectionError, ClientError, streamErrorOf } from './error.ts'
import type { StreamedEvent } from './events.ts'

/** The events of a stream that are an answer. */
export interface AnswerShape {
  /** The first event; its data has the id of the answer. */
  start: string
  /** The event whose `delta` is a piece of the text. */
  delta: string
  /** The last event, whose data is the whole answer. */
  final: string
  /** The operation that streams the answer again, by its id. */
  resume: string
}

/** The events of an answer. The request is sent with the first event. `break` closes the connection. */
export interface AnswerStream<Event, Final> extends AsyncGenerator<Event, void, undefined> {
  /**
   * The whole answer, also after a loop over the events. Reads the events that are left.
   * @throws ClientError if the answer failed; its `code` says why.
   */
  final(): Promise<Final>
  /** The whole text. Reads the events that are left. */
  text(): Promise<string>
  /** The pieces of the text, as they arrive. */
  deltas(): AsyncGenerator<string, void, undefined>
}

interface Sources {
  operation: string
  shape: AnswerShape
  /** Opens the stream. */
  open(): AsyncGenerator<StreamedEvent, void, undefined>
  /** Opens it again after the event with this id. */
  resume(id: string, lastEventId: string | null): AsyncGenerator<StreamedEvent, void, undefined>
}

export function answerStream(sources: Sources): AnswerStream<StreamedEvent, unknown> {
  const { operation, shape } = sources
  const state: State = { text: '', final: undefined, failure: undefined }
  const events = recorded(resumed(sources), shape, operation, state)
  const drain = async (): Promise<void> => {
    while (!(await events.next()).done);
  }
  return Object.assign(events, {
    async final() {
      await drain()
      if (state.failure !== undefined) throw state.failure
      if (state.final === undefined)
        throw new ClientError('The stream was closed before the answer was complete.', { operation })
      return state.final
    },
    async text() {
      await drain()
      if (state.failure !== undefined) throw state.failure
      return state.text
    },
    async *deltas() {
      for await (const { event, data } of events)
        if (event === shape.delta) yield (data as { delta: string }).delta
      if (state.failure !== undefined) throw state.failure
    },
  })
}

interface State {
  text: string
  final: unknown
  failure: ClientError | undefined
}

/** Keeps what `final()` and `text()` return. */
async function* recorded(
  events: AsyncGenerator<StreamedEvent, void, undefined>,
  shape: AnswerShape,
  operation: string,
  state: State,
): AsyncGenerator<StreamedEvent, void, undefined> {
  for await (const event of events) {
    if (event.event === shape.delta) state.text += (event.data as { delta: string }).delta
    if (event.event === shape.final) state.final = event.data
    if (event.event === 'error') state.failure = streamErrorOf(operation, event.data)
    yield event
  }
}

/** Continues with the other operation if the connection is lost after the answer has an id. */
async function* resumed({ shape, open, resume }: Sources): AsyncGenerator<StreamedEvent, void, undefined> {
  let id: string | undefined
  let last: string | null = null
  try {
    for await (const event of open()) {
      if (event.event === shape.start) id = (event.data as { id: string }).id
      last = event.id
      yield event
    }
  } catch (error) {
    if (!(error instanceof ConnectionError) || id === undefined) throw error
    yield* resume(id, last)
  }
}
