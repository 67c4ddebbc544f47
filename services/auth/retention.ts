// Deletes what sign-ins leave behind.
import * as sql from '../../generated/sql/auth.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'

const rowsPerStep = 1_000

export function signInRetentionTasks(): RetentionTask[] {
  return [
    { name: 'expired sessions', step: deleteBatch(sql.deleteOldSessions, rowsPerStep) },
    { name: 'one-time tokens', step: deleteBatch(sql.deleteOldTokens, rowsPerStep) },
    { name: 'challenges of passkeys', step: deleteBatch(sql.deleteOldChallenges, rowsPerStep) },
    { name: 'wrong passwords', step: deleteBatch(sql.deleteOldFailures, rowsPerStep) },
    { name: 'e-mails', step: deleteBatch(sql.deleteOldMails, rowsPerStep) },
  ]
}
