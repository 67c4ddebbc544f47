// Brings a database to the state that this version of the server needs.
import { connectionProblem } from './database/connection-problem.ts'
import { applyMigrations, MigrationError } from './postgres/migrations.ts'

/** SQLSTATE. */
const insufficientPrivilege = '42501'

/**
 * Safe to call from any number of servers at once. @returns the names of the migrations that were applied.
 */
export async function prepareDatabase(
  url: string,
  onProgress: (message: string) => void = () => {},
): Promise<string[]> {
  try {
    return await applyMigrations(url, onProgress)
  } catch (error) {
    const cause = ((error as Error).cause ?? error) as Error & { code?: string }
    const { message, code } = cause
    if (code !== insufficientPrivilege) throw error
    // It cannot even read which migrations are applied.
    if (message.startsWith('permission denied for table')) throw new MigrationError(connectionProblem(cause)!)
    throw new MigrationError(
      `The role of DATABASE_URL may not apply migrations (${message}): run \`npm run migrate\` as the ` +
        'owner of the database, and servers and workers with MIGRATE=false.',
    )
  }
}
