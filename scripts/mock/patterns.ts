// Adds an example to every schema with a pattern and no example. The examples are deterministic.
import fc from 'fast-check'

type Json = any

/**
 * A copy of the document with an example for each pattern, because openapi-sampler does not support
 * patterns.
 */
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
