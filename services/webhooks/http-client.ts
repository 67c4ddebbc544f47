// The HTTP client for URLs of tenants, of webhooks and of sources: sends requests to public addresses only,
// so that such a URL cannot reach the platform's own network (SSRF).
//
// - Every address of the host name is checked before the connection, and the address of the open connection
//   once more, so that a name that changes its address between the two (DNS rebinding) is blocked, too.
// - Redirects are not followed. A connection is kept for a few seconds for the next request to the same
//   origin; one that the endpoint closes, or on which it sends something unasked, is replaced.
// - The whole exchange has a time limit, and only the start of the response is read.
import type { LookupAddress } from 'node:dns'
import * as http from 'node:http'
import * as https from 'node:https'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { retryAfterMs } from '../../infra/retry-after.ts'
import type { PortRange } from '../../infra/config/setting.ts'
import { isInNetworks, isLocalhost, isPublicAddress, parseNetwork } from './ip-filter.ts'
import { createDnsLookup, type Lookup } from './dns.ts'

/** Bytes of the response body that are read. The client does not wait for more. */
const maxReadBytes = 64 * 1024
/** Bytes of the response body that are returned. */
const maxBodyBytes = 1024
/**
 * Bytes that may be received for one request in all. No honest response needs more, but interim responses and
 * chunk extensions could continue for ever.
 */
const maxWireBytes = 1024 * 1024
/** Milliseconds for which an unused connection is kept. Most servers close it after 5 seconds or more. */
const keepAliveMs = 4_000
/** Unused connections that are kept for an origin. */
const maxUnusedConnections = 10
/**
 * Milliseconds until the next address of a host is tried, too. Node's default of 250 fails for servers that
 * are far away.
 */
const connectAttemptTimeoutMs = 1_000

export interface WebhookClientOptions {
  /**
   * Networks in CIDR notation that are allowed although they are not public. An IPv4 network includes its
   * IPv4-mapped form.
   */
  allowed: string[]
  /** Default: all ports. */
  ports?: PortRange[]
  /** Milliseconds for the whole exchange, DNS lookup included. Default 15,000. */
  timeout?: number
  /** Replaces DNS in tests. */
  lookup?: Lookup
}

export interface WebhookResponse {
  status: number
  /** The start of the body: at most 1 KiB of UTF-8. Invalid bytes and U+0000 are replaced by U+FFFD. */
  body: string
  /** Milliseconds of its Retry-After, if it has one. */
  retryAfter?: number
}

/** The response to a GET request. */
export interface PageResponse {
  status: number
  /** By name in lower case, without those that may be repeated. */
  headers: Partial<Record<string, string>>
  /** The start of the body. */
  body: Buffer
  /** Whether the body has more bytes. */
  isTruncated: boolean
}

export type WebhookRequestErrorReason =
  'refused_address' | 'timeout' | 'unknown_host' | 'connection' | 'tls' | 'response'

/**
 * A request that failed because of the endpoint. The message is for the endpoint's owner. It does not reveal
 * which address a host name has, or whether a private address answers: no connection to it was made.
 */
export class WebhookRequestError extends Error {
  reason: WebhookRequestErrorReason

