// Vector search: ranks chunks by the cosine similarity of their embeddings to the query's, with pgvector if
// the database has it.
import * as sql from '../../../generated/sql/search.ts'
import type { SqlClient } from '../../../infra/database/database.ts'
import { toUnitVector } from '../knowledge/chunk-index.ts'
import { rankInEach, type RankedChunk } from './fusion.ts'
import { filterParameters, type DocumentFilters } from './filters.ts'
import type { SearchScope } from './scope.ts'

/**
 * Chunks up to which all vectors are compared. In larger knowledge bases only those of the best chunks by
 * words are.
 */
const maxCompared = { pgvector: 20_000, plain: 1_000 }

/** The most similar chunks first. `byWords` are the candidates in large knowledge bases. */
export async function rankByVector(
  db: SqlClient,
  scope: SearchScope,
  { embedding, embeddingModel }: { embedding: number[]; embeddingModel?: string },
  filters: DocumentFilters,
  byWords: RankedChunk[],
): Promise<RankedChunk[]> {
  const compareAll = scope.chunks <= (scope.pgvector ? maxCompared.pgvector : maxCompared.plain)
  const rank = scope.pgvector ? sql.rankByVectorWithPgvector : sql.rankByVector
  const unitVector = toUnitVector(embedding)
  const filter = filterParameters(filters)
  return await rankInEach(scope, (base) => {
    const candidates = byWords.filter(({ knowledgeBaseId }) => knowledgeBaseId === base)
    return rank(db, {
      embedding: unitVector,
      embedding_model: embeddingModel ?? null,
      knowledge_base_id: base,
      chunk_ids: compareAll ? null : candidates.map(({ id }) => id),
      ...filter,
    })
  })
}
