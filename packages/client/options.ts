// The options of a client, their defaults from the environment, and what is wrong with them.
import { systemClock, type Clock } from './clock.ts'
import { fromEnvironment, isWebPage } from './environment.ts'
import { ConfigurationError } from './error.ts'
import type { LogEntry, Transport } from './retry.ts'

export interface ClientOptions {
  /** The server's URL, with or without `/v1`. Default: the environment variable `PLATFORM_BASE_URL`. */
  baseUrl?: string
  /**
   * The API key. Default: the environment variable `PLATFORM_API_KEY`. Without a key, or with null, only
   * public operations can be called.
   */
  apiKey?: string | null
  /**
   * Allows an API key on a web page, where every visitor can read it. Only for keys of the visitor. The
   * server must allow the page's origin: its setting `CORS_ORIGINS`.
   */
  dangerouslyAllowBrowser?: boolean
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

/** The options with their defaults. */
export interface Settings {
  /** Without a trailing slash and without `/v1`. */
  baseUrl: string
  apiKey: string | null
  fetch: Transport
  retries: number
  /** undefined: the default of the operation. */
  timeout: number | null | undefined
  log: ((entry: LogEntry) => void) | undefined
  userAgent: string | undefined
  clock: Clock
}

/**
 * @param prefix the path of the contract's version, `/v1`.
 * @throws ConfigurationError
 */
export function settingsOf(options: ClientOptions, prefix: string): Settings {
  const apiKey = options.apiKey === undefined ? fromEnvironment('PLATFORM_API_KEY') : options.apiKey
  requireKey(apiKey)
  if (typeof apiKey === 'string' && isWebPage() && options.dangerouslyAllowBrowser !== true)
    throw new ConfigurationError(
      'This is a web page, where every visitor can read the API key. Call the API from your server. ' +
        'If the key belongs to the visitor, set `dangerouslyAllowBrowser: true`.',
    )
  return {
    baseUrl: baseUrlOf(options.baseUrl ?? fromEnvironment('PLATFORM_BASE_URL'), prefix),
    apiKey: apiKey ?? null,
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
    throw new ConfigurationError(
      'The URL of the server is missing: set `baseUrl`, or the environment variable PLATFORM_BASE_URL.',
    )
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

/** Refuses values that cannot be a key; the server checks others. The message does not contain the key. */
function requireKey(key: unknown): void {
  if (key === undefined || key === null) return
  const problem =
    typeof key !== 'string'
      ? `a ${typeof key}`
      : key === ''
        ? 'empty'
        : /^bearer\s/i.test(key)
          ? 'a header: leave out `Bearer`'
          : /[^\x21-\x7e]/.test(key)
            ? 'invalid: it contains a space, a line break or another character that no key has'
            : /^["']|["']$/.test(key)
              ? 'in quotes'
              : null
  if (problem !== null)
    throw new ConfigurationError(`The API key is ${problem}. A key looks like plat_live_ and 49 characters.`)
}
