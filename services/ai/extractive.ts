// The built-in model `extractive-1`: no language model. It answers with sentences of the passages that were found, quoted as
// they stand and cited, or says that there are none. The same question and passages give the same answer.
import type { components } from '../../generated/types.ts'
import type { RetrievedPassage } from './retrieval.ts'
import { folded, wordsOf } from './words.ts'

/** A citation as it is kept: whether it is stale shows by the revision that its document has later. */
export type NewCitation = Omit<components['schemas']['Citation'], 'stale'> & Pick<RetrievedPassage, 'space_id' | 'revision'>

const mostQuotes = 4
/** UTF-16 code units of a quote; a longer sentence is cut at a blank. */
const longestQuote = 500
/** A sentence is left out that says less than this part of what the best one says. */
const worth = 0.4
/** Words of a question that may be misspelt, and letters of one: what is more is compared as it stands, which takes no time. */
const mostSpelt = { words: 16, letters: 24 }
/** Two sentences that share this part of their words say the same. */
const sameness = 0.75

/**
 * What it writes, piece by piece: each quote is followed by its number in brackets, and then by its citation, whose indices
 * count UTF-16 code units of the document's text. `passages` come with the best first.
 */
export function * extractiveAnswer (question: string, passages: RetrievedPassage[]): Generator<{ delta: string } | { citation: NewCitation }> {
  const quotes = choose(question, passages)
  if (quotes.length === 0) {
    yield { delta: 'I found nothing in the documents that bears on this. I am no language model: I only quote what the documents say.' }
    return
  }
  yield { delta: quotes.length === 1 ? 'This is what the documents say:' : 'These are the sentences in the documents that bear on this most:' }
  for (const [i, { passage, start, end, score }] of quotes.entries()) {
    const quote = passage.text.slice(start, end)
    yield { delta: `\n\n“${quote}” [${i + 1}]` }
    const { chunk_id, document_id, file_id, space_id, name, page, revision, start_index: offset } = passage
    yield { citation: { document_id, file_id, chunk_id, name, page, start_index: offset + start, end_index: offset + end, quote, score, space_id, revision } }
  }
  yield { delta: '\n\nI am no language model: I only quote what the documents say, as it stands there.' }
}

interface Sentence {
  passage: RetrievedPassage
  /** In the passage's text. */
  start: number
  end: number
  words: Set<string>
}

type Quote = Sentence & { score: number }

function choose (question: string, passages: RetrievedPassage[]): Quote[] {
  const asked = [...new Set(wordsOf(question).map(folded))].slice(0, 64)
  const sentences = passages.flatMap(sentencesOf)
  if (asked.length === 0 || sentences.length === 0) return []
  const saidBy = createReader(asked)
  const said = sentences.map(({ words }) => saidBy(words))
  const weights = asked.map((word, i) => rarity(word, said.filter((extents) => extents[i] > 0).length, sentences.length))
  const weigh = (extents: number[]): number => extents.reduce((sum, extent, i) => sum + weights[i] * extent, 0)
  const above = new Map(passages.map((passage) => [passage, weigh(saidBy(wordsIn(`${passage.heading ?? ''} ${passage.name}`)))]))
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const highest = Math.max(...passages.map(({ score }) => score), Number.EPSILON)
  const scored = sentences.flatMap((sentence, i) => {
    const own = weigh(said[i])
    // What stands under the right heading need not repeat it.
    const score = Math.min(1, (own + 0.3 * above.get(sentence.passage)!) / whole) * (0.4 + 0.6 * sentence.passage.score / highest)
    return own === 0 ? [] : [{ ...sentence, score }]
  })
  const quotes: Quote[] = []
  for (const sentence of scored.sort((a, b) => b.score - a.score)) {
    if (quotes.length === mostQuotes || sentence.score < worth * (quotes[0]?.score ?? 0)) break
    if (!quotes.some((quote) => overlap(quote, sentence) || alike(quote.words, sentence.words) >= sameness)) quotes.push(sentence)
  }
  return quotes
}

/** The rarer among the sentences, the more; a word that most of them have is mere grammar. */
function rarity (word: string, having: number, sentences: number): number {
  return (/^[a-z]{1,3}$/.test(word) ? 0.3 : 1) * Math.log(1 + sentences / (1 + having))
}

