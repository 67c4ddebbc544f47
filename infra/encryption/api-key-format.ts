// The format of API keys: `plat_live_` or `plat_test_`, 32 random bytes in base62 (43 characters) and a
// checksum (6 characters). The checksum rejects typos without a query and lets scanners find leaked keys.
// Only the SHA-256 of a key is stored.
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43
const checksumLength = 6
const format = /^plat_(live|test)_[0-9A-Za-z]{49}$/

export type KeyMode = 'live' | 'test'

/** Creates a secret, which is shown to its owner once. */
export function newSecret(mode: KeyMode): string {
  const body = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  const start = `plat_${mode}_${body}`
  return start + checksum(start)
}

/** Whether the format and the checksum are right. The key need not exist. */
export function isWellFormed(secret: string): boolean {
  return format.test(secret) && secret.endsWith(checksum(secret.slice(0, -checksumLength)))
}

/** SHA-256 in lower-case hex, by which keys are found. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** The start of a key for lists: it identifies the key but does not help to guess it. */
export function keyPrefix(secret: string): string {
  return secret.slice(0, 'plat_live_'.length + 4)
}

/** CRC-32 in base62, six characters. */
function checksum(text: string): string {
  return base62(BigInt(crc32(text)), checksumLength)
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text
}
