// The answers that this process generates. How a streamed chat works:
//
// - Produce: `start` registers a LiveAnswer and generates it in the background (generate-answer.ts). Exactly
//   one process generates an answer: the process that received the request.
// - Store: every second the text so far and a heartbeat are saved to the row of the message
//   (save-progress.ts). The end, the token usage and the event `chat.*` are stored in one transaction
//   (finish-answer.ts).
// - Follow: `follow` streams an answer to one client. The process that generates the answer streams it from
//   memory; every other process polls the row (stream.ts).
// - Resume: an event id is an offset in the answer, so `Last-Event-ID` resumes at any offset, from memory or
//   from the row (stream-events.ts).
// - Disconnect: each client counts as a follower. When the last follower disconnects, the generation stops,
//   the connection to the provider closes, and the message ends as `canceled` with the text so far.
// - Cancel: a NOTIFY on `message_cancel` reaches the process that generates the answer.
// - Crash: a message whose heartbeat is older than 30 seconds is finished as `failed` by the next request
//   that needs it, or by the retention task within a minute (retention.ts).
import * as sql from '../../../generated/sql/chat.ts'
import { retry } from '../../../infra/concurrency/retry.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, Db } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import type { Bus } from '../../../infra/bus/bus.ts'
import { ApiError, notFound, unavailable } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import { actorOf, type Principal, type Principals } from '../../users/authentication.ts'
import type { Providers } from '../providers/providers.ts'
import type { Searches } from '../search/searches.ts'
import { errorOfMessage, finishMessage, finishWithStoredContent, type Outcome } from './finish-answer.ts'
import { generateAnswer } from './generate-answer.ts'
import { LiveAnswer, type FinalAnswer, type GenerationTask } from './live-answer.ts'
import { findMessage, type OwnedMessage } from './messages.ts'
import type { PartsServices } from './message-parts.ts'
import { ProgressSaver } from './save-progress.ts'
import type { StartedAnswer } from './start-answer.ts'
import { AnswerStreams, type FollowRequest } from './stream.ts'
import type { AnswerEvent } from './stream-events.ts'

export interface GenerationsOptions {
  database: Database
  listener: Pick<Bus, 'on'>
  principals: Pick<Principals, 'refresh'>
  events: Emitter
  providers: Providers
  searches: Searches
  storage: PartsServices['storage']
  /** Milliseconds between two saves of the answers in progress. Default 1,000. */
  interval?: number
  /** Milliseconds after which a follower's permission is checked again. Default 10,000. */
  recheck?: number
  onError?: (error: Error) => void
}

const cancelChannel = 'message_cancel'
/** Milliseconds that `cancel` waits for another process. */
const cancelTimeoutMs = 5_000
/** How often the end of an answer is stored at most, while the database is unavailable. */
const maxFinishAttempts = 8

export class Generations {
  readonly #database: Database
  readonly #services: Pick<GenerationsOptions, 'database' | 'events' | 'providers' | 'searches' | 'storage'>
  readonly #onError: (error: Error) => void
  readonly #streams: AnswerStreams
  readonly #saver: ProgressSaver
  /** By message id. */
  readonly #answers = new Map<string, LiveAnswer>()
  readonly #closing = new AbortController()

