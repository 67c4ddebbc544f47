// Retrieval: the passages of knowledge bases that are relevant to a query, by keywords and, with an embedding
// model, by vectors.
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/search.ts'
import type { SqlClient } from '../../../infra/database/database.ts'
import { orOnTimeout } from '../../../infra/database/errors.ts'
import type { Principal } from '../../users/authentication.ts'
import { ChunkReader } from './chunk-reader.ts'
import { fuse, type RankedChunk } from './fusion.ts'
import { rankByWords, rerankByPairs } from './keyword-search.ts'
import { estimateChunks, findQueryWords } from './query-words.ts'
import type { DocumentFilters } from './filters.ts'
import { callerParameters, findScope } from './scope.ts'
import { rankByVector } from './vector-search.ts'

export type Passage = components['schemas']['Passage']

/**
 * A passage with the project or user of its knowledge base, and the revision and content type of its
 * document.
 */
export type RetrievedPassage = Passage & { workspace_id: string; revision: number; content_type: string }

export interface PassageSearch {
  knowledgeBaseIds: string[]
  query: string
  limit: number
  filters?: DocumentFilters
  /** The embedding of the query, from the model that embedded the chunks. */
  embedding?: number[] | null
  /** Vectors of another model are not compared. */
  embeddingModel?: string
}

/** A word of the query that the search looked for. */
export interface QueryWord {
  text: string
  /** Estimated number of chunks that contain the word, or a similar word if the word is not known. */
  chunks: number
  /** Whether any chunk contains the word. */
  known: boolean
}

export interface SearchResult {
  passages: RetrievedPassage[]
  /** The rarest word first. Empty if the knowledge bases are empty. */
  words: QueryWord[]
  /** Number of chunks in the knowledge bases. */
  chunks: number
}

/**
 * The best passages first, at most `limit`. Scores range from 0 to 1 and are comparable within one search. By
 * keywords alone a score is the share of the query's words, weighted by rarity, that the passage contains,
 * with a bonus for words that are close to each other. With vectors it is the share of the maximum of both
 * rankings; without them if they take too long.
 */
export async function searchKnowledgeBases(
  db: SqlClient,
  principal: Principal,
  { knowledgeBaseIds, query, limit, filters = {}, embedding = null, embeddingModel }: PassageSearch,
): Promise<SearchResult> {
  const scope = await findScope(db, principal, knowledgeBaseIds)
  if (scope.chunks === 0) return { passages: [], words: [], chunks: 0 }
  const words = await findQueryWords(db, scope, query)
  const chunks = new ChunkReader(db)
  const byWords = await rerankByPairs(chunks, await rankByWords(db, scope, words, filters), words)
  const byVector =
    embedding === null
      ? null
      : await orOnTimeout(rankByVector(db, scope, { embedding, embeddingModel }, filters, byWords), null)
  const ranked = byVector === null ? byWords : fuse(byWords, byVector)
  return {
    passages: await loadPassages(db, principal, chunks, ranked, limit),
    words: words.map(({ text, known, terms }) => ({ text, known, chunks: estimateChunks(terms) })),
    chunks: scope.chunks,
  }
}

/** Fewer than `limit` only if no more chunks are ranked, or none that the caller may still read. */
async function loadPassages(
  db: SqlClient,
  principal: Principal,
  chunks: ChunkReader,
  ranked: RankedChunk[],
  limit: number,
): Promise<RetrievedPassage[]> {
  const passages: RetrievedPassage[] = []
  for (let from = 0; from < ranked.length && passages.length < limit; from += limit) {
    const batch = ranked.slice(from, from + limit)
    const ids = [...new Set(batch.map(({ documentId }) => documentId))]
    const rows = await sql.readDocuments(db, { ...callerParameters(principal), ids })
    const documents = new Map(rows.map((row) => [row.document_id, row]))
    const texts = await chunks.read(batch.filter(({ documentId }) => documents.has(documentId)))
    for (const { id, documentId, score } of batch) {
      const [document, chunk] = [documents.get(documentId), texts.get(id)]
      if (document === undefined || chunk === undefined) continue
      const { id: chunkId, ...fields } = chunk
      passages.push({ ...document, ...fields, chunk_id: chunkId, score: Math.min(1, score) })
    }
  }
  return passages.slice(0, limit)
}

/** The passage without internal fields. */
export function toPassage({
  workspace_id: _workspace,
  revision: _revision,
  content_type: _type,
  ...passage
}: RetrievedPassage): Passage {
  return passage
}
