// A server of models as OpenAI publishes its API, for the part that is used: models, chat completions and embeddings. It
// answers what it is told to, as fast as it is told to, or fails in one of the ways that such servers do; and it counts what
// was asked and what became of it.
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

export type Fault =
  /** No answer, or nothing more after so many pieces. */
  | { kind: 'hang'; after?: number }
  /** The connection is reset, before the answer or after so many pieces. */
  | { kind: 'reset'; after?: number }
  /** The connection ends properly after so many pieces, with nothing that ends the answer. */
  | { kind: 'end'; after: number }
  /** An answer with this status. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  /** A chunk that is no JSON, or an `error` instead of a chunk, after so many pieces. */
  | { kind: 'broken_json'; after?: number }
  | { kind: 'error'; after?: number; error?: object }
  /** Bytes one by one, so many a second. */
  | { kind: 'drip'; bytesPerSecond?: number }
  /** Pieces without an end. */
  | { kind: 'endless'; piece?: string }
  /** One event without an end. */
  | { kind: 'endless_event' }
  /** The answer is whole, but the connection stays open and says nothing of its end. */
  | { kind: 'lingering' }

/** Ways in which the form of a stream may differ from one server to another, none of which is an error. */
export type Oddity =
  | 'crlf'
  | 'comments'
  | 'empty_choices'
  | 'unknown_fields'
  | 'no_done'
  | 'no_usage'
  | 'no_role'
  | 'usage_in_every_chunk'
  /** Cut into packets of so few bytes that lines and characters are cut, too. */
  | 'cut'

export interface Script {
  /** Default: that the last message was heard, word for word. */
  answer?: string
  /** Instead of one word each. */
  pieces?: string[]
  /** Default all at once. */
  piecesPerSecond?: number
  finishReason?: 'stop' | 'length' | 'content_filter' | (string & {})
  /** Default by its words. */
  usage?: { prompt_tokens: number; completion_tokens: number }
  /** Resolves when the first piece may be written. */
  when?: Promise<unknown>
  /** What a reasoning model thinks before, in `reasoning_content`, a piece for each. */
  thoughts?: string[]
  fault?: Fault
  odd?: Oddity[]
  /** Fields that it refuses as OpenAI does. */
  refuses?: string[]
  /** For embeddings: refuses base64 in favour of lists, as many servers do. */
  floats?: boolean
}

export interface Asked {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: any
  /** ms since the epoch. */
  at: number
  /** When its connection was gone or its answer given. */
  endedAt: number | null
  /** Pieces that were sent. */
  pieces: number
  outcome: 'open' | 'answered' | 'failed' | 'aborted'
}

export interface Upstream {
  /** For `base_url`. */
  url: string
  key: string | null
  /** Everything that was asked, in order. */
  asked: Asked[]
  /** How requests are answered from now on. */
  script: Script | ((asked: Asked) => Script)
  /** How the next ones are, in order, before `script`. */
  next: Script[]
  /** Requests that have not been answered, and how many those were at most. */
  readonly open: number
  readonly mostOpen: number
  /** Those that the client left before they were answered. */
  readonly aborted: Asked[]
  /** Connections that are open. */
  readonly connections: number
  /** For AI_UPSTREAMS. */
  setting: string
}

export interface UpstreamOptions {
  /** What it must be asked with; null for none. Default one. */
  key?: string | null
  name?: string
  models?: Array<{
    id: string
    context_window?: number
    max_output_tokens?: number
    input_price?: number
    output_price?: number
  }>
  embeddings?: { model: string; dimensions: number } | null
  script?: Upstream['script']
}

