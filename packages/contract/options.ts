// The options of a run: the server, the keys and the operations to test.
import type { Json, Operation } from '@platform-api/openapi/document.ts'

/**
 * The rules for a server. `openapi`: those of HTTP and of its document, for any API. `platform`: also the
 * rules of this API, such as 400 for every invalid request.
 */
export type Profile = 'openapi' | 'platform'

export interface RunOptions {
  profile: Profile
  document: Json
  base: string
  /** null if the server needs no key. */
  key: string | null
  secondKey: string | null
  seed: number
  /** Generated valid requests per operation. */
  runs: number
  readOnly: boolean
  /** The operations under test. Other operations are called only to create what these need. */
  selected(operation: Operation): boolean
  /** Milliseconds after which no new check starts. */
  time: number
  /** Ends the run early; its findings are reported. */
  signal?: AbortSignal
  onProgress(done: number, of: number, findings: number): void
}
