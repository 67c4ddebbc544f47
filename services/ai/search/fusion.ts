// Rankings of chunks, and their combination by reciprocal rank fusion (Cormack and others, 2009).

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

/**
 * Ranks the chunks of each knowledge base with a statement of its own, because their chunks may be on
 * different nodes. One after the other, so that a search uses one connection.
 * @returns the best of all.
 */
export async function rankInEach(
  { ids }: { ids: string[] },
  rank: (knowledgeBaseId: string) => Promise<RankedChunk[]>,
): Promise<RankedChunk[]> {
  const ranked: RankedChunk[] = []
  for (const id of ids) ranked.push(...(await rank(id)))
  return ranked.sort(compareRanked).slice(0, maxRanked)
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
