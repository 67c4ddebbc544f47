// The way to PostgreSQL: one pool under both Prisma, for the ordinary, and prepared SQL, for the hottest statements; and
// transactions in which both speak on the same connection. Database errors are told apart here and nowhere else.
import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../generated/prisma/client.ts'
import { ApiError, conflict, unavailable } from '../errors.ts'

/** A statement to be prepared once a connection; without a name it is planned anew each time. Values are numbered $1, $2, … */
export interface Statement<Row> {
  name?: string
  text: string
  row?: Row
}

/**
 * Declares a statement. Columns come back as they are on the wire of this API: timestamps as RFC 3339 strings in UTC.
 */
export function statement<Row>(text: string): Statement<Row> {
  return { name: hash('sha1', text, 'hex').slice(0, 24), text }
}

const prepared = new Map<string, Statement<unknown>>()

/**
 * The statement of a text that is put together at run time, for texts of which there are few. The best plan of one that
 * `searches` depends on what for: prepared, it would after a few wide searches have the plan of these for narrow ones, too.
 */
export function statementOf<Row>(text: string, { searches = false } = {}): Statement<Row> {
  if (searches) return { text }
  let found = prepared.get(text)
  if (found === undefined) {
    found = statement(text)
    prepared.set(text, found)
  }
  return found as Statement<Row>
}

/** What must never leave by a row that is answered as it is. */
const omit = { apiKey: { digest: true }, webhookEndpoint: { secret: true, previousSecret: true } } as const

type Client = PrismaClient<never, typeof omit>

/** What a service works on: the database itself, or a transaction of it. */
export interface Db {
  /** The request that this work is for; null for the platform's own. */
  requestId: string | null
  prisma: Omit<Client, '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'>
  sql<Row>(statement: Statement<Row>, values: unknown[]): Promise<Row[]>
  /**
   * Runs `work` in a transaction, or in the one that is already open. All of it is done or nothing; a deadlock or a
   * serialization failure runs it again, so it must have no effect outside the database.
   */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  /** Runs `effect` once the transaction is committed, and never if it is not; at once where none is open. */
  afterCommit(effect: Effect): void
}

type Effect = () => void | Promise<void>

export interface TransactionOptions {
  /** Milliseconds that it may take. Default 15,000. */
  timeout?: number
}

