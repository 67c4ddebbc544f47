// Limits what a user may have open in this process at once, such as streams and uploads.
import { tooManyOpen } from '../errors.ts'

export class OpenCounts {
  /** The name of the counted things in messages, as a plural. */
  readonly #what: string
  readonly #limit: number
  readonly #name: string | undefined
  /** By user id. A user with nothing open has no entry. */
  readonly #counts = new Map<string, number>()

  /** @param name the name of the limit in errors. */
  constructor(what: string, limit: number, name?: string) {
    this.#what = what
    this.#limit = limit
    this.#name = name
  }

  countOpen(userId: string): number {
    return this.#counts.get(userId) ?? 0
  }

  /** Counts one more. Throws 429 at the limit. */
  add(userId: string): void {
    const open = this.countOpen(userId)
    if (open >= this.#limit) throw tooManyOpen(this.#what, this.#limit, this.#name)
    this.#counts.set(userId, open + 1)
  }

  remove(userId: string): void {
    const left = this.countOpen(userId) - 1
    if (left === 0) this.#counts.delete(userId)
    else this.#counts.set(userId, left)
  }
}
