// Creates the client's methods from the table of operations. Each sends its request through openapi-fetch
// with the API key, an Idempotency-Key if the operation accepts one, and retries.
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { systemClock, type Clock } from './clock.ts'
import { startDeadline } from './deadline.ts'
import { PlatformError } from './error.ts'
import { readEvents } from './events.ts'
import { encodeForm, randomText, type FormShape } from './form.ts'
import { itemsOf, pagesOf, type ListInput, type ListKind, type Page } from './pages.ts'
import { withProgress, type Progress, type UploadBody } from './progress.ts'
import { RepeatableRequest, sendWithRetries, type Transport } from './retry.ts'

export interface ClientOptions {
  /** The server's URL without `/v1`. */
  baseUrl: string
  /** Without a key only public operations can be called. */
  apiKey?: string
  /** Replaces the global fetch. */
  fetch?: (request: Request) => Promise<Response>
  /** Retries per call, if a second attempt has no second effect. Default 3. */
  retries?: number
  /**
   * The time limit of a call in milliseconds, including all retries; for streams and downloads, until the
   * response headers. Default 120,000, and none for uploads. null: no limit.
   */
  timeout?: number | null
  /** The User-Agent header. Browsers send their own. */
  userAgent?: string
  /** Replaces the system clock, for tests. */
  clock?: Clock
}

/** A row of the generated table of operations. */
export interface OperationRow {
  method: string
  path: string
  /** The server's prefix of the path. */
  prefix: string
  /** The kind of the success body; null if there is none. */
  answer: 'json' | 'text' | 'bytes' | 'events' | null
  /** The media type of the request body, unless it is JSON or a form with a file. */
  type?: string
  form?: FormShape
  /** Whether the operation accepts an Idempotency-Key. */
  idempotent?: boolean
  list?: ListKind
  /** The events that end a stream. */
  ends?: readonly string[]
  /** Whether a stream can resume with Last-Event-ID. */
  resumes?: boolean
}

interface CallInput extends ListInput {
  path?: Record<string, string | number>
  headers?: Record<string, string | number | undefined>
  body?: unknown
  timeout?: number | null
  retries?: number
  silence?: number
  onProgress?: (progress: Progress) => void
}

interface Result {
  data: unknown
  response: Response
}

interface EncodedBody {
  body?: object | string
  type?: string
  upload?: UploadBody
}

/** The generated package adds the types. */
export interface UntypedClient {
  methods: Record<string, (input?: any) => any>
  api: FetchClient<any>
  clock: Clock
}

const defaults = { retries: 3, timeout: 120_000, idleTimeout: 60_000 }

export function createClient(
  table: Record<string, OperationRow>,
  options: ClientOptions,
  userAgent: string,
): UntypedClient {
  const { baseUrl, clock = systemClock } = options
  const fetch: Transport = options.fetch ?? ((request) => globalThis.fetch(request))
  const base = baseUrl.replace(/\/+$/, '')
  const prefix =
    Object.values(table)
      .map((row) => row.prefix)
      .find((one) => one !== '') ?? ''
  const retrying =
    (limits: { retries?: number; until?: number; transport?: Transport; readBody?: boolean }): Transport =>
    (request) =>
      sendWithRetries(request, {
        transport: fetch,
        until: Infinity,
        readBody: false,
        clock,
        ...limits,
        retries: limits.retries ?? options.retries ?? defaults.retries,
      })

  const api = createFetchClient<any>({
    baseUrl: base + prefix,
    Request: RepeatableRequest,
    fetch: retrying({}),
  })
  addRequestHeaders(api, table, options, userAgent)

  async function call(id: string, row: OperationRow, input: CallInput): Promise<Result> {
    requirePath(id, row, input.path)
    const { body, type, upload } = encodeBody(row, input.body)
    const deadline = startDeadline(timeoutOf(input, options, upload), clock, input.signal)
    const streamed = row.answer === 'bytes' || row.answer === 'events'
    const transport =
      upload === undefined || input.onProgress === undefined
        ? fetch
        : withProgress(fetch, upload, increasing(upload.size, input.onProgress))
    try {
      const { data, error, response } = await deadline.within(
        (api.request as any)(row.method.toLowerCase(), row.path, {
          baseUrl: base + row.prefix,
          params: { path: input.path, query: input.query },
          headers: {
            ...(type !== undefined && { 'Content-Type': type }),
            ...(row.answer === 'events' && { Accept: 'text/event-stream, application/json' }),
            ...input.headers,
          },
          ...(body !== undefined && {
            body,
            ...(type !== undefined && { bodySerializer: (encoded: unknown) => encoded }),
          }),
          parseAs: streamed ? 'stream' : row.answer === 'text' ? 'text' : 'json',
          signal: deadline.signal,
          fetch: retrying({ retries: input.retries, until: deadline.at, transport, readBody: !streamed }),
        }) as ReturnType<typeof api.request>,
      )
      if (!response.ok) throw new PlatformError(id, response, error)
      return { data: row.answer === 'bytes' ? response : data, response }
    } finally {
      deadline.clear()
    }
  }

  function stream(id: string, row: OperationRow, input: CallInput): AsyncGenerator<unknown, void, undefined> {
    return readEvents({
      open: async (lastEventId, signal) => {
        const headers = {
          ...input.headers,
          ...(lastEventId !== null && row.resumes && { 'Last-Event-ID': lastEventId }),
        }
        return (await call(id, row, { ...input, headers, signal })).response
      },
      ends: row.ends ?? [],
      resumes: row.resumes === true,
      retries: input.retries ?? options.retries ?? defaults.retries,
      idleTimeout: input.silence ?? defaults.idleTimeout,
      clock,
      signal: input.signal,
    })
  }

  function methodOf(id: string, row: OperationRow): (input?: CallInput) => unknown {
    if (row.answer === 'events') return (input = {}) => stream(id, row, input)
    const plain = (input: CallInput = {}): Promise<unknown> => withResponse(call(id, row, input))
    if (row.list === undefined) return plain
    const { list } = row
    const fetchPage = async (input: ListInput): Promise<Page> => (await call(id, row, input)).data as Page
    return Object.assign(plain, {
      all: (input: CallInput = {}) => itemsOf(list, input, fetchPage),
      pages: (input: CallInput = {}) => pagesOf(list, input, fetchPage),
    })
  }

  return {
    methods: Object.fromEntries(Object.entries(table).map(([id, row]) => [id, methodOf(id, row)])),
    api,
    clock,
  }
}

