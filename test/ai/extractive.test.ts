// extractive-1: what it quotes is there, where it says, and bears on the question.
import t from 'tap'
import { extractiveAnswer, type NewCitation } from '../../services/ai/extractive.ts'
import type { RetrievedPassage } from '../../services/ai/retrieval.ts'
import { newId } from '../../services/ids.ts'

/** Passages of one document, cut at `¶`. */
function passagesOf (text: string, { name = 'document.md', heading = null as string | null, score = 0.8 } = {}): { text: string, passages: RetrievedPassage[] } {
  const whole = text.replaceAll('¶', '')
  const [document, base] = [newId('doc'), newId('kb')]
  let at = 0
  const passages = text.split('¶').map((part, i) => ({
    chunk_id: newId('chunk'), document_id: document, space_id: base, file_id: null, name, heading, page: i + 1, start_index: at, end_index: at += part.length,
    text: part, score: score / (i + 1), metadata: {}, revision: 3
  }))
  return { text: whole, passages }
}

function answer (question: string, passages: RetrievedPassage[]): { content: string, citations: NewCitation[] } {
  let content = ''
  const citations = []
  for (const part of extractiveAnswer(question, passages)) {
    if ('delta' in part) content += part.delta
    else {
      if (!content.endsWith(`“${part.citation.quote}” [${citations.length + 1}]`)) throw new Error(`cited before it is quoted: ${content}`)
      citations.push(part.citation)
    }
  }
  return { content, citations }
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

t.test('it quotes the sentence that answers, exactly and where it stands', async (t) => {
  const { text, passages } = passagesOf(events)
  const { content, citations } = answer('How long are events kept?', passages)
  t.equal(citations[0].quote, 'Events are kept for\nthirty days.')
  for (const { quote, start_index: start, end_index: end } of citations) t.equal(text.slice(start, end), quote)
  t.match(citations[0], { document_id: passages[0].document_id, chunk_id: passages[0].chunk_id, file_id: null, name: 'document.md', page: 1, revision: 3 })
  t.ok(citations.every(({ score }) => score > 0 && score <= 1))
  t.match(content, /no language model/)
  t.notOk(content.includes('thirty days!'), 'not the same thing twice')
  t.equal(answer('How many seconds does a receiver have?', passages).citations[0].quote, 'A receiver has fifteen seconds.', 'an item without its bullet')
  t.match(answer('how many euros is small', passages).citations[0].quote, /Small \| 10 euros/)
})

t.test('it says so when nothing bears on the question, and cites nothing', async (t) => {
  const { passages } = passagesOf(events)
  for (const [question, given] of [['How long?', []], ['submarines', passages], ['???', passages]] as const) {
    const { content, citations } = answer(question, [...given])
    t.same(citations, [])
    t.match(content, /found nothing.*no language model/s)
  }
})

t.test('the same question gets the same answer, of four quotes at most', async (t) => {
  const { passages } = passagesOf(Array.from({ length: 12 }, (_, i) => `The ${['red', 'blue', 'old', 'new', 'tall', 'wide'][i % 6]} vault number ${i} holds ${['gold', 'silver', 'tin', 'paper'][i % 4]} for ${i} kings.`).join(' '))
  const first = answer('what does the vault hold', passages)
  t.ok(first.citations.length > 1 && first.citations.length <= 4)
  t.same(answer('what does the vault hold', passages), first)
})

t.test('other forms, spellings and languages are understood', async (t) => {
  const of = (text: string, question: string): string | undefined => answer(question, passagesOf(text).passages).citations[0]?.quote
  t.equal(of('Nothing here. The committee deliberated in March.', 'When does the comittee deliberate?'), 'The committee deliberated in March.')
  t.equal(of('Das Haus steht dort. Herr Müller wohnt an der Straße.', 'Wo wohnt Muller?'), 'Herr Müller wohnt an der Straße.')
  t.equal(of('彼は学生です。私は東京の図書館で本を読みました。', '東京の図書館'), '私は東京の図書館で本を読みました。')
})

t.test('passages that overlap are quoted once', async (t) => {
  const { text, passages: [passage] } = passagesOf('One sentence is first. The vault opens at nine. Another follows it.')
  const from = text.indexOf('The vault')
  const other = { ...passage, chunk_id: newId('chunk'), start_index: from, text: text.slice(from) }
  t.equal(answer('when does the vault open', [passage, other]).citations.length, 1)
})

t.test('a sentence without an end is cut at a blank, and nothing breaks it', async (t) => {
  const { text, passages } = passagesOf(`The vault ${'🗝️ key '.repeat(400)}`)
  const [{ quote, start_index: start, end_index: end }] = answer('vault', passages).citations
  t.ok(quote.length <= 500 && quote.endsWith('key') && text.slice(start, end) === quote)
  const endless = passagesOf('🗝'.repeat(2000) + 'vault')
  t.doesNotThrow(() => answer('vault', endless.passages))
  const solid = answer('vault', passagesOf(`vault${'漢'.repeat(900)}`).passages).citations
  t.ok(solid.every(({ quote }) => quote.isWellFormed()))
})

t.test('a question of long words that are all but those of the passages is answered as fast as another', async (t) => {
  const words = (count: number, letters: number, from: number): string[] =>
    Array.from({ length: count }, (_, i) => `${String.fromCharCode(97 + (from + i) % 26, 97 + (from + Math.floor(i / 26)) % 26)}${'lopadotemachoselachogaleokranioleipsanodrimhypotrimmatosilphio'.slice(0, letters - 4)}${String.fromCharCode(97 + i % 25, 98 + i % 23)}`)
  for (const letters of [24, 60]) {
    const { passages } = passagesOf(words(3_000, letters, 0).map((word, i) => i % 6 === 0 ? `\n- ${word}` : word).join(' '))
    const began = performance.now()
    answer(words(64, letters, 7).join(' '), passages)
    const took = performance.now() - began
    t.comment(`${letters} letters: ${Math.round(took)} ms`)
    t.ok(took < 1_000, `${Math.round(took)} ms`)
  }
})
