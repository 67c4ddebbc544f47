// The HTTP client for webhooks: sends POST requests to public addresses only, so that a tenant's URL cannot
// reach the platform's own network (SSRF).
//
// - Every address of the host name is checked before the connection, and the address of the open connection
//   once more, so that a name that changes its address between the two (DNS rebinding) is blocked, too.
// - Redirects are not followed, and each request has its own connection, which is closed afterwards.
// - The whole exchange has a time limit, and only the start of the response is read.
import type { LookupAddress } from 'node:dns'
import { connect, isIP, type Socket } from 'node:net'
import { Client, buildConnector, errors } from 'undici'
import type { PortRange } from '../../infra/config/setting.ts'
import { isInNetworks, isLocalhost, isPublicAddress, parseNetwork } from './ip-filter.ts'
import { createDnsLookup, type Lookup } from './dns.ts'

/** Bytes of the response body that are read. The client does not wait for more. */
const maxReadBytes = 64 * 1024
/** Bytes of the response body that are returned. */
const maxBodyBytes = 1024
/**
 * Bytes that one connection may receive in all. No honest response needs more, but interim responses and
 * chunk extensions could continue for ever.
 */
const maxWireBytes = 1024 * 1024
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
  const running = new Map<AbortController, Promise<WebhookResponse>>()
  let closed = false

  return {
    isBlockedUrl,
    isBlockedPort,
    async post(url, { headers, body, signal }) {
      signal?.throwIfAborted()
      if (closed) throw new Error('the webhook client is closed')
      const controller = new AbortController()
      const onAbort = (): void => controller.abort(signal?.reason)
      signal?.addEventListener('abort', onAbort)
      const response = send(url, headers, body, controller)
      running.set(controller, response)
      try {
        return await response
      } finally {
        running.delete(controller)
        signal?.removeEventListener('abort', onAbort)
      }
    },
    async close() {
      closed = true
      const responses = [...running.values()]
      for (const controller of running.keys()) controller.abort(new Error('the webhook client was closed'))
      await Promise.allSettled(responses)
    },
  }

  function isBlockedUrl(url: string): boolean {
    const target = URL.parse(url)
    if (target === null || !/^https?:$/.test(target.protocol)) return true
    const host = hostOf(target)
    if (isIP(host) !== 0) return !isAllowed(host)
    return isLocalhost(host) && !isAllowed('127.0.0.1') && !isAllowed('::1')
  }

  function isBlockedPort(url: string): boolean {
    const { port, protocol } = new URL(url)
    const number = Number(port || (protocol === 'https:' ? 443 : 80))
    return ports !== undefined && !ports.some(({ from, to }) => number >= from && number <= to)
  }

  async function send(
    url: string,
    headers: Record<string, string>,
    body: string,
    controller: AbortController,
  ): Promise<WebhookResponse> {
    if (isBlockedUrl(url)) throw blockedAddress()
    if (isBlockedPort(url)) throw new WebhookRequestError('refused_address', 'The port is not allowed.')
    const { origin, pathname, search } = new URL(url)
    const client = new Client(origin, {
      connect: (options, onConnect) => {
        connectTo(options, controller.signal).then(
          (socket) => onConnect(null, socket),
          (error: Error) => onConnect(error, null),
        )
      },
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const timer = setTimeout(() => {
      const message = `The endpoint did not respond completely within ${timeout / 1000} seconds.`
      controller.abort(new WebhookRequestError('timeout', message))
    }, timeout)
    try {
      return await unlessAborted(controller.signal, exchange(client, pathname + search, headers, body))
    } finally {
      clearTimeout(timer)
      // Closes the connection in any state, even while it is being opened.
      controller.abort()
      await client.destroy()
    }
  }
}

type Connector = (options: buildConnector.Options, signal: AbortSignal) => Promise<Socket>

/** Opens connections to allowed addresses only. */
function createConnector(isAllowed: (address: string) => boolean, lookup: Lookup): Connector {
  const tlsConnector = buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    timeout: 0,
    rejectUnauthorized: true,
  })

  return async function connectTo(options, signal) {
    const { hostname, protocol, port } = options
    const addresses = await allowedAddresses(hostname)
    // Opens no connection when the request was aborted during the lookup.
    signal.throwIfAborted()
    const plain = await dial(hostname, Number(port || (protocol === 'https:' ? 443 : 80)), addresses, signal)
    // Checks the address of the open connection, before a byte is sent.
    if (plain.remoteAddress === undefined) throw connectionClosed()
    if (!isAllowed(plain.remoteAddress)) throw blockedAddress()
    const socket = protocol === 'https:' ? await startTls(plain, options) : plain
    // undici would treat a closed connection as an idle connection that timed out, and connect again.
    if (socket.destroyed) throw connectionClosed()
    socket.on('readable', () => {
      if (socket.bytesRead > maxWireBytes)
        socket.destroy(new WebhookRequestError('response', 'The response is too long.'))
    })
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

  function startTls(socket: Socket, options: buildConnector.Options): Promise<Socket> {
    return new Promise((resolve, reject) => {
      tlsConnector({ ...options, httpSocket: socket }, (error, secured) => {
        if (error !== null) return reject(new WebhookRequestError('tls', tlsMessage(error), { cause: error }))
        resolve(secured)
      })
    })
  }
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

/** Sends one request and reads the start of its response. */
async function exchange(
  client: Client,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<WebhookResponse> {
  try {
    const response = await client.request({ method: 'POST', path, headers, body, reset: true })
    const chunks: Buffer[] = []
    let read = 0
    for await (const chunk of response.body as AsyncIterable<Buffer>) {
      if (read < maxBodyBytes) chunks.push(chunk.subarray(0, maxBodyBytes - read))
      read += chunk.length
      if (read >= maxReadBytes) break
    }
    return { status: response.statusCode, body: decodeBody(Buffer.concat(chunks), read > maxBodyBytes) }
  } catch (error) {
    throw responseError(error as Error)
  }
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

/** The result of the work, or the signal's reason as soon as it is aborted. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

function blockedAddress(): WebhookRequestError {
  return new WebhookRequestError('refused_address', 'The address is not public.')
}

function connectionClosed(cause?: Error): WebhookRequestError {
  const message = 'The connection was closed before the response was complete.'
  return new WebhookRequestError('connection', message, { cause })
}

/** Converts an error of undici to a WebhookRequestError. */
function responseError(error: Error): Error {
  if (error instanceof WebhookRequestError || error instanceof errors.InvalidArgumentError) return error
  if (error instanceof errors.HeadersOverflowError)
    return new WebhookRequestError('response', 'The response headers are too long.', { cause: error })
  // undici reports a mismatch for everything that interrupts a response with Content-Length, its early end
  // included.
  if (error instanceof errors.HTTPParserError || error instanceof errors.ResponseContentLengthMismatchError) {
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

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}
