// Retention of chats: finishes answers whose process died, and deletes answers without a session after a day,
// the sessions of deleted users, and the usage of API keys after 400 days.
import * as sql from '../../../generated/sql/chat.ts'
import type { RetentionTask } from '../../../infra/jobs/retention.ts'
import { failStaleMessages, staleBatchSize, type FinishServices } from './finish-answer.ts'
import type { Db } from '../../../infra/database/database.ts'

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
      step: batchStep(sql.deleteMessagesWithoutSession, batchSize.messages),
    },
    {
      name: 'sessions of deleted users',
      step: batchStep(sql.deleteSessionsOfDeletedUsers, batchSize.sessions),
    },
    {
      name: 'usage older than 400 days',
      step: batchStep(sql.deleteOldUsage, batchSize.days),
    },
  ]
}

function batchStep(
  deleteRows: (db: Db, parameters: { limit: number }) => Promise<{ n: number }>,
  limit: number,
): RetentionTask['step'] {
  return async (db) => {
    const { n } = await deleteRows(db, { limit })
    return { removed: n, more: n === limit }
  }
}
