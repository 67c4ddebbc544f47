// The generator of `npm run dev`: a process that stays, so that its libraries are loaded once and only what changed is
// compiled again.
import { writeGenerated } from '../generate.ts'
import { GenerateError } from '../generate/error.ts'
import { createCompilers } from '../generate/validators.ts'

/** What was written to generated/, or what is wrong with the spec. */
export type Outcome = { wrote: string[], operations: number } | { problem: string }

const compilers = createCompilers()

process.on('message', () => { void generate() })
// Without whoever asks there is nothing to do.
process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})

async function generate (): Promise<void> {
  try {
    const { wrote, operations } = await writeGenerated({}, compilers)
    process.send!({ wrote, operations } satisfies Outcome)
  } catch (error) {
    if (!(error instanceof GenerateError)) throw error
    process.send!({ problem: error.message } satisfies Outcome)
  }
}
