// Checks responses and events against the spec, undeclared fields included. Only tests and VALIDATE_RESPONSES
// use it, so its validators, a third of the generated code, are loaded on first use.
import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'

const require = createRequire(import.meta.url)
let validators: Record<string, ValidateFunction> | undefined

/** Throws when the value does not match the schema with this name in generated/replies.js. */
export function assertMatchesSchema(what: string, schema: string, value: unknown): void {
  validators ??= (require('../../generated/replies.js') as { default: Record<string, ValidateFunction> })
    .default
  const validate = validators[schema]
  if (validate(value)) return
  const [first] = validate.errors!
  const problem = `${first.instancePath} ${first.message} ${JSON.stringify(first.params)}`
  throw new Error(`${what} does not match the spec: ${problem}`)
}
