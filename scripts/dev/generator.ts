// The generator of `npm run dev`: a process that stays, so that its libraries are loaded once and only what changed is
// compiled again.
import { writeServed } from '../generate/main.ts'
import { GenerateError } from '../generate/error.ts'
import { createCompilers } from '../generate/validators.ts'

/** `served`: what a server loads, to be followed by `types`, for what nobody waits for. */
export type Request = 'served' | 'types'
/** What was written to generated/, or what is wrong with the spec. */
export type Outcome = { wrote: string[] } | { problem: string }

const compilers = createCompilers()
let writeTypes = async (): Promise<string[]> => []

process.on('message', (request: Request) => {
  void answer(request)
})
// Without whoever asks there is nothing to do.
process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})

async function answer(request: Request): Promise<void> {
  try {
    process.send!({ wrote: await (request === 'served' ? served() : writeTypes()) } satisfies Outcome)
  } catch (error) {
    if (!(error instanceof GenerateError)) throw error
    process.send!({ problem: error.message } satisfies Outcome)
  }
}

async function served(): Promise<string[]> {
  const generated = await writeServed(compilers)
  writeTypes = generated.writeTypes
  return generated.wrote
}