/** Tells to which extent, 0 to 1, a set of words says each of those asked for. */
function createReader (asked: string[]): (words: Set<string>) => number[] {
  const known = new Map<string, number[]>()
  const spelt = new Set(asked.filter(({ length }) => length >= 6 && length <= mostSpelt.letters).slice(0, mostSpelt.words))
  return (words) => {
    const most = asked.map(() => 0)
    for (const word of words) {
      let extents = known.get(word)
      if (extents === undefined) known.set(word, extents = asked.map((other) => kinship(other, word, spelt.has(other))))
      extents.forEach((extent, i) => { most[i] = Math.max(most[i], extent) })
    }
    return most
  }
}

/** 1 for the word itself, less for another form of it or, where it may be `spelt` otherwise, another spelling; 0 for none. */
function kinship (word: string, other: string, spelt: boolean): number {
  if (word === other) return 1
  if (word.length < 4) return 0
  const shared = sharedStart(word, other)
  if (shared >= 4 && shared >= 0.6 * Math.max(word.length, other.length)) return 0.8
  const most = word.length >= 8 ? 2 : 1
  return spelt && Math.abs(word.length - other.length) <= most && isNear(word, other, most) ? 0.6 : 0
}

function sharedStart (a: string, b: string): number {
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
function isNear (a: string, b: string, most: number): boolean {
  for (let j = 0; j <= most; j++) row[j] = j
  row[most + 1] = most + 1
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - most)
    const to = Math.min(b.length, i + most)
    next[from - 1] = i <= most ? i : most + 1
    let least = next[from - 1]
    for (let j = from; j <= to; j++) {
      const cost = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1))
      next[j] = cost
      if (cost < least) least = cost
    }
    if (least > most) return false
    next[to + 1] = most + 1;
    [row, next] = [next, row]
  }
  return row[b.length] <= most
}

function overlap (a: Sentence, b: Sentence): boolean {
  const from = (sentence: Sentence): number => sentence.passage.start_index + sentence.start
  const to = (sentence: Sentence): number => sentence.passage.start_index + sentence.end
  return a.passage.document_id === b.passage.document_id && from(a) < to(b) && from(b) < to(a)
}

/** The part of their words that two sentences share (Jaccard). */
function alike (a: Set<string>, b: Set<string>): number {
  const both = [...a].filter((word) => b.has(word)).length
  return both / (a.size + b.size - both)
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' })
/** Where a line begins something of its own: after an empty one, a heading, an item of a list, a row of a table. */
const breaks = /\n(?=[ \t]*(?:\n|#{1,6} |[-*+•] |\d{1,3}[.)] |\||>|```))|(?<=(?:^|\n)[ \t]*#{1,6} [^\n]*)\n/g

/** The sentences of a passage but for its headings. A line break in the middle of one is a blank. */
function sentencesOf (passage: RetrievedPassage): Sentence[] {
  const sentences: Sentence[] = []
  let from = 0
  for (const end of [...[...passage.text.matchAll(breaks)].map(({ index }) => index), passage.text.length]) {
    const block = passage.text.slice(from, end)
    if (!/^\s*(#{1,6} |```)/.test(block)) {
      for (const { segment, index } of segmenter.segment(block.replace(/\s/g, ' '))) {
        const sentence = trimmed(passage, from + index, from + index + segment.length)
        if (sentence.words.size > 0) sentences.push(sentence)
      }
    }
    from = end
  }
  return sentences
}

const before = /^(?:\s|[-*+•>|]\s|\d{1,3}[.)]\s)+/

function trimmed (passage: RetrievedPassage, start: number, end: number): Sentence {
  const text = passage.text.slice(start, end)
  const from = start + (before.exec(text)?.[0].length ?? 0)
  let to = start + text.trimEnd().length
  if (to - from > longestQuote) {
    const blank = passage.text.slice(0, from + longestQuote).search(/\s\S*$/)
    to = blank > from ? blank : from + passage.text.slice(from, from + longestQuote).replace(/[\ud800-\udbff]$/, '').length
  }
  return { passage, start: from, end: Math.max(from, to), words: wordsIn(passage.text.slice(from, Math.max(from, to))) }
}

function wordsIn (text: string): Set<string> {
  return new Set(wordsOf(text).map(folded))
}
