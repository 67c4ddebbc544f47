// Schemas for values that are sent as text, and the validation of their alternatives.
import { _ } from 'ajv'
import type { Ajv2020, Name } from 'ajv/dist/2020.js'
import { groupBy } from './group-by.ts'
import { visitSchema, visitSchemas } from './schema-places.ts'

type Json = any

/**
 * A copy of the document with `anyOf` instead of `oneOf`: the text 12 is a string and also an integer, so
 * that more than one alternative may be valid. Constants and enums have the types of their values.
 */
export function forText(document: Json): Json {
  const copy = structuredClone(document)
  visitSchemas(copy, change)
  return copy
}

/** The same for a schema that is no part of a document. */
export function schemaForText(schema: Json): Json {
  const copy = structuredClone(schema)
  visitSchema(copy, change)
  return copy
}

/** Replaces `anyOf`: each alternative gets the value as it was sent, not as another one has converted it. */
export function addTextAlternatives(ajv: Ajv2020): void {
  ajv.removeKeyword('anyOf')
  ajv.addKeyword({
    keyword: 'anyOf',
    schemaType: 'array',
    trackErrors: true,
    error: { message: 'must match a schema in anyOf' },
    code(cxt) {
      const { gen, schema, it } = cxt
      const data = cxt.data as Name
      const whole = gen.const('whole', data)
      const sent = gen.const('sent', _`structuredClone(${data})`)
      const valid = gen.let('valid', false)
      const isChosen = gen.name('_valid')
      gen.block(() =>
        schema.forEach((_schema: Json, i: number) => {
          cxt.subschema({ keyword: 'anyOf', schemaProp: i, compositeRule: true }, isChosen)
          gen.assign(valid, isChosen)
          gen.if(_`!${valid}`)
          gen.if(
            _`typeof ${whole} == "object" && ${whole}`,
            _`Object.assign(${whole}, structuredClone(${sent}))`,
          )
          gen.assign(data, whole)
          gen.if(_`${it.parentData} !== undefined`, () =>
            gen.assign(_`${it.parentData}[${it.parentDataProperty}]`, whole),
          )
        }),
      )
      cxt.result(
        valid,
        () => cxt.reset(),
        () => cxt.error(true),
      )
    },
  })
}

function change(schema: Json): void {
  allowSeveral(schema)
  addType(schema)
}

/** Without a type, a text is not converted to the type of a constant. */
function addType(schema: Json): void {
  const { type, const: only, enum: values = only === undefined ? [] : [only] } = schema
  if (typeof type === 'string' || !Array.isArray(values) || values.length === 0) return
  const byType = groupBy(values, (value) => (value === null ? 'null' : typeof value))
  if (byType.has('object')) return
  if (byType.size === 1 || !byType.has('string')) schema.type ??= [...byType.keys()]
  else if (schema.anyOf === undefined) {
    // A text would not be converted where a text is allowed, too.
    schema.anyOf = [...byType].map(([each, own]) => ({ type: each, enum: own }))
    delete schema.type
    delete schema.enum
  }
}

function allowSeveral(schema: Json): void {
  if (typeof schema.$ref === 'string') schema.$ref = schema.$ref.replaceAll('/oneOf/', '/anyOf/')
  if (!Array.isArray(schema.oneOf) || schema.anyOf !== undefined) return
  schema.anyOf = schema.oneOf
  delete schema.oneOf
}
