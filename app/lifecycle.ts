// The life of a process of ours: started, stopped in order by a signal or with npm's end, and explained when it cannot be.
export interface Running {
  stop(): Promise<void>
  /** Milliseconds that the stop is given for what is under way. */
  deadline: number
  /** Called when it has started, even if a stop came meanwhile. */
  ready(): void
}

export interface Runnable {
  /** The name of the npm script. */
  script: string
  start(say: (progress: string) => void): Promise<Running>
  /** One sentence for what an operator can change, or null. */
  explain(error: unknown): string | null
}

export const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

/** Starts it, and ends the process when it has stopped; with 1 when it could not start. */
export async function runUntilStopped({ script, start, explain }: Runnable): Promise<void> {
  let running: Running | undefined
  let stopping = false

  function stop(signal: string): void {
    // Whoever says it twice means at once.
    if (stopping) process.exit(1)
    stopping = true
    say(`${signal}: finishing ${running === undefined ? 'the start' : 'what is under way'}`)
    if (running !== undefined) void finish(running)
    else setTimeout(() => process.exit(1), 5_000).unref()
  }

  async function finish({ stop, deadline }: Running): Promise<void> {
    // Whatever hangs, the process does not: PostgreSQL, cut off, keeps what it acknowledged.
    setTimeout(() => {
      say('The stop took too long; leaving what is still open.')
      process.exit(1)
    }, deadline + 1_500).unref()
    await stop()
    process.exit(0)
  }

  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))

  // npm hands a signal to the shell between, which dies of it and leaves its child: whoever ended npm meant this process.
  if (process.env.npm_lifecycle_event === script) {
    const parent = process.ppid
    setInterval(() => {
      if (process.ppid !== parent && !stopping) stop('npm ended')
    }, 500).unref()
  }

  try {
    running = await start((progress) => say(`· ${progress}`))
    running.ready()
    if (stopping) await finish(running)
  } catch (error) {
    say(explain(error) ?? `The ${script} could not start: ${(error as Error).stack ?? error}`)
    process.exit(1)
  }
}
