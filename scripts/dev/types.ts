// Checks the types in a separate process, at each change. The server does not wait for it.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { explained, type CompilerError, type Diagnostic } from '../check/compiler-errors.ts'

export interface TypeCheck {
  stop(): Promise<void>
}

/** @param onChecked receives all current errors after each check. */
export function checkTypes(folder: string, onChecked: (errors: Diagnostic[]) => void): TypeCheck {
  const child = fork(join(import.meta.dirname, 'compiler.ts'), { cwd: folder })
  // Lower priority than the server, which starts at the same time.
  if (child.pid !== undefined) setPriority(child.pid, 10)
  child.on('message', (errors: CompilerError[]) => onChecked(explained(folder, errors)))
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}
