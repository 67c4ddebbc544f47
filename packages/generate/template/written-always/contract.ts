// The document of the contract, and the checks of values by its schemas.
import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'

export const document = JSON.parse(readFileSync(new URL('openapi.json', import.meta.url), 'utf8'))

/** Lists what is wrong with a value. The schema is compiled with the first value for the key. */
export type Check = (key: string, schema: () => object, value: unknown) => ErrorObject[]

/**
 * @param contract the document; schemas refer to it as `contract#/...`.
 * @param coerceTypes whether values are text, which is converted to the declared types in place.
 */
export function createCheck(contract: object, coerceTypes: false | 'array'): Check {
  const compiled = new Map<string, ValidateFunction>()
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    ownProperties: true,
    allErrors: true,
    inlineRefs: false,
    logger: false,
    coerceTypes,
  })
  for (const [name, format] of Object.entries(fullFormats)) ajv.addFormat(name, format)
  ajv.addSchema(contract, 'contract')
  return (key, schema, value) => {
    let validate = compiled.get(key)
    if (validate === undefined) compiled.set(key, (validate = ajv.compile(schema())))
    return validate(value) ? [] : validate.errors!
  }
}
