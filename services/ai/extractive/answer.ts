// The built-in model `extractive-1`: no language model. It answers with sentences of the passages that were found, quoted as
// they stand and cited, or says that there are none. The same question and passages give the same answer.
import type { components } from '../../../generated/types.ts'
import type { AskedWord } from './query-terms.ts'
import { createReader } from './fuzzy-match.ts'
import type { RetrievedPassage } from '../search/search.ts'
import { namesIn, narrowed, sentencesOf, wordsIn, type Sentence } from './sentences.ts'

/** A citation as it is kept: whether it is stale shows by the revision that its document has later. */
export type NewCitation = Omit<components['schemas']['Citation'], 'stale'> &
  Pick<RetrievedPassage, 'space_id' | 'revision'>

export type Quote = Sentence & { score: number }

export type ExtractivePiece = { delta: string } | { citation: NewCitation }

const mostQuotes = 4
/** A sentence is left out that says less than this part of what the best one says. */
const worth = 0.4
/** Two sentences that share this part of their words say the same; records, which share the names of their fields, all of them. */
const sameness = { sentence: 0.75, record: 1 }
/** What counts of the words above a sentence, and of those around it: what stands under the right heading need not repeat it. */
const context = { above: 0.5, around: 0.2 }
/** How much of a sentence's score follows from the place of its passage. */
const ofPassage = 0.3
/**
 * Below this part of what is asked, weighted by rarity, there is no answer: said by all passages together, since they are not
 * of the subject then, unless what is asked for is the name of an entry; and by the best sentence with what stands above
 * it, since it is mere chance then.
 */
const enough = { together: 0.5, sentence: 0.3 }
/** Of a question with more words, one need not say so large a part. */
const mostDemanded = 8

/**
 * What it writes, piece by piece: each quote is followed by its number in brackets, and then by its citation, whose indices
 * count UTF-16 code units of the document's text. `unread` documents are still to be read.
 */
export function* extractiveAnswer(quotes: Quote[], { unread = 0 } = {}): Generator<ExtractivePiece> {
  if (quotes.length === 0) {
    yield {
      delta: `I found nothing in the documents that bears on this.${unread === 0 ? '' : ` ${still(unread)}`} I am no language model: I only quote what the documents say.`,
    }
    return
  }
  yield {
    delta:
      quotes.length === 1
        ? 'This is what the documents say:'
        : 'These are the sentences in the documents that bear on this most:',
  }
  for (const [i, { passage, start, end, score }] of quotes.entries()) {
    const quote = passage.text.slice(start, end)
    yield { delta: `\n\n“${quote}” [${i + 1}]` }
    const { chunk_id, document_id, file_id, space_id, name, page, revision, start_index: offset } = passage
    yield {
      citation: {
        document_id,
        file_id,
        chunk_id,
        name,
        page,
        start_index: offset + start,
        end_index: offset + end,
        quote,
        score,
        space_id,
        revision,
      },
    }
  }
  yield { delta: '\n\nI am no language model: I only quote what the documents say, as it stands there.' }
}

function still(unread: number): string {
  return unread === 1
    ? 'But 1 document is still being read: ask again when it is ready.'
    : `But ${unread} documents are still being read: ask again when they are ready.`
}

interface Candidate extends Quote {
  /** The weight of what of the question it says, with what stands above it. */
  says: number
  /** Whether a name in it is asked for word by word. */
  named: boolean
}

/** None where too little of what is asked is said. `passages` come with the best first. */
export function quotesOf(asked: AskedWord[], passages: RetrievedPassage[]): Quote[] {
  const saidBy = createReader(asked)
  const weigh = (extents: number[]): number =>
    extents.reduce((sum, extent, i) => sum + asked[i].weight * extent, 0)
  const isAsked = (name: string): boolean => {
    const words = [...wordsIn(name)]
    const long = words.filter((word) => !/^[a-z]{1,3}$/.test(word))
    return (
      words.length > 0 && (long.length > 0 ? long : words).every((word) => weigh(saidBy(new Set([word]))) > 0)
    )
  }
  const demanded = demandOf(asked)
  const highest = Math.max(...passages.map(({ score }) => score), Number.EPSILON)
  let together = asked.map(() => 0)
  const candidates: Candidate[] = []
  for (const passage of passages) {
    const heading = wordsIn(passage.heading ?? '')
    const above = saidBy(new Set([...heading, ...wordsIn(passage.name)]))
    const around = saidBy(wordsIn(passage.text))
    together = together.map((extent, i) => Math.max(extent, above[i], around[i]))
    const underIt = weigh(saidBy(heading)) > 0
    for (const sentence of sentencesOf(passage)) {
      const said = saidBy(sentence.words)
      if (!underIt && weigh(said) === 0) continue
      const all = weigh(
        said.map((extent, i) => extent + Math.max(context.above * above[i], context.around * around[i])),
      )
      candidates.push({
        ...sentence,
        says: weigh(said.map((extent, i) => Math.max(extent, context.above * above[i]))),
        named: namesIn(sentence).some(isAsked),
        score: Math.min(1, all / demanded) * (1 - ofPassage + (ofPassage * passage.score) / highest),
      })
    }
  }
  const suited =
    weigh(together) >= enough.together * demanded ? candidates : candidates.filter(({ named }) => named)
  if (!suited.some(({ says }) => says >= enough.sentence * demanded)) return []
  return theBest(suited, (sentence) =>
    sentence.record ? narrowed(sentence, (text) => weigh(saidBy(wordsIn(text)))) : sentence,
  )
}

/** `partOf` gives what of a sentence to quote. */
function theBest(
  candidates: Candidate[],
  partOf: (sentence: Sentence) => { start: number; end: number },
): Quote[] {
  const quotes: Quote[] = []
  for (const { says: _says, named: _named, ...sentence } of candidates.sort((a, b) => b.score - a.score)) {
    if (quotes.length === mostQuotes || sentence.score < worth * (quotes[0]?.score ?? 0)) break
    const { start, end } = partOf(sentence)
    const quote = { ...sentence, start, end }
    const most = quote.record ? sameness.record : sameness.sentence
    if (!quotes.some((other) => overlap(other, quote) || alike(other.words, quote.words) >= most))
      quotes.push(quote)
  }
  return quotes
}

/** What all the words weigh together; beyond so many, with the square root. */
function demandOf(asked: AskedWord[]): number {
  const weights = asked.map(({ weight }) => weight).sort((a, b) => b - a)
  const sum = (some: number[]): number => some.reduce((a, b) => a + b, 0)
  const most = sum(weights.slice(0, mostDemanded))
  return most === 0 ? 0 : most * Math.sqrt(sum(weights) / most)
}

function overlap(a: Sentence, b: Sentence): boolean {
  const from = (sentence: Sentence): number => sentence.passage.start_index + sentence.start
  const to = (sentence: Sentence): number => sentence.passage.start_index + sentence.end
  return a.passage.document_id === b.passage.document_id && from(a) < to(b) && from(b) < to(a)
}

/** The part of their words that two sentences share (Jaccard). */
function alike(a: Set<string>, b: Set<string>): number {
  const both = [...a].filter((word) => b.has(word)).length
  return both / (a.size + b.size - both)
}
