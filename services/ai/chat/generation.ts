// Answers while they are written: each by one process, for as long as somebody follows it, kept in the database on the way, so that
// whoever comes back finds what there is, and nothing hangs for ever when the process dies.
import { setTimeout as sleep } from 'node:timers/promises'
import { statement, type Database, type Db } from '../../../infra/database/database.ts'
import { ApiError, notFound, unavailable } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Listener } from '../../../infra/database/notifications.ts'
import type { Principal, Principals } from '../../users/authentication.ts'
import { conclude, endUnwritten, failureOf, patience, type Outcome } from './finish-answer.ts'
import { askedWords } from '../extractive/query-terms.ts'
import { cutOff } from './truncate.ts'
import { extractiveAnswer, quotesOf } from '../extractive/answer.ts'
import { createTellings, type End, type Following } from './stream.ts'
import { messageById, type OwnedMessage, type StoredCitation } from './messages.ts'
import { promptOf, type Conversation, type Window } from './prompt.ts'
import { countUnparsedDocuments } from '../search/scope.ts'
import { searchKnowledgeBases, type RetrievedPassage, type SearchResult } from '../search/search.ts'
import { createMarkers } from './citation-markers.ts'
import { endOf, type Draft, type Part, type Told } from './stream-events.ts'
import { countTokens } from './token-estimate.ts'
import type { CompletionRequest, Upstreams } from '../providers/providers.ts'

export const extractive = 'extractive-1'

/** What is to be written, for a message that is there already, `in_progress`. */
export interface Task {
  message: OwnedMessage
  principal: Principal
  requestId: string | null
  model: string
  conversation: Conversation
  window: Window
  /** What it may draw on, as far as the caller may read it when it is searched. */
  knowledgeBaseIds: string[]
  options: Pick<CompletionRequest, 'temperature' | 'maxTokens' | 'stop'>
}

export interface Writings {
  /** Begins to write; goes on until the signal is aborted and nobody else follows. While the server stops the answer fails at once. */
  start(task: Task, gone: AbortSignal): void
  /** Waits for the end. @returns the message as it then is. Throws what the answer failed with. */
  finished(id: string, principal: Principal): Promise<OwnedMessage>
  /** Waits until something is written, at most so many milliseconds. Throws what the answer failed with before. */
  begun(id: string, milliseconds: number): Promise<void>
  /**
   * The events of the message after the place `after`, and its end; that is an `error`, too, where the message is gone, or the
   * caller may not read it any more.
   */
  follow(request: Following, message: OwnedMessage, after: number): (gone: AbortSignal) => AsyncIterable<Told>
  /** Stops the writing of a message, on whichever server, and waits for its end, for a moment. What nobody writes is ended in `db`. */
  cancel(db: Db, id: string): Promise<void>
  /** How many are written here. */
  readonly size: number
  /** Begins nothing more, and stops what is still written after so many milliseconds. */
  close(milliseconds?: number): Promise<void>
}

export interface WritingsOptions {
  database: Database
  listener: Pick<Listener, 'on'>
  principals: Pick<Principals, 'renew'>
  events: Emitter
  upstreams: Upstreams
  /** Milliseconds between two times that what is written is kept. Default 1,000. */
  interval?: number
  /** Milliseconds after which it is asked again whether somebody may follow. Default 10,000. */
  recheck?: number
  onError?: (error: Error) => void
}

/** Characters of a question that passages are looked for by. */
const longestQuery = 4_000
/** How many passages an answer draws on. */
const passagesOfAnswer = 8
const nothing: SearchResult = { passages: [], words: [], chunks: 0 }

interface Writing extends Draft {
  task: Task
  /** The content and the citations, as they came. */
  parts: Part[]
  stop: AbortController
  /** Whether somebody wanted it stopped, instead of nobody following it any more. */
  cancelled: boolean
  /** Tokens of what the model was asked, as far as it was. */
  promptTokens: number
  /** Half of a character whose other half is still to come. */
  held: string
  followers: number
  /** The place behind what is kept, and when it was. */
  kept: number
  keptAt: number
  /** Resolved, and made anew, with every change. */
  changed: PromiseWithResolvers<void>
  end: Promise<End>
  ended: End | null
}

const keep = statement<{ id: string }>(`
  UPDATE ai_messages m SET content = w.content, citations = w.citations::jsonb, prompt_tokens = w.prompt_tokens, beat_at = now()
  FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS w (id, content, citations, prompt_tokens) WHERE m.id = w.id AND m.status = 'in_progress' RETURNING m.id`)
