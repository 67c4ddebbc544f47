// Texts are cut between two characters: the property of the function, and that no code cuts texts of users
// itself.
// reads: handlers
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { truncateText } from '../../infra/text.ts'

const root = join(import.meta.dirname, '../..')
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
const boundaries = (text: string): Set<number> =>
  new Set([0, text.length, ...[...graphemes.segment(text)].map(({ index }) => index)])

const pieces = [
  'a',
  ' ',
  'é',
  'e\u0301',
  '\u0301\u0302',
  '中',
  '👍',
  '👍🏽',
  '👩‍👩‍👧',
  '🇩🇪',
  '\r\n',
  '한',
  '\ufe0f',
]

/** A repeatable sequence of numbers below `limit`. */
function sequence(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32
    return Math.floor((state / 2 ** 32) * limit)
  }
}

t.test('a cut text is the longest start that ends between two graphemes', async (t) => {
  for (let seed = 0; seed < 500; seed++) {
    const next = sequence(seed)
    const text = Array.from({ length: 1 + next(12) }, () => pieces[next(pieces.length)]).join('')
    const ends = boundaries(text)
    for (let length = 1; length <= text.length + 1; length++) {
      const cut = truncateText(text, length)
      const best = Math.max(...[...ends].filter((end) => end <= length))
      // The first grapheme alone may be too long.
      if (best > 0 && cut.length !== best) t.equal(cut, text.slice(0, best), `${seed} ${length}`)
      if (!text.startsWith(cut) || cut.length > length || !cut.isWellFormed())
        t.fail(`${seed} ${length} ${cut}`)
    }
  }
})

t.test('lone surrogates do not survive, and a pair is never cut', async (t) => {
  for (let seed = 0; seed < 500; seed++) {
    const next = sequence(seed)
    const units = ['x', '\ud83d', '\udc4d', '👍', '\u0301']
    const text = Array.from({ length: 1 + next(10) }, () => units[next(units.length)]).join('')
    for (let length = 0; length <= text.length; length++) {
      const cut = truncateText(text, length)
      if (!cut.isWellFormed() || !text.toWellFormed().startsWith(cut) || cut.length > length)
        t.fail(`${seed} ${length} ${JSON.stringify(text)} ${JSON.stringify(cut)}`)
    }
  }
  t.equal(truncateText('👍', 1), '')
  t.equal(truncateText('a\ud83d', 2), 'a\ufffd')
})

t.test('a letter with hundreds of accents is cut, so that a cut text is not much shorter', async (t) => {
  const text = `start ${'a'}${'\u0301'.repeat(1000)}`
  t.equal(truncateText(text, 500).length, 500)
})

t.test('no code cuts a text at a maximum itself', async (t) => {
  const own =
    /\.(slice|substring)\(0, max(Name|Title|Heading|Device|Query|Passage|Quote|Derived)\w*\)|\\ud800/
  // Parts of a stream: a surrogate at the end waits for the next part.
  const allowed = ['services/ai/chat/live-answer.ts']
  const found = globSync('{app,handlers,infra,services}/**/*.ts', { cwd: root }).filter((file) =>
    own.test(readFileSync(join(root, file), 'utf8')),
  )
  t.same(found, allowed)
})
