// How good retrieval by words is, with a collection in the public domain and questions about it.
import t from 'tap'
import { extractiveAnswer } from '../../services/ai/extractive.ts'
import { searchPassages } from '../../services/ai/retrieval.ts'
import { openDatabase } from '../../services/database.ts'
import { createTestDatabase } from '../support/database.ts'
import { measure, stock } from '../support/collection/library.ts'
import { questions } from '../support/collection/questions.ts'

const { url } = await createTestDatabase(t)
const db = openDatabase({ url, poolSize: 2 })
t.teardown(() => db.close())
const shelf = await stock(db)

t.test('the passage that answers is among the first five', async (t) => {
  const quality = await measure(db, shelf)
  t.ok(quality.chunks >= 150 && quality.documents >= 12 && quality.questions >= 60)
  t.ok(quality.recall[5] >= 0.85, `recall@5 is ${quality.recall[5].toFixed(3)}, missing ${quality.missed.join('; ')}`)
})

t.test('every quote stands in its document where the citation says', async (t) => {
  const texts = new Map(shelf.texts.map(({ name, text }) => [name, text]))
  let right = 0
  for (const [question, phrase] of questions) {
    const passages = await searchPassages(db, shelf.reader, { knowledgeBaseIds: [shelf.base], query: question, limit: 8 })
    const quotes = []
    for (const part of extractiveAnswer(question, passages)) if ('citation' in part) quotes.push(part.citation)
    const wrong = quotes.filter(({ name, quote, start_index: start, end_index: end }) => texts.get(name)!.slice(start, end) !== quote)
    t.same(wrong, [], question)
    if (quotes.some(({ quote }) => quote.includes(phrase))) right++
  }
  t.comment(`${right} of ${questions.length} answers quote the phrase itself`)
})
