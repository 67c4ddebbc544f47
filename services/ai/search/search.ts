// Retrieval: the passages of knowledge bases that bear on a question, by its words and, where there are vectors, by its
// meaning. Nothing comes from a knowledge base that the caller may not read at that moment: what is permitted is asked in
// the statements themselves.
//
// By words it is BM25 (Robertson and Zaragoza, 2009) over the lexemes of every language that the knowledge bases have. The
// chunks that are ranked are those of the rarest words, and of commoner ones together, up to a bound.
import type { components } from '../../../generated/types.ts'
import { statement, statementOf, type Db } from '../../../infra/database/database.ts'
import type { Principal } from '../../users/authentication.ts'
import { toSqlArray, toUnitVector } from '../knowledge/chunk-index.ts'
import { foldAccents, tokenize } from '../knowledge/tokenize.ts'

export type Passage = components['schemas']['Passage']

/** A passage with whose knowledge base it is from, the project's or the user's, and with which text of its document, of which kind. */
export type RetrievedPassage = Passage & { space_id: string; revision: number; content_type: string }

export interface PassageSearch {
  knowledgeBaseIds: string[]
  query: string
  limit: number
  filters?: { document_ids?: string[]; metadata?: Record<string, string> }
  /** Of the query, by the model that made those of the chunks. */
  embedding?: number[] | null
}

/** Of a long query, so many different words are looked up, and the rarest of them ranked by. */
const mostWords = { lookedUp: 200, ranked: 32 }
/** Chunks that are ranked, but for those of common words together. */
const mostCandidates = 1_000
/** What is ranked further, by names and vectors, and then by pairs of words. */
const mostRanked = 200
const mostRead = 30
/** Chunks up to which every vector is compared; beyond it, only those of the best by words. */
const mostVectors = { pgvector: 20_000, plain: 1_000 }
const bm25 = { k1: 1.2, b: 0.75 }
/** A word in the document's name, as a part of what it counts in the text. */
const nameWeight = 0.4
/** Two words that stand beside each other in the query and in the passage, as a part of what they count. */
const pairWeight = 0.25
/** The constant of reciprocal rank fusion (Cormack and others, 2009). */
const fusion = 60

/** A word of the query that is looked for, and how many chunks have it, in some form; one that none has, as it is most likely meant. */
export interface QueryWord {
  text: string
  chunks: number
  /** Whether any has it. */ known: boolean
}

export interface SearchResult {
  passages: RetrievedPassage[]
  /** The rarest first; none where the knowledge bases are empty. */
  words: QueryWord[]
  /** Of the knowledge bases. */
  chunks: number
}

/** The passages of `searchKnowledgeBases`. */
export async function searchPassages(
  db: Db,
  principal: Principal,
  search: PassageSearch,
): Promise<RetrievedPassage[]> {
  return (await searchKnowledgeBases(db, principal, search)).passages
}

/**
 * The best passages first, at most `limit`. `score` is from 0 to 1 and compares passages of one search: by words alone, the
 * share of the query's words, weighted by their rarity, that the passage covers, and more where they stand together; fused with vectors, the share of what
 * being first in both ways would give.
 */
export async function searchKnowledgeBases(
  db: Db,
  principal: Principal,
  { knowledgeBaseIds, query, limit, filters = {}, embedding = null }: PassageSearch,
): Promise<SearchResult> {
  const caller = callerOf(principal)
  const bases = basesOf(await db.sql(readBases, [...caller, knowledgeBaseIds]))
  if (bases.chunks === 0) return { passages: [], words: [], chunks: 0 }
  const words = await lookUp(db, bases, query)
  const named = await rankByWords(db, bases, words, filters)
  const byWords = await rankByPairs(db, named, words)
  const ranked =
    embedding === null ? byWords : fuse(byWords, await rankByVector(db, bases, embedding, filters, byWords))
  const passages =
    ranked.length === 0
      ? []
      : await db.sql(readPassages, [
          ...caller,
          ranked.map(({ id }) => id),
          ranked.map(({ score }) => Math.min(1, score)),
          limit,
        ])
  return {
    passages,
    words: words.map(({ text, known, terms }) => ({ text, known, chunks: chunksWith(terms) })),
    chunks: bases.chunks,
  }
}

