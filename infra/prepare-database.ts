// Brings a database to the state that this version of the server needs: its own tables and those of the job
// queues.
import { prepareJobQueues, type QueueOptions } from './jobs/queue.ts'
import { applyMigrations, MigrationError } from './postgres/migrations.ts'

export interface PrepareOptions {
  /** The job queues that the services use. */
  queues: QueueOptions[]
  onProgress?: (message: string) => void
}

/** SQLSTATE. */
const insufficientPrivilege = '42501'

/**
 * Safe to call from any number of servers at once. @returns the names of the migrations that were applied.
 */
export async function prepareDatabase(
  url: string,
  { queues, onProgress = () => {} }: PrepareOptions,
): Promise<string[]> {
  try {
    const applied = await applyMigrations(url, onProgress)
    await prepareJobQueues(url, queues)
    return applied
  } catch (error) {
    const { message, code } = ((error as Error).cause ?? error) as Error & { code?: string }
    if (code !== insufficientPrivilege) throw error
    throw new MigrationError(
      `The role of DATABASE_URL may not apply migrations (${message}): run \`npm run migrate\` as the ` +
        'owner of the database, and servers and workers with MIGRATE=false.',
    )
  }
}
