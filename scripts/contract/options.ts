// The options of a run: the server, the keys and the operations to test.
import type { Json, Operation } from './document.ts'

export interface RunOptions {
  document: Json
  base: string
  key: string
  secondKey: string | null
  seed: number
  /** Generated valid requests per operation. */
  runs: number
  readOnly: boolean
  /** The operations under test. Other operations are called only to create what these need. */
  selected(operation: Operation): boolean
  /** Milliseconds after which no new check starts. */
  time: number
  onProgress(done: number, of: number, findings: number): void
}
