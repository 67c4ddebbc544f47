// Benchmarks retrieval: the time of a search and of indexing by the size of the knowledge base, and the
// recall.
import { addKnowledgeBase, addUser } from './retrieval-fixtures.ts'
import {
  firstSet,
  loadCorpus,
  measureAnswers,
  measureRetrieval,
  paraphrasedSet,
  readCorpusTexts,
} from './quality-corpus.ts'
import { questions } from './questions.ts'
import { replaceChunks } from '../../../services/ai/knowledge/chunk-index.ts'
import { tokenize } from '../../../services/ai/knowledge/tokenize.ts'
import { searchKnowledgeBases } from '../../../services/ai/search/search.ts'
import { openDatabase, type Database } from '../../../infra/database/database.ts'
import { newId } from '../../../infra/ids.ts'
import type { Principal } from '../../../services/users/authentication.ts'
import { createDatabase } from '../population.ts'
import type { Stage } from '../stage.ts'
import { count, table } from '../table.ts'

const chunksPerDocument = 20
/** About 250 tokens. */
const wordsPerChunk = 190

interface FilledBase {
  reader: Principal
  base: string
}

export async function benchRetrieval(
  stage: Stage,
  { sizes, rounds }: { sizes: [number, number]; rounds: number },
): Promise<string> {
  const { url: serverUrl } = await stage.postgres()
  const database = openDatabase({ url: await createDatabase(serverUrl, 'bench_retrieval'), poolSize: 2 })
  try {
    const bases: FilledBase[] = []
    const indexingSeconds: number[] = []
    for (const size of sizes) {
      const reader = await addUser(database)
      const filled = { reader, base: await addKnowledgeBase(database, reader) }
      indexingSeconds.push(await fill(database, filled, size))
      bases.push(filled)
    }
    await database.pool.query('VACUUM ANALYZE')
    const kinds = queries()
    const times = new Map<string, number[][]>()
    for (let round = -1; round < rounds; round++) {
      for (const [kind, list] of Object.entries(kinds)) {
        const query = list[(round + list.length) % list.length]
        const pair = [0, 0]
        // Both sizes directly after each other, so that other load on the machine affects both.
        for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) pair[i] = await search(database, bases[i], query)
        if (round >= 0) times.set(kind, [...(times.get(kind) ?? []), pair])
      }
    }
    const quantile = (values: number[], at: number): number =>
      values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * at))]
    const timesOf = (kind: string, i: number): number[] => times.get(kind)!.map((pair) => pair[i])
    const rows = Object.keys(kinds).map((kind) => [
      kind,
      ...[0, 1].flatMap((i) => [
        quantile(timesOf(kind, i), 0.5).toFixed(1),
        quantile(timesOf(kind, i), 0.95).toFixed(1),
      ]),
      quantile(
        times.get(kind)!.map(([small, large]) => large / small),
        0.5,
      ).toFixed(1),
    ])
    const indexing = sizes
      .map((size, i) => `${indexingSeconds[i].toFixed(1)} s while growing to ${count(size)} chunks`)
      .join(', ')
    return [
      `Milliseconds per search, ${rounds} of each kind in pairs, limit 10:`,
      '',
      table(
        ['', ...sizes.flatMap((size) => [`${count(size)} chunks, median`, '95 %']), 'ratio, median'],
        rows,
      ),
      '',
      `Indexing 1,000 chunks of ${wordsPerChunk} words, ${chunksPerDocument} per document: ${indexing}.`,
    ].join('\n')
  } finally {
    await database.close()
  }
}

async function search(database: Database, { reader, base }: FilledBase, query: string): Promise<number> {
  const started = performance.now()
  await searchKnowledgeBases(database, reader, { knowledgeBaseIds: [base], query, limit: 10 })
  return performance.now() - started
}

/**
 * Writes random chunks with the word frequencies of the corpus and one rare word in twelve, as natural texts
 * have.
 */
