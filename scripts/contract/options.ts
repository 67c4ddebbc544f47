// What a run is told: which server, with whose key, and how much of the contract it looks at.
import type { Json, Operation } from './document.ts'

export interface RunOptions {
  document: Json
  base: string
  key: string
  secondKey: string | null
  seed: number
  /** How many requests with made-up values an operation gets. */
  runs: number
  readOnly: boolean
  /** Which operations are looked at; others are only used to make what these need. */
  wanted(operation: Operation): boolean
  /** Milliseconds after which nothing new is begun. */
  time: number
  onProgress(part: string, done: number, of: number, findings: number): void
}
