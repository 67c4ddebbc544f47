// Streams one answer to one client. `live` reads from the memory of the process that generates the answer;
// `stored` polls the row of the message, for an answer that is finished or that another process generates.
//
// - Both start behind the offset that the client names in `Last-Event-ID` (0 for a new client) and end with
//   `message.completed` or `error`.
// - The generators yield only when the client has taken the previous events (app/http/sse.ts), so a slow
//   client never slows the generation and needs no buffer: its next event contains all the text that arrived
//   meanwhile.
// - A client that disconnects ends its generator. Removing the last follower stops the generation
//   (generation.ts).
// - The permission to read the message is checked again every 10 seconds.
import { setTimeout as sleep } from 'node:timers/promises'
import * as sql from '../../../generated/sql/chat.ts'
import type { Database } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import { ApiError, notFound } from '../../../infra/errors.ts'
import type { Principal, Principals } from '../../users/authentication.ts'
import { errorOfMessage, failStaleMessages, type FinishServices } from './finish-answer.ts'
import type { FinalAnswer, LiveAnswer } from './live-answer.ts'
import { findMessage, openMessage, toChatResponse, toMessage, type OwnedMessage } from './messages.ts'
import { endOf, eventsAfter, partsOf, toolCallEvents, type AnswerEvent } from './stream-events.ts'

/** The request of the client that follows an answer. */
export interface FollowRequest {
  id: string
  clientRequestId?: string
  principal: Principal
}

export interface Subscription {
  request: FollowRequest
  message: OwnedMessage
  /** The offset of the last event that the client has seen. */
  after: number
  disconnected: AbortSignal
}

/** Milliseconds between two reads of the row. */
const pollInterval = 500

/** The operation whose permission a follower needs. */
const readOperation = { id: 'streamMessage', method: 'GET', projectAccess: { role: 'viewer' } }

/** The fields of a message before its generation starts, for the event `message.created`. */
const emptyAnswer = {
  status: 'in_progress' as const,
  content: '',
  citations: [],
  tool_calls: null,
  refusal: null,
  provider: null,
  finish_reason: null,
  usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost_micros: null },
  error: null,
}

export interface AnswerStreamsOptions extends FinishServices {
  database: Database
  principals: Pick<Principals, 'refresh'>
  /** Milliseconds after which the permission of a follower is checked again. */
  recheck: number
}

export class AnswerStreams {
  readonly #options: AnswerStreamsOptions

  constructor(options: AnswerStreamsOptions) {
    this.#options = options
  }

