// Holds a request against the compiled validators of its operation and says everything that is wrong with it at once.
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { FastifyRequest } from 'fastify'
import validators from '../generated/validators.js'
import { invalidRequest, unsupportedMediaType, type Location, type Problem } from '../services/errors.ts'
import type { OperationInfo } from '../services/operation.ts'
import type { Form } from './form.ts'

const mostProblems = 100

export interface Input { params: unknown, query: unknown, body: unknown }

/**
 * The parts of the request, with the spec's defaults filled in.
 * Throws 400 with all problems, or 415 for a body of a type that the operation does not take.
 */
export function validate (info: OperationInfo, request: FastifyRequest, form?: Form): Input {
  const { params, query, headers } = request
  let body: unknown = form === undefined ? request.body : form.fields
  const problems: Problem[] = form === undefined ? [] : [...form.problems]
  const { validators: names } = info
  check(names.path, params, 'path', problems)
  const raw = { ...(query as Record<string, unknown>) }
  check(names.query, query, 'query', problems)
  inspectQuery(raw, query as Record<string, unknown>, request.url, problems)
  const given = { ...headers }
  check(names.header, headers, 'header', problems)
  inspectNumbers(given, headers, 'header', problems)

  if (info.body === null) {
    refuseBody(body, problems)
    body = undefined
  } else if (body === undefined && info.body.required) {
    problems.push({ field: 'body', constraint: 'required', message: 'a body is required', location: 'body' })
  } else {
    if (body !== undefined) requireMediaType(info, request)
    if (body === undefined) body = {}
    check(names.body, body, 'body', problems)
  }
  if (problems.length > 0) throw invalidRequest(problems.slice(0, mostProblems))
  return { params, query, body }
}

/** Throws 415 unless the body has a type that the operation takes. */
export function requireMediaType ({ body }: OperationInfo, request: FastifyRequest): void {
  const { contentTypes } = body!
  if (!contentTypes.includes(mediaType(request.headers['content-type']))) throw unsupportedMediaType(contentTypes)
}

/** The media type of a Content-Type without its parameters, in lower case. */
function mediaType (header: string | undefined): string {
  return (header ?? '').split(';')[0].trim().toLowerCase()
}

/** What no schema sees: text that is no text, and numbers that only a lenient reader takes for one. */
function inspectQuery (raw: Record<string, unknown>, query: Record<string, unknown>, url: string, problems: Problem[]): void {
  const broken = !isDecodable(url)
  for (const [field, text] of Object.entries(raw)) {
    if (typeof text !== 'string') continue
    if (broken || text.includes('\0')) problems.push({ field, constraint: 'well_formed', message: `${field} is not valid text`, location: 'query' })
  }
  inspectNumbers(raw, query, 'query', problems)
}

/** Coercion also takes 1e1, 0x10 and 1e400 for numbers. */
function inspectNumbers (raw: Record<string, unknown>, coerced: Record<string, unknown>, location: Location, problems: Problem[]): void {
  for (const field in coerced) {
    const value = coerced[field]
    if (typeof value !== 'number' || typeof raw[field] !== 'string') continue
    if (String(value) !== raw[field] || !Number.isSafeInteger(value)) problems.push({ field, constraint: 'type', message: `${field} must be a plain whole number`, location })
  }
}

/** Whether the percent-encoding of an address is UTF-8. The query's own parser keeps what is not as it stands. */
function isDecodable (url: string): boolean {
  if (!url.includes('%')) return true
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

/** An operation without a body ignores an empty one, and no other. */
function refuseBody (body: unknown, problems: Problem[]): void {
  if (body === undefined) return
  const keys = typeof body === 'object' && body !== null ? Object.keys(body) : ['body']
  for (const field of keys.slice(0, mostProblems)) problems.push({ field, constraint: 'additionalProperties', message: `${field} is not known`, location: 'body' })
}

function check (name: string | undefined, value: unknown, location: Location, problems: Problem[]): void {
  if (name === undefined) return
  const validator = validators[name] as ValidateFunction
  if (validator(value)) return
  const said = new Set<string>()
  for (const error of validator.errors!) {
    if (problems.length >= mostProblems) return
    const problem = asProblem(error, value, location)
    const name = `${problem.constraint} ${problem.field}`
    if (!said.has(name)) problems.push(problem)
    said.add(name)
  }
}

function asProblem (error: ErrorObject, root: unknown, location: Location): Problem {
  const { keyword, params, message = 'is wrong' } = error
  const path = error.instancePath.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') path.push(params.missingProperty)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty)
  if (error.propertyName !== undefined) path.push(error.propertyName)
  const field = path.reduce((text, part) => /^\d+$/.test(part) && text !== '' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`, '') || 'body'
  const blank = keyword !== 'type' && isBlank(root, path)
  if (blank) return { field, constraint: 'required', message: `${field} is required and must not be blank`, location }
  if (keyword === 'required') return { field, constraint: keyword, message: `${field} is required`, location }
  if (keyword === 'additionalProperties') return { field, constraint: keyword, message: `${field} is not known`, location }
  if (keyword === 'enum') return { field, constraint: keyword, message: `${field} must be one of ${params.allowedValues.join(', ')}`, location }
  const said = sayings[keyword]?.(params) ?? message
  return { field, constraint: keyword, message: `${field} ${said}`, location }
}

/** What Ajv says for machines, said for people. */
const sayings: Record<string, (params: Record<string, any>) => string> = {
  oneOf: () => 'must match exactly one of the alternatives of its schema: give one, not several or none',
  pattern: ({ pattern }) => /^\^([a-z]+)_\[0-7\]/.test(pattern) ? `must be an id such as ${pattern.slice(1, pattern.indexOf('['))}01jd6y8m5qe8btc4y5w1r0n3fz` : `must match the pattern ${pattern}`,
  format: ({ format }) => ({
    email: 'must be an email address', 'date-time': 'must be a time such as 2026-11-21T09:30:00Z', timezone: 'must be an IANA time zone such as Europe/Berlin'
  } as Record<string, string>)[format] ?? `must be a ${format}`
}

/** An empty or blank string stands for no value at all. */
function isBlank (root: unknown, path: string[]): boolean {
  const value = path.reduce<any>((at, part) => at?.[part], root)
  return typeof value === 'string' && value.trim() === ''
}