function callerOf({ userId, projectIds }: Principal): [string, string[] | null] {
  return [userId, projectIds === null ? null : [...projectIds]]
}

/** Of a knowledge base k: whether the user $1 with a key for the projects $2, or all, may read it. */
const readable = `CASE WHEN k.project_id IS NULL THEN k.owner_id = $1 AND $2::text[] IS NULL
  ELSE ($2 IS NULL OR k.project_id = ANY($2)) AND EXISTS (
    SELECT FROM members m JOIN projects p ON p.id = m.project_id WHERE m.project_id = k.project_id AND m.user_id = $1 AND p.status <> 'deleted') END`

// A document that is read again keeps what it had until then; one that has never been read has no chunks.
const searchable = `d.status <> 'failed'`

const countWaiting = statement<{ count: number }>(`
  SELECT coalesce(sum(c.count), 0)::int AS count FROM document_counts c JOIN knowledge_bases k ON k.id = c.knowledge_base_id
  WHERE k.id = ANY($3) AND c.status IN ('queued', 'processing') AND ${readable}`)

/** How many documents of the knowledge bases that the caller may read are still to be read. */
export async function countUnparsedDocuments(
  db: Db,
  principal: Principal,
  knowledgeBaseIds: string[],
): Promise<number> {
  if (knowledgeBaseIds.length === 0) return 0
  return (await db.sql(countWaiting, [...callerOf(principal), knowledgeBaseIds]))[0].count
}

interface BaseRow {
  id: string
  language: string
  chunks: number
  tokens: number
  pgvector: boolean
}

const readBases = statement<BaseRow>(`
  SELECT k.id, c.language, c.chunks, c.tokens, EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AS pgvector
  FROM knowledge_bases k JOIN chunk_counts c ON c.knowledge_base_id = k.id WHERE k.id = ANY($3) AND ${readable} ORDER BY c.chunks DESC`)

interface Bases {
  ids: string[]
  languages: string[]
  chunks: number
  averageTokens: number
  pgvector: boolean
}

function basesOf(rows: BaseRow[]): Bases {
  const chunks = rows.reduce((sum, row) => sum + row.chunks, 0)
  return {
    ids: [...new Set(rows.map(({ id }) => id))],
    languages: [...new Set(rows.map(({ language }) => language))].filter((language) => language !== 'simple'),
    chunks,
    averageTokens: Math.max(1, rows.reduce((sum, row) => sum + row.tokens, 0) / Math.max(1, chunks)),
    pgvector: rows.some((row) => row.pgvector),
  }
}

/** A lexeme of a word in one knowledge base, by its number there. */
interface Term {
  base: string
  id: number
  chunks: number
  weight: number
}
/** `weight`: by its rarity, what it counts at most. `known`: whether the terms are its own, not those of words that are written alike. */
interface Word {
  text: string
  forms: Set<string>
  terms: Term[]
  known: boolean
  weight: number
  /** In the query. */ place: number
}

interface VariantRow {
  n: number
  language: string
  lexeme: string
  base: string | null
  id: number
  chunks: number
}

/** A limit that is never reached: it keeps the planner, which takes a word for a thousand, from reading all lexemes. */
const unlimited = 1_000_000

