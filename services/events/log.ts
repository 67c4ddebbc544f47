// The event log as its readers see it. Committed events get consecutive sequence numbers, so a reader that
// continues after the last sequence it has seen misses nothing. Each read returns only the events that the
// caller can read at that moment.
import { eventTypes, type EventType } from '../../generated/events.ts'
import * as sql from '../../generated/sql/events.ts'
import type { components } from '../../generated/types.ts'
import { invalidCursor } from './cursors.ts'
import { ranks, requireMembership } from '../projects/access.ts'
import type { Db, SqlClient } from '../../infra/database/database.ts'
import { forbidden, gone, notFound } from '../../infra/errors.ts'
import { isOperator, type Principal } from '../users/authentication.ts'
import type { Role } from '../projects/projects.ts'

export type PlatformEvent = components['schemas']['PlatformEvent']

/**
 * The properties of an event that decide who can read it. In a project, or of an organization: members with
 * at least `role`. Without
 * project_id: the user `user_id`. Without both: every user. Operators read every sale. In each case the API
 * key needs the scope, and access to the project.
 */
export interface EventAudience {
  type: EventType
  /** Of an event of an organization: the organization. */
  project_id: string | null
  user_id: string | null
  scope: string
  role: Role | null
}

/**
 * Whether an event of this type that is in no project needs a key for all projects: it is about a user's own
 * resource outside all projects, an API key, a session, a webhook endpoint, or for operators.
 */
const needsUnlimitedKey = (type: EventType): boolean =>
  eventTypes[type].project !== null ||
  eventTypes[type].audience === 'organization' ||
  eventTypes[type].scope.startsWith('organizations:') ||
  eventTypes[type].audience === 'admins' ||
  /^(api_key|sign_in|password|totp|webhook_endpoint|webhook_delivery)\./.test(type)

/** The event types for which `needsUnlimitedKey` is true. */
export const unlimitedKeyTypes: string[] = Object.keys(eventTypes).filter((type) =>
  needsUnlimitedKey(type as EventType),
)

/** The scope of events about the catalog and payments. Operators read these events of all customers. */
const saleScope = 'payments:read'

/** Limits a read to some of the events that the caller can read. */
export interface EventFilter {
  /** Null for all types. */
  types: EventType[] | null
  projectId?: string
  /** Projects and organizations; in place of `projectId`. */
  placeIds?: string[]
}

/**
 * One read scans at most this many sequence numbers, so that a caller who can read few of the events does not
 * cause a scan of the whole log. A page may therefore have fewer events than the limit although the log has
 * more.
 */
const maxScanRows = 100_000
/**
 * Events of the first block that a page reads in the order of the log. With fewer memberships it reads the
 * events of each project instead.
 */
const firstBlock = 100
/** Events that one call of number_events() numbers. */
const numberingBatchSize = 1000

/**
 * Assigns a sequence to every committed event that has none. Returns the last sequence of the log, and
 * whether events of the log lack their deliveries.
 */
export async function numberEvents(db: SqlClient): Promise<{ last: number; undelivered: boolean }> {
  for (;;) {
    const { last, numbered, undelivered } = await sql.numberEvents(db, { limit: numberingBatchSize })
    if (numbered < numberingBatchSize) return { last, undelivered }
  }
}

/** Events and deliveries of one step, so that neither many events nor many endpoints exceed its time. */
const [firstStep, deliveriesOfStep] = [100, 5_000]

/**
 * Adds the deliveries of the numbered events that lack them, and their jobs, in steps that each have a
 * transaction. A step that fails is repeated with fewer events.
 * @returns the number of deliveries that each step added.
 */
export async function* addDeliveries(db: Db): AsyncGenerator<number> {
  for (let limit = firstStep; ;) {
    const step = await addNextDeliveries(db, limit).catch((error) => {
      if (limit === 1) throw error
      return null
    })
    if (step === null) {
      limit = Math.ceil(limit / 10)
      continue
    }
    yield step.count
    if (step.isLast) return
    limit = step.isFull ? Math.max(1, step.events) : Math.min(2 * limit, numberingBatchSize)
  }
}

/** The lock comes first: the rows are then read as they are after the caller before. */
async function addNextDeliveries(db: Db, limit: number) {
  return await db.transaction(async (tx) => {
    const { after, through } = await sql.lockUndelivered(tx, { limit })
    if (after === through) return { count: 0, events: 0, isFull: false, isLast: true }
    const added = await sql.addEventDeliveries(tx, {
      after,
      through,
      most: deliveriesOfStep,
      unlimited_key_types: unlimitedKeyTypes,
    })
    const isFull = added.count === deliveriesOfStep
    return {
      count: added.count,
      events: added.through - after,
      isFull,
      isLast: !isFull && through - after < limit,
    }
  })
}

/** Seconds for which the oldest committed event has had no sequence; 0 without such an event. */
export async function readNumberingDelay(db: Db): Promise<number> {
  const { seconds } = await sql.readNumberingDelay(db)
  return Math.max(0, seconds)
}

/** An event with its position in the log. */
export interface LogEntry {
  sequence: number
  event: PlatformEvent
}

export interface EventPage {
  entries: LogEntry[]
  hasMore: boolean
  /** Where the next page begins: every event up to it was returned, or is not for this caller. */
  next: number
}

/**
 * The events after a sequence that the caller can read, oldest first. One statement; three when the log has
 * events without a sequence.
 * @throws 410 when events after `after` were already deleted, 400 when the log ends before `after`.
 */
