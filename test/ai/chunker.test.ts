// Chunks: complete, with exact token counts and within their limits, divided at headings and sentences.
import { countTokens as referenceCount } from 'gpt-tokenizer/encoding/o200k_base'
import t from 'tap'
import { chunkDocument } from '../../services/ai/parsing/chunker.ts'
import { parseMarkdown } from '../../services/ai/parsing/markdown.ts'
import type { ParsedDocument } from '../../services/ai/parsing/parsed-document.ts'
import { countTokens } from '../../services/ai/parsing/count-tokens.ts'

/** A pseudorandom generator with a seed. */
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
const separators = [
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

function randomText(seed: number): string {
  const below = random(seed)
  return Array.from(
    { length: below(600) + 1 },
    () => words[below(words.length)] + separators[below(separators.length)],
  ).join('')
}

function problemsOf(
  document: ParsedDocument,
  chunking: { maxTokens: number; overlapTokens: number },
): string[] {
  const { text, headings } = document
  const { chunks } = chunkDocument(document, chunking)
  const problems: string[] = []
  const [, second = Infinity] = [...new Set(headings.map(({ level }) => level))].sort((a, b) => a - b)
  const borders = headings.filter(({ level }) => level <= second).map(({ start }) => start)
  let covered = 0
  for (const [index, { start, end, tokens }] of chunks.entries()) {
    const chunk = text.slice(start, end)
    if (chunk.trim() !== chunk || chunk === '') problems.push('has surrounding whitespace')
    if (!chunk.isWellFormed()) problems.push('splits a surrogate pair')
    if (tokens !== countTokens(chunk)) problems.push(`has ${countTokens(chunk)} tokens, not ${tokens}`)
    if (tokens > chunking.maxTokens) problems.push('exceeds the limit')
    if (borders.some((border) => border > start && border < end)) problems.push('crosses a heading')
    if (end <= covered || (index > 0 && start < chunks[index - 1].start))
      problems.push('contains no new text')
    if (text.slice(covered, start).trim() !== '') problems.push('leaves a gap')
    if (start < covered && countTokens(text.slice(start, covered)) > chunking.overlapTokens + 3)
      problems.push('repeats too much')
    covered = Math.max(covered, end)
  }
  if (text.slice(covered).trim() !== '') problems.push('the end of the text is in no chunk')
  return problems
}

t.test('chunks of random texts contain every character and keep their limits', async (t) => {
  for (const chunking of [
    { maxTokens: 50, overlapTokens: 0 },
    { maxTokens: 50, overlapTokens: 25 },
    { maxTokens: 400, overlapTokens: 60 },
    { maxTokens: 2000, overlapTokens: 500 },
  ]) {
    const found = Array.from({ length: 60 }, (_, seed) =>
      problemsOf(parseMarkdown(randomText(seed)), chunking).map((problem) => `${seed}: ${problem}`),
    ).flat()
    t.same(found, [], JSON.stringify(chunking))
  }
})

const sentences = Array.from(
  { length: 60 },
  (_, index) => `Sentence number ${index} is about the retention of events.`,
)

t.test('a chunk ends with a whole sentence and repeats the last sentences of the chunk before', async (t) => {
  const text = sentences.join(' ')
  const { chunks } = chunkDocument(parseMarkdown(text), { maxTokens: 100, overlapTokens: 30 })
  for (const [index, { start, end }] of chunks.entries()) {
    t.match(text.slice(start, end), /^Sentence.*\.$/)
    if (index > 0) t.ok(start < chunks[index - 1].end, 'the chunk repeats text')
  }
})

t.test('a sentence continues after a wrapped line, a table row does not', async (t) => {
  const sentence =
    'This is a sentence that someone wrapped at the\nend of the line as people do in plain text. '
  const wrapped = sentence.repeat(20)
  for (const { end } of chunkDocument(parseMarkdown(wrapped), { maxTokens: 60, overlapTokens: 0 }).chunks)
    t.equal(wrapped[end - 1], '.')
  const table = `| a | b |\n|---|---|\n${'| one. Two | three |\n'.repeat(50)}`
  for (const { start, end } of chunkDocument(parseMarkdown(table), { maxTokens: 60, overlapTokens: 0 })
    .chunks)
    t.match(table.slice(start, end), /^\|[^]*\|$/)
})

t.test('a chunk has its heading path, and a heading stays with the text that follows', async (t) => {
  const text =
    `Before.\n\n# Events\n\n## Retention\n\n${sentences.join(' ')}\n\n### Exceptions\n\nNone.\n\n` +
    '## Types\n\nMany.\n\n```\n# no heading\n```\n\nLimits\n======\n\nFew.'
  const { chunks } = chunkDocument(parseMarkdown(text), { maxTokens: 100, overlapTokens: 20 })
  const paths = [...new Set(chunks.map(({ heading }) => heading))]
  t.same(
    paths.filter((path) => path !== 'Events › Retention › Exceptions'),
    [null, 'Events', 'Events › Retention', 'Events › Types', 'Limits'],
  )
  for (const { start, end } of chunks) t.notMatch(text.slice(start, end), /\S\s*\n### Exceptions$/)
})

t.test('tokens are counted as gpt-tokenizer counts them', async (t) => {
  const plain = { disallowedSpecial: new Set<string>() }
  const pick = random(7)
  // ASCII, alphabets, the basic plane and all of Unicode, without surrogates and byte order marks.
  const limits = [0x80, 0x600, 0x1_0000, 0x11_0000]
  const character = (limit: number): string =>
    String.fromCodePoint(pick(limit)).replace(/[\p{Cs}\ufeff]/u, ' ')
  const texts = [
    ...words,
    '',
    '<|endoftext|><|im_start|>',
    'It\'s JSON: {"a": [1.50, 20_000]}\r\n\n\t  // don\'t',
    'Donaudampfschifffahrtsgesellschaft 発票は十年間保存されます 👩‍👩‍👧‍👦 Z\u0301\u0316',
    ...Array.from({ length: 4_000 }, (_, index) =>
      Array.from({ length: 1 + pick(30) }, () => character(limits[index % 4])).join(''),
    ),
  ]
  t.same(
    texts.filter((text) => countTokens(text) !== referenceCount(text, plain)),
    [],
  )
})
