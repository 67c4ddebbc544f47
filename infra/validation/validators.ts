// The compiled validators of the contract, by their names in generated/operations.ts.
import type { ValidateFunction } from 'ajv'
import validators from '../../generated/validators.js'
import type { Location, Problem } from '../errors.ts'
import { keysOf } from './json-pointer.ts'
import { checkWith } from './problems.ts'

/** Validates the value, adds its problems to `problems`, and fills in the spec's defaults. */
export function check(
  name: string | undefined,
  value: unknown,
  location: Location,
  problems: Problem[],
): void {
  if (name !== undefined) checkWith(validators[name] as ValidateFunction, value, location, problems)
}

/** @returns the name of the first property that is invalid, or null. */
export function invalidProperty(name: string | undefined, value: unknown): string | null {
  if (name === undefined) return null
  const validate = validators[name] as ValidateFunction
  return validate(value) ? null : keysOf(validate.errors![0].instancePath)[0]
}
