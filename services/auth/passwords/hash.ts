// Passwords: hashed with Argon2id (RFC 9106) outside of the main thread, a few at once, in turns by network.
import { argon2, createHash, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { invalidField } from '../../../infra/errors.ts'
import { FairSemaphore } from '../../../infra/concurrency/fair-semaphore.ts'
import { Lazy } from '../../../infra/concurrency/lazy.ts'

const derive = promisify(argon2)

/** The second choice of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
const saltBytes = 16

/** A CPU, and half of the threads that also read files, stay free for other requests. */
const turns = new FairSemaphore({
  name: 'sign-ins',
  total: Math.max(1, Math.min(2, availableParallelism() - 1)),
  perUser: Infinity,
  maxWaiting: 1_000,
  maxWaitMs: 60_000,
})

/** @param network of the client, for the turns. @returns the hash in the PHC string format. */
export async function hashPassword(password: string, network: string): Promise<string> {
  const nonce = randomBytes(saltBytes)
  const hash = await turns.run(network, () => derive('argon2id', parametersOf(password, nonce)))
  const { memory, passes, parallelism } = cost
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(hash)}`
}

/**
 * Argon2id of a code that is too short for a plain hash, in hex. The salt is that of its user, so that a code
 * is found by its hash.
 */
export async function hashCode(code: string, userId: string, network: string): Promise<string> {
  const nonce = createHash('sha256').update(`recovery codes of ${userId}`).digest().subarray(0, saltBytes)
  const hash = await turns.run(network, () => derive('argon2id', parametersOf(code, nonce)))
  return hash.toString('hex')
}

/** Whether the password has the hash. Without a hash the answer is no, and takes as long. */
export async function verifyPassword(
  password: string,
  hash: string | null,
  network: string,
): Promise<boolean> {
  const { parameters, tag } = parse(hash ?? unusable)
  const derived = await turns.run(network, () =>
    derive('argon2id', { ...parametersOf(password, parameters.nonce), ...parameters }),
  )
  return timingSafeEqual(derived, tag) && hash !== null
}

function parametersOf(password: string, nonce: Buffer): Argon2Parameters {
  return { ...cost, message: password.normalize('NFC'), nonce }
}

/** A hash that no password has, with the present cost. */
const unusable = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(
  Buffer.alloc(saltBytes),
)}$${base64(randomBytes(cost.tagLength))}`

function parse(hash: string): {
  parameters: Omit<Argon2Parameters, 'message' | 'nonce'> & { nonce: Buffer }
  tag: Buffer
} {
  const [, , , costs, salt, tag] = hash.split('$')
  const [memory, passes, parallelism] = costs.match(/\d+/g)!.map(Number)
  const bytes = Buffer.from(tag, 'base64')
  const parameters = { memory, passes, parallelism, nonce: Buffer.from(salt, 'base64') }
  return { parameters: { ...parameters, tagLength: bytes.length }, tag: bytes }
}

/** Without padding, as the PHC string format has it. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

/** The 49,000 most frequent passwords of leaks, in lower case. */
const commonPasswords = new Lazy(async () => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
})

/** Throws 400 for a password that many people have, which is what an attacker tries first. */
export async function requireUncommon(password: string): Promise<void> {
  const common = await commonPasswords.get()
  if (common.has(password.normalize('NFC').toLowerCase()))
    throw invalidField('password', 'common_password', 'password is one of the most common passwords')
}
