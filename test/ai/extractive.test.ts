// extractive-1: its quotes are exact, are cited at the right place, and are relevant to the question.
import t from 'tap'
import type { QueryTerm } from '../../services/ai/extractive/query-terms.ts'
import { truncate } from '../../services/ai/chat/truncate.ts'
import {
  extractiveAnswer,
  selectQuotes,
  type ExtractivePiece,
  type NewCitation,
} from '../../services/ai/extractive/answer.ts'
import type { RetrievedPassage } from '../../services/ai/search/search.ts'
import { countTokens } from '../../services/ai/chat/token-estimate.ts'
import { foldAccents, tokenize } from '../../services/ai/knowledge/tokenize.ts'
import { newId } from '../../infra/ids.ts'

/** Passages of one document, split at `¶`. */
function passagesOf(
  text: string,
  { name = 'document.md', type = 'text/markdown', heading = null as string | null, score = 0.8 } = {},
): { text: string; passages: RetrievedPassage[] } {
  const whole = text.replaceAll('¶', '')
  const [document, base] = [newId('doc'), newId('kb')]
  let at = 0
  const passages = text.split('¶').map((part, i) => ({
    chunk_id: newId('chunk'),
    document_id: document,
    workspace_id: base,
    file_id: null,
    name,
    heading,
    page: i + 1,
    start_index: at,
    end_index: (at += part.length),
    text: part,
    score: score / (i + 1),
    metadata: {},
    revision: 3,
    content_type: type,
  }))
  return { text: whole, passages }
}

const stopWords = new Set(
  [
    'a an and are did does for have how i in is it long many much of on the to was what when',
    'where which who wo',
  ].flatMap((words) => words.split(' ')),
)

/** The terms of a question, all of the same weight. */
function termsOf(question: string, passages: RetrievedPassage[]): QueryTerm[] {
  const all = new Set(passages.flatMap(({ text }) => tokenize(text).map(foldAccents)))
  return [...new Set(tokenize(question).map(foldAccents))]
    .filter((word) => !stopWords.has(word))
    .map((text) => ({ text, weight: 1, known: all.has(text) }))
}

function readPieces(pieces: Iterable<ExtractivePiece>): { content: string; citations: NewCitation[] } {
  let content = ''
  const citations = []
  for (const piece of pieces) {
    if ('delta' in piece) content += piece.delta
    else {
      if (!content.endsWith(`“${piece.citation.quote}” [${citations.length + 1}]`))
        throw new Error(`the citation does not follow its quote: ${content}`)
      citations.push(piece.citation)
    }
  }
  return { content, citations }
}

function answer(
  question: string,
  passages: RetrievedPassage[],
): { content: string; citations: NewCitation[] } {
  return readPieces(extractiveAnswer(selectQuotes(termsOf(question, passages), passages)))
}

const events = `# Events 🕰️

Every change is an event.
Events are kept for
thirty days. After that they are removed by a job at night.

- Deliveries are tried nine times.
- A receiver has fifteen seconds.

¶| Plan | Price |
|---|---|
| Small | 10 euros |

Webhooks are signed. Events are kept for thirty days!`

t.test('the answer quotes the matching sentence exactly and cites its place', async (t) => {
  const { text, passages } = passagesOf(events)
  const { content, citations } = answer('How long are events kept?', passages)
  t.equal(citations[0].quote, 'Events are kept for\nthirty days.')
  for (const { quote, start_index: start, end_index: end } of citations)
    t.equal(text.slice(start, end), quote)
  t.match(citations[0], {
    document_id: passages[0].document_id,
    chunk_id: passages[0].chunk_id,
    file_id: null,
    name: 'document.md',
    page: 1,
    revision: 3,
  })
  t.ok(citations.every(({ score }) => score > 0 && score <= 1))
  t.notOk(content.includes('thirty days!'), 'duplicates are left out')
  t.equal(
    answer('How many seconds does a receiver have?', passages).citations[0].quote,
    'A receiver has fifteen seconds.',
    'a list item is quoted without its bullet',
  )
  t.match(answer('how many euros is small', passages).citations[0].quote, /Small \| 10 euros/)
})

t.test('an answer without a match says so, and cites nothing', async (t) => {
  const { passages } = passagesOf(events)
  for (const [question, found] of [
    ['How long?', []],
    ['submarines', passages],
    ['???', passages],
  ] as const) {
    const { content, citations } = answer(question, [...found])
    t.same(citations, [])
    t.match(content, /found nothing/)
  }
})

