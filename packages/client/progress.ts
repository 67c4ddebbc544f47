// Sends a body and tells how far it is. In Node, Deno and workers the body is a stream, counted as the connection takes it;
// in a browser, which has no streams over HTTP/1.1, it is an XMLHttpRequest, whatever `fetch` was given.
import type { Transport } from './retry.ts'

export interface Progress {
  /** Bytes of the file that were sent; never less than before. */
  sent: number
  /** Bytes of the file. */
  total: number
}

export interface Counted {
  blob: Blob
  /** Where the file begins in the body. */
  start: number
  /** How long the file is. */
  size: number
}

/** What of `XMLHttpRequest` is used: the types of a browser are not those of Node. */
interface BrowserRequest {
  upload: { onprogress: ((event: { loaded: number }) => void) | null }
  responseType: string
  response: Blob
  status: number
  statusText: string
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getAllResponseHeaders(): string
  send(body: Blob): void
  abort(): void
}

/** @param report called with the bytes of the file that were sent, at least once, at the end with all of them. */
export function withProgress(fetch: Transport, counted: Counted, report: (sent: number) => void): Transport {
  const Browser = (globalThis as { XMLHttpRequest?: new () => BrowserRequest }).XMLHttpRequest
  const told = (loaded: number): void => report(Math.min(Math.max(loaded - counted.start, 0), counted.size))
  return async (request) => {
    const response = await (Browser === undefined
      ? sendStream(fetch, request, counted.blob, told)
      : sendByBrowser(new Browser(), request, counted.blob, told))
    if (response.ok) told(counted.start + counted.size)
    return response
  }
}

async function sendStream(
  fetch: Transport,
  request: Request,
  blob: Blob,
  told: (loaded: number) => void,
): Promise<Response> {
  let loaded = 0
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk)
      told((loaded += chunk.byteLength))
    },
  })
  const headers = new Headers(request.headers)
  // So that what is too large is refused before it is sent.
  headers.set('content-length', String(blob.size))
  const init = {
    method: request.method,
    headers,
    signal: request.signal,
    body: blob.stream().pipeThrough(counting),
    duplex: 'half',
  }
  return await fetch(new Request(request.url, init as RequestInit))
}

function sendByBrowser(
  browser: BrowserRequest,
  request: Request,
  blob: Blob,
  told: (loaded: number) => void,
): Promise<Response> {
  const { signal } = request
  signal.throwIfAborted()
  const stop = (): void => browser.abort()
  return new Promise<Response>((resolve, reject) => {
    browser.open(request.method, request.url)
    browser.responseType = 'blob'
    request.headers.forEach((value, name) => browser.setRequestHeader(name, value))
    browser.upload.onprogress = ({ loaded }) => told(loaded)
    browser.onload = () =>
      resolve(
        new Response(browser.response.size === 0 ? null : browser.response, {
          status: browser.status,
          statusText: browser.statusText,
          headers: headersOf(browser.getAllResponseHeaders()),
        }),
      )
    browser.onerror = () => reject(new TypeError('the network failed'))
    browser.onabort = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    browser.send(blob)
  }).finally(() => signal.removeEventListener('abort', stop))
}

function headersOf(lines: string): Array<[string, string]> {
  return lines
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    })
}
