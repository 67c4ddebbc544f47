// The end of the log, followed live: numbers what is committed, reads it once for all streams of this process, and hands
// each what it may read at that moment. A stream that cannot keep up is not written ahead for: it reads its own pages from
// the database once it is ready again, so what is kept in memory does not grow with slow readers.
import { setImmediate as othersTurn } from 'node:timers/promises'
import pLimit from 'p-limit'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { ApiError, tooManyOpen } from '../../infra/errors.ts'
import type { Listener } from '../../infra/database/notifications.ts'
import type { SentEvent } from '../../infra/contract/operation.ts'
import type { Principal, Principals } from '../users/authentication.ts'
import type { Role } from '../projects/projects.ts'
import type { StreamEvents } from '../../generated/operations.ts'
import {
  eventColumns,
  mayRead,
  numberEvents,
  readEvents,
  type Audience,
  type Event,
  type Filter,
} from './log.ts'

type Sent = SentEvent<StreamEvents['streamEvents']>
type EndReason = StreamEvents['streamEvents']['end']['reason']

export interface Tail {
  /** Something was written here: number it and hand it on without waiting for the next look. */
  nudge(): void
  /** Calls `told` whenever the log has grown. */
  onGrowth(told: () => void): void
  /**
   * The events after `after`, for as long as the signal is not aborted, the key good and the server not stopping. It
   * begins with its place in the log, and tells it again as it moves. Its first step throws 429 when the user has too
   * many streams open.
   */
  follow(principal: Principal, filter: Filter, after: number): (gone: AbortSignal) => AsyncIterable<Sent>
  /** Begins to look after the log. */
  start(): void
  /** Ends all streams, each with an event that says so. */
  close(): Promise<void>
  /** How many streams are open. */
  readonly streams: number
}

export interface TailOptions {
  db: Db
  principals: Principals
  listener: Listener
  /** Streams that one user may have open, in this process. */
  streamsPerUser: number
  onError?: (error: Error) => void
  /** How often the log is looked at even if nothing was heard, in ms. Default 1,000. */
  interval?: number
  /** How often a stream with nothing to tell looks whether its key is still good, in ms. Default 10,000. */
  positionInterval?: number
}

interface Reader {
  principal: Principal
  filter: Filter
  gone: AbortSignal
  /** Everything up to here was told, or is not for it. */
  cursor: number
  /** Set while it waits for what comes next; called with null it looks for itself. */
  wake: ((batch: Batch | null) => void) | null
}

/** What was written, with the roles in its projects of those who wait for it. */
interface Batch {
  rows: Array<{ event: Event; audience: Audience }>
  /** By project and user. */
  roles: Map<string | null, Map<string, Role>>
  through: number
}

/** What a reader is told next, and how far in the log it is then. */
interface Page {
  events: Event[]
  through: number
}

/** How many events are read at once for all. */
const batchSize = 100
/** Events, counted for each reader, that are handed on before whatever else there is to do gets its turn. */
const handedAtOnce = 500
/** How many readers read for themselves at the same time, so that requests find connections too. */
const pagesAtOnce = 3
/** How many events a reader reads for itself, and how many characters of them may wait for its client. */
const pageSize = 25
const pageText = 256 * 1024
/** Milliseconds after which what was read is read again instead of told: rights may have changed. */
const freshness = 1_000

const grown = statement<Event & { user_id: string | null; scope: string; min_role: Role | null }>(`
  SELECT ${eventColumns}, e.user_id, e.scope, e.role::text AS min_role
  FROM events e WHERE e.sequence > $1 ORDER BY e.sequence LIMIT $2`)
const rolesOf = statement<{ project_id: string; user_id: string; role: Role }>(`
  SELECT project_id, user_id, role::text FROM members WHERE project_id = ANY($1) AND user_id = ANY($2)`)

