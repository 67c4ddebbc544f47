// Runs searches so that they leave the database to other requests: on a few connections of their own, with a
// short statement timeout, and in turns between users.
import type { Database, SqlPool } from '../../../infra/database/database.ts'
import { FairSemaphore } from '../../../infra/concurrency/fair-semaphore.ts'
import type { Principal } from '../../users/authentication.ts'
import { searchKnowledgeBases, type PassageSearch, type SearchResult } from './search.ts'

/** Milliseconds after which PostgreSQL cancels a statement of a search. */
const statementTimeout = 1_500
/** Milliseconds that a search waits for its turn, and the searches of one user that may wait. */
const maxWaitMs = 10_000
const maxWaiting = 50
const maxPerUser = 2

export class Searches {
  readonly #pool: SqlPool
  readonly #semaphore: FairSemaphore

  /** @param connections the searches that run at once. */
  constructor(database: Pick<Database, 'openSqlPool'>, connections: number) {
    this.#pool = database.openSqlPool({ name: 'platform search', poolSize: connections, statementTimeout })
    this.#semaphore = new FairSemaphore({
      name: 'searches',
      total: connections,
      perUser: Math.max(1, Math.min(maxPerUser, connections - 1)),
      maxWaiting,
      maxWaitMs,
    })
  }

  async search(principal: Principal, search: PassageSearch, signal: AbortSignal): Promise<SearchResult> {
    return await this.#semaphore.run(
      principal.accountId,
      () => searchKnowledgeBases(this.#pool, principal, search),
      signal,
    )
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }
}
