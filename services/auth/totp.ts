// The second factor: codes of an authenticator app (TOTP, RFC 6238) and recovery codes. Each code works once.
import { randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import * as sql from '../../generated/sql/auth.ts'
import type { components } from '../../generated/types.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { tokenDigest } from '../../infra/encryption/tokens.ts'
import { invalidField, invalidState, unauthorized } from '../../infra/errors.ts'
import { networkOf } from '../users/client-network.ts'
import type { User as UserRow } from '../../generated/prisma/client.js'
import type { Emitter } from '../events/emit.ts'
import { alertUser, type Mails } from '../mail/mails.ts'
import { hashCode } from './passwords/hash.ts'
import { countAttempt, maxFailures, type CountingServices } from './passwords/attempts.ts'

export type Totp = components['schemas']['Totp']
export type TotpSecret = components['schemas']['TotpSecret']

/** A code that was checked, and is used in the transaction of the sign-in. */
export type SecondFactor =
  { userId: string; method: 'totp'; step: number } | { userId: string; method: 'recovery_code'; hash: string }

const period = 30
/** The codes of the time step before and after the present one are right, too. */
const window = 1
const recoveryCodes = 10
const secretBytes = 20

export async function readTotp(db: Db, userId: string): Promise<Totp> {
  const row = await sql.readTotp(db, { user_id: userId })
  const isEnabled = row !== undefined && row.confirmed_at !== null
  return {
    enabled: isEnabled,
    enabled_at: isEnabled ? row.confirmed_at : null,
    recovery_codes_left: isEnabled ? row.recovery_codes_left : 0,
  }
}

/** Stores a new secret. Throws 409 if the user has a second factor. */
export async function startTotp(
  tx: Transaction,
  cipher: Cipher,
  { userId, email, issuer }: { userId: string; email: string; issuer: string },
): Promise<TotpSecret> {
  const secret = new Secret({ size: secretBytes })
  const stored = await sql.startTotp(tx, {
    user_id: userId,
    secret: cipher.encrypt(secret.base32, userId),
  })
  if (stored === undefined) throw invalidState('second factor', 'enabled', undefined, 'enabled')
  return { secret: secret.base32, uri: new TOTP({ issuer, label: email, secret }).toString() }
}

export interface RecoveryCodes {
  codes: string[]
  hashes: string[]
}

/** New recovery codes. Their hashing takes a moment, so it is done before the transaction. */
export async function makeRecoveryCodes(userId: string, ip: string): Promise<RecoveryCodes> {
  const codes = Array.from({ length: recoveryCodes }, newRecoveryCode)
  const hashes = await Promise.all(codes.map((code) => hashCode(code, userId, networkOf(ip))))
  return { codes, hashes }
}

/**
 * Turns the second factor of a locked user on. Throws 400 for a wrong code, and 409 if there is nothing to
 * confirm.
 */
export async function confirmTotp(
  tx: Transaction,
  cipher: Cipher,
  userId: string,
  { code, hashes }: { code: string; hashes: string[] },
): Promise<void> {
  const row = await sql.readTotp(tx, { user_id: userId })
  if (row === undefined) throw invalidState('second factor', 'not started', undefined, 'enabled')
  if (row.confirmed_at !== null) throw invalidState('second factor', 'enabled', undefined, 'enabled')
  const secret = readSecret(cipher, userId, row.secret)
  const step = secret === null ? null : stepOf(secret, code)
  if (step === null) throw invalidField('code', 'code', 'code is not the code that the app shows')
  const confirmed = await sql.confirmTotp(tx, { user_id: userId, secret: row.secret, step })
  if (confirmed === undefined) throw invalidState('second factor', 'enabled', undefined, 'enabled')
  await sql.replaceRecoveryCodes(tx, { user_id: userId, digests: hashes })
}

/**
 * Checks the code of a sign-in, and uses nothing up yet. Null for a user without a second factor. Wrong codes
 * are counted as wrong passwords are: by network, and from all networks together.
 * @throws 401 without a code, or for a wrong one.
 */
export async function checkSecondFactor(
  services: CountingServices,
  { userId, code, ip }: { userId: string; code: string | undefined; ip: string },
): Promise<SecondFactor | null> {
  const { db, cipher } = services
  const row = await sql.readTotp(db, { user_id: userId })
  if (row === undefined || row.confirmed_at === null) return null
  if (code === undefined) throw unauthorized('second_factor')
  const [account, network] = [attemptsOf(userId), networkOf(ip)]
  if (!(await countAttempt(services, { account, network }, { userId }))) throw wrongCode()
  if (code.includes('-'))
    return { userId, method: 'recovery_code', hash: await hashCode(code, userId, network) }
  const attempts = await sql.readFailures(db, { account, network, user_id: userId })
  const mayTry = attempts !== undefined && (attempts.is_known || attempts.failures <= maxFailures)
  const secret = mayTry ? readSecret(cipher, userId, row.secret) : null
  const step = secret === null ? null : stepOf(secret, code)
  if (step === null || step <= row.last_step) throw wrongCode()
  return { userId, method: 'totp', step }
}

/**
 * Uses a checked code of a locked user, so that of several requests one succeeds.
 * @throws 401 if it was used meanwhile, or if the user has a second factor and no code was checked.
 */
export async function useSecondFactor(
  tx: Transaction,
  services: { cipher: Cipher; mails: Mails },
  { id: userId }: Pick<UserRow, 'id'>,
  factor: SecondFactor | null,
  ip: string,
): Promise<void> {
  if (factor === null) {
    if ((await readTotp(tx, userId)).enabled) throw unauthorized('second_factor')
    return
  }
  if (factor.userId !== userId) throw wrongCode()
  const used =
    factor.method === 'totp'
      ? await sql.useTotpStep(tx, { user_id: userId, step: factor.step })
      : await sql.useRecoveryCode(tx, { user_id: userId, digest: factor.hash })
  if (used === undefined) throw wrongCode()
  await sql.clearAttempts(tx, { account: attemptsOf(userId), network: networkOf(ip) })
  if (factor.method === 'recovery_code') await alertUser(tx, services, 'recovery_code_used', userId)
}

/** Removes the second factor of a locked user with its recovery codes, and alerts the user. */
export async function removeTotp(
  tx: Transaction,
  services: { cipher: Cipher; mails: Mails; events: Emitter },
  { id: userId }: Pick<UserRow, 'id'>,
): Promise<void> {
  const previous = await readTotp(tx, userId)
  await sql.deleteTotp(tx, { user_id: userId })
  if (!previous.enabled) return
  await services.events.emit(tx, 'totp.removed', await readTotp(tx, userId), { previous, userId })
  await alertUser(tx, services, 'second_factor_off', userId)
}

const BATCH = 500

/** Encrypts the secrets that were encrypted with a previous key, in batches. Unreadable ones stay. */
export async function reencryptTotp(db: Db, cipher: Cipher, signal?: AbortSignal): Promise<void> {
  const pattern = `${cipher.prefix}%`
  for (let after = ''; signal?.aborted !== true;) {
    const rows = await sql.findTotpOfOtherKeys(db, { after, pattern, count: BATCH })
    if (rows.length === 0) return
    after = rows.at(-1)!.user_id
    const readable = rows.flatMap(({ user_id: id, secret: known }) => {
      const secret = readSecret(cipher, id, known)
      return secret === null ? [] : [{ id, known, secret: cipher.encrypt(secret, id) }]
    })
    await sql.replaceTotpSecrets(db, {
      ids: readable.map(({ id }) => id),
      known: readable.map(({ known }) => known),
      secrets: readable.map(({ secret }) => secret),
    })
  }
}

/** Null if SECRET_KEY was lost: then only recovery codes work. */
function readSecret(cipher: Cipher, userId: string, stored: string): string | null {
  try {
    return cipher.decrypt(stored, userId)
  } catch {
    return null
  }
}

function attemptsOf(userId: string): string {
  return tokenDigest(`second factor ${userId}`)
}

function wrongCode(): Error {
  return unauthorized('second_factor', 'The code is wrong, or was used before.')
}

/** The time step of a right code, else null. */
function stepOf(secret: string, code: string): number | null {
  const now = Date.now()
  const totp = new TOTP({ secret: Secret.fromBase32(secret), period })
  const delta = totp.validate({ token: code, window, timestamp: now })
  return delta === null ? null : Math.floor(now / 1000 / period) + delta
}

/** About 50 random bits, without letters that look alike. */
function newRecoveryCode(): string {
  const alphabet = '23456789abcdefghjkmnpqrstvwxyz'
  const part = (): string => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${part()}-${part()}`
}