export interface Database extends Db {
  pool: pg.Pool
  transaction<T>(work: (tx: Db) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** The same database, for the work of one request. */
  forRequest(requestId: string): Db
  /** Asks the database for a sign of life. Throws when there is none within `milliseconds`. */
  ping(milliseconds?: number): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions {
  url: string
  poolSize?: number
  /** Milliseconds after which a statement is given up. Default 10,000. */
  statementTimeout?: number
  /** Milliseconds to wait for a free connection. Default 5,000. */
  connectTimeout?: number
  onError?: (error: Error) => void
  /** Told every statement that is sent, for tests that count them. */
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

/** Hands the connection of a Prisma transaction to the prepared statements that run inside it. */
const opening = new AsyncLocalStorage<Slot>()

interface Slot {
  connection?: TransactionConnection
}

/**
 * A pooled connection for one transaction. Once it is given back nothing more can be sent on it, and unless its COMMIT or
 * ROLLBACK was answered it is closed instead of kept: nobody else must ever get a connection inside of a transaction.
 */
class TransactionConnection {
  #client: pg.PoolClient
  #ended = false
  #released = false
  /** Whether it may be committed, as far as anybody here knows. */
  mayBeDone = false

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  async query(...args: unknown[]): Promise<any> {
    if (this.#released)
      throw Object.assign(new Error('Connection terminated: the transaction is over'), { code: 'P2028' })
    const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text: string }).text
    const commits = /^COMMIT$/i.test(text)
    if (commits) this.mayBeDone = true
    try {
      const result = await (this.#client.query as (...a: unknown[]) => Promise<unknown>)(...args)
      if (commits || /^ROLLBACK$/i.test(text)) this.#ended = true
      return result
    } catch (error) {
      if (commits && isRefusal(error)) this.mayBeDone = false
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
      const slot = opening.getStore()
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
    onError = () => {},
    onStatement,
  } = options
  const { connectionString, options: given } = withoutOptions(url)
  const pool = new Pool({
    connectionString,
    max: poolSize,
    connectionTimeoutMillis: connectTimeout,
    // The server gives a statement up itself; this is for a server that no longer answers at all.
    query_timeout: statementTimeout + 1_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    options: `${given} -c timezone=UTC -c statement_timeout=${statementTimeout} -c lock_timeout=${Math.min(5_000, statementTimeout)} -c idle_in_transaction_session_timeout=15000`,
  })
  // Without a listener an idle connection that the server closes would end the process.
  pool.on('error', onError)
  pool.on('connect', (client) => {
    client.on('error', onError)
    if (onStatement) watch(client, onStatement)
  })
  const prisma = new PrismaClient({
    // Without a name where it searches, as in `statementOf`.
    adapter: new PrismaPg(pool, {
      onPoolError: onError,
      onConnectionError: onError,
      statementNameGenerator: ({ sql }) =>
        / I?LIKE /.test(sql) ? '' : hash('sha1', sql, 'hex').slice(0, 24),
    }),
    omit,
    // Others repeat what a statement was asked with.
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
        throw translated(error)
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
    const { result, effects } = await commit(work, requestId, options)
    for (const effect of effects) await effect()
    return result
  }

  /** Runs the work until it is committed: again, a few times, after a deadlock or a serialization failure. */
  async function commit<T>(
    work: (tx: Db) => Promise<T>,
    requestId: string | null,
    options?: TransactionOptions,
  ): Promise<{ result: T; effects: Effect[] }> {
    for (let attempt = 1; ; attempt++) {
      const effects: Effect[] = []
      const slot: Slot = {}
      try {
        return { result: await once(work, { slot, effects, requestId }, options), effects }
      } catch (error) {
        if (!isRetryable(error) || attempt === 5) throw ended(translated(error), slot)
        await sleep(Math.random() * 20 * 2 ** attempt)
      }
    }
  }

  function once<T>(
    work: (tx: Db) => Promise<T>,
    { slot, effects, requestId }: { slot: Slot; effects: Effect[]; requestId: string | null },
    options?: TransactionOptions,
  ): Promise<T> {
    return opening
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
          // The slot is for this transaction alone, not for what else its work may start.
          return opening.exit(() => work(inside))
        }, options),
      )
      .finally(() => slot.connection?.release())
  }
}

/** What ended transactions of which nothing is left. */
const undone = new WeakSet<object>()

/** Whether this ended a transaction that has surely done nothing. Where the connection broke at the COMMIT, nobody knows. */
export function isUndone(error: unknown): boolean {
  return undone.has(error as object)
}

function ended(error: unknown, { connection }: Slot): unknown {
  if (connection?.mayBeDone !== true && error instanceof Error) undone.add(error)
  return error
}

/** What an address asks of the server is kept, but stands before what this module relies on. */
function withoutOptions(url: string): { connectionString: string; options: string } {
  const parsed = new URL(url)
  const options = parsed.searchParams.get('options') ?? ''
  parsed.searchParams.delete('options')
  return { connectionString: parsed.href, options }
}

function watch(client: pg.ClientBase, onStatement: (text: string) => void): void {
  const query = client.query.bind(client) as (...args: any[]) => any
  client.query = ((...args: any[]) => {
    onStatement(typeof args[0] === 'string' ? args[0] : args[0].text)
    return query(...args)
  }) as typeof client.query
}

/** The five-character SQLSTATE of an error of pg or Prisma, or null. */
function sqlState(error: unknown): string | null {
  const found = underlying(error)
  // Prisma's own codes (P1001) and Node's (EPIPE) have five characters too.
  return typeof found?.code === 'string' &&
    /^[0-9A-Z]{5}$/.test(found.code) &&
    !/^(P[1-6]\d{3}|E[A-Z]{4})$/.test(found.code)
    ? found.code
    : null
}

/** Whether PostgreSQL itself answered a COMMIT with no. When it is being shut down it may have been done all the same. */
function isRefusal(error: unknown): boolean {
  const state = sqlState(error)
  return state !== null && !/^(08|57|40003)/.test(state)
}

/** The constraint that an error of pg or Prisma names, or null. */
export function violated(error: unknown): string | null {
  const found = underlying(error)
  if (typeof found?.constraint === 'string') return found.constraint
  return found?.constraint?.index ?? found?.constraint?.fields?.join(',') ?? null
}

/** Prisma wraps the driver's error in its own; the driver adapter keeps the original's code beside it. */
function underlying(error: any): any {
  const cause = error?.meta?.driverAdapterError?.cause ?? error?.cause
  if (cause?.originalCode !== undefined)
    return { code: cause.originalCode, constraint: cause.constraint, message: cause.originalMessage }
  return error
}

function isRetryable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01' || (error as { code?: string })?.code === 'P2034'
}

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
])
const connectionMessages =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|not queryable|Server has closed the connection|Can't reach database/i

/** Whether the database could not be reached, or gave up: another try may succeed. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  // 08 connection, 53 out of resources, 57014 time-out, 57P0x shutdown, 55P03 lock time-out, 25P03 idle in transaction
  if (state !== null) return /^(08|53|57P0|57014|55P03|25P0[34]|40)/.test(state)
  const { code, message } = (error ?? {}) as { code?: string; message?: string }
  return connectionCodes.has(code ?? '') || connectionMessages.test(message ?? '')
}

/** A database error as the answer that it is; anything else as it came. */
export function translated(error: unknown): unknown {
  if (error instanceof ApiError) return error
  if (
    violated(error) === 'living_user' ||
    (error as Error)?.message?.includes('is deleted and can be no member')
  ) {
    return conflict('user_deleted', 'The user was deleted meanwhile.')
  }
  if (violated(error) === 'last_owner' || (error as Error)?.message?.includes('would have no owner')) {
    return conflict('last_owner', 'A project needs an owner.')
  }
  if (isUnavailable(error)) return Object.assign(unavailable(), { cause: error })
  return error
}
