// The options of a run: the server, the keys and the operations to test.
import type { Json, Operation } from '@platform-api/openapi/document.ts'
import type { CheckName } from './checks.ts'
import type { ContractProfile } from './profile.ts'

export interface RunOptions {
  profile: ContractProfile
  document: Json
  base: string
  /** null if the server needs no key. */
  key: string | null
  secondKey: string | null
  seed: number
  /** Generated valid requests per operation. */
  runs: number
  readOnly: boolean
  /** The checks whose problems are no findings, each with the reason. */
  checksOff?: ReadonlyMap<CheckName, string>
  /** The operations under test. Other operations are called only to create what these need. */
  selected(operation: Operation): boolean
  /** Milliseconds after which no new check starts. */
  time: number
  /** Ends the run early; its findings are reported. */
  signal?: AbortSignal
  onProgress(done: number, of: number, findings: number): void
}
