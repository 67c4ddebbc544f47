// Encrypts the secrets that the database must give back, with AES-256-GCM, and signs tokens with HMAC-SHA256.
// The keys are derived from SECRET_KEY. The id of a key is in each ciphertext, so that two keys can be in use
// while one replaces the other.
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { algorithm, seal, unseal } from './aes-gcm.ts'

export interface Cipher {
  /** The id of the key that encrypts. It reveals nothing about the key. */
  keyId: string
  /** The ids of the keys that only decrypt. */
  previousKeyIds: string[]
  /** The ciphertexts of this key begin with it. */
  prefix: string
  /** @param context what the secret belongs to, such as an id. Only the same context decrypts it. */
  encrypt(plaintext: string, context: string): string
  /** @throws when the text was encrypted with another key or for another context, or was changed. */
  decrypt(ciphertext: string, context: string): string
  /** @param purpose a signature is valid for one purpose only. @returns base64url, 43 characters. */
  sign(text: string, purpose: string): string
  /** Whether the signature was made with the present key or a previous one. */
  verify(text: string, purpose: string, signature: string): boolean
}

interface Key {
  id: string
  // Node.js takes several times as long with the bytes of a key.
  encryption: KeyObject
  signing: KeyObject
}

/** @param previous keys that decrypt what they have encrypted, and encrypt nothing. */
export function createCipher(current: string, previous: string[] = []): Cipher {
  const [key, ...others] = [current, ...previous].map(derive)
  const prefix = prefixOf(key!)
  return {
    keyId: key!.id,
    previousKeyIds: others.map(({ id }) => id),
    prefix,
    encrypt: (plaintext, context) => prefix + seal(key!.encryption, plaintext, context).toString('base64'),
    decrypt(ciphertext, context) {
      const used = [key!, ...others].find((one) => ciphertext.startsWith(prefixOf(one)))
      if (used === undefined) throw new Error('The secret was encrypted with an unknown key.')
      const sealed = Buffer.from(ciphertext.slice(prefixOf(used).length), 'base64')
      return unseal(used.encryption, sealed, context)
    },
    sign: (text, purpose) => signatureOf(key!, text, purpose),
    verify(text, purpose, signature) {
      // The texts are compared, because several texts decode to the same bytes.
      const given = Buffer.from(signature)
      return [key!, ...others].some((one) => {
        const right = Buffer.from(signatureOf(one, text, purpose))
        return given.length === right.length && timingSafeEqual(given, right)
      })
    },
  }
}

function derive(secret: string): Key {
  const bytes = (length: number, purpose: string) =>
    Buffer.from(hkdfSync('sha256', secret, '', purpose, length))
  return {
    id: bytes(6, 'key id').toString('hex'),
    encryption: createSecretKey(bytes(32, algorithm)),
    signing: createSecretKey(bytes(32, 'signatures')),
  }
}

function signatureOf({ signing }: Key, text: string, purpose: string): string {
  return createHmac('sha256', signing).update(`${purpose}\n${text}`).digest('base64url')
}

function prefixOf({ id }: Key): string {
  return `enc:${id}:`
}
