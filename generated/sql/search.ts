// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, one, optional } from '../../infra/database/queries.ts'

/**
 * The number of queued and processing documents in the knowledge bases that the caller may read.
 * @see prisma/sql/search/count-unparsed-documents.sql
 */
export const countUnparsedDocuments = one<{ knowledge_base_ids: readonly string[]; user_id: string; project_ids: readonly string[] | null }, CountUnparsedDocumentsRow>(
  'search/count-unparsed-documents',
  `SELECT coalesce(sum(c.count), 0)::int AS count
FROM document_counts c JOIN knowledge_bases k ON k.id = c.knowledge_base_id
WHERE k.id = ANY($1) AND c.status IN ('queued', 'processing') AND CASE WHEN k.project_id IS NULL THEN k.owner_id = $2 AND $3::text[] IS NULL
  ELSE ($3 IS NULL OR k.project_id = ANY($3)) AND EXISTS (
    SELECT FROM members m JOIN projects p ON p.id = m.project_id
    WHERE m.project_id = k.project_id AND m.user_id = $2 AND m.ai_role IS NOT NULL
      AND p.status <> 'deleted') END`,
  ['knowledge_base_ids', 'user_id', 'project_ids'],
  { reads: true },
)
export interface CountUnparsedDocumentsRow {
  count: number
}

/**
 * The lexemes that each word stands for in the languages, and those of them that a knowledge base contains.
 * The limit is never reached. It keeps the planner, which estimates a thousand rows per word, from scanning
 * all lexemes.
 * @see prisma/sql/search/find-lexemes.sql
 */
export const findLexemes = many<{ words: readonly string[]; languages: readonly string[]; knowledge_base_id: string }, FindLexemesRow>(
  'search/find-lexemes',
  `SELECT v.n::int AS n, v.language AS "language", v.lexeme AS "lexeme", l.id, l.chunks
FROM (
  SELECT DISTINCT n, language,
    unnest(tsvector_to_array(to_tsvector(language::regconfig, unaccent(word)))) AS lexeme
  FROM unnest($1::text[]) WITH ORDINALITY AS w (word, n), unnest($2::text[]) AS language
) v LEFT JOIN LATERAL (
  SELECT * FROM lexemes l
  WHERE l.knowledge_base_id = $3 AND l.lexeme = v.lexeme COLLATE "C" LIMIT 1000000
) l ON true
ORDER BY 1, 2, 3`,
  ['words', 'languages', 'knowledge_base_id'],
  { reads: true },
)
export interface FindLexemesRow {
  n: number
  language: string
  lexeme: string
  id: number | null
  chunks: number | null
}

/**
 * The lexemes of a knowledge base that are similar to words.
 * @see prisma/sql/search/find-similar-lexemes.sql
 */
export const findSimilarLexemes = many<{ knowledge_base_id: string; words: readonly string[]; most: number }, FindSimilarLexemesRow>(
  'search/find-similar-lexemes',
  `SELECT n AS "n", lexeme AS "lexeme", alike AS "alike", id AS "id", chunks AS "chunks"
FROM similar_lexemes($1, ARRAY(
  SELECT unaccent(word) FROM unnest($2::text[]) WITH ORDINALITY AS w (word, n) ORDER BY n), $3)`,
  ['knowledge_base_id', 'words', 'most'],
  { reads: true },
)
export interface FindSimilarLexemesRow {
  n: number
  lexeme: string
  alike: number
  id: number
  chunks: number
}

/**
 * The positions of the words that are stop words of the language with the most of them.
 * @see prisma/sql/search/find-stop-words.sql
 */
export const findStopWords = optional<{ words: readonly string[]; languages: readonly string[] }, FindStopWordsRow>(
  'search/find-stop-words',
  `SELECT array_agg(n::int) AS "words"
FROM unnest($1::text[]) WITH ORDINALITY AS w (word, n),
  unnest($2::text[]) WITH ORDINALITY AS l (language, place)
WHERE to_tsvector(language::regconfig, unaccent(word)) = ''
GROUP BY place ORDER BY count(*) DESC, place LIMIT 1`,
  ['words', 'languages'],
  { reads: true },
)
export interface FindStopWordsRow {
  words: number[]
}

/**
 * `rank-by-vector` with pgvector, an extension that the database may have.
 * @see prisma/sql/search/rank-by-vector-with-pgvector.sql
 */
