// The types of the operation fixtures: what a contract test needs to call one operation.
import type { OperationId } from '../../../generated/operations.ts'
import type { Role } from '../../../services/projects/projects.ts'
import type { Scope } from '../../../services/users/scopes.ts'
import type { Person, TestServer } from '../server/server.ts'

export type ProjectRole = 'none' | Role
export interface FixtureContext {
  server: TestServer
  caller: Person
  role: ProjectRole
}

/**
 * The parts of a request besides method and path. A form has the same body as JSON, with its file as an
 * `Attachment`.
 */
export interface RequestParts {
  /** The access token, where the operation needs a session: it takes the place of the caller's API key. */
  key?: string
  params?: Record<string, string>
  query?: Record<string, string | string[]>
  body?: Record<string, unknown>
  /** A binary body. */
  bytes?: Buffer
  /** Headers besides Authorization. */
  headers?: Record<string, string>
  /** The project whose role and state are checked, where it is not `params.id`. */
  project?: string
  /** Sends the body as a form when the operation also accepts JSON. */
  form?: boolean
}
/** A valid request, unless a test changes it. */
export interface OperationRequest extends Omit<RequestParts, 'key'> {
  id: OperationId
  server: TestServer
  caller: Person
}

export type RequestBuilder = (context: FixtureContext) => RequestParts | Promise<RequestParts>
export interface Fixture {
  /** Creates the resources and the request. The body of a PUT has every field that the spec allows. */
  build: RequestBuilder
  /** Builders for other statuses that need a state of their own. */
  byStatus?: Record<number, RequestBuilder>
  /** Builder for a resource without a project, where the project is optional. */
  withoutProject?: RequestBuilder
  /** Builder for a form, where the operation also accepts JSON. */
  form?: RequestBuilder
  /** The status of a success, unless it is the lowest declared status. */
  successStatus?: number
  /** The caller's role in the project. Default: owner. */
  role?: ProjectRole
  /** The status that a member gets where the operation is for non-members. */
  statusForMember?: number
  /** Another valid body, where `build` always returns the same one. */
  differentBody?: () => Record<string, unknown>
  /** Another valid query, where the operation has no body. */
  differentQuery?: () => Record<string, string>
  /** Scopes that the request needs because of its resource, besides the scopes of the operation. */
  extraScopes?: Scope[]
}
