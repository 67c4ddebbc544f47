// The methods of the client from the table of operations: each sends its request through openapi-fetch, with the key, an
// Idempotency-Key where the operation takes one, and the patience that its repetition allows.
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { systemClock, type Clock } from './clock.ts'
import { startDeadline } from './deadline.ts'
import { PlatformError } from './error.ts'
import { followEvents } from './events.ts'
import { encodeForm, randomText, type FormShape } from './form.ts'
import { itemsOf, pagesOf, type ListInput, type ListKind, type Page } from './pages.ts'
import { withProgress, type Counted, type Progress } from './progress.ts'
import { RepeatableRequest, sendPatiently, type Transport } from './retry.ts'

export interface ClientOptions {
  /** Where the server is, without the `/v1`. */
  baseUrl: string
  /** Without one only what is public can be called. */
  apiKey?: string
  /** Instead of the global one. */
  fetch?: (request: Request) => Promise<Response>
  /** How often a call may be sent again where that cannot have an effect twice; 3 unless said. */
  retries?: number
  /**
   * Milliseconds that a call may take with all its attempts, until its head where the answer is a stream or bytes; 120,000
   * unless said, and as long as it takes for what has a file. null: as long as it takes.
   */
  timeout?: number | null
  /** What the client calls itself, outside of browsers, which have a name of their own. */
  userAgent?: string
  /** Other than the system's, for tests. */
  clock?: Clock
}

/** What the methods need to know of an operation. */
export interface OperationRow {
  method: string
  path: string
  /** What stands before the path. */
  prefix: string
  /** How its success is read; null where it has no body. */
  answer: 'json' | 'text' | 'bytes' | 'events' | null
  /** The media type of its body, where that is neither JSON nor a form with a file. */
  type?: string
  form?: FormShape
  /** Whether it takes an Idempotency-Key. */
  keyed?: boolean
  list?: ListKind
  /** Of a stream: the events after which nothing comes, and whether it goes on where it broke. */
  ends?: readonly string[]
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

interface Answered {
  data: unknown
  response: Response
}

interface Sending {
  body?: object | string
  type?: string
  counted?: Counted
}

/** What the generated client is made of; its types come from the contract. */
export interface UntypedClient {
  methods: Record<string, (input?: any) => any>
  api: FetchClient<any>
  clock: Clock
}

const defaults = { retries: 3, timeout: 120_000, silence: 60_000 }

export function createClient(
  table: Record<string, OperationRow>,
  options: ClientOptions,
  userAgent: string,
): UntypedClient {
  const { baseUrl, apiKey, clock = systemClock } = options
  const fetch: Transport = options.fetch ?? ((request) => globalThis.fetch(request))
  const base = baseUrl.replace(/\/+$/, '')
  const keyed = new Set(
    Object.values(table)
      .filter((row) => row.keyed)
      .map((row) => `${row.method} ${row.path}`),
  )
  const prefix =
    Object.values(table)
      .map((row) => row.prefix)
      .find((one) => one !== '') ?? ''
  const patience =
    (limits: { retries?: number; until?: number; transport?: Transport; whole?: boolean }): Transport =>
    (request) =>
      sendPatiently(request, {
        transport: fetch,
        until: Infinity,
        whole: false,
        clock,
        ...limits,
        retries: limits.retries ?? options.retries ?? defaults.retries,
      })

  const api = createFetchClient<any>({
    baseUrl: base + prefix,
    Request: RepeatableRequest,
    fetch: patience({}),
  })
  api.use({
    onRequest({ request, schemaPath }) {
      const { headers } = request
      if (apiKey !== undefined && !headers.has('authorization'))
        headers.set('authorization', `Bearer ${apiKey}`)
      if (!('document' in globalThis)) headers.set('user-agent', options.userAgent ?? userAgent)
      // Made once for the call, so all attempts have the same.
      if (keyed.has(`${request.method} ${schemaPath}`) && !headers.has('idempotency-key'))
        headers.set('idempotency-key', randomText())
    },
  })

  async function call(id: string, row: OperationRow, input: CallInput): Promise<Answered> {
    requirePath(id, row, input.path)
    const { body, type, counted } = sendingOf(row, input.body)
    const timeout =
      input.timeout !== undefined
        ? input.timeout
        : options.timeout !== undefined
          ? options.timeout
          : counted === undefined
            ? defaults.timeout
            : null
    const deadline = startDeadline(timeout, clock, input.signal)
    const streamed = row.answer === 'bytes' || row.answer === 'events'
    const transport =
      counted === undefined || input.onProgress === undefined
        ? fetch
        : withProgress(fetch, counted, monotone(counted.size, input.onProgress))
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
            ...(type !== undefined && { bodySerializer: (it: unknown) => it }),
          }),
          parseAs: streamed ? 'stream' : row.answer === 'text' ? 'text' : 'json',
          signal: deadline.signal,
          fetch: patience({ retries: input.retries, until: deadline.at, transport, whole: !streamed }),
        }) as ReturnType<typeof api.request>,
      )
      if (!response.ok) throw new PlatformError(id, response, error)
      return { data: row.answer === 'bytes' ? response : data, response }
    } finally {
      deadline.met()
    }
  }

  function stream(id: string, row: OperationRow, input: CallInput): AsyncGenerator<unknown, void, undefined> {
    return followEvents({
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
      silence: input.silence ?? defaults.silence,
      clock,
      signal: input.signal,
    })
  }

  function methodOf(id: string, row: OperationRow): (input?: CallInput) => unknown {
    if (row.answer === 'events') return (input = {}) => stream(id, row, input)
    const plain = (input: CallInput = {}): Promise<unknown> => answerOf(call(id, row, input))
    if (row.list === undefined) return plain
    const { list } = row
    const ask = async (input: ListInput): Promise<Page> => (await call(id, row, input)).data as Page
    return Object.assign(plain, {
      all: (input: CallInput = {}) => itemsOf(list, input, ask),
      pages: (input: CallInput = {}) => pagesOf(list, input, ask),
    })
  }

  return {
    methods: Object.fromEntries(Object.entries(table).map(([id, row]) => [id, methodOf(id, row)])),
    api,
    clock,
  }
}

