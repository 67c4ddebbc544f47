// An API key for one day, with which an operator enters the console of a server on their own machine.
import type { Database } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/users.ts'
import { digestOf, type KeyMode } from '../../infra/encryption/api-key-format.ts'
import { insertApiKey } from './api-keys.ts'
import { defaultScopes } from './scopes.ts'

const lifetime = 24 * 60 * 60 * 1000

/** Whether the key is valid for at least half of a day more. */
export async function isConsoleKeyFresh(db: Database, secret: string): Promise<boolean> {
  const key = await sql.findApiKey(db, { digest: digestOf(secret) })
  if (key === undefined || key.revoked_at !== null || key.status !== 'active') return false
  return key.expires_at !== null && Date.parse(key.expires_at) > Date.now() + lifetime / 2
}

/** @returns the secret of a new key of the first admin; null without an active admin. */
export async function createConsoleKey(db: Database, mode: KeyMode): Promise<string | null> {
  return await db.transaction(async (tx) => {
    const admin = await sql.findOldestAdmin(tx)
    if (admin === undefined) return null
    const { key } = await insertApiKey(tx, mode, {
      userId: admin.id,
      name: 'console',
      scopes: defaultScopes('admin'),
      projectIds: null,
      expiresAt: new Date(Date.now() + lifetime),
    })
    return key
  })
}
