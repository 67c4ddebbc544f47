// The progress of a run of contract tests: its part, and how many findings there are so far.
import type { WriteStream } from 'node:tty'
import { createProgress as createLine } from '../command/progress.ts'

export interface Progress {
  show(part: string, done: number, of: number, findings: number): void
  end(): void
}

const titles: Record<string, string> = {
  access: 'authentication and scopes',
  crud: 'CRUD lifecycles',
  lists: 'lists',
  invalid: 'invalid requests',
  valid: 'valid requests',
}

export function createProgress(out: Pick<WriteStream, 'write' | 'isTTY'>): Progress {
  const line = createLine(out)
  return {
    show(part, done, of, findings) {
      const title = titles[part] ?? part
      const found = findings === 0 ? '' : `, ${findings} ${findings === 1 ? 'finding' : 'findings'}`
      line.report(`${title} ${done}/${of}${found}`, title)
    },
    end: line.end,
  }
}