export const rankByVectorWithPgvector = many<{ embedding: readonly number[]; knowledge_base_id: string; chunk_ids: readonly string[] | null; document_ids: readonly string[] | null; metadata: object | string | null; condition: string | null; operands: object | string | null; embedding_model: string | null }, RankByVectorWithPgvectorRow>(
  'search/rank-by-vector-with-pgvector',
  `SELECT c.id, c.document_id, 1 - (c.embedding::vector <=> $1::real[]::vector) AS "score"
FROM chunks c JOIN document_texts t ON t.knowledge_base_id = c.knowledge_base_id
  AND t.document_id = c.document_id AND t.is_searchable
WHERE c.knowledge_base_id = $2 AND c.embedding IS NOT NULL
  AND ($3::text[] IS NULL OR c.id = ANY($3))
  AND ($4::text[] IS NULL OR t.document_id = ANY($4))
  AND ($5::jsonb IS NULL OR t.metadata @> $5)
  AND ($6::text IS NULL OR jsonb_path_match(
    jsonb_build_object('id', t.document_id, 'metadata', t.metadata), $6::jsonpath, $7::jsonb,
    true))
  AND ($8::text IS NULL OR t.embedding_model IS NULL OR t.embedding_model = $8)
  AND cardinality(c.embedding) = cardinality($1::real[])
ORDER BY score DESC, c.id LIMIT 200`,
  ['embedding', 'knowledge_base_id', 'chunk_ids', 'document_ids', 'metadata', 'condition', 'operands', 'embedding_model'],
  { searches: true },
)
export interface RankByVectorWithPgvectorRow {
  id: string
  document_id: string
  score: number
}

/**
 * The chunks of a knowledge base whose vectors are the most similar to :embedding, which has the length 1
 * like theirs.
 * @see prisma/sql/search/rank-by-vector.sql
 */
export const rankByVector = many<{ embedding: readonly number[]; knowledge_base_id: string; chunk_ids: readonly string[] | null; document_ids: readonly string[] | null; metadata: object | string | null; condition: string | null; operands: object | string | null; embedding_model: string | null }, RankByVectorRow>(
  'search/rank-by-vector',
  `SELECT c.id, c.document_id,
  (SELECT sum(x * y) FROM unnest(c.embedding, $1::real[]) AS u (x, y)) AS "score"
FROM chunks c JOIN document_texts t ON t.knowledge_base_id = c.knowledge_base_id
  AND t.document_id = c.document_id AND t.is_searchable
WHERE c.knowledge_base_id = $2 AND c.embedding IS NOT NULL
  AND ($3::text[] IS NULL OR c.id = ANY($3))
  AND ($4::text[] IS NULL OR t.document_id = ANY($4))
  AND ($5::jsonb IS NULL OR t.metadata @> $5)
  AND ($6::text IS NULL OR jsonb_path_match(
    jsonb_build_object('id', t.document_id, 'metadata', t.metadata), $6::jsonpath, $7::jsonb,
    true))
  AND ($8::text IS NULL OR t.embedding_model IS NULL OR t.embedding_model = $8)
  AND cardinality(c.embedding) = cardinality($1::real[])
ORDER BY score DESC, c.id LIMIT 200`,
  ['embedding', 'knowledge_base_id', 'chunk_ids', 'document_ids', 'metadata', 'condition', 'operands', 'embedding_model'],
  { searches: true },
)
export interface RankByVectorRow {
  id: string
  document_id: string
  score: number
}

/**
 * `rank-by-words` in the documents that filters select. Each document is compared with the filters once, not
 * for each of its chunks that has one of the words.
 * @see prisma/sql/search/rank-by-words-in-documents.sql
 */
