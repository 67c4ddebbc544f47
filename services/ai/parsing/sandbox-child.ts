// The reading process: the document's bytes come as file descriptor 0, the answer goes out by descriptor 3, and when the
// other end of that is gone, so is this. It can open no file but the program's own, and no connection.
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { blockNetwork } from './sandbox-network.ts'
import { ParsingError, type ParsingErrorCode } from './errors.ts'
import { startedByte, encode, type ChunkedText } from './wire-format.ts'

const { values } = parseArgs({
  options: {
    type: { type: 'string' },
    extension: { type: 'string' },
    tokens: { type: 'string' },
    overlap: { type: 'string' },
    output: { type: 'string' },
  },
})
const parent = new Socket({ fd: 3, readable: true, writable: true })
parent.on('close', () => process.exit())
parent.on('error', () => process.exit())
parent.resume()
blockNetwork()
// First, so that a program that does not start is told from a document that cannot be read.
const { extract } = await import('./parsers.ts')
parent.write(Buffer.from([startedByte]))
parent.end(encode(await read()))

async function read(): Promise<ChunkedText | ParsingErrorCode> {
  try {
    return await extract(readFileSync(0), {
      contentType: values.type ?? '',
      extension: values.extension ?? '',
      outputBytes: Number(values.output),
      chunking: { maxTokens: Number(values.tokens), overlapTokens: Number(values.overlap) },
    })
  } catch (error) {
    return codeOf(error)
  }
}

/** What a parser throws, whatever it is, is the document's doing. */
function codeOf(error: unknown): ParsingErrorCode {
  if (error instanceof ParsingError) return error.code
  const message = error instanceof Error ? error.message : ''
  if (/invalid string length|cannot create a string|file size/i.test(message)) return 'too_large'
  return /allocation failed|invalid (?:typed )?array (?:buffer )?length|out of memory/i.test(message)
    ? 'too_much_memory'
    : 'damaged'
}
