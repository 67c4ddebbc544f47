// The messages of a session, and the answer while it is generated.
import { call, failureOf, stream, type Failure, type StreamedEvent } from '../session.ts'

export interface Citation {
  document_id: string
  file_id: string | null
  chunk_id: string
  name: string
  page: number | null
  start_index: number
  end_index: number
  quote: string
  stale: boolean
}

export interface Message {
  id: string
  role: 'system' | 'user' | 'assistant'
  content: string
  status: string
  model: string | null
  citations: Citation[]
  searched: { knowledge_base_ids: string[] } | null
  error: { code: string; message: string } | null
  created_at: string
}

const pageSize = 50

export class Conversation {
  readonly sessionId: string
  /** The oldest first; null until they are loaded. */
  messages: Message[] | null = null
  /** Leads to earlier messages; null if there are none. */
  cursor: string | null = null
  /** A question that is sent but not yet among the messages, and the ID of the message before it. */
  asked: { text: string; after: string | undefined } | null = null
  /** The answer that is generated, as far as it has arrived. */
  answer: Message | null = null
  isBusy = false
  failure: Failure | null = null
  onChange = (): void => {}
  #following: Promise<Failure | null> | null = null
  /** Numbers of the last request for the messages, and of the one whose answer is shown. */
  #sent = 0
  #shown = 0

  constructor(sessionId: string) {
    this.sessionId = sessionId
  }

  get lastId(): string | undefined {
    return this.messages?.at(-1)?.id
  }

  /** The answer that the server generates now. */
  get running(): Message | undefined {
    return this.answer ?? this.messages?.find(({ status }) => status === 'in_progress')
  }

  /** Loads the latest messages, and follows an answer that is generated. */
  async load(): Promise<void> {
    const failure = await this.#reload()
    this.#change({ failure: failure ?? this.failure })
    const running = this.messages?.find(({ status }) => status === 'in_progress')
    if (running === undefined || this.#following !== null) return
    const following = this.#follow(stream('streamMessage', { path: { id: running.id } }))
    if (!this.isBusy) await this.#work(() => following)
  }

  async retry(): Promise<void> {
    this.#change({ failure: null })
    await this.load()
  }

  async loadEarlier(): Promise<void> {
    await this.within(async () => {
      const { cursor } = this
      const { data, pagination } = await this.#page({ cursor })
      // A second click requests the same page.
      if (cursor === this.cursor)
        this.#change({ messages: [...data.toReversed(), ...this.messages!], cursor: pagination.next_cursor })
    })
  }

  /** @returns whether the server stored the question. */
  async send(text: string): Promise<boolean> {
    const after = this.lastId
    this.asked = { text, after }
    const body = { session_id: this.sessionId, message: text }
    // Another attempt after a failure of the model would store the question again.
    await this.#run(() => this.#follow(stream('streamChat', { body, retries: 0 })))
    const added = this.messages!.slice(after === undefined ? 0 : this.#indexOf(after) + 1)
    return added.some(({ role, content }) => role === 'user' && content === text)
  }

  /** Changes a question and generates its answer. `onChanged` is called between the two. */
  async edit(id: string, content: string, onChanged: () => void): Promise<void> {
    await this.#run(async () => {
      const { data } = await call('updateMessage', { path: { id }, body: { content } })
      onChanged()
      this.#change({ messages: [...this.messages!.slice(0, this.#indexOf(id)), data] })
      return await this.#regenerate(id)
    })
  }

  /** Generates the answer to the last question again. */
  async regenerate(): Promise<void> {
    const question = this.messages!.findLast(({ role }) => role === 'user')!
    await this.#run(() => {
      this.#change({ messages: this.messages!.slice(0, this.#indexOf(question.id) + 1) })
      return this.#regenerate(question.id)
    })
  }

  async stop(): Promise<void> {
    const { id } = this.running!
    // Unless it ended in the meantime.
    await this.within(() => call('cancelMessage', { path: { id } }), 'INVALID_STATE')
  }

  /** Shows why a request failed, except with the code `expected`. */
  async within(request: () => Promise<unknown>, expected?: string): Promise<void> {
    try {
      await request()
    } catch (error) {
      const failure = failureOf(error)
      if (failure.code !== expected) this.#change({ failure })
    }
  }

  #latest(message: Message): Message {
    const { answer } = this
    return answer?.id === message.id && message.status === 'in_progress' ? answer : message
  }

  #indexOf(id: string): number {
    return this.messages!.findIndex((message) => message.id === id)
  }

  /** The operation answers with the end; meanwhile `load` finds the new answer and follows it. */
  async #regenerate(id: string): Promise<Failure | null> {
    try {
      await call('regenerateMessage', { path: { id } })
    } catch (error) {
      if (this.#following === null) return failureOf(error)
    }
    return await this.#following
  }

  async #run(work: () => Promise<Failure | null>): Promise<void> {
    if (this.isBusy) return
    this.failure = null
    await this.#work(work)
  }

  async #work(work: () => Promise<Failure | null>): Promise<void> {
    this.#change({ isBusy: true })
    const failed = await work().catch(failureOf)
    const unloaded = await this.#reload()
    // Where the messages could not be loaded, what has arrived stays.
    const messages = this.messages!.map((message) => this.#latest(message))
    this.#change({ messages, isBusy: false, answer: null, asked: null, failure: failed ?? unloaded })
  }

  #follow(events: AsyncGenerator<StreamedEvent, void>): Promise<Failure | null> {
    this.#following = this.#read(events)
      .catch(failureOf)
      .finally(() => {
        this.#following = null
      })
    return this.#following
  }

  async #read(events: AsyncGenerator<StreamedEvent, void>): Promise<Failure | null> {
    for await (const { event, data } of events) {
      if (event === 'error')
        return { ...data.error, constraint: null, requestId: data.error.details.request_id, problems: [] }
      this.#change({ answer: withEvent(this.answer, event, data) })
      if (event === 'message.created') void this.#reload()
    }
    return null
  }

  /** The messages before the page stay, unless they were deleted in the meantime. */
  async #reload(): Promise<Failure | null> {
    const request = ++this.#sent
    try {
      const { data, pagination } = await this.#page({})
      if (request < this.#shown) return null
      this.#shown = request
      const page: Message[] = data.toReversed()
      const known = this.messages ?? []
      const before = known.slice(
        0,
        Math.max(
          0,
          known.findIndex(({ id }) => id === page[0]?.id),
        ),
      )
      const cursor = before.length > 0 ? this.cursor : pagination.next_cursor
      this.#change({ messages: [...before, ...page], cursor })
      return null
    } catch (error) {
      return failureOf(error)
    }
  }

  async #page(query: object): Promise<any> {
    const input = { path: { id: this.sessionId }, query: { ...query, order: 'desc', limit: pageSize } }
    return (await call('listSessionMessages', input)).data
  }

  #change(state: Partial<Conversation>): void {
    Object.assign(this, state)
    this.onChange()
  }
}

function withEvent(answer: Message | null, event: string, data: any): Message | null {
  if (event === 'message.created') return data
  if (answer === null) return null
  if (event === 'message.delta') return { ...answer, content: answer.content + data.delta }
  if (event === 'citation.added') return { ...answer, citations: [...answer.citations, data] }
  const { message, status, searched } = data
  return { ...answer, ...message, status, searched }
}