/** Open until the end of the test. */
export async function openUpstream(
  t: Pick<Test, 'teardown'>,
  options: UpstreamOptions = {},
): Promise<Upstream> {
  const {
    key = 'sk-stand-in-canary',
    name = 'standin',
    models = [{ id: 'small', context_window: 8000, max_output_tokens: 1000 }, { id: 'large' }],
    embeddings = { model: 'embedder', dimensions: 64 },
    script = {},
  } = options
  let open = 0
  let mostOpen = 0
  let connections = 0
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = []
    const asked: Asked = {
      method: request.method!,
      path: request.url!,
      headers: request.headers,
      body: undefined,
      at: Date.now(),
      endedAt: null,
      pieces: 0,
      outcome: 'open',
    }
    upstream.asked.push(asked)
    mostOpen = Math.max(mostOpen, ++open)
    response.on('close', () => {
      open--
      asked.endedAt = Date.now()
      if (asked.outcome === 'open') asked.outcome = response.writableFinished ? 'answered' : 'aborted'
    })
    response.on('error', () => {})
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      asked.body = text === '' ? undefined : JSON.parse(text)
      const told =
        upstream.next.shift() ??
        (typeof upstream.script === 'function' ? upstream.script(asked) : upstream.script)
      answer(response, asked, told, {
        key: upstream.key,
        models: models.map(({ id }) => id),
        embeddings,
      }).catch((error) => response.destroy(error))
    })
  })
  server.on('connection', (socket) => {
    connections++
    socket.on('close', () => {
      connections--
    })
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve))
  t.teardown(
    () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const upstream: Upstream = {
    url,
    key,
    asked: [],
    script,
    next: [],
    get open() {
      return open
    },
    get mostOpen() {
      return mostOpen
    },
    get aborted() {
      return upstream.asked.filter(({ outcome }) => outcome === 'aborted')
    },
    get connections() {
      return connections
    },
    setting: JSON.stringify([
      {
        name,
        base_url: url,
        ...(key !== null && { api_key: key }),
        models,
        ...(embeddings !== null && { embeddings }),
      },
    ]),
  }
  return upstream
}

interface Offer {
  key: string | null
  models: string[]
  embeddings: UpstreamOptions['embeddings']
}

async function answer(response: ServerResponse, asked: Asked, script: Script, offer: Offer): Promise<void> {
  response.setHeader('x-request-id', `req_${randomBytes(16).toString('hex')}`)
  const { fault } = script
  if (fault?.kind === 'hang' && fault.after === undefined) return
  if (fault?.kind === 'reset' && fault.after === undefined) return reset(response, asked)
  if (fault?.kind === 'status')
    return refuse(
      response,
      asked,
      fault.status,
      fault.body ?? errorBody('The stand-in was told to fail.', 'server_error'),
      fault.headers,
    )
  if (offer.key !== null && asked.headers.authorization !== `Bearer ${offer.key}`) {
    return refuse(
      response,
      asked,
      401,
      errorBody(
        `Incorrect API key provided: ${String(asked.headers.authorization).slice(7, 15)}***. You can find your API key at https://platform.openai.com/account/api-keys.`,
        'invalid_request_error',
        'invalid_api_key',
      ),
    )
  }
  const { pathname } = new URL(asked.path, 'http://stand.in')
  const route = `${asked.method} ${pathname}`
  if (route === 'GET /v1/models')
    return json(response, 200, { object: 'list', data: offer.models.map(modelOf) })
  if (
    asked.method === 'GET' &&
    pathname.startsWith('/v1/models/') &&
    offer.models.includes(decodeURIComponent(pathname.slice(11)))
  )
    return json(response, 200, modelOf(decodeURIComponent(pathname.slice(11))))
  if (route === 'POST /v1/chat/completions') return await complete(response, asked, script, offer)
  if (route === 'POST /v1/embeddings') return embed(response, asked, script, offer)
  refuse(
    response,
    asked,
    404,
    errorBody(`Invalid URL (${asked.method} ${pathname})`, 'invalid_request_error'),
  )
}

function modelOf(id: string): object {
  return { id, object: 'model', created: 1_767_225_600, owned_by: 'stand-in' }
}

async function complete(response: ServerResponse, asked: Asked, script: Script, offer: Offer): Promise<void> {
  const { body } = asked
  const problem = problemOf(body, script, offer)
  if (problem !== null) return refuse(response, asked, problem.status, problem.body)
  const written = write(body, script)
  const head = {
    id: `chatcmpl-${randomBytes(15).toString('base64url')}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
    service_tier: 'default',
    system_fingerprint: 'fp_0123456789',
  }
  if (body.stream !== true) {
    const message = { role: 'assistant', content: written.pieces.join(''), refusal: null, annotations: [] }
    return json(response, 200, {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: written.finishReason }],
      usage: written.usage,
    })
  }
  await stream(response, asked, script, { ...written, head: { ...head, object: 'chat.completion.chunk' } })
}

function problemOf(body: any, script: Script, offer: Offer): { status: number; body: object } | null {
  const invalid = (
    message: string,
    param: string,
    code: string | null = null,
  ): { status: number; body: object } => ({
    status: 400,
    body: errorBody(message, 'invalid_request_error', code, param),
  })
  if (typeof body?.model !== 'string') return invalid('you must provide a model parameter', 'model')
  if (!offer.models.includes(body.model))
    return {
      status: 404,
      body: errorBody(
        `The model \`${body.model}\` does not exist or you do not have access to it.`,
        'invalid_request_error',
        'model_not_found',
      ),
    }
  if (!Array.isArray(body.messages) || body.messages.length === 0)
    return invalid(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      'messages',
      'empty_array',
    )
  if (body.stream_options !== undefined && body.stream !== true)
    return invalid(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      'stream_options',
    )
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined)
    return invalid(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
      'max_tokens',
      'invalid_parameter_combination',
    )
  const refused = script.refuses?.find((field) => body[field] !== undefined)
  if (refused === undefined) return null
  const instead = refused === 'max_tokens' ? " Use 'max_completion_tokens' instead." : ''
  return invalid(
    `Unsupported parameter: '${refused}' is not supported with this model.${instead}`,
    refused,
    'unsupported_parameter',
  )
}

