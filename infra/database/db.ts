// The database as services see it: outside of transactions, and inside of one.
import type { PrismaInTransaction } from './prisma.ts'
import type { SqlClient } from './statements.ts'

/** Where the changes of a request come from. The events of the request carry it. */
export interface RequestOrigin {
  /** The id that the server gave the request, as in the log. */
  id: string
  /** The `X-Request-ID` of the client. It is not unique: clients choose it. */
  clientRequestId?: string
  /** The API key or session that sent the request, with its name and its user; null without one. */
  actor: {
    type: 'api_key' | 'session'
    id: string
    name: string | null
    user_id: string
    service_account_id: string | null
  } | null
  /** The account whose limits the request uses; default: the user. */
  accountId?: string | null
  /** Called when the request has its turn for a connection, with the milliseconds that it waited. */
  onTurn?: (waitedMs: number) => void
}

/** The database or a transaction. Services run their queries on it. */
export interface Db extends SqlClient {
  /** The request that the queries belong to; null for background work. */
  request: RequestOrigin | null
  prisma: PrismaInTransaction
  /**
   * For statements whose rows a transaction does not need: they are sent with its next statement, or with
   * COMMIT. Do not await them in the transaction, only in `afterCommit`. Outside of one it is `sql`.
   */
  later: SqlClient
  /**
   * Runs `work` in a transaction, or in the current one. After a deadlock or a serialization failure `work`
   * runs again, so it must have no effect outside the database.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs `effect` after the transaction commits. Outside a transaction it runs at once. */
  afterCommit(effect: Effect): void
}

/** Marks the type only. */
export declare const inTransaction: unique symbol

/** A transaction: what has to commit together takes it, and does not compile with the database. */
export interface Transaction extends Db {
  readonly [inTransaction]: true
}

export type Effect = () => void | Promise<void>
