// The client of every connection to PostgreSQL. Like libpq, it understands in the URL
// - `require_auth=scram-sha-256`: it sends no password to a server that asks for it in clear or as MD5;
// - several hosts and `target_session_attrs`: it connects to the host with the right role (hosts.ts).
import pg from 'pg'
import { Batch } from './batch.ts'
import {
  hostsOf,
  isSuitable,
  parsable,
  readOnlyState,
  roleQuery,
  sharedHosts,
  WrongRoleError,
  type Host,
  type Hosts,
  type Role,
  type Target,
} from './hosts.ts'

/** The parts of pg's client that its types leave out. */
interface Protocol {
  connectionParameters: Partial<Host>
  host: string
  port: number
  connection: {
    emit(event: 'error', error: Error): void
    on(event: 'errorMessage', callback: (message: { code?: string }) => void): void
    on(
      event: 'parameterStatus',
      callback: (message: { parameterName: string; parameterValue: string }) => void,
    ): void
    stream: { destroy(error?: Error): void }
  }
}

export interface ClientConfig extends pg.ClientConfig {
  /** The server that the connection needs, unless the URL has `target_session_attrs`. Default `any`. */
  target?: Target
}

const REQUIRED = 'scram-sha-256'

/** Milliseconds in which a host answers a search. */
const probeTimeout = 3_000

/** Milliseconds that the statements on a connection have to end when another host is the right one. */
const moveTimeout = 1_000

export class Client extends pg.Client {
  readonly #requiresScram: boolean
  readonly #config: ClientConfig
  readonly #target: Target
  /** Null for a URL with one host whose role is not asked for. */
  readonly #hosts: Hosts | null
  #host: Host | null = null
  /** Whether the server has introduced itself as a standby. A pooler may repeat what was true before. */
  #saidStandby = false
  /** Whether the server has refused a write: it is a standby, and the connection is of no more use. */
  refusedWrite = false

  constructor(config: ClientConfig = {}) {
    const { connectionString = '' } = config
    const hosted = hostsOf(connectionString)
    super(hosted === null ? config : { ...config, connectionString: hosted.url })
    const parameters = URL.parse(hosted?.url ?? connectionString)?.searchParams
    const required = parameters?.get('require_auth') ?? null
    if (required !== null && required !== REQUIRED)
      throw new Error(`require_auth=${required} is not supported: leave it out, or set ${REQUIRED}.`)
    this.#requiresScram = required !== null
    this.#config = config
    this.#target = hosted?.target ?? config.target ?? 'any'
    this.#hosts = hosted === null ? null : sharedHosts(hosted.hosts, this.#target)
    const { connection } = this as unknown as Protocol
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'in_hot_standby') this.#saidStandby = parameterValue === 'on'
    })
    connection.on('errorMessage', ({ code }) => {
      if (code !== readOnlyState) return
      this.refusedWrite = true
      this.doubtHost()
    })
  }

  /** @throws NoHostError or WrongRoleError */
  override connect(): Promise<this>
  override connect(callback: (error: Error | null) => void): void
  override connect(report?: (error: Error | null) => void): any {
    if (this.#hosts === null && this.#target === 'any')
      return report === undefined ? super.connect() : super.connect(report)
    const connected = this.#connect()
    if (report === undefined) return connected
    connected.then(() => report(null), report)
  }

  async #connect(): Promise<this> {
    // Without a listener, a connection that breaks while its role is asked for would crash the process.
    this.on('error', () => this.doubtHost())
    try {
      if (this.#hosts !== null) {
        this.#host = await this.#hosts.find((host, signal) => this.#probe(host, signal))
        this.#setHost(this.#host)
        // `end` was called during the search.
        if ((this as unknown as { _ending: boolean })._ending) throw new Error('Connection terminated')
      }
      await super.connect()
      await this.#requireRole()
      this.#endWhenMoved()
      return this
    } catch (error) {
      this.doubtHost()
      throw error
    }
  }

  #setHost({ host, port }: Host): void {
    const protocol = this as unknown as Protocol
    Object.assign(protocol, { host, port })
    Object.assign(protocol.connectionParameters, { host, port })
  }

  /** The server does not answer, or has another role: the next connection searches for a host. */
  doubtHost(): void {
    if (this.#host !== null) this.#hosts?.doubt(this.#host)
  }

  /** A host that hangs, or a pooler in front of a standby, does not end the connection itself. */
  #endWhenMoved(): void {
    const stop = this.#hosts?.onMove((host) => {
      if (host === this.#host) return
      stop?.()
      const { connection } = this as unknown as Protocol
      const end = (): void =>
        connection.stream.destroy(new Error('Connection terminated: another host leads'))
      setTimeout(end, moveTimeout).unref()
    })
    if (stop !== undefined) this.once('end', stop)
  }

  /** Asks only where the URL says so, or where the server has introduced itself as a standby. */
  async #requireRole(): Promise<void> {
    if (this.#target === 'any' || (this.#hosts === null && !this.#saidStandby)) return
    try {
      const role = await this.#askRole()
      const isRefused = this.#hosts === null ? role.standby : !isSuitable(role, this.#target)
      if (isRefused) throw new WrongRoleError(this.#target, role)
    } catch (error) {
      void this.end().catch(() => {})
      throw error
    }
  }

  async #askRole(): Promise<Role> {
    // A pooler in transaction mode does not know unnamed statements of another connection: a simple query.
    const query = { text: roleQuery, query_timeout: this.#config.connectionTimeoutMillis ?? probeTimeout }
    return (await this.query<Role & pg.QueryResultRow>(query)).rows[0]
  }

  /** Connects to a host beside this connection, which can connect only once. */
  async #probe(host: Host, signal: AbortSignal): Promise<Role> {
    const { connectionTimeoutMillis = probeTimeout } = this.#config
    const probe = new Client({
      ...this.#config,
      connectionString: withoutTarget(this.#config.connectionString!),
      connectionTimeoutMillis: Math.min(connectionTimeoutMillis, probeTimeout),
      target: 'any',
    })
    probe.on('error', () => {})
    probe.#setHost(host)
    const stop = (): void => (probe as unknown as Protocol).connection.stream.destroy(new Error('found'))
    signal.addEventListener('abort', stop)
    try {
      await probe.connect()
      return await probe.#askRole()
    } finally {
      signal.removeEventListener('abort', stop)
      void probe.end().catch(() => {})
    }
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

/** The URL of a probe, which sets its host itself. */
function withoutTarget(text: string): string {
  const url = new URL(parsable(text))
  url.searchParams.set('host', 'localhost')
  url.searchParams.set('port', '5432')
  url.searchParams.delete('target_session_attrs')
  return url.href
}

/** The URL with the name of its connections, unless the operator has named them. */
export function withApplicationName(url: string, name: string): string {
  const parsed = new URL(parsable(url))
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
  /** The server that the connection needs, unless the URL says it. Default `any`. */
  target?: Target
}

/** Opens a connection outside of a pool. The caller ends it. */
export async function openConnection({
  url,
  name,
  connectTimeout = 10_000,
  queryTimeout,
  target,
}: ConnectionOptions): Promise<Client> {
  const client = new Client({
    connectionString: withApplicationName(url, name),
    connectionTimeoutMillis: connectTimeout,
    query_timeout: queryTimeout,
    keepAlive: true,
    target,
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
