// The rules of a server besides its OpenAPI document, and the limits of a run.
import type { Format } from 'ajv'
import { withMergedParts } from '@platform-api/openapi/merge-parts.ts'
import { withResourceIds } from '@platform-api/openapi/resource-ids.ts'
import { hasSuccess, type Json, type Operation } from '@platform-api/openapi/document.ts'
import type { Answer, RequestParts } from './sender.ts'

export interface ContractProfile {
  /** The document as the checks read it. */
  prepare(document: Json): Json
  /** The formats of texts that are validated; default: those of JSON Schema and OpenAPI. */
  formats?: Record<string, Format>
  /** Whether a key is enough for the operation. A run leaves out the others. */
  selects(operation: Operation): boolean
  /**
   * How a run creates accounts of its own with the given key, which it then needs; null if it only has the
   * given keys. Such a run changes no existing account.
   */
  accounts: AccountRules | null
  /** Steps that no schema describes. */
  flows: Flow[]
  /**
   * Operations that change global state or need input from another system. Generated requests check only
   * their errors, and 404 is right where the server does not have them.
   */
  neverSucceeds: ReadonlySet<string>
  /**
   * Whether the path is of resources in another state, such as the deleted ones in a trash, or of those that
   * others made for the caller. These operations neither read nor list what the run creates.
   */
  isApart(path: string): boolean
  /** Operations that are tried and need not succeed. */
  mayFail: ReadonlySet<string>
  /** Whether a server refuses all that it must, so that checks at the same time cannot disturb each other. */
  concurrent: boolean
  /** How to avoid the rate limits. */
  rateLimitAdvice: string
  requests: RequestRules
  refusals: RefusalRules
  answers: AnswerRules
  lists: ListRules
}

/** An operation that returns a key like the given one creates users, or keys if its body has `scopes`. */
export interface AccountRules {
  /** The body for each user, beside what the schema requires. */
  user: Json
  /** The properties of the body for a user with all rights; the schema must list the values. */
  operator: Record<string, string>
  /** The body for a key with these scopes. */
  key(scopes: string[]): Json
  /** Scopes that only operators use for the whole server: others act for an organization with them. */
  operatorScopes: readonly string[]
}

export interface Flow {
  /** All operations that the flow calls. The report names the first. */
  operations: string[]
  work(call: Call): Promise<void>
}

/** Sends a request of a flow, which must succeed. */
export type Call = (operation: string, step?: Step) => Promise<Answer>

export interface Step extends Partial<RequestParts> {
  /** Default: the actor. */
  as?: 'other' | 'operator'
  /** Errors that do not end the flow. */
  allow?: number[]
}

export interface RequestRules {
  /** The examples of a body's schema that can be sent as they are. */
  examples(schema: Json): Json[]
  /** Characters of all parameters together; optional ones that do not fit are left out. */
  maxParameters: number
  /** Whether a path parameter that is no id must come from the link of an answer. */
  linkedPaths: boolean
  /** Whether PUT leaves properties as they are that are not sent. */
  putMerges: boolean
}

export interface RefusalRules {
  /** Whether the status refuses a key, where `expected` is 401 or 403. */
  isOfKey(operation: Operation, status: number, expected: number): boolean
  /** Whether a key is refused before the resource of the path is looked up, which need not exist. */
  keyFirst: boolean
  /** Whether the status, which is not 400, refuses an invalid request. */
  isOfInvalid(operation: Operation, status: number): boolean
  /** The statuses for a required body that is missing. */
  missingBody: number[]
  /** The statuses for an undeclared media type. */
  mediaType: number[]
  /** The statuses for a body that is no JSON, or not of the schema's type. */
  brokenJson: number[]
  /**
   * Whether these bodies are refused, even if the schema allows them: an undeclared media type where forms
   * are declared, a form with an invalid value that is empty, and JSON with lone surrogates or U+0000.
   */
  strictBodies: boolean
  /** Whether an error names the invalid field, and not the whole body. */
  nameField: boolean
  /** Errors with the name of a constraint that are no errors of the schema: `operation field constraint`. */
  businessRules: RegExp[]
}

export interface AnswerRules {
  /** Whether the operation need not declare the status. */
  isImplied(operation: Operation, status: number): boolean
  /** Whether the answer must have the declared field, although it is not `required`. */
  needsHeader(name: string, status: number): boolean
  /** Whether a property that an answer does not declare is a leak. */
  closed: boolean
  /** Whether a resource has each value that a request may set. Otherwise null may mean "unchanged". */
  repeatInput: boolean
  /** Whether an update answers with the whole resource. */
  updatesShowResource: boolean
  /** Properties that change together, such as the id and the path of one folder. */
  changeTogether: string[][]
  /**
   * The field that is `true` in a repeated answer to an Idempotency-Key. Another body under the key is then
   * refused with 422.
   */
  replayHeader: string | null
  /** Whether a resource that no operation creates, such as an event, names its user or resources. */
  nameOwner: boolean
}

export interface ListRules {
  /** Whether a list with `cursor` and without `page` is a log: `data`, `next_cursor` and `has_more`. */
  logs: boolean
  /** The query parameter that searches names by words. */
  search: string | null
  /** Whether a filter by an id that no item names finds nothing. Otherwise it may be refused. */
  unknownIds: boolean
}

/** The rules of HTTP and of the document, for any API. */
export const openapi: ContractProfile = {
  prepare: (document) => withResourceIds(withMergedParts(document)),
  selects: () => true,
  accounts: null,
  flows: [],
  neverSucceeds: new Set(),
  isApart: () => false,
  mayFail: new Set(),
  concurrent: false,
  rateLimitAdvice: 'Start a test server with higher limits',
  requests: {
    examples: () => [],
    // Servers may refuse long URLs.
    maxParameters: 6000,
    linkedPaths: false,
    putMerges: false,
  },
  refusals: {
    // Servers may answer 403, or 404 if they declare neither 401 nor 403.
    isOfKey({ responses }, status) {
      return [401, 403].includes(status) || (status === 404 && !responses.has(401) && !responses.has(403))
    },
    keyFirst: false,
    // Any declared status that says nothing else.
    isOfInvalid({ responses }, status) {
      return ![401, 403, 404, 405].includes(status) && (status === 422 || responses.has(status))
    },
    missingBody: [400, 411, 415, 422],
    mediaType: [400, 415, 422],
    brokenJson: [400, 413, 422],
    strictBodies: false,
    nameField: false,
    businessRules: [],
  },
  answers: {
    isImplied,
    needsHeader: () => false,
    closed: false,
    repeatInput: false,
    updatesShowResource: false,
    changeTogether: [],
    replayHeader: null,
    nameOwner: false,
  },
  lists: { logs: false, search: null, unknownIds: true },
}

/**
 * 401 and 403 follow from the security of the operation. An operation may leave out the statuses for invalid
 * requests, or all errors. One that declares no success says nothing of it.
 */
function isImplied(operation: Operation, status: number): boolean {
  const { scopes, responses, otherResponses } = operation
  if (status < 400) return !hasSuccess(operation)
  if (scopes !== null && (status === 401 || status === 403)) return true
  if (status >= 500 || otherResponses.has('4XX')) return false
  if ([400, 415, 422].includes(status)) return true
  if (status === 404) return ![400, 404, 422].some((each) => responses.has(each))
  return [...responses.keys()].every((each) => each < 400)
}