const readLexemes = statement<VariantRow>(`
  SELECT v.n::int, v.language, v.lexeme, l.knowledge_base_id AS base, l.id, l.chunks FROM (
    SELECT DISTINCT n, language, unnest(tsvector_to_array(to_tsvector(language::regconfig, unaccent(word)))) AS lexeme
    FROM unnest($2::text[]) WITH ORDINALITY AS w (word, n), unnest($3::text[]) AS language
  ) v LEFT JOIN LATERAL (SELECT * FROM lexemes l WHERE l.knowledge_base_id = ANY($1) AND l.lexeme = v.lexeme COLLATE "C" LIMIT ${unlimited}) l ON true
  ORDER BY 1, 2, 3, 4`)

const readSimilar = statement<{
  n: number
  lexeme: string
  alike: number
  base: string
  id: number
  chunks: number
}>(`
  SELECT w.n::int, s.lexeme, s.alike, l.knowledge_base_id AS base, l.id, l.chunks
  FROM unnest($2::text[]) WITH ORDINALITY AS w (word, n), similar_lexemes($1, unaccent(w.word), 3) s
    CROSS JOIN LATERAL (SELECT * FROM lexemes l WHERE l.knowledge_base_id = ANY($1) AND l.lexeme = s.lexeme COLLATE "C" LIMIT ${unlimited}) l
  ORDER BY 1, 3 DESC, 2, 4`)

/** The words of the query that say something, with the lexemes of the knowledge bases that they stand for. */
async function lookUp(db: Db, bases: Bases, query: string): Promise<Word[]> {
  const asked = [...new Set(tokenize(query))].slice(0, mostWords.lookedUp)
  const rows = await db.sql(readLexemes, [bases.ids, asked, ['simple', ...bases.languages]])
  const stopped = stopWords(rows, asked.length, bases.languages)
  const spoken = asked.map((_, i) => i + 1).filter((n) => !stopped.has(n))
  const variants = asked.map((): VariantRow[] => [])
  for (const row of rows) variants[row.n - 1].push(row)
  // A question of nothing but such words ("to be or not to be") is asked by them.
  const taken = (spoken.length > 0 ? spoken : [...stopped]).map((n) => ({
    text: asked[n - 1],
    place: n,
    variants: variants[n - 1],
  }))
  const words = taken.map(({ text, variants, place }) => ({ ...wordOf(variants, bases), text, place }))
  if (spoken.length > 0) await spell(db, bases, words)
  return words.toSorted((a, b) => b.weight - a.weight).slice(0, mostWords.ranked)
}

/**
 * The words that the query's language takes for mere grammar: that of the knowledge bases' languages which takes most of them
 * so, since what is grammar in one language (`die`) has a meaning in another.
 */
function stopWords(rows: VariantRow[], count: number, languages: string[]): Set<number> {
  let most = new Set<number>()
  for (const language of languages) {
    const kept = new Set(rows.filter((row) => row.language === language).map(({ n }) => n))
    const stopped = new Set(Array.from({ length: count }, (_, i) => i + 1).filter((n) => !kept.has(n)))
    if (stopped.size > most.size) most = stopped
  }
  return most
}

function wordOf(rows: VariantRow[], bases: Bases): Omit<Word, 'text' | 'place'> {
  const chunks = new Map<string, number>()
  const found = new Map<number, VariantRow & { base: string }>()
  for (const row of rows) {
    if (row.base !== null && !found.has(row.id)) {
      found.set(row.id, row as VariantRow & { base: string })
      chunks.set(row.lexeme, (chunks.get(row.lexeme) ?? 0) + row.chunks)
    }
  }
  const terms = [...found.values()].map(({ base, id, chunks: own, lexeme }) => ({
    base,
    id,
    chunks: own,
    weight: rarity(chunks.get(lexeme)!, bases),
  }))
  return {
    forms: new Set(rows.map(({ lexeme }) => lexeme)),
    terms,
    known: terms.length > 0,
    weight: terms.reduce((most, { weight }) => Math.max(most, weight), 0) || rarity(0, bases),
  }
}

function rarity(chunks: number, bases: Bases): number {
  return Math.log(1 + (Math.max(0, bases.chunks - chunks) + 0.5) / (chunks + 0.5))
}

