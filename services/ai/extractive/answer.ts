// The built-in model `extractive-1`. It is not a language model: it quotes and cites sentences of the
// passages that the search found, or answers that there are none. The same question and passages always give
// the same answer.
import type { components } from '../../../generated/types.ts'
import type { QueryTerm } from './query-terms.ts'
import { createMatcher } from './fuzzy-match.ts'
import type { RetrievedPassage } from '../search/search.ts'
import { namesIn, quotableRange, sentencesOf, wordsIn, type Relevance, type Sentence } from './sentences.ts'
import { truncateText } from '../../../infra/text.ts'

/**
 * A citation with the workspace of its knowledge base, which decides who may read it even after the knowledge
 * base is deleted, and the revision of the document. A citation is stale if the document has another revision
 * now.
 */
export type NewCitation = Omit<components['schemas']['Citation'], 'stale'> &
  Pick<RetrievedPassage, 'workspace_id' | 'revision'>

export type Quote = Sentence & { score: number }

export type ExtractivePiece = { delta: string } | { citation: NewCitation }

const maxQuotes = 4
/** A sentence is left out if its score is below this part of the best score. */
const minRelativeScore = 0.4
/**
 * Sentences that share this part of their words are duplicates. Records share the names of their fields, so
 * all must match.
 */
const duplicateThreshold = { sentence: 0.75, record: 1 }
/**
 * The weight of matches in the heading and document name, and elsewhere in the passage: a sentence need not
 * repeat them.
 */
const contextWeight = { heading: 0.5, passage: 0.2 }
/** The part of a sentence's score that comes from the rank of its passage. */
const passageWeight = 0.3
/**
 * The minimum part of the question, weighted by rarity, that must match. `passages`: all passages together;
 * otherwise they are off topic, unless the question asks for the name of an entry. `sentence`: the best
 * sentence with its heading; otherwise the match is chance.
 */
const minCoverage = { passages: 0.5, sentence: 0.3 }
/**
 * UTF-16 code units of a passage that are read. Passages of ordinary words are far shorter: this bounds the
 * time for texts of long runs of signs.
 */
const maxPassageLength = 40_000
/** A question with more terms need not match to the same degree. */
const maxRequiredTerms = 8

/**
 * The pieces of the answer: each quote with its number in brackets, then its citation. The indices of a
 * citation count UTF-16 code units of the document's text. `searched`: whether there were knowledge bases to
 * search. `unread` is the number of documents that are not processed yet.
 */
export function* extractiveAnswer(
  quotes: Quote[],
  { searched = true, unread = 0 } = {},
): Generator<ExtractivePiece> {
  if (!searched) {
    yield { delta: nothingSearched }
    return
  }
  if (quotes.length === 0) {
    const hint = unread === 0 ? '' : ` ${unreadHint(unread)}`
    yield { delta: `I found nothing in the documents about this.${hint}` }
    return
  }
  yield {
    delta:
      quotes.length === 1
        ? 'This is what the documents say:'
        : 'These are the sentences in the documents that match best:',
  }
  for (const [i, { passage, start, end, score }] of quotes.entries()) {
    const quote = passage.text.slice(start, end)
    yield { delta: `\n\n“${quote}” [${i + 1}]` }
    const [start_index, end_index] = [passage.start_index + start, passage.start_index + end]
    yield { citation: citationOf(passage, { start_index, end_index, quote, score }) }
  }
}

const nothingSearched =
  'I searched no documents: this request names no knowledge base, and there is none here. ' +
  'Send `knowledge_base_ids` or `project_id` to choose what to search.'

function unreadHint(unread: number): string {
  return unread === 1
    ? 'But 1 document is still being processed: ask again when it is ready.'
    : `But ${unread} documents are still being processed: ask again when they are ready.`
}

/** A citation of a passage or of a part of it. */
export function citationOf(
  { document_id, file_id, chunk_id, name, page, workspace_id, revision }: RetrievedPassage,
  quoted: Pick<NewCitation, 'start_index' | 'end_index' | 'quote' | 'score'>,
): NewCitation {
  return { document_id, file_id, chunk_id, name, page, ...quoted, workspace_id, revision }
}

interface Candidate extends Quote {
  /** The weight of the terms that match the sentence and its heading. */
  coverage: number
  /** Whether the question contains a name of the sentence, such as the name of a field. */
  isNamed: boolean
}

/**
 * The sentences to quote, best first; none if too little of the question matches. `retrieved` comes best
 * first.
 */
