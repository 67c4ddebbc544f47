// What is left over of chats: answers whose process died, those that were asked for without a session, the sessions of deleted
// users, and what keys used long ago.
import { statement, type Db } from '../database.ts'
import type { Kind } from '../housekeeping.ts'
import { endSilent, type EndingServices } from './ending.ts'

/** What is done at once. */
const most = { answers: 100, messages: 2_000, sessions: 50, days: 2_000 }

/** What somebody may wait for. */
export function kindsOfSilence ({ events, upstreams }: EndingServices): Kind[] {
  return [{
    name: 'answers that nobody writes',
    async step (db) {
      const removed = await db.transaction((tx) => endSilent(tx, { events, upstreams }))
      return { removed, more: removed === most.answers }
    }
  }]
}

export function kindsOfChats (): Kind[] {
  return [
    { name: 'answers without a session', step: (db) => removeSome(db, unstored, most.messages) },
    { name: 'sessions of deleted users', step: (db) => removeSome(db, ofDeletedUsers, most.sessions) },
    { name: 'usage of long ago', step: (db) => removeSome(db, longAgo, most.days) }
  ]
}

const unstored = statement<{ n: number }>(`
  WITH gone AS (DELETE FROM ai_messages WHERE id IN (
    SELECT id FROM ai_messages WHERE session_id IS NULL AND status <> 'in_progress' AND created_at < now() - interval '24 hours' LIMIT $1
  ) RETURNING 1) SELECT count(*)::int AS n FROM gone`)
const ofDeletedUsers = statement<{ n: number }>(`
  WITH gone AS (DELETE FROM ai_sessions WHERE id IN (
    SELECT s.id FROM users u JOIN ai_sessions s ON s.space_id = u.id WHERE u.status = 'deleted' LIMIT $1
  ) RETURNING 1) SELECT count(*)::int AS n FROM gone`)
const longAgo = statement<{ n: number }>(`
  WITH gone AS (DELETE FROM ai_usage WHERE (api_key_id, day) IN (
    SELECT api_key_id, day FROM ai_usage WHERE day < now() - interval '400 days' LIMIT $1
  ) RETURNING 1) SELECT count(*)::int AS n FROM gone`)

async function removeSome (db: Db, remove: typeof unstored, limit: number): Promise<{ removed: number, more: boolean }> {
  const [{ n }] = await db.sql(remove, [limit])
  return { removed: n, more: n === limit }
}
