// Retention of chats: finishes answers whose process died, and deletes answers without a session after a day,
// the sessions of deleted users, and the usage of API keys after 400 days.
import * as sql from '../../../generated/sql/chat.ts'
import { deleteBatch, type RetentionTask } from '../../../infra/jobs/retention.ts'
import { failStaleMessages, staleBatchSize, type FinishServices } from './finish-answer.ts'

const batchSize = { messages: 2_000, sessions: 50, days: 2_000 }

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
      step: deleteBatch(sql.deleteMessagesWithoutSession, batchSize.messages),
    },
    {
      name: 'sessions of deleted users',
      step: deleteBatch(sql.deleteSessionsOfDeletedUsers, batchSize.sessions),
    },
    {
      name: 'usage older than 400 days',
      step: deleteBatch(sql.deleteOldUsage, batchSize.days),
    },
  ]
}
