// What holds for every answer, whatever was asked: its status is declared and no failure, its media type, body and header fields are as the contract says.
import type { Json, Response } from './document.ts'
import { sometimes } from './exceptions.ts'
import type { Answer } from './sender.ts'
import { said, type Validation } from './validation.ts'

/** A promise of the contract that an answer breaks. `check` is one word for the kind. */
export interface Problem {
  check: string
  expected: string
  came: string
}

export function problemsOf(answer: Answer, validation: Validation): Problem[] {
  const { operation, status } = answer
  if (status >= 500 && status !== 503)
    return [
      { check: 'server-error', expected: 'no failure of the server', came: `${status} ${excerpt(answer)}` },
    ]
  const declared = operation.responses.get(status)
  // What is refused before the operation is known: another method.
  if (declared === undefined && answer.method !== operation.method && status === 405) return []
  if (declared === undefined)
    return [
      {
        check: 'undeclared-status',
        expected: `one of ${[...operation.responses.keys()].join(', ')}`,
        came: `${status} ${excerpt(answer)}`,
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
    return text === '' ? [] : [{ check: 'body', expected: `no body with ${status}`, came: excerpt(answer) }]
  const found = media.find((each) => each.type === type || each.type === '*/*')
  if (found === undefined)
    return [
      { check: 'media-type', expected: media.map((each) => each.type).join(' or '), came: String(type) },
    ]
  if (found.type !== 'application/json') return []
  if (body === undefined) return [{ check: 'media-type', expected: 'JSON', came: excerpt(answer) }]
  const [problem] = validation.answered(found.pointer, body)
  return problem === undefined
    ? []
    : [
        {
          check: problem.keyword === 'additionalProperties' ? 'leak' : 'body',
          expected: `the body of ${operation.id} ${status} as its schema says`,
          came: `${said(problem)} in ${excerpt(answer)}`,
        },
      ]
}

function headerProblems({ status, headers }: Answer, declared: Response, validation: Validation): Problem[] {
  return declared.headers.flatMap(({ name, schema, pointer }) => {
    const value = headers.get(name)
    if (value === null)
      return sometimes.has(name.toLowerCase())
        ? []
        : [{ check: 'header', expected: `${name} with ${status}`, came: 'none' }]
    const typed = ['integer', 'number'].includes(schema.type) && value.trim() !== '' ? Number(value) : value
    const [problem] = validation.answered(pointer, typed)
    return problem === undefined
      ? []
      : [{ check: 'header', expected: `${name} as its schema says`, came: `${value}: ${said(problem)}` }]
  })
}

/** An error names the request that it belongs to, as the header field does. */
function errorProblems({ status, headers, body }: Answer): Problem[] {
  const named: Json = body?.error?.details?.request_id
  if (status < 400 || named === undefined || named === headers.get('x-request-id')) return []
  return [
    {
      check: 'request-id',
      expected: `the request_id of the error in X-Request-ID: ${named}`,
      came: String(headers.get('x-request-id')),
    },
  ]
}

export function excerpt({ text }: { text: string }, most = 300): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line === '' ? 'with no body' : line.length > most ? `${line.slice(0, most)}…` : line
}
