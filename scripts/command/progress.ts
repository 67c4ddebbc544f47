// Progress of a long command on stderr: on a terminal one line that is rewritten, elsewhere plain lines, one
// for each part and one every few seconds.
import type { WriteStream } from 'node:tty'

export interface Progress {
  /** @param part the title of a part of the command. Its begin is a line of its own outside of a terminal. */
  report(message: string, part?: string): void
  /** Removes the line of a terminal. To be called before other output. */
  end(): void
}

/** Milliseconds between two lines. */
const terminalInterval = 100
const plainInterval = 10_000

export function createProgress(output: Pick<WriteStream, 'write' | 'isTTY'> = process.stderr): Progress {
  const isTerminal = output.isTTY === true
  let printedAt = isTerminal ? 0 : Date.now()
  let isOpen = false
  let current: string | undefined
  return {
    report(message, part) {
      const isNew = part !== undefined && part !== current
      if (!isNew && Date.now() - printedAt < (isTerminal ? terminalInterval : plainInterval)) return
      current = part
      printedAt = Date.now()
      isOpen = isTerminal
      output.write(isTerminal ? `\r\x1b[K${message}` : isNew ? `${part}…\n` : `· ${message}\n`)
    },
    end() {
      if (isOpen) output.write('\r\x1b[K')
      isOpen = false
    },
  }
}
