// The validators of all tools: Ajv with the schemas of a document, compiled on first use.
import { Ajv2020, type Format } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { visitSchema } from './schema-places.ts'
import { addTextAlternatives } from './text-values.ts'
import { addUnevaluated } from './unevaluated.ts'
import { addUniqueItems } from './unique-items.ts'

type Json = any

/**
 * `compile({ $ref: 'contract#/components/schemas/Pet' })` makes a validator.
 * @param options.isText whether values are texts, which are converted to the types of their schemas
 */
export function createAjv(
  document: Json,
  { isText, formats = fullFormats }: { isText: boolean; formats?: Record<string, Format> },
): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    ownProperties: true,
    allErrors: true,
    inlineRefs: false,
    logger: false,
    coerceTypes: isText && 'array',
    // 19.99 / 0.01 is 1998.9999999999998.
    multipleOfPrecision: 9,
  })
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format)
  ajv.addSchema(document, 'contract')
  if (isText) addTextAlternatives(ajv)
  addUniqueItems(ajv)
  addUnevaluated(ajv, document, (schema) => ajv.compile(rebased(schema)))
  return ajv
}

/** A copy whose references lead to the document that Ajv has under the name `contract`. */
export function rebased(schema: Json): Json {
  const copy = structuredClone(schema)
  visitSchema(copy, (each) => {
    if (typeof each.$ref === 'string' && each.$ref.startsWith('#')) each.$ref = `contract${each.$ref}`
  })
  return copy
}
