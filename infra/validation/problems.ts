// Turns the errors of a compiled validator into problems with messages for people.
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Location, Problem } from '../errors.ts'
import { TooManyProblems } from './formats.ts'
import { keysOf, valueAt } from './json-pointer.ts'

export const maxProblems = 100
/** The message for an enum with more values shows only some of them. */
const maxListedValues = 12

/** Validates the value, adds its problems to `problems`, and fills in the schema's defaults. */
export function checkWith(
  validate: ValidateFunction,
  value: unknown,
  location: Location,
  problems: Problem[],
): void {
  const errors = errorsOf(validate, value)
  if (errors === null) return
  const reported = new Set<string>()
  const choices = new Set(
    errors
      .filter(({ keyword, params }) => keyword === 'oneOf' && params.names !== undefined)
      .map(({ instancePath }) => instancePath),
  )
  for (const error of errors) {
    // Skip errors of a branch; the `oneOf` error covers them.
    if (choices.has(error.instancePath) && /\/oneOf\/\d+\/required$/.test(error.schemaPath)) continue
    if (problems.length >= maxProblems) return
    const problem = asProblem(error, value, location)
    const name = `${problem.constraint} ${problem.field}`
    if (!reported.has(name)) problems.push(problem)
    reported.add(name)
  }
}

function errorsOf(validate: ValidateFunction, value: unknown): ErrorObject[] | null {
  try {
    return validate(value) ? null : validate.errors!
  } catch (error) {
    if (error instanceof TooManyProblems) return error.errors
    throw error
  }
}

function asProblem(error: ErrorObject, root: unknown, location: Location): Problem {
  const { keyword, params, message = 'is invalid' } = error
  const path = keysOf(error.instancePath)
  if (keyword === 'required') path.push(params.missingProperty)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty)
  if (error.propertyName !== undefined) path.push(error.propertyName)
  const choice = keyword === 'oneOf' ? choiceOf(params) : null
  if (choice?.constraint === 'required') path.push(params.names[0])
  const field =
    path.reduce(
      (text, part) =>
        /^\d+$/.test(part) && text !== '' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`,
      '',
    ) || 'body'
  const blank = keyword !== 'type' && isBlank(root, path)
  if (blank)
    return { field, constraint: 'required', message: `${field} is required and must not be blank`, location }
  if (keyword === 'required') return { field, constraint: keyword, message: `${field} is required`, location }
  if (keyword === 'additionalProperties')
    return { field, constraint: keyword, message: `Unknown field: ${field}`, location }
  if (choice !== null) return { field, ...choice, location }
  if (keyword === 'enum')
    return {
      field,
      constraint: keyword,
      message: `${field} must be one of ${listValues(params.allowedValues, valueAt(root, path))}`,
      location,
    }
  const rule = rules[keyword]?.(params) ?? message
  return { field, constraint: keyword, message: `${field} ${rule}`, location }
}

/** The problem with properties of which exactly one must be present; null for other uses of `oneOf`. */
function choiceOf({
  names,
  passingSchemas,
}: ErrorObject['params']): { constraint: string; message: string } | null {
  if (names === undefined) return null
  const list = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  if (passingSchemas === null) return { constraint: 'required', message: `${list} is required` }
  return {
    constraint: 'oneOf',
    message: `only one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)} can be given`,
  }
}

/** Lists the values. Of many values, only the three that share the longest prefix with the given one. */
function listValues(values: unknown[], given: unknown): string {
  if (values.length <= maxListedValues) return values.join(', ')
  const text = String(given)
  const firstDifference = (value: unknown): number =>
    [...String(value)].findIndex((character, i) => character !== text[i])
  const prefixLength = new Map(
    values.map((value) => {
      const difference = firstDifference(value)
      return [value, difference === -1 ? String(value).length : difference]
    }),
  )
  const closest = values.toSorted((a, b) => prefixLength.get(b)! - prefixLength.get(a)!).slice(0, 3)
  return `${values.length} values such as ${closest.join(', ')}`
}

/** Messages that replace those of Ajv. */
const rules: Record<string, (params: Record<string, any>) => string> = {
  oneOf: () => 'must match exactly one of the alternatives in its schema',
  pattern: ({ pattern, says }) =>
    says !== undefined
      ? `must be ${says}`
      : /^\^([a-z]+)_\[0-7\]/.test(pattern)
        ? `must be an id such as ${pattern.slice(1, pattern.indexOf('['))}01jd6y8m5qe8btc4y5w1r0n3fz`
        : `must match the pattern ${pattern}`,
  format: ({ format }) =>
    (
      ({
        email: 'must be an email address',
        'date-time': 'must be a time such as 2026-11-21T09:30:00Z',
        timezone: 'must be an IANA time zone such as Europe/Berlin',
      }) as Record<string, string>
    )[format] ?? `must be a ${format}`,
}

/** A blank string counts as a missing value. */
function isBlank(root: unknown, path: string[]): boolean {
  const value = valueAt(root, path)
  return typeof value === 'string' && value.trim() === ''
}
