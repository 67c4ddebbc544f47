// Prisma inside a transaction of transaction.ts. Prisma begins one of its own, as its API demands; what it
// sends to begin and end it is left out.
import type pg from 'pg'
import type { Config } from './batch.ts'
import type { AppPrismaClient, PrismaInTransaction } from './prisma.ts'
import { joining } from './pool.ts'

type Run = (config: Config) => Promise<pg.QueryResult>

const nothing = { rows: [], fields: [], rowCount: 0 }

export class JoinedPrisma {
  readonly client: PrismaInTransaction
  readonly #end = Promise.withResolvers<void>()
  readonly #ended: Promise<void>

  /** @param timeout milliseconds */
  constructor(prisma: AppPrismaClient, run: Run, timeout: number) {
    const opened = Promise.withResolvers<PrismaInTransaction>()
    const work = async (tx: PrismaInTransaction): Promise<void> => {
      opened.resolve(tx)
      await this.#end.promise
    }
    this.#ended = joining.run(connectionOf(run), () => prisma.$transaction(work, { timeout }))
    this.#ended.catch(opened.reject)
    opened.promise.catch(() => {})
    this.client = whenOpen(opened.promise)
  }

  /** Before the transaction ends. Throws when Prisma's has failed. */
  async end(): Promise<void> {
    this.#end.resolve()
    await this.#ended
  }
}

/** What Prisma's adapter uses of a pooled connection. */
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

/** A client whose methods wait until Prisma is ready. */
function whenOpen(opened: Promise<any>): PrismaInTransaction {
  const methodsOf = (find: (client: any) => any): Record<string, unknown> =>
    new Proxy(
      {},
      {
        get:
          (_target, method: string) =>
          async (...values: unknown[]) =>
            await find(await opened)[method](...values),
      },
    )
  return new Proxy(
    {},
    {
      get: (_target, name: string) =>
        name.startsWith('$') ? methodsOf((client) => client)[name] : methodsOf((client) => client[name]),
    },
  ) as PrismaInTransaction
}
