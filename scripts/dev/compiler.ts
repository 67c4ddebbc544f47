// The TypeScript compiler in watch mode, as a child process of `npm run dev`. A check sends the errors of the
// saved files first, and at its end those of all files. It is given up when a file changes. Its types, which
// are half of the heap, are freed; the files stay parsed.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import ts from 'typescript'
import type { CompilerError } from '../check/compiler-errors.ts'
import { compilerError } from '../check/diagnostics.ts'

/** To the parent. It sends `report` to get the errors again. */
export type CompilerMessage = 'begin' | { errors: CompilerError[]; of: 'saved' | 'all' }

type Builder = ts.EmitAndSemanticDiagnosticsBuilderProgram

/** TypeScript's codes of `Starting compilation` and `File change detected. Starting …`. */
const began = new Set([6031, 6032])
/** TypeScript's codes of `Found N errors. Watching for file changes.` */
const checked = new Set([6193, 6194])
/** A check blocks the process. The system's messages of changes in the meantime arrive within this time. */
const quietMs = 300
/** The time between two looks at the files during a check. */
const lookMs = 500
/** More saved files are no work of an editor. */
const maxSaved = 10

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const folder = process.cwd()
let errors: CompilerError[] = []
let found: CompilerError[] | null = null
/** The check that was given up. */
let unfinished: Builder | null = null
let checkedAt = Date.now()
/** TypeScript's timers, each of which a change of a file has set. */
const changes = new Set<unknown>()
let quiet: NodeJS.Timeout | undefined

function report(): void {
  clearTimeout(quiet)
  quiet = setTimeout(() => {
    if (changes.size > 0) return
    // The file was saved without a change, so no other check has begun.
    if (unfinished !== null) check(unfinished)
    if (found !== null) send({ errors: found, of: 'all' })
  }, quietMs)
}

function check(builder: Builder): void {
  const beganAt = Date.now()
  const files = builder.getSourceFiles().filter(({ fileName }) => !fileName.includes('/node_modules/'))
  const times = files.map(timeOf)
  sendSaved(
    builder,
    files.filter((_, i) => times[i] > checkedAt),
  )
  unfinished = builder
  let lookedAt = performance.now()
  while (builder.getSemanticDiagnosticsOfNextAffectedFile() !== undefined) {
    if (performance.now() - lookedAt < lookMs) continue
    if (files.some((file, i) => timeOf(file) !== times[i])) return report()
    lookedAt = performance.now()
  }
  unfinished = null
  checkedAt = beganAt
  afterProgramCreate!(builder)
  // The next check makes a new program of the parsed files. Without this, both hold their types for a while.
  ;(builder as unknown as { releaseProgram(): void }).releaseProgram()
}

/** Files that others are generated from, and these themselves, are left to the end. */
function sendSaved(builder: Builder, files: ts.SourceFile[]): void {
  const saved = files.filter(({ fileName }) => !fileName.includes('/generated/'))
  if (saved.length > maxSaved) return
  const problems = saved.flatMap((file) => [
    ...builder.getSyntacticDiagnostics(file),
    ...builder.getProgram().getSemanticDiagnostics(file),
  ])
  const wrong = problems.flatMap((problem) => compilerError(folder, problem) ?? [])
  if (wrong.length > 0) send({ errors: wrong, of: 'saved' })
}

/** When the file was last written; 0 if it no longer exists. */
function timeOf({ fileName }: ts.SourceFile): number {
  return statSync(fileName, { throwIfNoEntry: false })?.mtimeMs ?? 0
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
    if (began.has(code)) {
      found = null
      send('begin')
    }
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
host.afterProgramCreate = check
ts.createWatchProgram(host)
report()