interface Written {
  pieces: string[]
  finishReason: string
  usage: object
}

/** As told, cut off where the request says so. */
function write(body: any, script: Script): Written {
  const last = body.messages.at(-1)
  const text = script.answer ?? `I have heard: ${typeof last.content === 'string' ? last.content : ''}`
  let pieces = script.pieces ?? wordsOf(text)
  let finishReason = script.finishReason ?? 'stop'
  for (const stop of typeof body.stop === 'string' ? [body.stop] : (body.stop ?? [])) {
    const at = pieces.join('').indexOf(stop)
    if (at !== -1) pieces = wordsOf(pieces.join('').slice(0, at))
  }
  const most = body.max_completion_tokens ?? body.max_tokens ?? Infinity
  if (pieces.length > most) {
    pieces = pieces.slice(0, most)
    finishReason = 'length'
  }
  const usage = script.usage ?? {
    prompt_tokens: body.messages.reduce(
      (sum: number, { content }: { content: unknown }) => sum + 3 + wordsOf(String(content)).length,
      3,
    ),
    completion_tokens: pieces.length,
  }
  return {
    pieces,
    finishReason,
    usage: {
      ...usage,
      total_tokens: usage.prompt_tokens + usage.completion_tokens,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  }
}

function wordsOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? []
}

