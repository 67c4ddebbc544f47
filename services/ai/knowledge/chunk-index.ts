// The full-text index: the chunks of each document with their lexemes, and the number of chunks per lexeme in
// each knowledge base. Adding chunks updates these counts in the same transaction. Deleting chunks updates
// them later, in `subtractRemovedChunks`; until then a word may count as more frequent than it is.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { newId } from '../../../infra/ids.ts'
import { deleteStatement } from '../../../infra/database/batch-delete.ts'
import type { NewChunk } from '../parsing/parse.ts'
import { tokenize } from './tokenize.ts'

/** Rows per statement, so that no statement runs long. */
const batchSize = { chunks: 100, lexemes: 10_000, removedChunks: 1_000 }
/** How much more a word counts in a heading than in the text. */
const headingWeight = 2
/** The maximum of SMALLINT. */
const maxCount = 32_767

/** The lexemes of a chunk, and how often each occurs. */
export interface ChunkLexemes {
  lexemes: string[]
  counts: number[]
}

// Each chunk gets the lexemes of its language and those of `simple`. The count of a lexeme that both produce
// is the higher one, which is usually the language's, as its lexeme covers more word forms.
const selectLexemes = statement<ChunkLexemes & { n: number }>(`
  WITH given AS (
    SELECT n, unaccent(body) AS body, unaccent(heading) AS heading
    FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS g (body, heading, n)
  ),
  found AS (
    SELECT n, configuration, lexeme, sum(cardinality(positions) * weight) AS count
    FROM given,
      (SELECT DISTINCT c FROM unnest(ARRAY['simple', $1]) c) AS configurations (configuration),
      LATERAL (
        SELECT lexeme, positions, 1 AS weight FROM unnest(to_tsvector(configuration::regconfig, body))
        UNION ALL
        SELECT lexeme, positions, ${headingWeight} FROM unnest(to_tsvector(configuration::regconfig, heading))
      ) v
    GROUP BY 1, 2, 3
  )
  SELECT n::int, array_agg(lexeme) AS lexemes, array_agg(least(count, ${maxCount})::int) AS counts
  FROM (SELECT n, lexeme, max(count) AS count FROM found GROUP BY 1, 2) f GROUP BY 1`)

/**
 * The lexemes of each chunk. This is half of the work of `replaceChunks` and needs no transaction. `language`
 * is a text search configuration.
 */
export async function extractLexemes(db: Db, chunks: NewChunk[], language: string): Promise<ChunkLexemes[]> {
  const result = chunks.map((): ChunkLexemes => ({ lexemes: [], counts: [] }))
  for (let from = 0; from < chunks.length; from += batchSize.chunks) {
    const batch = chunks.slice(from, from + batchSize.chunks)
    const rows = await db.sql(selectLexemes, [
      language,
      batch.map(({ text }) => tokenize(text).join(' ')),
      batch.map(({ heading }) => tokenize(heading ?? '').join(' ')),
    ])
    for (const { n, lexemes, counts } of rows) result[from + n - 1] = { lexemes, counts }
  }
  return result
}

const lockLexemes = statement('SELECT hold_lexemes($1)')
const deleteChunks = statement('DELETE FROM chunks WHERE document_id = $1')

// $2 is a JSON object: the number of chunks by lexeme.
const addToLexemes = statement<{ id: number; lexeme: string }>(`
  WITH counts AS MATERIALIZED (
    SELECT key COLLATE "C" AS lexeme, value::int AS chunks FROM json_each_text($2::json)
  ), known AS (
    UPDATE lexemes l SET chunks = l.chunks + c.chunks FROM counts c
    WHERE l.knowledge_base_id = $1 AND l.lexeme = c.lexeme RETURNING l.id, l.lexeme
  ), added AS (
    INSERT INTO lexemes (knowledge_base_id, lexeme, chunks)
    SELECT $1, c.lexeme, c.chunks FROM counts c
    WHERE NOT EXISTS (SELECT FROM lexemes l WHERE l.knowledge_base_id = $1 AND l.lexeme = c.lexeme)
    RETURNING id, lexeme
  )
  SELECT * FROM known UNION ALL SELECT * FROM added`)
