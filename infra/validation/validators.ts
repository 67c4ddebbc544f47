// The compiled validators of the contract, by their names in the table of operations.
import type { ValidateFunction } from 'ajv'
import validators from '../../generated/validators.js'
import type { Location, Problem } from '../errors.ts'
import { checkWith } from './problems.ts'

/** Adds what is wrong with the value to `problems`; fills in the spec's defaults. */
export function check(
  name: string | undefined,
  value: unknown,
  location: Location,
  problems: Problem[],
): void {
  if (name !== undefined) checkWith(validators[name] as ValidateFunction, value, location, problems)
}