  constructor(reason: WebhookRequestErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

export interface WebhookClient {
  /**
   * Sends a POST request and returns the response. Redirects are returned like any other response, and bodies
   * are not decompressed. A user name and password in the URL are not sent.
   * @throws WebhookRequestError; or the signal's reason, or an Error after close(), which are not the
   * endpoint's fault.
   */
  post(
    url: string,
    options: { headers: Record<string, string>; body: string; signal?: AbortSignal },
  ): Promise<WebhookResponse>
  /** Sends a GET request, and returns at most `maxBytes` of the body. Otherwise as `post`. */
  get(
    url: string,
    options: { headers: Record<string, string>; maxBytes: number; signal?: AbortSignal },
  ): Promise<PageResponse>
  /**
   * Whether post() would reject the URL without a DNS lookup: its host is a blocked IP address or localhost,
   * or its protocol is neither http nor https.
   */
  isBlockedUrl(url: string): boolean
  /** Whether post() would reject the URL because of its port. */
  isBlockedPort(url: string): boolean
  /** Aborts the running requests. */
  close(): Promise<void>
}

/** @throws Error when a network of `allowed` is not in CIDR notation. */
export function createWebhookClient({
  allowed,
  ports,
  timeout = 15_000,
  lookup = createDnsLookup(),
}: WebhookClientOptions): WebhookClient {
  const networks = allowed.map(parseNetwork)
  const isAllowed = (address: string): boolean => isPublicAddress(address) || isInNetworks(networks, address)
  const connectTo = createConnector(isAllowed, lookup)
  const agents: Agents = {
    'http:': openAgent(new http.Agent(agentOptions), connectTo),
    'https:': openAgent(new https.Agent(agentOptions), connectTo),
  }
  const running = new Set<Exchange>()
  let closed = false

  return {
    isBlockedUrl(url) {
      const target = URL.parse(url)
      return target === null || isBlocked(target)
    },
    isBlockedPort: (url) => hasBlockedPort(new URL(url)),
    async post(url, { headers, body, signal }) {
      const limits = { keptBytes: maxBodyBytes, maxReadBytes, maxWireBytes }
      const response = await send(url, { method: 'POST', headers, body, ...limits }, signal)
      const retryAfter = retryAfterMs(response.headers['retry-after'])
      return {
        status: response.status,
        body: decodeBody(response.body, response.isTruncated),
        ...(retryAfter !== null && { retryAfter }),
      }
    },
    get: async (url, { headers, maxBytes, signal }) =>
      await send(
        url,
        {
          method: 'GET',
          headers,
          keptBytes: maxBytes,
          maxReadBytes: maxBytes + 1,
          maxWireBytes: maxBytes + maxWireBytes,
        },
        signal,
      ),
    async close() {
      closed = true
      const responses = [...running].map(({ response }) => response)
      for (const exchange of running) exchange.abort(new Error('the webhook client was closed'))
      await Promise.allSettled(responses)
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }

  async function send(
    url: string,
    outgoing: Omit<Outgoing, 'target' | 'timeout'>,
    signal: AbortSignal | undefined,
  ): Promise<PageResponse> {
    signal?.throwIfAborted()
    if (closed) throw new Error('the webhook client is closed')
    const target = URL.parse(url)
    if (target === null || isBlocked(target)) throw blockedAddress()
    if (hasBlockedPort(target)) throw new WebhookRequestError('refused_address', 'The port is not allowed.')
    const exchange = new Exchange(agents, { ...outgoing, target, timeout })
    const onAbort = (): void => exchange.abort(signal!.reason)
    signal?.addEventListener('abort', onAbort)
    running.add(exchange)
    try {
      return await exchange.response
    } finally {
      running.delete(exchange)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  function isBlocked(target: URL): boolean {
    if (!/^https?:$/.test(target.protocol)) return true
    const host = hostOf(target)
    if (isIP(host) !== 0) return !isAllowed(host)
    return isLocalhost(host) && !isAllowed('127.0.0.1') && !isAllowed('::1')
  }

  function hasBlockedPort(target: URL): boolean {
    const number = portOf(target)
    return ports !== undefined && !ports.some(({ from, to }) => number >= from && number <= to)
  }
}

type Agents = Record<string, http.Agent>

const agentOptions = { keepAlive: true, timeout: keepAliveMs, maxFreeSockets: maxUnusedConnections }

/** The agent opens its connections with `connectTo`. */
function openAgent(agent: http.Agent, connectTo: Connector): http.Agent {
  agent.createConnection = (options, onConnect) => {
    const { exchange } = options as unknown as { exchange: Exchange }
    connectTo(exchange.target, exchange.connecting.signal).then(
      (socket) => onConnect!(null, socket),
      (error: Error) => onConnect!(error, null as never),
    )
    return undefined
  }
  return agent
}

interface Outgoing {
  target: URL
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  /** Bytes of the response body that are returned, and that are read. */
  keptBytes: number
  maxReadBytes: number
  /** Bytes that may be received in all. */
  maxWireBytes: number
  /** Milliseconds. */
  timeout: number
}

/** One request and the start of its response. */
class Exchange {
  readonly target: URL
  /** Aborted at the end, so that no further connection is opened. */
  readonly connecting = new AbortController()
  readonly response: Promise<PageResponse>
  readonly #agents: Agents
  readonly #outgoing: Outgoing
  readonly #result = Promise.withResolvers<PageResponse>()
  readonly #timer: NodeJS.Timeout
  #request: http.ClientRequest | null = null

  constructor(agents: Agents, outgoing: Outgoing) {
    this.target = outgoing.target
    this.response = this.#result.promise
    this.#agents = agents
    this.#outgoing = outgoing
    const { timeout } = outgoing
    this.#timer = setTimeout(() => {
      const message = `The endpoint did not respond completely within ${timeout / 1000} seconds.`
      this.abort(new WebhookRequestError('timeout', message))
    }, timeout)
    try {
      this.#send()
    } catch (error) {
      this.abort(error)
    }
  }

  /** Closes the connection in any state, even while it is being opened. */
  abort(reason: unknown): void {
    this.#result.reject(reason)
    clearTimeout(this.#timer)
    this.connecting.abort()
    this.#request?.destroy()
  }

  #send(): void {
    const { protocol, pathname, search } = this.target
    const options = {
      agent: this.#agents[protocol],
      method: this.#outgoing.method,
      hostname: hostOf(this.target),
      port: portOf(this.target),
      path: pathname + search,
      headers: this.#outgoing.headers,
      exchange: this,
    }
    const request = (protocol === 'https:' ? https : http).request(options)
    this.#request = request
    let socket: Socket | undefined
    let hasResponse = false
    request.once('socket', (used) => {
      socket = used
      wireBytesLeft.set(used, this.#outgoing.maxWireBytes)
    })
    request.once('response', (response) => {
      hasResponse = true
      this.#read(response, () => {
        if (socket !== undefined) wireBytesLeft.set(socket, 0)
      })
    })
    request.once('upgrade', (_response, used) => {
      used.destroy()
      this.abort(connectionClosed())
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      // The endpoint had closed the connection that was kept.
      const wasClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      if (request.reusedSocket && !hasResponse && wasClosed && !this.connecting.signal.aborted) this.#send()
      else this.abort(responseError(error))
    })
    request.end(this.#outgoing.body)
  }

  #read(response: http.IncomingMessage, onEnd: () => void): void {
    const { keptBytes, maxReadBytes } = this.#outgoing
    const chunks: Buffer[] = []
    let read = 0
    const finish = (): void => {
      clearTimeout(this.#timer)
      const { statusCode, headers } = response
      this.#result.resolve({
        status: statusCode!,
        headers: Object.fromEntries(
          Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
        ),
        body: Buffer.concat(chunks),
        isTruncated: read > keptBytes,
      })
    }
    response.on('data', (chunk: Buffer) => {
      if (read < keptBytes) chunks.push(chunk.subarray(0, keptBytes - read))
      read += chunk.length
      if (read < maxReadBytes) return
      finish()
      this.#request!.destroy()
    })
    response.once('end', () => {
      onEnd()
      finish()
    })
    response.on('error', (error) => this.abort(responseError(error)))
  }
}

/** Bytes that a connection may still receive: none while it is unused. */
const wireBytesLeft = new WeakMap<Socket, number>()

function limitWireBytes(socket: Socket): void {
  wireBytesLeft.set(socket, maxWireBytes)
  socket.on('data', ({ length }: Buffer) => {
    const left = wireBytesLeft.get(socket)! - length
    wireBytesLeft.set(socket, left)
    if (left < 0) socket.destroy(new WebhookRequestError('response', 'The response is too long.'))
  })
}

type Connector = (target: URL, signal: AbortSignal) => Promise<Socket>

/** Opens connections to allowed addresses only. */
function createConnector(isAllowed: (address: string) => boolean, lookup: Lookup): Connector {
  return async function connectTo(target, signal) {
    const host = hostOf(target)
    const addresses = await allowedAddresses(host)
    // Opens no connection when the request was aborted during the lookup.
    signal.throwIfAborted()
    const plain = await dial(host, portOf(target), addresses, signal)
    // Checks the address of the open connection, before a byte is sent.
    if (plain.remoteAddress === undefined) throw connectionClosed()
    if (!isAllowed(plain.remoteAddress)) throw blockedAddress()
    const socket = target.protocol === 'https:' ? await startTls(plain, host) : plain
    if (socket.destroyed) throw connectionClosed()
    limitWireBytes(socket)
    return socket
  }

  /**
   * All addresses of a host. One address that is not allowed blocks the host: no honest endpoint has both
   * public and private addresses.
   */
  async function allowedAddresses(host: string): Promise<LookupAddress[]> {
    const found = isIP(host) === 0 ? await resolveName(host) : [host]
    if (!found.every(isAllowed)) throw blockedAddress()
    return found.map((address) => ({ address, family: isIP(address) }))
  }

  function resolveName(name: string): Promise<string[]> {
    return new Promise((resolve, reject) => {
      lookup(name, { all: true }, (error, addresses) => {
        if (error !== null || addresses.length === 0) {
          const message = 'The host name could not be resolved.'
          return reject(new WebhookRequestError('unknown_host', message, { cause: error }))
        }
        resolve(addresses.map(({ address }) => address))
      })
    })
  }
}

function startTls(socket: Socket, host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const servername = isIP(host) === 0 ? host : ''
    const options = { socket, host, servername, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true }
    const secured = connectTls(options)
    secured.once('secureConnect', () => resolve(secured))
    // The listener stays, because the signal can destroy the socket while it has no other listener.
    secured.on('error', (error) =>
      reject(new WebhookRequestError('tls', tlsMessage(error), { cause: error })),
    )
  })
}

