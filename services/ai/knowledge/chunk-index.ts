// The full-text index: the chunks of each document with their lexemes, and the number of chunks per lexeme in
// each knowledge base. Adding chunks updates these counts in the same transaction. Deleting chunks updates
// them later, in `subtractRemovedChunks`; until then a word may count as more frequent than it is.
import * as sql from '../../../generated/sql/knowledge.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { newId } from '../../../infra/ids.ts'
import type { NewChunk } from '../parsing/parse.ts'
import { tokenize } from './tokenize.ts'

/** Rows per statement, so that no statement runs long. */
const batchSize = { chunks: 100, lexemes: 10_000, removedChunks: 1_000 }
/** How much more a word counts in a heading than in the text. */
const headingWeight = 2
/** The maximum of SMALLINT. */
const maxCount = 32_767

/** The lexemes of a chunk, and how often each occurs. */
export interface ChunkLexemes {
  lexemes: string[]
  counts: number[]
}

/**
 * The lexemes of each chunk. This is half of the work of `replaceChunks` and needs no transaction. `language`
 * is a text search configuration.
 */
export async function extractLexemes(db: Db, chunks: NewChunk[], language: string): Promise<ChunkLexemes[]> {
  const result = chunks.map((): ChunkLexemes => ({ lexemes: [], counts: [] }))
  for (let from = 0; from < chunks.length; from += batchSize.chunks) {
    const batch = chunks.slice(from, from + batchSize.chunks)
    const rows = await sql.readChunkLexemes(db, {
      language,
      bodies: batch.map(({ text }) => tokenize(text).join(' ')),
      headings: batch.map(({ heading }) => tokenize(heading ?? '').join(' ')),
      heading_weight: headingWeight,
      max_count: maxCount,
    })
    for (const { n, lexemes, counts } of rows) result[from + n - 1] = { lexemes, counts }
  }
  return result
}

export interface ReplaceOptions {
  /** A text search configuration. */
  language: string
  /** One vector per chunk, or null without an embedding model. */
  embeddings: number[][] | null
  /** The result of `extractLexemes` for these chunks, if it was called before the transaction. */
  lexemes?: ChunkLexemes[]
}

/** Replaces all chunks of the document. Call this in the transaction that makes the document ready. */
export async function replaceChunks(
  tx: Transaction,
  { id, knowledgeBaseId }: { id: string; knowledgeBaseId: string },
  chunks: NewChunk[],
  { language, embeddings, lexemes: extracted }: ReplaceOptions,
): Promise<void> {
  if (embeddings !== null && embeddings.length !== chunks.length)
    throw new Error(`${embeddings.length} embeddings for ${chunks.length} chunks`)
  const lexemes = extracted ?? (await extractLexemes(tx, chunks, language))
  await sql.holdLexemes(tx, { knowledge_base_id: knowledgeBaseId })
  await sql.deleteChunks(tx, { knowledge_base_id: knowledgeBaseId, document_id: id })
  const lexemeIds = await countLexemes(tx, knowledgeBaseId, lexemes)
  if (chunks.length > 0)
    await sql.addToChunkCounts(tx, {
      knowledge_base_id: knowledgeBaseId,
      language,
      chunks: chunks.length,
      tokens: chunks.reduce((sum, { tokens }) => sum + tokens, 0),
    })
  for (let from = 0; from < chunks.length; from += batchSize.chunks) {
    const rows = chunks.slice(from, from + batchSize.chunks).map(({ text, heading, ...chunk }, i) => ({
      ...chunk,
      ...toTerms(lexemes[from + i], lexemeIds),
      id: newId('chunk'),
      position: from + i,
      text: text.toWellFormed(),
      heading: heading?.toWellFormed() ?? null,
      embedding: embeddings === null ? null : toUnitVector(embeddings[from + i]),
    }))
    await sql.insertChunks(tx, {
      document_id: id,
      knowledge_base_id: knowledgeBaseId,
      language,
      chunks: JSON.stringify(rows),
    })
  }
}

/** Adds the chunks to the count of each of their lexemes. @returns the id of each lexeme. */
async function countLexemes(
  tx: Transaction,
  knowledgeBaseId: string,
  chunks: ChunkLexemes[],
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { lexemes } of chunks)
    for (const lexeme of lexemes) counts.set(lexeme, (counts.get(lexeme) ?? 0) + 1)
  const entries = [...counts]
  const ids = new Map<string, number>()
  for (let from = 0; from < entries.length; from += batchSize.lexemes) {
    const batch = Object.fromEntries(entries.slice(from, from + batchSize.lexemes))
    const added = await sql.addToLexemes(tx, { knowledge_base_id: knowledgeBaseId, counts: batch })
    for (const { id, lexeme } of added) ids.set(lexeme, id)
  }
  return ids
}

/** The columns `terms` and `term_counts` of a chunk: ascending lexeme ids, and the count of each. */
function toTerms(
  { lexemes, counts }: ChunkLexemes,
  lexemeIds: Map<string, number>,
): { terms: number[]; counts: number[] } {
  const terms = lexemes
    .map((lexeme, i) => ({ id: lexemeIds.get(lexeme)!, count: counts[i] }))
    .sort((a, b) => a.id - b.id)
  return { terms: terms.map(({ id }) => id), counts: terms.map(({ count }) => count) }
}

interface Base {
  knowledge_base_id: string
}

/** The removed chunks that are done, and whether there are more. */
interface Batch {
  removed: number
  more: boolean
}

/**
 * Subtracts a batch of removed chunks from the counts of a knowledge base. If the knowledge base itself is
 * deleted, deletes a batch of its lexemes instead. Does nothing while another transaction changes the
 * lexemes.
 */
export async function subtractRemovedChunks(tx: Transaction, knowledgeBaseId: string): Promise<Batch> {
  // The lock needs its own statement: the snapshots of the next ones then include what the last holder
  // committed.
  const base = { knowledge_base_id: knowledgeBaseId }
  const { locked, exists } = await sql.tryHoldLexemes(tx, base)
  if (!locked) return { removed: 0, more: false }
  const { id: last } = await sql.lastIndexRemoval(tx, base)
  const more = exists ? await subtractBatch(tx, base) : await deleteBatch(tx, base)
  if (!more.more) await sql.deleteIndexRemovals(tx, { ...base, last })
  return more
}

async function subtractBatch(tx: Transaction, base: Base): Promise<Batch> {
  const { n } = await sql.subtractRemovedChunks(tx, { ...base, limit: batchSize.removedChunks })
  return { removed: n, more: n === batchSize.removedChunks }
}

async function deleteBatch(tx: Transaction, base: Base): Promise<Batch> {
  const lexemes = await sql.deleteLexemes(tx, { ...base, limit: batchSize.lexemes })
  if (lexemes.n === batchSize.lexemes) return { removed: 0, more: true }
  const { n } = await sql.deleteRemovedChunks(tx, { ...base, limit: batchSize.lexemes })
  return { removed: n, more: n === batchSize.lexemes }
}

/** The vector scaled to length 1, so that the cosine similarity of two vectors is their dot product. */
export function toUnitVector(vector: number[]): number[] {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((x) => x / length)
}
