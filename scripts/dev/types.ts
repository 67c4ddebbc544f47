// TypeScript beside the server: a compiler that keeps watching, in a process of its own. No server waits for it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'

export interface Place {
  file: string
  line: number
  column: number
  message: string
}

export interface TypeCheck {
  stop(): Promise<void>
}

/** @param onChecked gets all errors that there are, after each round. */
export function checkTypes(folder: string, onChecked: (errors: Place[]) => void): TypeCheck {
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
  // The server that starts at the same time goes first.
  if (child.pid !== undefined) setPriority(child.pid, 10)
  let errors: Place[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    const found = placeOf(line)
    if (found !== null) errors.push(found)
    if (!/Found \d+ errors?\. Watching/.test(line)) return
    onChecked(errors)
    errors = []
  })
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** `handlers/members.ts(3,5): error TS2322: …`, or null for any other line. */
export function placeOf(line: string): Place | null {
  const [, file, row, column, code, message] =
    /^(\S[^(]*)\((\d+),(\d+)\): error (TS\d+): (.*)$/.exec(line) ?? []
  return file === undefined
    ? null
    : { file, line: Number(row), column: Number(column), message: `${message} (${code})` }
}
