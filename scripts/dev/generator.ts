// The generator process of `npm run dev`. It keeps running, so that libraries load once and only changed
// schemas are compiled again.
import { writeServed } from '../generate/main.ts'
import { GenerateError } from '../generate/error.ts'
import { createCompilers } from '../generate/validators.ts'

/** `served` writes the files that a server loads. `types` then writes the files for compilers and clients. */
export type GeneratorRequest = 'served' | 'types'
/** The files written to generated/, or the problem in the spec. */
export type GeneratorResult = { wrote: string[] } | { problem: string }

const compilers = createCompilers()
let writeTypes = async (): Promise<string[]> => []

process.on('message', (request: GeneratorRequest) => {
  void handle(request)
})
// The parent has exited.
process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})

async function handle(request: GeneratorRequest): Promise<void> {
  try {
    process.send!({
      wrote: await (request === 'served' ? generateServed() : writeTypes()),
    } satisfies GeneratorResult)
  } catch (error) {
    if (!(error instanceof GenerateError)) throw error
    process.send!({ problem: error.message } satisfies GeneratorResult)
  }
}

async function generateServed(): Promise<string[]> {
  const generated = await writeServed(compilers)
  writeTypes = generated.writeTypes
  return generated.wrote
}