t.test('too weak a match counts as no match', (t) => {
  const { passages } = passagesOf(events)
  for (const question of [
    'Are dogs kept in the office?',
    'Which port does the receiver listen on?',
    'Who pays for the deliveries of the office printer?',
  ])
    t.same(answer(question, passages).citations, [], question)
  t.equal(
    answer('Are the deliveries tried at weekends or nights?', passages).citations[0].quote,
    'Deliveries are tried nine times.',
    'half of the terms are enough',
  )
  t.equal(
    answer('Which reciever?', passages).citations[0].quote,
    'A receiver has fifteen seconds.',
    'misspelled words and other forms match',
  )
  t.equal(
    answer(
      'How long does the signature hold?',
      passagesOf('It holds for five minutes.', { heading: 'Signatures' }).passages,
    ).citations.length,
    1,
    'the heading matches too',
  )
  t.end()
})

t.test('a question of many words needs fewer than half of them', (t) => {
  const { passages } = passagesOf(events)
  const unrelated = Array.from({ length: 12 }, (_, i) => `blather${i}`).join(' ')
  t.match(
    answer(`${unrelated} receiver fifteen seconds deliveries tried nine times webhooks signed`, passages)
      .citations[0]?.quote,
    /Deliveries|receiver/,
  )
  t.same(answer(`${unrelated} receiver`, passages).citations, [])
  t.end()
})

t.test('an answer without a match says how many documents are not processed yet', (t) => {
  const contentOf = (unread: number): string => readPieces(extractiveAnswer([], { unread })).content
  t.match(contentOf(1), /found nothing.*But 1 document is still being processed/)
  t.match(contentOf(7), /found nothing.*But 7 documents are still being processed/)
  t.notMatch(contentOf(0), /still/)
  t.end()
})

t.test('the same question always gets the same answer, with up to four quotes', async (t) => {
  const { passages } = passagesOf(
    Array.from(
      { length: 12 },
      (_, i) =>
        `The ${['red', 'blue', 'old', 'new', 'tall', 'wide'][i % 6]} vault number ${i} holds ` +
        `${['gold', 'silver', 'tin', 'paper'][i % 4]} for ${i} kings.`,
    ).join(' '),
  )
  const first = answer('what does the vault hold', passages)
  t.ok(first.citations.length > 1 && first.citations.length <= 4)
  t.same(answer('what does the vault hold', passages), first)
})

t.test('other word forms, misspellings and other languages match', async (t) => {
  const quoteFrom = (text: string, question: string): string | undefined =>
    answer(question, passagesOf(text).passages).citations[0]?.quote
  t.equal(
    quoteFrom('Nothing here. The committee deliberated in March.', 'When does the comittee deliberate?'),
    'The committee deliberated in March.',
  )
  t.equal(
    quoteFrom('Das Haus steht dort. Herr Müller wohnt an der Straße.', 'Wo wohnt Muller?'),
    'Herr Müller wohnt an der Straße.',
  )
  t.equal(
    quoteFrom('彼は学生です。私は東京の図書館で本を読みました。', '東京の図書館'),
    '私は東京の図書館で本を読みました。',
  )
})

t.test('overlapping passages are quoted once', async (t) => {
  const {
    text,
    passages: [passage],
  } = passagesOf('One sentence is first. The vault opens at nine. Another follows it.')
  const from = text.indexOf('The vault')
  const other = { ...passage, chunk_id: newId('chunk'), start_index: from, text: text.slice(from) }
  t.equal(answer('when does the vault open', [passage, other]).citations.length, 1)
})

t.test('a long sentence is cut between words, and never within a character', async (t) => {
  const { text, passages } = passagesOf(`The vault ${'🗝️ key '.repeat(400)}`)
  const [{ quote, start_index: start, end_index: end }] = answer('vault', passages).citations
  t.ok(quote.length <= 500 && quote.endsWith('key') && text.slice(start, end) === quote)
  const endless = passagesOf('🗝'.repeat(2000) + 'vault')
  t.doesNotThrow(() => answer('vault', endless.passages))
  const solid = answer('vault', passagesOf(`vault${'漢'.repeat(900)}`).passages).citations
  t.ok(solid.every(({ quote }) => quote.isWellFormed()))
})

t.test('a question of long words that almost match those of the passages is answered in time', async (t) => {
  const long = 'lopadotemachoselachogaleokranioleipsanodrimhypotrimmatosilphio'
  const words = (count: number, letters: number, from: number): string[] =>
    Array.from({ length: count }, (_, i) => {
      const start = [97 + ((from + i) % 26), 97 + ((from + Math.floor(i / 26)) % 26)]
      const end = [97 + (i % 25), 98 + (i % 23)]
      return `${String.fromCharCode(...start)}${long.slice(0, letters - 4)}${String.fromCharCode(...end)}`
    })
  for (const letters of [24, 60]) {
    const { passages } = passagesOf(
      words(3_000, letters, 0)
        .map((word, i) => (i % 6 === 0 ? `\n- ${word}` : word))
        .join(' '),
    )
    const startedAt = performance.now()
    answer(words(64, letters, 7).join(' '), passages)
    const took = performance.now() - startedAt
    t.comment(`${letters} letters: ${Math.round(took)} ms`)
    t.ok(took < 2_000, `${Math.round(took)} ms`)
  }
})

