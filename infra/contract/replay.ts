// The answer to a request that repeats an earlier one with its Idempotency-Key.
import type { Transaction } from '../database/database.ts'

/** The stored response to the earlier request. A handler returns it as it is. */
export class Replay {
  readonly status: number
  readonly headers: Record<string, string>
  /** null for a response without a body. */
  readonly text: string | null

  constructor({ status, headers, text }: Pick<Replay, 'status' | 'headers' | 'text'>) {
    this.status = status
    this.headers = headers
    this.text = text
  }
}

/**
 * Runs `work` in a transaction, once per Idempotency-Key. For handlers of streamed bodies, after the body has
 * arrived: the key is looked up in that transaction.
 */
export type Once = <Answer>(work: (tx: Transaction) => Promise<Answer>) => Promise<Answer | Replay>
