// The search of a knowledge base in the shape of OpenAI's API.
import type { components } from '../../../generated/types.ts'
import { invalidField } from '../../../infra/errors.ts'
import { fuse } from '../search/fusion.ts'
import type { DocumentFilters } from '../search/filters.ts'
import type { RetrievedPassage, SearchResult } from '../search/search.ts'

type VectorStoreSearch = components['schemas']['VectorStoreSearch']
type VectorStoreFilter = components['schemas']['VectorStoreFilter']
type VectorStoreSearchResult = components['schemas']['VectorStoreSearchResult']

/** The different queries of the request, in order. */
export function queriesOf({ query }: VectorStoreSearch): string[] {
  return [...new Set(typeof query === 'string' ? [query] : query)]
}

/** Throws 400 for a comparison without its key or value, and for a group without filters. */
export function filtersOf({ filters }: VectorStoreSearch): DocumentFilters {
  return filters === undefined ? {} : filterOf(filters, 'filters')
}

function filterOf({ type, key, value, filters }: VectorStoreFilter, field: string): DocumentFilters {
  if (type === 'and' || type === 'or') {
    if (filters === undefined) throw required(`${field}.filters`, type)
    if (key !== undefined) throw excluded(`${field}.key`, type)
    if (value !== undefined) throw excluded(`${field}.value`, type)
    return { [type]: filters.map((filter, i) => filterOf(filter, `${field}.filters[${i}]`)) }
  }
  if (key === undefined) throw required(`${field}.key`, type)
  if (value === undefined) throw required(`${field}.value`, type)
  if (filters !== undefined) throw excluded(`${field}.filters`, type)
  const isList = type === 'in' || type === 'nin'
  if (Array.isArray(value) !== isList)
    throw invalidField(
      `${field}.value`,
      'type',
      `The type \`${type}\` takes ${isList ? 'a list' : 'one value'}.`,
    )
  if (Array.isArray(value)) {
    const found = { metadata: { [key]: { in: value.map(String) } } }
    return type === 'in' ? found : { not: found }
  }
  if (type === 'eq') return { metadata: { [key]: String(value) } }
  if (type === 'ne') return { not: { metadata: { [key]: String(value) } } }
  if (typeof value === 'boolean')
    throw invalidField(`${field}.value`, 'type', `The type \`${type}\` takes a number or a text.`)
  return { metadata: { [key]: { [type]: value } } }
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
