// Access to PostgreSQL: one connection pool for Prisma (ordinary queries) and for prepared SQL (hot
// statements), and transactions in which both use the same connection.
import type pg from 'pg'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../generated/prisma/client.ts'
import type { FairSemaphore } from '../fair-semaphore.ts'
import { retry } from '../retry.ts'
import { openConnection } from './client.ts'
import { isRetryable, translateError, type ConstraintError } from './errors.ts'
import { createPool, openingTransaction, types, type Slot } from './pool.ts'
import { statementName, type Statement } from './statements.ts'
import { createUserTurns } from './user-share.ts'

/** Secret columns. Prisma omits them from every row unless a query selects them. */
const omit = { apiKey: { digest: true }, webhookEndpoint: { secret: true, previousSecret: true } } as const

type AppPrismaClient = PrismaClient<never, typeof omit>

/** Where the changes of a request come from. The events of the request carry it. */
export interface RequestOrigin {
  /** The id that the server gave the request, as in the log. */
  id: string
  /** The `X-Request-ID` of the client. It is not unique: clients choose it. */
  clientRequestId?: string
  /** The API key that sent the request, with its name and its user; null for a request without a key. */
  actor: { type: 'api_key'; id: string; name: string; user_id: string } | null
}

/** Runs the statements of prisma/sql. */
export interface SqlClient {
  sql<Row>(statement: Statement<Row>, values: unknown[]): Promise<Row[]>
}

/** The database or a transaction. Services run their queries on it. */
export interface Db extends SqlClient {
  /** The request that the queries belong to; null for background work. */
  request: RequestOrigin | null
  prisma: Omit<AppPrismaClient, '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'>
  /**
   * Runs `work` in a transaction, or in the current one. After a deadlock or a serialization failure `work`
   * runs again, so it must have no effect outside the database.
   */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  /** Runs `effect` after the transaction commits. Outside a transaction it runs at once. */
  afterCommit(effect: Effect): void
}

type Effect = () => void | Promise<void>

export interface TransactionOptions {
  /** Maximum duration in milliseconds. Default 15,000. */
  timeout?: number
}

export interface Database extends Db {
  pool: pg.Pool
  /**
   * A few connections that requests never take: for health checks, and for finding jobs and keeping them.
   * Only for short statements.
   */
  reserve: pg.Pool & SqlClient
  transaction<T>(work: (tx: Db) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** The same database for a request, which the events of the request name. */
  forRequest(request: RequestOrigin): Db
  /**
   * Opens a pool of its own for statements that may be slow, so that they never take the connections of
   * other requests.
   */
  openSqlPool(options: SqlPoolOptions): SqlPool
  /** Opens a connection to PostgreSQL itself, past any pooler, for locks of a session. The caller ends it. */
  openSession(): Promise<pg.Client>
  /** Runs a trivial query. Throws when there is no answer within `milliseconds`, by default 2,000. */
  ping(milliseconds?: number): Promise<void>
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

/** Connections of a process besides its pool. */
export const reservedConnections = 2

type OnRows = (label: string, rows: unknown[]) => void

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
  const options = { ...shared, url, pooled, preparedStatements, statementTimeout }
  const pool = createPool({ ...options, name, poolSize })
  const reserve = createPool({ ...options, name: `${name} reserve`, poolSize: reservedConnections })
  const prisma = createPrismaClient(pool, { connectTimeout, onError })
  const toApiError = (error: unknown): unknown => translateError(error, constraintErrors)
  const transactions = new Transactions(prisma, toApiError, onRows)
  const turns = createUserTurns(poolSize)

  const sqlOn =
    (pool: pg.Pool): SqlClient['sql'] =>
    async (statement, values) => {
      try {
        return await query(pool, statement, values, onRows)
      } catch (error) {
        throw toApiError(error)
      }
    }

  const database: Database = {
    pool,
    reserve: Object.assign(reserve, { sql: sqlOn(reserve) }),
    prisma,
    request: null,
    sql: sqlOn(pool),
    openSqlPool(options) {
      const direct =
        options.url === undefined
          ? { url: directUrl, pooled: false, preparedStatements: true }
          : { url, pooled, preparedStatements }
      const other = createPool({ ...shared, ...direct, ...options })
      return { sql: sqlOn(other), close: () => other.end() }
    },
    openSession: () =>
      openConnection({ url: directUrl, name, connectTimeout, queryTimeout: statementTimeout + 1_000 }),
    transaction: (work, options) => transactions.run(work, null, options),
    afterCommit: (effect) => {
      void effect()
    },
    forRequest: (request) => ({
      prisma,
      afterCommit: database.afterCommit,
      request,
      ...inTurns(turns, request, {
        sql: database.sql,
        transaction: (work) => transactions.run(work, request),
      }),
    }),
    translateError: toApiError,
    async ping(milliseconds = 2_000) {
      const signal = AbortSignal.timeout(milliseconds)
      await Promise.race([
        reserve.query('SELECT 1'),
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ])
    },
    async close() {
      await prisma.$disconnect()
      await pool.end()
      await reserve.end()
    },
  }
  return database
}

/** The statements and transactions of a request take turns with those of other requests of the user. */
function inTurns(
  turns: FairSemaphore,
  { actor }: RequestOrigin,
  { sql, transaction }: Pick<Db, 'sql' | 'transaction'>,
): Pick<Db, 'sql' | 'transaction'> {
  if (actor === null) return { sql, transaction }
  const user = actor.user_id
  return {
    sql: async (statement, values) => await turns.run(user, () => sql(statement, values)),
    transaction: async (work) => await turns.run(user, () => transaction(work)),
  }
}

function createPrismaClient(
  pool: pg.Pool,
  { connectTimeout, onError }: Required<Pick<DatabaseOptions, 'connectTimeout' | 'onError'>>,
): AppPrismaClient {
  return new PrismaClient({
    // Searches are not prepared; see `statementOf`.
    adapter: new PrismaPg(pool, {
      onPoolError: onError,
      onConnectionError: onError,
      statementNameGenerator: ({ sql }) => (/ I?LIKE /.test(sql) ? '' : statementName(sql)),
    }),
    omit,
    // The other formats repeat the values of a query.
    errorFormat: 'minimal',
    transactionOptions: { maxWait: connectTimeout, timeout: 15_000 },
  })
}

/** The state of one attempt to run a transaction. */
interface TransactionState {
  request: RequestOrigin | null
  slot: Slot
  /** Effects that run after the commit. */
  effects: Effect[]
}

async function query<Row>(
  connection: { query(config: pg.QueryConfig): Promise<pg.QueryResult> },
  { name, text, label }: Statement<Row>,
  values: unknown[],
  onRows: OnRows | undefined,
): Promise<Row[]> {
  const { rows } = await connection.query({ name, text, values, types, label } as pg.QueryConfig)
  if (label !== undefined) onRows?.(label, rows)
  return rows as Row[]
}

/** Runs transactions, with retries after deadlocks and serialization failures, then their effects. */
class Transactions {
  readonly #prisma: AppPrismaClient
  readonly #toApiError: (error: unknown) => unknown
  readonly #onRows: OnRows | undefined

