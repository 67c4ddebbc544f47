// Readiness: whether this server can answer requests, and which services that it uses are away.
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedFor } from '../infra/share.ts'

export interface Check {
  /** Throws when the dependency is not available. */
  run(): Promise<unknown>
  /** Without a required dependency the server answers nothing; without another only some operations fail. */
  required: boolean
}

export interface ReadinessReport {
  status: 'ok' | 'degraded' | 'unavailable'
  checks: Record<string, 'ok' | 'unavailable'>
}

/** Milliseconds for which requests share the result of a check. */
const interval = 1_000

/** Milliseconds that a check may take. */
const timeout = 2_500

export class Readiness {
  readonly #checks = new Map<string, Check>()
  readonly #failing = new Set<string>()
  readonly #onError: (error: Error) => void
  #stopping = false

  constructor(checks: Record<string, Check>, onError: (error: Error) => void) {
    this.#onError = onError
    for (const [name, check] of Object.entries(checks)) this.add(name, check)
  }

  add(name: string, { run, required }: Check): void {
    this.#checks.set(name, { run: sharedFor(interval, () => inTime(run())), required })
  }

  get stopping(): boolean {
    return this.#stopping
  }

  /** From now on the server is not ready. */
  stop(): void {
    this.#stopping = true
  }

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(
      [...this.#checks].map(async ([name, { run, required }]) => {
        const ok = await run().then(
          () => this.#failing.delete(name) || true,
          (error: Error) => this.#reportOnce(name, error),
        )
        return { name, ok, required }
      }),
    )
    const failed = results.filter(({ ok }) => !ok)
    const unavailable = this.#stopping || failed.some(({ required }) => required)
    const checks = results.map(({ name, ok }) => [name, ok ? 'ok' : 'unavailable'])
    if (this.#stopping) checks.push(['server', 'unavailable'])
    return {
      status: unavailable ? 'unavailable' : failed.length > 0 ? 'degraded' : 'ok',
      checks: Object.fromEntries(checks),
    }
  }

  /** Reports the cause when a check begins to fail, not for every request. */
  #reportOnce(name: string, cause: Error): false {
    if (!this.#failing.has(name)) this.#onError(new Error(`the readiness check ${name} failed`, { cause }))
    this.#failing.add(name)
    return false
  }
}

async function inTime(check: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  const late = sleep(timeout, true, { signal: timer.signal }).catch(() => false)
  try {
    if ((await Promise.race([check, late])) === true) throw new Error(`no answer within ${timeout} ms`)
  } finally {
    timer.abort()
  }
}
