// AES-256-GCM. A sealed text is a random nonce, the tag, and the ciphertext.
import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto'

export const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** @param context what the text belongs to. Only the same context unseals it. */
export function seal(key: KeyObject, text: string, context = ''): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(context))
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/** @throws for another key or context, or bytes that were changed. */
export function unseal(key: KeyObject, sealed: Buffer, context = ''): string {
  const nonce = sealed.subarray(0, nonceBytes)
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes))
  const text = [decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]
  return Buffer.concat(text).toString('utf8')
}
