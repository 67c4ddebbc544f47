// The search and extractive-1 run in the thread that serves all requests, so their time is linear in texts
// that users choose: four times the text takes about four times as long, not sixteen times.
import t, { type Test } from 'tap'
import { newId } from '../../infra/ids.ts'
import { selectQuotes } from '../../services/ai/extractive/answer.ts'
import { quotableRange, sentencesOf, wordsIn } from '../../services/ai/extractive/sentences.ts'
import type { WeightedWord } from '../../services/ai/search/query-words.ts'
import type { RetrievedPassage } from '../../services/ai/search/search.ts'
import { createPairWeigher } from '../../services/ai/search/word-pairs.ts'

function passage(text: string, name: string, content_type: string): RetrievedPassage {
  return {
    chunk_id: newId('chunk'),
    document_id: newId('doc'),
    workspace_id: newId('kb'),
    file_id: null,
    name,
    heading: null,
    page: null,
    start_index: 0,
    end_index: text.length,
    text,
    score: 0.8,
    metadata: {},
    revision: 1,
    content_type,
  }
}

/** Milliseconds of CPU: the least of several runs, so that other programs do not count. */
function cpuOf(work: () => unknown): number {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  })
  return Math.min(...runs)
}

/** `prepare` creates a text of a size and returns the work on it. */
function isLinear(t: Test, size: number, prepare: (size: number) => () => unknown): void {
  const [small, large] = [prepare(size), prepare(4 * size)]
  small()
  large()
  const [least, most] = [Math.max(0.5, cpuOf(small)), cpuOf(large)]
  t.comment(`${least} ms, ${most} ms`)
  t.ok(most < 9 * least, `${most} ms for four times the text of ${least} ms`)
}

/** A row of a table with the words of the question in its first and last columns. */
function rowOf(columns: number, row: number): string {
  const values = Array.from(
    { length: columns },
    (_, i) => `column${i}: ${(row * 7_919 + i) % 10_007} value${i}`,
  )
  return `harbour: alpha${row}; ${values.join('; ')}; lantern: omega${row}`
}

const terms = ['harbour', 'lantern'].map((text) => ({ text, weight: 1, known: true }))

t.test('a quote of a row of many columns: each word is matched once', (t) => {
  const [row] = sentencesOf(passage(rowOf(280, 0), 'wide.csv', 'text/csv'))
  let matched = 0
  const match = (words: Set<string>): number[] => {
    matched += words.size
    return terms.map(({ text }) => (words.has(text) ? 1 : 0))
  }
  const { start, end } = quotableRange(row, { match, weigh: ([a, b]) => a + b })
  t.match(row.passage.text.slice(start, end), /^harbour: alpha0/)
  t.ok(matched <= 4 * 282, `${matched} words for 282 columns`)
  t.ok(wordsIn(row.passage.text).size > 500)
  t.end()
})

t.test('an answer from tables of many columns', (t) => {
  isLinear(t, 70, (columns) => {
    const rows = Array.from({ length: 8 }, (_, i) => passage(rowOf(columns, i), 'wide.csv', 'text/csv'))
    return () => selectQuotes(terms, rows)
  })
  t.end()
})

t.test('an answer from one long line', (t) => {
  isLinear(t, 8_000, (length) => {
    const text = 'harbour # a 1. '.repeat(length / 15)
    return () => selectQuotes(terms, [passage(text, 'line.txt', 'text/plain')])
  })
  t.end()
})

t.test('pairs of words in a text that repeats their forms', (t) => {
  const words = ['connect', 'inform', 'connect', 'inform'].map((form, i): WeightedWord => ({
    text: form,
    forms: new Set([form]),
    terms: [],
    known: true,
    weight: 1,
    position: 1 + i * 50,
  }))
  isLinear(t, 5_000, (length) => {
    // The words of each pair are never in the order of the query.
    const tokens = [...Array(length).fill('informed'), ...Array(length).fill('connected')]
    const weighPairs = createPairWeigher(words.slice(0, 2))
    return () => weighPairs(tokens)
  })
  const weigh = createPairWeigher(words.slice(0, 2).map((word, i) => ({ ...word, position: i + 1 })))
  t.equal(weigh(['connected', 'informing']), 2, 'adjacent words')
  t.equal(weigh(['connected', 'x', 'informing']), 2, 'one word between them')
  t.equal(weigh(['connected', 'x', 'y', 'informing']), 0, 'too far apart')
  t.equal(weigh(['informing', 'connected']), 0, 'in another order')
  t.end()
})
