// The types of the operation fixtures: what a contract test needs to call one operation.
import type { OperationId } from '../../generated/operations.ts'
import type { Role } from '../../services/projects/projects.ts'
import type { Scope } from '../../services/users/api-keys.ts'
import type { Person, TestServer } from './server.ts'

export type Rank = 'none' | Role
export interface Scene {
  server: TestServer
  caller: Person
  rank: Rank
}

/** What a request says beside its method and path. A form has the same body as JSON would, its file is an `Attachment`. */
export interface Parts {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: Record<string, unknown>
  /** The body, where it is bytes. */
  bytes?: Buffer
  /** What it says in its header beside the key. */
  headers?: Record<string, string>
  /** The project whose role and state decide, where it is not the `id` of the path. */
  project?: string
  /** Whether the body goes as a form, of an operation that takes JSON too. */
  form?: boolean
}
/** One request that its operation answers with a success, unless a test bends it. */
export interface Ask extends Parts {
  id: OperationId
  server: TestServer
  caller: Person
}

export type Make = (scene: Scene) => Parts | Promise<Parts>
export interface Fixture {
  /** Makes what the request is about. A PUT's body has every field that the spec lets it have. */
  make: Make
  /** The same for the other statuses that need a state of their own. */
  others?: Record<number, Make>
  /** The same for what is in no project, where it may be in one or in none. */
  own?: Make
  /** The same as a form, where the operation takes JSON too. */
  form?: Make
  /** The status of its success, where that is not the lowest declared one. */
  success?: number
  /** The caller's role in the project for the ordinary request; owner unless said. */
  rank?: Rank
  /** What a member gets where the operation is for outsiders. */
  whenMember?: number
  /** Another body for the same, where `make` has but one. */
  otherBody?: () => Record<string, unknown>
  /** The scopes that a key needs for what the request is about, beside those of the operation. */
  reads?: Scope[]
}