/** Words that no lexeme matches stand for those that are written alike, as far as they are. */
async function spell(db: Db, bases: Bases, words: Word[]): Promise<void> {
  const unknown = words.filter(({ known, text }) => !known && text.length >= 4).slice(0, 8)
  if (unknown.length === 0) return
  for (const { n, lexeme, alike, base, id, chunks } of await db.sql(readSimilar, [
    bases.ids,
    unknown.map(({ text }) => text),
  ])) {
    const word = unknown[n - 1]
    word.forms.add(lexeme)
    word.terms.push({ base, id, chunks, weight: rarity(chunks, bases) * alike })
  }
}

/** About how many chunks have one of the terms: of each knowledge base those of the commonest, which has most of the others, too. */
function chunksWith(terms: Term[]): number {
  const most = new Map<string, number>()
  for (const { base, chunks } of terms) most.set(base, Math.max(chunks, most.get(base) ?? 0))
  return [...most.values()].reduce((sum, chunks) => sum + chunks, 0)
}

interface Ranked {
  id: string
  score: number
}
interface Filters {
  document_ids?: string[]
  metadata?: Record<string, string>
}

// The place of a number in the ascending `terms` by bisection, which is what width_bucket does. Rows are told apart by where they
// are stored, which is the quickest way back to them, and holds for as long as the statement.
const rankChunks = (filter: string): string => `
  WITH found AS MATERIALIZED (
    SELECT c.place FROM unnest($1::text[], $2::int[]) AS p (terms, most), LATERAL (
      SELECT c.ctid AS place FROM chunks c ${filter === '' ? '' : `JOIN documents d ON d.id = c.document_id AND ${filter}`} WHERE c.terms @> p.terms::int[] LIMIT p.most) c
    UNION
    SELECT c.place FROM (
      SELECT d.id FROM documents d WHERE d.knowledge_base_id = ANY($3) AND lower(d.name) LIKE ANY($4) ${filter === '' ? '' : `AND ${filter}`} LIMIT 20) d,
      LATERAL (SELECT c.ctid AS place FROM chunks c WHERE c.document_id = d.id ORDER BY c.position LIMIT 3) c
  ), said AS (
    SELECT place, word, max(weight * count * ${bm25.k1 + 1}::float8 / (count + ${bm25.k1 * (1 - bm25.b)}::float8 + ${bm25.k1 * bm25.b}::float8 * tokens / $9::float8)) AS weight
    FROM (
      SELECT c.ctid AS place, q.word, q.weight, c.term_counts[width_bucket(q.id, c.terms)]::float8 AS count, c.tokens::float8 AS tokens
      FROM found f JOIN chunks c ON c.ctid = f.place
        JOIN unnest($5::text[], $6::int[], $7::int[], $8::float8[]) AS q (base, id, word, weight) ON q.base = c.knowledge_base_id
      WHERE c.terms[width_bucket(q.id, c.terms)] = q.id OFFSET 0
    ) s GROUP BY 1, 2
  ), ranked AS (
    SELECT f.place, coalesce(sum(s.weight), 0) AS score FROM found f LEFT JOIN said s ON s.place = f.place GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${mostRanked}
  )
  SELECT c.id, r.score, unaccent(d.name) AS name FROM ranked r JOIN chunks c ON c.ctid = r.place JOIN documents d ON d.id = c.document_id AND ${searchable}`

