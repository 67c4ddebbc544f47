// The connection pool, and the pooled connection of a transaction, which Prisma and prepared SQL share.
import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import { Client } from './client.ts'
import { isCommitRefused } from './errors.ts'

export interface PoolOptions {
  url: string
  poolSize: number
  /** Milliseconds after which PostgreSQL cancels a statement. */
  statementTimeout: number
  /** Milliseconds to wait for a free connection. */
  connectTimeout: number
  onError: (error: Error) => void
  /** Called with every statement that is sent, for tests that count them. */
  onStatement?: (text: string) => void
}

/** Parsers of the values in the rows of prepared SQL. */
export const types = {
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
export const openingTransaction = new AsyncLocalStorage<Slot>()

/** Receives the connection of a transaction when Prisma takes it from the pool. */
export interface Slot {
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

export function createPool({
  url,
  poolSize,
  statementTimeout,
  connectTimeout,
  onError,
  onStatement,
}: PoolOptions): pg.Pool {
  const { connectionString, options: urlOptions } = splitOptions(url)
  const pool = new Pool({
    Client,
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
  return pool
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
