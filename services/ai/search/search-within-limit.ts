// Searches for an API request: the embeddings of the queries count to the limit of tokens per day.
import type { Config } from '../../../infra/config/config.ts'
import type { Db } from '../../../infra/database/database.ts'
import type { Principal } from '../../users/authentication.ts'
import { embedWithinLimit } from '../chat/embeddings.ts'
import type { Providers } from '../providers/providers.ts'
import { requireFilters } from './filters.ts'
import type { PassageSearch, SearchResult } from './search.ts'
import type { Searches } from './searches.ts'

interface SearchServices {
  db: Db
  config: Pick<Config, 'aiTokensPerDay'>
  providers: Pick<Providers, 'embed'>
  searches: Searches
}

/**
 * Searches for each query, one after the other. The caller has access to the knowledge bases.
 * @throws 400 for filters over their limits, 429 over the limit, or the error of the provider.
 */
export async function searchWithinLimit(
  { db, config, providers: { embed }, searches }: SearchServices,
  request: { principal: Principal; signal(): AbortSignal },
  queries: string[],
  { projectId, ...search }: Omit<PassageSearch, 'query' | 'embedding'> & { projectId: string | null },
): Promise<SearchResult[]> {
  requireFilters(search.filters)
  const { principal } = request
  const signal = request.signal()
  const account = { ...principal, projectId, tokensPerDay: config.aiTokensPerDay }
  const vectors = embed === null ? [] : await embedWithinLimit(db, embed, account, queries, signal)
  const results: SearchResult[] = []
  const embeddingModel = embed?.model
  for (const [i, query] of queries.entries())
    results.push(
      await searches.search(principal, { ...search, query, embedding: vectors[i], embeddingModel }, signal),
    )
  return results
}
