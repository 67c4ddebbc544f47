// Schemas for values that are sent as text.
import { visitSchema, visitSchemas } from './schema-places.ts'

type Json = any

/**
 * A copy of the document with `anyOf` instead of `oneOf`: the text 12 is a string and also an integer, so
 * that more than one alternative may be valid.
 */
export function forText(document: Json): Json {
  const copy = structuredClone(document)
  visitSchemas(copy, allowSeveral)
  return copy
}

/** The same for a schema that is no part of a document. */
export function schemaForText(schema: Json): Json {
  const copy = structuredClone(schema)
  visitSchema(copy, allowSeveral)
  return copy
}

function allowSeveral(schema: Json): void {
  if (typeof schema.$ref === 'string') schema.$ref = schema.$ref.replaceAll('/oneOf/', '/anyOf/')
  if (!Array.isArray(schema.oneOf) || schema.anyOf !== undefined) return
  schema.anyOf = schema.oneOf
  delete schema.oneOf
}
