// Holding what goes out against the spec, undeclared fields included: a third of the generated code, loaded when it is first
// asked for, since only tests and a setting have a use for it.
import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'

const require = createRequire(import.meta.url)
let validators: Record<string, ValidateFunction> | undefined

/** Throws when the value is not what the schema of this name in generated/replies.js declares. */
export function hold(what: string, schema: string, value: unknown): void {
  validators ??= (require('../../generated/replies.js') as { default: Record<string, ValidateFunction> })
    .default
  const validate = validators[schema]
  if (validate(value)) return
  const [first] = validate.errors!
  throw new Error(
    `${what} breaks the spec: ${first.instancePath} ${first.message} ${JSON.stringify(first.params)}`,
  )
}
