// Tells how far a run is: one line that is written again on a terminal, else one line for each part.
import type { WriteStream } from 'node:tty'

export interface Progress {
  show(part: string, done: number, of: number, findings: number): void
  end(): void
}

const titles: Record<string, string> = {
  access: 'who may',
  lives: 'lives of resources',
  lists: 'lists',
  refusals: 'requests with a mistake',
  values: 'made-up values',
}

export function createProgress(out: Pick<WriteStream, 'write' | 'isTTY'>): Progress {
  let last = ''
  return {
    show(part, done, of, findings) {
      const found = findings === 0 ? '' : `, ${findings} found`
      if (out.isTTY) out.write(`\r\x1b[K${titles[part] ?? part} ${done}/${of}${found}`)
      else if (part !== last) out.write(`${titles[part] ?? part}…\n`)
      last = part
    },
    end() {
      if (out.isTTY && last !== '') out.write('\r\x1b[K')
    },
  }
}
