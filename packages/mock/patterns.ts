// Prepares a document for openapi-sampler: an example for every pattern without one, the same in each run,
// and null as the last alternative, because the first one is sampled.
import fc from 'fast-check'

type Json = any

/** A copy of the document. */
export function withExamples(document: Json): Json {
  return walk(structuredClone(document))
}

function walk(node: Json): Json {
  if (typeof node !== 'object' || node === null) return node
  if (
    typeof node.pattern === 'string' &&
    !['example', 'examples', 'enum', 'const', 'default'].some((key) => Object.hasOwn(node, key))
  )
    node.examples = [matching(node)]
  for (const key of ['oneOf', 'anyOf'])
    if (Array.isArray(node[key]))
      node[key].sort((a: Json, b: Json) => Number(a?.type === 'null') - Number(b?.type === 'null'))
  if (Array.isArray(node.type))
    node.type.sort((a: Json, b: Json) => Number(a === 'null') - Number(b === 'null'))
  for (const value of Object.values(node)) walk(value)
  return node
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
