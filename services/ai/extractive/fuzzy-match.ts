// Scores how well a word of a text matches a query term, from 0 to 1: the same word, another form of it (a
// stemming heuristic), or a misspelling.

/** The scores of a word with another ending, with the same beginning, and of a misspelling. */
const scores = { ending: 0.9, beginning: 0.8, spelling: 0.8 }
/** Limits on fuzzy matching, to bound the edit distances: query terms, letters per term, comparisons. */
const maxMisspelled = { terms: 16, letters: 24, comparisons: 100_000 }

/**
 * @returns a function that scores a set of words against each of the terms: its best word counts. Only terms
 * that are not `known` may be misspelled.
 */
export function createMatcher(
  terms: Array<{ text: string; known: boolean }>,
): (words: Set<string>) => number[] {
  /** The scores of each word; null if it matches no term. */
  const cache = new Map<string, number[] | null>()
  const misspelled = new Set(
    terms
      .filter(({ text, known }) => !known && text.length >= 6 && text.length <= maxMisspelled.letters)
      .slice(0, maxMisspelled.terms)
      .map(({ text }) => text),
  )
  let comparisons = 0
  const isMisspelling = (term: string, word: string): boolean => {
    const maxEdits = term.length >= 8 ? 2 : 1
    if (!misspelled.has(term) || Math.abs(term.length - word.length) > maxEdits) return false
    return ++comparisons <= maxMisspelled.comparisons && isWithinEdits(term, word, maxEdits)
  }
  const scoresOf = (word: string): number[] | null => {
    const found = terms.map(
      ({ text }) => scoreOfForm(text, word) || (isMisspelling(text, word) ? scores.spelling : 0),
    )
    return found.some((score) => score > 0) ? found : null
  }
  return (words) => {
    const best = terms.map(() => 0)
    for (const word of words) {
      let found = cache.get(word)
      if (found === undefined) cache.set(word, (found = scoresOf(word)))
      found?.forEach((score, i) => {
        best[i] = Math.max(best[i], score)
      })
    }
    return best
  }
}

/** The score of another form of the term, or 0. */
function scoreOfForm(term: string, word: string): number {
  if (term === word) return 1
  if (differsByEnding(term, word) || differsByEnding(word, term)) return scores.ending
  if (term.length < 4) return 0
  const shared = sharedPrefix(term, word)
  return shared >= 4 && shared >= 0.6 * Math.max(term.length, word.length) ? scores.beginning : 0
}

/** Whether the longer word is the shorter one with an ending that is common in many languages. */
function differsByEnding(shorter: string, longer: string): boolean {
  if (
    shorter.length < 3 ||
    longer.length <= shorter.length ||
    longer.length > shorter.length + 2 ||
    !longer.startsWith(shorter)
  )
    return false
  return (shorter.length === 3 ? /^e?s$/ : /^(?:e?s|e?d|e?n|e)$/).test(longer.slice(shorter.length))
}

function sharedPrefix(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  return i
}

// Reused, because allocating them takes longer than a comparison.
let row = new Uint8Array(maxMisspelled.letters + 4)
let nextRow = row.slice()

/**
 * Whether the edit distance (Levenshtein, 1966) of two words is at most `maxEdits`. Their lengths may differ
 * by no more. Computes only the diagonal band of the matrix (Ukkonen, 1985).
 */
function isWithinEdits(a: string, b: string, maxEdits: number): boolean {
  for (let j = 0; j <= maxEdits; j++) row[j] = j
  row[maxEdits + 1] = maxEdits + 1
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - maxEdits)
    const to = Math.min(b.length, i + maxEdits)
    nextRow[from - 1] = i <= maxEdits ? i : maxEdits + 1
    let least = nextRow[from - 1]
    for (let j = from; j <= to; j++) {
      const cost = Math.min(
        row[j] + 1,
        nextRow[j - 1] + 1,
        row[j - 1] + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1),
      )
      nextRow[j] = cost
      if (cost < least) least = cost
    }
    if (least > maxEdits) return false
    nextRow[to + 1] = maxEdits + 1
    ;[row, nextRow] = [nextRow, row]
  }
  return row[b.length] <= maxEdits
}
