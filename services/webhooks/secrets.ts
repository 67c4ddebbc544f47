// The secrets of webhook endpoints are encrypted in the database. The id of the key is in the database too,
// so that a server with another SECRET_KEY refuses to start instead of losing secrets.
import * as sql from '../../generated/sql/webhooks.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import { SecretKeyError } from '../../infra/encryption/secret-key.ts'
import { newWebhookSecret } from './signature.ts'

const BATCH = 500

export function encryptSecret(cipher: Cipher, endpointId: string, secret: string): string {
  return cipher.encrypt(secret, endpointId)
}

/** @throws when the secret was encrypted with a key that this server does not have. */
export function decryptSecret(cipher: Cipher, endpointId: string, stored: string): string {
  return cipher.decrypt(stored, endpointId)
}

/** Secrets that a `SecretReader` keeps, so that not every delivery decrypts. */
const maxKept = 1_000

/** @throws when the secret was encrypted with a key that this server does not have. */
export type SecretReader = (endpointId: string, stored: string) => string

/** `decryptSecret`, which keeps what it has decrypted. */
export function createSecretReader(cipher: Cipher): SecretReader {
  const kept = new Map<string, string>()
  return (endpointId, stored) => {
    const key = `${endpointId} ${stored}`
    let secret = kept.get(key)
    if (secret === undefined) {
      secret = decryptSecret(cipher, endpointId, stored)
      if (kept.size >= maxKept) kept.clear()
      kept.set(key, secret)
    }
    return secret
  }
}

/** Makes the key of this server that of the database. @throws SecretKeyError if it has another one. */
export async function claimSecretKey(db: Db, cipher: Cipher): Promise<void> {
  const { keyId, previousKeyIds } = cipher
  const { key_id: found } = await sql.claimSecretKey(db, { key_id: keyId, replaced: previousKeyIds })
  if (found !== keyId)
    throw new SecretKeyError(
      `The secrets in the database are encrypted with the key ${found}, but SECRET_KEY is the key ` +
        `${keyId}: set SECRET_KEY to the value of the other servers, or SECRET_KEY_PREVIOUS to the value ` +
        'before.',
    )
}

/**
 * Encrypts all secrets again that are encrypted with a previous key, in batches.
 * @param lost the new secret of an endpoint whose key is lost. Default: such secrets stay, and the first
 * error is thrown at the end.
 */
export async function encryptAllSecrets(
  db: Db,
  cipher: Cipher,
  { signal, lost }: { signal?: AbortSignal; lost?: (endpointId: string) => string } = {},
): Promise<void> {
  const pattern = `${cipher.prefix}%`
  let failure: unknown = null
  for (let after = ''; signal?.aborted !== true;) {
    const rows = await sql.findSecretsOfOtherKeys(db, { after, pattern, count: BATCH })
    if (rows.length === 0) break
    after = rows.at(-1)!.id
    const changed = rows.flatMap((row) => {
      try {
        return [reencrypted(cipher, row, lost)]
      } catch (error) {
        failure ??= error
        return []
      }
    })
    await sql.replaceEncryptedSecrets(db, {
      ids: changed.map(({ id }) => id),
      known: changed.map(({ known }) => known),
      secrets: changed.map(({ secret }) => secret),
      previous_secrets: changed.map(({ previous }) => previous),
    })
  }
  if (failure !== null) throw failure
}

function reencrypted(
  cipher: Cipher,
  { id, secret: known, previous_secret: previous }: sql.FindSecretsOfOtherKeysRow,
  lost?: (endpointId: string) => string,
) {
  const reencrypt = (stored: string): string => encryptSecret(cipher, id, decryptSecret(cipher, id, stored))
  try {
    return { id, known, secret: reencrypt(known), previous: previous === null ? null : reencrypt(previous) }
  } catch (error) {
    if (lost === undefined) throw error
    return { id, known, secret: encryptSecret(cipher, id, lost(id)), previous: null }
  }
}

/** After the loss of SECRET_KEY: endpoints whose secret cannot be read get a new one. @returns their ids. */
export async function replaceLostSecrets(db: Db, cipher: Cipher): Promise<string[]> {
  await db.prisma.secretKey.upsert({
    where: { id: 1 },
    create: { keyId: cipher.keyId },
    update: { keyId: cipher.keyId },
  })
  const ids = new Set<string>()
  const lost = (id: string): string => {
    ids.add(id)
    return newWebhookSecret()
  }
  await encryptAllSecrets(db, cipher, { lost })
  return [...ids]
}
