// The parser process. It reads the document from file descriptor 0, writes the answer to descriptor 3, and
// exits when the parent closes that descriptor. It can open only the program's own files, and no connections.
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { blockNetwork } from './sandbox-network.ts'
import { ParsingError, type ParsingErrorCode } from './errors.ts'
import { encodeAnswer, startedByte, type ChunkedText } from './wire-format.ts'

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
// Load the parsers before the first byte: the parent can then distinguish a program that does not start from
// a document that cannot be parsed.
const { parseBytes } = await import('./parsers.ts')
parent.write(Buffer.from([startedByte]))
parent.end(encodeAnswer(await parse()))

async function parse(): Promise<ChunkedText | ParsingErrorCode> {
  try {
    return await parseBytes(readFileSync(0), {
      contentType: values.type ?? '',
      extension: values.extension ?? '',
      outputBytes: Number(values.output),
      chunking: { maxTokens: Number(values.tokens), overlapTokens: Number(values.overlap) },
    })
  } catch (error) {
    return errorCodeOf(error)
  }
}

/** Every error of a parser is attributed to the document. */
function errorCodeOf(error: unknown): ParsingErrorCode {
  if (error instanceof ParsingError) return error.code
  const message = error instanceof Error ? error.message : ''
  if (/invalid string length|cannot create a string|file size/i.test(message)) return 'too_large'
  return /allocation failed|invalid (?:typed )?array (?:buffer )?length|out of memory/i.test(message)
    ? 'too_much_memory'
    : 'damaged'
}
