// The hosts of a database. PostgreSQL's own client library (libpq) takes several in one URL and connects to
// the first that has the right role; node-postgres takes one. So the URL is read here, and each connection
// asks here for its host.
//
// Both forms of libpq are read: `postgres://user@a:5432,b:5433/db?target_session_attrs=read-write`, and
// `postgres://user@/db?host=a,b&port=5432,5433`. See the PostgreSQL documentation, 34.1.1 and 34.1.2.
import { setTimeout as sleep } from 'node:timers/promises'

export interface Host {
  /** A name, an address, or the folder of a Unix socket. */
  host: string
  port: number
}

export const targets = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const

/** The server that a connection needs, by its name in libpq. */
export type Target = (typeof targets)[number]

/** The role of a server, as its session sees it. */
export interface Role {
  standby: boolean
  /** Whether transactions are read-only unless they say otherwise. True on a standby. */
  readOnly: boolean
}

export const roleQuery = `
  SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS "readOnly"`

/** A URL that names several hosts, or the role of the host. */
export interface HostedUrl {
  /** The URL with its hosts as parameters, which `new URL` and node-postgres can parse. */
  url: string
  hosts: Host[]
  /** Null if the URL has no `target_session_attrs`. */
  target: Target | null
}

/** The URL is not valid. The message completes "DATABASE_URL …" and repeats nothing of the URL. */
export class HostsError extends Error {}

const defaultPort = 5432

/**
 * The hosts of a URL with several of them or with `target_session_attrs`; null for any other URL.
 * @throws HostsError
 */
export function hostsOf(text: string): HostedUrl | null {
  const [, scheme, credentials = '', authority = '', rest = ''] =
    /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is.exec(text) ?? []
  if (scheme === undefined) return null
  // `localhost` stands for the hosts, which are parameters below: a URL with credentials needs a host.
  const url = URL.parse(`${scheme}${credentials}localhost${rest.startsWith('/') ? '' : '/'}${rest}`)
  if (url === null) return null
  const { searchParams } = url
  const target = searchParams.get('target_session_attrs')
  const named = searchParams.get('host')
  const isList = (named ?? authority).includes(',') || (searchParams.get('port') ?? '').includes(',')
  if (!isList && target === null) return null
  if (target !== null && !targets.includes(target as Target))
    throw new HostsError(`has an unknown target_session_attrs: it is one of ${targets.join(', ')}.`)
  const hosts = named === null ? hostsInAuthority(authority, searchParams) : hostsInParameters(searchParams)
  searchParams.set('host', hosts.map(({ host }) => host).join(','))
  searchParams.set('port', hosts.map(({ port }) => port).join(','))
  return { url: url.href, hosts, target: target as Target | null }
}

function hostsInAuthority(authority: string, parameters: URLSearchParams): Host[] {
  const items = authority.split(',').map((item) => {
    // An IPv6 address is in brackets.
    const [, bracketed, plain, port = ''] = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::(\d*))?$/.exec(item) ?? []
    const host = bracketed ?? plain
    if (host === undefined) throw new HostsError('has an invalid host: write host:port or [IPv6]:port.')
    return { host: decode(host), port }
  })
  const names = items.map(({ host }) => host)
  const isInParameter = parameters.has('port') && items.every(({ port }) => port === '')
  const ports = isInParameter ? parameters.get('port')!.split(',') : items.map(({ port }) => port)
  return paired(names, ports)
}

function hostsInParameters(parameters: URLSearchParams): Host[] {
  const names = parameters.get('host')!.split(',')
  return paired(
    names.map((name) => name.trim().replace(/^\[(.+)\]$/, '$1')),
    (parameters.get('port') ?? '').split(','),
  )
}

/** As in libpq: one port for all hosts, or one for each; an empty one is 5432. */
function paired(names: string[], ports: string[]): Host[] {
  if (ports.length !== 1 && ports.length !== names.length)
    throw new HostsError(
      `has ${names.length} hosts and ${ports.length} ports: give one port for all, or for each.`,
    )
  return names.map((host, i) => {
    const text = (ports.length === 1 ? ports[0] : ports[i]).trim()
    const port = text === '' ? defaultPort : Number(text)
    if (host === '') throw new HostsError('has an empty host in its list of hosts.')
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new HostsError('has an invalid port: a port is a number from 1 to 65535.')
    return { host, port }
  })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new HostsError('has a host that is not percent-encoded correctly.')
  }
}

/** Adds a default for `target_session_attrs` to a URL with several hosts. Returns other URLs as they are. */
export function withTarget(text: string, target: Target): string {
  const hosted = hostsOf(text)
  if (hosted === null) return text
  const url = new URL(hosted.url)
  if (hosted.target === null) url.searchParams.set('target_session_attrs', target)
  return url.href
}

/** The URL in the form that `new URL` can parse. */
export function parsable(text: string): string {
  return hostsOf(text)?.url ?? text
}

export function isSuitable({ standby, readOnly }: Role, target: Target): boolean {
  if (target === 'read-write') return !readOnly
  if (target === 'read-only') return readOnly
  if (target === 'primary') return !standby
  if (target === 'standby') return standby
  return true
}

/** SQLSTATE of a statement that a standby refuses. */
export const readOnlyState = '25006'

