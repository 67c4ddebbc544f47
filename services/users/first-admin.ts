// The first start on an empty database: one owner with one key, made once whoever starts at the same time.
import { type Database } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import type { Config } from '../../infra/config/config.ts'
import { insertKey, insertUser, scopesFor } from './users.ts'

const turn = statement("SELECT pg_advisory_xact_lock(hashtextextended('bootstrap', 0))")

/** @returns the secret of the first key when this call made it, else null. */
export async function makeFirstOwner(
  db: Database,
  config: Pick<Config, 'bootstrapApiKey' | 'bootstrapEmail' | 'keyMode'>,
): Promise<string | null> {
  return await db.transaction(async (tx) => {
    await tx.sql(turn, [])
    if ((await tx.prisma.user.findFirst({ select: { id: true } })) !== null) return null
    const user = await insertUser(tx, {
      email: config.bootstrapEmail,
      emailVerified: true,
      name: 'Owner',
      role: 'admin',
    })
    const key = await insertKey(
      tx,
      config.keyMode,
      {
        userId: user.id,
        name: 'first key',
        scopes: scopesFor('admin'),
        projectIds: null,
        expiresAt: null,
      },
      config.bootstrapApiKey ?? undefined,
    )
    return key.key
  })
}
