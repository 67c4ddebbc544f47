// The progress of a run on stderr: how many checks are done, and how many findings there are. A terminal has
// one line that is rewritten; elsewhere there is a line every few seconds.
import type { WriteStream } from 'node:tty'

export interface Progress {
  show(done: number, of: number, findings: number): void
  /** Removes the line of a terminal. To be called before other output. */
  end(): void
}

/** Milliseconds between two lines. */
const terminalInterval = 100
const plainInterval = 10_000

export function createProgress(out: Pick<WriteStream, 'write' | 'isTTY'>): Progress {
  const isTerminal = out.isTTY === true
  let printedAt: number | null = null
  let isOpen = false
  return {
    show(done, of, findings) {
      const isNew = printedAt === null
      if (printedAt !== null && Date.now() - printedAt < (isTerminal ? terminalInterval : plainInterval))
        return
      printedAt = Date.now()
      isOpen = isTerminal
      const found = findings === 0 ? '' : `, ${findings} ${findings === 1 ? 'finding' : 'findings'}`
      const line = `check ${done} of ${of}${found}`
      out.write(isTerminal ? `\r\x1b[K${line}` : isNew ? 'contract tests…\n' : `· ${line}\n`)
    },
    end() {
      if (isOpen) out.write('\r\x1b[K')
      isOpen = false
    },
  }
}
