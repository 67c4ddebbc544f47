// Measures the quality of retrieval and of extractive answers with a corpus of public-domain texts.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { queryTerms } from '../../../services/ai/extractive/query-terms.ts'
import { selectQuotes, type Quote } from '../../../services/ai/extractive/answer.ts'
import { searchKnowledgeBases } from '../../../services/ai/search/search.ts'
import { detectLanguage } from '../../../services/ai/parsing/detect-language.ts'
import type { Db } from '../../../infra/database/database.ts'
import type { Principal } from '../../../services/users/authentication.ts'
import { paraphrased, paraphrasedUnanswered } from './paraphrased.ts'
import { questions, unanswered } from './questions.ts'
import { addKnowledgeBase, addDocument, addUser, toChunks } from './retrieval-fixtures.ts'

const folder = join(import.meta.dirname, 'texts')

export interface CorpusText {
  name: string
  text: string
  language: string
}

export function readCorpusTexts(): CorpusText[] {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      return { name: basename(name), text, language: detectLanguage(text) }
    })
}

export interface QuestionSet {
  answerable: Array<[question: string, phrase: string]>
  unanswerable: string[]
}

export const firstSet: QuestionSet = { answerable: questions, unanswerable: unanswered }
export const paraphrasedSet: QuestionSet = {
  answerable: paraphrased,
  unanswerable: paraphrasedUnanswered,
}

export interface RetrievalQuality {
  questions: number
  documents: number
  chunks: number
  /** Share of the questions whose passage is first, or among the first three, five or eight. */
  recall: Record<1 | 3 | 5 | 8, number>
  /** Mean reciprocal rank of the passage among the first ten. */
  meanReciprocalRank: number
  missed: string[]
}

export interface Corpus {
  reader: Principal
  base: string
  texts: CorpusText[]
}

/** Inserts the corpus into a new knowledge base. */
export async function loadCorpus(db: Db): Promise<Corpus> {
  const reader = await addUser(db)
  const base = await addKnowledgeBase(db, reader)
  const texts = readCorpusTexts()
  for (const { text, ...document } of texts) await addDocument(db, base, text, document)
  return { reader, base, texts }
}

/** Searches for every question. */
export async function measureRetrieval(
  db: Db,
  { reader, base, texts }: Corpus,
  { answerable }: QuestionSet = firstSet,
): Promise<RetrievalQuality> {
  const chunks = texts.flatMap(({ text }) => toChunks(text))
  // 0 for a passage that was not found.
  const ranks: number[] = []
  for (const [question, phrase] of answerable) {
    const matching = chunks.filter(({ text }) => text.includes(phrase)).length
    if (matching === 0 || matching > 2)
      throw new Error(`${matching} chunks contain ${JSON.stringify(phrase)}, not one or two`)
    const search = { knowledgeBaseIds: [base], query: question, limit: 10 }
    const { passages: found } = await searchKnowledgeBases(db, reader, search)
    ranks.push(1 + found.findIndex(({ text }) => text.includes(phrase)))
  }
  const recallAt = (limit: number): number =>
    ranks.filter((rank) => rank > 0 && rank <= limit).length / ranks.length
  return {
    questions: answerable.length,
    documents: texts.length,
    chunks: chunks.length,
    recall: { 1: recallAt(1), 3: recallAt(3), 5: recallAt(5), 8: recallAt(8) },
    meanReciprocalRank: ranks.reduce((sum, rank) => sum + (rank === 0 ? 0 : 1 / rank), 0) / ranks.length,
    missed: answerable.filter((_, i) => ranks[i] === 0 || ranks[i] > 5).map(([question]) => question),
  }
}

/** The quotes with which the model extractive-1 answers the question. */
export async function answerQuotes(
  db: Db,
  { reader, base }: { reader: Principal; base: string },
  question: string,
): Promise<Quote[]> {
  const found = await searchKnowledgeBases(db, reader, {
    knowledgeBaseIds: [base],
    query: question,
    limit: 8,
  })
  return selectQuotes(await queryTerms(db, found), found.passages)
}

export interface AnswerQuality {
  /** Questions whose answer quotes the right sentence, or any sentence of the right passage. */
  correct: { sentence: number; passage: number }
  /** Answerable questions with any answer. */
  answered: number
  /** Unanswerable questions without an answer. */
  unanswered: number
  /** Unanswerable questions with an answer. */
  wronglyAnswered: string[]
}

/** Asks extractive-1 every answerable and unanswerable question. */
export async function measureAnswers(
  db: Db,
  corpus: Corpus,
  { answerable, unanswerable }: QuestionSet = firstSet,
): Promise<AnswerQuality> {
  const quality: AnswerQuality = {
    correct: { sentence: 0, passage: 0 },
    answered: 0,
    unanswered: 0,
    wronglyAnswered: [],
  }
  for (const [question, phrase] of answerable) {
    const quotes = await answerQuotes(db, corpus, question)
    if (quotes.length > 0) quality.answered++
    if (quotes.some(({ passage, start, end }) => passage.text.slice(start, end).includes(phrase)))
      quality.correct.sentence++
    if (quotes.some(({ passage }) => passage.text.includes(phrase))) quality.correct.passage++
  }
  for (const question of unanswerable) {
    if ((await answerQuotes(db, corpus, question)).length === 0) quality.unanswered++
    else quality.wronglyAnswered.push(question)
  }
  return quality
}