  constructor({
    database,
    listener,
    principals,
    events,
    providers,
    searches,
    storage,
    interval = 1_000,
    recheck = 10_000,
    onError = () => {},
  }: GenerationsOptions) {
    this.#database = database
    this.#services = { database, events, providers, searches, storage }
    this.#onError = onError
    this.#streams = new AnswerStreams({ database, events, providers, principals, recheck })
    listener.on(cancelChannel, (id) => this.#answers.get(id)?.cancel())
    this.#saver = new ProgressSaver({ database, answers: this.#answers, interval, onError })
  }

  /** How many answers this process is generating. */
  get size(): number {
    return this.#answers.size
  }

  /**
   * Starts to generate an answer. The generation stops when `disconnected` is aborted and no other client
   * follows the answer. During a shutdown the answer fails at once.
   */
  start(task: GenerationTask, disconnected: AbortSignal): LiveAnswer {
    const answer = new LiveAnswer(task)
    this.#answers.set(answer.id, answer)
    void this.#run(answer)
    answer.addFollower(disconnected)
    return answer
  }

  /**
   * Generates a started answer to its end, unless it repeats an earlier one. Throws the error of a failed
   * answer.
   */
  async complete(
    { message, task }: StartedAnswer,
    principal: Principal,
    disconnected: AbortSignal,
  ): Promise<{ message: OwnedMessage; replayed: boolean }> {
    if (task === null) return { message, replayed: true }
    this.start(task, disconnected)
    return { message: await this.#finished(message.id, principal), replayed: false }
  }

  /** Waits for the end of an answer. @returns the finished message. Throws the error of a failed answer. */
  async #finished(id: string, principal: Principal): Promise<OwnedMessage> {
    const { message, error } = (await this.#answers.get(id)?.finished) ?? { message: null, error: null }
    if (error !== null) throw error
    return message ?? (await this.#readFinished(id, principal))
  }

  /**
   * Starts a streamed answer, unless it repeats an earlier one, and waits for its first text, at most
   * `milliseconds`. Throws if the answer fails before.
   * @returns its events, and whether it repeats an earlier one.
   */
  async stream(
    { message, task }: StartedAnswer,
    request: FollowRequest,
    disconnected: AbortSignal,
    milliseconds: number,
  ): Promise<{ events: ReturnType<Generations['follow']>; replayed: boolean }> {
    const events = this.follow(request, message, 0)
    if (task === null) return { events, replayed: true }
    await firstPartWithin(this.start(task, disconnected), milliseconds)
    return { events, replayed: false }
  }

  /**
   * The events of an answer behind the offset `after`. The last event is `message.completed`, or `error` if
   * the answer failed, was deleted, or may no longer be read by the caller.
   */
  follow(
    request: FollowRequest,
    message: OwnedMessage,
    after: number,
  ): (disconnected: AbortSignal) => AsyncIterable<AnswerEvent> {
    return (disconnected) => {
      const subscription = { request, message, after, disconnected }
      const answer = this.#answers.get(message.id)
      if (answer === undefined) return this.#streams.stored(subscription)
      const removeFollower = answer.addFollower(disconnected)
      return this.#streams.live(answer, subscription, removeFollower)
    }
  }

  /**
   * Cancels an answer, even if another process generates it, and waits up to 5 seconds for its end. An answer
   * without a live process is finished in `db`.
   */
  async cancel(db: Db, id: string): Promise<void> {
    const answer = this.#answers.get(id)
    if (answer !== undefined) {
      answer.cancel()
      await answer.finished
      return
    }
    await sql.notifyCancel(this.#database, { channel: cancelChannel, id })
    for (const deadline = performance.now() + cancelTimeoutMs; ;) {
      const row = await sql.readStatus(this.#database, {
        id,
        heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
      })
      if (row?.status !== 'in_progress') return
      // A process that missed the notification stops when its next save finds the message finished.
      if (!row.alive || performance.now() > deadline) break
      await sleep(50)
    }
    await db.transaction(async (tx) => {
      await finishWithStoredContent(tx, this.#services, { id, status: 'canceled' })
    })
  }

  /** Starts no more answers, and stops those in progress after `milliseconds`. */
  async close(milliseconds = 0): Promise<void> {
    this.#closing.abort()
    const stopAll = (): void => {
      for (const answer of this.#answers.values()) answer.stop()
    }
    const timer = milliseconds === 0 ? stopAll() : setTimeout(stopAll, milliseconds)
    while (this.#answers.size > 0)
      await Promise.all([...this.#answers.values()].map((answer) => answer.finished))
    if (timer !== undefined) clearTimeout(timer)
    await this.#saver.stop()
  }

  /** Generates an answer to its end. Never rejects. */
  async #run(answer: LiveAnswer): Promise<void> {
    const final = await this.#generate(answer).catch((error): FinalAnswer => {
      this.#onError(error)
      return {
        message: null,
        error: unavailable('The end of this answer could not be stored; get the message later.'),
      }
    })
    this.#answers.delete(answer.id)
    answer.finish(final)
  }

  async #generate(answer: LiveAnswer): Promise<FinalAnswer> {
    // Lets `start` add the first follower before the generation begins.
    await Promise.resolve()
    const outcome = await this.#produce(answer).catch((error: unknown) => this.#failed(answer, error))
    const message = await this.#storeEnd(answer, outcome)
    return { message, error: message === null ? null : outcome.error }
  }

  async #produce(answer: LiveAnswer): Promise<Outcome> {
    if (this.#closing.signal.aborted) throw unavailable('The server is shutting down; try again.')
    return await generateAnswer(answer, { ...this.#services, onError: this.#onError })
  }

  #failed(answer: LiveAnswer, error: unknown): Outcome {
    const partial = {
      finishReason: null,
      promptTokens: answer.promptTokens,
      cachedTokens: 0,
      completionTokens: answer.countTokens(),
    }
    if (answer.signal.aborted) return { ...partial, status: 'canceled', error: null }
    if (!(error instanceof ApiError)) this.#onError(error as Error)
    return {
      ...partial,
      status: 'failed',
      // A provider that refused the request has not processed the prompt.
      promptTokens: answer.hasBegun ? partial.promptTokens : 0,
      error: error instanceof ApiError ? error : new ApiError(500, 'SERVER_ERROR', 'Something went wrong.'),
    }
  }

  /** Stores the end of an answer, its usage and its event. Retries while the database is unavailable. */
  async #storeEnd(answer: LiveAnswer, outcome: Outcome): Promise<OwnedMessage | null> {
    const { task, content, citations, toolCalls, refusal, passages } = answer
    const { requestId, clientRequestId, principal, projectId } = task
    const db = this.#database.forRequest({ id: requestId, clientRequestId, actor: actorOf(principal) })
    const finished = {
      ...outcome,
      id: answer.id,
      model: task.model,
      provider: answer.provider,
      principal,
      projectId,
      keepIdempotencyKey: outcome.status !== 'canceled' || answer.canceledByUser,
      content,
      citations,
      toolCalls,
      refusal,
      passages,
    }
    return await retry(() => db.transaction((tx) => finishMessage(tx, this.#services, finished)), {
      attempts: maxFinishAttempts,
      delayMs: (attempt) => 250 * 2 ** attempt,
      shouldRetry: (error) => error instanceof ApiError && error.status === 503,
      signal: this.#closing.signal,
      ref: false,
    })
  }

  async #readFinished(id: string, principal: Principal): Promise<OwnedMessage> {
    const message = await findMessage(this.#database, id, principal)
    if (message === undefined) throw notFound('message', id)
    const error = errorOfMessage(message)
    if (error !== null) throw error
    return message
  }
}

/** Waits for the first text, at most `milliseconds`. Throws if the answer fails before. */
async function firstPartWithin(answer: LiveAnswer, milliseconds: number): Promise<void> {
  const timer = new AbortController()
  const timeout = sleep(milliseconds, null, { signal: timer.signal }).catch(() => {})
  const first = waitForFirstPart(answer)
  try {
    await Promise.race([first, timeout])
  } finally {
    timer.abort()
    first.catch(() => {})
  }
}

async function waitForFirstPart(answer: LiveAnswer): Promise<void> {
  const changed = Promise.withResolvers<void>()
  const stopListening = answer.onChange(changed.resolve)
  if (answer.isEmpty && answer.final === null) await changed.promise
  stopListening()
  const { error } = answer.final ?? {}
  if (error && answer.isEmpty) throw error
}