/** A server has another role than the connection needs. It has the code of a write that a standby refuses. */
export class WrongRoleError extends Error {
  readonly code = readOnlyState

  constructor(target: Target, role: Role) {
    super(target === 'standby' || target === 'read-only' ? 'it is the primary' : descriptionOf(role))
  }
}

function descriptionOf({ standby }: Role): string {
  return standby ? 'it is a standby, which is read-only' : 'its transactions are read-only'
}

/** No host is suitable. The message has what each answered. */
export class NoHostError extends Error {
  readonly code: string | undefined

  constructor(failures: Array<{ host: Host; error: Error }>) {
    super(failures.map(({ host, error }) => `${textOf(host)}: ${error.message || codeOf(error)}`).join('; '))
    const codes = failures.map(({ error }) => codeOf(error))
    // A refused password is the more useful error: it does not depend on which host is the primary.
    this.code =
      codes.find((code) => code.startsWith('28')) ?? codes.find((code) => code === readOnlyState) ?? codes[0]
  }
}

function textOf({ host, port }: Host): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function codeOf(error: Error): string {
  return (error as { code?: string }).code ?? ''
}

/** Connects to a host and returns its role. */
type Probe = (host: Host, signal: AbortSignal) => Promise<Role>

/** Milliseconds that a host has before the next one is tried, too. */
const stagger = 250

/** Milliseconds for which a search without success is the answer to others. */
const pause = 100

/** The hosts of one URL in this process. It remembers the last that was suitable. */
export class Hosts {
  readonly #hosts: Host[]
  readonly #target: Target
  /** Called with the host that is the right one from now on. */
  readonly #moves = new Set<(host: Host) => void>()
  #current: Host | null = null
  #search: Promise<Host> | null = null

  constructor(hosts: Host[], target: Target) {
    this.#hosts = hosts
    this.#target = target
  }

  /** The host to connect to. @throws NoHostError */
  async find(probe: Probe): Promise<Host> {
    if (this.#hosts.length === 1) return this.#hosts[0]
    if (this.#current !== null) return this.#current
    this.#search ??= this.#start(probe)
    return await this.#search
  }

  /** Calls `callback` when only another host is the right one. @returns a function that ends this. */
  onMove(callback: (host: Host) => void): () => void {
    // Where several hosts may be right, the connections to each of them are.
    if (!['read-write', 'primary'].includes(this.#target)) return () => {}
    this.#moves.add(callback)
    return () => this.#moves.delete(callback)
  }

  /** The host failed or has another role: the next connection searches. */
  doubt(host: Host): void {
    if (this.#current === host) this.#current = null
  }

  #start(probe: Probe): Promise<Host> {
    const search = this.#try(probe)
    search.then(
      (host) => {
        this.#current = host
        this.#search = null
        for (const move of this.#moves) move(host)
      },
      async () => {
        await sleep(pause, undefined, { ref: false })
        this.#search = null
      },
    )
    return search
  }

  async #try(probe: Probe): Promise<Host> {
    if (this.#target !== 'prefer-standby') return await firstSuitable(this.#hosts, this.#target, probe)
    return await firstSuitable(this.#hosts, 'standby', probe).catch(() =>
      firstSuitable(this.#hosts, 'any', probe),
    )
  }
}

/**
 * Tries the hosts in order. One that does not answer soon does not stop the next, so a host without power
 * costs a fraction of a second. The first host with the right role wins. While one host is silent, the others
 * are asked again: a standby may be promoted meanwhile.
 */
async function firstSuitable(hosts: Host[], target: Target, probe: Probe): Promise<Host> {
  const end = new AbortController()
  const failures = new Map<Host, Error>()
  let silent = hosts.length
  let previous: Promise<unknown> = Promise.resolve()

  const ask = async (host: Host): Promise<Error | null> => {
    try {
      const role = await probe(host, end.signal)
      return isSuitable(role, target) ? null : new WrongRoleError(target, role)
    } catch (error) {
      return error as Error
    }
  }
  const askUntilAllAnswered = async (host: Host, onAnswer: () => void): Promise<Host> => {
    for (let isFirst = true; !end.signal.aborted; isFirst = false) {
      const failure = await ask(host)
      if (failure === null) return host
      failures.set(host, failure)
      if (isFirst) silent--
      onAnswer()
      if (silent === 0) throw failure
      await sleep(stagger, undefined, { ref: false })
    }
    throw new Error('another host was found')
  }
  const attempts = hosts.map(async (host) => {
    const before = previous
    const { promise: answered, resolve: onAnswer } = Promise.withResolvers<void>()
    previous = before.then(() => Promise.race([answered, sleep(stagger, undefined, { ref: false })]))
    await before
    return await askUntilAllAnswered(host, onAnswer)
  })
  try {
    return await Promise.any(attempts)
  } catch {
    throw new NoHostError(hosts.map((host) => ({ host, error: failures.get(host)! })))
  } finally {
    end.abort()
  }
}

const known = new Map<string, Hosts>()

/** The hosts of a URL, the same for all connections of this process. */
export function sharedHosts(hosts: Host[], target: Target): Hosts {
  const key = JSON.stringify([hosts, target])
  const found = known.get(key) ?? new Hosts(hosts, target)
  known.set(key, found)
  return found
}
