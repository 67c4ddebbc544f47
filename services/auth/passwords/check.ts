// Checks a password. Neither the answer nor its time shows whether an address has an account.
import * as sql from '../../../generated/sql/auth.ts'
import type { Transaction } from '../../../infra/database/database.ts'
import { tokenDigest } from '../../../infra/encryption/tokens.ts'
import { unauthorized } from '../../../infra/errors.ts'
import { FairSemaphore } from '../../../infra/concurrency/fair-semaphore.ts'
import { networkOf } from '../../users/client-network.ts'
import { countAttempt, maxFailures, type CountingServices } from './attempts.ts'
import { verifyPassword } from './hash.ts'
import type { Device } from '../sessions/sessions.ts'

/**
 * The attempts at one account from one network run one after another, because an attempt counts as wrong
 * until its password is checked: several right ones at once would be refused.
 */
const attempts = new FairSemaphore({
  name: 'sign-ins',
  total: Infinity,
  perUser: 1,
  maxWaiting: 1_000,
  maxWaitMs: 60_000,
})

export interface CheckedPassword {
  userId: string
  hash: string
}

/**
 * The user with this address and password.
 * @throws 401, with the same answer for an unknown address and a wrong password.
 */
export async function checkPassword(
  services: CountingServices,
  { email, password }: { email: string; password: string },
  { ip, identify }: Pick<Device, 'ip' | 'identify'>,
): Promise<CheckedPassword> {
  const recipient = email.toLowerCase()
  const attempt = { account: tokenDigest(recipient), network: networkOf(ip), recipient, password }
  return await attempts.run(`${attempt.account} ${attempt.network}`, () =>
    tryPassword(services, attempt, identify),
  )
}

async function tryPassword(
  services: CountingServices,
  { account, network, recipient, password }: Record<'account' | 'network' | 'recipient' | 'password', string>,
  identify: Device['identify'],
): Promise<CheckedPassword> {
  const { db } = services
  // Counted before the password is checked, so that a thousand attempts at once are a thousand attempts.
  const isCounted = await countAttempt(services, { account, network }, { recipient })
  const user = await sql.findPassword(db, { account, email: recipient, network })
  if (user !== undefined) identify?.(user.id)
  const mayTry = isCounted && user !== undefined && (user.is_known || user.failures <= maxFailures)
  const isRight = await verifyPassword(password, mayTry ? user.hash : null, network)
  if (!isRight || user === undefined) throw unauthorized('credentials')
  await sql.clearAttempts(db, { account, network })
  return { userId: user.id, hash: user.hash }
}

/**
 * Holds a checked password until the transaction ends, so that a change of the password also ends the session
 * that is created with it. Throws 401 if it has changed.
 */
export async function holdPassword(tx: Transaction, { userId, hash }: CheckedPassword): Promise<void> {
  if ((await sql.holdPassword(tx, { user_id: userId, hash })) === undefined) throw unauthorized('credentials')
}
