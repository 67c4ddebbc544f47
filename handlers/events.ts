// The event log: as a list, by id, and as a stream.
import type { Handlers } from '../services/handler.ts'
import { findEvent, numberEvents, readEvents, requireReadableProject } from '../services/events/log.ts'
import { typesOfAll } from '../services/events/selectors.ts'

export const events = {
  async listEvents({ principal, query: { after = 0, limit, type, project_id: projectId } }, { db }) {
    const filter = { types: typesOfAll(type), projectId }
    await requireReadableProject(db, principal, filter)
    const { events, hasMore, next } = await readEvents(db, principal, after, limit, filter)
    return { status: 200, body: { data: events, has_more: hasMore, next_after: next } }
  },

  async getEvent({ principal, params: { id } }, { db }) {
    return { status: 200, body: await findEvent(db, principal, id) }
  },

  async streamEvents(
    { principal, query: { after, type, project_id: projectId }, headers },
    { db, eventStreams },
  ) {
    const filter = { types: typesOfAll(type), projectId }
    const from = headers['last-event-id'] ?? after
    await requireReadableProject(db, principal, filter)
    // Answers errors, such as 410 for deleted events, with their status before the stream starts.
    if (from !== undefined) await readEvents(db, principal, from, 1, filter)
    // The position is read before the response starts, so the stream contains every event that happens after
    // that.
    return { status: 200, body: eventStreams.open(principal, filter, from ?? (await numberEvents(db))) }
  },
} satisfies Handlers<'events'>
