// The database of a server or worker, before its services open it.
import type { Config } from '../infra/config/config.ts'
import { checkBus } from '../infra/bus/nats-connection.ts'
import { checkDatabase } from '../infra/database/check.ts'
import { WrongReplicaError } from '../infra/database/read-replica.ts'
import { requireMigrations } from '../infra/postgres/migrations.ts'
import { prepareDatabase } from '../infra/prepare-database.ts'
import { connectionsOf, type Services } from '../services/services.ts'

const withoutBus = 'Until then each process listens at PostgreSQL.'

/**
 * Checks the connections to a database of the operator and to the bus, and applies the missing migrations
 * unless `MIGRATE` is off. A bus that is away stops no start.
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
      onProgress,
      onWarning: onProgress,
    })
  if (config.busUrl !== null)
    await checkBus(config.busUrl).catch((error: Error) => onProgress(`${error.message} ${withoutBus}`))
  if (config.migrate) await prepareDatabase(directUrl, onProgress)
  else await requireMigrations(directUrl)
}

/**
 * A replica that is away stops no start: the lists are read from the database.
 * @throws WrongReplicaError.
 */
export async function checkReadReplica(
  { readReplica }: Services,
  onProgress: (message: string) => void,
): Promise<void> {
  await readReplica?.measure().catch((error: Error) => {
    if (error instanceof WrongReplicaError) throw error
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    onProgress(`The replica at DATABASE_READ_URL is away (${reason}); lists are read from the database.`)
  })
}
