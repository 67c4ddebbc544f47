// Encrypts the secrets that the database must give back, with AES-256-GCM, and signs tokens with HMAC-SHA256.
// The keys are derived from SECRET_KEY. The id of a key is in each ciphertext, so that two keys can be in use
// while one replaces the other.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

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

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** @param previous keys that decrypt what they have encrypted, and encrypt nothing. */
export function createCipher(current: string, previous: string[] = []): Cipher {
  const [key, ...others] = [current, ...previous].map(derive)
  const prefix = prefixOf(key!)
  return {
    keyId: key!.id,
    previousKeyIds: others.map(({ id }) => id),
    prefix,
    encrypt: (plaintext, context) => prefix + seal(key!, plaintext, context),
    decrypt(ciphertext, context) {
      const used = [key!, ...others].find((one) => ciphertext.startsWith(prefixOf(one)))
      if (used === undefined) throw new Error('The secret was encrypted with an unknown key.')
      return open(used, ciphertext.slice(prefixOf(used).length), context)
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
    encryption: createSecretKey(bytes(32, ALGORITHM)),
    signing: createSecretKey(bytes(32, 'signatures')),
  }
}

function signatureOf({ signing }: Key, text: string, purpose: string): string {
  return createHmac('sha256', signing).update(`${purpose}\n${text}`).digest('base64url')
}

function prefixOf({ id }: Key): string {
  return `enc:${id}:`
}

function seal({ encryption }: Key, plaintext: string, context: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, encryption, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
}

function open({ encryption }: Key, text: string, context: string): string {
  const all = Buffer.from(text, 'base64')
  const nonce = all.subarray(0, NONCE_BYTES)
  const tag = all.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv(ALGORITHM, encryption, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(tag)
  const opened = [decipher.update(all.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]
  return Buffer.concat(opened).toString('utf8')
}