export const rankByWordsInDocuments = many<{ knowledge_base_id: string; document_ids: readonly string[] | null; metadata: object | string | null; condition: string | null; operands: object | string | null; probes: readonly string[]; limits: readonly number[]; name_patterns: readonly string[]; k1: number; b: number; average_tokens: number; term_ids: readonly number[]; term_words: readonly number[]; term_weights: readonly number[] }, RankByWordsInDocumentsRow>(
  'search/rank-by-words-in-documents',
  `WITH selected AS MATERIALIZED (
  SELECT t.document_id, t.name FROM document_texts t
  WHERE t.knowledge_base_id = $1 AND ($2::text[] IS NULL OR t.document_id = ANY($2))
  AND ($3::jsonb IS NULL OR t.metadata @> $3)
  AND ($4::text IS NULL OR jsonb_path_match(
    jsonb_build_object('id', t.document_id, 'metadata', t.metadata), $4::jsonpath, $5::jsonb,
    true))
), candidates AS MATERIALIZED (
  SELECT c.place FROM unnest($6::text[], $7::int[]) AS p (terms, most), LATERAL (
    SELECT c.ctid AS place
    FROM chunks c
    WHERE c.knowledge_base_id = $1 AND c.terms @> p.terms::bigint[]
      AND c.document_id IN (SELECT document_id FROM selected) LIMIT p.most) c
  UNION
  SELECT c.place FROM (
    SELECT document_id FROM selected WHERE lower(name) LIKE ANY($8) LIMIT 20) t,
    LATERAL (SELECT c.ctid AS place FROM chunks c
      WHERE c.knowledge_base_id = $1 AND c.document_id = t.document_id
      ORDER BY c.position LIMIT 3) c
), matches AS (
  SELECT place, word, max(
    weight * count * ($9::float8 + 1)
      / (count + $9 * (1 - $10::float8) + $9 * $10 * tokens / $11::float8)
  ) AS weight
  FROM (
    SELECT c.ctid AS place, q.word, q.weight,
      c.term_counts[width_bucket(q.id, c.terms)]::float8 AS count, c.tokens::float8 AS tokens
    FROM candidates f
      JOIN chunks c ON c.ctid = f.place AND c.knowledge_base_id = $1
      JOIN unnest($12::bigint[], $13::int[], $14::float8[]) AS q (id, word, weight)
        ON c.terms[width_bucket(q.id, c.terms)] = q.id
    OFFSET 0
  ) s GROUP BY 1, 2
), ranked AS (
  SELECT f.place, coalesce(sum(s.weight), 0) AS score
  FROM candidates f LEFT JOIN matches s ON s.place = f.place
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200
)
SELECT c.id, c.document_id, r.score, unaccent(t.name) AS "name"
FROM ranked r JOIN chunks c ON c.ctid = r.place AND c.knowledge_base_id = $1
JOIN document_texts t ON t.knowledge_base_id = $1 AND t.document_id = c.document_id
  AND t.is_searchable`,
  ['knowledge_base_id', 'document_ids', 'metadata', 'condition', 'operands', 'probes', 'limits', 'name_patterns', 'k1', 'b', 'average_tokens', 'term_ids', 'term_words', 'term_weights'],
  { searches: true },
)
export interface RankByWordsInDocumentsRow {
  id: string
  document_id: string
  score: number
  name: string
}

/**
 * Finds candidate chunks of a knowledge base for words and ranks them by BM25; returns the best with the
 * names of their documents.
 * @see prisma/sql/search/rank-by-words.sql
 */
export const rankByWords = many<{ probes: readonly string[]; limits: readonly number[]; knowledge_base_id: string; name_patterns: readonly string[]; k1: number; b: number; average_tokens: number; term_ids: readonly number[]; term_words: readonly number[]; term_weights: readonly number[] }, RankByWordsRow>(
  'search/rank-by-words',
  `WITH candidates AS MATERIALIZED (
  SELECT c.place FROM unnest($1::text[], $2::int[]) AS p (terms, most), LATERAL (
    SELECT c.ctid AS place
    FROM chunks c
    WHERE c.knowledge_base_id = $3 AND c.terms @> p.terms::bigint[] LIMIT p.most) c
  UNION
  SELECT c.place FROM (
    SELECT t.document_id FROM document_texts t
    WHERE t.knowledge_base_id = $3 AND lower(t.name) LIKE ANY($4)
      LIMIT 20) t,
    LATERAL (SELECT c.ctid AS place FROM chunks c
      WHERE c.knowledge_base_id = $3 AND c.document_id = t.document_id
      ORDER BY c.position LIMIT 3) c
), matches AS (
  SELECT place, word, max(
    weight * count * ($5::float8 + 1)
      / (count + $5 * (1 - $6::float8) + $5 * $6 * tokens / $7::float8)
  ) AS weight
  FROM (
    SELECT c.ctid AS place, q.word, q.weight,
      c.term_counts[width_bucket(q.id, c.terms)]::float8 AS count, c.tokens::float8 AS tokens
    FROM candidates f
      JOIN chunks c ON c.ctid = f.place AND c.knowledge_base_id = $3
      JOIN unnest($8::bigint[], $9::int[], $10::float8[]) AS q (id, word, weight)
        ON c.terms[width_bucket(q.id, c.terms)] = q.id
    OFFSET 0
  ) s GROUP BY 1, 2
), ranked AS (
  SELECT f.place, coalesce(sum(s.weight), 0) AS score
  FROM candidates f LEFT JOIN matches s ON s.place = f.place
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200
)
SELECT c.id, c.document_id, r.score, unaccent(t.name) AS "name"
FROM ranked r JOIN chunks c ON c.ctid = r.place AND c.knowledge_base_id = $3
JOIN document_texts t ON t.knowledge_base_id = $3 AND t.document_id = c.document_id
  AND t.is_searchable`,
  ['probes', 'limits', 'knowledge_base_id', 'name_patterns', 'k1', 'b', 'average_tokens', 'term_ids', 'term_words', 'term_weights'],
  { reads: true },
)
export interface RankByWordsRow {
  id: string
  document_id: string
  score: number
  name: string
}

