// The database as this version of the server needs it: its own tables and those of the job queue.
import { prepareJobs } from './jobs/queue.ts'
import { applyMigrations } from './postgres/migrations.ts'

/** Safe to call from any number of servers at once. @returns the names of the migrations that were applied. */
export async function prepareDatabase(
  url: string,
  onProgress: (message: string) => void = () => {},
): Promise<string[]> {
  const applied = await applyMigrations(url, onProgress)
  await prepareJobs(url)
  return applied
}
