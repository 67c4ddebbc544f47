// Outgoing webhooks: POSTs to public addresses only. What counts is the address that is connected to, not the URL; every
// exchange has its own connection, so that nothing of one is left for the next, and it is gone when the exchange is.
import type { LookupAddress } from 'node:dns'
import { connect, isIP, type Socket } from 'node:net'
import { Client, buildConnector, errors } from 'undici'
import { isLocalhost, isPublicAddress, parseNetwork, isInNetworks } from './ip-filter.ts'
import { createDnsLookup, type Lookup } from './dns.ts'

/** Bytes of an answer's body that are read; what comes after them is not waited for. */
const readLimit = 64 * 1024
/** Bytes of it that are kept. */
const keepLimit = 1024
/** Bytes off the wire, whatever they are: no honest answer needs them, but interim answers and chunk extensions may go on for ever. */
const wireLimit = 1024 * 1024
/** Milliseconds after which the next address of a name is tried. Node's own 250 cut off servers that are merely far away. */
const attemptTimeout = 1_000

export interface WebhookClientOptions {
  /** Networks in CIDR notation that are reachable although they are not public. An IPv4 network stands for its IPv4-mapped form, too. */
  allowed: string[]
  /** Milliseconds for the whole exchange, name lookup included. Default 15,000. */
  timeout?: number
  /** Instead of DNS, for tests. */
  lookup?: Lookup
}

export interface Exchange {
  status: number
  /** The first 1 KiB of the answer as text: at most 1 KiB of valid UTF-8 without U+0000. What is neither is U+FFFD. */
  body: string
}

export type WebhookRequestErrorReason = 'refused_address' | 'timeout' | 'unknown_host' | 'connection' | 'tls' | 'response'

/**
 * An exchange that failed because of the endpoint. The message is a sentence for the endpoint's owner; it does not tell
 * which address a name has, nor whether anything answers at one that is not public: none was asked.
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
   * Sends the body and waits for the answer. Redirects are answers like any other; nothing is decompressed. A user name
   * and password in the URL are not sent.
   * @throws WebhookRequestError, or the signal's reason, or an Error after close(): these two say nothing about the endpoint.
   */
  post(
    url: string,
    options: { headers: Record<string, string>; body: string; signal?: AbortSignal },
  ): Promise<Exchange>
  /** Whether a URL names, by address or as localhost, what post() would refuse anyway; a name is only known when it is connected to. */
  isBlockedUrl(url: string): boolean
  /** Ends the exchanges that are under way. */
  close(): Promise<void>
}

