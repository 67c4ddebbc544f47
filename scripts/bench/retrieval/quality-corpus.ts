// The collection that quality is measured with: texts in the public domain and questions about them.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { detectLanguage } from '../../../services/ai/parsing/detect-language.ts'
import { askedWords } from '../../../services/ai/extractive/query-terms.ts'
import { quotesOf, type Quote } from '../../../services/ai/extractive/answer.ts'
import { searchKnowledgeBases, searchPassages } from '../../../services/ai/search/search.ts'
import type { Db } from '../../../infra/database/database.ts'
import type { Principal } from '../../../services/users/authentication.ts'
import { questions, unanswered } from './questions.ts'
import { addKnowledgeBase, addDocument, addUser, toChunks } from './retrieval-fixtures.ts'

const folder = join(import.meta.dirname, 'texts')

export interface Text {
  name: string
  text: string
  language: string
}

export function readCorpusTexts(): Text[] {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      return { name: basename(name), text, language: detectLanguage(text) }
    })
}

export interface Quality {
  questions: number
  documents: number
  chunks: number
  /** The part of the questions that have their passage among the first one, or five. */
  recall: { 1: number; 5: number }
  /** The mean of one over the place of the passage, of ten. */
  reciprocalRank: number
  missed: string[]
}

/** Puts the collection into a knowledge base. */
export async function loadCorpus(db: Db): Promise<{ reader: Principal; base: string; texts: Text[] }> {
  const reader = await addUser(db)
  const base = await addKnowledgeBase(db, reader)
  const texts = readCorpusTexts()
  for (const { text, ...document } of texts) await addDocument(db, base, text, document)
  return { reader, base, texts }
}

/** Asks every question of a collection that is in place. */
export async function measureRetrieval(
  db: Db,
  { reader, base, texts }: Awaited<ReturnType<typeof loadCorpus>>,
): Promise<Quality> {
  const chunks = texts.flatMap(({ text }) => toChunks(text))
  const places: number[] = []
  for (const [question, phrase] of questions) {
    const holding = chunks.filter(({ text }) => text.includes(phrase)).length
    if (holding === 0 || holding > 2) throw new Error(`${holding} chunks have ${JSON.stringify(phrase)}`)
    const found = await searchPassages(db, reader, { knowledgeBaseIds: [base], query: question, limit: 10 })
    places.push(1 + found.findIndex(({ text }) => text.includes(phrase)))
  }
  const within = (most: number): number =>
    places.filter((place) => place > 0 && place <= most).length / places.length
  return {
    questions: questions.length,
    documents: texts.length,
    chunks: chunks.length,
    recall: { 1: within(1), 5: within(5) },
    reciprocalRank: places.reduce((sum, place) => sum + (place === 0 ? 0 : 1 / place), 0) / places.length,
    missed: questions.filter((_, i) => places[i] === 0 || places[i] > 5).map(([question]) => question),
  }
}

/** What extractive-1 quotes. */
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
  return quotesOf(await askedWords(db, found), found.passages)
}

export interface Answers {
  /** Questions that are answered with the sentence, or any sentence of the passage, that answers them. */
  right: { sentence: number; passage: number }
  /** Questions with an answer, whatever it is, of those that the collection answers. */
  answered: number
  /** Of those that it does not answer: how many are told so, and which are not. */
  refused: number
  fooled: string[]
}

/** Asks extractive-1 every question of a collection that is in place, and those that it does not answer. */
export async function measureAnswers(
  db: Db,
  shelf: Awaited<ReturnType<typeof loadCorpus>>,
): Promise<Answers> {
  const answers: Answers = { right: { sentence: 0, passage: 0 }, answered: 0, refused: 0, fooled: [] }
  for (const [question, phrase] of questions) {
    const quotes = await answerQuotes(db, shelf, question)
    if (quotes.length > 0) answers.answered++
    if (quotes.some(({ passage, start, end }) => passage.text.slice(start, end).includes(phrase)))
      answers.right.sentence++
    if (quotes.some(({ passage }) => passage.text.includes(phrase))) answers.right.passage++
  }
  for (const question of unanswered) {
    if ((await answerQuotes(db, shelf, question)).length === 0) answers.refused++
    else answers.fooled.push(question)
  }
  return answers
}
