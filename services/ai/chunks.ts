// What a document is found by: its chunks with the lexemes that they have, and the counts of these in its knowledge base,
// which follow in the same transaction. Deletions discount by a trigger.
import { statement, type Db } from '../database.ts'
import { newId } from '../ids.ts'
import type { NewChunk } from './reading/read.ts'
import { wordsOf } from './words.ts'

/** Chunks of one statement, so that none takes long. */
const most = 50
/** What a word in a heading counts, in words of the text. */
const headingWeight = 2

// Lexemes of the language and those of `simple` beside each other; one that both have counts as often as it does in the
// language, where it stands for more forms.
const indexWords = statement<{ n: number, lexemes: string[], counts: number[] }>(`
  WITH given AS (SELECT n, unaccent(body) AS body, unaccent(heading) AS heading FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS g (body, heading, n)),
  found AS (
    SELECT n, configuration, lexeme, sum(least(cardinality(positions), 255) * weight) AS count
    FROM given, (SELECT DISTINCT c FROM unnest(ARRAY['simple', $1]) c) AS configurations (configuration),
      LATERAL (
        SELECT lexeme, positions, 1 AS weight FROM unnest(to_tsvector(configuration::regconfig, body))
        UNION ALL SELECT lexeme, positions, ${headingWeight} FROM unnest(to_tsvector(configuration::regconfig, heading))
      ) v
    GROUP BY 1, 2, 3
  )
  SELECT n::int, array_agg(lexeme) AS lexemes, array_agg(count::int) AS counts
  FROM (SELECT n, lexeme, max(count) AS count FROM found GROUP BY 1, 2) f GROUP BY 1`)

const hold = statement('SELECT hold_lexemes($1)')
const oldChunks = statement<{ id: string }>('SELECT id FROM chunks WHERE document_id = $1')
const deleteChunks = statement('DELETE FROM chunks WHERE id = ANY($1)')

const insertChunks = statement(`
  WITH given AS (
    SELECT * FROM unnest($3::text[], $4::int[], $5::int[], $6::int[], $7::int[], $8::text[], $9::int[], $10::text[], $11::text[])
      AS g (id, position, start_index, end_index, page, heading, tokens, text, embedding)
  ), found AS MATERIALIZED (
    SELECT * FROM unnest($12::text[], $13::text[], $14::int[]) AS f (id, lexeme, count)
  ), counts AS MATERIALIZED (SELECT lexeme COLLATE "C" AS lexeme, count(*)::int AS chunks FROM found GROUP BY 1),
  known AS (
    UPDATE lexemes l SET chunks = l.chunks + c.chunks FROM counts c WHERE l.knowledge_base_id = $1 AND l.lexeme = c.lexeme RETURNING l.id, l.lexeme
  ), added AS (
    INSERT INTO lexemes (knowledge_base_id, lexeme, chunks)
    SELECT $1, c.lexeme, c.chunks FROM counts c
    WHERE NOT EXISTS (SELECT FROM lexemes l WHERE l.knowledge_base_id = $1 AND l.lexeme = c.lexeme) RETURNING id, lexeme
  ), terms AS (
    SELECT f.id, array_agg(t.id ORDER BY t.id) AS terms, array_agg(least(f.count, 32767)::smallint ORDER BY t.id) AS counts
    FROM found f JOIN (SELECT * FROM known UNION ALL SELECT * FROM added) t ON t.lexeme = f.lexeme COLLATE "C" GROUP BY 1
  ), counted AS (
    INSERT INTO chunk_counts AS c (knowledge_base_id, language, chunks, tokens) SELECT $1, $15, count(*), sum(tokens) FROM given
    ON CONFLICT (knowledge_base_id, language) DO UPDATE SET chunks = c.chunks + excluded.chunks, tokens = c.tokens + excluded.tokens
  )
  INSERT INTO chunks (id, document_id, knowledge_base_id, position, start_index, end_index, page, heading, tokens, text, embedding, language, terms, term_counts)
  SELECT g.id, $2, $1, g.position, g.start_index, g.end_index, g.page, g.heading, g.tokens, g.text, g.embedding::real[], $15, coalesce(t.terms, '{}'), coalesce(t.counts, '{}')
  FROM given g LEFT JOIN terms t ON t.id = g.id`)

/**
 * Makes `chunks`, in their order, all that the document is found by. For the transaction in which it becomes ready.
 * `language` is a configuration of text search; `embeddings` has one vector per chunk, or is null.
 */
export async function replaceChunks (
  tx: Db, document: { id: string, knowledgeBaseId: string }, chunks: NewChunk[], { language, embeddings }: { language: string, embeddings: number[][] | null }
): Promise<void> {
  if (embeddings !== null && embeddings.length !== chunks.length) throw new Error(`${embeddings.length} embeddings for ${chunks.length} chunks`)
  const batches = []
  // Stemming takes longest, and is done before anybody has to wait.
  for (let from = 0; from < chunks.length; from += most) {
    const some = chunks.slice(from, from + most)
    const rows = await tx.sql(indexWords, [language, some.map(({ text }) => wordsOf(text).join(' ')), some.map(({ heading }) => wordsOf(heading ?? '').join(' '))])
    const ids = some.map(() => newId('chunk'))
    batches.push([
      ids, some.map((_, i) => from + i), some.map(({ start }) => start), some.map(({ end }) => end), some.map(({ page }) => page), some.map(({ heading }) => heading),
      some.map(({ tokens }) => tokens), some.map(({ text }) => text), some.map((_, i) => embeddings === null ? null : arrayOf(unit(embeddings[from + i]))),
      rows.flatMap(({ n, lexemes }) => lexemes.map(() => ids[n - 1])), rows.flatMap(({ lexemes }) => lexemes), rows.flatMap(({ counts }) => counts)
    ])
  }
  await tx.sql(hold, [document.knowledgeBaseId])
  const old = await tx.sql(oldChunks, [document.id])
  // First what is new, so that lexemes that stay keep their numbers.
  for (const batch of batches) await tx.sql(insertChunks, [document.knowledgeBaseId, document.id, ...batch, language])
  if (old.length > 0) await tx.sql(deleteChunks, [old.map(({ id }) => id)])
}

/** The vector of length 1 in the same direction: then the cosine is the dot product. */
export function unit (vector: number[]): number[] {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((x) => x / length)
}

/** As PostgreSQL reads an array. */
export function arrayOf (vector: number[]): string {
  return `{${vector.join(',')}}`
}
