// Runs a process until a signal arrives or npm exits. A start error is explained in one sentence.
export interface Running {
  stop(): Promise<void>
  /** Milliseconds that a graceful stop may take. */
  deadline: number
  /** Called after the start, even if a stop signal has arrived meanwhile. */
  ready(): void
}

export interface Runnable {
  /** The name of the npm script. */
  script: string
  start(progress: (message: string) => void): Promise<Running>
  /** One sentence for an error that the operator can fix, else null. */
  explain(error: unknown): string | null
  /** Prints a message. Default: `announce`. */
  print?: typeof announce
}

/** Prints a line for people. */
export function printLine(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Whether a person reads the output. */
export const isTerminal = process.stderr.isTTY === true

const levels = { info: 30, fatal: 60 }

/** Prints a message on a terminal; elsewhere it is a line of the log. */
export function announce(message: string, level: keyof typeof levels = 'info'): void {
  if (isTerminal) return printLine(message)
  const line = { level: levels[level], time: new Date().toISOString(), msg: message }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** Exits with 0 after a graceful stop, and with 1 when the start failed. */
export async function runUntilStopped({ script, start, explain, print = announce }: Runnable): Promise<void> {
  let running: Running | undefined
  let stopping = false

  function stop(signal: string): void {
    // A second signal exits immediately.
    if (stopping) process.exit(1)
    stopping = true
    print(`${signal}: ${running === undefined ? 'finishing the start' : 'finishing running requests'}`)
    if (running !== undefined) void finish(running)
    else setTimeout(() => process.exit(1), 5_000).unref()
  }

  async function finish({ stop, deadline }: Running): Promise<void> {
    // Exit after the grace period even if something hangs. PostgreSQL keeps what it has acknowledged.
    setTimeout(() => {
      print('The stop took too long; exiting now.')
      process.exit(1)
    }, deadline + 1_500).unref()
    await stop()
    process.exit(0)
  }

  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))

  // npm sends the signal to its shell. The shell exits without stopping this process, so stop when the parent
  // process changes.
  if (process.env.npm_lifecycle_event === script) {
    const parent = process.ppid
    setInterval(() => {
      if (process.ppid !== parent && !stopping) stop('npm ended')
    }, 500).unref()
  }

  try {
    running = await start((message) => print(isTerminal ? `· ${message}` : message))
    running.ready()
    if (stopping) await finish(running)
  } catch (error) {
    print(
      explain(error) ??
        `npm ${script === 'start' ? script : `run ${script}`} failed: ${(error as Error).stack ?? error}`,
      'fatal',
    )
    process.exit(1)
  }
}
