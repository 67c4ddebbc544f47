// Ids: a type prefix and a UUIDv7 in base32 (TypeID 0.3). They show the type of their resource and sort by
// creation time.
import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'
import { TypeID } from 'typeid-js'

/** Crockford's base32 in lower case, which TypeID uses. */
const digits = '0123456789abcdefghjkmnpqrstvwxyz'

export type IdPrefix =
  | 'usr'
  | 'org'
  | 'omb'
  | 'rol'
  | 'svc'
  | 'prj'
  | 'mem'
  | 'inv'
  | 'key'
  | 'ses'
  | 'idn'
  | 'pky'
  | 'mail'
  | 'arq'
  | 'aud'
  | 'evt'
  | 'whe'
  | 'whd'
  | 'file'
  | 'ver'
  | 'fld'
  | 'shr'
  | 'job'
  | 'lnk'
  | 'ulk'
  | 'arc'
  | 'avt'
  | 'upl'
  | 'exp'
  | 'cs'
  | 'msg'
  | 'kb'
  | 'doc'
  | 'src'
  | 'chunk'
  | 'cus'
  | 'mtr'
  | 'feat'
  | 'bdg'
  | 'prod'
  | 'prc'
  | 'ord'
  | 'chk'
  | 'sub'
  | 'sitm'
  | 'ref'
  | 'pay'
  | 'dp'
  | 'pm'
  | 'pts'

/** The last id of this process: its time, its counter, and its 16 bytes. */
let lastTime = 0
let lastCounter = 0
const lastBytes = Buffer.alloc(16)

/** The counter has 30 bits, and starts below half of them. */
const counterSize = 2 ** 30

/**
 * A new id, which sorts after every earlier one of this process: a UUIDv7 whose random bits begin with a
 * counter (RFC 9562, section 6.2, method 1). While the clock is behind the last id, the counter goes on.
 */
export function newId(prefix: IdPrefix): string {
  const now = Date.now()
  fillRandom(lastBytes, now > lastTime ? 6 : 12)
  if (now > lastTime) lastCounter = lastBytes.readUInt32BE(8) % (counterSize / 2)
  else lastCounter += 1 + (lastBytes[12] % 16)
  if (now > lastTime) lastTime = now
  else if (lastCounter >= counterSize) {
    lastCounter %= counterSize
    lastTime++
  }
  setTime(lastBytes, lastTime)
  lastBytes.writeUInt32BE(0x8000_0000 + lastCounter, 8)
  return TypeID.fromUUIDBytes(prefix, lastBytes).toString()
}

/** Random bytes for ids. A call of the system for each id would take as long as all of the rest. */
const randomPool = Buffer.alloc(4096)
let usedOfPool = randomPool.length

/** Fills the buffer with random bytes from there to its end. */
function fillRandom(buffer: Buffer, from: number): void {
  if (usedOfPool + buffer.length > randomPool.length) {
    randomFillSync(randomPool)
    usedOfPool = 0
  }
  usedOfPool += randomPool.copy(buffer, from, usedOfPool, usedOfPool + buffer.length - from)
}

/** Sets the time, the version 7 and the variant of a UUID. */
function setTime(bytes: Buffer, milliseconds: number): void {
  bytes.writeUIntBE(milliseconds, 0, 6)
  bytes[6] = (bytes[6] & 0x0f) | 0x70
  bytes[8] = (bytes[8] & 0x3f) | 0x80
}

/** An id with another creation time: a UUIDv7 (RFC 9562, section 5.7) of that millisecond. */
export function newIdAt(prefix: IdPrefix, at: Date): string {
  const bytes = randomBytes(16)
  setTime(bytes, at.getTime())
  return TypeID.fromUUIDBytes(prefix, bytes).toString()
}

/** The creation time of an id, in milliseconds. Rows store it as `created_at`, so that both sort alike. */
export function timeOf(id: string): Date {
  // The first ten digits of the suffix are two zero bits and the 48 bits of the time.
  let milliseconds = 0
  for (const digit of id.slice(-26, -16)) milliseconds = milliseconds * 32 + digits.indexOf(digit)
  return new Date(milliseconds)
}

/** An id for a request that was sent without one. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}
