// Checks responses and events against the spec, for tests and VALIDATE_RESPONSES.
import { replies } from './replies.ts'

/** Throws when the value does not match the schema with this name in generated/schemas.json. */
export function assertMatchesSchema(what: string, schema: string, value: unknown): void {
  const validate = replies[schema]
  if (validate(value)) return
  const [first] = validate.errors!
  const problem = `${first.instancePath} ${first.message} ${JSON.stringify(first.params)}`
  throw new Error(`${what} does not match the spec: ${problem}`)
}
