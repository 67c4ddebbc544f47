// Everything a handler may use beside its request, made once and closed once.
import type { Config } from './config.ts'
import { openDatabase, type Database } from './database.ts'
import { createLastUsed, type LastUsed } from './last-used.ts'
import { createPrincipals, type Principals } from './principals.ts'

export interface Services {
  config: Readonly<Config>
  database: Database
  principals: Principals
  lastUsed: LastUsed
  /** What a request may need, each with a check that throws when it is out of reach. */
  checks: Record<string, () => Promise<void>>
  close (): Promise<void>
}

export interface ServicesOptions {
  config: Readonly<Config>
  /** Where the database is; the embedded one's address where config has none. */
  databaseUrl: string
  onError?: (error: Error) => void
  onStatement?: (text: string) => void
}

export function createServices ({ config, databaseUrl, onError = () => {}, onStatement }: ServicesOptions): Services {
  const database = openDatabase({ url: databaseUrl, poolSize: config.databasePoolSize, onError, onStatement })
  const principals = createPrincipals({ db: database, url: databaseUrl, onError })
  const lastUsed = createLastUsed(database, { onError })
  return {
    config,
    database,
    principals,
    lastUsed,
    checks: { database: () => database.ping() },
    async close () {
      await lastUsed.close()
      await principals.close()
      await database.close()
    }
  }
}
