// The generator process of `npm run dev`. It keeps running, so that libraries load once and only changed
// schemas are compiled again.
import { writeServed } from '../generate/main.ts'
import { GenerateError } from '../generate/error.ts'
import { createCompilers } from '../compile/validators.ts'

/** `served` writes the files that a server loads. `types` then writes the files for compilers and clients. */
export type GeneratorRequest = 'served' | 'types'
/** The files written to generated/, with the types notes about other files; or the problem in the sources. */
export type GeneratorResult = { wrote: string[]; notes: string[] } | { problem: string }

const compilers = createCompilers()
let writeTypes = async (): Promise<{ wrote: string[]; notes: string[] }> => ({ wrote: [], notes: [] })

process.on('message', (request: GeneratorRequest) => {
  void handle(request)
})
// The parent has exited.
process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})

async function handle(request: GeneratorRequest): Promise<void> {
  try {
    const result = request === 'served' ? await generateServed() : await writeTypes()
    process.send!(result satisfies GeneratorResult)
  } catch (error) {
    if (!(error instanceof GenerateError)) throw error
    process.send!({ problem: error.message } satisfies GeneratorResult)
  }
}

async function generateServed(): Promise<{ wrote: string[]; notes: string[] }> {
  const { wrote, writeTypes: write } = await writeServed(compilers)
  writeTypes = write
  return { wrote, notes: [] }
}
