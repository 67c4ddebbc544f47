// The event log: as a list, by id, and as a stream.
import type { Handlers } from '../services/handler.ts'
import {
  findEvent,
  numberEvents,
  placesOf,
  readEvents,
  readEventsBackward,
  requireReadableProject,
} from '../services/events/log.ts'
import { typesOfAll } from '../services/events/selectors.ts'

export const events = {
  async listEvents(
    {
      principal,
      query: { cursor = 'start', order, limit, type, project_id, organization_id: organizationId },
    },
    { db, lists, eventCursors },
  ) {
    const projectId = oneProject(project_id)
    const filter = { types: typesOfAll(type), projectId }
    const cursors = await eventCursors()
    const position = cursors.decode(cursor)
    const read = order === 'asc' ? readEvents : readEventsBackward
    await requireReadableProject(db, principal, filter)
    const selected =
      organizationId === undefined
        ? filter
        : { types: filter.types, placeIds: await placesOf(db, principal, organizationId, projectId) }
    const { entries, hasMore, next } = await read(lists, principal, position, limit, selected)
    const data = entries.map(({ event }) => event)
    const cursorOfNext = cursors.encode(next)
    const pagination = { has_more: hasMore, next_cursor: hasMore ? cursorOfNext : null }
    return { status: 200, body: { data, pagination, has_more: hasMore, next_cursor: cursorOfNext } }
  },

  async getEvent({ principal, params: { id } }, { db }) {
    return { status: 200, body: await findEvent(db, principal, id) }
  },

  async streamEvents(
    { principal, query: { cursor, type, project_id }, headers: { 'last-event-id': lastId } },
    { db, eventCursors, eventStreams },
  ) {
    const filter = { types: typesOfAll(type), projectId: oneProject(project_id) }
    const cursors = await eventCursors()
    const asked = lastId ?? cursor
    const source = lastId === undefined ? 'query' : 'header'
    const from = asked === undefined ? undefined : cursors.decode(asked, source)
    await requireReadableProject(db, principal, filter)
    // Answers errors, such as 410 for deleted events, with their status before the stream starts.
    if (from !== undefined) await readEvents(db, principal, from, 1, filter)
    // The position is read before the response starts, so the stream contains every event that happens after
    // that.
    return { status: 200, body: eventStreams.open(principal, filter, from ?? (await numberEvents(db)).last) }
  },
} satisfies Handlers<'events'>

/** Without a project, and with `*`, the log has all that the caller can read. */
function oneProject(projectId: string | undefined): string | undefined {
  return projectId === '*' ? undefined : projectId
}