  /** The events of an answer that this process generates. Calls `removeFollower` at the end. */
  async *live(
    answer: LiveAnswer,
    { request, message, after, disconnected }: Subscription,
    removeFollower: () => void,
  ): AsyncGenerator<AnswerEvent> {
    const access = this.#accessCheck(request, message.id)
    let wakeUp = Promise.withResolvers<void>()
    const wake = (): void => wakeUp.resolve()
    disconnected.addEventListener('abort', wake)
    const stopListening = answer.onChange(wake)
    const timer = setInterval(wake, this.#options.recheck)
    timer.unref()
    try {
      // A client cannot have seen more than there is: all events of this answer came from this process.
      let offset = Math.min(after, endOf(answer.parts))
      // A client that resumes gets the calls with the last event only.
      const sentCalls = after < 1 ? [] : null
      if (offset < 1) {
        yield { event: 'message.created', id: '1', data: toMessage(message) }
        offset = 1
      }
      for (;;) {
        const refusal = await access.check()
        if (refusal !== null) return yield errorEvent(request, refusal, offset)
        // Read before the events, so that they are all there is if the answer is final.
        const { final } = answer
        for (const event of eventsAfter(answer.parts, offset)) {
          yield event
          offset = Number(event.id)
        }
        if (sentCalls !== null) yield* toolCallEvents(answer.toolCalls, sentCalls)
        if (final !== null) return yield await this.#lastEvent(request, message.id, final, offset)
        if (offset === endOf(answer.parts)) await wakeUp.promise
        if (disconnected.aborted) return
        wakeUp = Promise.withResolvers()
      }
    } finally {
      clearInterval(timer)
      stopListening()
      disconnected.removeEventListener('abort', wake)
      removeFollower()
    }
  }

  /** The events of an answer from its row: what is stored, then what another process adds, then the end. */
  async *stored({ request, message, after, disconnected }: Subscription): AsyncGenerator<AnswerEvent> {
    const { database } = this.#options
    const access = this.#accessCheck(request, message.id)
    let offset = after
    if (offset < 1) {
      const searched = message.searched && { ...message.searched, passages: 0 }
      const created = toMessage(message)
      const data = { ...created, ...emptyAnswer, searched, updated_at: created.created_at }
      yield { event: 'message.created', id: '1', data }
      offset = 1
    }
    let sentSize = -1
    while (!disconnected.aborted) {
      const state = await sql.readAnswerState(database, {
        id: message.id,
        heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
      })
      const isFinished = state?.status !== 'in_progress'
      const hasGrown = state !== undefined && state.size !== sentSize
      const current =
        isFinished || hasGrown ? await findMessage(database, message.id, request.principal) : message
      if (state === undefined || current === undefined)
        return yield errorEvent(request, notFound('message', message.id), offset)
      const refusal = await access.check()
      if (refusal !== null) return yield errorEvent(request, refusal, offset)
      if (isFinished || hasGrown) {
        const stored = await sql.readAnswerContent(database, { id: message.id })
        if (stored === undefined) continue
        const parts = partsOf(stored)
        for (const event of eventsAfter(parts, offset)) {
          offset = Number(event.id)
          if (isReadable(event, current)) yield event
        }
        sentSize = state.size
        if (isFinished) {
          const end = endOf(parts)
          // A client that has seen the last event gets no more.
          if (offset !== end + 1) {
            const final = { message: current, error: errorOfMessage(current) }
            yield await this.#lastEvent(request, message.id, final, end)
          }
          return
        }
      }
      if (state.alive) await sleep(pollInterval, undefined, { signal: disconnected }).catch(() => {})
      else await this.#failStale(message.id)
    }
  }

  async #failStale(id: string): Promise<void> {
    await this.#options.database.transaction(async (tx) => {
      await failStaleMessages(tx, this.#options, id)
    })
  }

  /** `message.completed` or `error`, for a client that has seen everything up to the offset. */
  async #lastEvent(
    request: FollowRequest,
    id: string,
    final: FinalAnswer,
    offset: number,
  ): Promise<AnswerEvent> {
    let { message, error } = final
    if (message === null && error === null) {
      message = (await findMessage(this.#options.database, id, request.principal)) ?? null
      error = message === null ? notFound('message', id) : errorOfMessage(message)
    }
    if (error !== null) return errorEvent(request, error, offset)
    return { event: 'message.completed', id: String(offset + 1), data: toChatResponse(message!) }
  }

  #accessCheck(request: FollowRequest, id: string): AccessCheck {
    return new AccessCheck(this.#options, request, id)
  }
}

/** Checks from time to time whether the caller may still read a message. */
class AccessCheck {
  readonly #options: AnswerStreamsOptions
  readonly #messageId: string
  #principal: Principal
  #checkedAt = performance.now()

  constructor(options: AnswerStreamsOptions, { principal }: FollowRequest, messageId: string) {
    this.#options = options
    this.#principal = principal
    this.#messageId = messageId
  }

  /** @returns the error if the caller may no longer read the message. Null if the last check is recent. */
  async check(): Promise<ApiError | null> {
    const { database, principals, recheck } = this.#options
    if (performance.now() - this.#checkedAt < recheck) return null
    this.#checkedAt = performance.now()
    try {
      this.#principal = await principals.refresh(this.#principal)
      const params = { id: this.#messageId }
      await openMessage(database, { operation: readOperation, params, principal: this.#principal })
      return null
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // While the database is unavailable, the permission is unknown and the stream continues.
      return error.status === 503 ? null : error
    }
  }
}

function errorEvent({ id, clientRequestId }: FollowRequest, error: ApiError, offset: number): AnswerEvent {
  // As in the response header X-Request-ID.
  const requestId = clientRequestId ?? id
  return {
    event: 'error',
    id: String(offset + 1),
    data: error.toBody(requestId),
  }
}

/**
 * False for a citation that the caller may not read. `message` contains only the citations that the caller
 * may read.
 */
function isReadable(event: AnswerEvent, message: OwnedMessage): boolean {
  if (event.event !== 'citation.added') return true
  const { chunk_id: chunk, start_index: start } = event.data
  return message.citations.some((readable) => readable.chunk_id === chunk && readable.start_index === start)
}
