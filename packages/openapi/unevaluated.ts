// `unevaluatedProperties` and `unevaluatedItems` (JSON Schema 2020-12, 11.2 and 11.3). Those of Ajv do not
// count what `contains`, a lone `if` or an alternative of `anyOf` evaluates.
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { DataValidateFunction } from 'ajv/dist/types/index.js'
import { escaped, keysOfFragment, valueAt } from './json-pointer.ts'

type Json = any
type Keyword = 'unevaluatedProperties' | 'unevaluatedItems'

/**
 * Replaces the keywords of Ajv.
 * @param document where its references lead
 * @param compile makes the validator of a schema in the document
 */
export function addUnevaluated(
  ajv: Ajv2020,
  document: Json,
  compile: (schema: Json) => ValidateFunction,
): void {
  const compiled = new Map<Json, ValidateFunction>()
  // Compiled with the first value, because a schema may be inside itself.
  const validatorOf = (schema: Json): ValidateFunction => {
    if (!compiled.has(schema)) compiled.set(schema, compile(schema))
    return compiled.get(schema)!
  }
  const isValid = (schema: Json, value: Json): boolean => validatorOf(schema)(value) as boolean

  /** The keys of the value that the schema evaluates. */
  const evaluatedBy = (schema: Json, value: Json): string[] => {
    if (typeof schema !== 'object' || schema === null) return []
    const own = Array.isArray(value) ? itemsOf(schema, value) : propertiesOf(schema, value)
    return [...own, ...partsOf(schema, value).flatMap((part) => evaluatedBy(part, value))]
  }

  const itemsOf = ({ items, unevaluatedItems, prefixItems = [], contains }: Json, value: Json[]): string[] =>
    Object.keys(value).filter(
      (i) =>
        items !== undefined ||
        unevaluatedItems !== undefined ||
        Number(i) < prefixItems.length ||
        (contains !== undefined && isValid(contains, value[Number(i)])),
    )

  /** The schemas inside the schema that describe the same value and accept it. */
  const partsOf = (schema: Json, value: Json): Json[] => {
    const { $ref, allOf = [], anyOf = [], oneOf = [], dependentSchemas = {}, if: condition } = schema
    const target = $ref === undefined ? [] : [valueAt(document, keysOfFragment($ref))]
    const alternatives = [...anyOf, ...oneOf].filter((each) => isValid(each, value))
    const dependent = Object.keys(dependentSchemas).filter(
      (name) => !Array.isArray(value) && Object.hasOwn(value, name),
    )
    const chosen =
      condition === undefined ? [] : isValid(condition, value) ? [condition, schema.then] : [schema.else]
    return [
      ...target,
      ...allOf,
      ...alternatives,
      ...dependent.map((name) => dependentSchemas[name]),
      ...chosen,
    ]
  }

  const errorsOf = (
    schema: Json,
    keyword: Keyword,
    value: Json,
    key: string,
  ): Array<Partial<ErrorObject>> => {
    if (schema === true || (schema !== false && isValid(schema, value[key]))) return []
    if (schema === false) return [refusal(keyword, key)]
    const { errors } = validatorOf(schema)
    return errors!.map((error) => ({ ...error, instancePath: `/${escaped(key)}${error.instancePath}` }))
  }

  for (const [keyword, type] of [
    ['unevaluatedProperties', 'object'],
    ['unevaluatedItems', 'array'],
  ] as const) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      type,
      schemaType: ['boolean', 'object'],
      errors: 'full',
      compile(schema: Json, { [keyword]: _, ...rest }: Json) {
        const validate: DataValidateFunction = (value: Json, context) => {
          const evaluated = new Set(evaluatedBy(rest, value))
          const errors = Object.keys(value)
            .filter((key) => !evaluated.has(key))
            .flatMap((key) => errorsOf(schema, keyword, value, key))
          validate.errors = errors.map((error) => ({
            ...error,
            instancePath: context!.instancePath + (error.instancePath ?? ''),
          }))
          return errors.length === 0
        }
        return validate
      },
    })
  }
}

function propertiesOf(schema: Json, value: Json): string[] {
  const { additionalProperties, unevaluatedProperties, properties = {}, patternProperties = {} } = schema
  const patterns = Object.keys(patternProperties).map((pattern) => new RegExp(pattern, 'u'))
  return Object.keys(value).filter(
    (key) =>
      additionalProperties !== undefined ||
      unevaluatedProperties !== undefined ||
      Object.hasOwn(properties, key) ||
      patterns.some((pattern) => pattern.test(key)),
  )
}

function refusal(keyword: Keyword, key: string): Partial<ErrorObject> {
  return keyword === 'unevaluatedProperties'
    ? { keyword, message: 'must NOT have unevaluated properties', params: { unevaluatedProperty: key } }
    : { keyword, message: 'must NOT have unevaluated items', params: { unevaluatedItem: Number(key) } }
}
