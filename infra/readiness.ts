// Readiness: whether this server can answer requests, and which services that it uses are away. The checks
// run in the background while readiness is asked for, so an answer never waits for a dependency that hangs.
import { setTimeout as sleep } from 'node:timers/promises'
import { inTime } from './concurrency/in-time.ts'

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

interface RunningCheck extends Check {
  /** The last result; null before the first. */
  ok: boolean | null
  /** The present run; null between two. */
  running: Promise<void> | null
}

/** Milliseconds between two runs of a check. */
const interval = 1_000

/** Milliseconds that a check may take. */
const timeout = 2_500

/** Milliseconds that an answer waits for checks that run. Then their last results count. */
const patience = 30

/**
 * Milliseconds after the last question for which the checks go on. Probes ask every 30 seconds or more often.
 */
const attention = 60_000

export class Readiness {
  readonly #checks = new Map<string, RunningCheck>()
  readonly #onError: (error: Error) => void
  #askedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #stopping = false
  #closed = false

  constructor(checks: Record<string, Check>, onError: (error: Error) => void) {
    this.#onError = onError
    for (const [name, check] of Object.entries(checks)) this.add(name, check)
  }

  add(name: string, { run, required }: Check): void {
    this.#checks.set(name, { run, required, ok: null, running: null })
  }

  get stopping(): boolean {
    return this.#stopping
  }

  /** From now on the server is not ready. */
  stop(): void {
    this.#stopping = true
  }

  /** Ends the checks in the background. */
  close(): void {
    this.#closed = true
    this.#pause()
  }

  /** Old results say nothing: the next report waits for new ones. */
  #pause(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    for (const check of this.#checks.values()) check.ok = null
  }

  /**
   * Answers within 50 ms: from the last results, where a check takes longer. The first report, also after a
   * minute without one, waits for a result of every check.
   */
  async report(): Promise<ReadinessReport> {
    this.#askedAt = performance.now()
    if (this.#timer === undefined && !this.#closed) {
      this.#runAll()
      this.#timer = setInterval(() => this.#runAll(), interval).unref()
    }
    await this.#waitBriefly()
    const results = [...this.#checks].map(([name, { ok, required }]) => ({ name, ok: ok === true, required }))
    const failed = results.filter(({ ok }) => !ok)
    const unavailable = this.#stopping || failed.some(({ required }) => required)
    const checks = results.map(({ name, ok }) => [name, ok ? 'ok' : 'unavailable'])
    if (this.#stopping) checks.push(['server', 'unavailable'])
    return {
      status: unavailable ? 'unavailable' : failed.length > 0 ? 'degraded' : 'ok',
      checks: Object.fromEntries(checks),
    }
  }

  #runAll(): void {
    if (performance.now() - this.#askedAt > attention) return this.#pause()
    for (const [name, check] of this.#checks) check.running ??= this.#run(name, check)
  }

  async #run(name: string, check: RunningCheck): Promise<void> {
    try {
      await inTime(check.run(), timeout)
      check.ok = true
    } catch (cause) {
      // Reported when the check begins to fail, not each time.
      if (check.ok !== false) this.#onError(new Error(`the readiness check ${name} failed`, { cause }))
      check.ok = false
    } finally {
      check.running = null
    }
  }

  async #waitBriefly(): Promise<void> {
    const checks = [...this.#checks.values()]
    const running = checks.flatMap((check) => check.running ?? [])
    if (running.length === 0) return
    const timer = new AbortController()
    const isFirst = checks.some(({ ok }) => ok === null)
    const late = sleep(isFirst ? timeout : patience, undefined, { signal: timer.signal }).catch(() => {})
    await Promise.race([Promise.all(running), late])
    timer.abort()
  }
}
