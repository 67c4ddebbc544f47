// Validates values against the schemas of the contract. Where answers are closed, an undeclared property of
// one is a leak.
import type { ErrorObject, Format, ValidateFunction } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { visitSchemas } from '@platform-api/openapi/schema-places.ts'
import { forText, schemaForText } from '@platform-api/openapi/text-values.ts'
import { createAjv, rebased } from '@platform-api/openapi/validators.ts'
import { requestView, responseView } from '@platform-api/openapi/views.ts'
import type { Json } from '@platform-api/openapi/document.ts'
import { fieldName, keysOf, keysOfFragment, valueAt } from '@platform-api/openapi/json-pointer.ts'
import { withoutAttachments } from './forms.ts'

export interface Validation {
  /** The errors of a request value by the schema at the pointer; empty if it is valid. */
  asked(pointer: string, value: Json): ErrorObject[]
  /** The errors of a response value. */
  answered(pointer: string, value: Json): ErrorObject[]
  /** Validates the texts of a parameter, converted to the schema's types. */
  parameter(schema: Json): (value: Json) => ErrorObject[]
}

/**
 * @param closed whether an answer may have only the properties that it declares
 * @param formats the formats of texts that are validated
 */
export function createValidation(
  document: Json,
  { closed, formats = fullFormats }: { closed: boolean; formats?: Record<string, Format> },
): Validation {
  const open = validatorsOf(requestView(document), formats)
  const answers = responseView(document)
  const answered = validatorsOf(closed ? withoutAdditionalProperties(answers) : answers, formats)
  const ajv = createAjv(forText({ components: document.components }), {
    isText: true,
    formats: { ...formats, binary: true },
  })
  const parameters = new Map<Json, ValidateFunction>()
  return {
    asked: (pointer, value) => problemsOf(open(pointer), withoutAttachments(value)),
    answered: (pointer, value) => problemsOf(answered(pointer), value),
    parameter(schema) {
      if (!parameters.has(schema)) parameters.set(schema, ajv.compile(schemaForText(rebased(schema))))
      return (value) => problemsOf(parameters.get(schema)!, value)
    },
  }
}

function validatorsOf(
  document: Json,
  formats: Record<string, Format>,
): (pointer: string) => ValidateFunction {
  const ajv = createAjv(document, { isText: false, formats: { ...formats, binary: true } })
  const compiled = new Map<string, ValidateFunction>()
  return (pointer) => {
    // A media type need not have a schema.
    const schema =
      valueAt(document, keysOfFragment(pointer)) === undefined ? {} : { $ref: `contract${pointer}` }
    if (!compiled.has(pointer)) compiled.set(pointer, ajv.compile(schema))
    return compiled.get(pointer)!
  }
}

function problemsOf(validate: ValidateFunction, value: Json): ErrorObject[] {
  return validate(value) ? [] : validate.errors!
}

const combining = ['allOf', 'anyOf', 'oneOf']

/** Lets objects that list their properties have no others. Changes the document. */
function withoutAdditionalProperties(document: Json): Json {
  const partsOf = (schema: Json): Json[] => combining.flatMap((key) => schema[key] ?? [])
  const combined = new Set<Json>()
  visitSchemas(document, (schema) => partsOf(schema).forEach((part) => combined.add(part)))
  visitSchemas(document, (schema) => {
    const { properties, type, additionalProperties } = schema
    if (properties === undefined || ![type].flat().includes('object') || combined.has(schema)) return
    if (additionalProperties === undefined && partsOf(schema).length === 0)
      schema.additionalProperties = false
  })
  return document
}

/** The field that the error is about, as error messages name it; empty for the whole value. */
export function fieldOf({ instancePath, params }: ErrorObject): string {
  return fieldName([
    ...keysOf(instancePath),
    ...[params.missingProperty ?? params.additionalProperty ?? []].flat(),
  ])
}

/** The error as a sentence fragment. */
export function describe(error: ErrorObject | string): string {
  if (typeof error === 'string') return error
  const { instancePath, keyword, message, params } = error
  const more = params.additionalProperty ?? params.missingProperty
  const subject = instancePath === '' ? 'the value' : instancePath
  return `${subject} ${message ?? keyword}${more === undefined ? '' : ` (${more})`}`
}
