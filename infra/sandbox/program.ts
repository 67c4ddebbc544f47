// The side of the sandboxed process. It reads the document from file descriptor 0, writes the answer to
// descriptor 3, and exits when the parent closes that descriptor. It can open only the program's own files,
// and no connections.
import { Socket } from 'node:net'
import { startedByte } from './answer.ts'
import { blockNetwork } from './network.ts'

/**
 * Runs the program of a sandboxed process. `load` loads its modules before the first byte: the parent can
 * then distinguish a program that does not start from a document that cannot be processed. What it returns
 * makes the answer.
 */
export async function runProgram(load: () => Promise<() => Promise<Buffer>>): Promise<void> {
  const parent = new Socket({ fd: 3, readable: true, writable: true })
  parent.on('close', () => process.exit())
  parent.on('error', () => process.exit())
  parent.resume()
  blockNetwork()
  const work = await load()
  parent.write(Buffer.from([startedByte]))
  parent.end(await work())
}