/** Connects to one of these addresses. The host name is not resolved again. */
function dial(host: string, port: number, addresses: LookupAddress[], signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      signal,
      noDelay: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: connectAttemptTimeoutMs,
      lookup: (_host, _options, callback) => callback(null, addresses),
    })
    socket.once('connect', () => resolve(socket))
    // The listener stays, because the signal can destroy the socket while it has no other listener.
    socket.on('error', (error) =>
      reject(new WebhookRequestError('connection', 'The connection failed.', { cause: error })),
    )
  })
}

/**
 * Decodes the start of a body to text of at most `maxBodyBytes` in UTF-8.
 * @param truncated whether the body has more bytes, so that an incomplete last character is not invalid.
 */
function decodeBody(bytes: Buffer, truncated: boolean): string {
  // PostgreSQL's text cannot contain U+0000.
  const text = new TextDecoder().decode(bytes, { stream: truncated }).replaceAll('\0', '\ufffd')
  // U+FFFD has three bytes, so the replaced text can be longer than the original bytes.
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBodyBytes)).read)
}

function blockedAddress(): WebhookRequestError {
  return new WebhookRequestError('refused_address', 'The address is not public.')
}

function connectionClosed(cause?: Error): WebhookRequestError {
  const message = 'The connection was closed before the response was complete.'
  return new WebhookRequestError('connection', message, { cause })
}

/** Converts an error of the HTTP client to a WebhookRequestError. */
function responseError(error: NodeJS.ErrnoException): Error {
  if (error instanceof WebhookRequestError) return error
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new WebhookRequestError('response', 'The response headers are too long.', { cause: error })
  if (String(error.code).startsWith('HPE_')) {
    const message = 'The response is incomplete or not valid HTTP.'
    return new WebhookRequestError('response', message, { cause: error })
  }
  return connectionClosed(error)
}

const missingIntermediate =
  'The server does not send the intermediate certificates, or its certificate authority is not trusted.'
const certificateErrors: Record<string, string> = {
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate authority is not trusted.',
  UNABLE_TO_GET_ISSUER_CERT: missingIntermediate,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: missingIntermediate,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: missingIntermediate,
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host name.',
}

function tlsMessage({ code = '' }: NodeJS.ErrnoException): string {
  return certificateErrors[code] ?? 'The TLS connection failed.'
}

function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80))
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}
