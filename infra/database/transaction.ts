// Transactions. Each has a connection of the pool, on which Prisma and the statements of prisma/sql run.
// BEGIN travels with its first statement, and COMMIT with those whose rows the transaction does not need.
import type pg from 'pg'
import { Batch, type Config } from './batch.ts'
import type { Db, Effect, inTransaction, RequestOrigin, Transaction } from './db.ts'
import { isCommitRefused, isRetryable } from './errors.ts'
import type { LazyPrisma } from './prisma.ts'
import { JoinedPrisma } from './joined-prisma.ts'
import { sqlBy, type OnRows } from './statements.ts'
import { retry } from '../concurrency/retry.ts'

export interface TransactionOptions {
  /** Maximum duration in milliseconds. Default 15,000. */
  timeout?: number
}

const defaultTimeout = 15_000

interface TransactionsOptions {
  pool: pg.Pool
  prisma: LazyPrisma
  toApiError: (error: unknown) => unknown
  onRows: OnRows | undefined
}

/** Runs transactions, with retries after deadlocks and serialization failures, then their effects. */
export class Transactions {
  readonly #options: TransactionsOptions

  constructor(options: TransactionsOptions) {
    this.#options = options
  }

  async run<T>(
    work: (tx: Transaction) => Promise<T>,
    request: RequestOrigin | null,
    { timeout = defaultTimeout }: TransactionOptions = {},
  ): Promise<T> {
    let transaction: Attempt | undefined
    const result = await retry(
      async () => {
        transaction = undefined
        const client = await this.#options.pool.connect()
        transaction = new Attempt(client, { ...this.#options, request, timeout })
        return await transaction.run(work)
      },
      { attempts: 5, shouldRetry: isRetryable, delayMs: (attempt) => Math.random() * 20 * 2 ** attempt },
    ).catch((error) => {
      throw recordOutcome(this.#options.toApiError(error), transaction)
    })
    await runAll(transaction!.effects)
    return result
  }
}

/** All effects run, also when one fails. @throws the first error. */
async function runAll(effects: Effect[]): Promise<void> {
  const errors: unknown[] = []
  for (const effect of effects)
    try {
      await effect()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors[0]
}

interface AttemptOptions extends TransactionsOptions {
  request: RequestOrigin | null
  /** Milliseconds. */
  timeout: number
}

/** One attempt to run a transaction, and the database as its work sees it. */
class Attempt implements Transaction {
  declare readonly [inTransaction]: true
  readonly request: RequestOrigin | null
  readonly sql: Db['sql']
  readonly later: Db['later']
  readonly effects: Effect[] = []
  readonly #client: pg.PoolClient
  readonly #options: AttemptOptions
  /** The statements that are sent next. */
  #batch = new Batch()
  #begun = false
  #released = false
  /** Whether COMMIT was sent and the server did not refuse it. */
  mayBeCommitted = false
  #prisma: JoinedPrisma | undefined

  constructor(client: pg.PoolClient, options: AttemptOptions) {
    const { request, onRows } = options
    this.request = request
    this.sql = sqlBy((config) => this.#query(config), onRows)
    this.later = { sql: sqlBy(async (config) => await this.#add(config), onRows) }
    this.#client = client
    this.#options = options
  }

  /**
   * Unless the server confirmed COMMIT or ROLLBACK, the connection is closed instead of reused: no other work
   * may start inside an open transaction.
   */
  async run<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#release(true), this.#options.timeout)
    try {
      const result = await work(this)
      await this.#prisma?.end()
      await this.#commit()
      this.#release()
      return result
    } catch (error) {
      await this.#prisma?.end().catch(() => {})
      await this.#rollback()
      throw error
    } finally {
      clearTimeout(timer)
      this.#release(true)
    }
  }

  get prisma(): Db['prisma'] {
    this.#prisma ??= this.#joinPrisma()
    return this.#prisma.client
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return await work(this)
  }

  afterCommit(effect: Effect): void {
    this.effects.push(effect)
  }

  #joinPrisma(): JoinedPrisma {
    const { prisma, timeout } = this.#options
    return new JoinedPrisma(prisma, (config) => this.#query(config), timeout)
  }

  /** Sends the statement, after those that wait. */
  async #query(config: Config): Promise<pg.QueryResult> {
    const result = this.#add(config)
    this.#send()
    return await result
  }

  /** The statement waits for the next one, or for COMMIT. */
  #add(config: Config): Promise<pg.QueryResult> {
    if (this.#released)
      throw Object.assign(new Error('Connection terminated: the transaction is over'), { code: 'P2028' })
    if (!this.#begun) {
      this.#begun = true
      // Its error is that of the statements after it.
      this.#batch.add({ name: 'begin', text: 'BEGIN' }).catch(() => {})
    }
    return this.#batch.add(config)
  }

  #send(): void {
    const batch = this.#batch
    this.#batch = new Batch()
    this.#client.query(batch as unknown as pg.Submittable)
  }

  async #commit(): Promise<void> {
    if (!this.#begun) return
    this.mayBeCommitted = !this.#released
    try {
      const { command } = await this.#query({ name: 'commit', text: 'COMMIT' })
      // PostgreSQL answers so when a statement had failed and the work went on.
      if (command === 'ROLLBACK') throw new Error('the transaction was rolled back: a statement in it failed')
    } catch (error) {
      if (isCommitRefused(error)) this.mayBeCommitted = false
      throw error
    }
  }

  async #rollback(): Promise<void> {
    if (this.#released) return
    this.#batch = new Batch()
    try {
      if (this.#begun) await this.#query({ name: 'rollback', text: 'ROLLBACK' })
      this.#release()
    } catch {
      // The connection is closed.
    }
  }

  #release(broken = false): void {
    if (this.#released) return
    this.#released = true
    this.#client.release(broken)
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

function recordOutcome(error: unknown, transaction: Attempt | undefined): unknown {
  if (transaction?.mayBeCommitted !== true && error instanceof Error) rolledBack.add(error)
  return error
}
