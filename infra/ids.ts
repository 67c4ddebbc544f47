// Ids: a type prefix and a UUIDv7 in base32 (TypeID 0.3). They show the type of their resource and sort by
// creation time.
import { randomBytes, randomUUID } from 'node:crypto'
import { TypeID, typeid } from 'typeid-js'

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
  | 'lnk'
  | 'avt'
  | 'upl'
  | 'cs'
  | 'msg'
  | 'kb'
  | 'doc'
  | 'chunk'
  | 'prod'
  | 'prc'
  | 'ord'
  | 'chk'
  | 'sub'
  | 'ref'
  | 'pay'

export function newId(prefix: IdPrefix): string {
  return typeid(prefix).toString()
}

/** An id with another creation time: a UUIDv7 (RFC 9562, section 5.7) of that millisecond. */
export function newIdAt(prefix: IdPrefix, at: Date): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at.getTime(), 0, 6)
  bytes[6] = (bytes[6] & 0x0f) | 0x70
  bytes[8] = (bytes[8] & 0x3f) | 0x80
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