/** Adds the API key and an Idempotency-Key to requests without them, and outside browsers the User-Agent. */
function addRequestHeaders(
  api: FetchClient<any>,
  table: Record<string, OperationRow>,
  options: ClientOptions,
  userAgent: string,
): void {
  const { apiKey } = options
  const idempotent = new Set(
    Object.values(table)
      .filter((row) => row.idempotent)
      .map((row) => `${row.method} ${row.path}`),
  )
  api.use({
    onRequest({ request, schemaPath }) {
      const { headers } = request
      if (apiKey !== undefined && !headers.has('authorization'))
        headers.set('authorization', `Bearer ${apiKey}`)
      if (!('document' in globalThis)) headers.set('user-agent', options.userAgent ?? userAgent)
      // Set once per call, so that all attempts have the same key.
      if (idempotent.has(`${request.method} ${schemaPath}`) && !headers.has('idempotency-key'))
        headers.set('idempotency-key', randomText())
    },
  })
}

/** The time limit of a call in milliseconds; null: no limit. The call overrides the client. */
function timeoutOf(input: CallInput, options: ClientOptions, upload: UploadBody | undefined): number | null {
  if (input.timeout !== undefined) return input.timeout
  if (options.timeout !== undefined) return options.timeout
  return upload === undefined ? defaults.timeout : null
}

/** A promise of the data, with `withResponse()` for the data and the response. */
function withResponse(result: Promise<Result>): Promise<unknown> {
  const data = result.then((answer) => answer.data)
  return Object.assign(data, {
    withResponse() {
      // Only the returned promise may report a failure, not `data` as an unhandled rejection.
      data.catch(() => {})
      return result
    },
  })
}

function encodeBody({ form, type }: OperationRow, body: unknown): EncodedBody {
  if (body === undefined) return {}
  if (form !== undefined && (body as Record<string, unknown>)[form.file] instanceof Blob) {
    const { contentType, ...upload } = encodeForm(form, body as Record<string, unknown>)
    return { body: upload.blob, type: contentType, upload }
  }
  if (type === undefined) return { body: body as object }
  if (type === 'application/x-www-form-urlencoded')
    return { body: new URLSearchParams(body as Record<string, string>).toString(), type }
  const blob = body instanceof Blob ? body : new Blob([body as ArrayBuffer])
  return { body: blob, type, upload: { blob, start: 0, size: blob.size } }
}

/** An empty parameter would result in the path of another operation. */
function requirePath(id: string, { path }: OperationRow, values: Record<string, unknown> = {}): void {
  for (const [, name] of path.matchAll(/\{([^}]+)\}/g)) {
    if (values[name] === undefined || values[name] === null || values[name] === '')
      throw new TypeError(`${id} requires path.${name}.`)
  }
}

/** A retry starts at 0 again; reports only progress beyond the previous maximum. */
function increasing(total: number, onProgress: (progress: Progress) => void): (sent: number) => void {
  let max = -1
  return (sent) => {
    if (sent <= max) return
    max = sent
    onProgress({ sent, total })
  }
}
