// Rankings of chunks, and their combination by reciprocal rank fusion (Cormack and others, 2009).

export interface RankedChunk {
  id: string
  score: number
}

/** The constant k of reciprocal rank fusion. */
const fusionConstant = 60

/** Sorts by descending score. Equal scores keep the order of creation. */
export function compareRanked(a: RankedChunk, b: RankedChunk): number {
  return b.score - a.score || (a.id < b.id ? -1 : 1)
}

/** Combines rankings. A chunk that is first in all of them has the score 1. */
export function fuse(...rankings: RankedChunk[][]): RankedChunk[] {
  const scores = new Map<string, number>()
  for (const ranking of rankings) {
    ranking.forEach(({ id }, i) => {
      const share = (fusionConstant + 1) / (fusionConstant + 1 + i) / rankings.length
      scores.set(id, (scores.get(id) ?? 0) + share)
    })
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort(compareRanked)
}