const beat = statement<{ id: string }>(
  "UPDATE ai_messages SET beat_at = now() WHERE id = ANY($1) AND status = 'in_progress' RETURNING id",
)
const look = statement<{ status: string; alive: boolean }>(`
  SELECT status::text, coalesce(beat_at > now() - interval '${patience} seconds', false) AS alive FROM ai_messages WHERE id = $1`)
const askToStop = statement("SELECT pg_notify('message_cancel', $1)")
export function createWritings({
  database,
  listener,
  principals,
  events,
  upstreams,
  interval = 1_000,
  recheck = 10_000,
  onError = () => {},
}: WritingsOptions): Writings {
  const ending = { events, upstreams }
  const tellings = createTellings({ ...ending, database, principals, recheck })
  const open = new Map<string, Writing>()
  const closing = new AbortController()
  let beaten = performance.now()
  let keeping: Promise<void> = Promise.resolve()
  listener.on('message_cancel', cancelHere)
  const timer = setInterval(() => {
    keeping = keeping.then(keepAll).catch(onError)
  }, interval)
  timer.unref()

  return {
    start(task, gone) {
      const writing: Writing = {
        task,
        content: '',
        held: '',
        citations: [],
        parts: [],
        stop: new AbortController(),
        cancelled: false,
        promptTokens: 0,
        followers: 0,
        kept: 0,
        keptAt: 0,
        changed: Promise.withResolvers(),
        ended: null,
        end: undefined as never,
      }
      open.set(task.message.id, writing)
      writing.end = write(writing)
        .catch((error) => {
          onError(error)
          return {
            message: null,
            error: unavailable('The end of this answer could not be kept; look at it later.'),
          }
        })
        .then((end) => {
          writing.ended = end
          open.delete(task.message.id)
          tell(writing)
          return end
        })
      join(writing, gone)
    },

    async finished(id, principal) {
      const { message, error } = (await open.get(id)?.end) ?? { message: null, error: null }
      if (error !== null) throw error
      return message ?? (await resultOf(id, principal))
    },

    async begun(id, milliseconds) {
      const writing = open.get(id)
      if (writing === undefined) return
      const waited = new AbortController()
      const late = sleep(milliseconds, null, { signal: waited.signal }).catch(() => {})
      const first = (async () => {
        while (writing.parts.length === 0 && writing.ended === null) await writing.changed.promise
        const { error } = writing.ended ?? {}
        if (error && writing.parts.length === 0) throw error
      })()
      try {
        await Promise.race([first, late])
      } finally {
        waited.abort()
        first.catch(() => {})
      }
    },

    follow(request, message, after) {
      return (gone) => {
        const writing = open.get(message.id)
        if (writing === undefined) return tellings.stored(request, message, after, gone)
        const leave = join(writing, gone)
        return tellings.live(writing, request, message, after, gone, leave)
      }
    },

    async cancel(db, id) {
      const writing = open.get(id)
      if (writing !== undefined) {
        cancelHere(id)
        await writing.end
        return
      }
      await database.sql(askToStop, [id])
      for (const late = performance.now() + 5_000; ;) {
        const [row] = await database.sql(look, [id])
        if (row?.status !== 'in_progress') return
        // Whoever does not hear it finds its message ended, and stops then.
        if (!row.alive || performance.now() > late) break
        await sleep(50)
      }
      await db.transaction(async (tx) => {
        await endUnwritten(tx, ending, { id, status: 'cancelled' })
      })
    },

    get size() {
      return open.size
    },

    async close(milliseconds = 0) {
      closing.abort()
      const stop = (): void => {
        for (const writing of open.values()) writing.stop.abort()
      }
      const late = milliseconds === 0 ? stop() : setTimeout(stop, milliseconds)
      while (open.size > 0) await Promise.all([...open.values()].map((writing) => writing.end))
      if (late !== undefined) clearTimeout(late)
      clearInterval(timer)
      await keeping
    },
  }

  function cancelHere(id: string): void {
    const writing = open.get(id)
    if (writing === undefined || writing.stop.signal.aborted) return
    writing.cancelled = true
    writing.stop.abort()
  }

  /** @returns what ends the following. */
  function join(writing: Writing, signal: AbortSignal): () => void {
    let here = true
    writing.followers++
    const leave = (): void => {
      signal.removeEventListener('abort', leave)
      if (!here) return
      here = false
      if (--writing.followers === 0) writing.stop.abort()
    }
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    return leave
  }

  async function resultOf(id: string, principal: Principal): Promise<OwnedMessage> {
    const message = await messageById(database, id, principal)
    if (message === undefined) throw notFound('message', id)
    const error = failureOf(message)
    if (error !== null) throw error
    return message
  }

  function tell(writing: Writing): void {
    const { changed } = writing
    writing.changed = Promise.withResolvers()
    changed.resolve()
  }

  async function write(writing: Writing): Promise<End> {
    const { signal } = writing.stop
    // Whoever begins it follows it right away.
    await Promise.resolve()
    const outcome = await attempt(writing).catch((error: unknown): Outcome => {
      const cut = {
        finishReason: null,
        promptTokens: writing.promptTokens,
        completionTokens: tokensOf(writing),
        error: null,
      }
      if (signal.aborted) return { ...cut, status: 'cancelled' }
      if (!(error instanceof ApiError)) onError(error as Error)
      // What refused to begin has read nothing.
      return {
        ...cut,
        promptTokens: writing.parts.length === 0 ? 0 : cut.promptTokens,
        status: 'failed',
        error: error instanceof ApiError ? error : new ApiError(500, 'SERVER_ERROR', 'Something went wrong.'),
      }
    })
    const message = await finish(writing, outcome)
    return { message, error: message === null ? null : outcome.error }
  }

  /** Writes it to its end. Throws where that does not come. */
  async function attempt(writing: Writing): Promise<Outcome> {
    const {
      task,
      stop: { signal },
    } = writing
    if (closing.signal.aborted) throw unavailable('The server is stopping; try again.')
    const { question } = task.conversation
    const query = question.slice(0, longestQuery).toWellFormed()
    const search = { knowledgeBaseIds: task.knowledgeBaseIds, query, limit: passagesOfAnswer }
    const found =
      task.knowledgeBaseIds.length === 0
        ? nothing
        : await searchKnowledgeBases(database, task.principal, {
            ...search,
            embedding: await embeddingOf(query, signal),
          })
    signal.throwIfAborted()
    if (task.model === extractive) {
      writing.promptTokens = countTokens(question)
      const { pieces, finishReason } = await quoted(task, found)
      signal.throwIfAborted()
      for (const piece of pieces) {
        if ('delta' in piece) add(writing, piece.delta)
        else cite(writing, piece.citation)
      }
      return {
        status: finishReason === 'stop' ? 'completed' : 'incomplete',
        finishReason,
        promptTokens: writing.promptTokens,
        completionTokens: tokensOf(writing),
        error: null,
      }
    }
    const { passages } = found
    const prompt = promptOf(task.conversation, passages, task.window)
    writing.promptTokens = prompt.tokens
    const markersIn = createMarkers()
    const cited = new Set<number>()
    for await (const piece of upstreams.complete({
      ...task.options,
      model: task.model,
      turns: prompt.turns,
      signal,
      requestId: task.requestId ?? undefined,
    })) {
      if ('delta' in piece) {
        add(writing, piece.delta)
        for (const index of markersIn(piece.delta)) {
          const passage = prompt.sources[index - 1]
          if (passage === undefined || cited.has(index)) continue
          cited.add(index)
          cite(writing, citationOf(passage))
        }
        continue
      }
      const { finishReason, usage } = piece.end
      return {
        status: finishReason === 'stop' ? 'completed' : 'incomplete',
        finishReason,
        promptTokens: plausible(usage?.promptTokens) ?? prompt.tokens,
        completionTokens: plausible(usage?.completionTokens) ?? tokensOf(writing),
        error: null,
      }
    }
    throw unavailable('The model stopped in the middle.')
  }

  async function quoted(
    { principal, knowledgeBaseIds, options }: Task,
    found: SearchResult,
  ): Promise<ReturnType<typeof cutOff>> {
    const asked = await askedWords(database, found)
    const quotes = quotesOf(asked, found.passages)
    const unread = quotes.length > 0 ? 0 : await countUnparsedDocuments(database, principal, knowledgeBaseIds)
    return cutOff([...extractiveAnswer(quotes, { unread })], options)
  }

  /** @returns null where there is none: passages are then found by their words alone. */
  async function embeddingOf(query: string, signal: AbortSignal): Promise<number[] | null> {
    if (upstreams.embed === null) return null
    try {
      return (await upstreams.embed([query], signal))[0]
    } catch (error) {
      signal.throwIfAborted()
      onError(error as Error)
      return null
    }
  }

  function tokensOf({ content }: Writing): number {
    return countTokens(content)
  }

  function add(writing: Writing, delta: string): void {
    // PostgreSQL has no NUL.
    const text = writing.held + delta.replaceAll('\0', '')
    writing.held = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : ''
    const whole = text.slice(0, text.length - writing.held.length).toWellFormed()
    if (whole === '') return
    writing.content += whole
    writing.parts.push({ end: endOf(writing.parts) + whole.length, text: whole })
    tell(writing)
  }

  function cite(writing: Writing, citation: Omit<StoredCitation, 'at'>): void {
    const stored = { ...citation, at: writing.content.length }
    writing.citations.push(stored)
    writing.parts.push({ end: endOf(writing.parts) + 1, citation: stored })
    tell(writing)
  }

  /** Keeps what is new of all of them, in one statement, and says that they are written. */
  async function keepAll(): Promise<void> {
    const now = performance.now()
    const dirty = [...open.values()].filter(
      (writing) =>
        writing.ended === null &&
        writing.promptTokens > 0 &&
        endOf(writing.parts) > writing.kept &&
        now >= writing.keptAt + pauseOf(writing),
    )
    const quiet =
      performance.now() - beaten > patience * 100
        ? [...open.values()].filter((writing) => !dirty.includes(writing))
        : []
    if (dirty.length > 0) {
      const places = dirty.map(({ parts }) => endOf(parts))
      const there = new Set(
        (
          await database.sql(keep, [
            dirty.map(({ task }) => task.message.id),
            dirty.map(({ content }) => content),
            dirty.map(({ citations }) => JSON.stringify(citations)),
            dirty.map(({ promptTokens }) => promptTokens),
          ])
        ).map(({ id }) => id),
      )
      dirty.forEach((writing, i) => Object.assign(writing, { kept: places[i], keptAt: now }))
      stopMissing(dirty, there)
    }
    if (quiet.length > 0) {
      beaten = performance.now()
      stopMissing(
        quiet,
        new Set((await database.sql(beat, [quiet.map(({ task }) => task.message.id)])).map(({ id }) => id)),
      )
    }
  }

  /** All of it is written each time: the longer it is, the less often. */
  function pauseOf({ content }: Writing): number {
    return (interval * content.length) / 20_000
  }

  /** What is gone from the database, with its session, is not written on. */
  function stopMissing(writings: Writing[], there: Set<string>): void {
    for (const { task, stop, ended } of writings)
      if (ended === null && !there.has(task.message.id)) stop.abort()
  }

  /** Keeps the end, counts what it took, and says so with an event. Tries again while the database is away. */
  async function finish(writing: Writing, outcome: Outcome): Promise<OwnedMessage | null> {
    const { task, content, citations } = writing
    const db = task.requestId === null ? database : database.forRequest(task.requestId)
    for (let tries = 1; ; tries++) {
      try {
        return await db.transaction(
          async (tx) =>
            await conclude(tx, ending, {
              ...outcome,
              id: task.message.id,
              model: task.model,
              principal: task.principal,
              remember: outcome.status !== 'cancelled' || writing.cancelled,
              content,
              citations,
            }),
        )
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 503) || tries === 8 || closing.signal.aborted)
          throw error
        await sleep(250 * 2 ** tries, undefined, { ref: false, signal: closing.signal }).catch(() => {})
      }
    }
  }
}

/** Tokens that a server says, where it can be so. */
function plausible(tokens: number | undefined): number | null {
  return tokens !== undefined && Number.isInteger(tokens) && tokens >= 0 && tokens <= 1_000_000_000
    ? tokens
    : null
}

function citationOf(passage: RetrievedPassage): Omit<StoredCitation, 'at'> {
  const {
    document_id,
    file_id,
    chunk_id,
    name,
    page,
    start_index,
    end_index,
    text,
    score,
    revision,
    space_id,
  } = passage
  return {
    document_id,
    file_id,
    chunk_id,
    name,
    page,
    start_index,
    end_index,
    quote: text,
    score,
    revision,
    space_id,
  }
}
