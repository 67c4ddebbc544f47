// How far a word of a text is one of a question: the word itself, another form of it, or, of a word that is nowhere, another
// spelling.

/** What a form counts that ends otherwise, one that begins alike, and another spelling. */
const extents = { ending: 0.9, beginning: 0.8, spelling: 0.8 }
/** Words of a question that may be misspelt, and letters of one: what is more is compared as it stands, which takes no time. */
const mostSpelt = { words: 16, letters: 24 }

/** Tells to which extent, 0 to 1, a set of words says each of those asked for; one that is `known` is not misspelt. */
export function createReader(
  asked: Array<{ text: string; known: boolean }>,
): (words: Set<string>) => number[] {
  const seen = new Map<string, number[]>()
  const spelt = new Set(
    asked
      .filter(({ text, known }) => !known && text.length >= 6 && text.length <= mostSpelt.letters)
      .slice(0, mostSpelt.words),
  )
  return (words) => {
    const most = asked.map(() => 0)
    for (const word of words) {
      let found = seen.get(word)
      if (found === undefined)
        seen.set(word, (found = asked.map((other) => kinship(other.text, word, spelt.has(other)))))
      found.forEach((extent, i) => {
        most[i] = Math.max(most[i], extent)
      })
    }
    return most
  }
}

function kinship(word: string, other: string, spelt: boolean): number {
  if (word === other) return 1
  if (isEnding(word, other) || isEnding(other, word)) return extents.ending
  if (word.length < 4) return 0
  const shared = sharedStart(word, other)
  if (shared >= 4 && shared >= 0.6 * Math.max(word.length, other.length)) return extents.beginning
  const most = word.length >= 8 ? 2 : 1
  return spelt && Math.abs(word.length - other.length) <= most && isNear(word, other, most)
    ? extents.spelling
    : 0
}

/** Whether the longer one is the shorter with an ending that many languages have. */
function isEnding(shorter: string, longer: string): boolean {
  if (
    shorter.length < 3 ||
    longer.length <= shorter.length ||
    longer.length > shorter.length + 2 ||
    !longer.startsWith(shorter)
  )
    return false
  return (shorter.length === 3 ? /^e?s$/ : /^(?:e?s|e?d|e?n|e)$/).test(longer.slice(shorter.length))
}

function sharedStart(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  return i
}

// Used again and again: to make them takes longer than to compare.
let row = new Uint8Array(mostSpelt.letters + 4)
let next = row.slice()

/**
 * Whether at most so many characters have to be inserted, removed or replaced (Levenshtein, 1966), of two words whose lengths
 * differ by no more. Only what is so near to the diagonal is looked at (Ukkonen, 1985).
 */
function isNear(a: string, b: string, most: number): boolean {
  for (let j = 0; j <= most; j++) row[j] = j
  row[most + 1] = most + 1
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - most)
    const to = Math.min(b.length, i + most)
    next[from - 1] = i <= most ? i : most + 1
    let least = next[from - 1]
    for (let j = from; j <= to; j++) {
      const cost = Math.min(
        row[j] + 1,
        next[j - 1] + 1,
        row[j - 1] + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1),
      )
      next[j] = cost
      if (cost < least) least = cost
    }
    if (least > most) return false
    next[to + 1] = most + 1
    ;[row, next] = [next, row]
  }
  return row[b.length] <= most
}
