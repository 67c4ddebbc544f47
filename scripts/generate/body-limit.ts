// The size limit of a JSON body, which follows from its schema.
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

/** Bytes of a body with long texts, and of a signed one. Other bodies have the limit of the HTTP layer. */
export const longTextBytes = 1024 * 1024
/** Characters of a string from which it is a long text. */
const longTextLength = 8_000

/** Values of a batch (`x-batch`), which has the size of a body with long texts. */
export const batchValues = 30_000

/** @returns undefined for a body without long texts. */
export function maxBodyBytes(document: Json, schema: Json): number | undefined {
  return hasLongText(document, schema, new Set()) ? longTextBytes : undefined
}

function hasLongText(document: Json, node: Json, seen: Set<Json>): boolean {
  const schema = resolve(document, node)
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return false
  seen.add(schema)
  return (
    isLongText(schema) || subschemasOf(schema).some((subschema) => hasLongText(document, subschema, seen))
  )
}

function isLongText({ type, enum: values, const: value, format, pattern, maxLength }: Json): boolean {
  if (![type].flat().includes('string') || values !== undefined || value !== undefined) return false
  return maxLength === undefined ? format === undefined && pattern === undefined : maxLength > longTextLength
}

function subschemasOf({
  properties = {},
  additionalProperties,
  items,
  allOf = [],
  anyOf = [],
  oneOf = [],
}: Json): Json[] {
  return [...Object.values(properties), additionalProperties, items, ...allOf, ...anyOf, ...oneOf]
}
