// The parser process. It reads the document from file descriptor 0, writes the answer to descriptor 3, and
// exits when the parent closes that descriptor. It can open only the program's own files, and no connections.
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { blockNetwork } from '../../../infra/sandbox/network.ts'
import { encodeAnswer, startedByte } from './wire-format.ts'

const { values } = parseArgs({
  options: {
    type: { type: 'string' },
    extension: { type: 'string' },
    charset: { type: 'string' },
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
const { parseOrError } = await import('./parsers.ts')
parent.write(Buffer.from([startedByte]))
parent.end(
  encodeAnswer(
    await parseOrError(() => readFileSync(0), {
      contentType: values.type ?? '',
      extension: values.extension ?? '',
      charset: values.charset || null,
      outputBytes: Number(values.output),
      chunking: { maxTokens: Number(values.tokens), overlapTokens: Number(values.overlap) },
    }),
  ),
)
