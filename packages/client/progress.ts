// Sends a body and reports its progress. Node, Deno and workers send a stream and count its bytes. Browsers
// do not support request streams over HTTP/1.1, so there it is an XMLHttpRequest, even if `fetch` was
// replaced.
import type { Transport } from './retry.ts'

export interface Progress {
  /** Sent bytes of the file; never decreases. */
  sent: number
  /** The size of the file in bytes; Infinity for a stream of unknown size. */
  total: number
}

export interface UploadBody {
  content: Blob | ReadableStream<Uint8Array>
  /** The length of the body in bytes; null if unknown. */
  length: number | null
  /** The offset of the file in the body. */
  start: number
  /** The size of the file; Infinity if unknown. */
  size: number
  /** The bytes of the file that have been read so far, if it is a stream. */
  read?: () => number
}

/** The used part of `XMLHttpRequest`, which Node's types do not have. */
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

/**
 * @param report receives the sent bytes of the file, at least once, and all of them after a success, if the
 * size is known.
 */
export function withProgress(fetch: Transport, body: UploadBody, report: (sent: number) => void): Transport {
  const Browser = (globalThis as { XMLHttpRequest?: new () => BrowserRequest }).XMLHttpRequest
  const onLoaded = (loaded: number): void =>
    report(body.read?.() ?? Math.min(Math.max(loaded - body.start, 0), body.size))
  return async (request) => {
    const response = await (Browser === undefined || !(body.content instanceof Blob)
      ? sendStream(fetch, request, body, onLoaded)
      : sendByBrowser(new Browser(), request, body.content, onLoaded))
    if (response.ok && Number.isFinite(body.size)) onLoaded(body.start + body.size)
    return response
  }
}

async function sendStream(
  fetch: Transport,
  request: Request,
  { content, length }: UploadBody,
  onLoaded: (loaded: number) => void,
): Promise<Response> {
  let loaded = 0
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk)
      onLoaded((loaded += chunk.byteLength))
    },
  })
  const headers = new Headers(request.headers)
  // Lets the server reject a body that is too large before it is sent.
  if (length !== null) headers.set('content-length', String(length))
  const init = {
    method: request.method,
    headers,
    signal: request.signal,
    body: (content instanceof Blob ? content.stream() : request.body!).pipeThrough(counting),
    duplex: 'half',
    redirect: 'error',
  }
  return await fetch(new Request(request.url, init as RequestInit))
}

function sendByBrowser(
  browser: BrowserRequest,
  request: Request,
  blob: Blob,
  onLoaded: (loaded: number) => void,
): Promise<Response> {
  const { signal } = request
  signal.throwIfAborted()
  const stop = (): void => browser.abort()
  return new Promise<Response>((resolve, reject) => {
    browser.open(request.method, request.url)
    browser.responseType = 'blob'
    request.headers.forEach((value, name) => browser.setRequestHeader(name, value))
    browser.upload.onprogress = ({ loaded }) => onLoaded(loaded)
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
