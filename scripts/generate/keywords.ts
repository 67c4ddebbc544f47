// The keywords and formats that a schema may have.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { keysOf } from '@platform-api/openapi/json-pointer.ts'
import { createAjv } from '../compile/validators.ts'

type Json = any

/** The formats that a schema may use. */
export function knownFormats(): Set<string> {
  return new Set(Object.keys(createAjv(false).formats))
}

/**
 * Returns a function that finds unknown keywords and invalid keyword values of a schema, not of its
 * subschemas.
 */
export function createKeywordCheck(): (schema: Json) => Array<{ keyword: string; message: string }> {
  const own = createAjv(false)
  const validate = new Ajv2020().getSchema('https://json-schema.org/draft/2020-12/meta/validation')!
  const annotations = new Set([
    '$ref',
    'description',
    'title',
    'default',
    'examples',
    'deprecated',
    'readOnly',
    'writeOnly',
  ])
  return (schema) => {
    const unknown = Object.keys(schema).filter(
      (keyword) =>
        !annotations.has(keyword) && !keyword.startsWith('x-') && own.getKeyword(keyword) === false,
    )
    const wrong = validate(schema)
      ? []
      : validate.errors!.map(({ instancePath, message }) => ({ keyword: keysOf(instancePath)[0], message }))
    return [
      ...unknown.map((keyword) => ({ keyword, message: `\`${keyword}\` is not a schema keyword` })),
      ...[...new Map(wrong.map((one) => [one.keyword, one])).values()].map(({ keyword, message }) => ({
        keyword,
        message: `\`${keyword}\` ${message}`,
      })),
    ]
  }
}
