// Stores the answers that this process generates while they grow, so that other processes can stream them and
// little is lost if this process dies. The heartbeat in the row shows that the process is alive. All answers
// are saved in one statement.
import * as sql from '../../../generated/sql/chat.ts'
import type { Database } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import type { LiveAnswer } from './live-answer.ts'
import { endOf } from './stream-events.ts'

export interface ProgressSaverOptions {
  database: Database
  /** The answers that are being generated, by message id. The map may change at any time. */
  answers: ReadonlyMap<string, LiveAnswer>
  /** Milliseconds between two rounds. */
  interval: number
  onError: (error: Error) => void
}

export class ProgressSaver {
  readonly #options: ProgressSaverOptions
  readonly #timer: NodeJS.Timeout
  #lastHeartbeats = performance.now()
  #running: Promise<void> = Promise.resolve()

  constructor(options: ProgressSaverOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#saveAll()).catch(options.onError)
    }, options.interval)
    this.#timer.unref()
  }

  /** Waits for the round in progress. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #saveAll(): Promise<void> {
    const now = performance.now()
    const answers = [...this.#options.answers.values()]
    const changed = answers.filter((answer) => this.#isDue(answer, now))
    const unchanged =
      performance.now() - this.#lastHeartbeats > heartbeatTimeoutSeconds * 100
        ? answers.filter((answer) => !changed.includes(answer))
        : []
    if (changed.length > 0) await this.#save(changed, now)
    if (unchanged.length > 0) await this.#beat(unchanged)
  }

  #isDue(answer: LiveAnswer, now: number): boolean {
    return (
      answer.final === null &&
      answer.promptTokens > 0 &&
      endOf(answer.parts) > answer.savedEnd &&
      now >= answer.savedAt + this.#pauseAfter(answer)
    )
  }

  /** Milliseconds. Each save writes the whole answer, so a long answer is saved less often. */
  #pauseAfter({ content }: LiveAnswer): number {
    return (this.#options.interval * content.length) / 20_000
  }

  async #save(answers: LiveAnswer[], now: number): Promise<void> {
    const ends = answers.map(({ parts }) => endOf(parts))
    const saved = await sql.saveAnswers(this.#options.database, {
      ids: answers.map(({ id }) => id),
      contents: answers.map(({ content }) => content),
      citations: answers.map(({ citations }) => JSON.stringify(citations)),
      prompt_tokens: answers.map(({ promptTokens }) => promptTokens),
    })
    answers.forEach((answer, i) => {
      answer.savedEnd = ends[i]
      answer.savedAt = now
    })
    stopMissing(answers, saved)
  }

  async #beat(answers: LiveAnswer[]): Promise<void> {
    this.#lastHeartbeats = performance.now()
    const ids = answers.map(({ id }) => id)
    stopMissing(answers, await sql.saveHeartbeats(this.#options.database, { ids }))
  }
}

/** Stops answers whose message was deleted, for example with its session, or finished by another process. */
function stopMissing(answers: LiveAnswer[], saved: Array<{ id: string }>): void {
  const ids = new Set(saved.map(({ id }) => id))
  for (const answer of answers) if (answer.final === null && !ids.has(answer.id)) answer.stop()
}