  constructor(prisma: AppPrismaClient, toApiError: (error: unknown) => unknown, onRows: OnRows | undefined) {
    this.#prisma = prisma
    this.#toApiError = toApiError
    this.#onRows = onRows
  }

  async run<T>(
    work: (tx: Db) => Promise<T>,
    request: RequestOrigin | null,
    options?: TransactionOptions,
  ): Promise<T> {
    let state: TransactionState = { request, slot: {}, effects: [] }
    const result = await retry(
      () => {
        state = { request, slot: {}, effects: [] }
        return this.#runOnce(work, state, options)
      },
      { attempts: 5, shouldRetry: isRetryable, delayMs: (attempt) => Math.random() * 20 * 2 ** attempt },
    ).catch((error) => {
      throw recordOutcome(this.#toApiError(error), state.slot)
    })
    for (const effect of state.effects) await effect()
    return result
  }

  #runOnce<T>(
    work: (tx: Db) => Promise<T>,
    state: TransactionState,
    options?: TransactionOptions,
  ): Promise<T> {
    const { slot } = state
    return openingTransaction
      .run(slot, () =>
        this.#prisma.$transaction((tx) => {
          const inside = createTransactionDb(tx, state, this.#onRows)
          // Other transactions that `work` starts must not take this slot.
          return openingTransaction.exit(() => work(inside))
        }, options),
      )
      .finally(() => slot.connection?.release())
  }
}

/** The database as `work` sees it inside the transaction `tx`. */
function createTransactionDb(
  tx: Db['prisma'],
  { request, slot, effects }: TransactionState,
  onRows: OnRows | undefined,
): Db {
  const connection = slot.connection!
  const inside: Db = {
    prisma: tx,
    request,
    sql: (statement, values) => query(connection, statement, values, onRows),
    transaction: (work) => work(inside),
    afterCommit: (effect) => {
      effects.push(effect)
    },
  }
  return inside
}

/** Errors of transactions that are known to have been rolled back. */
const rolledBack = new WeakSet<object>()

/**
 * Whether the transaction that failed with this error surely changed nothing. Unknown when COMMIT got no
 * answer.
 */
export function wasRolledBack(error: unknown): boolean {
  return rolledBack.has(error as object)
}

function recordOutcome(error: unknown, { connection }: Slot): unknown {
  if (connection?.mayBeCommitted !== true && error instanceof Error) rolledBack.add(error)
  return error
}
