// Checks the types in a separate process, at each change. The server does not wait for it.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { explained, type Diagnostic } from '../check/compiler-errors.ts'
import type { CompilerMessage } from './compiler.ts'

export interface TypeCheck {
  /** Calls `onChecked` again, when the errors are those of the files as they are now. */
  report(): void
  stop(): Promise<void>
}

export interface TypeCheckOptions {
  /** A check has begun. */
  onBegin?: () => void
  /** Receives the errors of saved files while the check goes on. */
  onSaved?: (errors: Diagnostic[]) => void
  /** Receives all current errors after each check. Those of files that have changed meanwhile never come. */
  onChecked: (errors: Diagnostic[]) => void
}

export function checkTypes(
  folder: string,
  { onBegin = () => {}, onSaved = () => {}, onChecked }: TypeCheckOptions,
): TypeCheck {
  const child = fork(join(import.meta.dirname, 'compiler.ts'), { cwd: folder })
  // Lower priority than the server, which starts at the same time.
  if (child.pid !== undefined) setPriority(child.pid, 10)
  child.on('message', (message: CompilerMessage) => {
    if (message === 'begin') return onBegin()
    const { errors, of } = message
    if (of === 'saved') onSaved(explained(folder, errors))
    else onChecked(explained(folder, errors))
  })
  return {
    report() {
      if (child.connected) child.send('report', () => {})
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}
