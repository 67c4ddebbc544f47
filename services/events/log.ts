// The log of events as its readers see it: in one order, without gaps, and only what each may read at that moment.
import { eventTypes, type EventType } from '../../generated/events.ts'
import type { components } from '../../generated/types.ts'
import { ranks, requireMembership } from '../projects/access.ts'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { forbidden, gone, notFound } from '../../infra/errors.ts'
import type { Principal } from '../users/authentication.ts'
import type { Role } from '../projects/projects.ts'

export type Event = components['schemas']['Event']

/** What decides who may read an event; null for a project means that it is the user's, null for both everyone's who has the scope. */
export interface Audience {
  type: EventType
  project_id: string | null
  user_id: string | null
  scope: string
  role: Role | null
}

/**
 * Whether events of this type tell of what stands in a project or is somebody's own. The latter, where the project is null, is
 * only for keys that are for all projects.
 */
const isOfSpace = (type: EventType): boolean => eventTypes[type].project !== null

/** The same in SQL, of an expression that is a type. */
export const ofSpace = (type: string): string =>
  `${type} = ANY ('{${Object.keys(eventTypes).filter((type) => isOfSpace(type as EventType))}}'::text[])`

/** What a reader wants of what it may read. */
export interface Filter {
  type?: EventType
  projectId?: string
}

export const eventColumns = `e.id, e.type, e.created_at, 'v1' AS api_version, e.project_id, e.request_id, e.sequence, e.data`

/** How much of the log is looked through at once, however little of it the reader may read: a page may be short, and say that there is more. */
const stretch = 100_000
/** How many events are numbered at once. */
const batch = 1000

const number = statement<{ last: number; numbered: number }>('SELECT * FROM number_events($1)')

/** Gives every committed event its sequence. @returns the last one given. */
export async function numberEvents(db: Db): Promise<number> {
  for (;;) {
    const [{ last, numbered }] = await db.sql(number, [batch])
    if (numbered < batch) return last
  }
}

// Roles are compared as PostgreSQL orders them: from owner, the first, down to viewer.
// One branch for each way to an event, each along its own index, so that a long log costs no more than a page of it.
const page = statement<Event & { id: string | null; last: number; removed: number; unnumbered: boolean }>(`
  SELECT l.last_sequence AS last, l.removed_through AS removed, EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) AS unnumbered, x.*
  FROM event_log l LEFT JOIN LATERAL (
    SELECT ${eventColumns} FROM (
      SELECT p.* FROM members m CROSS JOIN LATERAL (
        SELECT * FROM events e
        WHERE e.project_id = m.project_id AND e.sequence > $2 AND e.sequence <= greatest($2, l.removed_through) + $8 AND m.role <= e.role AND e.scope = ANY($4) AND ($5::text IS NULL OR e.type = $5)
        ORDER BY e.sequence LIMIT $3
      ) p WHERE m.user_id = $1 AND ($6::text[] IS NULL OR m.project_id = ANY($6))
      UNION ALL (
        SELECT * FROM events e
        WHERE e.project_id IS NULL AND e.user_id = $1 AND e.sequence > $2 AND e.sequence <= greatest($2, l.removed_through) + $8 AND e.scope = ANY($4) AND ($5::text IS NULL OR e.type = $5) AND NOT $7
          AND ($6 IS NULL OR NOT ${ofSpace('e.type')})
        ORDER BY e.sequence LIMIT $3
      ) UNION ALL (
        SELECT * FROM events e
        WHERE e.project_id IS NULL AND e.user_id IS NULL AND e.sequence > $2 AND e.sequence <= greatest($2, l.removed_through) + $8 AND e.scope = ANY($4) AND ($5::text IS NULL OR e.type = $5) AND NOT $7
        ORDER BY e.sequence LIMIT $3
      )
    ) e ORDER BY e.sequence LIMIT $3
  ) x ON true
  ORDER BY x.sequence`)

export interface EventPage {
  events: Event[]
  hasMore: boolean
  /** Where the next page begins: everything up to here was seen, or is not for this reader. */
  next: number
}

/**
 * The events after a sequence that the caller may read, oldest first. One statement, and another where something was
 * written that is not numbered yet. Throws 410 when what followed `after` is no longer kept.
 */
export async function readEvents(
  db: Db,
  principal: Principal,
  after: number,
  limit: number,
  { type, projectId }: Filter,
): Promise<EventPage> {
  const projects =
    projectId !== undefined ? [projectId] : principal.projectIds === null ? null : [...principal.projectIds]
  const values = [
    principal.userId,
    after,
    limit + 1,
    [...principal.scopes],
    type ?? null,
    projects,
    projectId !== undefined,
    stretch,
  ]
  let rows = await db.sql(page, values)
  if (rows[0].unnumbered) {
    await numberEvents(db)
    rows = await db.sql(page, values)
  }
  const { last, removed } = rows[0]
  if (after > 0 && after < removed)
    throw gone(
      'removed',
      `Events up to ${removed} are no longer kept; begin after ${removed}, or after 0 for what there is.`,
      'after',
    )
  // Whoever begins at 0 begins where the log does.
  const end = Math.max(after, removed) + stretch
  const events: Event[] = []
  for (const { last: _last, removed: _removed, unnumbered: _unnumbered, ...event } of rows)
    if (event.id !== null) events.push(event)
  if (events.length <= limit)
    return { events, hasMore: end < last, next: Math.max(after, Math.min(end, last)) }
  events.pop()
  return { events, hasMore: true, next: events.at(-1)!.sequence }
}

/** For a filter that names a project: 404 when it is not there, 403 when the caller is no member of it. */
export async function requireReadable(db: Db, principal: Principal, { projectId }: Filter): Promise<void> {
  // That a project was deleted is an event of it, too.
  if (projectId !== undefined) await requireMembership(db, projectId, principal, { deleted: true })
}

const one = statement<
  Event & {
    sequence: number | null
    user_id: string | null
    scope: string
    min_role: Role | null
    role: Role | null
  }
>(`
  SELECT ${eventColumns}, e.user_id, e.scope, e.role::text AS min_role, m.role::text AS role
  FROM events e LEFT JOIN members m ON m.project_id = e.project_id AND m.user_id = $2 WHERE e.id = $1`)

/** An event that the caller may read: 404 when there is none, 403 when it is for others. */
export async function eventOf(db: Db, principal: Principal, id: string): Promise<Event> {
  let [row] = await db.sql(one, [id, principal.userId])
  if (row === undefined) throw notFound('event', id)
  if (row.sequence === null) {
    await numberEvents(db)
    ;[row] = await db.sql(one, [id, principal.userId])
  }
  const { user_id, scope, min_role, role, ...event } = row
  if (
    !mayRead(
      principal,
      { type: event.type, project_id: event.project_id, user_id, scope, role: min_role },
      role,
    )
  )
    throw forbidden('This event is for others.')
  return event
}

/** Whether the caller, with this role in the event's project, may read it: the same rule as the statements'. */
export function mayRead(
  principal: Principal,
  { type, project_id: projectId, user_id: userId, scope, role: least }: Audience,
  role: Role | null,
): boolean {
  if (!principal.scopes.has(scope)) return false
  if (projectId === null && isOfSpace(type) && principal.projectIds !== null) return false
  if (projectId === null) return userId === null || userId === principal.userId
  if (principal.projectIds !== null && !principal.projectIds.has(projectId)) return false
  return role !== null && ranks[role] >= ranks[least!]
}