async function rankByWords(db: Db, bases: Bases, words: Word[], filters: Filters): Promise<Ranked[]> {
  if (words.length === 0) return []
  const probes = probesOf(bases, words)
  const terms = words.flatMap((word, i) => word.terms.map((term) => ({ ...term, word: i })))
  const values = [
    probes.map(({ ids }) => `{${ids}}`),
    probes.map(({ most }) => most),
    bases.ids,
    patternsOf(words),
    terms.map(({ base }) => base),
    terms.map(({ id }) => id),
    terms.map(({ word }) => word),
    terms.map(({ weight }) => weight),
    bases.averageTokens,
  ]
  const filter = filterOf(filters, values)
  const rows = await db.sql(statementOf<Ranked & { name: string }>(rankChunks(filter)), values)
  const whole = words.reduce((sum, { weight }) => sum + weight, 0)
  return rows
    .map(({ id, score, name }) => ({ id, score: (score + weightOfName(name, words)) / whole }))
    .filter(({ score }) => score > 0)
    .sort(best)
}

/** The better first, and of equals the one that was made first. */
function best(a: Ranked, b: Ranked): number {
  return b.score - a.score || (a.id < b.id ? -1 : 1)
}

/** What a document's filters say of d; their values are added to `values`. */
function filterOf({ document_ids: ids, metadata }: Filters, values: unknown[]): string {
  return [
    ...(ids === undefined ? [] : [`d.id = ANY($${values.push(ids)}::text[])`]),
    ...(metadata === undefined || Object.keys(metadata).length === 0
      ? []
      : [`d.metadata @> $${values.push(JSON.stringify(metadata))}::jsonb`]),
  ].join(' AND ')
}

/**
 * Which chunks to rank: those that have one of the rarest words, as far as these are few; and of the words that are in too many,
 * those that have several together, and then some that have one.
 */
function probesOf(bases: Bases, words: Word[]): Array<{ ids: number[]; most: number }> {
  const probes = []
  const most = Math.max(100, Math.floor(mostCandidates / bases.ids.length))
  for (const base of bases.ids) {
    let left = most
    const common: number[] = []
    const own = words.flatMap((word) => {
      const terms = word.terms.filter((term) => term.base === base)
      return terms.length === 0 ? [] : [{ terms, chunks: terms.reduce((sum, { chunks }) => sum + chunks, 0) }]
    })
    for (const { terms, chunks } of own.sort((a, b) => a.chunks - b.chunks)) {
      if (chunks <= left) {
        left -= chunks
        for (const { id, chunks } of terms) probes.push({ ids: [id], most: chunks })
      } else {
        // The commonest form stands for most of the others, too.
        common.push(terms.reduce((a, b) => (b.chunks > a.chunks ? b : a)).id)
      }
    }
    const few = common.slice(0, 5)
    if (few.length > 2) probes.push({ ids: few, most: 300 }, { ids: few.slice(0, 3), most: 300 })
    few.forEach((a, i) => few.slice(i + 1, 4).forEach((b) => probes.push({ ids: [a, b], most: 150 })))
    for (const id of few.slice(0, 3)) probes.push({ ids: [id], most: Math.max(100, Math.floor(left / 3)) })
  }
  return probes
}

/** Patterns of names that have one of the words. */
function patternsOf(words: Word[]): string[] {
  const forms = words
    .slice(0, 8)
    .flatMap(({ forms }) => [...forms])
    .filter((form) => form.length >= 3 || /[^\p{ASCII}]{2}/u.test(form))
  return [...new Set(forms)].map((form) => `%${form.replace(/[\\%_]/g, '\\$&')}%`)
}

function weightOfName(name: string, words: Word[]): number {
  const named = tokenize(name).map(foldAccents)
  return (
    nameWeight *
    words.reduce(
      (sum, { forms, weight }) => (named.some((word) => isOf(word, forms)) ? sum + weight : sum),
      0,
    )
  )
}

/** Whether a word is one of the forms, or an inflection of one, as far as its beginning tells. */
function isOf(word: string, forms: Set<string>): boolean {
  if (forms.has(word)) return true
  for (let length = word.length - 1; length >= Math.max(4, word.length - 3); length--)
    if (forms.has(word.slice(0, length))) return true
  return false
}

const readTexts = statement<{ id: string; text: string }>('SELECT id, text FROM chunks WHERE id = ANY($1)')

