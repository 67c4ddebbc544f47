// The database as a request sees it. Its reads share round trips; its other statements and its transactions
// wait for those of other requests of the user.
import type pg from 'pg'
import type { Config } from './batch.ts'
import type { Db, Effect, RequestOrigin, Transaction } from './db.ts'
import { queryOn } from './pool.ts'
import { whenLoaded, type LazyPrisma } from './prisma.ts'
import type { SharedReads } from './shared-reads.ts'
import { sqlBy, type OnRows } from './statements.ts'
import type { Transactions } from './transaction.ts'
import type { FairSemaphore } from '../concurrency/fair-semaphore.ts'

/** What the requests of a process share. */
export interface RequestServices {
  pool: pg.Pool
  prisma: LazyPrisma
  transactions: Transactions
  sharedReads: SharedReads
  /** The turns of users for connections. */
  turns: FairSemaphore
  afterCommit: Db['afterCommit']
  toApiError: (error: unknown) => unknown
  onRows: OnRows | undefined
}

/** A class: V8 would keep the hidden class of each object with a getter, and by it the request. */
export class RequestDatabase implements Db {
  readonly request: RequestOrigin
  readonly sql: Db['sql']
  readonly #services: RequestServices
  readonly #user: string

  constructor(services: RequestServices, request: RequestOrigin) {
    this.request = request
    this.sql = sqlBy((config) => this.#send(config), services.onRows, services.toApiError)
    this.#services = services
    this.#user = request.accountId ?? request.actor?.user_id ?? request.id
  }

  get prisma(): Db['prisma'] {
    return whenLoaded(
      () => this.#services.prisma.load(),
      (work) => this.#inTurn(work),
    )
  }

  get later(): Db['later'] {
    return this
  }

  afterCommit(effect: Effect): void {
    this.#services.afterCommit(effect)
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return await this.#inTurn(() => this.#services.transactions.run(work, this.request))
  }

  async #send(config: Config): Promise<pg.QueryResult> {
    const { pool, sharedReads } = this.#services
    if (config.reads === true) return await sharedReads.run(this.#user, config)
    const [result] = await this.#inTurn(() => queryOn(pool, [config]))
    return result
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const askedAt = performance.now()
    return await this.#services.turns.run(this.#user, async () => {
      this.request.onTurn?.(performance.now() - askedAt)
      return await work()
    })
  }
}
