// Rankings of chunks, and their combination by reciprocal rank fusion (Cormack and others, 2009).
import { findInEach, type SearchScope } from './scope.ts'

export interface Ranked {
  id: string
  score: number
}

export interface RankedChunk extends Ranked {
  knowledgeBaseId: string
  documentId: string
}

const maxRanked = 200
/** The constant k of reciprocal rank fusion. */
const fusionConstant = 60

/** Sorts by descending score. Equal scores keep the order of creation. */
export function compareRanked(a: Ranked, b: Ranked): number {
  return b.score - a.score || (a.id < b.id ? -1 : 1)
}

interface RankedRow extends Ranked {
  document_id: string
}

/** Ranks the chunks of each knowledge base. @returns the best of all. */
export async function rankInEach(
  scope: SearchScope,
  rank: (base: string) => Promise<RankedRow[]>,
): Promise<RankedChunk[]> {
  const rows = await findInEach(scope, rank)
  return rows
    .map(({ id, base: knowledgeBaseId, document_id: documentId, score }) => ({
      id,
      knowledgeBaseId,
      documentId,
      score,
    }))
    .sort(compareRanked)
    .slice(0, maxRanked)
}

/** Combines rankings. A chunk that is first in all of them has the score 1. */
export function fuse<Chunk extends Ranked>(...rankings: Chunk[][]): Chunk[] {
  const fused = new Map<string, Chunk>()
  for (const ranking of rankings) {
    ranking.forEach((chunk, i) => {
      const share = (fusionConstant + 1) / (fusionConstant + 1 + i) / rankings.length
      fused.set(chunk.id, { ...chunk, score: (fused.get(chunk.id)?.score ?? 0) + share })
    })
  }
  return [...fused.values()].sort(compareRanked)
}