/**
 * Chunks of a knowledge base.
 * @see prisma/sql/search/read-chunks.sql
 */
export const readChunks = many<{ knowledge_base_id: string; ids: readonly string[] }, ReadChunksRow>(
  'search/read-chunks',
  `SELECT id, document_id, heading, page, start_index, end_index, text
FROM chunks WHERE knowledge_base_id = $1 AND id = ANY($2)`,
  ['knowledge_base_id', 'ids'],
  { reads: true },
)
export interface ReadChunksRow {
  id: string
  document_id: string
  heading: string | null
  page: number | null
  start_index: number
  end_index: number
  text: string
}

/**
 * The documents of ranked chunks, without those that were deleted or that the caller may no longer read.
 * @see prisma/sql/search/read-documents.sql
 */
export const readDocuments = many<{ ids: readonly string[]; user_id: string; project_ids: readonly string[] | null }, ReadDocumentsRow>(
  'search/read-documents',
  `SELECT d.id AS document_id, k.workspace_id, d.file_id, d.name, d.metadata, d.revision, d.content_type
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.id = ANY($1) AND d.status <> 'failed' AND CASE WHEN k.project_id IS NULL THEN k.owner_id = $2 AND $3::text[] IS NULL
  ELSE ($3 IS NULL OR k.project_id = ANY($3)) AND EXISTS (
    SELECT FROM members m JOIN projects p ON p.id = m.project_id
    WHERE m.project_id = k.project_id AND m.user_id = $2 AND m.ai_role IS NOT NULL
      AND p.status <> 'deleted') END`,
  ['ids', 'user_id', 'project_ids'],
  { reads: true },
)
export interface ReadDocumentsRow {
  document_id: string
  workspace_id: string
  file_id: string | null
  name: string
  metadata: Record<string, string>
  revision: number
  content_type: string
}

/**
 * The knowledge bases that the caller may read and that have chunks, with their counts by language, and
 * whether the database has the extension pgvector.
 * @see prisma/sql/search/read-scope.sql
 */
export const readScope = many<{ knowledge_base_ids: readonly string[]; user_id: string; project_ids: readonly string[] | null }, ReadScopeRow>(
  'search/read-scope',
  `SELECT k.id, c.language, c.chunks, c.tokens,
  EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AS pgvector
FROM knowledge_bases k JOIN chunk_counts c ON c.knowledge_base_id = k.id
WHERE k.id = ANY($1) AND CASE WHEN k.project_id IS NULL THEN k.owner_id = $2 AND $3::text[] IS NULL
  ELSE ($3 IS NULL OR k.project_id = ANY($3)) AND EXISTS (
    SELECT FROM members m JOIN projects p ON p.id = m.project_id
    WHERE m.project_id = k.project_id AND m.user_id = $2 AND m.ai_role IS NOT NULL
      AND p.status <> 'deleted') END ORDER BY c.chunks DESC`,
  ['knowledge_base_ids', 'user_id', 'project_ids'],
  { reads: true },
)
export interface ReadScopeRow {
  id: string
  language: string
  chunks: number
  tokens: number
  pgvector: boolean
}
