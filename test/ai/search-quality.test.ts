// The quality of keyword search and of extractive-1, measured with a public-domain corpus and questions.
import t from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { createTestDatabase } from '../support/database/database.ts'
import {
  measureRetrieval,
  measureAnswers,
  answerQuotes,
  loadCorpus,
} from '../../scripts/bench/retrieval/quality-corpus.ts'
import { questions, unanswered } from '../../scripts/bench/retrieval/questions.ts'

const { url } = await createTestDatabase(t)
const db = openDatabase({ url, poolSize: 2 })
t.teardown(() => db.close())
const corpus = await loadCorpus(db)

t.test('the passage with the answer is among the first five', async (t) => {
  const quality = await measureRetrieval(db, corpus)
  t.ok(quality.chunks >= 150 && quality.documents >= 12 && quality.questions >= 60)
  t.ok(
    quality.recall[5] >= 0.85,
    `recall@5 is ${quality.recall[5].toFixed(3)}, missing ${quality.missed.join('; ')}`,
  )
})

t.test('every quote is in its document at the cited place', async (t) => {
  const texts = new Map(corpus.texts.map(({ name, text }) => [name, text]))
  for (const [question] of questions) {
    const quotes = await answerQuotes(db, corpus, question)
    t.same(
      quotes.filter(
        ({ passage: { name, text, start_index: offset }, start, end }) =>
          texts.get(name)!.slice(offset + start, offset + end) !== text.slice(start, end),
      ),
      [],
      question,
    )
  }
})

// Without a minimum coverage, 58 of 90 answers had the sentence and 74 the passage, and only 6 of the 60
// unanswerable questions got no answer.
t.test('questions with an answer are answered, and questions without one are not', async (t) => {
  const {
    correct: right,
    answered,
    unanswered: refused,
    wronglyAnswered: fooled,
  } = await measureAnswers(db, corpus)
  const share = (count: number, of: number): string =>
    `${count} of ${of}, ${((100 * count) / of).toFixed(1)} %`
  t.comment(
    `answered with the exact sentence: ${share(right.sentence, questions.length)}; ` +
      `with the passage: ${share(right.passage, questions.length)}; ` +
      `at all: ${share(answered, questions.length)}`,
  )
  t.comment(
    `unanswerable questions without an answer: ${share(refused, unanswered.length)}, ` +
      `except ${fooled.join(' ')}`,
  )
  t.ok(right.sentence / questions.length >= 0.62, share(right.sentence, questions.length))
  t.ok(right.passage / questions.length >= 0.68, share(right.passage, questions.length))
  t.ok(refused / unanswered.length >= 0.75, share(refused, unanswered.length))
})
