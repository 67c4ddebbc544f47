// Prisma on the connection pool. Its client and its tables take 50 MB, so they are loaded when a query needs
// them.
import type pg from 'pg'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { Lazy } from '../concurrency/lazy.ts'
import { statementName } from './statements.ts'

/** Secret columns. Prisma omits them from every row unless a query selects them. */
const omit = { apiKey: { digest: true }, webhookEndpoint: { secret: true, previousSecret: true } } as const

export type AppPrismaClient = PrismaClient<never, typeof omit>

export type PrismaInTransaction = Omit<
  AppPrismaClient,
  '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'
>

export class LazyPrisma {
  readonly client: PrismaInTransaction = whenLoaded(() => this.load())
  readonly #loaded: Lazy<AppPrismaClient>

  constructor(pool: pg.Pool, onError: (error: Error) => void) {
    this.#loaded = new Lazy(() => createPrismaClient(pool, onError))
  }

  load(): Promise<AppPrismaClient> {
    return this.#loaded.get()
  }

  async close(): Promise<void> {
    await (await this.#loaded.peek())?.$disconnect()
  }
}

async function createPrismaClient(pool: pg.Pool, onError: (error: Error) => void): Promise<AppPrismaClient> {
  const [{ PrismaClient }, { PrismaPg }] = await Promise.all([
    import('../../generated/prisma/client.js'),
    import('@prisma/adapter-pg'),
  ])
  return new PrismaClient({
    // Searches are not prepared: the best plan depends on the values.
    adapter: new PrismaPg(pool, {
      onPoolError: onError,
      onConnectionError: onError,
      statementNameGenerator: ({ sql }) => (/ I?LIKE /.test(sql) ? '' : statementName(sql)),
    }),
    omit,
    // The other formats repeat the values of a query.
    errorFormat: 'minimal',
  })
}

type Run = (work: () => Promise<unknown>) => Promise<unknown>

/** A client whose methods wait until `load` has returned the real one, and are called by `run`. */
export function whenLoaded(load: () => Promise<any>, run: Run = (work) => work()): PrismaInTransaction {
  const methodsOf = (find: (client: any) => any): Record<string, unknown> =>
    new Proxy(
      {},
      {
        get:
          (_target, method: string) =>
          async (...values: unknown[]) => {
            const client = find(await load())
            return await run(() => client[method](...values))
          },
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
