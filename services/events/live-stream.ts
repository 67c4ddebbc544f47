// Event streams: sends new events to the subscribers of this process. It reads each new batch once for all
// subscribers, and sends to each subscriber the events that its API key can read at that moment. A slow
// subscriber never causes buffering: a subscriber that is not waiting when a batch arrives reads its own
// pages from the database when it is ready again.
//
// One process numbers the committed events: the leader. The others ask it after a commit, and learn from its
// notification how far the log reaches. A process numbers events itself while it receives no notifications,
// and when the leader does not answer: numbering twice at once is safe, only slower.
import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/events.ts'
import { ApiError } from '../../infra/errors.ts'
import { coalesce } from '../../infra/concurrency/coalesce.ts'
import { OpenCounts } from '../../infra/concurrency/open-counts.ts'
import type { Leadership } from '../../infra/database/leadership.ts'
import type { Bus } from '../../infra/bus/bus.ts'
import type { SentEvent } from '../../infra/contract/operation.ts'
import type { Principal, Principals } from '../users/authentication.ts'
import { roleByScope, type MemberRoles } from '../projects/access.ts'
import type { StreamEvents } from '../../generated/operations.ts'
import type { EventCursors } from './cursors.ts'
import {
  addDeliveries,
  canReadEvent,
  numberEvents,
  readEvents,
  type LogEntry,
  type PlatformEvent,
  type EventAudience,
  type EventFilter,
} from './log.ts'

/** A server-sent event. Without `data` it only updates the client's last event id. */
type ServerSentEvent = SentEvent<StreamEvents['streamEvents']>
type EndReason = StreamEvents['streamEvents']['end']['reason']

export interface EventStreamsOptions {
  db: Db
  principals: Principals
  cursors: () => Promise<EventCursors>
  listener: Bus
  /** Determines the process that numbers the events. Default: this one. */
  leadership?: Pick<Leadership, 'leading' | 'onChange'>
  /** Streams that one user may have open in this process. */
  streamsPerUser: number
  /** Called when this process has added deliveries. */
  onDeliveries?: () => void
  onError?: (error: Error) => void
  /** Milliseconds between two polls of the log when no notification arrives. Default 1,000. */
  interval?: number
  /** Milliseconds between two checks of the API key of a stream without events. Default 10,000. */
  positionInterval?: number
}

interface Subscriber {
  principal: Principal
  filter: EventFilter
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** The sequence up to which every event was sent or is not for this subscriber. */
  position: number
  /** The position after the page that is being sent. */
  through: number
  /** Whether the database lost events before the position. New events get their sequences. */
  isAfterEnd: boolean
  /**
   * Set while the subscriber waits for new events. Called with null, the subscriber checks for itself what to
   * do.
   */
  wake: ((batch: Batch | null) => void) | null
}

/** New events, with the roles that the waiting users have in the events' projects. */
interface Batch {
  rows: Array<LogEntry & { audience: EventAudience }>
  /** By project id and user id. */
  roles: Map<string | null, Map<string, MemberRoles>>
  /** The sequence up to which the batch covers the log. */
  through: number
}

/** The next events of one subscriber, and the sequence that its position reaches with them. */
interface Page {
  entries: LogEntry[]
  through: number
}

/** The leader numbers events when it hears this. */
const unnumberedChannel = 'events_unnumbered'
/** Events that are read at once for all subscribers. */
const batchSize = 100
/** Events, counted once for each subscriber, that are sent before other work of the process gets its turn. */
const maxSendsPerTick = 500
/**
 * Subscribers that read their own pages at the same time; the limit leaves database connections to requests.
 */
const maxConcurrentReads = 3
/** Events in a subscriber's own page, and the characters of these events that may wait for the client. */
const pageSize = 25
const maxPageCharacters = 256 * 1024
/**
 * Milliseconds after which events are read again instead of sent, because the caller's permissions may have
 * changed.
 */
const maxPageAgeMs = 1_000
/** Milliseconds between two polls, while events are committed all the time: one poll numbers many of them. */
const restMs = 10

export class EventStreams {
  readonly #db: Db
  readonly #principals: Principals
  readonly #cursors: () => Promise<EventCursors>
  readonly #listener: Bus
  readonly #leadership: Pick<Leadership, 'leading'>
  readonly #askLeader: () => void
  readonly #onDeliveries: () => void
  readonly #onError: (error: Error) => void
  readonly #interval: number
  readonly #positionInterval: number

