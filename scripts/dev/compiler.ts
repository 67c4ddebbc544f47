// The TypeScript compiler in watch mode, as a child process of `npm run dev`. After each check it sends all
// current errors and frees the types of the check, which are half of the heap. The files stay parsed.
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import ts from 'typescript'
import type { CompilerError } from '../check/compiler-errors.ts'
import { compilerError } from '../check/diagnostics.ts'

/** TypeScript's codes of `Found N errors. Watching for file changes.` */
const checked = new Set([6193, 6194])

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const folder = process.cwd()
let errors: CompilerError[] = []

process.on('disconnect', () => process.exit())
// Ctrl-C reaches all processes of the terminal; the parent decides when this one stops.
process.on('SIGINT', () => {})

const host = ts.createWatchCompilerHost(
  join(folder, 'tsconfig.json'),
  { noEmit: true, incremental: true, tsBuildInfoFile: join(folder, 'node_modules/.cache/dev.tsbuildinfo') },
  ts.sys,
  ts.createEmitAndSemanticDiagnosticsBuilderProgram,
  (problem) => {
    const error = compilerError(folder, problem)
    if (error !== null) errors.push(error)
  },
  ({ code }) => {
    if (!checked.has(code)) return
    process.send!(errors)
    errors = []
    // V8 itself would let the heap grow first.
    setImmediate(collectGarbage)
  },
)
const { afterProgramCreate } = host
host.afterProgramCreate = (builder) => {
  afterProgramCreate!(builder)
  // The next check makes a new program of the parsed files. Without this, both hold their types for a while.
  ;(builder as unknown as { releaseProgram(): void }).releaseProgram()
}
ts.createWatchProgram(host)
