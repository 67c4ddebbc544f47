// A restored copy of a database is quiet: until the operator confirms it, it sends no webhooks, renews and
// charges nothing, parses no documents, and calls neither the payment gateway nor models, because the
// original may still do the same.
import * as sql from '../../generated/sql/backup.ts'
import type { Db } from '../../infra/database/database.ts'
import { unavailable } from '../../infra/errors.ts'

/** Why background work with effects outside does not run. The message is one sentence for the operator. */
export class UnconfirmedCopyError extends Error {}

export const unconfirmedMessage =
  'This database is a restored copy: no webhooks are sent, no documents parsed, no models called, and ' +
  'nothing is renewed or charged, until `npm run admin -- confirm-restore`.'

/** @throws UnconfirmedCopyError */
export async function requireConfirmed(db: Db): Promise<void> {
  if (!(await isConfirmed(db))) throw new UnconfirmedCopyError(unconfirmedMessage)
}

/** The check before each call to another service: it throws 503 in a copy that is not confirmed. */
export function createOutwardCheck(db: Db): () => Promise<void> {
  let confirmed = false
  return async () => {
    confirmed ||= await isConfirmed(db)
    if (!confirmed)
      throw unavailable(
        'This server is a restored copy and calls no other services until it is confirmed.',
        60,
      )
  }
}

export async function isConfirmed(db: Db): Promise<boolean> {
  const copy = await sql.findRestoredCopy(db)
  return copy === undefined || copy.confirmed_at !== null
}

/** @returns the time of the backup, or null if there is nothing to confirm. */
export async function confirmCopy(db: Db): Promise<string | null> {
  return (await sql.confirmRestoredCopy(db))?.backup_created_at ?? null
}