function createWriter(): () => string {
  const words = readCorpusTexts().flatMap(({ text }) => tokenize(text))
  let seed = 11
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below
  return () =>
    Array.from({ length: wordsPerChunk }, () =>
      random(12) === 0
        ? `rare${Math.floor(50_000 ** (random(1_000_000) / 1_000_000))}`
        : words[random(words.length)],
    ).join(' ')
}

/** Fills the knowledge base. @returns the seconds to index 1,000 chunks. */
async function fill(database: Database, { base }: FilledBase, size: number): Promise<number> {
  const write = createWriter()
  let seconds = 0
  for (let inserted = 0; inserted < size; inserted += chunksPerDocument) {
    const id = newId('doc')
    await database.prisma.document.create({
      data: {
        id,
        knowledgeBaseId: base,
        name: `document ${inserted}.md`,
        contentType: 'text/markdown',
        sha256: id,
        source: '',
        status: 'ready',
        revision: 1,
      },
    })
    const chunks = Array.from({ length: chunksPerDocument }, (_, i) => {
      const text = write()
      return {
        start: i * 2_000,
        end: i * 2_000 + text.length,
        page: null,
        heading: 'Document › Part',
        tokens: 250,
        text,
      }
    })
    const started = performance.now()
    await database.transaction((tx) =>
      replaceChunks(tx, { id, knowledgeBaseId: base }, chunks, { language: 'english', embeddings: null }),
    )
    seconds += (performance.now() - started) / 1000
  }
  return (seconds / size) * 1000
}

function queries(): Record<string, string[]> {
  return {
    'a question': questions.slice(0, 60).map(([question]) => question),
    'common words': [
      'people and the state',
      'one man shall have the house',
      'said the president of the states',
      'the person who has no time',
      'day and night in the world',
    ],
    'a rare word': Array.from({ length: 20 }, (_, i) => `what is rare${i * 7 + 300}`),
    'a misspelt word': ['presidnet of the senate', 'grashopper', 'consitution', 'raabbit hole', 'garvestone'],
    '4,000 characters': [
      questions
        .map(([question]) => question)
        .join(' ')
        .slice(0, 4_000),
    ],
  }
}

/** Keyword search and the answers of extractive-1, without vectors, with both sets of questions. */
export async function benchRecall(stage: Stage): Promise<string> {
  const { url: serverUrl } = await stage.postgres()
  const database = openDatabase({ url: await createDatabase(serverUrl, 'bench_recall'), poolSize: 2 })
  try {
    const corpus = await loadCorpus(database)
    const rows: string[][] = []
    const missed: string[] = []
    let size = ''
    for (const [name, set] of [
      ['questions.ts', firstSet],
      ['paraphrased.ts', paraphrasedSet],
    ] as const) {
      const quality = await measureRetrieval(database, corpus, set)
      const answers = await measureAnswers(database, corpus, set)
      const share = (count: number, of: number): string => `${count} of ${of}`
      rows.push([
        name,
        ...([1, 3, 8] as const).map((n) =>
          share(Math.round(quality.recall[n] * quality.questions), quality.questions),
        ),
        quality.meanReciprocalRank.toFixed(3),
        share(answers.correct.passage, quality.questions),
        share(answers.unanswered, set.unanswerable.length),
      ])
      missed.push(...quality.missed)
      size = `${quality.documents} documents in ${quality.chunks} chunks of at most 120 tokens`
    }
    return [
      `Keyword search only, over ${size}.`,
      '',
      table(
        [
          'questions',
          'passage first',
          'among three',
          'among eight',
          'MRR',
          'extractive-1 quotes the passage',
          'refuses the unanswerable',
        ],
        rows,
      ),
      '',
      `Passage not among the first five: ${missed.join(' · ') || 'none'}`,
    ].join('\n')
  } finally {
    await database.close()
  }
}
