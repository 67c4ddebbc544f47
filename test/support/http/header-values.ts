// Validates the value of a response header against its schema. Header values are text.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { plain } from '../../../scripts/generate/schemas.ts'
import { formats } from '../../../infra/validation/formats.ts'

const ajv = new Ajv2020({ strict: false, coerceTypes: true, validateSchema: false })
for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format as never)
const compiled = new Map<object, ValidateFunction>()

/** The problem with the value, or null. The schema must not contain references. */
export function headerProblem(schema: object, value: string): string | null {
  let validate = compiled.get(schema)
  if (validate === undefined) compiled.set(schema, (validate = compile(schema)))
  return validate({ value }) ? null : validate.errors![0].message!
}

function compile(schema: object): ValidateFunction {
  return ajv.compile({
    type: 'object',
    properties: {
      value: plain(schema, () => {
        throw new Error('the schema of a header must not contain references')
      }),
    },
  })
}
