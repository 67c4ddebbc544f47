// Retention of chats: finishes answers whose process died, and deletes answers without a session after a day,
// the sessions of deleted users, and the usage of API keys after 400 days.
import type { RetentionTask } from '../../../infra/jobs/retention.ts'
import { failStaleMessages, staleBatchSize, type FinishServices } from './finish-answer.ts'
import { deleteBatchStep } from '../../../infra/database/batch-delete.ts'

const batchSize = { messages: 2_000, sessions: 50, days: 2_000 }

const messagesWithoutSession = `
  SELECT id FROM ai_messages
  WHERE session_id IS NULL AND status <> 'in_progress' AND created_at < now() - interval '24 hours' LIMIT $1`
const sessionsOfDeletedUsers = `
  SELECT s.id FROM users u JOIN ai_sessions s ON s.space_id = u.id WHERE u.status = 'deleted' LIMIT $1`
const oldUsage = "SELECT ctid FROM ai_usage WHERE day < now() - interval '400 days' LIMIT $1"

/** Runs every minute, because a client may be waiting for the end of its answer. */
export function staleAnswerTasks({ events, providers }: FinishServices): RetentionTask[] {
  return [
    {
      name: 'answers without a live process',
      async step(db) {
        const removed = await db.transaction((tx) => failStaleMessages(tx, { events, providers }))
        return { removed, more: removed === staleBatchSize }
      },
    },
  ]
}

export function chatRetentionTasks(): RetentionTask[] {
  return [
    {
      name: 'answers without a session',
      step: deleteBatchStep('ai_messages', messagesWithoutSession, batchSize.messages),
    },
    {
      name: 'sessions of deleted users',
      step: deleteBatchStep('ai_sessions', sessionsOfDeletedUsers, batchSize.sessions),
    },
    {
      name: 'usage older than 400 days',
      step: deleteBatchStep('ai_usage', oldUsage, batchSize.days, { key: 'ctid' }),
    },
  ]
}
