// Access to PostgreSQL: one connection pool for Prisma (ordinary queries) and for prepared SQL (hot
// statements), and transactions in which both use the same connection.
import type pg from 'pg'
import { openConnection, type Client } from './client.ts'
import { isWriteRefused, translateError, type ConstraintError } from './errors.ts'
import type { Db, RequestOrigin, Transaction } from './db.ts'
import { createPool, queryOn, type Pool } from './pool.ts'
import { WrongRoleError } from './hosts.ts'
import { LazyPrisma } from './prisma.ts'
import { RequestDatabase } from './request-database.ts'
import { sqlBy, type OnRows, type SqlClient } from './statements.ts'
import { Transactions, type TransactionOptions } from './transaction.ts'
import { SharedReads } from './shared-reads.ts'
import { connectionsPerUser, createUserTurns } from './user-share.ts'
import { inTime } from '../concurrency/in-time.ts'

export type { Db, RequestOrigin, SqlClient, Transaction }

export interface Database extends Db {
  pool: pg.Pool
  /**
   * A few connections that requests never take: for health checks, and for finding jobs and keeping them.
   * Only for short statements.
   */
  reserve: pg.Pool & SqlClient
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** The same database for a request, which the events of the request name. */
  forRequest(request: RequestOrigin): Db
  /**
   * Opens a pool of its own for statements that may be slow, so that they never take the connections of
   * other requests.
   */
  openSqlPool(options: SqlPoolOptions): SqlPool
  /**
   * Opens a connection to PostgreSQL itself, past any pooler, for locks of a session; never to a standby. The
   * caller ends it.
   */
  openSession(): Promise<Client>
  /**
   * Throws when there is no answer within `milliseconds`, by default 2,000, or when a standby answers. If a
   * standby answers, all connections are replaced.
   */
  ping(milliseconds?: number): Promise<void>
  /** Throws when the database has refused a write in the last seconds. Runs no statement. */
  requireWrites(): Promise<void>
  /** Ends all connections: idle ones at once, the others when they are released. New ones are opened. */
  reconnect(): void
  /** The API error for a database error; other errors as they are. */
  translateError(error: unknown): unknown
  close(): Promise<void>
}

export interface SqlPoolOptions {
  name: string
  poolSize: number
  statementTimeout: number
  /** A read replica. Default: the database itself, past any pooler. */
  url?: string
}

export interface SqlPool extends SqlClient {
  /** Ends all connections: idle ones at once, the others when they are released. New ones are opened. */
  reconnect(): void
  close(): Promise<void>
}

export interface DatabaseOptions {
  url: string
  /** PostgreSQL itself, if `url` leads to a pooler in transaction mode. Default `url`. */
  directUrl?: string
  /** Whether statements are prepared by name. Default true. */
  preparedStatements?: boolean
  /** The name of the connections in pg_stat_activity. Default `platform`. */
  name?: string
  poolSize?: number
  /** Milliseconds after which PostgreSQL cancels a statement. Default 10,000. */
  statementTimeout?: number
  /** Milliseconds to wait for a free connection. Default 5,000. */
  connectTimeout?: number
  /** The API errors for constraints that triggers enforce. Default none. */
  constraintErrors?: ConstraintError[]
  onError?: (error: Error) => void
  /** Called with every statement that is sent, for tests that count them. */
  onStatement?: (text: string) => void
  /** Called with the rows of each statement of prisma/sql, for tests that check them. */
  onRows?: OnRows
}

/** Milliseconds for which the last refused write counts. */
const refusalMemory = 10_000

/** Connections of a process besides its pool. */
export const reservedConnections = 2

export function openDatabase({
  url,
  directUrl = url,
  preparedStatements = true,
  name = 'platform',
  poolSize = 10,
  statementTimeout = 10_000,
  connectTimeout = 5_000,
  constraintErrors = [],
  onError = () => {},
  onStatement,
  onRows,
}: DatabaseOptions): Database {
  const shared = { connectTimeout, onError, onStatement }
  const pooled = directUrl !== url
  const target = 'read-write' as const
  const options = { ...shared, url, pooled, preparedStatements, statementTimeout, target }
  const pool = createPool({ ...options, name, poolSize })
  const reserve = createPool({ ...options, name: `${name} reserve`, poolSize: reservedConnections })
  /** All pools of the database, not of a replica. */
  const pools = new Set<Pool>([pool, reserve])
  const prisma = new LazyPrisma(pool, onError)
  let writesRefusedAt = -Infinity
  const toApiError = (error: unknown): unknown => {
    if (isWriteRefused(error)) writesRefusedAt = performance.now()
    return translateError(error, constraintErrors)
  }
  const transactions = new Transactions({ pool, prisma, toApiError, onRows })
  const turns = createUserTurns(poolSize)
  const sharedReads = new SharedReads({ pool, turns, inFlight: connectionsPerUser(poolSize) })

  const sqlOn = (pool: pg.Pool): SqlClient['sql'] =>
    sqlBy(async (config) => (await queryOn(pool, [config]))[0], onRows, toApiError)

  const database: Database = {
    pool,
    reserve: Object.assign(reserve, { sql: sqlOn(reserve) }),
    prisma: prisma.client,
    request: null,
    sql: sqlOn(pool),
    later: { sql: sqlOn(pool) },
    openSqlPool(options) {
      const isReplica = options.url !== undefined
      const direct = isReplica
        ? { url, pooled, preparedStatements, target: 'any' as const }
        : { url: directUrl, pooled: false, preparedStatements: true, target }
      const other = createPool({ ...shared, ...direct, ...options })
      if (!isReplica) pools.add(other)
      return {
        sql: sqlOn(other),
        reconnect: () => other.drop(),
        async close() {
          pools.delete(other)
          await other.end()
        },
      }
    },
    async openSession() {
      const queryTimeout = statementTimeout + 1_000
      return await openConnection({ url: directUrl, name, connectTimeout, queryTimeout, target })
    },
    transaction: (work, options) => transactions.run(work, null, options),
    afterCommit: (effect) => {
      void (async () => await effect())().catch(onError)
    },
    forRequest: (request) => new RequestDatabase(ofRequests, request),
    translateError: toApiError,
    async ping(milliseconds = 2_000) {
      const asked = reserve.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
      const { rows } = await inTime(asked, milliseconds)
      if (!rows[0].standby) return
      database.reconnect()
      throw new WrongRoleError(target, { standby: true, readOnly: true })
    },
    async requireWrites() {
      if (performance.now() - writesRefusedAt < refusalMemory)
        throw new Error('The database refuses writes: its disk is full, or it is read-only.')
    },
    reconnect() {
      for (const each of pools) each.drop()
    },
    async close() {
      await prisma.close()
      await pool.end()
      await reserve.end()
    },
  }
  const { afterCommit } = database
  const ofRequests = { pool, prisma, transactions, sharedReads, turns, afterCommit, toApiError, onRows }
  return database
}
