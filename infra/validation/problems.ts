// Turns the errors of a compiled validator into problems with messages for people.
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Location, Problem } from '../errors.ts'
import { isObject } from './strict-json.ts'
import { TooManyProblems } from './formats.ts'
import { fieldName, keysOf, valueAt } from './json-pointer.ts'

export const maxProblems = 100
/** The message for an enum with more values shows only the closest. */
const maxListedValues = 20

/** Validates the value, adds its problems to `problems`, and fills in the schema's defaults. */
export function checkWith(
  validate: ValidateFunction,
  value: unknown,
  location: Location,
  problems: Problem[],
): void {
  const errors = errorsOf(validate, value)
  if (errors === null) return
  const missing = requiredNulls(errors, validate, value)
  const reported = new Set<string>()
  const choices = new Set(
    errors
      .filter(({ keyword, params }) => keyword === 'oneOf' && params.names !== undefined)
      .map(({ instancePath }) => instancePath),
  )
  for (const error of errors) {
    // The errors of `then` say what is wrong.
    if (error.keyword === 'if') continue
    if (choices.has(error.instancePath) && isCovered(error, value)) continue
    if (problems.length >= maxProblems) return
    const problem = asProblem(missing.has(error) ? asMissing(error) : error, value, location)
    const name = `${problem.constraint} ${problem.field}`
    if (!reported.has(name)) problems.push(problem)
    reported.add(name)
  }
}

/** Whether another error covers the error about a choice: that of its `oneOf`, or that it is no object. */
function isCovered({ keyword, schemaPath, instancePath }: ErrorObject, value: unknown): boolean {
  if (/\/oneOf\/\d+\/required$/.test(schemaPath)) return true
  return keyword === 'oneOf' && !isObject(valueAt(value, keysOf(instancePath)))
}

function errorsOf(validate: ValidateFunction, value: unknown): ErrorObject[] | null {
  try {
    return validate(value) ? null : validate.errors!
  } catch (error) {
    if (error instanceof TooManyProblems) return error.errors
    throw error
  }
}

/**
 * The errors about a null in place of a required value: those that become `required` errors when the nulls
 * are removed.
 */
function requiredNulls(errors: ErrorObject[], validate: ValidateFunction, value: unknown): Set<ErrorObject> {
  const nulls = errors.filter(
    ({ keyword, instancePath }) =>
      keyword === 'type' && instancePath !== '' && valueAt(value, keysOf(instancePath)) === null,
  )
  if (nulls.length === 0) return new Set()
  const without = structuredClone(value)
  for (const { instancePath } of nulls) {
    const keys = keysOf(instancePath)
    const parent = valueAt(without, keys.slice(0, -1))
    if (!Array.isArray(parent)) delete (parent as Record<string, unknown>)[keys.at(-1)!]
  }
  const required = new Set(
    (errorsOf(validate, without) ?? [])
      .filter(({ keyword }) => keyword === 'required')
      .map(({ instancePath, params }) => [...keysOf(instancePath), params.missingProperty].join('/')),
  )
  return new Set(nulls.filter(({ instancePath }) => required.has(keysOf(instancePath).join('/'))))
}

/** The error about a null as one about a missing property. */
function asMissing(error: ErrorObject): ErrorObject {
  const end = error.instancePath.lastIndexOf('/')
  return {
    ...error,
    keyword: 'required',
    instancePath: error.instancePath.slice(0, end),
    params: { missingProperty: keysOf(error.instancePath).at(-1) },
  }
}

