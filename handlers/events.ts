// The log of events, read by list and by stream.
import type { Handlers } from '../services/handler.ts'
import { eventOf, numberEvents, readEvents, requireReadable } from '../services/events/log.ts'

export const events = {
  async listEvents({ principal, query: { after = 0, limit, type, project_id: projectId } }, { db }) {
    const filter = { type, projectId }
    await requireReadable(db, principal, filter)
    const { events, hasMore, next } = await readEvents(db, principal, after, limit, filter)
    return { status: 200, body: { data: events, has_more: hasMore, next_after: next } }
  },

  async getEvent({ principal, params: { id } }, { db }) {
    return { status: 200, body: await eventOf(db, principal, id) }
  },

  async streamEvents({ principal, query: { after, type, project_id: projectId }, headers }, { db, tail }) {
    const filter = { type, projectId }
    const from = headers['last-event-id'] ?? after
    await requireReadable(db, principal, filter)
    // What cannot be followed is said with a status, before the stream begins.
    if (from !== undefined) await readEvents(db, principal, from, 1, filter)
    // Now is before the answer: what happens once the client knows that it listens is never missed.
    return { status: 200, body: tail.follow(principal, filter, from ?? (await numberEvents(db))) }
  },
} satisfies Handlers<'events'>