async function stream(
  response: ServerResponse,
  asked: Asked,
  script: Script,
  { pieces, finishReason, usage, head }: Written & { head: object },
): Promise<void> {
  const { fault, piecesPerSecond } = script
  const odd = new Set(script.odd)
  const withUsage = asked.body.stream_options?.include_usage === true && !odd.has('no_usage')
  const usual = {
    ...head,
    ...(withUsage && { usage: odd.has('usage_in_every_chunk') ? usage : null }),
    ...(odd.has('unknown_fields') && { x_stand_in: { nested: [1, null] } }),
  }
  const chunk = (delta: object, finish: string | null = null): string =>
    event({
      ...usual,
      choices: [
        {
          index: 0,
          delta: { ...delta, ...(odd.has('unknown_fields') && { x_mood: 'fine' }) },
          logprobs: null,
          finish_reason: finish,
        },
      ],
    })
  const event = (data: unknown): string =>
    lines(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}`)
  const lines = (line: string): string => (odd.has('crlf') ? `${line}\r\n\r\n` : `${line}\n\n`)
  const send = async (text: string): Promise<void> => {
    if (fault?.kind === 'drip') return await drip(response, text, fault.bytesPerSecond ?? 1)
    if (odd.has('cut')) return await cut(response, text)
    if (!response.write(text)) await drained(response)
  }
  /** Whether that was all. */
  const fail = async (): Promise<boolean> => {
    if (
      fault === undefined ||
      !('after' in fault || fault.kind === 'broken_json' || fault.kind === 'error') ||
      asked.pieces < (fault.after ?? 0)
    )
      return false
    if (fault.kind === 'hang') return true
    if (fault.kind === 'reset') {
      // What was sent must arrive, which a reset at once would prevent.
      await sleep(50)
      reset(response, asked)
    } else {
      asked.outcome = 'failed'
      if (fault.kind === 'broken_json')
        response.end(lines('data: {"id": "chatcmpl-1", "choices": [{"delta": {"content": "sec'))
      else if (fault.kind === 'error')
        response.end(
          event({
            error: fault.error ?? {
              message: 'The server had an error while processing your request.',
              type: 'server_error',
              param: null,
              code: null,
            },
          }) + lines('data: [DONE]'),
        )
      else response.end()
    }
    return true
  }

  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.socket?.setNoDelay(true)
  if (fault?.kind === 'endless_event') {
    await send('data: {"choices": [{"delta": {"content": "')
    while (!response.destroyed) await send('x'.repeat(65_536))
    return
  }
  if (odd.has('comments')) await send(lines(': one moment, please'))
  if (odd.has('empty_choices')) await send(event({ ...usual, choices: [], prompt_filter_results: [] }))
  if (!odd.has('no_role')) await send(chunk({ role: 'assistant', content: '', refusal: null }))
  await script.when
  for (const thought of script.thoughts ?? []) {
    await send(chunk({ reasoning_content: thought }))
    if (piecesPerSecond !== undefined) await sleep(1000 / piecesPerSecond)
  }
  const endless = fault?.kind === 'endless' ? (fault.piece ?? 'and so on ') : null
  for (let i = 0; endless !== null || i < pieces.length; i++) {
    if (await fail()) return
    if (piecesPerSecond !== undefined) await sleep(1000 / piecesPerSecond)
    if (response.destroyed) return
    if (odd.has('comments')) await send(lines(': still here'))
    await send(chunk({ content: endless ?? pieces[i] }))
    asked.pieces++
    // Lets others have their turn.
    if (endless !== null) await new Promise((resolve) => setImmediate(resolve))
  }
  if (await fail()) return
  await send(chunk({}, finishReason))
  if (withUsage) await send(event({ ...head, choices: [], usage }))
  if (fault?.kind === 'lingering') return
  if (odd.has('no_done')) response.end()
  else response.end(lines('data: [DONE]'))
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

async function drip(response: ServerResponse, text: string, bytesPerSecond: number): Promise<void> {
  for (const byte of Buffer.from(text)) {
    if (response.destroyed) return
    response.write(Buffer.of(byte))
    await sleep(1000 / bytesPerSecond)
  }
}

async function cut(response: ServerResponse, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 7) {
    response.write(bytes.subarray(at, at + 7))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function embed(response: ServerResponse, asked: Asked, script: Script, offer: Offer): void {
  const { model, input, dimensions, encoding_format: format = 'float' } = asked.body
  if (offer.embeddings === null || model !== offer.embeddings!.model)
    return refuse(
      response,
      asked,
      404,
      errorBody(
        `The model \`${model}\` does not exist or you do not have access to it.`,
        'invalid_request_error',
        'model_not_found',
      ),
    )
  const refused = script.refuses?.find((field) => asked.body[field] !== undefined)
  if (refused !== undefined)
    return refuse(
      response,
      asked,
      400,
      errorBody(`This model does not support specifying ${refused}.`, 'invalid_request_error', null, refused),
    )
  const texts: string[] = Array.isArray(input) ? input : [input]
  if (texts.length === 0 || texts.some((text) => typeof text !== 'string' || text === ''))
    return refuse(
      response,
      asked,
      400,
      errorBody(
        "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
        'invalid_request_error',
      ),
    )
  const data = texts.map((text, index) => {
    const vector = vectorOf(text, dimensions ?? offer.embeddings!.dimensions)
    return {
      object: 'embedding',
      index,
      embedding:
        format === 'base64' && script.floats !== true
          ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
          : vector,
    }
  })
  const tokens = texts.reduce((sum, text) => sum + wordsOf(text).length, 0)
  json(response, 200, { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } })
}

/** Each word adds its own direction, so that texts which share words are near each other. Of length 1. */
function vectorOf(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0)
  const words = text
    .toLowerCase()
    .normalize('NFKD')
    .match(/[\p{L}\p{N}]+/gu) ?? [text]
  for (const word of words) {
    const digest = createHash('sha256').update(word).digest()
    for (let i = 0; i < 32; i += 4) vector[digest.readUInt16LE(i) % dimensions] += digest[i + 2] & 1 ? 1 : -1
  }
  const length = Math.hypot(...vector)
  if (length === 0) vector[0] = 1
  return vector.map((number) => (length === 0 ? number : number / length))
}

function errorBody(
  message: string,
  type: string,
  code: string | null = null,
  param: string | null = null,
): object {
  return { error: { message, type, param, code } }
}

function refuse(
  response: ServerResponse,
  asked: Asked,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  asked.outcome = 'failed'
  if (typeof body === 'string') response.writeHead(status, headers).end(body)
  else json(response, status, body, headers)
}

function reset(response: ServerResponse, asked: Asked): void {
  asked.outcome = 'failed'
  response.socket?.resetAndDestroy()
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
