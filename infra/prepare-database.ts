// Brings a database to the state that this version of the server needs: its own tables and those of the job
// queues.
import { prepareJobQueues, type QueueOptions } from './jobs/queue.ts'
import { applyMigrations } from './postgres/migrations.ts'

export interface PrepareOptions {
  /** The job queues that the services use. */
  queues: QueueOptions[]
  onProgress?: (message: string) => void
}

/**
 * Safe to call from any number of servers at once. @returns the names of the migrations that were applied.
 */
export async function prepareDatabase(
  url: string,
  { queues, onProgress = () => {} }: PrepareOptions,
): Promise<string[]> {
  const applied = await applyMigrations(url, onProgress)
  await prepareJobQueues(url, queues)
  return applied
}
