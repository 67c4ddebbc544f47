// Reads entries of a zip archive by name (APPNOTE.TXT 6.3, without Zip64). The limit on unpacked bytes does
// not trust the sizes that the archive declares.
import { inflateRawSync } from 'node:zlib'
import { ParsingError } from './errors.ts'

interface Entry {
  offset: number
  packed: number
  method: number
  encrypted: boolean
}

export interface Archive {
  has(name: string): boolean
  /** Throws `damaged`, `encrypted`, and `too_large` when all entries read so far exceed the limit. */
  read(name: string): Buffer
}

const endRecordLength = 22
const maxEntries = 20_000

/** `limit`: total unpacked bytes of all entries that are read. */
export function openZip(bytes: Buffer, limit: number): Archive {
  const entries = readDirectory(bytes)
  let remaining = limit
  return {
    has: (name) => entries.has(name),
    read(name) {
      const content = unpack(bytes, entries.get(name), remaining)
      remaining -= content.length
      return content
    },
  }
}

function readDirectory(bytes: Buffer): Map<string, Entry> {
  const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end === -1 || end + endRecordLength > bytes.length) throw new ParsingError('damaged')
  const count = bytes.readUInt16LE(end + 10)
  if (count > maxEntries) throw new ParsingError('too_large')
  const entries = new Map<string, Entry>()
  let at = bytes.readUInt32LE(end + 16)
  for (let index = 0; index < count; index++) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== 0x02014b50) throw new ParsingError('damaged')
    const nameLength = bytes.readUInt16LE(at + 28)
    // Names are only compared, never used as paths. The first of two equal names wins.
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength).replace(/^\//, '')
    if (!entries.has(name))
      entries.set(name, {
        offset: bytes.readUInt32LE(at + 42),
        packed: bytes.readUInt32LE(at + 20),
        method: bytes.readUInt16LE(at + 10),
        encrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
      })
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return entries
}

function unpack(bytes: Buffer, entry: Entry | undefined, maxBytes: number): Buffer {
  if (
    entry === undefined ||
    entry.offset + 30 > bytes.length ||
    bytes.readUInt32LE(entry.offset) !== 0x04034b50
  )
    throw new ParsingError('damaged')
  if (entry.encrypted) throw new ParsingError('encrypted')
  const start =
    entry.offset + 30 + bytes.readUInt16LE(entry.offset + 26) + bytes.readUInt16LE(entry.offset + 28)
  if (start + entry.packed > bytes.length) throw new ParsingError('damaged')
  const packed = bytes.subarray(start, start + entry.packed)
  if (entry.method !== 0 && entry.method !== 8) throw new ParsingError('damaged')
  if (maxBytes <= 0 || (entry.method === 0 && packed.length > maxBytes)) throw new ParsingError('too_large')
  if (entry.method === 0) return packed
  try {
    return inflateRawSync(packed, { maxOutputLength: maxBytes })
  } catch (error) {
    throw new ParsingError(error instanceof RangeError ? 'too_large' : 'damaged')
  }
}
