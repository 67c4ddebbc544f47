// The database of a server or worker, before its services open it.
import type { Config } from '../infra/config/config.ts'
import { checkDatabase } from '../infra/database/check.ts'
import { requireMigrations } from '../infra/postgres/migrations.ts'
import { prepareDatabase } from '../infra/prepare-database.ts'
import { connectionsOf, jobQueues } from '../services/services.ts'

/**
 * Checks the connections to a database of the operator, and applies the missing migrations unless `MIGRATE`
 * is off.
 */
export async function checkAndPrepare(
  config: Readonly<Config>,
  databaseUrl: string,
  onProgress: (message: string) => void,
): Promise<void> {
  const directUrl = config.databaseDirectUrl ?? databaseUrl
  if (config.databaseUrl !== null)
    await checkDatabase({
      url: databaseUrl,
      directUrl,
      preparedStatements: config.databasePreparedStatements,
      connections: connectionsOf(config),
      onWarning: onProgress,
    })
  if (config.migrate) await prepareDatabase(directUrl, { queues: jobQueues, onProgress })
  else await requireMigrations(directUrl)
}
