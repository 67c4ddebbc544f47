// Prisma on the connection pool.
import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import { PrismaClient } from '../../generated/prisma/client.ts'
import { statementName } from './statements.ts'

/** Secret columns. Prisma omits them from every row unless a query selects them. */
const omit = { apiKey: { digest: true }, webhookEndpoint: { secret: true, previousSecret: true } } as const

export type AppPrismaClient = PrismaClient<never, typeof omit>

export type PrismaInTransaction = Omit<
  AppPrismaClient,
  '$connect' | '$disconnect' | '$on' | '$transaction' | '$extends'
>

export function createPrismaClient(pool: pg.Pool, onError: (error: Error) => void): AppPrismaClient {
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
  })
}
