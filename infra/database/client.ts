// The client of every connection to PostgreSQL. It understands `require_auth=scram-sha-256` in the URL, as
// libpq does: then it sends no password to a server that asks for it in clear or as MD5.
import pg from 'pg'
import { Batch } from './batch.ts'

/** The part of pg's client that its types leave out. */
interface Protocol {
  connection: { emit(event: 'error', error: Error): void; stream: { destroy(): void } }
}

const REQUIRED = 'scram-sha-256'

export class Client extends pg.Client {
  readonly #requiresScram: boolean

  constructor(config: pg.ClientConfig = {}) {
    super(config)
    const { connectionString = '' } = config
    const required = URL.canParse(connectionString)
      ? new URL(connectionString).searchParams.get('require_auth')
      : null
    if (required !== null && required !== REQUIRED)
      throw new Error(`require_auth=${required} is not supported: leave it out, or set ${REQUIRED}.`)
    this.#requiresScram = required !== null
  }

  _handleAuthCleartextPassword(message: unknown): void {
    this.#answer('in clear', () => inherited._handleAuthCleartextPassword.call(this, message))
  }

  _handleAuthMD5Password(message: unknown): void {
    this.#answer('as MD5', () => inherited._handleAuthMD5Password.call(this, message))
  }

  #answer(how: string, send: () => void): void {
    if (!this.#requiresScram) return send()
    const { connection } = this as unknown as Protocol
    connection.emit('error', new Error(`The server asks for the password ${how}; ${REQUIRED} is required.`))
    connection.stream.destroy()
  }
}

/** The URL with the name of its connections, unless the operator has named them. */
export function withApplicationName(url: string, name: string): string {
  const parsed = new URL(url)
  if (!parsed.searchParams.has('application_name')) parsed.searchParams.set('application_name', name)
  return parsed.href
}

export interface ConnectionOptions {
  url: string
  /** The name of the connection in pg_stat_activity. */
  name: string
  /** Milliseconds. Default 10,000. */
  connectTimeout?: number
  /** Milliseconds after which a query without an answer fails. Default: none. */
  queryTimeout?: number
}

/** Opens a connection outside of a pool. The caller ends it. */
export async function openConnection({
  url,
  name,
  connectTimeout = 10_000,
  queryTimeout,
}: ConnectionOptions): Promise<pg.Client> {
  const client = new Client({
    connectionString: withApplicationName(url, name),
    connectionTimeoutMillis: connectTimeout,
    query_timeout: queryTimeout,
    keepAlive: true,
  })
  // A broken connection also fails the current query; without a listener it would crash the process.
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Prepares no statement by name, for poolers that do not know which of their connections has prepared it. */
export class UnpreparedClient extends Client {
  override query(config: any, ...rest: any[]): any {
    if (config instanceof Batch) config.removeNames()
    const unnamed = config?.name !== undefined ? { ...config, name: undefined } : config
    return (super.query as (...args: unknown[]) => unknown)(unnamed, ...rest)
  }
}

const inherited = pg.Client.prototype as unknown as Pick<
  Client,
  '_handleAuthCleartextPassword' | '_handleAuthMD5Password'
>
