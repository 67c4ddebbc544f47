// Deleting a large document or knowledge base is fast; its index entries are removed later in small steps.
import t from 'tap'
import { replaceChunks } from '../../services/ai/knowledge/chunk-index.ts'
import {
  deleteDocumentBatch,
  deleteKnowledgeBase,
  deleteDocumentsInBatches,
} from '../../services/ai/knowledge/knowledge-bases.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { removedChunkTasks } from '../../services/ai/knowledge/retention.ts'
import { runRetention } from '../support/database/retention.ts'
import { newId } from '../../infra/ids.ts'
import { createTestDatabase } from '../support/database/database.ts'
import {
  addKnowledgeBase,
  addDocument,
  addUser,
  toChunks,
  countMismatches,
} from '../../scripts/bench/retrieval/retrieval-fixtures.ts'

const { url } = await createTestDatabase(t)
/** Chunks whose index entries take longer to subtract than the statement time-out of `strict` allows. */
const large = 6_000
// Fills the tables with large statements.
const db = openDatabase({ url, poolSize: 4, statementTimeout: 120_000 })
const strict = openDatabase({ url, poolSize: 2, statementTimeout: 1_500 })
t.teardown(async () => {
  await Promise.all([db.close(), strict.close()])
})

const fillLexemes = statement(
  `INSERT INTO lexemes (knowledge_base_id, lexeme, chunks)
  SELECT $1, 'word' || i, 0 FROM generate_series(1, 10000) i`,
)
const fillChunks = statement(`
  INSERT INTO chunks (id, document_id, knowledge_base_id, language, position, start_index, end_index, tokens,
    text, terms, term_counts)
  SELECT $2 || i, $2, $1, 'simple', i, 0, 1, 60, 'text', terms.ids,
    array_fill(1::smallint, ARRAY[cardinality(terms.ids)])
  FROM generate_series(1, $3::int) i,
    LATERAL (
      SELECT array_agg(DISTINCT first.id + (i * 37 + w * w * 11) % 10000) AS ids
      FROM generate_series(1, 60) w, (SELECT min(id) AS id FROM lexemes WHERE knowledge_base_id = $1) first
    ) terms`)
const countChunks = statement(
  `INSERT INTO chunk_counts
  SELECT knowledge_base_id, 'simple', count(*), sum(tokens)
  FROM chunks WHERE knowledge_base_id = $1 GROUP BY 1`,
)
const countTerms = statement(`
  UPDATE lexemes l SET chunks = g.n FROM (
    SELECT term, count(*) AS n FROM chunks, unnest(terms) term WHERE knowledge_base_id = $1 GROUP BY 1
  ) g WHERE g.term = l.id`)

async function fill(base: string): Promise<string> {
  const id = newId('doc')
  await db.prisma.document.create({
    data: {
      id,
      knowledgeBaseId: base,
      name: 'large',
      contentType: 'text/plain',
      sha256: id,
      source: '',
      status: 'ready',
      chunkCount: large,
    },
  })
  await db.sql(fillLexemes, [base])
  await db.sql(fillChunks, [base, id, large])
  await db.sql(countChunks, [base])
  await db.sql(countTerms, [base])
  await db.prisma.$executeRaw`DELETE FROM lexemes WHERE chunks = 0`
  return id
}

const ada = await addUser(db)
const removeIndexEntries = async () => await runRetention(db, { tasks: removedChunkTasks() })

t.test(
  'replacing or deleting a large document is fast, and its index entries are removed in steps',
  async (t) => {
    const base = await addKnowledgeBase(db, ada)
    const [first, second] = [await fill(base), await addDocument(db, base, 'word1 and another word')]
    t.equal(await countMismatches(db), 0)
    await strict.transaction((tx) =>
      replaceChunks(tx, { id: first, knowledgeBaseId: base }, toChunks('word1 and word2'), {
        language: 'simple',
        embeddings: null,
      }),
    )
    t.equal(await db.prisma.chunk.count({ where: { documentId: first } }), 1)
    t.equal(await db.prisma.removedChunk.count(), large)
    t.match(await removeIndexEntries(), { 'index entries of removed chunks': large })
    t.equal(await countMismatches(db), 0)
    await db.prisma.document.deleteMany({ where: { id: second } })
    t.match(await removeIndexEntries(), { 'index entries of removed chunks': 1 })
    t.equal(await countMismatches(db), 0)
    t.same(
      (await db.prisma.lexeme.findMany({ where: { knowledgeBaseId: base }, orderBy: { lexeme: 'asc' } })).map(
        ({ lexeme }) => lexeme,
      ),
      ['and', 'word1', 'word2'],
    )
  },
)

t.test('deleting a large document and its knowledge base is fast and leaves nothing', async (t) => {
  const [base, other] = [await addKnowledgeBase(db, ada), await addKnowledgeBase(db, ada)]
  const id = await fill(base)
  await addDocument(db, other, 'word1 stays')
  await strict.prisma.document.delete({ where: { id } })
  t.equal(await db.prisma.chunk.count({ where: { documentId: id } }), 0)
  await strict.transaction((tx) => deleteKnowledgeBase(tx, base))
  await removeIndexEntries()
  t.equal(await db.prisma.removedChunk.count(), 0)
  t.equal(await db.prisma.indexRemoval.count(), 0)
  t.equal(await db.prisma.lexeme.count({ where: { knowledgeBaseId: base } }), 0)
  t.equal(await countMismatches(db), 0)
})

t.test('a knowledge base whose index is being changed is skipped, others are not', async (t) => {
  const bases = [await addKnowledgeBase(db, ada), await addKnowledgeBase(db, ada)]
  for (const base of bases)
    await db.prisma.document.delete({ where: { id: await addDocument(db, base, 'short') } })
  await db.transaction(async (tx) => {
    await tx.sql(statement('SELECT hold_lexemes($1)'), [bases[0]])
    await removeIndexEntries()
  })
  const waiting = async () =>
    (await db.prisma.indexRemoval.findMany()).map(({ knowledgeBaseId }) => knowledgeBaseId)
  t.same(await waiting(), [bases[0]])
  await removeIndexEntries()
  t.same(await waiting(), [])
})

async function addEmpty(base: string, chunkCounts: number[]): Promise<void> {
  for (const chunkCount of chunkCounts) {
    const id = newId('doc')
    await db.prisma.document.create({
      data: {
        id,
        knowledgeBaseId: base,
        name: 'n',
        contentType: 'text/plain',
        sha256: id,
        source: '',
        status: 'ready',
        chunkCount,
      },
    })
  }
}
const documentsOf = async (base: string) =>
  await db.prisma.document.count({ where: { knowledgeBaseId: base } })

t.test('a batch of documents is limited by their chunks', async (t) => {
  const base = await addKnowledgeBase(db, ada)
  await addEmpty(base, [6_000, 6_000, 25_000, 0, 0])
  const left: number[] = []
  while (await deleteDocumentBatch(db, base)) left.push(await documentsOf(base))
  t.same(left, [3, 2, 0])
})

t.test(
  'the last batch of documents is left to the transaction that deletes the knowledge base',
  async (t) => {
    const base = await addKnowledgeBase(db, ada)
    await addEmpty(base, [25_000, 6_000, 3_000])
    await deleteDocumentsInBatches(db, base)
    t.equal(await documentsOf(base), 2)
  },
)
