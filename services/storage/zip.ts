// ZIP archives without compression (APPNOTE 6.3.10, with ZIP64). The place of every byte follows from the
// names and sizes of the entries, so that a download can begin anywhere.

export interface ZipEntry {
  /** The path in the archive. */
  name: string
  bytes: number
  modifiedAt: Date
  /** Where its header begins. */
  offset: number
}

const most32 = 0xffff_ffff
const most16 = 0xffff
const localBytes = 30
const centralBytes = 46
/** The bytes of the end of an archive, and with ZIP64. */
export const endBytes = 22
export const end64Bytes = endBytes + 76
/** Names are in UTF-8. */
const flags = 0x0800

/** The bytes of the header before the content of an entry. */
export function localHeaderBytes({ name, bytes }: Pick<ZipEntry, 'name' | 'bytes'>): number {
  return localBytes + Buffer.byteLength(name) + (bytes >= most32 ? 20 : 0)
}

/** The bytes of an entry in the directory at the end. */
export function centralHeaderBytes({ name, bytes, offset }: Omit<ZipEntry, 'modifiedAt'>): number {
  return centralBytes + Buffer.byteLength(name) + central64({ bytes, offset }).length
}

export function localHeader({ name, bytes, modifiedAt }: ZipEntry, crc32: number): Buffer {
  const isLarge = bytes >= most32
  const text = Buffer.from(name)
  const header = Buffer.alloc(localBytes)
  header.writeUInt32LE(0x0403_4b50, 0)
  header.writeUInt16LE(isLarge ? 45 : 20, 4)
  header.writeUInt16LE(flags, 6)
  header.writeUInt32LE(dosTime(modifiedAt), 10)
  header.writeUInt32LE(crc32, 14)
  header.writeUInt32LE(isLarge ? most32 : bytes, 18)
  header.writeUInt32LE(isLarge ? most32 : bytes, 22)
  header.writeUInt16LE(text.length, 26)
  header.writeUInt16LE(isLarge ? 20 : 0, 28)
  return Buffer.concat([header, text, isLarge ? extra64([bytes, bytes]) : Buffer.alloc(0)])
}

export function centralHeader({ name, bytes, modifiedAt, offset }: ZipEntry, crc32: number): Buffer {
  const extra = central64({ bytes, offset })
  const text = Buffer.from(name)
  const header = Buffer.alloc(centralBytes)
  header.writeUInt32LE(0x0201_4b50, 0)
  // Made by UNIX, whose permissions are in the upper half of the external attributes: rw-r--r--.
  header.writeUInt16LE(0x0300 + 45, 4)
  header.writeUInt16LE(extra.length > 0 ? 45 : 20, 6)
  header.writeUInt16LE(flags, 8)
  header.writeUInt32LE(dosTime(modifiedAt), 12)
  header.writeUInt32LE(crc32, 16)
  header.writeUInt32LE(Math.min(bytes, most32), 20)
  header.writeUInt32LE(Math.min(bytes, most32), 24)
  header.writeUInt16LE(text.length, 28)
  header.writeUInt16LE(extra.length, 30)
  header.writeUInt32LE(0o100644 * 0x1_0000, 38)
  header.writeUInt32LE(Math.min(offset, most32), 42)
  return Buffer.concat([header, text, extra])
}

/** The end of an archive, after the directory. */
export function endOfArchive(entries: number, start: number, end: number): Buffer {
  const bytes = end - start
  const record = Buffer.alloc(endBytes)
  record.writeUInt32LE(0x0605_4b50, 0)
  record.writeUInt16LE(Math.min(entries, most16), 8)
  record.writeUInt16LE(Math.min(entries, most16), 10)
  record.writeUInt32LE(Math.min(bytes, most32), 12)
  record.writeUInt32LE(Math.min(start, most32), 16)
  if (entries < most16 && bytes < most32 && start < most32) return record
  const record64 = Buffer.alloc(56)
  record64.writeUInt32LE(0x0606_4b50, 0)
  record64.writeBigUInt64LE(44n, 4)
  record64.writeUInt16LE(0x0300 + 45, 12)
  record64.writeUInt16LE(45, 14)
  record64.writeBigUInt64LE(BigInt(entries), 24)
  record64.writeBigUInt64LE(BigInt(entries), 32)
  record64.writeBigUInt64LE(BigInt(bytes), 40)
  record64.writeBigUInt64LE(BigInt(start), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x0706_4b50, 0)
  locator.writeBigUInt64LE(BigInt(end), 8)
  locator.writeUInt32LE(1, 16)
  return Buffer.concat([record64, locator, record])
}

/** The numbers of the directory that do not fit into 32 bits. */
function central64({ bytes, offset }: Pick<ZipEntry, 'bytes' | 'offset'>): Buffer {
  return extra64([...(bytes >= most32 ? [bytes, bytes] : []), ...(offset >= most32 ? [offset] : [])])
}

function extra64(numbers: number[]): Buffer {
  if (numbers.length === 0) return Buffer.alloc(0)
  const extra = Buffer.alloc(4 + 8 * numbers.length)
  extra.writeUInt16LE(1, 0)
  extra.writeUInt16LE(8 * numbers.length, 2)
  for (const [i, number] of numbers.entries()) extra.writeBigUInt64LE(BigInt(number), 4 + 8 * i)
  return extra
}

/** The date and time of MS-DOS, in UTC: two seconds exact, from 1980 to 2107. */
function dosTime(at: Date): number {
  const year = Math.min(Math.max(at.getUTCFullYear(), 1980), 2107) - 1980
  const date = year * 512 + (at.getUTCMonth() + 1) * 32 + at.getUTCDate()
  const time = at.getUTCHours() * 2048 + at.getUTCMinutes() * 32 + Math.floor(at.getUTCSeconds() / 2)
  return date * 0x1_0000 + time
}
