// Access to PostgreSQL: one connection pool for Prisma (ordinary queries) and for prepared SQL (hot
// statements), and transactions in which both use the same connection.
import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../generated/prisma/client.ts'
import { retry } from '../retry.ts'
import { isCommitRefused, isRetryable, translateError, type ConstraintError } from './errors.ts'
import { statementName, type Statement } from './statements.ts'

/** Secret columns. Prisma omits them from every row unless a query selects them. */
const omit = { apiKey: { digest: true }, webhookEndpoint: { secret: true, previousSecret: true } } as const

type Client = PrismaClient<never, typeof omit>

/** The database or a transaction. Services run their queries on it. */
export interface Db {
  /** The request that the queries belong to; null for background work. */
  requestId: string | null
  prisma: Omit<Client, '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'>
  sql<Row>(statement: Statement<Row>, values: unknown[]): Promise<Row[]>
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
  transaction<T>(work: (tx: Db) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** The same database with the id of a request, which the events of this request carry. */
  forRequest(requestId: string): Db
  /** Runs a trivial query. Throws when there is no answer within `milliseconds`, by default 2,000. */
  ping(milliseconds?: number): Promise<void>
  /** The API error for a database error; other errors as they are. */
  translateError(error: unknown): unknown
  close(): Promise<void>
}

export interface DatabaseOptions {
  url: string
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
}

const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    // timestamptz in the session's UTC, "2026-11-21 09:30:00.12+00", as RFC 3339 with milliseconds
    if (oid === 1184)
      return (text: string) =>
        `${text.slice(0, 10)}T${text.slice(11, 19)}.${(text.slice(20, -3) + '000').slice(0, 3)}Z`
    if (oid === 20) return Number
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

/** Passes the connection of a Prisma transaction to the prepared statements that run inside it. */
const openingTransaction = new AsyncLocalStorage<Slot>()

interface Slot {
  connection?: TransactionConnection
}

/**
 * A pooled connection for one transaction. After its release it accepts no query. Unless the server confirmed
 * COMMIT or ROLLBACK, the connection is closed instead of reused: no other work may start inside an open
 * transaction.
 */
class TransactionConnection {
  #client: pg.PoolClient
  #ended = false
  #released = false
  /** Whether COMMIT was sent and the server did not refuse it. */
  mayBeCommitted = false

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  async query(...args: unknown[]): Promise<any> {
    if (this.#released)
      throw Object.assign(new Error('Connection terminated: the transaction is over'), { code: 'P2028' })
    const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text: string }).text
    const commits = /^COMMIT$/i.test(text)
    if (commits) this.mayBeCommitted = true
    try {
      const result = await (this.#client.query as (...a: unknown[]) => Promise<unknown>)(...args)
      if (commits || /^ROLLBACK$/i.test(text)) this.#ended = true
      return result
    } catch (error) {
      if (commits && isCommitRefused(error)) this.mayBeCommitted = false
      throw error
    }
  }

