// Reads the chunks of one search, each once.
import * as sql from '../../../generated/sql/search.ts'
import type { SqlClient } from '../../../infra/database/database.ts'
import type { RankedChunk } from './fusion.ts'

export class ChunkReader {
  #db: SqlClient
  #chunks = new Map<string, sql.ReadChunksRow>()

  constructor(db: SqlClient) {
    this.#db = db
  }

  /** All chunks that were read so far, by id. Without those that were deleted in the meantime. */
  async read(ranked: RankedChunk[]): Promise<ReadonlyMap<string, sql.ReadChunksRow>> {
    const unread = ranked.filter(({ id }) => !this.#chunks.has(id))
    const byBase = Map.groupBy(unread, ({ knowledgeBaseId }) => knowledgeBaseId)
    for (const [base, chunks] of byBase) {
      const ids = chunks.map(({ id }) => id)
      for (const row of await sql.readChunks(this.#db, { knowledge_base_id: base, ids }))
        this.#chunks.set(row.id, row)
    }
    return this.#chunks
  }
}
