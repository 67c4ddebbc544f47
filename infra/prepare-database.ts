// Brings a database to the state that this version of the server needs.
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
    const { message, code } = ((error as Error).cause ?? error) as Error & { code?: string }
    if (code !== insufficientPrivilege) throw error
    throw new MigrationError(
      `The role of DATABASE_URL may not apply migrations (${message}): run \`npm run migrate\` as the ` +
        'owner of the database, and servers and workers with MIGRATE=false.',
    )
  }
}
