// The parser process.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runProgram } from '../../../infra/sandbox/program.ts'

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

await runProgram(async () => {
  const { parseOrError } = await import('./parsers.ts')
  const { encodeResult } = await import('./wire-format.ts')
  return async () =>
    encodeResult(
      await parseOrError(() => readFileSync(0), {
        contentType: values.type ?? '',
        extension: values.extension ?? '',
        charset: values.charset || null,
        outputBytes: Number(values.output),
        chunking: { maxTokens: Number(values.tokens), overlapTokens: Number(values.overlap) },
      }),
    )
})
