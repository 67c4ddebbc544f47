// The checks of every response: a declared status that is no server error, and the declared media type,
// body and header fields.
import type { Json, Response } from './document.ts'
import type { Answer } from './sender.ts'
import { describe, type Validation } from './validation.ts'

/** A violation of the contract. `check` names its kind, such as `undeclared-status`. */
export interface Problem {
  check: string
  expected: string
  actual: string
}

export function problemsOf(answer: Answer, validation: Validation): Problem[] {
  const { operation, status } = answer
  if (status >= 500 && status !== 503)
    return [{ check: 'server-error', expected: 'no server error', actual: `${status} ${excerpt(answer)}` }]
  const declared = operation.responses.get(status)
  // 405 for a method that the path does not have belongs to no operation.
  if (declared === undefined && answer.method !== operation.method && status === 405) return []
  if (declared === undefined)
    return [
      {
        check: 'undeclared-status',
        expected: `one of ${[...operation.responses.keys()].join(', ')}`,
        actual: `${status} ${excerpt(answer)}`,
      },
    ]
  return [
    ...bodyProblems(answer, declared, validation),
    ...headerProblems(answer, declared, validation),
    ...errorProblems(answer),
  ]
}

function bodyProblems(answer: Answer, { media }: Response, validation: Validation): Problem[] {
  const { operation, status, text, body } = answer
  const type = answer.headers.get('content-type')?.split(';')[0].trim().toLowerCase() ?? null
  if (media.length === 0)
    return text === '' ? [] : [{ check: 'body', expected: `no body with ${status}`, actual: excerpt(answer) }]
  const found = media.find((each) => each.type === type || each.type === '*/*')
  if (found === undefined)
    return [
      { check: 'media-type', expected: media.map((each) => each.type).join(' or '), actual: String(type) },
    ]
  if (found.type !== 'application/json') return []
  if (body === undefined) return [{ check: 'media-type', expected: 'JSON', actual: excerpt(answer) }]
  const [problem] = validation.answered(found.pointer, body)
  return problem === undefined
    ? []
    : [
        {
          check: problem.keyword === 'additionalProperties' ? 'leak' : 'body',
          expected: `a body that matches the schema of ${operation.id} ${status}`,
          actual: `${describe(problem)} in ${excerpt(answer)}`,
        },
      ]
}

function headerProblems({ status, headers }: Answer, declared: Response, validation: Validation): Problem[] {
  return declared.headers.flatMap(({ name, required, schema, pointer }) => {
    const value = headers.get(name)
    if (value === null)
      return required ? [{ check: 'header', expected: `${name} with ${status}`, actual: 'none' }] : []
    const typed = ['integer', 'number'].includes(schema.type) && value.trim() !== '' ? Number(value) : value
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