t.test(
  'an answer is truncated at a stop sequence or at max_tokens, and keeps the citations of complete quotes',
  (t) => {
    const { passages } = passagesOf('The red vault holds gold. The blue vault holds tin.')
    const pieces = [
      ...extractiveAnswer(selectQuotes(termsOf('What does the vault hold?', passages), passages)),
    ]
    const whole = readPieces(pieces)
    t.equal(whole.citations.length, 2)
    const cut = (options: Parameters<typeof truncate>[1]) => {
      const { pieces: kept, finishReason } = truncate(pieces, options)
      return { ...readPieces(kept), finishReason }
    }
    t.same(cut({}), { ...whole, finishReason: 'stop' })
    t.same(cut({ maxTokens: 1_000, stop: ['nowhere'] }), { ...whole, finishReason: 'stop' })
    t.match(cut({ stop: ['tin', 'blue'] }), {
      content: whole.content.slice(0, whole.content.indexOf('blue')),
      citations: [{ quote: 'The red vault holds gold.' }],
      finishReason: 'stop',
    })
    t.equal(cut({ stop: ['tin'] }).citations.length, 1)
    t.match(cut({ stop: ['\n\nI am no'] }), { content: /\[2\]$/, citations: [{}, {}] })
    t.match(cut({ stop: ['This', 'These'] }), { content: '', citations: [], finishReason: 'stop' })
    for (let maxTokens = 1; maxTokens < countTokens(whole.content); maxTokens++) {
      const { content, citations, finishReason } = cut({ maxTokens })
      t.ok(
        whole.content.startsWith(content) && countTokens(content) <= maxTokens && content.isWellFormed(),
        `${maxTokens} tokens`,
      )
      t.equal(finishReason, 'length')
      t.equal(citations.length, (content.match(/” \[\d\]/g) ?? []).length, 'only complete quotes are cited')
    }
    t.equal(cut({ maxTokens: 8, stop: ['tin'] }).finishReason, 'length', 'the first limit counts')
    t.equal(cut({ maxTokens: countTokens(whole.content) }).finishReason, 'stop')
    t.end()
  },
)

const rows = Array.from(
  { length: 9 },
  (_, i) =>
    `id: ${i}; name: ${['Ada', 'Grace', 'Alan'][i % 3]} ${i}; ` +
    `department: ${i < 5 ? 'Compilers' : 'Kernels'}; salary: ${2_000 + i}`,
)

t.test('a whole row of a table is quoted', (t) => {
  const { passages } = passagesOf(rows.join('\n'), { name: 'people.csv', type: 'text/csv' })
  const { citations } = answer('What is the salary of Grace 4?', passages)
  t.equal(citations[0].quote, rows[4])
  t.ok(citations.every(({ quote }) => rows.includes(quote)))
  const columns = Array.from({ length: 40 }, (_, i) => `column${i}: value of the column ${i}`).join('; ')
  const wide = `name: Ada; ${columns}; salary: 2100; shoes: 38`
  const [{ quote }] = answer(
    'Which salary?',
    passagesOf(wide, { name: 'wide.csv', type: 'text/csv' }).passages,
  ).citations
  t.equal(quote, 'salary: 2100', 'of a long row only the matching fields')
  t.end()
})

t.test('the smallest matching part of a JSON object is quoted', (t) => {
  const json = [
    'server › http: host: localhost; port: 8080; workers: 4; banner: Welcome to the machine',
    'plans › 1: name: Free; price: 0',
    'plans › 2: name: Team; price: 20',
    'owner: Ada; started: 1843',
  ].join('\n')
  const { passages } = passagesOf(json, { name: 'settings.json', type: 'application/json' })
  const first = (question: string): string => answer(question, passages).citations[0].quote
  t.equal(first('Which port is it?'), 'port: 8080')
  t.equal(first('How many workers, on which port?'), 'port: 8080; workers: 4')
  t.equal(
    first('What is the price of Team?'),
    'plans › 2: name: Team; price: 20',
    'an item of a list is quoted as a whole',
  )
  t.equal(
    first('the http server'),
    'server › http: host: localhost; port: 8080; workers: 4; banner: Welcome to the machine',
    'an object whose name matches is quoted as a whole',
  )
  t.equal(first('Who is the owner?'), 'owner: Ada')
  t.end()
})