export function createTail(options: TailOptions): Tail {
  const {
    db,
    principals,
    listener,
    streamsPerUser,
    onError = () => {},
    interval = 1_000,
    positionInterval = 10_000,
  } = options
  const readers = new Set<Reader>()
  const open = new Map<string, number>()
  const growth: Array<() => void> = []
  const timers: NodeJS.Timeout[] = []
  const inTurn = pLimit(pagesAtOnce)
  let closed = false
  /** Everything up to here was handed on; null before the first look. */
  let position: number | null = null
  let turn: Promise<void> | null = null
  let again = false

  listener.on('events', () => look())
  // What was said while nothing could be heard is made up for.
  listener.onState((listening) => {
    if (listening) look()
  })

  return {
    nudge: look,
    onGrowth: (told) => {
      growth.push(told)
    },
    follow: (principal, filter, after) => (gone) =>
      stream({ principal, filter, gone, cursor: after, wake: null }),
    start() {
      timers.push(setInterval(look, interval).unref(), setInterval(wakeTheIdle, positionInterval).unref())
      look()
    },
    async close() {
      closed = true
      for (const timer of timers) clearInterval(timer)
      for (const reader of readers) reader.wake?.(null)
      await turn
    },
    get streams() {
      return readers.size
    },
  }

  /** One look at a time; whoever asks during one gets another after it. */
  function look(): void {
    if (closed) return
    again = true
    turn ??= looking()
  }

  async function looking(): Promise<void> {
    try {
      while (again && !closed) {
        again = false
        const last = await numberEvents(db)
        // A database that was put back to an older state is followed from there.
        const before = Math.min(position ?? last, last)
        position = before
        while (position < last && !closed) await handOn(position, last)
        // Who could not read for itself, because the database was away, tries again.
        for (const reader of readers) if (isBehind(reader)) reader.wake?.(null)
        if (position > before) for (const told of growth) told()
      }
    } catch (error) {
      onError(error as Error)
    } finally {
      turn = null
    }
  }

  /** Reads what follows the position, moves it, and hands what was read to all who wait. */
  async function handOn(from: number, last: number): Promise<void> {
    const users = new Set<string>()
    for (const { wake, principal } of readers) if (wake !== null) users.add(principal.userId)
    if (users.size === 0) {
      position = last
      return
    }
    const batch = await readBatch(from, last, [...users])
    position = batch.through
    const atOnce = Math.ceil(handedAtOnce / Math.max(1, batch.rows.length))
    for (const [i, reader] of waiting().entries()) {
      if (i % atOnce === atOnce - 1) await othersTurn()
      // Who came while this was read has no roles in it, and reads for itself.
      reader.wake?.(users.has(reader.principal.userId) ? batch : null)
    }
  }

  async function readBatch(from: number, last: number, users: string[]): Promise<Batch> {
    const found = await db.sql(grown, [from, batchSize])
    const rows = found.map(({ user_id, scope, min_role, ...event }) => ({
      event,
      audience: { type: event.type, project_id: event.project_id, user_id, scope, role: min_role },
    }))
    const roles: Batch['roles'] = new Map(rows.map(({ event }) => [event.project_id, new Map()]))
    for (const { project_id, user_id, role } of await db.sql(rolesOf, [[...roles.keys()], users]))
      roles.get(project_id)!.set(user_id, role)
    const end = found.at(-1)?.sequence ?? last
    return { rows, roles, through: found.length < batchSize ? Math.max(end, last) : end }
  }

  function waiting(): Reader[] {
    return [...readers].filter(({ wake }) => wake !== null)
  }

  function isBehind({ cursor }: Reader): boolean {
    return position !== null && cursor < position
  }

  /** However little happens, a stream learns that its key is no longer good. */
  function wakeTheIdle(): void {
    for (const reader of readers) if (!isBehind(reader)) reader.wake?.(null)
  }

  async function* stream(reader: Reader): AsyncGenerator<Sent> {
    const {
      principal: { userId },
      gone,
    } = reader
    const count = open.get(userId) ?? 0
    if (count >= streamsPerUser) throw tooManyOpen('streams of events', streamsPerUser)
    open.set(userId, count + 1)
    readers.add(reader)
    gone.addEventListener('abort', () => reader.wake?.(null))
    try {
      yield { id: String(reader.cursor) }
      while (!isOver(reader)) {
        const { events, through } = await next(reader)
        const until = performance.now() + freshness
        for (const event of events) {
          yield { event: 'message', id: String(event.sequence), data: event }
          reader.cursor = event === events.at(-1) ? through : event.sequence
          if (isOver(reader) || performance.now() > until) break
        }
        if (events.length === 0) reader.cursor = through
        yield { id: String(reader.cursor) }
      }
      if (closed) yield end('shutdown')
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 500
      if (status !== 401 && status !== 410) throw error
      yield end(status === 401 ? 'unauthorized' : 'removed')
    } finally {
      readers.delete(reader)
      const left = open.get(userId)! - 1
      if (left === 0) open.delete(userId)
      else open.set(userId, left)
    }
  }

  function isOver({ gone }: Reader): boolean {
    return closed || gone.aborted
  }

  /** What comes next: from the database while the reader is behind, else as it happens; nothing, after a while of nothing. */
  async function next(reader: Reader): Promise<Page> {
    try {
      const batch = isBehind(reader) ? null : await woken(reader)
      if (batch === null && isBehind(reader)) return await inTurn(() => ownPage(reader))
      // Who may read less since then learns nothing more by a stream that has been open for long.
      reader.principal = await renewed(reader)
      if (batch === null) return nothingFor(reader)
      const { rows, roles, through } = batch
      const events = rows
        .filter(({ event, audience }) => isFor(reader, event, audience, roles))
        .map(({ event }) => event)
      return { events, through: Math.max(reader.cursor, through) }
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 503)) throw error
      // The database is away. The look that finds it again wakes whoever is behind.
      await woken(reader)
      return nothingFor(reader)
    }
  }

  async function woken(reader: Reader): Promise<Batch | null> {
    if (isOver(reader)) return null
    return await new Promise((resolve) => {
      reader.wake = (batch) => {
        reader.wake = null
        resolve(batch)
      }
    })
  }

  /** Keys are not kept while their changes cannot be heard: then each reader asks the database. */
  async function renewed({ principal }: Reader): Promise<Principal> {
    return principals.listening
      ? await principals.renew(principal)
      : await inTurn(() => principals.renew(principal))
  }

  async function ownPage(reader: Reader): Promise<Page> {
    if (isOver(reader)) return nothingFor(reader)
    reader.principal = await principals.renew(reader.principal)
    const { events, next } = await readEvents(db, reader.principal, reader.cursor, pageSize, reader.filter)
    const fitting = beginningOf(events)
    return { events: fitting, through: fitting.length < events.length ? fitting.at(-1)!.sequence : next }
  }
}

function isFor(
  { principal, filter, cursor }: Reader,
  event: Event,
  audience: Audience,
  roles: Batch['roles'],
): boolean {
  if (event.sequence <= cursor) return false
  if (filter.type !== undefined && event.type !== filter.type) return false
  if (filter.projectId !== undefined && event.project_id !== filter.projectId) return false
  return mayRead(principal, audience, roles.get(event.project_id)?.get(principal.userId) ?? null)
}

/** As many of the events as may wait for a client, one at least. */
function beginningOf(events: Event[]): Event[] {
  let text = 0
  const tooMuch = events.findIndex(
    (event, i) => (text += JSON.stringify(event.data).length) > pageText && i > 0,
  )
  return tooMuch === -1 ? events : events.slice(0, tooMuch)
}

function nothingFor({ cursor }: Reader): Page {
  return { events: [], through: cursor }
}

function end(reason: EndReason): Sent {
  return { event: 'end', data: { reason } }
}
