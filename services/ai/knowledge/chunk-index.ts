// What a document is found by: its chunks with the lexemes that they have, and the counts of these in its knowledge base,
// which follow in the same transaction. What is deleted is discounted later, by `discountRemoved`: until then a word may count
// for commoner than it is.
import { type Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { newId } from '../../../infra/ids.ts'
import { deleteStatement } from '../../../infra/database/batch-delete.ts'
import type { NewChunk } from '../parsing/parse.ts'
import { wordsOf } from './tokenize.ts'

/** Of one statement, so that none takes long. */
const most = { chunks: 100, lexemes: 10_000, discounted: 1_000 }
/** What a word in a heading counts, in words of the text. */
const headingWeight = 2
/** The largest SMALLINT. */
const mostCounted = 32_767

/** The lexemes of a chunk, and how often it has each. */
export interface Stems {
  lexemes: string[]
  counts: number[]
}

// Lexemes of the language and those of `simple` beside each other; one that both have counts as often as it does in the
// language, where it stands for more forms.
const readStems = statement<Stems & { n: number }>(`
  WITH given AS (SELECT n, unaccent(body) AS body, unaccent(heading) AS heading FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS g (body, heading, n)),
  found AS (
    SELECT n, configuration, lexeme, sum(cardinality(positions) * weight) AS count
    FROM given, (SELECT DISTINCT c FROM unnest(ARRAY['simple', $1]) c) AS configurations (configuration),
      LATERAL (
        SELECT lexeme, positions, 1 AS weight FROM unnest(to_tsvector(configuration::regconfig, body))
        UNION ALL SELECT lexeme, positions, ${headingWeight} FROM unnest(to_tsvector(configuration::regconfig, heading))
      ) v
    GROUP BY 1, 2, 3
  )
  SELECT n::int, array_agg(lexeme) AS lexemes, array_agg(least(count, ${mostCounted})::int) AS counts
  FROM (SELECT n, lexeme, max(count) AS count FROM found GROUP BY 1, 2) f GROUP BY 1`)

/**
 * The lexemes of each chunk, which is half of the work of `replaceChunks` and needs no transaction. `language` is a
 * configuration of text search.
 */
export async function stemChunks(db: Db, chunks: NewChunk[], language: string): Promise<Stems[]> {
  const stems = chunks.map((): Stems => ({ lexemes: [], counts: [] }))
  for (let from = 0; from < chunks.length; from += most.chunks) {
    const some = chunks.slice(from, from + most.chunks)
    const rows = await db.sql(readStems, [
      language,
      some.map(({ text }) => wordsOf(text).join(' ')),
      some.map(({ heading }) => wordsOf(heading ?? '').join(' ')),
    ])
    for (const { n, lexemes, counts } of rows) stems[from + n - 1] = { lexemes, counts }
  }
  return stems
}

const hold = statement('SELECT hold_lexemes($1)')
const deleteChunks = statement('DELETE FROM chunks WHERE document_id = $1')

// $2 is an object with the number of chunks of each.
const countLexemes = statement<{ id: number; lexeme: string }>(`
  WITH counts AS MATERIALIZED (SELECT key COLLATE "C" AS lexeme, value::int AS chunks FROM json_each_text($2::json)),
  known AS (
    UPDATE lexemes l SET chunks = l.chunks + c.chunks FROM counts c WHERE l.knowledge_base_id = $1 AND l.lexeme = c.lexeme RETURNING l.id, l.lexeme
  ), added AS (
    INSERT INTO lexemes (knowledge_base_id, lexeme, chunks)
    SELECT $1, c.lexeme, c.chunks FROM counts c
    WHERE NOT EXISTS (SELECT FROM lexemes l WHERE l.knowledge_base_id = $1 AND l.lexeme = c.lexeme) RETURNING id, lexeme
  )
  SELECT * FROM known UNION ALL SELECT * FROM added`)
const countChunks = statement(`
  INSERT INTO chunk_counts AS c (knowledge_base_id, language, chunks, tokens) VALUES ($1, $2, $3, $4)
  ON CONFLICT (knowledge_base_id, language) DO UPDATE SET chunks = c.chunks + excluded.chunks, tokens = c.tokens + excluded.tokens`)
const insertChunks = statement(`
  INSERT INTO chunks (id, document_id, knowledge_base_id, language, position, start_index, end_index, page, heading, tokens, text, terms, term_counts, embedding)
  SELECT id, $2, $1, $3, position, start, "end", page, heading, tokens, text, terms, counts, embedding FROM json_to_recordset($4::json)
    AS g (id text, position int, start int, "end" int, page int, heading text, tokens int, text text, terms int[], counts smallint[], embedding real[])`)

export interface ReplaceOptions {
  /** A configuration of text search. */
  language: string
  /** One vector per chunk, or null where there is no model for them. */
  embeddings: number[][] | null
  /** What `stemChunks` gave for the same chunks, where it was asked before. */
  stems?: Stems[]
}

/** Makes `chunks`, in their order, all that the document is found by. For the transaction in which it becomes ready. */
export async function replaceChunks(
  tx: Db,
  { id, knowledgeBaseId }: { id: string; knowledgeBaseId: string },
  chunks: NewChunk[],
  { language, embeddings, stems: given }: ReplaceOptions,
): Promise<void> {
  if (embeddings !== null && embeddings.length !== chunks.length)
    throw new Error(`${embeddings.length} embeddings for ${chunks.length} chunks`)
  const stems = given ?? (await stemChunks(tx, chunks, language))
  await tx.sql(hold, [knowledgeBaseId])
  await tx.sql(deleteChunks, [id])
  const numbers = await numbersOf(tx, knowledgeBaseId, stems)
  if (chunks.length > 0)
    await tx.sql(countChunks, [
      knowledgeBaseId,
      language,
      chunks.length,
      chunks.reduce((sum, { tokens }) => sum + tokens, 0),
    ])
  for (let from = 0; from < chunks.length; from += most.chunks) {
    const rows = chunks.slice(from, from + most.chunks).map(({ text, heading, ...chunk }, i) => ({
      ...chunk,
      ...termsOf(stems[from + i], numbers),
      id: newId('chunk'),
      position: from + i,
      text: text.toWellFormed(),
      heading: heading?.toWellFormed() ?? null,
      embedding: embeddings === null ? null : unit(embeddings[from + i]),
    }))
    await tx.sql(insertChunks, [knowledgeBaseId, id, language, JSON.stringify(rows)])
  }
}

const tryHold = statement<{ held: boolean; there: boolean }>(`
  SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7311903266)) AS held, EXISTS (SELECT FROM knowledge_bases WHERE id = $1) AS there`)
const discount = statement<{ n: number }>(`
  WITH taken AS MATERIALIZED (
    DELETE FROM removed_chunks WHERE id = ANY(ARRAY(SELECT id FROM removed_chunks WHERE knowledge_base_id = $1 ORDER BY id LIMIT $2)) RETURNING language, tokens, terms
  ), gone AS MATERIALIZED (SELECT term, count(*)::int AS chunks FROM taken, unnest(terms) term GROUP BY 1),
  unused AS (DELETE FROM lexemes l USING gone g WHERE l.id = g.term AND l.chunks = g.chunks),
  fewer AS (UPDATE lexemes l SET chunks = l.chunks - g.chunks FROM gone g WHERE l.id = g.term AND l.chunks <> g.chunks),
  sizes AS MATERIALIZED (SELECT language, count(*)::int AS chunks, sum(tokens) AS tokens FROM taken GROUP BY 1),
  emptied AS (DELETE FROM chunk_counts c USING sizes s WHERE c.knowledge_base_id = $1 AND c.language = s.language AND c.chunks = s.chunks),
  smaller AS (
    UPDATE chunk_counts c SET chunks = c.chunks - s.chunks, tokens = c.tokens - s.tokens FROM sizes s
    WHERE c.knowledge_base_id = $1 AND c.language = s.language AND c.chunks <> s.chunks
  )
  SELECT count(*)::int AS n FROM taken`)
const removeLexemes = deleteStatement(
  'lexemes',
  'SELECT id FROM lexemes WHERE knowledge_base_id = $1 LIMIT $2',
)
const forgetRemoved = deleteStatement(
  'removed_chunks',
  'SELECT id FROM removed_chunks WHERE knowledge_base_id = $1 LIMIT $2',
)

/**
 * Discounts some of the removed chunks of a knowledge base; where that is gone itself, removes some of its lexemes. Nothing
 * while somebody changes these. @returns how many are done with, and whether there are more.
 */
export async function discountRemoved(
  tx: Db,
  knowledgeBaseId: string,
): Promise<{ removed: number; more: boolean }> {
  // A statement of its own before: the snapshot of those that follow has what the previous holder committed.
  const [{ held, there }] = await tx.sql(tryHold, [knowledgeBaseId])
  if (!held) return { removed: 0, more: false }
  if (there) {
    const [{ n }] = await tx.sql(discount, [knowledgeBaseId, most.discounted])
    return { removed: n, more: n === most.discounted }
  }
  if ((await tx.sql(removeLexemes, [knowledgeBaseId, most.lexemes]))[0].n === most.lexemes)
    return { removed: 0, more: true }
  const [{ n }] = await tx.sql(forgetRemoved, [knowledgeBaseId, most.lexemes])
  return { removed: n, more: n === most.lexemes }
}

/** Counts the chunks that have each lexeme. @returns the numbers of the lexemes. */
async function numbersOf(tx: Db, knowledgeBaseId: string, stems: Stems[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { lexemes } of stems)
    for (const lexeme of lexemes) counts.set(lexeme, (counts.get(lexeme) ?? 0) + 1)
  const all = [...counts]
  const numbers = new Map<string, number>()
  for (let from = 0; from < all.length; from += most.lexemes) {
    const some = JSON.stringify(Object.fromEntries(all.slice(from, from + most.lexemes)))
    for (const { id, lexeme } of await tx.sql(countLexemes, [knowledgeBaseId, some])) numbers.set(lexeme, id)
  }
  return numbers
}

function termsOf(
  { lexemes, counts }: Stems,
  numbers: Map<string, number>,
): { terms: number[]; counts: number[] } {
  const terms = lexemes
    .map((lexeme, i) => ({ id: numbers.get(lexeme)!, count: counts[i] }))
    .sort((a, b) => a.id - b.id)
  return { terms: terms.map(({ id }) => id), counts: terms.map(({ count }) => count) }
}

/** The vector of length 1 in the same direction: then the cosine is the dot product. */
export function unit(vector: number[]): number[] {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((x) => x / length)
}

/** As PostgreSQL reads an array. */
export function arrayOf(vector: number[]): string {
  return `{${vector.join(',')}}`
}