/** Ranks the best anew: the words of a query belong together where they stand together. */
async function rankByPairs(db: Db, ranked: Ranked[], words: Word[]): Promise<Ranked[]> {
  const sorted = words.toSorted((a, b) => a.place - b.place)
  const pairs = sorted
    .slice(1)
    .map((second, i) => ({ first: sorted[i], second, within: second.place - sorted[i].place + 1 }))
  if (pairs.length === 0 || ranked.length < 2) return ranked
  const whole = words.reduce((sum, { weight }) => sum + weight, 0)
  const texts = new Map(
    (await db.sql(readTexts, [ranked.slice(0, mostRead).map(({ id }) => id)])).map(({ id, text }) => [
      id,
      text,
    ]),
  )
  const read = ranked.slice(0, mostRead).map(({ id, score }) => {
    const text = tokenize(foldAccents(texts.get(id) ?? ''))
    const places = new Map(
      sorted.map((word) => [word, text.flatMap((other, at) => (isOf(other, word.forms) ? [at] : []))]),
    )
    const together = pairs.filter(({ first, second, within }) =>
      places.get(first)!.some((a) => places.get(second)!.some((b) => b > a && b - a <= within)),
    )
    return {
      id,
      score:
        score +
        (pairWeight * together.reduce((sum, { first, second }) => sum + first.weight + second.weight, 0)) /
          whole,
    }
  })
  return [...read.sort(best), ...ranked.slice(mostRead)]
}

const similarity = {
  pgvector: '1 - (c.embedding::vector <=> $1::real[]::vector)',
  plain: '(SELECT sum(x * y) FROM unnest(c.embedding, $1::real[]) AS u (x, y))',
}

const rankVectors = (measure: string, where: string): string => `
  SELECT c.id, ${measure} AS score FROM chunks c JOIN documents d ON d.id = c.document_id AND ${searchable}
  WHERE ${where} AND cardinality(c.embedding) = cardinality($1::real[]) ORDER BY score DESC, c.id LIMIT ${mostRanked}`

/** By the cosine: exact where the knowledge bases are small enough to compare all, else among those found by words. */
async function rankByVector(
  db: Db,
  bases: Bases,
  embedding: number[],
  filters: Filters,
  byWords: Ranked[],
): Promise<Ranked[]> {
  const kind = bases.pgvector ? 'pgvector' : 'plain'
  const all = bases.chunks <= mostVectors[kind]
  const values: unknown[] = [
    toSqlArray(toUnitVector(embedding)),
    all ? bases.ids : byWords.map(({ id }) => id),
  ]
  const filter = filterOf(filters, values)
  const where = [all ? 'c.knowledge_base_id = ANY($2) AND c.embedding IS NOT NULL' : 'c.id = ANY($2)', filter]
    .filter((part) => part !== '')
    .join(' AND ')
  return await db.sql(statementOf<Ranked>(rankVectors(similarity[kind], where)), values)
}

function fuse(...rankings: Ranked[][]): Ranked[] {
  const scores = new Map<string, number>()
  for (const ranking of rankings) {
    ranking.forEach(({ id }, i) =>
      scores.set(id, (scores.get(id) ?? 0) + (fusion + 1) / (fusion + 1 + i) / rankings.length),
    )
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort(best)
}

// May have fewer than were ranked, where something was deleted, or the caller removed, since.
const readPassages = statement<RetrievedPassage>(`
  SELECT c.id AS chunk_id, c.document_id, k.space_id, d.file_id, d.name, c.heading, c.page, c.start_index, c.end_index, c.text, r.score, d.metadata, d.revision, d.content_type
  FROM unnest($3::text[], $4::float8[]) WITH ORDINALITY AS r (id, score, place)
    JOIN chunks c ON c.id = r.id JOIN documents d ON d.id = c.document_id AND ${searchable} JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  WHERE ${readable} ORDER BY r.place LIMIT $5`)
