// Adds up the changes of the numbers of projects.
import * as sql from '../../generated/sql/projects.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'

const changesPerStep = 5000

export function projectCountTasks(): RetentionTask[] {
  return [{ name: 'changes of project counts', step: deleteBatch(sql.addUpCountChanges, changesPerStep) }]
}
