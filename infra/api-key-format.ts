// The form of an API key: `plat_live_` or `plat_test_`, 32 random bytes in base62 (43 characters) and a
// checksum of 6, so that a typo is refused without a look-up and leaked keys can be scanned for. Only the
// SHA-256 is ever stored.
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43
const checksumLength = 6
const form = /^plat_(live|test)_[0-9A-Za-z]{49}$/

export type KeyMode = 'live' | 'test'

/** A new secret. Shown to its owner once. */
export function newSecret(mode: KeyMode): string {
  const body = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  const start = `plat_${mode}_${body}`
  return start + checksum(start)
}

/** Whether a string is a key by its form and checksum. Says nothing about whether it was ever given out. */
export function isWellFormed(secret: string): boolean {
  return form.test(secret) && secret.endsWith(checksum(secret.slice(0, -checksumLength)))
}

/** SHA-256 in lower-case hex: what a key is looked up by. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** What a list may show of a key: enough to tell it from others, too little to guess it. */
export function startOf(secret: string): string {
  return secret.slice(0, 'plat_live_'.length + 4)
}

/** CRC-32 of the rest in base62, six characters. */
function checksum(text: string): string {
  return base62(BigInt(crc32(text)), checksumLength)
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text
}
