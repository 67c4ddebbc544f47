// Gives every text that has a pattern and no example one that matches, always the same.
import fc from 'fast-check'

type Json = any

/** A copy of the document in which whatever makes up values finds an example for each pattern. */
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
