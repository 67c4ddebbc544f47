// The progress of a run of contract tests: how many checks are done, and how many findings there are.
import type { WriteStream } from 'node:tty'
import { createProgress as createLine } from '../command/progress.ts'

export interface Progress {
  show(done: number, of: number, findings: number): void
  end(): void
}

export function createProgress(out: Pick<WriteStream, 'write' | 'isTTY'>): Progress {
  const line = createLine(out)
  return {
    show(done, of, findings) {
      const found = findings === 0 ? '' : `, ${findings} ${findings === 1 ? 'finding' : 'findings'}`
      line.report(`check ${done} of ${of}${found}`, 'contract tests')
    },
    end: line.end,
  }
}