export async function readEvents(
  db: SqlClient,
  principal: Principal,
  after: number,
  limit: number,
  filter: EventFilter,
): Promise<EventPage> {
  const parameters = { ...readParameters(principal, limit, filter), after }
  const { last, removed, entries } = await readNumbered(db, () => sql.readEvents(db, parameters))
  // The database was restored from a backup.
  if (after > last) throw invalidCursor()
  if (after > 0 && after < removed)
    throw gone(
      'removed',
      'Events after this cursor were deleted. Read from the oldest event with the cursor "start".',
      'cursor',
    )
  // A read after 0 starts at the oldest event that still exists.
  const end = Math.max(after, removed) + maxScanRows
  return pageOf(entries, limit, { hasMore: end < last, next: Math.max(after, Math.min(end, last)) })
}

/**
 * The events before a sequence that the caller can read, newest first, with as many statements as
 * `readEvents`.
 * @param before 0 for the end of the log
 * @throws 400 when the log ends before `before`.
 */
export async function readEventsBackward(
  db: SqlClient,
  principal: Principal,
  before: number,
  limit: number,
  filter: EventFilter,
): Promise<EventPage> {
  const parameters = {
    ...readParameters(principal, limit, filter),
    before: before || Number.MAX_SAFE_INTEGER,
  }
  const { last, removed, entries } = await readNumbered(db, () => sql.readEventsBackward(db, parameters))
  if (before > last + 1) throw invalidCursor()
  const end = Math.max(removed, Math.min(parameters.before - 1, last) - maxScanRows)
  return pageOf(entries, limit, { hasMore: end > removed, next: end + 1 })
}

/** @param end where the page ends if it has all entries that were found, at most `limit`. */
function pageOf(entries: LogEntry[], limit: number, end: Omit<EventPage, 'entries'>): EventPage {
  if (entries.length <= limit) return { entries, ...end }
  const page = entries.slice(0, limit)
  return { entries: page, hasMore: true, next: page.at(-1)!.sequence }
}

function readParameters(principal: Principal, limit: number, filter: EventFilter) {
  const { types, projectId, placeIds } = filter
  const named = projectId !== undefined ? [projectId] : placeIds
  const projects = named ?? (principal.projectIds === null ? null : [...principal.projectIds])
  return {
    user_id: principal.userId,
    limit: limit + 1,
    scopes: [...principal.scopes],
    types,
    project_ids: projects,
    all_projects: projects === null,
    in_project: named !== undefined,
    operator: isOperator(principal, 'payments:sell'),
    max_scan: maxScanRows,
    first_block: firstBlock,
    unlimited_key_types: unlimitedKeyTypes,
  }
}

interface ReadLog {
  last: number
  removed: number
  entries: LogEntry[]
}

/** Reads again if the log has events without a sequence, after numbering them. */
async function readNumbered(db: SqlClient, read: () => ReturnType<typeof sql.readEvents>): Promise<ReadLog> {
  let rows = await read()
  if (rows[0].unnumbered) {
    await numberEvents(db)
    rows = await read()
  }
  const { last, removed } = rows[0]
  const entries: LogEntry[] = []
  for (const { last: _last, removed: _removed, unnumbered: _unnumbered, sequence, ...event } of rows)
    if (sequence !== null) entries.push({ sequence, event: event as PlatformEvent })
  return { last, removed, entries }
}

/**
 * For a filter by project: throws 404 when the project does not exist, 403 when the caller is not a member.
 * Operators may name every project; they read its sales.
 */
export async function requireReadableProject(
  db: Db,
  principal: Principal,
  { projectId }: EventFilter,
): Promise<void> {
  // The project may be deleted: the deletion is one of its events.
  if (projectId !== undefined)
    await requireMembership(db, projectId, principal, { deleted: true, operators: 'payments:sell' })
}

/**
 * The places of an organization whose events the caller can read: itself and its projects, or one of these.
 * Another organization has none.
 */
export async function placesOf(
  db: Db,
  { userId, projectIds }: Principal,
  organizationId: string,
  projectId: string | undefined,
): Promise<string[]> {
  const places = await sql.listPlaces(db, { organization_id: organizationId, user_id: userId })
  return places
    .map(({ id }) => id)
    .filter((id) => (projectIds?.has(id) ?? true) && (projectId === undefined || id === projectId))
}

/** An event by id. Throws 404 when the event does not exist, 403 when the caller cannot read it. */
export async function findEvent(db: Db, principal: Principal, id: string): Promise<PlatformEvent> {
  const row = await sql.findEvent(db, { id, user_id: principal.userId })
  if (row === undefined) throw notFound('event', id)
  const { user_id, scope, min_role, role, ...event } = row
  const place = event.project_id ?? event.organization_id
  const audience = { type: event.type, project_id: place, user_id, scope, role: min_role }
  if (!canReadEvent(principal, audience, role))
    throw forbidden('You do not have access to this event.', 'audience')
  return event as PlatformEvent
}

/**
 * Whether the caller can read an event: the same rule as prisma/sql/events/may-read.sql.
 * @param role the caller's role in the event's project.
 */
export function canReadEvent(
  principal: Principal,
  { type, project_id: projectId, user_id: userId, scope, role: minRole }: EventAudience,
  role: Role | null,
): boolean {
  if (!principal.scopes.has(scope)) return false
  if (principal.projectIds !== null) {
    if (projectId === null ? needsUnlimitedKey(type) : !principal.projectIds.has(projectId)) return false
  }
  if (scope === saleScope && isOperator(principal, 'payments:sell')) return true
  if (projectId === null) return userId === null || userId === principal.userId
  return role !== null && ranks[role] >= ranks[minRole!]
}
