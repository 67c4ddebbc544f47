// Keyword search: BM25 (Robertson and Zaragoza, 2009) over the lexemes of all languages of the knowledge
// bases. Only a bounded number of candidate chunks is ranked: those with the rarest words, and those with
// several frequent words.
import type { Db } from '../../../infra/database/database.ts'
import { statement, statementOf } from '../../../infra/database/statements.ts'
import { escapeLike } from '../../../infra/database/pagination.ts'
import { foldAccents, tokenize } from '../knowledge/tokenize.ts'
import { compareRanked, type RankedChunk } from './fusion.ts'
import { matchesForm, totalWeight, type WeightedWord } from './query-words.ts'
import { filterCondition, searchableSql, type DocumentFilters, type SearchScope } from './scope.ts'

/** Candidates in all knowledge bases together, without those of frequent words. */
const maxCandidates = 1_000
/** Chunks that the statement returns, and of these the best that are ranked again by word pairs. */
export const maxRanked = 200
const maxReranked = 30
const bm25 = { k1: 1.2, b: 0.75 }
/** Weight of a word in the document's name, relative to its weight in the text. */
const nameWeight = 0.4
/**
 * Weight of two adjacent words of the query that are also close in the chunk, relative to their own weights.
 */
const pairWeight = 0.25

// width_bucket finds the index of an id in the ascending array `terms` by binary search. Rows are identified
// by their ctid, the fastest way back to a row, which is stable within the statement.
const rankCandidates = (filter: string): string => `
  WITH candidates AS MATERIALIZED (
    SELECT c.place FROM unnest($1::text[], $2::int[]) AS p (terms, most), LATERAL (
      SELECT c.ctid AS place
      FROM chunks c ${filter === '' ? '' : `JOIN documents d ON d.id = c.document_id AND ${filter}`}
      WHERE c.terms @> p.terms::int[] LIMIT p.most) c
    UNION
    SELECT c.place FROM (
      SELECT d.id FROM documents d
      WHERE d.knowledge_base_id = ANY($3) AND lower(d.name) LIKE ANY($4)
        ${filter === '' ? '' : `AND ${filter}`} LIMIT 20) d,
      LATERAL (SELECT c.ctid AS place FROM chunks c WHERE c.document_id = d.id ORDER BY c.position LIMIT 3) c
  ), matches AS (
    SELECT place, word, max(
      weight * count * ${bm25.k1 + 1}::float8 / (
        count + ${bm25.k1 * (1 - bm25.b)}::float8 + ${bm25.k1 * bm25.b}::float8 * tokens / $9::float8
      )
    ) AS weight
    FROM (
      SELECT c.ctid AS place, q.word, q.weight,
        c.term_counts[width_bucket(q.id, c.terms)]::float8 AS count, c.tokens::float8 AS tokens
      FROM candidates f JOIN chunks c ON c.ctid = f.place
        JOIN unnest($5::text[], $6::int[], $7::int[], $8::float8[]) AS q (base, id, word, weight)
          ON q.base = c.knowledge_base_id
      WHERE c.terms[width_bucket(q.id, c.terms)] = q.id OFFSET 0
    ) s GROUP BY 1, 2
  ), ranked AS (
    SELECT f.place, coalesce(sum(s.weight), 0) AS score
    FROM candidates f LEFT JOIN matches s ON s.place = f.place
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${maxRanked}
  )
  SELECT c.id, r.score, unaccent(d.name) AS name
  FROM ranked r JOIN chunks c ON c.ctid = r.place
  JOIN documents d ON d.id = c.document_id AND ${searchableSql}`

/**
 * The best chunks first. A score is the share of the query's words, weighted by rarity, that the chunk and
 * its document's name contain.
 */
export async function rankByWords(
  db: Db,
  scope: SearchScope,
  words: WeightedWord[],
  filters: DocumentFilters,
): Promise<RankedChunk[]> {
  if (words.length === 0) return []
  const probes = probesOf(scope, words)
  const terms = words.flatMap((word, i) => word.terms.map((term) => ({ ...term, word: i })))
  const values = [
    probes.map(({ ids }) => `{${ids}}`),
    probes.map(({ limit }) => limit),
    scope.ids,
    namePatterns(words),
    terms.map(({ base }) => base),
    terms.map(({ id }) => id),
    terms.map(({ word }) => word),
    terms.map(({ weight }) => weight),
    scope.averageTokens,
  ]
  const filter = filterCondition(filters, values)
  const rows = await db.sql(statementOf<RankedChunk & { name: string }>(rankCandidates(filter)), values)
  const total = totalWeight(words)
  return rows
    .map(({ id, score, name }) => ({ id, score: (score + weightOfName(name, words)) / total }))
    .filter(({ score }) => score > 0)
    .sort(compareRanked)
}

