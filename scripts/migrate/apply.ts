// Applies the migrations to DATABASE_URL or the embedded database.
import { loadEnvFile, readConfig } from '../../infra/config/config.ts'
import { distribute } from '../../infra/postgres/distribute.ts'
import { prepareDatabase } from '../../infra/prepare-database.ts'
import { withPostgres } from '../command/with-database.ts'

/** @param distributed whether the tables that grow are distributed over the nodes of Citus afterwards. */
export async function migrate(distributed: boolean): Promise<void> {
  loadEnvFile()
  const config = readConfig()
  await withPostgres(config, { onProgress: console.log }, async (url) => {
    await applyTo(url)
    if (distributed) await distribute(url, console.log)
  })
}

async function applyTo(url: string): Promise<void> {
  const names = await prepareDatabase(url, console.log)
  console.log(
    names.length === 0
      ? 'The database is up to date.'
      : `Applied ${names.length} migration${names.length === 1 ? '' : 's'}.`,
  )
}
