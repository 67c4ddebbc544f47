// The connection pool.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import pg from 'pg'
import { Batch, type Config } from './batch.ts'
import { Client, UnpreparedClient, withApplicationName } from './client.ts'
import type { Target } from './hosts.ts'
import { isTracing } from '../telemetry/spans.ts'
import { configureSession, type SessionOptions } from './session.ts'
import { traceStatements } from './traced-client.ts'

export interface PoolOptions extends SessionOptions {
  url: string
  /** The name of the connections in pg_stat_activity. */
  name: string
  poolSize: number
  /** Whether statements are prepared by name. */
  preparedStatements: boolean
  /** Milliseconds to wait for a free connection. */
  connectTimeout: number
  /** The server that the connections need, unless the URL says it. Default `any`. */
  target?: Target
  onError: (error: Error) => void
  /** Called with every statement that is sent, for tests that count them. */
  onStatement?: (text: string) => void
}

/** Parsers of the values in the rows of prepared SQL. */
export const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === 1184) return formatTimestamp
    // A date stays YYYY-MM-DD.
    if (oid === 1082) return String
    if (oid === 20) return Number
    if (oid === 1009 || oid === 1182) return parseTextArray
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

/** A timestamptz in UTC, "2026-11-21 09:30:00.12+00", as RFC 3339 with milliseconds. */
function formatTimestamp(text: string): string {
  if (!text.endsWith('+00')) throw new Error(`The time zone of the database session is not UTC: ${text}`)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${(text.slice(20, -3) + '000').slice(0, 3)}Z`
}

const parseAnyArray = pg.types.getTypeParser(1009 as number, 'text')

/** A text[] or date[], such as `{a,"b c"}`. Most have no quotes. */
function parseTextArray(text: string): Array<string | null> {
  if (text === '{}') return []
  const items = text.slice(1, -1)
  return /["\\{]|NULL/.test(items) ? parseAnyArray(text) : items.split(',')
}

/** The connection that Prisma takes instead of one of the pool; see joined-prisma.ts. */
export const joining = new AsyncLocalStorage<pg.PoolClient>()

/**
 * Seconds after which a connection is replaced, so that none stays for good on a server that the address no
 * longer leads to.
 */
const maxAge = 900

/** Milliseconds between two times that refused writes end all connections. */
const dropPause = 1_000

export class Pool extends pg.Pool {
  readonly #openedAt = new WeakMap<pg.ClientBase, number>()
  /** Connections that were opened before this time end when they are released. */
  #droppedAt = -Infinity

  constructor(config: pg.PoolConfig) {
    super(config)
    this.on('connect', (client) => this.#openedAt.set(client, performance.now()))
    this.on('release', (_error, client) => {
      const isRefused = client instanceof Client && client.refusedWrite
      // The pool removes a connection that is ending.
      if (isRefused || this.#openedAt.get(client)! < this.#droppedAt) void client.end().catch(() => {})
      if (isRefused && performance.now() - this.#droppedAt > dropPause) this.drop()
    })
  }

  /** Ends all connections: idle ones at once, the others when they are released. */
  drop(): void {
    this.#droppedAt = performance.now()
    for (let idle = this.idleCount; idle > 0; idle--)
      super.connect().then(
        (client) => client.release(),
        // Another request took the last idle connection, and no new one could be opened.
        () => {},
      )
  }

  override connect(): Promise<pg.PoolClient>
  override connect(
    callback: (
      error: Error | undefined,
      client: pg.PoolClient | undefined,
      done: (release?: any) => void,
    ) => void,
  ): void
  override connect(callback?: any): any {
    // A connection that another request returns calls back in the context of that request.
    if (callback) return super.connect(isTracing() ? AsyncLocalStorage.bind(callback) : callback)
    const joined = joining.getStore()
    return joined === undefined ? super.connect() : Promise.resolve(joined)
  }
}

export function createPool({
  url,
  name,
  poolSize,
  preparedStatements,
  statementTimeout,
  pooled,
  connectTimeout,
  target,
  onError,
  onStatement,
}: PoolOptions): Pool {
  const config: pg.PoolConfig & { target: Target | undefined } = {
    Client: preparedStatements ? Client : UnpreparedClient,
    target,
    connectionString: withApplicationName(url, name),
    max: poolSize,
    connectionTimeoutMillis: connectTimeout,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: maxAge,
    keepAlive: true,
    onConnect: async (client) => {
      endUnanswered(client, statementTimeout + 1_000)
      await configureSession(client, { statementTimeout, pooled })
    },
  }
  const pool = new Pool(config)
  // Without a listener, an idle connection that the server closes would crash the process.
  pool.on('error', onError)
  pool.on('connect', (client) => {
    client.on('error', onError)
    if (onStatement) reportStatements(client, onStatement)
    if (isTracing()) traceStatements(client)
  })
  return pool
}

/** Sends statements in one round trip, on a connection of the pool. After an error none has a result. */
export async function queryOn(pool: pg.Pool, configs: Config[]): Promise<pg.QueryResult[]> {
  return await sendOn(await pool.connect(), configs)
}

/** As `queryOn`, and releases the connection. */
export async function sendOn(client: pg.PoolClient, configs: Config[]): Promise<pg.QueryResult[]> {
  const batch = new Batch()
  const answers = Promise.all(configs.map((config) => batch.add(config)))
  client.query(batch as unknown as pg.Submittable)
  try {
    const results = await answers
    client.release()
    return results
  } catch (error) {
    client.release(error as Error)
    throw error
  }
}

/** The parts of pg's client that its types leave out. */
interface Wire {
  connection: { stream: Socket }
  readyForQuery: boolean
}

/**
 * PostgreSQL cancels slow statements itself. This closes a connection on which it no longer answers. The time
 * counts from the last byte in either direction, so no statement needs a timer of its own.
 */
function endUnanswered(client: pg.ClientBase, milliseconds: number): void {
  const wire = client as unknown as Wire
  const { stream } = wire.connection
  stream.setTimeout(milliseconds)
  // An idle connection gets the event, too, so a listener that is called once would be gone.
  stream.on('timeout', () => {
    if (!wire.readyForQuery) stream.destroy(new Error('Query read timeout'))
  })
}

function reportStatements(client: pg.ClientBase, onStatement: (text: string) => void): void {
  const query = client.query.bind(client) as (...args: any[]) => any
  client.query = ((...args: any[]) => {
    const [statement] = args
    if (statement instanceof Batch) statement.statements.forEach(({ config }) => onStatement(config.text))
    else onStatement(typeof statement === 'string' ? statement : statement.text)
    return query(...args)
  }) as typeof client.query
}
