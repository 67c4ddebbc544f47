// What is left over of chats: answers whose process died, those that were asked for without a session, the sessions of deleted
// users, and what keys used long ago.
import type { RetentionTask } from '../../../infra/jobs/retention.ts'
import { deleteBatchStep } from '../../../infra/database/batch-delete.ts'
import { endSilent, type EndingServices } from './finish-answer.ts'

/** What is done at once. */
const most = { answers: 100, messages: 2_000, sessions: 50, days: 2_000 }

const unstored =
  "SELECT id FROM ai_messages WHERE session_id IS NULL AND status <> 'in_progress' AND created_at < now() - interval '24 hours' LIMIT $1"
const ofDeletedUsers =
  "SELECT s.id FROM users u JOIN ai_sessions s ON s.space_id = u.id WHERE u.status = 'deleted' LIMIT $1"
const longAgo = "SELECT ctid FROM ai_usage WHERE day < now() - interval '400 days' LIMIT $1"

/** What somebody may wait for. */
export function staleAnswerTasks({ events, upstreams }: EndingServices): RetentionTask[] {
  return [
    {
      name: 'answers that nobody writes',
      async step(db) {
        const removed = await db.transaction((tx) => endSilent(tx, { events, upstreams }))
        return { removed, more: removed === most.answers }
      },
    },
  ]
}

export function chatRetentionTasks(): RetentionTask[] {
  return [
    { name: 'answers without a session', step: deleteBatchStep('ai_messages', unstored, most.messages) },
    {
      name: 'sessions of deleted users',
      step: deleteBatchStep('ai_sessions', ofDeletedUsers, most.sessions),
    },
    { name: 'usage of long ago', step: deleteBatchStep('ai_usage', longAgo, most.days, { key: 'ctid' }) },
  ]
}
