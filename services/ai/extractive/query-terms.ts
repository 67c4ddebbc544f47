// The terms of a question: its words without stop words and question words, weighted by rarity.
import * as sql from '../../../generated/sql/search.ts'
import type { Db } from '../../../infra/database/database.ts'
import { searchConfigurations } from '../parsing/search-languages.ts'
import type { SearchResult } from '../search/search.ts'
import { foldAccents } from '../knowledge/tokenize.ts'

export interface QueryTerm {
  /** Case-foldAccents, without diacritics. */
  text: string
  /** Higher for a rarer word, highest for a word that no knowledge base contains. */
  weight: number
  /** Whether a knowledge base contains the word, in some form. */
  known: boolean
}

/**
 * Smoothing: passages without the word that are added to the count, so that a word of every passage still has
 * a weight.
 */
const smoothingPassages = 50
/** A word of one or two letters is usually a function word. */
const shortWord = /^[a-z]{1,2}$/
/** How many stop words of a language a question in it must have. */
const minStopWords = 2

/** Question words that PostgreSQL's lists of stop words lack. */
const questionWords = new Set(
  [
    'whose',
    'wer wen wem wessen wann woher wohin warum weshalb wieso wieviel wieviele womit',
    'wodurch wofür worin woran worauf wozu',
    'quoi quel quelle quels quelles quand comment pourquoi combien lequel laquelle lesquels lesquelles',
    'cuáles cuánto cuánta cuántos cuántas adónde',
    'cosa quali quando perché',
    'quais onde quanto quanta quantos quantas',
    'welke welk wanneer waar waarom hoeveel waarmee waarvoor',
    'vems när varför',
    'hvem hvilken hvilket hvilke hvornår hvorfor hvordan',
    'milloin missä mistä mihin kuinka montako paljonko',
    'откуда почему какое какие сколько чей',
    'miért melyik mennyi',
    'când unde câte',
    'nasıl niçin hangi',
  ]
    .flatMap((words) => words.split(' '))
    .map(foldAccents),
)

const languages = ['english', ...new Set(Object.values(searchConfigurations))]
/**
 * The words of a search without the stop words of the question's language and without question words. If none
 * are left, all words of the search.
 */
export async function queryTerms(db: Db, { words, chunks }: SearchResult): Promise<QueryTerm[]> {
  if (words.length === 0) return []
  const found = await sql.findStopWords(db, { words: words.map(({ text }) => text), languages })
  const stopWords = new Set(found !== undefined && found.words.length >= minStopWords ? found.words : [])
  const all = words.map(({ text, ...word }) => ({ ...word, text: foldAccents(text) }))
  const terms = all.filter(({ text }, i) => !stopWords.has(i + 1) && !questionWords.has(text))
  return (terms.length > 0 ? terms : all).map(({ text, known, chunks: matching }) => ({
    text,
    known,
    weight: weightOf(text, matching, chunks),
  }))
}

/** The inverse document frequency of BM25, smoothed. `matching` of all `chunks` contain the word. */
function weightOf(word: string, matching: number, chunks: number): number {
  return (
    (shortWord.test(word) ? 0.3 : 1) *
    Math.log(1 + (Math.max(0, chunks - matching) + smoothingPassages + 0.5) / (matching + 0.5))
  )
}
