// What can stand in the way of a start, in one sentence for the operator.
import { ConfigError } from '../infra/config/config.ts'
import { isUnavailable } from '../infra/database/errors.ts'
import { EmbeddedPostgresError } from '../infra/postgres/embedded.ts'
import { MigrationError } from '../infra/postgres/migrations.ts'
import { StartError } from './server.ts'

/** null for what no operator can change. */
export function explain(error: unknown): string | null {
  if (
    error instanceof ConfigError ||
    error instanceof StartError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MigrationError
  )
    return error.message
  const cause = (error as { cause?: unknown }).cause ?? error
  if (isUnavailable(cause))
    return `The database at DATABASE_URL cannot be reached (${(cause as Error).message || (cause as { code?: string }).code}); check the address and that it is running.`
  return null
}
