// Validates values against the schemas of the contract. Where answers are closed, an undeclared property of
// one is a leak.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { visitSchema } from '@platform-api/openapi/schema-places.ts'
import { forText, schemaForText } from '@platform-api/openapi/text-values.ts'
import { requestView, responseView } from '@platform-api/openapi/views.ts'
import type { Json } from '@platform-api/openapi/document.ts'

export interface Validation {
  /** The errors of a request value by the schema at the pointer; empty if it is valid. */
  asked(pointer: string, value: Json): ErrorObject[]
  /** The errors of a response value. */
  answered(pointer: string, value: Json): ErrorObject[]
  /** Validates the texts of a parameter, converted to the schema's types. */
  parameter(schema: Json): (value: Json) => ErrorObject[]
}

/** @param closed whether an answer may have only the properties that it declares. */
export function createValidation(document: Json, { closed }: { closed: boolean }): Validation {
  const open = validatorsOf(requestView(document))
  const answers = responseView(document)
  const answered = validatorsOf(closed ? withoutAdditionalProperties(answers) : answers)
  const ajv = ajvOf(true)
  ajv.addSchema(forText({ components: document.components }), 'contract')
  const parameters = new Map<Json, ValidateFunction>()
  return {
    asked: (pointer, value) => problemsOf(open(pointer), value),
    answered: (pointer, value) => problemsOf(answered(pointer), value),
    parameter(schema) {
      if (!parameters.has(schema)) parameters.set(schema, ajv.compile(schemaForText(rebased(schema))))
      return (value) => problemsOf(parameters.get(schema)!, value)
    },
  }
}

function validatorsOf(document: Json): (pointer: string) => ValidateFunction {
  const ajv = ajvOf(false)
  ajv.addSchema(document, 'contract')
  const compiled = new Map<string, ValidateFunction>()
  return (pointer) => {
    if (!compiled.has(pointer)) compiled.set(pointer, ajv.compile({ $ref: `contract${pointer}` }))
    return compiled.get(pointer)!
  }
}

function ajvOf(coerce: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    ownProperties: true,
    allErrors: true,
    inlineRefs: false,
    coerceTypes: coerce && 'array',
    logger: false,
  })
  for (const [name, format] of Object.entries(fullFormats)) ajv.addFormat(name, format)
  ajv.addFormat('timezone', isTimezone)
  ajv.addFormat('binary', true)
  return ajv
}

function problemsOf(validate: ValidateFunction, value: Json): ErrorObject[] {
  return validate(value) ? [] : validate.errors!
}

/** A copy whose references lead to the document that Ajv has under the name `contract`. */
export function rebased(schema: Json): Json {
  const copy = structuredClone(schema)
  visitSchema(copy, (each) => {
    if (typeof each.$ref === 'string') each.$ref = `contract${each.$ref}`
  })
  return copy
}

const combining = ['allOf', 'anyOf', 'oneOf']

/** A copy in which objects that list their properties allow no others. */
function withoutAdditionalProperties(node: Json, combined = false): Json {
  if (Array.isArray(node)) return node.map((item) => withoutAdditionalProperties(item, combined))
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(
    Object.entries<Json>(node).map(([key, value]) => [
      key,
      withoutAdditionalProperties(value, combining.includes(key)),
    ]),
  )
  const lists =
    typeof node.properties === 'object' && node.type !== undefined && [node.type].flat().includes('object')
  if (lists && !combined && node.additionalProperties === undefined && !combining.some((key) => key in node))
    copy.additionalProperties = false
  return copy
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format()
    // Node also accepts offsets such as +01:00.
    return /^[A-Za-z]/.test(name)
  } catch {
    return false
  }
}

/** The error as a sentence fragment. */
export function describe({ instancePath, keyword, message, params }: ErrorObject): string {
  const more = params.additionalProperty ?? params.missingProperty
  const subject = instancePath === '' ? 'the value' : instancePath
  return `${subject} ${message ?? keyword}${more === undefined ? '' : ` (${more})`}`
}
