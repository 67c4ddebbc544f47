// The state of one answer while this process generates it: the text and citations so far, who follows the
// answer, and how it ended. The generator writes to it, streams read from it, and the progress saver stores
// it.
import type { ModelOptions } from '../providers/providers.ts'
import type { ToolCall } from '../providers/tool-calls.ts'
import type { Principal } from '../../users/authentication.ts'
import type { ApiError } from '../../../infra/errors.ts'
import type { NewCitation } from '../extractive/answer.ts'
import type { OwnedMessage, StoredCitation } from './messages.ts'
import type { AnswerFormat } from './answer-format.ts'
import type { ContextWindow, Conversation } from './prompt.ts'
import type { DocumentFilters } from '../search/filters.ts'
import { endOf, type AnswerContent, type Part } from './stream-events.ts'
import { countTokens } from './token-estimate.ts'

/** An answer to generate. Its message already exists in the database, with the status `in_progress`. */
export interface GenerationTask {
  message: OwnedMessage
  principal: Principal
  /** The project to whose usage the answer counts; null outside projects. */
  projectId: string | null
  requestId: string
  clientRequestId?: string
  model: string
  conversation: Conversation
  contextWindow: ContextWindow
  /** The knowledge bases to search. The search skips those that the caller may not read. */
  knowledgeBaseIds: string[]
  filters?: DocumentFilters
  options: ModelOptions
  /** What the text must be; null for any text. */
  format: AnswerFormat | null
}

/** How an answer ended. Both are null if the message was deleted, or finished by another process. */
export interface FinalAnswer {
  message: OwnedMessage | null
  error: ApiError | null
}

/**
 * Milliseconds between two notifications of followers. They send the text that arrives meanwhile as one
 * event, since an event costs several times the work of a token.
 */
const changeInterval = 50

export class LiveAnswer implements AnswerContent {
  readonly task: GenerationTask
  content = ''
  readonly citations: StoredCitation[] = []
  /** The text and the citations in the order in which they arrived. */
  readonly parts: Part[] = []
  /** The functions that the model calls, as far as they have arrived. */
  toolCalls: ToolCall[] = []
  /** The provider that was asked last; null before. */
  provider: string | null = null
  /** Why the answer does not have the format of the request; null if it has. */
  refusal: string | null = null
  /** Text of the model that no client receives. Its tokens count. */
  withheld = ''
  /** Thoughts of the model, which no client receives either. Their tokens count too. */
  thoughts = ''
  /** How many passages the search found; null before the search. */
  passages: number | null = null
  /** Tokens of the prompt; 0 until the prompt is known. */
  promptTokens = 0
  /**
   * Whether a user canceled the answer. False if the generation stopped because its last follower left.
   */
  canceledByUser = false
  /** How the answer ended; null while it is being generated. */
  final: FinalAnswer | null = null
  /** The end of what is stored (see `endOf`), and when it was stored. */
  savedEnd = 0
  savedAt = 0
  #followers = 0
  readonly #abort = new AbortController()
  readonly #finished = Promise.withResolvers<FinalAnswer>()
  readonly #listeners = new Set<() => void>()
  /** Runs while a change must wait. */
  #changeTimer: NodeJS.Timeout | undefined
  #changeWaits = false
  /** The first half of a surrogate pair whose second half has not arrived. */
  #pendingSurrogate = ''

  constructor(task: GenerationTask) {
    this.task = task
  }

  get id(): string {
    return this.task.message.id
  }

  get isEmpty(): boolean {
    return this.parts.length === 0 && this.toolCalls.length === 0
  }

  /** Whether the model has begun to generate, as far as that is known. */
  get hasBegun(): boolean {
    return !this.isEmpty || this.withheld !== '' || this.thoughts !== ''
  }

  /** The tokens of the answer, estimated. */
  countTokens(): number {
    const calls = this.toolCalls.map(({ name, arguments: args }) => name + args)
    return countTokens([this.content, this.withheld, this.thoughts, ...calls].join(''))
  }

  /** Aborted when the generation must stop. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /**
   * Calls `listener` after each change: more text or citations, or the end.
   * @returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves at the end. Never rejects. */
  get finished(): Promise<FinalAnswer> {
    return this.#finished.promise
  }

  addText(delta: string): void {
    // PostgreSQL cannot store NUL.
    const text = this.#pendingSurrogate + delta.replaceAll('\0', '')
    this.#pendingSurrogate = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : ''
    const complete = text.slice(0, text.length - this.#pendingSurrogate.length).toWellFormed()
    if (complete === '') return
    this.content += complete
    this.parts.push({ end: endOf(this.parts) + complete.length, text: complete })
    this.#change()
  }

  setToolCalls(calls: ToolCall[]): void {
    this.toolCalls = calls
    this.#change()
  }

  addCitation(citation: NewCitation): void {
    const stored = { ...citation, at: this.content.length }
    this.citations.push(stored)
    this.parts.push({ end: endOf(this.parts) + 1, citation: stored })
    this.#change()
  }

  /** The generation stops when the last follower has left. @returns a function that removes this follower. */
  addFollower(disconnected: AbortSignal): () => void {
    let following = true
    this.#followers++
    const remove = (): void => {
      disconnected.removeEventListener('abort', remove)
      if (!following) return
      following = false
      if (--this.#followers === 0) this.stop()
    }
    disconnected.addEventListener('abort', remove)
    if (disconnected.aborted) remove()
    return remove
  }

  stop(): void {
    this.#abort.abort()
  }

  cancel(): void {
    if (this.signal.aborted) return
    this.canceledByUser = true
    this.stop()
  }

  finish(final: FinalAnswer): void {
    this.final = final
    clearTimeout(this.#changeTimer)
    this.#notifyChanged()
    this.#finished.resolve(final)
  }

  /** Notifies followers: at once, or at the end of the interval since the last notification. */
  #change(): void {
    if (this.#changeTimer !== undefined) {
      this.#changeWaits = true
      return
    }
    this.#changeWaits = false
    this.#changeTimer = setTimeout(() => {
      this.#changeTimer = undefined
      if (this.#changeWaits) this.#change()
    }, changeInterval)
    this.#notifyChanged()
  }

  #notifyChanged(): void {
    for (const listener of this.#listeners) listener()
  }
}
