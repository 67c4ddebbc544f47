// Fetches pages of sources through the client that connects to public addresses only. Each redirect is
// checked as the URL itself: its address, its port, and the robots.txt of its host (RFC 9309).
import { WebhookRequestError, type PageResponse, type WebhookClient } from '../../webhooks/http-client.ts'
import { SourceError, type SourceErrorCode } from './errors.ts'
import { Robots } from './robots.ts'

const crawler = 'Platform-API-Sources'
const userAgent = `${crawler}/1`
const maxRedirects = 5
/** A longer robots.txt, or a longer URL, would take long to match. */
const maxRobotsBytes = 128 * 1024
const maxUrlLength = 1_000
/** Hosts that a sync may be redirected to. */
const maxHosts = 20
/** Seconds between two pages of a host: those of its robots.txt, within these. */
const crawlDelay = { min: 0.05, max: 1 }

const codes = {
  refused_address: 'address',
  timeout: 'timeout',
  unknown_host: 'connection',
  connection: 'connection',
  tls: 'connection',
  response: 'connection',
} as const satisfies Record<string, SourceErrorCode>

export class PageFetcher {
  readonly #client: WebhookClient
  readonly #signal: AbortSignal
  /** The robots.txt by origin, as far as it was needed. */
  readonly #robots = new Map<string, Robots>()

  constructor(client: WebhookClient, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  /** @returns the response with the status 2xx or 304. @throws SourceError */
  async fetch(url: string, headers: Record<string, string>, maxBytes: number): Promise<PageResponse> {
    const response = await this.#follow(url, headers, maxBytes, (each) => this.#requireAllowed(each))
    const { status } = response
    if (status === 304) return response
    if (status < 200 || status > 299)
      throw Object.assign(new SourceError('http_status', `The server answered with the status ${status}.`), {
        isGone: status === 404 || status === 410,
      })
    if (response.isTruncated) throw new SourceError('too_large', `The page has more than ${maxBytes} bytes.`)
    if (!/^(identity)?$/i.test(response.headers['content-encoding'] ?? ''))
      throw new SourceError('unsupported', 'The server sent the page compressed, although not asked to.')
    return response
  }

  /** Milliseconds between two pages of the host. */
  crawlDelay(url: string): number {
    const seconds = this.#robots.get(new URL(url).origin)?.crawlDelay ?? 0
    return Math.min(Math.max(seconds, crawlDelay.min), crawlDelay.max) * 1000
  }

  async #follow(
    start: string,
    headers: Record<string, string>,
    maxBytes: number,
    check: (url: string) => Promise<void>,
  ): Promise<PageResponse> {
    let url = start
    for (let redirects = 0; ; redirects++) {
      if (url.length > maxUrlLength) throw new SourceError('unsupported', 'The URL is too long.')
      await check(url)
      const response = await this.#get(url, headers, maxBytes)
      const { location } = response.headers
      if (![301, 302, 303, 307, 308].includes(response.status) || location === undefined) return response
      const next = URL.parse(location, url)
      if (next === null || redirects === maxRedirects)
        throw new SourceError('redirects', 'The server redirects too often, or to an invalid URL.')
      next.hash = ''
      url = next.href
    }
  }

  async #get(url: string, headers: Record<string, string>, maxBytes: number): Promise<PageResponse> {
    try {
      return await this.#client.get(url, {
        headers: { 'user-agent': userAgent, 'accept-encoding': 'identity', ...headers },
        maxBytes,
        signal: this.#signal,
      })
    } catch (error) {
      if (!(error instanceof WebhookRequestError)) throw error
      throw new SourceError(codes[error.reason], error.message, { cause: error })
    }
  }

  async #requireAllowed(url: string): Promise<void> {
    const { origin } = new URL(url)
    let robots = this.#robots.get(origin)
    if (robots === undefined) {
      if (this.#robots.size >= maxHosts)
        throw new SourceError('redirects', 'The pages are on too many hosts.')
      robots = await this.#readRobots(origin)
      this.#robots.set(origin, robots)
    }
    if (!robots.isAllowed(url)) throw new SourceError('robots', 'robots.txt does not allow to read the page.')
  }

  /** A host without robots.txt allows everything; one that fails to answer allows nothing. */
  async #readRobots(origin: string): Promise<Robots> {
    const url = `${origin}/robots.txt`
    const { status, body, isTruncated } = await this.#follow(url, {}, maxRobotsBytes, async () => {})
    if (status >= 400 && status < 500) return new Robots('', crawler)
    if (status < 200 || status > 299 || isTruncated)
      throw new SourceError('robots', 'robots.txt cannot be read, or is too long.')
    return new Robots(body.toString(), crawler)
  }
}
