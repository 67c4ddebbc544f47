// Explains start errors that the operator can fix, in one sentence each.
import { ConfigError } from '../infra/config/config.ts'
import { connectionProblem } from '../infra/database/connection-problem.ts'
import { DatabaseCheckError } from '../infra/database/check.ts'
import { WrongReplicaError } from '../infra/database/read-replica.ts'
import { isUnavailable } from '../infra/database/errors.ts'
import { SecretKeyError } from '../infra/encryption/secret-key.ts'
import { EmbeddedPostgresError } from '../infra/postgres/embedded.ts'
import { MigrationError } from '../infra/postgres/migrations.ts'
import { StoreOwnershipError } from '../services/storage/ownership.ts'
import { FirstKeyError } from './first-key.ts'
import { StartError } from './server.ts'

/** null for any other error. */
export function explainStartupError(error: unknown): string | null {
  if (
    error instanceof ConfigError ||
    error instanceof StartError ||
    error instanceof FirstKeyError ||
    error instanceof SecretKeyError ||
    error instanceof DatabaseCheckError ||
    error instanceof WrongReplicaError ||
    error instanceof StoreOwnershipError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MigrationError
  )
    return error.message
  const cause = (error as { cause?: unknown }).cause ?? error
  const problem = connectionProblem(cause)
  if (problem !== null) return problem
  if (isUnavailable(cause)) {
    const { message, code } = cause as { message?: string; code?: string }
    const reason = message || code
    return (
      `The database at DATABASE_URL is unreachable (${reason}); ` +
      'check the address and that it is running.'
    )
  }
  return null
}
