// Validates a request with the compiled validators of its operation. An error lists all problems at once.
import type { FastifyRequest } from 'fastify'
import {
  invalidRequest,
  notFound,
  unsupportedMediaType,
  type Location,
  type Problem,
} from '../../infra/errors.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { collectObjects } from '../../infra/validation/query-objects.ts'
import { maxProblems } from '../../infra/validation/problems.ts'
import { check, invalidProperty } from '../../infra/validation/validators.ts'
import type { Form } from './multipart.ts'
import { truncateText } from '../../infra/text.ts'

export interface Input {
  params: unknown
  query: unknown
  body: unknown
}

/**
 * The parts of the request, with the spec's defaults filled in.
 * Throws 400 with all problems, or 415 for a media type that the operation does not accept.
 */
export function validate(info: OperationInfo, request: FastifyRequest, form?: Form): Input {
  const { params, query, headers } = request
  let body: unknown = form === undefined ? request.body : form.fields
  const problems: Problem[] = form === undefined ? [] : [...form.problems]
  const { validators: names } = info
  const raw = { ...(query as Record<string, unknown>) }
  collectObjects(query as Record<string, unknown>, info.queryObjects ?? [])
  check(names.query, query, 'query', problems)
  checkQueryText(raw, query as Record<string, unknown>, request.url, problems)
  if (raw.cursor !== undefined && raw.page !== undefined) problems.push(cursorWithPage)
  const given = { ...headers }
  check(names.header, headers, 'header', problems)
  checkNumbers(given, headers, 'header', problems)

  if (info.body === null) {
    refuseBody(body, problems)
    body = undefined
  } else if (body === undefined && info.body.required) {
    problems.push(missingBody(info))
  } else {
    if (body !== undefined) requireMediaType(info, request)
    if (body === undefined) body = {}
    // The handler parses a raw body itself, after it has verified the signature.
    if (form !== undefined) checkForm(names.form, form, problems)
    else if (info.body.raw !== true) checkBody(info, body, problems)
    if (takesFields(info)) checkFieldText(body as Record<string, unknown>, problems)
  }
  if (problems.length > 0) throw invalidRequest(problems.slice(0, maxProblems))
  requirePossiblePath(info, params as Record<string, string>)
  return { params, query, body }
}

/** Names what the body must have. */
function missingBody({ validators: names, body }: OperationInfo): Problem {
  const problems: Problem[] = []
  if (body!.contentTypes.includes('application/json')) check(names.body, {}, 'body', problems)
  const required = problems
    .filter(({ constraint }) => constraint === 'required')
    .map(({ message }) => message.replace(/ is required$/, ''))
  const message =
    required.length === 0
      ? 'A request body is required.'
      : `A JSON body with ${required.join(', ')} is required.`
  return { field: 'body', constraint: 'required', message, location: 'body' }
}

/** A field that the update does not accept has a message of its own: it is known, but cannot be changed. */
function checkBody(
  { validators: names, fixedFields = [] }: OperationInfo,
  body: unknown,
  problems: Problem[],
): void {
  const found: Problem[] = []
  check(names.body, body, 'body', found)
  for (const problem of found) {
    const { field, constraint } = problem
    const fixed = constraint === 'additionalProperties' && fixedFields.includes(field)
    problems.push(fixed ? { ...problem, message: `${field} cannot be changed here` } : problem)
  }
}