const addToChunkCounts = statement(`
  INSERT INTO chunk_counts AS c (knowledge_base_id, language, chunks, tokens) VALUES ($1, $2, $3, $4)
  ON CONFLICT (knowledge_base_id, language)
  DO UPDATE SET chunks = c.chunks + excluded.chunks, tokens = c.tokens + excluded.tokens`)
const insertChunks = statement(`
  INSERT INTO chunks (id, document_id, knowledge_base_id, language, position, start_index, end_index, page,
    heading, tokens, text, terms, term_counts, embedding)
  SELECT id, $2, $1, $3, position, start, "end", page, heading, tokens, text, terms, counts, embedding
  FROM json_to_recordset($4::json) AS g (id text, position int, start int, "end" int, page int, heading text,
    tokens int, text text, terms int[], counts smallint[], embedding real[])`)

export interface ReplaceOptions {
  /** A text search configuration. */
  language: string
  /** One vector per chunk, or null without an embedding model. */
  embeddings: number[][] | null
  /** The result of `extractLexemes` for these chunks, if it was called before the transaction. */
  lexemes?: ChunkLexemes[]
}

/** Replaces all chunks of the document. Call this in the transaction that makes the document ready. */
export async function replaceChunks(
  tx: Db,
  { id, knowledgeBaseId }: { id: string; knowledgeBaseId: string },
  chunks: NewChunk[],
  { language, embeddings, lexemes: extracted }: ReplaceOptions,
): Promise<void> {
  if (embeddings !== null && embeddings.length !== chunks.length)
    throw new Error(`${embeddings.length} embeddings for ${chunks.length} chunks`)
  const lexemes = extracted ?? (await extractLexemes(tx, chunks, language))
  await tx.sql(lockLexemes, [knowledgeBaseId])
  await tx.sql(deleteChunks, [id])
  const lexemeIds = await countLexemes(tx, knowledgeBaseId, lexemes)
  if (chunks.length > 0)
    await tx.sql(addToChunkCounts, [
      knowledgeBaseId,
      language,
      chunks.length,
      chunks.reduce((sum, { tokens }) => sum + tokens, 0),
    ])
  for (let from = 0; from < chunks.length; from += batchSize.chunks) {
    const rows = chunks.slice(from, from + batchSize.chunks).map(({ text, heading, ...chunk }, i) => ({
      ...chunk,
      ...toTerms(lexemes[from + i], lexemeIds),
      id: newId('chunk'),
      position: from + i,
      text: text.toWellFormed(),
      heading: heading?.toWellFormed() ?? null,
      embedding: embeddings === null ? null : toUnitVector(embeddings[from + i]),
    }))
    await tx.sql(insertChunks, [knowledgeBaseId, id, language, JSON.stringify(rows)])
  }
}

/** Adds the chunks to the count of each of their lexemes. @returns the id of each lexeme. */
async function countLexemes(
  tx: Db,
  knowledgeBaseId: string,
  chunks: ChunkLexemes[],
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { lexemes } of chunks)
    for (const lexeme of lexemes) counts.set(lexeme, (counts.get(lexeme) ?? 0) + 1)
  const entries = [...counts]
  const ids = new Map<string, number>()
  for (let from = 0; from < entries.length; from += batchSize.lexemes) {
    const batch = JSON.stringify(Object.fromEntries(entries.slice(from, from + batchSize.lexemes)))
    for (const { id, lexeme } of await tx.sql(addToLexemes, [knowledgeBaseId, batch])) ids.set(lexeme, id)
  }
  return ids
}

