// The words of a query: finds the lexemes that each word stands for in the knowledge bases, drops stop words,
// corrects misspelled words, and weights each word by its rarity.
import * as sql from '../../../generated/sql/search.ts'
import type { SqlClient } from '../../../infra/database/database.ts'
import { orOnTimeout } from '../../../infra/database/errors.ts'
import { tokenize } from '../knowledge/tokenize.ts'
import { findInEach, type SearchScope } from './scope.ts'

/** Different words of a long query that are looked up, and of these the rarest that are ranked by. */
const maxWords = { lookedUp: 200, ranked: 32 }
/** Words of a query that are corrected, their minimum length, and the similar lexemes of each. */
const maxCorrected = 8
const minCorrectedLength = 4
const maxSimilar = 3

/** A lexeme in one knowledge base, by its id there. */
export interface Term {
  base: string
  id: number
  /** Number of chunks that contain the lexeme. */
  chunks: number
  weight: number
}

export interface WeightedWord {
  text: string
  /** The lexemes of the word in all languages. */
  forms: Set<string>
  terms: Term[]
  /** Whether the terms are the word's own; false if they are those of similar words. */
  known: boolean
  /** The inverse document frequency: the maximum that the word adds to a score. */
  weight: number
  /** Position in the query, from 1. */
  position: number
}

/** The significant words of the query, the rarest first. */
export async function findQueryWords(
  db: SqlClient,
  scope: SearchScope,
  query: string,
): Promise<WeightedWord[]> {
  const texts = [...new Set(tokenize(query))].slice(0, maxWords.lookedUp)
  const languages = ['simple', ...scope.languages]
  const rows = await findInEach(scope, (base) =>
    sql.findLexemes(db, { knowledge_base_id: base, words: texts, languages }),
  )
  const stopWords = stopWordsOf(rows, texts.length, scope.languages)
  const significant = texts.map((_, i) => i + 1).filter((n) => !stopWords.has(n))
  const rowsByWord = texts.map((): FoundLexeme[] => [])
  for (const row of rows) rowsByWord[row.n - 1].push(row)
  // A query of stop words only, such as "to be or not to be", searches for them.
  const positions = significant.length > 0 ? significant : [...stopWords]
  const words = positions.map((n) => ({
    ...toWord(rowsByWord[n - 1], scope),
    text: texts[n - 1],
    position: n,
  }))
  if (significant.length > 0) await addSimilarTerms(db, scope, words)
  return words.toSorted((a, b) => b.weight - a.weight).slice(0, maxWords.ranked)
}

/**
 * The positions of the stop words, in one language: the one that classifies the most words as stop words. A
 * stop word of one language, such as German `die`, may be significant in another.
 */
function stopWordsOf(rows: FoundLexeme[], count: number, languages: string[]): Set<number> {
  let most = new Set<number>()
  for (const language of languages) {
    const kept = new Set(rows.filter((row) => row.language === language).map(({ n }) => n))
    const stopWords = new Set(Array.from({ length: count }, (_, i) => i + 1).filter((n) => !kept.has(n)))
    if (stopWords.size > most.size) most = stopWords
  }
  return most
}

/** A lexeme of a word, and what a knowledge base has of it. */
type FoundLexeme = sql.FindLexemesRow & { base: string }

/** A lexeme that a knowledge base contains. */
type KnownLexeme = FoundLexeme & { id: number; chunks: number }

function isKnown(row: FoundLexeme): row is KnownLexeme {
  return row.id !== null
}

function toWord(rows: FoundLexeme[], scope: SearchScope): Omit<WeightedWord, 'text' | 'position'> {
  const chunksByLexeme = new Map<string, number>()
  const found = new Map<number, KnownLexeme>()
  for (const row of rows.filter(isKnown)) {
    if (!found.has(row.id)) {
      found.set(row.id, row)
      chunksByLexeme.set(row.lexeme, (chunksByLexeme.get(row.lexeme) ?? 0) + row.chunks)
    }
  }
  const terms = [...found.values()].map(({ base, id, chunks, lexeme }) => ({
    base,
    id,
    chunks,
    weight: inverseFrequency(chunksByLexeme.get(lexeme)!, scope),
  }))
  return {
    forms: new Set(rows.map(({ lexeme }) => lexeme)),
    terms,
    known: terms.length > 0,
    weight: terms.reduce((max, { weight }) => Math.max(max, weight), 0) || inverseFrequency(0, scope),
  }
}

/** The inverse document frequency of BM25. */
function inverseFrequency(chunks: number, scope: SearchScope): number {
  return Math.log(1 + (Math.max(0, scope.chunks - chunks) + 0.5) / (chunks + 0.5))
}

/**
 * Gives words without any lexeme the terms of similar lexemes, weighted by their similarity. They get none if
 * the statement takes too long, which only a knowledge base made for it can cause.
 */
async function addSimilarTerms(db: SqlClient, scope: SearchScope, words: WeightedWord[]): Promise<void> {
  const unknown = words
    .filter(({ known, text }) => !known && text.length >= minCorrectedLength)
    .slice(0, maxCorrected)
  if (unknown.length === 0) return
  const misspelled = unknown.map(({ text }) => text)
  const similar = findInEach(scope, (base) =>
    sql.findSimilarLexemes(db, { knowledge_base_id: base, words: misspelled, most: maxSimilar }),
  )
  const rows = await orOnTimeout(similar, [])
  for (const { n, lexeme, alike, base, id, chunks } of rows) {
    const word = unknown[n - 1]
    word.forms.add(lexeme)
    word.terms.push({ base, id, chunks, weight: inverseFrequency(chunks, scope) * alike })
  }
}

/**
 * Estimates how many chunks contain one of the terms: in each knowledge base those of the most frequent term,
 * as the chunks of the other terms mostly contain that one, too.
 */
export function estimateChunks(terms: Term[]): number {
  const most = new Map<string, number>()
  for (const { base, chunks } of terms) most.set(base, Math.max(chunks, most.get(base) ?? 0))
  return [...most.values()].reduce((sum, chunks) => sum + chunks, 0)
}

/** The forms that match a word of a text: the word, and its beginnings without up to three characters. */
export function matchingForms(word: string): string[] {
  const forms = [word]
  for (let length = word.length - 1; length >= Math.max(4, word.length - 3); length--)
    forms.push(word.slice(0, length))
  return forms
}

export function totalWeight(words: WeightedWord[]): number {
  return words.reduce((sum, { weight }) => sum + weight, 0)
}
