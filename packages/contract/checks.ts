// The checks of every response: a declared status that is no server error, and the declared media type,
// body, items and header fields.
import type { ErrorObject } from 'ajv'
import { isJson, responseFor, type Json, type Response } from '@platform-api/openapi/document.ts'
import { essenceOf, hasItems, includesType } from '@platform-api/openapi/media-types.ts'
import { itemProblems } from './items.ts'
import type { AnswerRules } from './profile.ts'
import type { Answer } from './sender.ts'
import { describe, type Validation } from './validation.ts'

/** The kinds of violations. A configuration may turn them off. */
export const checkNames = [
  'accepted',
  'body',
  'broken-json',
  'create-value',
  'cursor',
  'default',
  'deleted-list-membership',
  'deleted-read',
  'deleted-update',
  'etag',
  'filter',
  'flow',
  'header',
  'idempotency',
  'if-match',
  'key-rejected',
  'leak',
  'link',
  'list-membership',
  'location',
  'media-type',
  'media-type-accepted',
  'method',
  'no-body',
  'no-key',
  'no-response',
  'not-modified',
  'order',
  'page-duplicate',
  'page-length',
  'page-past-end',
  'page-total',
  'pages',
  'pagination',
  'partial-key',
  'put-read',
  'read',
  'read-back',
  'refused',
  'request-id',
  'revoked-key',
  'scope',
  'search',
  'server-error',
  'tenant-isolation',
  'total',
  'undeclared-status',
  'unknown-key',
  'update-others',
  'update-read',
  'update-value',
  'wrong-error',
  'wrong-status',
] as const

export type CheckName = (typeof checkNames)[number]

/** A violation of the contract. */
export interface Problem {
  check: CheckName
  expected: string
  actual: string
}

export function problemsOf(answer: Answer, validation: Validation, rules: AnswerRules): Problem[] {
  const { operation, status } = answer
  if (status >= 500 && status !== 503)
    return [{ check: 'server-error', expected: 'no server error', actual: `${status} ${excerpt(answer)}` }]
  const declared = responseFor(operation, status)
  // The refusal of a method that the path does not have belongs to no operation.
  if (answer.method !== operation.method && (status === 405 || (status === 404 && declared === undefined)))
    return []
  if (declared === undefined && rules.isImplied(operation, status)) return []
  if (declared === undefined)
    return [
      {
        check: 'undeclared-status',
        expected: `one of ${[...operation.responses.keys(), ...operation.otherResponses.keys()].join(', ')}`,
        actual: `${status} ${excerpt(answer)}`,
      },
    ]
  return [
    ...bodyProblems(answer, declared, validation),
    ...headerProblems(answer, declared, validation, rules),
    ...errorProblems(answer),
  ]
}

/** Whether responses of the status have no body (RFC 9110, 15.3.5, 15.3.6 and 15.4.5). */
export const isBodiless = (status: number): boolean => [204, 205, 304].includes(status)

function bodyProblems(answer: Answer, { media }: Response, validation: Validation): Problem[] {
  const { operation, status, text, body } = answer
  const sent = answer.headers.get('content-type')
  const type = sent === null ? null : essenceOf(sent)
  if (media.length === 0 || isBodiless(status))
    return text === '' ? [] : [{ check: 'body', expected: `no body with ${status}`, actual: excerpt(answer) }]
  const found = type === null ? undefined : media.find((each) => includesType(each.type, type))
  if (found === undefined)
    return [
      { check: 'media-type', expected: media.map((each) => each.type).join(' or '), actual: String(type) },
    ]
  const matches = `that matches the schema of ${operation.id} ${status}`
  if (hasItems(type!))
    return itemProblems(found, text, validation.answered).map((problem) => ({
      check: checkOf(problem),
      expected: `an item ${matches}`,
      actual: `${describe(problem)} in ${excerpt(answer)}`,
    }))
  if (!isJson(type!) || found.schema.format === 'binary') return []
  if (body === undefined) return [{ check: 'media-type', expected: 'JSON', actual: excerpt(answer) }]
  return validation
    .answered(found.pointer, body)
    .slice(0, 1)
    .map((problem) => ({
      check: checkOf(problem),
      expected: `a body ${matches}`,
      actual: `${describe(problem)} in ${excerpt(answer)}`,
    }))
}

const checkOf = (problem: ErrorObject | string): CheckName =>
  typeof problem === 'object' && problem.keyword === 'additionalProperties' ? 'leak' : 'body'

function headerProblems(
  { status, headers }: Answer,
  declared: Response,
  validation: Validation,
  rules: AnswerRules,
): Problem[] {
  return declared.headers.flatMap(({ name, required, schema, pointer }) => {
    // OpenAPI says to ignore a declaration of it.
    if (name.toLowerCase() === 'content-type') return []
    const value = headers.get(name)
    if (value === null)
      return required || rules.needsHeader(name, status)
        ? [{ check: 'header', expected: `${name} with ${status}`, actual: 'none' }]
        : []
    const typed = typedValue(schema, value)
    const [problem] = validation.answered(pointer, typed)
    return problem === undefined
      ? []
      : [
          {
            check: 'header',
            expected: `${name} to match its schema`,
            actual: `${value}: ${describe(problem)}`,
          },
        ]
  })
}

/** The text of a header field as a value of the schema's type. */
function typedValue({ type }: Json, text: string): Json {
  const types = [type].flat()
  if ((types.includes('integer') || types.includes('number')) && text.trim() !== '') return Number(text)
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  if (types.includes('array')) return text.split(',').map((item) => item.trim())
  return text
}

/** The request id in an error's body and the one in the X-Request-ID header must be the same. */
function errorProblems({ status, headers, body }: Answer): Problem[] {
  const named: Json = body?.error?.details?.request_id
  if (status < 400 || named === undefined || named === headers.get('x-request-id')) return []
  return [
    {
      check: 'request-id',
      expected: `X-Request-ID to be the request_id of the error: ${named}`,
      actual: String(headers.get('x-request-id')),
    },
  ]
}

export function excerpt({ text }: { text: string }, maxLength = 300): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line === '' ? 'with no body' : line.length > maxLength ? `${line.slice(0, maxLength)}…` : line
}
