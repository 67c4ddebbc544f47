// The search of a knowledge base in the shape of OpenAI's API.
import type { components } from '../../../generated/types.ts'
import { invalidField } from '../../../infra/errors.ts'
import { fuse } from '../search/fusion.ts'
import type { DocumentFilters } from '../search/filters.ts'
import type { RetrievedPassage, SearchResult } from '../search/search.ts'

type VectorStoreSearch = components['schemas']['VectorStoreSearch']
type VectorStoreSearchResult = components['schemas']['VectorStoreSearchResult']

/** The different queries of the request, in order. */
export function queriesOf({ query }: VectorStoreSearch): string[] {
  return [...new Set(typeof query === 'string' ? [query] : query)]
}

/**
 * The filters of a search; null if they contradict each other, so that no document matches.
 * @throws 400 for `eq` without a pair, and for `and` without filters.
 */
export function filtersOf({ filters }: VectorStoreSearch): DocumentFilters | null {
  if (filters === undefined) return {}
  const metadata = new Map<string, string>()
  for (const [key, value] of pairsOf(filters)) {
    if (metadata.has(key) && metadata.get(key) !== value) return null
    metadata.set(key, value)
  }
  return { metadata: Object.fromEntries(metadata) }
}

function pairsOf({
  type,
  key,
  value,
  filters,
}: NonNullable<VectorStoreSearch['filters']>): Array<[string, string]> {
  if (type === 'and') {
    if (filters === undefined) throw required('filters.filters', type)
    if (key !== undefined) throw excluded('filters.key', type)
    if (value !== undefined) throw excluded('filters.value', type)
    return filters.map((filter) => [filter.key, filter.value])
  }
  if (key === undefined) throw required('filters.key', type)
  if (value === undefined) throw required('filters.value', type)
  if (filters !== undefined) throw excluded('filters.filters', type)
  return [[key, value]]
}

function required(field: string, type: string): Error {
  return invalidField(field, 'required', `${field} is required for the type \`${type}\``)
}

function excluded(field: string, type: string): Error {
  return invalidField(field, 'exclusive', `${field} cannot be given for the type \`${type}\``)
}

/** The passages of several queries, merged by their ranks. */
export function mergePassages(results: SearchResult[], limit: number): RetrievedPassage[] {
  if (results.length === 1) return results[0].passages
  const passages = new Map(
    results.flatMap((result) => result.passages.map((passage) => [passage.chunk_id, passage])),
  )
  const ranked = fuse(
    ...results.map((result) => result.passages.map(({ chunk_id: id, score }) => ({ id, score }))),
  )
  return ranked.slice(0, limit).map(({ id, score }) => ({ ...passages.get(id)!, score: Math.min(1, score) }))
}

export function toSearchResult(passage: RetrievedPassage): VectorStoreSearchResult {
  return {
    file_id: passage.file_id ?? passage.document_id,
    filename: passage.name,
    score: passage.score,
    attributes: passage.metadata,
    content: [{ type: 'text', text: passage.text }],
  }
}
