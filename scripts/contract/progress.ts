// Shows the progress of a run: one line that is rewritten on a terminal, else one line per part.
import type { WriteStream } from 'node:tty'

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
  let last = ''
  return {
    show(part, done, of, findings) {
      const found = findings === 0 ? '' : `, ${findings} ${findings === 1 ? 'finding' : 'findings'}`
      if (out.isTTY) out.write(`\r\x1b[K${titles[part] ?? part} ${done}/${of}${found}`)
      else if (part !== last) out.write(`${titles[part] ?? part}…\n`)
      last = part
    },
    end() {
      if (out.isTTY && last !== '') out.write('\r\x1b[K')
    },
  }
}