/** @throws Error when a network of `allowed` is not in CIDR notation. */
export function createWebhookClient({ allowed, timeout = 15_000, lookup = createDnsLookup() }: WebhookClientOptions): WebhookClient {
  const networks = allowed.map(parseNetwork)
  const secure = buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    timeout: 0,
    rejectUnauthorized: true,
  })
  const underWay = new Map<AbortController, Promise<Exchange>>()
  let closed = false

  const permits = (address: string): boolean => isPublicAddress(address) || isInNetworks(networks, address)

  function isBlockedUrl(url: string): boolean {
    const target = URL.parse(url)
    if (target === null || !/^https?:$/.test(target.protocol)) return true
    const host = hostOf(target)
    if (isIP(host) !== 0) return !permits(host)
    return isLocalhost(host) && !permits('127.0.0.1') && !permits('::1')
  }

  async function post(
    url: string,
    headers: Record<string, string>,
    body: string,
    stop: AbortController,
  ): Promise<Exchange> {
    if (isBlockedUrl(url)) throw refusedAddress()
    const { origin, pathname, search } = new URL(url)
    const client = new Client(origin, {
      connect: (options, connected) => {
        connection(options, stop.signal).then(
          (socket) => connected(null, socket),
          (error: Error) => connected(error, null),
        )
      },
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const timer = setTimeout(
      () =>
        stop.abort(
          new WebhookRequestError('timeout', `There was no complete answer within ${timeout / 1000} seconds.`),
        ),
      timeout,
    )
    try {
      return await unlessAborted(stop.signal, exchange(client, pathname + search, headers, body))
    } finally {
      clearTimeout(timer)
      // This ends the connection in whatever state it is, also while it is being made.
      stop.abort()
      await client.destroy()
    }
  }

  /** A connection to an address that may be connected to, ready for a request. */
  async function connection(options: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const { hostname, protocol, port } = options
    const addresses = await addressesOf(hostname)
    // The lookup of an exchange that has ended must not open anything.
    signal.throwIfAborted()
    const plain = await dial(hostname, Number(port || (protocol === 'https:' ? 443 : 80)), addresses, signal)
    // Once more, now that it is there, and before a byte is sent.
    if (plain.remoteAddress === undefined) throw cutOff()
    if (!permits(plain.remoteAddress)) throw refusedAddress()
    const socket = protocol === 'https:' ? await secured(plain, options) : plain
    // undici would take a connection that is gone already for one that was kept too long, and connect again.
    if (socket.destroyed) throw cutOff()
    socket.on('readable', () => {
      if (socket.bytesRead > wireLimit) socket.destroy(new WebhookRequestError('response', 'The answer is too long.'))
    })
    return socket
  }

  /**
   * All addresses of a host, of which it is connected to one. One that may not be connected to spoils them all: a name that
   * has public and private ones is no honest endpoint.
   */
  async function addressesOf(host: string): Promise<LookupAddress[]> {
    const found = isIP(host) === 0 ? await lookUp(host) : [host]
    if (!found.every(permits)) throw refusedAddress()
    return found.map((address) => ({ address, family: isIP(address) }))
  }

  function lookUp(name: string): Promise<string[]> {
    return new Promise((resolve, reject) => {
      lookup(name, { all: true }, (error, addresses) => {
        if (error !== null || addresses.length === 0)
          return reject(
            new WebhookRequestError('unknown_host', 'The name of the host could not be resolved.', { cause: error }),
          )
        resolve(addresses.map(({ address }) => address))
      })
    })
  }

  function secured(socket: Socket, options: buildConnector.Options): Promise<Socket> {
    return new Promise((resolve, reject) => {
      secure({ ...options, httpSocket: socket }, (error, secured) => {
        if (error !== null) return reject(new WebhookRequestError('tls', tlsMessage(error), { cause: error }))
        resolve(secured)
      })
    })
  }

  return {
    isBlockedUrl,
    async post(url, { headers, body, signal }) {
      signal?.throwIfAborted()
      if (closed) throw new Error('the webhookClient is closed')
      const stop = new AbortController()
      const onAbort = (): void => stop.abort(signal?.reason)
      signal?.addEventListener('abort', onAbort)
      const ended = post(url, headers, body, stop)
      underWay.set(stop, ended)
      try {
        return await ended
      } finally {
        underWay.delete(stop)
        signal?.removeEventListener('abort', onAbort)
      }
    },
    async close() {
      closed = true
      const ending = [...underWay.values()]
      for (const stop of underWay.keys()) stop.abort(new Error('the webhookClient was closed'))
      await Promise.allSettled(ending)
    },
  }
}

/** Connects to one of the addresses, and to nothing else that the name may have by now. */
function dial(host: string, port: number, addresses: LookupAddress[], signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      signal,
      noDelay: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: attemptTimeout,
      lookup: (_host, _options, callback) => callback(null, addresses),
    })
    socket.once('connect', () => resolve(socket))
    // It stays, because the signal may end the connection while nobody else listens.
    socket.on('error', (error) =>
      reject(new WebhookRequestError('connection', 'No connection could be made.', { cause: error })),
    )
  })
}

/** One request and the beginning of its answer. */
async function exchange(
  client: Client,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<Exchange> {
  try {
    const answer = await client.request({ method: 'POST', path, headers, body, reset: true })
    const chunks: Buffer[] = []
    let read = 0
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      if (read < keepLimit) chunks.push(chunk.subarray(0, keepLimit - read))
      read += chunk.length
      if (read >= readLimit) break
    }
    return { status: answer.statusCode, body: textOf(Buffer.concat(chunks), read > keepLimit) }
  } catch (error) {
    throw answerError(error as Error)
  }
}

/** The bytes as text of at most as many bytes in UTF-8. `cut`: there were more, so that an unfinished character at the end is no fault. */
function textOf(bytes: Buffer, cut: boolean): string {
  // PostgreSQL's text cannot hold U+0000.
  const text = new TextDecoder().decode(bytes, { stream: cut }).replaceAll('\0', '\ufffd')
  // U+FFFD is longer than most that it stands for.
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(keepLimit)).read)
}

/** The work's result, or the signal's reason as soon as there is one. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

function refusedAddress(): WebhookRequestError {
  return new WebhookRequestError('refused_address', 'The address is not public.')
}

function cutOff(cause?: Error): WebhookRequestError {
  return new WebhookRequestError('connection', 'The connection was closed before the answer was complete.', { cause })
}

function answerError(error: Error): Error {
  if (error instanceof WebhookRequestError || error instanceof errors.InvalidArgumentError) return error
  if (error instanceof errors.HeadersOverflowError)
    return new WebhookRequestError('response', 'The headers of the answer are too long.', { cause: error })
  // undici says the latter of everything that breaks an answer with a Content-Length, its early end among it.
  if (error instanceof errors.HTTPParserError || error instanceof errors.ResponseContentLengthMismatchError) {
    return new WebhookRequestError('response', 'The answer is not valid HTTP, or not complete.', { cause: error })
  }
  return cutOff(error)
}

const certificateFaults: Record<string, string> = {
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate comes from an authority that is not trusted.',
  UNABLE_TO_GET_ISSUER_CERT:
    'The certificate comes without the certificates between it and a trusted authority.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'The certificate comes without the certificates between it and a trusted authority.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'The certificate comes without the certificates between it and a trusted authority.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another name.',
}

function tlsMessage({ code = '' }: NodeJS.ErrnoException): string {
  return certificateFaults[code] ?? 'No secure connection could be made.'
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}
