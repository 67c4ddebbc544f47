// The binary answer of a sandboxed process: one started byte, then facts as JSON and content as bytes. The
// receiver validates everything, because a malicious document may control the process.
import { SandboxError } from './errors.ts'

/** The first byte that the process writes, once its modules are loaded. */
export const startedByte = 0x52

/** The lengths of both parts as 32-bit integers, the facts as JSON, the content. */
export function encodeAnswer(facts: object, content: Uint8Array): Buffer {
  const json = Buffer.from(JSON.stringify(facts))
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32LE(json.length, 0)
  lengths.writeUInt32LE(content.length, 4)
  return Buffer.concat([lengths, json, content])
}

/** Whether the bytes have the lengths that they start with. */
export function isWholeAnswer(bytes: Buffer): boolean {
  return bytes.length >= 8 && bytes.length === 8 + bytes.readUInt32LE(0) + bytes.readUInt32LE(4)
}

/** The facts are an object with any values. @throws SandboxError for an invalid answer */
export function decodeAnswer(bytes: Buffer): { facts: any; content: Buffer } {
  if (!isWholeAnswer(bytes)) throw new SandboxError('damaged')
  const contentStart = 8 + bytes.readUInt32LE(0)
  try {
    const facts: unknown = JSON.parse(bytes.toString('utf8', 8, contentStart))
    if (typeof facts === 'object' && facts !== null) return { facts, content: bytes.subarray(contentStart) }
  } catch {}
  throw new SandboxError('damaged')
}
