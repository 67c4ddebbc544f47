// Chunks of any text: whole, exact, small, along headings and sentences.
import t from 'tap'
import { chunkDocument } from '../../services/ai/parsing/chunker.ts'
import { parseMarkdown } from '../../services/ai/parsing/markdown.ts'
import type { ParsedDocument } from '../../services/ai/parsing/parsed-document.ts'
import { countTokens } from '../../services/ai/parsing/count-tokens.ts'

/** The same for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed + 1
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const words = [
  'the',
  'Events',
  'retention',
  'it’s',
  '30',
  '4,500.25',
  'naïve',
  'größer',
  'хранение',
  '請求書は保存されます。',
  '👩‍👩‍👧',
  'e\u0301',
  'x'.repeat(300),
  'foo_bar()',
  '<|endoftext|>',
  '—',
  '“so”',
  'ไม่มี',
  'ﷺ',
]
const joints = [
  ' ',
  ' ',
  ' ',
  ' ',
  '. ',
  '? ',
  '\n',
  '\n\n',
  ', ',
  '\n- ',
  '\n1. ',
  '\n| a | b |\n',
  '\t',
  '   ',
  '\n# Top\n',
  '\n## Second\n\n',
  '\n### Third\n',
  '\n```\n',
  ' '.repeat(250),
  '\u00a0',
  '\n> ',
]

function textOf(seed: number): string {
  const below = random(seed)
  return Array.from(
    { length: below(600) + 1 },
    () => words[below(words.length)] + joints[below(joints.length)],
  ).join('')
}

function problemsOf(
  structure: ParsedDocument,
  chunking: { maxTokens: number; overlapTokens: number },
): string[] {
  const { text, headings } = structure
  const { chunks } = chunkDocument(structure, chunking)
  const problems: string[] = []
  const [, second = Infinity] = [...new Set(headings.map(({ level }) => level))].sort((a, b) => a - b)
  const borders = headings.filter(({ level }) => level <= second).map(({ start }) => start)
  let covered = 0
  for (const [index, { start, end, tokens }] of chunks.entries()) {
    const chunk = text.slice(start, end)
    if (chunk.trim() !== chunk || chunk === '') problems.push('has blanks around it')
    if (!chunk.isWellFormed()) problems.push('has half a character')
    if (tokens !== countTokens(chunk)) problems.push(`has ${countTokens(chunk)} tokens, not ${tokens}`)
    if (tokens > chunking.maxTokens) problems.push('is too long')
    if (borders.some((border) => border > start && border < end)) problems.push('crosses a heading')
    if (end <= covered || (index > 0 && start < chunks[index - 1].start)) problems.push('brings nothing new')
    if (text.slice(covered, start).trim() !== '') problems.push('leaves something out')
    if (start < covered && countTokens(text.slice(start, covered)) > chunking.overlapTokens + 3)
      problems.push('repeats too much')
    covered = Math.max(covered, end)
  }
  if (text.slice(covered).trim() !== '') problems.push('the end is in none')
  return problems
}

t.test('every character of any text is in a chunk, and every chunk is as it must be', async (t) => {
  for (const chunking of [
    { maxTokens: 50, overlapTokens: 0 },
    { maxTokens: 50, overlapTokens: 25 },
    { maxTokens: 400, overlapTokens: 60 },
    { maxTokens: 2000, overlapTokens: 500 },
  ]) {
    const found = Array.from({ length: 60 }, (_, seed) =>
      problemsOf(parseMarkdown(textOf(seed)), chunking).map((problem) => `${seed}: ${problem}`),
    ).flat()
    t.same(found, [], JSON.stringify(chunking))
  }
})

const sentences = Array.from(
  { length: 60 },
  (_, index) => `Sentence number ${index} tells of the retention of events.`,
)

t.test('a chunk ends with a sentence, and begins with the last ones of the chunk before', async (t) => {
  const text = sentences.join(' ')
  const { chunks } = chunkDocument(parseMarkdown(text), { maxTokens: 100, overlapTokens: 30 })
  for (const [index, { start, end }] of chunks.entries()) {
    t.match(text.slice(start, end), /^Sentence.*\.$/)
    if (index > 0) t.ok(start < chunks[index - 1].end, 'some is there again')
  }
})

t.test('a line that is wrapped is no end of a sentence, a row is', async (t) => {
  const wrapped =
    'This is a sentence that somebody wrapped at the\nend of the line as people do in plain text files. '.repeat(
      20,
    )
  for (const { end } of chunkDocument(parseMarkdown(wrapped), { maxTokens: 60, overlapTokens: 0 }).chunks)
    t.equal(wrapped[end - 1], '.')
  const table = `| a | b |\n|---|---|\n${'| one. Two | three |\n'.repeat(50)}`
  for (const { start, end } of chunkDocument(parseMarkdown(table), { maxTokens: 60, overlapTokens: 0 })
    .chunks)
    t.match(table.slice(start, end), /^\|[^]*\|$/)
})

t.test('the heading of a chunk is the path to it, and a heading is with what follows', async (t) => {
  const text = `Before.\n\n# Events\n\n## Retention\n\n${sentences.join(' ')}\n\n### Exceptions\n\nNone.\n\n## Types\n\nMany.\n\n\`\`\`\n# no heading\n\`\`\`\n\nLimits\n======\n\nFew.`
  const { chunks } = chunkDocument(parseMarkdown(text), { maxTokens: 100, overlapTokens: 20 })
  const paths = [...new Set(chunks.map(({ heading }) => heading))]
  t.same(
    paths.filter((path) => path !== 'Events › Retention › Exceptions'),
    [null, 'Events', 'Events › Retention', 'Events › Types', 'Limits'],
  )
  for (const { start, end } of chunks) t.notMatch(text.slice(start, end), /\S\s*\n### Exceptions$/)
})