function asProblem(error: ErrorObject, root: unknown, location: Location): Problem {
  const { keyword, params, message = 'is invalid' } = error
  const path = keysOf(error.instancePath)
  if (keyword === 'required') path.push(params.missingProperty)
  if (keyword === 'dependentRequired') path.push(params.property)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty)
  if (error.propertyName !== undefined) path.push(error.propertyName)
  const choice = keyword === 'oneOf' ? choiceOf(params) : null
  if (choice !== null) path.push(params.names[params.passingSchemas?.[1] ?? 0])
  // A value of a repeated parameter is named like the parameter.
  const named =
    location === 'query' ? path.filter((key, i) => !isIndex(key, valueAt(root, path.slice(0, i)))) : path
  const field = fieldName(named) || 'body'
  const blank = (keyword !== 'type' || location === 'query') && isBlank(root, path)
  if (blank) {
    const message =
      location === 'query'
        ? `${field} must not be empty: leave it out instead`
        : `${field} is required and must not be blank`
    return { field, constraint: 'required', message, location }
  }
  if (keyword === 'required') return { field, constraint: keyword, message: `${field} is required`, location }
  if (keyword === 'additionalProperties')
    return {
      field,
      constraint: keyword,
      message: `Unknown ${location === 'query' ? 'parameter' : 'field'}: ${field}`,
      location,
    }
  if (keyword === 'type' && location === 'query' && Array.isArray(valueAt(root, path)))
    return { field, constraint: keyword, message: `${field} can be given only once`, location }
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

function isIndex(key: string, parent: unknown): boolean {
  return Array.isArray(parent) && /^\d+$/.test(key)
}

/** The problem with properties of which exactly one must be present; null for other uses of `oneOf`. */
function choiceOf({
  names,
  passingSchemas,
}: ErrorObject['params']): { constraint: string; message: string } | null {
  if (names === undefined) return null
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  return passingSchemas === null
    ? { constraint: 'required', message: `exactly one of ${list} is required` }
    : { constraint: 'oneOf', message: `only one of ${list} can be given` }
}

/** Lists the values. Of many values, only the three that share the longest prefix with the given one. */
function listValues(values: unknown[], given: unknown): string {
  if (values.length <= maxListedValues) {
    const others = values.filter((value) => value !== null)
    return `${others.join(', ')}${others.length < values.length ? ' or null' : ''}`
  }
  const text = String(given).toLowerCase()
  const firstDifference = (value: unknown): number =>
    [...String(value)].findIndex((character, i) => character !== text[i])
  const prefixLength = new Map(
    values.map((value) => {
      const difference = firstDifference(value)
      return [value, difference === -1 ? String(value).length : difference]
    }),
  )
  const closest = values.toSorted((a, b) => prefixLength.get(b)! - prefixLength.get(a)!).slice(0, 3)
  return `${values.length} values; the closest are ${closest.join(', ')}`
}

/** Messages that replace those of Ajv. */
const rules: Record<string, (params: Record<string, any>) => string> = {
  type: ({ type }) => `must be ${[type].flat().map(nameOfType).join(' or ')}`,
  minimum: ({ limit, range }) => (range === undefined ? `must be at least ${limit}` : between(range)),
  maximum: ({ limit, range }) => (range === undefined ? `must be at most ${limit}` : between(range)),
  minLength: ({ limit }) => `must have at least ${counted(limit, 'character')}`,
  maxLength: ({ limit }) => `must have at most ${counted(limit, 'character')}`,
  minItems: ({ limit }) => `needs at least ${counted(limit, 'item')}`,
  maxItems: ({ limit }) => `must have at most ${counted(limit, 'item')}`,
  minProperties: ({ limit }) => `needs at least ${counted(limit, 'field')}`,
  maxProperties: ({ limit }) => `must have at most ${counted(limit, 'field')}`,
  dependentRequired: ({ missingProperty }) => `requires ${missingProperty}`,
  uniqueItems: () => 'contains the same value twice',
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
        uri: 'must be an absolute URL such as https://example.com',
        'date-time': 'must be a time such as 2026-11-21T09:30:00Z',
        timezone: 'must be an IANA time zone such as Europe/Berlin',
      }) as Record<string, string>
    )[format] ?? `must be a ${format}`,
}

const typeNames: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

function nameOfType(type: string): string {
  return typeNames[type] ?? type
}

function between([least, most]: [number, number]): string {
  return `must be between ${least} and ${most}`
}

function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}

/** A blank string counts as a missing value. */
function isBlank(root: unknown, path: string[]): boolean {
  const value = valueAt(root, path)
  return typeof value === 'string' && value.trim() === ''
}
