// Prisma inside a transaction of transaction.ts. Prisma begins one of its own, as its API demands; what it
// sends to begin and end it is left out.
import type pg from 'pg'
import type { Config } from './batch.ts'
import { whenLoaded, type LazyPrisma, type PrismaInTransaction } from './prisma.ts'
import { joining } from './pool.ts'

type Run = (config: Config) => Promise<pg.QueryResult>

const nothing = { rows: [], fields: [], rowCount: 0 }

export class JoinedPrisma {
  readonly client: PrismaInTransaction
  readonly #end = Promise.withResolvers<void>()
  readonly #ended: Promise<void>

  /** @param timeout milliseconds */
  constructor(prisma: LazyPrisma, run: Run, timeout: number) {
    const opened = Promise.withResolvers<PrismaInTransaction>()
    // Prisma declares `tx` without `omit`; to compare the two types takes the compiler 5 s.
    const work = async (tx: unknown): Promise<void> => {
      opened.resolve(tx as PrismaInTransaction)
      await this.#end.promise
    }
    this.#ended = joining.run(connectionOf(run), async () => {
      await (await prisma.load()).$transaction(work, { timeout })
    })
    this.#ended.catch(opened.reject)
    opened.promise.catch(() => {})
    this.client = whenLoaded(() => opened.promise)
  }

  /** Before the transaction ends. Throws when Prisma's has failed. */
  async end(): Promise<void> {
    this.#end.resolve()
    await this.#ended
  }
}

/** The part of a pooled connection that Prisma's adapter uses. */
function connectionOf(run: Run): pg.PoolClient {
  const connection = {
    query: async (config: Config) =>
      /^(BEGIN|COMMIT|ROLLBACK)$/.test(config.text) ? nothing : await run(config),
    release() {},
    on: () => connection,
    removeListener: () => connection,
  }
  return connection as unknown as pg.PoolClient
}
