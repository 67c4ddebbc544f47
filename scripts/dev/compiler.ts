// The TypeScript compiler in watch mode, as a child process of `npm run dev`. After each check it sends all
// errors, unless a file has changed meanwhile: then the next check sends them. It frees the types of a check,
// which are half of the heap. The files stay parsed.
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import ts from 'typescript'
import type { CompilerError } from '../check/compiler-errors.ts'
import { compilerError } from '../check/diagnostics.ts'

/** To the parent. It sends `report` to get the errors again. */
export type CompilerMessage = 'begin' | { errors: CompilerError[] }

/** TypeScript's codes of `Starting compilation` and `File change detected. Starting incremental compilation`. */
const began = new Set([6031, 6032])
/** TypeScript's codes of `Found N errors. Watching for file changes.` */
const checked = new Set([6193, 6194])
/** A check blocks the process. The system's messages of changes in the meantime arrive within this time. */
const quietMs = 300

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const folder = process.cwd()
let errors: CompilerError[] = []
let found: CompilerError[] | null = null
/** TypeScript's timers, each of which a change of a file has set. */
const changes = new Set<unknown>()
let quiet: NodeJS.Timeout | undefined

function report(): void {
  clearTimeout(quiet)
  quiet = setTimeout(() => {
    if (changes.size === 0 && found !== null) send({ errors: found })
  }, quietMs)
}

function send(message: CompilerMessage): void {
  process.send!(message)
}

process.on('message', report)
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
    if (began.has(code)) send('begin')
    if (!checked.has(code)) return
    found = errors
    errors = []
    // V8 itself would let the heap grow first.
    setImmediate(collectGarbage)
  },
  // Otherwise it looks for new files only after a second.
  { synchronousWatchDirectory: true },
)
host.setTimeout = (callback, milliseconds, ...args) => {
  const timer = setTimeout(() => {
    changes.delete(timer)
    callback(...args)
    report()
  }, milliseconds)
  changes.add(timer)
  return timer
}
host.clearTimeout = (timer) => {
  changes.delete(timer)
  clearTimeout(timer)
}
const { afterProgramCreate } = host
host.afterProgramCreate = (builder) => {
  afterProgramCreate!(builder)
  // The next check makes a new program of the parsed files. Without this, both hold their types for a while.
  ;(builder as unknown as { releaseProgram(): void }).releaseProgram()
}
ts.createWatchProgram(host)
report()
