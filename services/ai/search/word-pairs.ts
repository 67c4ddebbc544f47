// Finds adjacent words of a query that are also close to each other in a text, in one pass over the text.
import { matchingForms, type WeightedWord } from './query-words.ts'

/**
 * @returns a function that sums the weights of the pairs of adjacent query words that are as close in the
 * tokens of a text as in the query, with one word more between them at most.
 */
export function createPairWeigher(words: WeightedWord[]): (tokens: string[]) => number {
  const inOrder = words.toSorted((a, b) => a.position - b.position)
  const matching = createMatcher(inOrder)
  const weightOfPair = inOrder.map((word, i) => (i === 0 ? 0 : inOrder[i - 1].weight + word.weight))
  const maxDistances = inOrder.map(({ position }, i) =>
    i === 0 ? 0 : position - inOrder[i - 1].position + 1,
  )
  return (tokens) => {
    /** The last position of each word so far. */
    const last = inOrder.map(() => -Infinity)
    const isClose = inOrder.map(() => false)
    tokens.forEach((token, at) => {
      // The last word first: a token that matches both words of a pair is not close to itself.
      for (const i of matching(token)) {
        if (i > 0 && at - last[i - 1] <= maxDistances[i]) isClose[i] = true
        last[i] = at
      }
    })
    return weightOfPair.reduce((sum, weight, i) => sum + (isClose[i] ? weight : 0), 0)
  }
}

/** @returns a function from a token to the indices of the words that it matches, the last first. */
function createMatcher(words: WeightedWord[]): (token: string) => number[] {
  const wordsByForm = new Map<string, number[]>()
  words.forEach(({ forms }, i) => {
    for (const form of forms) wordsByForm.set(form, [...(wordsByForm.get(form) ?? []), i])
  })
  const cache = new Map<string, number[]>()
  return (token) => {
    let found = cache.get(token)
    if (found === undefined) {
      found = [...new Set(matchingForms(token).flatMap((form) => wordsByForm.get(form) ?? []))]
      found.sort((a, b) => b - a)
      cache.set(token, found)
    }
    return found
  }
}
