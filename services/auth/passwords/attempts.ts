// Counts the attempts at a password or a second factor, by account and network.
import * as sql from '../../../generated/sql/auth.ts'
import type { Db } from '../../../infra/database/database.ts'
import { alertUser, onceADay, queueMail, type MailServices } from '../../mail/mails.ts'

export type CountingServices = MailServices & { db: Db }

/** Wrong passwords or codes in a day from which on only networks are served where the user has a session. */
export const maxFailures = 100

/**
 * Counts an attempt. After too many in a day the owner gets an e-mail, once a day: by user, or by an address
 * that may have no account, with the same work.
 * @returns false if the network must wait.
 */
export async function countAttempt(
  { db, ...services }: CountingServices,
  attempt: { account: string; network: string },
  owner: { userId: string } | { recipient: string },
): Promise<boolean> {
  const counted = await sql.countAttempt(db, attempt)
  if (counted !== undefined && counted.before > maxFailures) {
    const kind = 'sign_ins_blocked'
    const { dedupeKey } = onceADay(kind, attempt.account)
    await db.transaction(async (tx) => {
      if ('userId' in owner) await alertUser(tx, services, kind, owner.userId, { dedupeKey })
      else await queueMail(tx, services, { kind, ...owner, userId: null, dedupeKey })
    })
  }
  return counted !== undefined
}
