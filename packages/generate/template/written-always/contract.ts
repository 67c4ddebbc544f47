// The document of the contract, and the checks of values by its schemas.
import { readFileSync } from 'node:fs'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { createAjv } from './openapi/validators.ts'
import { validatesFormats } from './operations.ts'

export const document = JSON.parse(readFileSync(new URL('openapi.json', import.meta.url), 'utf8'))

/** Lists what is wrong with a value. The schema is compiled with the first value for the key. */
export type Check = (key: string, schema: () => object, value: unknown) => ErrorObject[]

/**
 * @param contract the document; schemas refer to it as `contract#/...`.
 * @param options.isText whether values are text, which is converted to the declared types in place.
 */
export function createCheck(contract: object, { isText }: { isText: boolean }): Check {
  const compiled = new Map<string, ValidateFunction>()
  const ajv = createAjv(contract, { isText, formats: validatesFormats ? undefined : {} })
  return (key, schema, value) => {
    let validate = compiled.get(key)
    if (validate === undefined) compiled.set(key, (validate = ajv.compile(schema())))
    return validate(value) ? [] : validate.errors!
  }
}
