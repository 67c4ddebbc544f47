// Telling an answer to whoever follows it: as it is written here, or as it is kept, where another process writes it or it is over.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { ApiError, notFound } from '../../../infra/errors.ts'
import type { Principal, Principals } from '../../users/authentication.ts'
import { endSilent, failureOf, patience, type EndingServices } from './finish-answer.ts'
import {
  messageById,
  openMessage,
  responseOf,
  shownMessage,
  type OwnedMessage,
  type StoredCitation,
} from './messages.ts'
import { endOf, partsOf, storyAfter, type Part, type Told } from './stream-events.ts'

/** The request of who follows. */
export interface Following {
  id: string
  principal: Principal
}

/** What who follows an answer does with it. */
const reading = { id: 'streamMessage', projectAccess: { role: 'viewer' } }
/** Without a message and an error it is gone, or somebody else has ended it. */
export interface End {
  message: OwnedMessage | null
  error: ApiError | null
}

/** An answer as it is written in this process. */
export interface Live {
  readonly parts: Part[]
  /** Resolved, and made anew, with every change. */
  readonly changed: PromiseWithResolvers<void>
  readonly ended: End | null
}

/** What a message is before anything of it is written. */
const nothingYet = {
  status: 'in_progress' as const,
  content: '',
  citations: [],
  finish_reason: null,
  usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  error: null,
}

// What it is that is kept, without reading it.
const state = statement<{ status: string; alive: boolean; size: number }>(`
  SELECT status::text, octet_length(content) + jsonb_array_length(citations) AS size, coalesce(beat_at > now() - interval '${patience} seconds', false) AS alive
  FROM ai_messages WHERE id = $1`)
const stored = statement<{ content: string; citations: StoredCitation[] }>(
  'SELECT content, citations FROM ai_messages WHERE id = $1',
)

export interface Tellings {
  /** What is written here, and its end. `leave` is called when nobody listens any more. */
  live(
    live: Live,
    request: Following,
    message: OwnedMessage,
    after: number,
    gone: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<Told>
  /** What is kept, and what is added to it, and its end. */
  stored(request: Following, message: OwnedMessage, after: number, gone: AbortSignal): AsyncGenerator<Told>
}

export interface TellingsOptions extends EndingServices {
  database: Database
  principals: Pick<Principals, 'refresh'>
  /** Milliseconds after which it is asked again whether somebody may follow. */
  recheck: number
}

export function createTellings({ database, principals, recheck, ...ending }: TellingsOptions): Tellings {
  return { live: followHere, stored: followStored }

  async function* followHere(
    live: Live,
    request: Following,
    message: OwnedMessage,
    after: number,
    gone: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<Told> {
    const refusal = createWatch(request, message.id)
    let nudge = Promise.withResolvers<void>()
    const wake = (): void => nudge.resolve()
    gone.addEventListener('abort', wake)
    const timer = setInterval(wake, recheck)
    timer.unref()
    try {
      // All that was ever told of it is here: nobody has seen more.
      let place = Math.min(after, endOf(live.parts))
      if (place < 1) {
        yield { event: 'message.created', id: '1', data: shownMessage(message) }
        place = 1
      }
      for (;;) {
        const refused = await refusal()
        if (refused !== null) return yield failed(request, refused, place)
        const { promise } = live.changed
        const { ended } = live
        for (const told of storyAfter(live.parts, place)) {
          yield told
          place = Number(told.id)
        }
        if (ended !== null) return yield await lastOf(request, message.id, ended, place)
        if (place === endOf(live.parts)) await Promise.race([promise, nudge.promise])
        if (gone.aborted) return
        nudge = Promise.withResolvers()
      }
    } finally {
      clearInterval(timer)
      gone.removeEventListener('abort', wake)
      leave()
    }
  }

  async function* followStored(
    request: Following,
    message: OwnedMessage,
    after: number,
    gone: AbortSignal,
  ): AsyncGenerator<Told> {
    const refusal = createWatch(request, message.id)
    let place = after
    if (place < 1) {
      yield { event: 'message.created', id: '1', data: { ...shownMessage(message), ...nothingYet } }
      place = 1
    }
    let told = -1
    while (!gone.aborted) {
      const [row] = await database.sql(state, [message.id])
      const over = row?.status !== 'in_progress'
      const grown = row !== undefined && row.size !== told
      const now = over || grown ? await messageById(database, message.id, request.principal) : message
      const refused =
        row === undefined || now === undefined ? notFound('message', message.id) : await refusal()
      if (row === undefined || now === undefined || refused !== null)
        return yield failed(request, refused!, place)
      if (over || grown) {
        const [kept] = await database.sql(stored, [message.id])
        if (kept === undefined) continue
        const readable = new Set(
          now.citations.map(({ chunk_id: chunk, start_index: start }) => `${chunk} ${start}`),
        )
        const parts = partsOf(kept)
        for (const piece of storyAfter(parts, place)) {
          place = Number(piece.id)
          if (piece.event !== 'citation.added') yield piece
          else if (readable.has(`${piece.data.chunk_id} ${piece.data.start_index}`)) yield piece
        }
        told = row.size
        if (over) {
          // Who has seen the end is told nothing more.
          if (place !== endOf(parts) + 1)
            yield await lastOf(request, message.id, { message: now, error: failureOf(now) }, endOf(parts))
          return
        }
      }
      if (!row.alive)
        await database.transaction(async (tx) => {
          await endSilent(tx, ending, message.id)
        })
      else await sleep(500, undefined, { signal: gone }).catch(() => {})
    }
  }

  /** What an answer ends with, for who was told of it up to the place. */
  async function lastOf(request: Following, id: string, end: End, place: number): Promise<Told> {
    let { message, error } = end
    if (message === null && error === null) {
      message = (await messageById(database, id, request.principal)) ?? null
      error = message === null ? notFound('message', id) : failureOf(message)
    }
    if (error !== null) return failed(request, error, place)
    return { event: 'message.completed', id: String(place + 1), data: responseOf(message!) }
  }

  function failed(request: Following, { code, message, details }: ApiError, place: number): Told {
    return {
      event: 'error',
      id: String(place + 1),
      data: { error: { code, message, details: { ...details, request_id: request.id } } },
    }
  }

  /** @returns what asks, once in a while, whether the caller may still read the message, and says why not. */
  function createWatch(request: Following, id: string): () => Promise<ApiError | null> {
    let { principal } = request
    let looked = performance.now()
    return async () => {
      if (performance.now() - looked < recheck) return null
      looked = performance.now()
      try {
        principal = await principals.refresh(principal)
        await openMessage(database, { operation: reading, params: { id }, principal })
        return null
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        // Without the database nobody knows.
        return error.status === 503 ? null : error
      }
    }
  }
}