/** The data alone; with the response for who asks for it. */
function answerOf(answered: Promise<Answered>): Promise<unknown> {
  const data = answered.then((answer) => answer.data)
  return Object.assign(data, {
    withResponse() {
      // Whoever takes the answer this way hears of its failure this way.
      data.catch(() => {})
      return answered
    },
  })
}

function sendingOf({ form, type }: OperationRow, body: unknown): Sending {
  if (body === undefined) return {}
  if (form !== undefined && (body as Record<string, unknown>)[form.file] instanceof Blob) {
    const { contentType, ...counted } = encodeForm(form, body as Record<string, unknown>)
    return { body: counted.blob, type: contentType, counted }
  }
  if (type === undefined) return { body: body as object }
  if (type === 'application/x-www-form-urlencoded')
    return { body: new URLSearchParams(body as Record<string, string>).toString(), type }
  const blob = body instanceof Blob ? body : new Blob([body as ArrayBuffer])
  return { body: blob, type, counted: { blob, start: 0, size: blob.size } }
}

/** An empty parameter would make it another path, and so another operation. */
function requirePath(id: string, { path }: OperationRow, given: Record<string, unknown> = {}): void {
  for (const [, name] of path.matchAll(/\{([^}]+)\}/g)) {
    if (given[name] === undefined || given[name] === null || given[name] === '')
      throw new TypeError(`${id} needs path.${name}.`)
  }
}

/** A second attempt begins anew; what is told of it only goes on. */
function monotone(total: number, onProgress: (progress: Progress) => void): (sent: number) => void {
  let most = -1
  return (sent) => {
    if (sent <= most) return
    most = sent
    onProgress({ sent, total })
  }
}
