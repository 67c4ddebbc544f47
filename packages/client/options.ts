// The options of a client, their defaults, and what is wrong with them.
import type { Auth, SchemePlace } from './auth.ts'
import { systemClock, type Clock } from './clock.ts'
import { ConfigurationError } from './error.ts'
import type { LogEntry, Transport } from './retry.ts'

export interface ClientOptions {
  /** The server's URL, with or without the path that the document gives it. Default: that of the document. */
  baseUrl?: string
  /** The credentials by the names of the security schemes. */
  auth?: Auth
  /** Header fields of all requests. */
  headers?: Record<string, string>
  /** Replaces the global fetch. */
  fetch?: (request: Request) => Promise<Response>
  /** Retries per call, if a second attempt has no second effect. Default 3. */
  retries?: number
  /**
   * The time limit of a call in milliseconds, including all retries; for streams and downloads, until the
   * response headers. Default 120,000, and none for uploads. null: no limit.
   */
  timeout?: number | null
  /** Called after each attempt of a request, for logs and metrics. The entry has no key and no body. */
  log?: (entry: LogEntry) => void
  /** The User-Agent header. Browsers send their own. */
  userAgent?: string
  /** Replaces the system clock, for tests. */
  clock?: Clock
}

/** What the client knows of the API, from the document. */
export interface ApiInfo {
  userAgent: string
  /** The path of the server. */
  prefix: string
  /** The origin of the server, if the document names it. */
  origin?: string
  schemes: Record<string, SchemePlace>
  /** The security of operations without their own. */
  security: string[][]
  /** Whether a 409 says that an earlier attempt with the same idempotency key is still running. */
  isInProgress?: (body: any) => boolean
}

/** The options with their defaults. */
export interface Settings {
  /** Without a trailing slash and without the prefix. */
  baseUrl: string
  /** Whether the caller has set `baseUrl`. */
  hasBaseUrl: boolean
  auth: Auth
  headers: Record<string, string>
  fetch: Transport
  retries: number
  /** undefined: the default of the operation. */
  timeout: number | null | undefined
  log: ((entry: LogEntry) => void) | undefined
  userAgent: string | undefined
  clock: Clock
}

/** @throws ConfigurationError */
export function settingsOf(options: ClientOptions, { prefix, origin }: ApiInfo): Settings {
  return {
    baseUrl: baseUrlOf(options.baseUrl ?? origin, prefix),
    hasBaseUrl: options.baseUrl !== undefined,
    auth: options.auth ?? {},
    headers: options.headers ?? {},
    fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
    retries: options.retries ?? 3,
    timeout: options.timeout,
    log: options.log,
    userAgent: options.userAgent,
    clock: options.clock ?? systemClock,
  }
}

function baseUrlOf(value: unknown, prefix: string): string {
  if (value === undefined || value === null)
    throw new ConfigurationError('The URL of the server is missing: set `baseUrl`.')
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ConfigurationError(
      `\`baseUrl\` must be a URL such as https://api.example.com, not ${JSON.stringify(value)}.`,
    )
  if (url.search !== '' || url.hash !== '')
    throw new ConfigurationError(`\`baseUrl\` must have no query and no fragment: ${url.href}`)
  const base = (value as string)
    .trim()
    .replace(/[?#]*$/, '')
    .replace(/\/+$/, '')
  return prefix !== '' && base.endsWith(prefix) ? base.slice(0, -prefix.length) : base
}
