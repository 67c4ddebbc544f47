// Runs the TypeScript compiler in watch mode, in a separate process. The server does not wait for it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { explained, type CompilerError, type Diagnostic } from '../check/compiler-errors.ts'

export interface TypeCheck {
  stop(): Promise<void>
}

/** @param onChecked receives all current errors after each compilation. */
export function checkTypes(folder: string, onChecked: (errors: Diagnostic[]) => void): TypeCheck {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const args = [
    '-p',
    '.',
    '--noEmit',
    '--watch',
    '--preserveWatchOutput',
    '--pretty',
    'false',
    '--incremental',
    '--tsBuildInfoFile',
    'node_modules/.cache/dev.tsbuildinfo',
  ]
  const child = spawn(process.execPath, [compiler, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Lower priority than the server, which starts at the same time.
  if (child.pid !== undefined) setPriority(child.pid, 10)
  let errors: CompilerError[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    const found = parseError(line)
    if (found !== null) errors.push(found)
    else if (/^ +\S/.test(line)) errors.at(-1)?.lines.push(line.trim())
    if (!/Found \d+ errors?\. Watching/.test(line)) return
    onChecked(explained(folder, errors))
    errors = []
  })
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** The first line of an error, `handlers/members.ts(3,5): error TS2322: …`; null for any other line. */
export function parseError(line: string): CompilerError | null {
  const [, file, row, column, code, message] =
    /^(\S[^(]*)\((\d+),(\d+)\): error TS(\d+): (.*)$/.exec(line) ?? []
  return file === undefined
    ? null
    : { file, line: Number(row), column: Number(column), code: Number(code), lines: [message] }
}
