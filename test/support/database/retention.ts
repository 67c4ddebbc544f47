// Runs retention in tests. The default tasks are the core tasks.
import type { Database } from '../../../infra/database/database.ts'
import { runRetention as run, type RetentionRunOptions } from '../../../infra/jobs/retention.ts'
import { coreRetentionTasks } from '../../../services/deletion/retention-tasks.ts'

export async function runRetention(
  db: Database,
  { tasks = coreRetentionTasks(), ...options }: Partial<RetentionRunOptions> = {},
): Promise<Record<string, number>> {
  return await run(db, { tasks, ...options })
}