  readonly #subscribers = new Set<Subscriber>()
  readonly #open: OpenCounts
  readonly #timers: NodeJS.Timeout[] = []
  readonly #limitReads = pLimit(maxConcurrentReads)
  #closed = false
  /** The sequence up to which events were sent to all waiting subscribers; null before the first poll. */
  #position: number | null = null
  /** The poll that is running. */
  #polling: Promise<void> | null = null
  /** The steps that add deliveries, and whether events lacked them since the last step began. */
  #delivering: Promise<void> | null = null
  #undelivered = false
  /** Whether a poll was requested since the last one started, and whether it must number events. */
  #pollRequested = false
  #numberingRequested = true
  /** The last sequence of the log that this process knows of. */
  #last = 0
  /** When this process asked the leader for numbers and has not heard of new ones since; else null. */
  #askedAt: number | null = null

  constructor({
    db,
    principals,
    cursors,
    listener,
    leadership,
    streamsPerUser,
    onDeliveries = () => {},
    onError = () => {},
    interval = 1_000,
    positionInterval = 10_000,
  }: EventStreamsOptions) {
    this.#db = db
    this.#principals = principals
    this.#cursors = cursors
    this.#open = new OpenCounts('event streams', streamsPerUser, 'event_streams')
    this.#onDeliveries = onDeliveries
    this.#onError = onError
    this.#interval = interval
    this.#positionInterval = positionInterval
    this.#listener = listener
    this.#leadership = leadership ?? { leading: true }
    this.#askLeader = coalesce(async () => await listener.publish(unnumberedChannel), this.#onError)
    listener.on('events', (last) => this.#noteNewEvents(Number(last)))
    listener.on(unnumberedChannel, () => {
      if (this.#leadership.leading) this.#requestNumbering()
    })
    // Notifications are lost while the listener is disconnected, so poll when it is connected again.
    listener.onState((listening) => {
      if (listening) this.#requestNumbering()
    })
    leadership?.onChange((leading) => {
      if (leading) this.#requestNumbering()
    })
  }

  /** The number of open streams. */
  get count(): number {
    return this.#subscribers.size
  }

  /** The sequence up to which this process has seen the log; null before it has read it. */
  get position(): number | null {
    return this.#position
  }

  /** Call this after the commit of an event in this process: it gets its number at once. */
  notifyNewEvents(): void {
    if (this.#numbersItself) return this.#requestNumbering()
    this.#askedAt ??= performance.now()
    this.#askLeader()
  }

  get #numbersItself(): boolean {
    return this.#leadership.leading || !this.#listener.listening
  }

  #noteNewEvents(last: number): void {
    this.#askedAt = null
    if (last <= this.#last) return
    this.#last = last
    // A reader that numbers events adds no deliveries. A poll that is running has numbered them itself.
    if (this.#leadership.leading && this.#polling === null) this.#numberingRequested = true
    this.#requestPoll()
  }

  /**
   * A stream of the events after the sequence `after`. It runs until its signal is aborted, the API key
   * becomes invalid, or the server stops. It starts with its position in the log, and repeats the position as
   * it changes. The first step throws 429 when the user has too many open streams.
   */
  open(
    principal: Principal,
    filter: EventFilter,
    after: number,
  ): (signal: AbortSignal) => AsyncIterable<ServerSentEvent> {
    const start = { position: after, through: after, isAfterEnd: false }
    return (signal) => this.#stream({ principal, filter, signal, ...start, wake: null })
  }

  /** Starts to poll the log. */
  start(): void {
    this.#timers.push(
      setInterval(() => this.#numberIfNecessary(), this.#interval).unref(),
      setInterval(() => this.#wakeIdleSubscribers(), this.#positionInterval).unref(),
    )
    this.#requestNumbering()
  }

  /** Ends all streams, each with an `end` event. */
  async close(): Promise<void> {
    this.#closed = true
    for (const timer of this.#timers) clearInterval(timer)
    for (const subscriber of this.#subscribers) subscriber.wake?.(null)
    await Promise.all([this.#polling, this.#delivering])
  }

  /**
   * Also finds the events of other programs, those of which a leader has not heard, and those that a failed
   * poll has not read.
   */
  #numberIfNecessary(): void {
    const unanswered = this.#askedAt !== null && performance.now() - this.#askedAt >= this.#interval
    if (this.#numbersItself || unanswered) this.#requestNumbering()
    else if (this.#position === null || this.#position < this.#last) this.#requestPoll()
  }

  #requestNumbering(): void {
    this.#numberingRequested = true
    this.#requestPoll()
  }

  /** Polls run one at a time. A request during a poll causes another poll after it. */
  #requestPoll(): void {
    if (this.#closed) return
    this.#pollRequested = true
    this.#polling ??= this.#poll()
  }

  async #poll(): Promise<void> {
    try {
      while (this.#pollRequested && !this.#closed) {
        this.#pollRequested = false
        // Without numbering, the process may know of fewer events than it has read.
        const isCurrent = this.#numberingRequested
        const last = await this.#findEnd()
        // If the database was restored from a backup, or a standby without the last commits took over, the
        // log may end before the position: continue from its end.
        const before = Math.min(this.#position ?? last, last)
        if (isCurrent && this.#position !== null && last < this.#position) this.#endStreamsAfter(last)
        this.#position = before
        while (this.#position < last && !this.#closed) await this.#sendNextBatch(this.#position, last)
        // Subscribers that could not read their own page while the database was unavailable try again.
        for (const subscriber of this.#subscribers) if (this.#isBehind(subscriber)) subscriber.wake?.(null)
        if (this.#pollRequested) await sleep(restMs)
      }
    } catch (error) {
      this.#onError(error as Error)
    } finally {
      this.#polling = null
    }
  }

  /** Ends the streams that would take the next new events for old ones. */
  #endStreamsAfter(last: number): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.through <= last) continue
      subscriber.isAfterEnd = true
      subscriber.wake?.(null)
    }
  }

  /** The last sequence of the log, after numbering if that was requested, which begins to add deliveries. */
  async #findEnd(): Promise<number> {
    if (!this.#numberingRequested) return this.#last
    this.#numberingRequested = false
    try {
      const { last, undelivered } = await numberEvents(this.#db)
      this.#last = last
      this.#undelivered ||= undelivered
      if (this.#undelivered) this.#delivering ??= this.#deliver()
    } catch (error) {
      this.#numberingRequested = true
      throw error
    }
    this.#askedAt = null
    return this.#last
  }

  /** Adds deliveries beside the polls. After an error, the next numbering finds what is left. */
  async #deliver(): Promise<void> {
    try {
      while (this.#undelivered && !this.#closed) {
        this.#undelivered = false
        for await (const count of addDeliveries(this.#db)) {
          if (count > 0) this.#onDeliveries()
          if (this.#closed) break
        }
      }
    } catch (error) {
      this.#onError(error as Error)
    } finally {
      this.#delivering = null
    }
  }

  /** Reads the batch after `from`, moves the position, and sends the batch to all waiting subscribers. */
  async #sendNextBatch(from: number, last: number): Promise<void> {
    const userIds = new Set(this.#waitingSubscribers().map(({ principal }) => principal.userId))
    if (userIds.size === 0) {
      this.#position = last
      return
    }
    const batch = await readBatch(this.#db, from, last, [...userIds])
    this.#position = batch.through
    const subscribersPerTick = Math.ceil(maxSendsPerTick / Math.max(1, batch.rows.length))
    for (const [i, subscriber] of this.#waitingSubscribers().entries()) {
      if (i % subscribersPerTick === subscribersPerTick - 1) await yieldToEventLoop()
      // The batch has no roles of a user who subscribed after it was read: that subscriber reads its own
      // page.
      subscriber.wake?.(userIds.has(subscriber.principal.userId) ? batch : null)
    }
  }

  #waitingSubscribers(): Subscriber[] {
    return [...this.#subscribers].filter(({ wake }) => wake !== null)
  }

  #isBehind({ position }: Subscriber): boolean {
    return this.#position !== null && position < this.#position
  }

  #isOver({ signal, isAfterEnd }: Subscriber): boolean {
    return this.#closed || signal.aborted || isAfterEnd
  }

  /** A stream without events checks its API key, too. */
  #wakeIdleSubscribers(): void {
    for (const subscriber of this.#subscribers) if (!this.#isBehind(subscriber)) subscriber.wake?.(null)
  }

  async *#stream(subscriber: Subscriber): AsyncGenerator<ServerSentEvent> {
    const { accountId } = subscriber.principal
    this.#add(subscriber, accountId)
    try {
      const cursors = await this.#cursors()
      yield { id: cursors.encode(subscriber.position) }
      while (!this.#isOver(subscriber)) {
        const { entries, through } = await this.#nextPage(subscriber)
        subscriber.through = through
        const expiresAt = performance.now() + maxPageAgeMs
        for (const { sequence, event } of entries) {
          yield { event: 'message', id: cursors.encode(sequence), data: event }
          subscriber.position = sequence === entries.at(-1)!.sequence ? through : sequence
          if (this.#isOver(subscriber) || performance.now() > expiresAt) break
        }
        if (entries.length === 0) subscriber.position = through
        yield { id: cursors.encode(subscriber.position) }
      }
      if (subscriber.isAfterEnd) yield endEvent('removed')
      else if (this.#closed) yield endEvent('shutdown')
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 500
      if (status !== 401 && status !== 403 && status !== 410) throw error
      yield endEvent(status === 410 ? 'removed' : 'unauthorized')
    } finally {
      this.#remove(subscriber, accountId)
    }
  }

  countOpen(accountId: string): number {
    return this.#open.countOpen(accountId)
  }

  #add(subscriber: Subscriber, accountId: string): void {
    this.#open.add(accountId)
    this.#subscribers.add(subscriber)
    subscriber.signal.addEventListener('abort', () => subscriber.wake?.(null))
  }

  #remove(subscriber: Subscriber, accountId: string): void {
    this.#subscribers.delete(subscriber)
    this.#open.remove(accountId)
  }

  /**
   * The next events: from the database while the subscriber is behind, otherwise the next batch. Empty when
   * the subscriber is woken without a batch.
   */
  async #nextPage(subscriber: Subscriber): Promise<Page> {
    try {
      const batch = this.#isBehind(subscriber) ? null : await this.#nextBatch(subscriber)
      if (batch === null && this.#isBehind(subscriber))
        return await this.#limitReads(() => this.#readOwnPage(subscriber))
      // Permissions that were removed since the stream was opened no longer apply.
      subscriber.principal = await this.#refresh(subscriber)
      return batch === null ? emptyPage(subscriber) : pageFromBatch(subscriber, batch)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 503)) throw error
      // The database is unavailable. The first poll that succeeds wakes the subscribers that are behind.
      await this.#nextBatch(subscriber)
      return emptyPage(subscriber)
    }
  }

  async #nextBatch(subscriber: Subscriber): Promise<Batch | null> {
    if (this.#isOver(subscriber)) return null
    return await new Promise((resolve) => {
      subscriber.wake = (batch) => {
        subscriber.wake = null
        resolve(batch)
      }
    })
  }

  /**
   * Keys are not cached while the listener is disconnected. Then each call is a query, which the limit
   * applies to.
   */
  async #refresh({ principal }: Subscriber): Promise<Principal> {
    return this.#principals.listening
      ? await this.#principals.refresh(principal)
      : await this.#limitReads(() => this.#principals.refresh(principal))
  }

  async #readOwnPage(subscriber: Subscriber): Promise<Page> {
    if (this.#isOver(subscriber)) return emptyPage(subscriber)
    subscriber.principal = await this.#principals.refresh(subscriber.principal)
    const { principal, position, filter } = subscriber
    const { entries, next } = await readEvents(this.#db, principal, position, pageSize, filter)
    const fitting = limitCharacters(entries)
    return { entries: fitting, through: fitting.length < entries.length ? fitting.at(-1)!.sequence : next }
  }
}

async function readBatch(db: Db, from: number, last: number, userIds: string[]): Promise<Batch> {
  const found = await sql.readNewEvents(db, { after: from, limit: batchSize })
  const rows = found.map(({ sequence, user_id, scope, min_role, ...event }) => ({
    sequence,
    // The type of a row fits its data.
    event: event as PlatformEvent,
    audience: {
      type: event.type,
      project_id: event.project_id ?? event.organization_id,
      user_id,
      scope,
      role: min_role,
    },
  }))
  const roles: Batch['roles'] = new Map(rows.map(({ audience }) => [audience.project_id, new Map()]))
  const projectIds = [...roles.keys()].filter((id) => id !== null)
  const members = await sql.readRoles(db, { project_ids: projectIds, user_ids: userIds })
  for (const { project_id, user_id, ...member } of members) roles.get(project_id)!.set(user_id, member)
  const end = found.at(-1)?.sequence ?? last
  return { rows, roles, through: found.length < batchSize ? Math.max(end, last) : end }
}

function pageFromBatch(subscriber: Subscriber, { rows, roles, through }: Batch): Page {
  const entries = rows.filter((row) => isVisible(subscriber, row, roles))
  return { entries, through: Math.max(subscriber.position, through) }
}

function isVisible(
  { principal, filter, position }: Subscriber,
  { sequence, event, audience }: Batch['rows'][number],
  roles: Batch['roles'],
): boolean {
  if (sequence <= position) return false
  if (filter.types !== null && !filter.types.includes(event.type)) return false
  if (filter.projectId !== undefined && event.project_id !== filter.projectId) return false
  const member = roles.get(audience.project_id)?.get(principal.userId)
  return canReadEvent(principal, audience, member === undefined ? null : roleByScope(member, audience.scope))
}

/** The first events that have at most `maxPageCharacters` together, at least one event. */
function limitCharacters(entries: LogEntry[]): LogEntry[] {
  let characters = 0
  const firstTooMany = entries.findIndex(
    ({ event }, i) => (characters += JSON.stringify(event.data).length) > maxPageCharacters && i > 0,
  )
  return firstTooMany === -1 ? entries : entries.slice(0, firstTooMany)
}

function emptyPage({ position }: Subscriber): Page {
  return { entries: [], through: position }
}

function endEvent(reason: EndReason): ServerSentEvent {
  return { event: 'end', data: { reason } }
}
