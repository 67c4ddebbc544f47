// Keyword search: BM25 (Robertson and Zaragoza, 2009) over the lexemes of all languages of the knowledge
// bases. Only a bounded number of candidate chunks is ranked: those with the rarest words, and those with
// several frequent words.
import * as sql from '../../../generated/sql/search.ts'
import type { SqlClient } from '../../../infra/database/database.ts'
import { escapeLike } from '../../../infra/database/pagination.ts'
import { foldAccents, tokenize } from '../knowledge/tokenize.ts'
import { truncateText } from '../../../infra/text.ts'
import type { ChunkReader } from './chunk-reader.ts'
import { compareRanked, rankInEach, type RankedChunk } from './fusion.ts'
import { createPairWeigher } from './word-pairs.ts'
import { matchingForms, totalWeight, type WeightedWord } from './query-words.ts'
import { filterParameters, type DocumentFilters } from './filters.ts'
import type { SearchScope } from './scope.ts'

/** Candidates in all knowledge bases together, without those of frequent words. */
const maxCandidates = 1_000
/** The best chunks that are ranked again by word pairs, and the characters of each that are compared. */
const maxReranked = 30
const maxTextLength = 20_000
const bm25 = { k1: 1.2, b: 0.75 }
/** Weight of a word in the document's name, relative to its weight in the text. */
const nameWeight = 0.4
/**
 * Weight of two adjacent words of the query that are also close in the chunk, relative to their own weights.
 */
const pairWeight = 0.25

/**
 * The best chunks first. A score is the share of the query's words, weighted by rarity, that the chunk and
 * its document's name contain.
 */
export async function rankByWords(
  db: SqlClient,
  scope: SearchScope,
  words: WeightedWord[],
  filters: DocumentFilters,
): Promise<RankedChunk[]> {
  if (words.length === 0) return []
  const namePatternsOfWords = namePatterns(words)
  const filter = filterParameters(filters)
  const isFiltered = Object.values(filter).some((parameter) => parameter !== null)
  const total = totalWeight(words)
  return await rankInEach(scope, async (base) => {
    const probes = probesOf(base, words, Math.max(100, Math.floor(maxCandidates / scope.ids.length)))
    const terms = words.flatMap((word, i) =>
      word.terms.filter((term) => term.base === base).map((term) => ({ ...term, word: i })),
    )
    const parameters = {
      knowledge_base_id: base,
      probes: probes.map(({ ids }) => `{${ids}}`),
      limits: probes.map(({ limit }) => limit),
      name_patterns: namePatternsOfWords,
      term_ids: terms.map(({ id }) => id),
      term_words: terms.map(({ word }) => word),
      term_weights: terms.map(({ weight }) => weight),
      average_tokens: scope.averageTokens,
      ...bm25,
    }
    const rows = isFiltered
      ? await sql.rankByWordsInDocuments(db, { ...parameters, ...filter })
      : await sql.rankByWords(db, parameters)
    return rows
      .map((row) => ({ ...row, score: (row.score + weightOfName(row.name, words)) / total }))
      .filter(({ score }) => score > 0)
  })
}

/** An index lookup for candidates: up to `limit` chunks that contain all of the lexemes. */
interface Probe {
  ids: number[]
  limit: number
}

/**
 * All chunks of the rarest words, until `limit` is reached. For the remaining, frequent words: chunks that
 * contain several of them, and some that contain one.
 */
function probesOf(base: string, words: WeightedWord[], limit: number): Probe[] {
  const probes: Probe[] = []
  let remaining = limit
  const frequent: number[] = []
  const own = words.flatMap((word) => {
    const terms = word.terms.filter((term) => term.base === base)
    return terms.length === 0 ? [] : [{ terms, chunks: terms.reduce((sum, { chunks }) => sum + chunks, 0) }]
  })
  for (const { terms, chunks } of own.sort((a, b) => a.chunks - b.chunks)) {
    if (chunks <= remaining) {
      remaining -= chunks
      for (const { id, chunks } of terms) probes.push({ ids: [id], limit: chunks })
    } else {
      // The most frequent form represents the word: its chunks mostly contain the other forms, too.
      frequent.push(terms.reduce((a, b) => (b.chunks > a.chunks ? b : a)).id)
    }
  }
  const few = frequent.slice(0, 5)
  if (few.length > 2) probes.push({ ids: few, limit: 300 }, { ids: few.slice(0, 3), limit: 300 })
  few.forEach((a, i) => few.slice(i + 1, 4).forEach((b) => probes.push({ ids: [a, b], limit: 150 })))
  for (const id of few.slice(0, 3))
    probes.push({ ids: [id], limit: Math.max(100, Math.floor(remaining / 3)) })
  return probes
}

/** LIKE patterns of document names that contain one of the words. */
function namePatterns(words: WeightedWord[]): string[] {
  const forms = words
    .slice(0, 8)
    .flatMap(({ forms }) => [...forms])
    .filter((form) => form.length >= 3 || /[^\p{ASCII}]{2}/u.test(form))
  return [...new Set(forms)].map((form) => `%${escapeLike(form)}%`)
}

function weightOfName(name: string, words: WeightedWord[]): number {
  const nameForms = tokenize(name).map(foldAccents).flatMap(matchingForms)
  const matched = words.filter(({ forms }) => nameForms.some((form) => forms.has(form)))
  return nameWeight * totalWeight(matched)
}

/**
 * Ranks the best chunks again, with a bonus for adjacent words of the query that are also close in the chunk.
 */
export async function rerankByPairs(
  chunks: ChunkReader,
  ranked: RankedChunk[],
  words: WeightedWord[],
): Promise<RankedChunk[]> {
  if (words.length < 2 || ranked.length < 2) return ranked
  const total = totalWeight(words)
  const best = ranked.slice(0, maxReranked)
  const texts = await chunks.read(best)
  const weighPairs = createPairWeigher(words)
  const reranked = best.map((chunk) => {
    const text = truncateText(texts.get(chunk.id)?.text ?? '', maxTextLength)
    const tokens = tokenize(foldAccents(text))
    return { ...chunk, score: chunk.score + (pairWeight * weighPairs(tokens)) / total }
  })
  return [...reranked.sort(compareRanked), ...ranked.slice(maxReranked)]
}
