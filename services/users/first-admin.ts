// Creates the first admin and an API key when a server starts on an empty database. An advisory lock makes
// sure that only one of several servers that start at the same time creates them.
import type { Database } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/users.ts'
import type { Config } from '../../infra/config/config.ts'
import { insertApiKey } from './api-keys.ts'
import { defaultScopes } from './scopes.ts'
import { insertUser } from './users.ts'

/**
 * @param keep hands a random key to the operator. If it fails, nothing is created.
 * @returns what `keep` returned, or null when the database already has a user or BOOTSTRAP_API_KEY is set.
 */
export async function createFirstAdmin<Kept>(
  db: Database,
  config: Pick<Config, 'bootstrapApiKey' | 'bootstrapEmail' | 'keyMode'>,
  keep: (secret: string) => Kept,
): Promise<Kept | null> {
  return await db.transaction(async (tx) => {
    await sql.lockFirstAdmin(tx)
    // Not through Prisma, whose query compiler then takes no memory until a request needs it.
    if ((await sql.hasUsers(tx)).found) return null
    const user = await insertUser(tx, {
      email: config.bootstrapEmail,
      emailVerified: true,
      name: 'Owner',
      role: 'admin',
    })
    const key = await insertApiKey(
      tx,
      config.keyMode,
      {
        userId: user.id,
        name: 'first key',
        scopes: defaultScopes('admin'),
        projectIds: null,
        expiresAt: null,
      },
      config.bootstrapApiKey ?? undefined,
    )
    return config.bootstrapApiKey === null ? keep(key.key) : null
  })
}
