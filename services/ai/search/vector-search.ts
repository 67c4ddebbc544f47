// Vector search: ranks chunks by the cosine similarity of their embeddings to the query's, with pgvector if
// the database has it.
import type { Db } from '../../../infra/database/database.ts'
import { statementOf } from '../../../infra/database/statements.ts'
import { toSqlArray, toUnitVector } from '../knowledge/chunk-index.ts'
import type { RankedChunk } from './fusion.ts'
import { maxRanked } from './keyword-search.ts'
import { filterCondition, searchableSql, type DocumentFilters, type SearchScope } from './scope.ts'

/**
 * Chunks up to which all vectors are compared. In larger knowledge bases only those of the best chunks by
 * words are.
 */
const maxCompared = { pgvector: 20_000, plain: 1_000 }

const similarity = {
  pgvector: '1 - (c.embedding::vector <=> $1::real[]::vector)',
  plain: '(SELECT sum(x * y) FROM unnest(c.embedding, $1::real[]) AS u (x, y))',
}

const rankVectors = (measure: string, where: string): string => `
  SELECT c.id, ${measure} AS score FROM chunks c JOIN documents d ON d.id = c.document_id AND ${searchableSql}
  WHERE ${where} AND cardinality(c.embedding) = cardinality($1::real[])
  ORDER BY score DESC, c.id LIMIT ${maxRanked}`

/** The most similar chunks first. `byWords` are the candidates in large knowledge bases. */
export async function rankByVector(
  db: Db,
  scope: SearchScope,
  embedding: number[],
  filters: DocumentFilters,
  byWords: RankedChunk[],
): Promise<RankedChunk[]> {
  const method = scope.pgvector ? 'pgvector' : 'plain'
  const compareAll = scope.chunks <= maxCompared[method]
  const values: unknown[] = [
    toSqlArray(toUnitVector(embedding)),
    compareAll ? scope.ids : byWords.map(({ id }) => id),
  ]
  const candidates = compareAll
    ? 'c.knowledge_base_id = ANY($2) AND c.embedding IS NOT NULL'
    : 'c.id = ANY($2)'
  const filter = filterCondition(filters, values)
  const where = filter === '' ? candidates : `${candidates} AND ${filter}`
  return await db.sql(statementOf<RankedChunk>(rankVectors(similarity[method], where)), values)
}