/** Fields that are missing before the file may come after it. */
function checkForm(name: string | undefined, { fields, file }: Form, problems: Problem[]): void {
  const found: Problem[] = []
  check(name, fields, 'body', found)
  const isLate = ({ field, constraint }: Problem): boolean =>
    file !== null && constraint === 'required' && fields[field.split(/[.[]/)[0]] === undefined
  problems.push(...found.filter((problem) => !isLate(problem)))
}

const cursorWithPage: Problem = {
  field: 'cursor',
  constraint: 'exclusive',
  message: 'cursor cannot be combined with page: leave page out',
  location: 'query',
}

/** Throws 404 for an id that cannot exist, as handlers do for one that does not. */
function requirePossiblePath({ validators: names }: OperationInfo, params: Record<string, unknown>): void {
  const invalid = invalidProperty(names.path, params)
  if (invalid !== null)
    throw notFound(`resource with this ${invalid}:`, truncateText(String(params[invalid]), 100))
}

/** Throws 415 unless the operation accepts the media type of the body. */
export function requireMediaType({ body }: OperationInfo, request: FastifyRequest): void {
  const { contentTypes } = body!
  if (!contentTypes.includes(mediaType(request.headers['content-type'])))
    throw unsupportedMediaType(contentTypes)
}

/** Whether the handler reads the body while it arrives. A JSON body is always read first. */
export function isStreamed({ body }: OperationInfo, { headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return (
    body?.streamed === true &&
    !(
      body.contentTypes.includes('application/json') &&
      mediaType(headers['content-type']) === 'application/json'
    )
  )
}

/** The media type of an HTML form without a file. */
export const fieldsType = 'application/x-www-form-urlencoded'

export function takesFields({ body }: OperationInfo): boolean {
  return body?.contentTypes.includes(fieldsType) === true
}

/** Node uses the first of two Content-Type headers, but a proxy may have used the second. */
export function hasTwoContentTypes({ raw }: FastifyRequest): boolean {
  return raw.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'content-type').length > 1
}

/** The media type of a Content-Type without its parameters, in lower case. */
function mediaType(header: string | undefined): string {
  return (header ?? '').split(';')[0].trim().toLowerCase()
}

/**
 * Checks that no schema can express: text that is not valid UTF-8 or contains NUL, and numbers in odd
 * notations.
 */
function checkQueryText(
  raw: Record<string, unknown>,
  query: Record<string, unknown>,
  url: string,
  problems: Problem[],
): void {
  const malformed = !isDecodable(url)
  for (const [field, value] of Object.entries(raw)) {
    if (malformed || [field, value].flat().some((text) => String(text).includes('\0')))
      problems.push({
        field,
        constraint: 'well_formed',
        message: `${field} is not valid text`,
        location: 'query',
      })
  }
  checkNumbers(raw, query, 'query', problems)
}

/** PostgreSQL stores no NUL. The parser of JSON refuses it. */
function checkFieldText(fields: Record<string, unknown>, problems: Problem[]): void {
  for (const [field, value] of Object.entries(fields))
    if (String(value).includes('\0'))
      problems.push({
        field,
        constraint: 'well_formed',
        message: `${field} is not valid text`,
        location: 'body',
      })
}

/** Refuses 1e1, 0x10, 1.50 and 1e400, which coercion would accept. */
function checkNumbers(
  raw: Record<string, unknown>,
  coerced: Record<string, unknown>,
  location: Location,
  problems: Problem[],
): void {
  for (const field in coerced) {
    const value = coerced[field]
    if (typeof value !== 'number' || typeof raw[field] !== 'string') continue
    const isWhole = Number.isInteger(value)
    const isExact = isWhole ? Number.isSafeInteger(value) : Number.isFinite(value)
    if (isExact && String(value) === raw[field]) continue
    const message = `${field} must be a plain ${isWhole ? 'whole ' : ''}number`
    problems.push({ field, constraint: 'type', message, location })
  }
}

/** Whether the percent-encoding of a URL is UTF-8. The query parser passes other bytes through. */
function isDecodable(url: string): boolean {
  if (!url.includes('%')) return true
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

/** An operation without a body accepts an empty one. */
function refuseBody(body: unknown, problems: Problem[]): void {
  if (body === undefined) return
  const keys = typeof body === 'object' && body !== null ? Object.keys(body) : ['body']
  for (const field of keys.slice(0, maxProblems))
    problems.push({
      field,
      constraint: 'additionalProperties',
      message: `Unknown field: ${field}`,
      location: 'body',
    })
}
