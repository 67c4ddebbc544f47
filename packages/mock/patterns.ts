// Prepares a document for openapi-sampler: an example for every pattern without one, the same in each run,
// and null as the last alternative, because the first one is sampled.
import fc from 'fast-check'
import { matchingPattern } from '@platform-api/contract/values.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'
import { visitSchemas } from '@platform-api/openapi/schema-places.ts'
import { propertiesOf } from '@platform-api/openapi/views.ts'

type Json = any

/** A copy of the document. */
export function withExamples(document: Json): Json {
  const copy = structuredClone(document)
  const parts = new Set<Json>()
  visitSchemas(copy, (schema) => {
    for (const part of partsOf(schema, parts.has(schema))) parts.add(resolve(copy, part))
  })
  visitSchemas(copy, (schema) => {
    // A part may require what another part declares.
    if (!parts.has(schema)) declareRequired(copy, schema)
    if (
      typeof schema.pattern === 'string' &&
      !['example', 'examples', 'enum', 'const', 'default'].some((key) => Object.hasOwn(schema, key))
    )
      schema.examples = [matching(schema)]
    for (const key of ['oneOf', 'anyOf'])
      if (Array.isArray(schema[key]))
        schema[key].sort((a: Json, b: Json) => Number(a?.type === 'null') - Number(b?.type === 'null'))
    if (Array.isArray(schema.type))
      schema.type.sort((a: Json, b: Json) => Number(a === 'null') - Number(b === 'null'))
  })
  return copy
}

/** The schemas for the same value as the schema. */
function partsOf(schema: Json, isPart: boolean): Json[] {
  const alternatives = schema.properties === undefined && !isPart ? [] : [schema.anyOf, schema.oneOf]
  const single = [schema.not, schema.if, schema.then, schema.else]
  return [schema.allOf, ...alternatives, single, Object.values(schema.dependentSchemas ?? {})]
    .flatMap((list) => list ?? [])
    .filter((part) => typeof part === 'object')
}

/** A schema may require a property that it does not declare. */
function declareRequired(document: Json, schema: Json): void {
  const { required, additionalProperties } = schema
  if (!Array.isArray(required) || ['anyOf', 'oneOf', '$ref'].some((key) => key in schema)) return
  const declared = propertiesOf(document, schema)
  const other = typeof additionalProperties === 'object' ? additionalProperties : { type: 'string' }
  for (const name of required)
    if (declared[name] === undefined) schema.properties = { ...schema.properties, [name]: other }
}

function matching({ pattern, minLength = 0, maxLength = Infinity }: Json): string {
  const texts = fc.sample(matchingPattern(pattern), { numRuns: 50, seed: 1 }).map((text) => text.trim())
  return (
    texts.find(
      (text) =>
        text.length >= Math.max(1, minLength) &&
        text.length <= maxLength &&
        new RegExp(pattern, 'u').test(text),
    ) ?? texts[0]
  )
}
