// Progress of a long command: one line that changes on a terminal, and elsewhere a line every few seconds.

export interface Progress {
  report(message: string): void
  /** Completes the line of a terminal. */
  end(): void
}

/** Milliseconds between two lines. */
const terminalInterval = 100
const plainInterval = 10_000

export function createProgress(output: NodeJS.WriteStream = process.stderr): Progress {
  const isTerminal = output.isTTY === true
  let printedAt = isTerminal ? 0 : Date.now()
  let isOpen = false
  return {
    report(message) {
      if (Date.now() - printedAt < (isTerminal ? terminalInterval : plainInterval)) return
      printedAt = Date.now()
      isOpen = isTerminal
      output.write(isTerminal ? `\r\x1b[K${message}` : `· ${message}\n`)
    },
    end() {
      if (isOpen) output.write('\r\x1b[K')
      isOpen = false
    },
  }
}
