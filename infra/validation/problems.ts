// What a compiled validator finds wrong with a value, said for people.
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Location, Problem } from '../errors.ts'
import { TooManyProblems } from './formats.ts'
import { keysOf, valueAt } from './json-pointer.ts'

export const mostProblems = 100
/** Of an enum with more values not all are told. */
const mostListed = 12

/** Adds what is wrong with the value to `problems`; fills in the schema's defaults. */
export function checkWith(
  validate: ValidateFunction,
  value: unknown,
  location: Location,
  problems: Problem[],
): void {
  const errors = errorsOf(validate, value)
  if (errors === null) return
  const said = new Set<string>()
  const choices = new Set(
    errors
      .filter(({ keyword, params }) => keyword === 'oneOf' && params.names !== undefined)
      .map(({ instancePath }) => instancePath),
  )
  for (const error of errors) {
    // Said by the choice as a whole.
    if (choices.has(error.instancePath) && /\/oneOf\/\d+\/required$/.test(error.schemaPath)) continue
    if (problems.length >= mostProblems) return
    const problem = asProblem(error, value, location)
    const name = `${problem.constraint} ${problem.field}`
    if (!said.has(name)) problems.push(problem)
    said.add(name)
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
  const { keyword, params, message = 'is wrong' } = error
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
    return { field, constraint: keyword, message: `${field} is not known`, location }
  if (choice !== null) return { field, ...choice, location }
  if (keyword === 'enum')
    return {
      field,
      constraint: keyword,
      message: `${field} must be one of ${listed(params.allowedValues, valueAt(root, path))}`,
      location,
    }
  const said = sayings[keyword]?.(params) ?? message
  return { field, constraint: keyword, message: `${field} ${said}`, location }
}

/** What is wrong with the properties of which there is to be exactly one; null for alternatives of another kind. */
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

/** All of a few values; of more those that begin as the one that was given, which may be meant. */
function listed(values: unknown[], given: unknown): string {
  if (values.length <= mostListed) return values.join(', ')
  const text = String(given)
  const alike = (value: unknown): number =>
    [...String(value)].findIndex((character, i) => character !== text[i])
  const shared = new Map(
    values.map((value) => [value, alike(value) === -1 ? String(value).length : alike(value)]),
  )
  const some = values.toSorted((a, b) => shared.get(b)! - shared.get(a)!).slice(0, 3)
  return `${values.length} values such as ${some.join(', ')}`
}

/** What Ajv says for machines, said for people. */
const sayings: Record<string, (params: Record<string, any>) => string> = {
  oneOf: () => 'must match exactly one of the alternatives of its schema: give one, not several or none',
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

/** An empty or blank string stands for no value at all. */
function isBlank(root: unknown, path: string[]): boolean {
  const value = valueAt(root, path)
  return typeof value === 'string' && value.trim() === ''
}
