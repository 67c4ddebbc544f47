// Starts a server on a new database and creates users with API keys. Every API test begins here.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { addressOf, buildApp } from '../../../app/build.ts'
import { policiesOf } from '../../../app/server.ts'
import type { Operations } from '../../../services/handler.ts'
import { digestOf, keyPrefix, newSecret } from '../../../infra/encryption/api-key-format.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { statement } from '../../../infra/database/statements.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import { createRateLimits } from '../../../app/http/rate-limit.ts'
import { openBlobStore } from '../../../services/storage/storage.ts'
import { adoptStore, claimAtStart } from '../../../services/storage/ownership.ts'
import { storeLimits } from '../../../services/users/quotas.ts'
import { createServices, type Services } from '../../../services/services.ts'
import { defaultScopes, type Scope } from '../../../services/users/scopes.ts'
import { createTestDatabase, testSecretKey } from '../database/database.ts'
import { createClient, type Client } from '../http/client.ts'
import { requireRowTypes } from '../database/row-types.ts'
import { typedClient } from '../http/typed-client.ts'
import { highLimits } from './high-limits.ts'

export interface Person {
  id: string
  email: string
  key: string
  /** The untyped test client, one request per call. */
  client: Client
  /** The published client, without retries. */
  api: ReturnType<typeof typedClient>
}

export interface TestServer {
  url: string
  databaseUrl: string
  services: Services
  /** The API key of an admin, with all scopes. */
  key: string
  admin: Person
  /** The log of the server, one entry per line. */
  logs: string[]
  /** Every SQL statement that was sent, in order. A test that counts them clears the list first. */
  statements: string[]
  /** Creates a user with an API key. Default scopes: all except admin. */
  person(options?: {
    role?: 'user' | 'admin'
    scopes?: Scope[]
    projectIds?: string[]
    expiresAt?: Date
    name?: string
    email?: string
  }): Promise<Person>
  close(): Promise<void>
}

export interface TestServerOptions {
  env?: Record<string, string>
  handlers?: Operations
  /** Uses this database in place of a new one. */
  databaseUrl?: string
}

const testSettings = {
  PORT: '0',
  LOG_LEVEL: 'info',
  VALIDATE_RESPONSES: 'true',
  ...highLimits,
  STREAMS_PER_USER: '10000',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
  WEBHOOK_ALLOWED_PORTS: '1-65535',
  SECRET_KEY: testSecretKey,
  SIGN_UP: 'example.com',
}

/** The rows that `insertUser` and `insertApiKey` write, in one statement: most fixtures begin with a user. */
const insertPerson = statement(`
  WITH person AS (
    INSERT INTO users (id, email, email_verified, name, role, created_at, updated_at)
    VALUES ($1, $2, true, $3, $4, $5, $5)
  ), person_settings AS (
    INSERT INTO settings (user_id, updated_at) VALUES ($1, $5)
  )
  INSERT INTO api_keys
    (id, user_id, name, start, digest, scopes, project_ids, all_projects, expires_at, created_at)
  VALUES ($6, $1, 'test', $7, decode($8, 'hex'), $9, $10, $11, $12, $13)`)

/** A second server on a database has a store of its own unless the test says which. */
async function claimTestStore(
  { database, storage, config }: Services,
  { databaseUrl, env }: TestServerOptions,
): Promise<void> {
  const isSecond = databaseUrl !== undefined && env?.STORAGE_DIR === undefined
  if (isSecond) await adoptStore(database, await openBlobStore(config)).catch(() => {})
  await claimAtStart(storage, () => {})
}

/** Starts a server on a free port and closes it when the test ends. The server validates its responses. */
export async function startServer(
  t: Pick<Test, 'teardown'>,
  options: TestServerOptions = {},
): Promise<TestServer> {
  const databaseUrl = options.databaseUrl ?? (await createTestDatabase(t)).url
  const storageDir = options.env?.STORAGE_DIR ?? mkdtempSync(join(tmpdir(), 'storage-'))
  const config = readConfig({
    ...testSettings,
    DATABASE_URL: databaseUrl,
    STORAGE_DIR: storageDir,
    ...options.env,
  })
  const logs: string[] = []
  const statements: string[] = []
  const errors: Error[] = []
  const services = createServices({
    config,
    databaseUrl,
    onError: (error) => errors.push(error),
    // Tests write the requests when they need them, so that others can count statements and changes.
    recordInterval: 2 ** 31 - 1,
    onStatement: (text) => statements.push(text),
    onRows: requireRowTypes,
  })
  await storeLimits(services.database, config)
  await claimTestStore(services, options)
  const limits = await createRateLimits({ policies: policiesOf(config), redisUrl: config.redisUrl })
  let app: FastifyInstance | undefined
  let closed = false
  t.teardown(() => close())
  app = await buildApp({
    services,
    limits,
    handlers: options.handlers,
    logTo: {
      write: (line: string) => {
        logs.push(line)
      },
    },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = addressOf(app)
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    // A client connects again when its connection is closed, and app.close() waits for it to end.
    app?.server.on('connection', (socket) => socket.destroy())
    app?.server.closeAllConnections()
    await app?.close()
    await limits.close()
    await services.close()
    if (options.env?.STORAGE_DIR === undefined) rmSync(storageDir, { recursive: true, force: true })
  }
  let userCount = 0
  const person: TestServer['person'] = async ({
    role = 'user',
    scopes = defaultScopes(role),
    projectIds,
    expiresAt,
    name,
    email,
  } = {}) => {
    const number = ++userCount
    const [id, keyId, key] = [newId('usr'), newId('key'), newSecret('test')]
    const address = (email ?? `person${number}-${Date.now()}@example.com`).toLowerCase()
    await services.database.sql(insertPerson, [
      id,
      address,
      name ?? `Person ${number}`,
      role,
      timeOf(id),
      keyId,
      keyPrefix(key),
      digestOf(key),
      scopes,
      projectIds ?? [],
      projectIds === undefined,
      expiresAt ?? null,
      timeOf(keyId),
    ])
    return {
      id,
      email: address,
      key,
      client: createClient(url, key),
      api: typedClient(url, key, { retries: 0 }),
    }
  }
  const admin =
    options.databaseUrl === undefined ? await person({ role: 'admin', email: 'admin@example.com' }) : null
  return { url, databaseUrl, services, key: admin?.key ?? '', admin: admin!, logs, statements, person, close }
}