/** The columns `terms` and `term_counts` of a chunk: ascending lexeme ids, and the count of each. */
function toTerms(
  { lexemes, counts }: ChunkLexemes,
  lexemeIds: Map<string, number>,
): { terms: number[]; counts: number[] } {
  const terms = lexemes
    .map((lexeme, i) => ({ id: lexemeIds.get(lexeme)!, count: counts[i] }))
    .sort((a, b) => a.id - b.id)
  return { terms: terms.map(({ id }) => id), counts: terms.map(({ count }) => count) }
}

const tryLockLexemes = statement<{ locked: boolean; exists: boolean }>(`
  SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7311903266)) AS locked,
    EXISTS (SELECT FROM knowledge_bases WHERE id = $1) AS exists`)
const subtractBatch = statement<{ n: number }>(`
  WITH batch AS MATERIALIZED (
    DELETE FROM removed_chunks
    WHERE id = ANY(ARRAY(SELECT id FROM removed_chunks WHERE knowledge_base_id = $1 ORDER BY id LIMIT $2))
    RETURNING language, tokens, terms
  ), removed_terms AS MATERIALIZED (
    SELECT term, count(*)::int AS chunks FROM batch, unnest(terms) term GROUP BY 1
  ),
  unused AS (DELETE FROM lexemes l USING removed_terms g WHERE l.id = g.term AND l.chunks = g.chunks),
  fewer AS (
    UPDATE lexemes l SET chunks = l.chunks - g.chunks FROM removed_terms g
    WHERE l.id = g.term AND l.chunks <> g.chunks
  ),
  sizes AS MATERIALIZED (
    SELECT language, count(*)::int AS chunks, sum(tokens) AS tokens FROM batch GROUP BY 1
  ),
  emptied AS (
    DELETE FROM chunk_counts c USING sizes s
    WHERE c.knowledge_base_id = $1 AND c.language = s.language AND c.chunks = s.chunks
  ),
  smaller AS (
    UPDATE chunk_counts c SET chunks = c.chunks - s.chunks, tokens = c.tokens - s.tokens FROM sizes s
    WHERE c.knowledge_base_id = $1 AND c.language = s.language AND c.chunks <> s.chunks
  )
  SELECT count(*)::int AS n FROM batch`)
const deleteLexemes = deleteStatement(
  'lexemes',
  'SELECT id FROM lexemes WHERE knowledge_base_id = $1 LIMIT $2',
)
const deleteRemovedChunks = deleteStatement(
  'removed_chunks',
  'SELECT id FROM removed_chunks WHERE knowledge_base_id = $1 LIMIT $2',
)

/**
 * Subtracts a batch of removed chunks from the counts of a knowledge base. If the knowledge base itself is
 * deleted, deletes a batch of its lexemes instead. Does nothing while another transaction changes the
 * lexemes.
 * @returns the number of removed chunks that are done, and whether there are more.
 */
export async function subtractRemovedChunks(
  tx: Db,
  knowledgeBaseId: string,
): Promise<{ removed: number; more: boolean }> {
  // The lock needs its own statement: the snapshots of the next ones then include what the last holder
  // committed.
  const [{ locked, exists }] = await tx.sql(tryLockLexemes, [knowledgeBaseId])
  if (!locked) return { removed: 0, more: false }
  if (exists) {
    const [{ n }] = await tx.sql(subtractBatch, [knowledgeBaseId, batchSize.removedChunks])
    return { removed: n, more: n === batchSize.removedChunks }
  }
  if ((await tx.sql(deleteLexemes, [knowledgeBaseId, batchSize.lexemes]))[0].n === batchSize.lexemes)
    return { removed: 0, more: true }
  const [{ n }] = await tx.sql(deleteRemovedChunks, [knowledgeBaseId, batchSize.lexemes])
  return { removed: n, more: n === batchSize.lexemes }
}

/** The vector scaled to length 1, so that the cosine similarity of two vectors is their dot product. */
export function toUnitVector(vector: number[]): number[] {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((x) => x / length)
}

/** The literal of a PostgreSQL array. */
export function toSqlArray(vector: number[]): string {
  return `{${vector.join(',')}}`
}
