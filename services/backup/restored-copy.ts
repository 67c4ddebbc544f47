// A restored copy of a database is quiet: until the operator confirms it, it sends no webhooks, renews and
// charges nothing, because the original may still do the same.
import * as sql from '../../generated/sql/backup.ts'
import type { Db } from '../../infra/database/database.ts'

/** Why background work with effects outside does not run. The message is one sentence for the operator. */
export class UnconfirmedCopyError extends Error {}

export const unconfirmedMessage =
  'This database is a restored copy: no webhooks are sent, and nothing is renewed or charged, until ' +
  '`npm run admin -- confirm-restore`.'

/** @throws UnconfirmedCopyError */
export async function requireConfirmed(db: Db): Promise<void> {
  if (!(await isConfirmed(db))) throw new UnconfirmedCopyError(unconfirmedMessage)
}

export async function isConfirmed(db: Db): Promise<boolean> {
  const copy = await sql.findRestoredCopy(db)
  return copy === undefined || copy.confirmed_at !== null
}

/** @returns the time of the backup, or null if there is nothing to confirm. */
export async function confirmCopy(db: Db): Promise<string | null> {
  return (await sql.confirmRestoredCopy(db))?.backup_created_at ?? null
}
