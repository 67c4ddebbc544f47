// Prepares a document for openapi-sampler: an example for every pattern without one, the same in each run,
// and null as the last alternative, because the first one is sampled.
import fc from 'fast-check'
import { visitSchemas } from '@platform-api/openapi/schema-places.ts'

type Json = any

/** A copy of the document. */
export function withExamples(document: Json): Json {
  const copy = structuredClone(document)
  visitSchemas(copy, (schema) => {
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

function matching({ pattern, minLength = 0, maxLength = Infinity }: Json): string {
  const texts = fc
    .sample(fc.stringMatching(new RegExp(pattern, 'u')), { numRuns: 50, seed: 1 })
    .map((text) => text.trim())
  return (
    texts.find(
      (text) =>
        text.length >= Math.max(1, minLength) &&
        text.length <= maxLength &&
        new RegExp(pattern, 'u').test(text),
    ) ?? texts[0]
  )
}