/** An index lookup for candidates: up to `limit` chunks that contain all of the lexemes. */
interface Probe {
  ids: number[]
  limit: number
}

function probesOf(scope: SearchScope, words: WeightedWord[]): Probe[] {
  const limit = Math.max(100, Math.floor(maxCandidates / scope.ids.length))
  return scope.ids.flatMap((base) => probesOfBase(base, words, limit))
}

/**
 * All chunks of the rarest words, until `limit` is reached. For the remaining, frequent words: chunks that
 * contain several of them, and some that contain one.
 */
function probesOfBase(base: string, words: WeightedWord[], limit: number): Probe[] {
  const probes: Probe[] = []
  let remaining = limit
  const frequent: number[] = []
  const own = words.flatMap((word) => {
    const terms = word.terms.filter((term) => term.base === base)
    return terms.length === 0 ? [] : [{ terms, chunks: terms.reduce((sum, { chunks }) => sum + chunks, 0) }]
  })
  for (const { terms, chunks } of own.sort((a, b) => a.chunks - b.chunks)) {
    if (chunks <= remaining) {
      remaining -= chunks
      for (const { id, chunks } of terms) probes.push({ ids: [id], limit: chunks })
    } else {
      // The most frequent form represents the word: its chunks mostly contain the other forms, too.
      frequent.push(terms.reduce((a, b) => (b.chunks > a.chunks ? b : a)).id)
    }
  }
  const few = frequent.slice(0, 5)
  if (few.length > 2) probes.push({ ids: few, limit: 300 }, { ids: few.slice(0, 3), limit: 300 })
  few.forEach((a, i) => few.slice(i + 1, 4).forEach((b) => probes.push({ ids: [a, b], limit: 150 })))
  for (const id of few.slice(0, 3))
    probes.push({ ids: [id], limit: Math.max(100, Math.floor(remaining / 3)) })
  return probes
}

/** LIKE patterns of document names that contain one of the words. */
function namePatterns(words: WeightedWord[]): string[] {
  const forms = words
    .slice(0, 8)
    .flatMap(({ forms }) => [...forms])
    .filter((form) => form.length >= 3 || /[^\p{ASCII}]{2}/u.test(form))
  return [...new Set(forms)].map((form) => `%${escapeLike(form)}%`)
}

function weightOfName(name: string, words: WeightedWord[]): number {
  const nameWords = tokenize(name).map(foldAccents)
  const matched = words.filter(({ forms }) => nameWords.some((word) => matchesForm(word, forms)))
  return nameWeight * totalWeight(matched)
}

const selectTexts = statement<{ id: string; text: string }>('SELECT id, text FROM chunks WHERE id = ANY($1)')

/**
 * Ranks the best chunks again, with a bonus for adjacent words of the query that are also close in the chunk.
 */
export async function rerankByPairs(
  db: Db,
  ranked: RankedChunk[],
  words: WeightedWord[],
): Promise<RankedChunk[]> {
  const inOrder = words.toSorted((a, b) => a.position - b.position)
  const pairs = inOrder.slice(1).map((second, i) => ({
    first: inOrder[i],
    second,
    maxDistance: second.position - inOrder[i].position + 1,
  }))
  if (pairs.length === 0 || ranked.length < 2) return ranked
  const total = totalWeight(words)
  const best = ranked.slice(0, maxReranked)
  const rows = await db.sql(selectTexts, [best.map(({ id }) => id)])
  const texts = new Map(rows.map(({ id, text }) => [id, text]))
  const reranked = best.map(({ id, score }) => {
    const text = tokenize(foldAccents(texts.get(id) ?? ''))
    const positions = new Map(
      inOrder.map((word) => [
        word,
        text.flatMap((other, at) => (matchesForm(other, word.forms) ? [at] : [])),
      ]),
    )
    const close = pairs.filter(({ first, second, maxDistance }) =>
      positions.get(first)!.some((a) => positions.get(second)!.some((b) => b > a && b - a <= maxDistance)),
    )
    const closeWeight = close.reduce((sum, { first, second }) => sum + first.weight + second.weight, 0)
    return { id, score: score + (pairWeight * closeWeight) / total }
  })
  return [...reranked.sort(compareRanked), ...ranked.slice(maxReranked)]
}