  release(error?: Error | boolean): void {
    if (this.#released) return
    this.#released = true
    this.#client.release(error || !this.#ended)
  }

  on(event: 'error', listener: (error: Error) => void): this {
    this.#client.on(event, listener)
    return this
  }

  removeListener(event: 'error', listener: (error: Error) => void): this {
    this.#client.removeListener(event, listener)
    return this
  }
}

class Pool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(
    callback: (
      error: Error | undefined,
      client: pg.PoolClient | undefined,
      done: (release?: any) => void,
    ) => void,
  ): void
  override connect(callback?: any): any {
    if (callback) return super.connect(callback)
    return super.connect().then((client) => {
      const slot = openingTransaction.getStore()
      if (slot === undefined) return client
      slot.connection = new TransactionConnection(client)
      return slot.connection as unknown as pg.PoolClient
    })
  }
}

export function openDatabase(options: DatabaseOptions): Database {
  const {
    url,
    poolSize = 10,
    statementTimeout = 10_000,
    connectTimeout = 5_000,
    constraintErrors = [],
    onError = () => {},
    onStatement,
  } = options
  const { connectionString, options: urlOptions } = splitOptions(url)
  const pool = new Pool({
    connectionString,
    max: poolSize,
    connectionTimeoutMillis: connectTimeout,
    // The server cancels slow statements itself; this covers a server that no longer answers.
    query_timeout: statementTimeout + 1_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    options: [
      urlOptions,
      '-c timezone=UTC',
      `-c statement_timeout=${statementTimeout}`,
      `-c lock_timeout=${Math.min(5_000, statementTimeout)}`,
      '-c idle_in_transaction_session_timeout=15000',
    ].join(' '),
  })
  // Without a listener, an idle connection that the server closes would crash the process.
  pool.on('error', onError)
  pool.on('connect', (client) => {
    client.on('error', onError)
    if (onStatement) reportStatements(client, onStatement)
  })
  const prisma = new PrismaClient({
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

  const database: Database = {
    pool,
    prisma,
    requestId: null,
    async sql<Row>({ name, text }: Statement<Row>, values: unknown[]) {
      try {
        return (await pool.query({ name, text, values, types } as pg.QueryConfig)).rows as Row[]
      } catch (error) {
        throw database.translateError(error)
      }
    },
    transaction: (work, options) => transaction(work, null, options),
    afterCommit: (effect) => {
      void effect()
    },
    forRequest: (requestId) => ({
      prisma,
      sql: database.sql,
      afterCommit: database.afterCommit,
      requestId,
      transaction: (work) => transaction(work, requestId),
    }),
    translateError: (error) => translateError(error, constraintErrors),
    async ping(milliseconds = 2_000) {
      const signal = AbortSignal.timeout(milliseconds)
      await Promise.race([
        pool.query('SELECT 1'),
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ])
    },
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
  return database

  async function transaction<T>(
    work: (tx: Db) => Promise<T>,
    requestId: string | null,
    options?: TransactionOptions,
  ): Promise<T> {
    let slot: Slot = {}
    let effects: Effect[] = []
    const result = await retry(
      () => {
        slot = {}
        effects = []
        return runTransaction(work, { slot, effects, requestId }, options)
      },
      { attempts: 5, shouldRetry: isRetryable, delayMs: (attempt) => Math.random() * 20 * 2 ** attempt },
    ).catch((error) => {
      throw recordOutcome(database.translateError(error), slot)
    })
    for (const effect of effects) await effect()
    return result
  }

  function runTransaction<T>(
    work: (tx: Db) => Promise<T>,
    { slot, effects, requestId }: { slot: Slot; effects: Effect[]; requestId: string | null },
    options?: TransactionOptions,
  ): Promise<T> {
    return openingTransaction
      .run(slot, () =>
        prisma.$transaction((tx) => {
          const connection = slot.connection!
          const inside: Db = {
            prisma: tx,
            requestId,
            sql: async <Row>({ name, text }: Statement<Row>, values: unknown[]) =>
              (await connection.query({ name, text, values, types })).rows as Row[],
            transaction: (inner) => inner(inside),
            afterCommit: (effect) => {
              effects.push(effect)
            },
          }
          // Other transactions that `work` starts must not take this slot.
          return openingTransaction.exit(() => work(inside))
        }, options),
      )
      .finally(() => slot.connection?.release())
  }
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

/**
 * Takes `options` out of the URL: they come before the options that this module needs, so that the latter
 * win.
 */
function splitOptions(url: string): { connectionString: string; options: string } {
  const parsed = new URL(url)
  const options = parsed.searchParams.get('options') ?? ''
  parsed.searchParams.delete('options')
  return { connectionString: parsed.href, options }
}

function reportStatements(client: pg.ClientBase, onStatement: (text: string) => void): void {
  const query = client.query.bind(client) as (...args: any[]) => any
  client.query = ((...args: any[]) => {
    onStatement(typeof args[0] === 'string' ? args[0] : args[0].text)
    return query(...args)
  }) as typeof client.query
}