export function selectQuotes(terms: QueryTerm[], retrieved: RetrievedPassage[]): Quote[] {
  const passages = retrieved.map((passage) => ({ ...passage, text: firstPart(passage.text) }))
  const match = createMatcher(terms)
  const weigh = (scores: number[]): number =>
    scores.reduce((sum, score, i) => sum + terms[i].weight * score, 0)
  const required = requiredWeight(terms)
  const { candidates, coverage } = scoreSentences(passages, { match, weigh, required })
  const relevant =
    coverage >= minCoverage.passages * required ? candidates : candidates.filter(({ isNamed }) => isNamed)
  if (!relevant.some((candidate) => candidate.coverage >= minCoverage.sentence * required)) return []
  return bestQuotes(relevant, (sentence) =>
    sentence.isRecord ? quotableRange(sentence, { match, weigh }) : sentence,
  )
}

function firstPart(text: string): string {
  return truncateText(text, maxPassageLength)
}

interface Scoring extends Relevance {
  required: number
}

/** The sentences that match at all, and the weight of the terms that match any passage. */
function scoreSentences(
  passages: RetrievedPassage[],
  { match, weigh, required }: Scoring,
): { candidates: Candidate[]; coverage: number } {
  const bestScore = Math.max(...passages.map(({ score }) => score), Number.EPSILON)
  const max = (a: number[], b: number[]): number[] => a.map((score, i) => Math.max(score, b[i]))
  const scale = (scores: number[], factor: number): number[] => scores.map((score) => factor * score)
  let matchedByAny = match(new Set())
  const candidates: Candidate[] = []
  for (const passage of passages) {
    const headingWords = wordsIn(passage.heading ?? '')
    const heading = match(new Set([...headingWords, ...wordsIn(passage.name)]))
    const whole = match(wordsIn(passage.text))
    matchedByAny = max(max(matchedByAny, heading), whole)
    const headingMatches = weigh(match(headingWords)) > 0
    const weightedHeading = scale(heading, contextWeight.heading)
    const context = max(weightedHeading, scale(whole, contextWeight.passage))
    for (const sentence of sentencesOf(passage)) {
      const matched = match(sentence.words)
      if (!headingMatches && weigh(matched) === 0) continue
      const relevance = weigh(matched.map((score, i) => score + context[i]))
      candidates.push({
        ...sentence,
        coverage: weigh(max(matched, weightedHeading)),
        isNamed: namesIn(sentence).some((name) => isAskedFor(name, { match, weigh })),
        score:
          Math.min(1, relevance / required) *
          (1 - passageWeight + (passageWeight * passage.score) / bestScore),
      })
    }
  }
  return { candidates, coverage: weigh(matchedByAny) }
}

/**
 * Whether every word of a name matches the question. Words of up to three letters count only if there are no
 * others.
 */
function isAskedFor(name: string, { match, weigh }: Relevance): boolean {
  const words = [...wordsIn(name)]
  const longWords = words.filter((word) => !/^[a-z]{1,3}$/.test(word))
  return (
    words.length > 0 &&
    (longWords.length > 0 ? longWords : words).every((word) => weigh(match(new Set([word]))) > 0)
  )
}

/** `rangeOf` returns the part of a sentence to quote. */
function bestQuotes(
  candidates: Candidate[],
  rangeOf: (sentence: Sentence) => { start: number; end: number },
): Quote[] {
  const quotes: Quote[] = []
  const sorted = candidates.sort((a, b) => b.score - a.score)
  for (const { coverage: _coverage, isNamed: _isNamed, ...sentence } of sorted) {
    if (quotes.length === maxQuotes || sentence.score < minRelativeScore * (quotes[0]?.score ?? 0)) break
    const { start, end } = rangeOf(sentence)
    const quote = { ...sentence, start, end }
    const threshold = quote.isRecord ? duplicateThreshold.record : duplicateThreshold.sentence
    if (!quotes.some((other) => overlap(other, quote) || similarity(other.words, quote.words) >= threshold))
      quotes.push(quote)
  }
  return quotes
}

/** The weight of all terms. Beyond `maxRequiredTerms` it grows with the square root only. */
function requiredWeight(terms: QueryTerm[]): number {
  const weights = terms.map(({ weight }) => weight).sort((a, b) => b - a)
  const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0)
  const main = sum(weights.slice(0, maxRequiredTerms))
  return main === 0 ? 0 : main * Math.sqrt(sum(weights) / main)
}

function overlap(a: Sentence, b: Sentence): boolean {
  const from = (sentence: Sentence): number => sentence.passage.start_index + sentence.start
  const to = (sentence: Sentence): number => sentence.passage.start_index + sentence.end
  return a.passage.document_id === b.passage.document_id && from(a) < to(b) && from(b) < to(a)
}

/** The part of their words that two sentences share (Jaccard). */
function similarity(a: Set<string>, b: Set<string>): number {
  const both = [...a].filter((word) => b.has(word)).length
  return both / (a.size + b.size - both)
}
