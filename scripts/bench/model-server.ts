// A fake model provider for tests and benchmarks. It implements the part of OpenAI's API that we use: models,
// chat completions and embeddings. A script decides what it answers, how fast, and how it fails; it records
// every request and its outcome.
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

/** `after` counts the pieces that are sent before the fault. */
export type Fault =
  /** Sends nothing, or nothing more, and keeps the connection open. */
  | { kind: 'hang'; after?: number }
  /** Resets the connection, before the response or after some pieces. */
  | { kind: 'reset'; after?: number }
  /** Closes the connection properly, but without the end of the answer. */
  | { kind: 'end'; after: number }
  /** Answers with this status. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  /** Sends a chunk that is not valid JSON, or an `error` instead of a chunk. */
  | { kind: 'broken_json'; after?: number }
  | { kind: 'error'; after?: number; error?: object }
  /** Sends single bytes at this rate. */
  | { kind: 'drip'; bytesPerSecond?: number }
  /** Sends pieces for ever. */
  | { kind: 'endless'; piece?: string }
  /** Sends one event that never ends. */
  | { kind: 'endless_event' }
  /** Sends the whole answer, but not the end of the stream. */
  | { kind: 'lingering' }

/** Valid differences between the streams of real providers. */
export type StreamVariant =
  | 'crlf'
  | 'comments'
  | 'empty_choices'
  | 'unknown_fields'
  | 'no_done'
  | 'no_usage'
  | 'no_role'
  | 'usage_in_every_chunk'
  /** Splits the stream into packets of 7 bytes, within lines and characters. */
  | 'cut'

export interface Script {
  /** Default: repeats the last message. */
  answer?: string
  /** Default: one piece for each word of `answer`. */
  pieces?: string[]
  /** Default: all at once. */
  piecesPerSecond?: number
  finishReason?: 'stop' | 'length' | 'content_filter' | (string & {})
  /** Default: counts words. */
  usage?: { prompt_tokens: number; completion_tokens: number }
  /** The first piece is sent when this resolves. */
  when?: Promise<unknown>
  /** Sent before the answer as `reasoning_content`, one piece each. */
  thoughts?: string[]
  fault?: Fault
  variants?: StreamVariant[]
  /** Request fields that are rejected as OpenAI does. */
  rejects?: string[]
  /** Answers embeddings as lists of numbers even if base64 is requested, as many servers do. */
  floats?: boolean
}

export interface RecordedRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: any
  /** Milliseconds since the epoch: the arrival, and the end of the response or connection. */
  at: number
  endedAt: number | null
  /** Pieces that were sent. */
  pieces: number
  outcome: 'open' | 'answered' | 'failed' | 'aborted'
}

export interface ModelServer {
  /** For `base_url`. */
  url: string
  /** The API key that requests must have; null for none. */
  key: string | null
  /** All requests, in order. */
  requests: RecordedRequest[]
  /** How requests are answered from now on. */
  script: Script | ((request: RecordedRequest) => Script)
  /** How the next requests are answered, in order, before `script`. */
  nextScripts: Script[]
  /** Requests without an end yet, and their maximum so far. */
  readonly openRequests: number
  readonly maxOpen: number
  /** The requests whose client disconnected before the end of the response. */
  readonly aborted: RecordedRequest[]
  /** Open connections. */
  readonly connections: number
  /** For AI_UPSTREAMS. */
  setting: string
}

export interface ModelServerOptions {
  /** The API key that requests must have; null for none. Default: a fixed key. */
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
  script?: ModelServer['script']
}

/** Closed at the end of the test. */
export async function startModelServer(
  t: Pick<Test, 'teardown'>,
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const {
    key = 'sk-stand-in-canary',
    name = 'standin',
    models = [{ id: 'small', context_window: 8000, max_output_tokens: 1000 }, { id: 'large' }],
    embeddings = { model: 'embedder', dimensions: 64 },
    script = {},
  } = options
  let openRequests = 0
  let maxOpen = 0
  let connections = 0
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = []
    const recorded: RecordedRequest = {
      method: request.method!,
      path: request.url!,
      headers: request.headers,
      body: undefined,
      at: Date.now(),
      endedAt: null,
      pieces: 0,
      outcome: 'open',
    }
    modelServer.requests.push(recorded)
    maxOpen = Math.max(maxOpen, ++openRequests)
    response.on('close', () => {
      openRequests--
      recorded.endedAt = Date.now()
      if (recorded.outcome === 'open') recorded.outcome = response.writableFinished ? 'answered' : 'aborted'
    })
    response.on('error', () => {})
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      recorded.body = text === '' ? undefined : JSON.parse(text)
      const script =
        modelServer.nextScripts.shift() ??
        (typeof modelServer.script === 'function' ? modelServer.script(recorded) : modelServer.script)
      answer(response, recorded, script, {
        key: modelServer.key,
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
  const modelServer: ModelServer = {
    url,
    key,
    requests: [],
    script,
    nextScripts: [],
    get openRequests() {
      return openRequests
    },
    get maxOpen() {
      return maxOpen
    },
    get aborted() {
      return modelServer.requests.filter(({ outcome }) => outcome === 'aborted')
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
  return modelServer
}

/** What the server has, and the key it requires. */
interface Offer {
  key: string | null
  models: string[]
  embeddings: ModelServerOptions['embeddings']
}

async function answer(
  response: ServerResponse,
  recorded: RecordedRequest,
  script: Script,
  offer: Offer,
): Promise<void> {
  response.setHeader('x-request-id', `req_${randomBytes(16).toString('hex')}`)
  const { fault } = script
  if (fault?.kind === 'hang' && fault.after === undefined) return
  if (fault?.kind === 'reset' && fault.after === undefined) return reset(response, recorded)
  if (fault?.kind === 'status')
    return sendError(
      response,
      recorded,
      fault.status,
      fault.body ?? errorBody('The script says to fail.', 'server_error'),
      fault.headers,
    )
  if (offer.key !== null && recorded.headers.authorization !== `Bearer ${offer.key}`) {
    return sendError(
      response,
      recorded,
      401,
      errorBody(
        `Incorrect API key provided: ${String(recorded.headers.authorization).slice(7, 15)}***. ` +
          'You can find your API key at https://platform.openai.com/account/api-keys.',
        'invalid_request_error',
        'invalid_api_key',
      ),
    )
  }
  const { pathname } = new URL(recorded.path, 'http://stand.in')
  const route = `${recorded.method} ${pathname}`
  if (route === 'GET /v1/models')
    return json(response, 200, { object: 'list', data: offer.models.map(modelOf) })
  if (
    recorded.method === 'GET' &&
    pathname.startsWith('/v1/models/') &&
    offer.models.includes(decodeURIComponent(pathname.slice(11)))
  )
    return json(response, 200, modelOf(decodeURIComponent(pathname.slice(11))))
  if (route === 'POST /v1/chat/completions') return await complete(response, recorded, script, offer)
  if (route === 'POST /v1/embeddings') return embed(response, recorded, script, offer)
  sendError(
    response,
    recorded,
    404,
    errorBody(`Invalid URL (${recorded.method} ${pathname})`, 'invalid_request_error'),
  )
}

function modelOf(id: string): object {
  return { id, object: 'model', created: 1_767_225_600, owned_by: 'stand-in' }
}

async function complete(
  response: ServerResponse,
  recorded: RecordedRequest,
  script: Script,
  offer: Offer,
): Promise<void> {
  const { body } = recorded
  const problem = findProblem(body, script, offer)
  if (problem !== null) return sendError(response, recorded, problem.status, problem.body)
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
  await stream(response, recorded, script, { ...written, head: { ...head, object: 'chat.completion.chunk' } })
}

/** The error for an invalid request, as OpenAI answers it; null for a valid one. */
function findProblem(body: any, script: Script, offer: Offer): { status: number; body: object } | null {
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
      "Invalid 'messages': empty array. Expected an array with minimum length 1, " +
        'but got an empty array instead.',
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
  const rejected = script.rejects?.find((field) => body[field] !== undefined)
  if (rejected === undefined) return null
  const instead = rejected === 'max_tokens' ? " Use 'max_completion_tokens' instead." : ''
  return invalid(
    `Unsupported parameter: '${rejected}' is not supported with this model.${instead}`,
    rejected,
    'unsupported_parameter',
  )
}

interface Written {
  pieces: string[]
  finishReason: string
  usage: object
}

/** The answer of the script, cut where the request limits it. */
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
  recorded: RecordedRequest,
  script: Script,
  { pieces, finishReason, usage, head }: Written & { head: object },
): Promise<void> {
  const { fault, piecesPerSecond } = script
  const variants = new Set(script.variants)
  const withUsage = recorded.body.stream_options?.include_usage === true && !variants.has('no_usage')
  const usual = {
    ...head,
    ...(withUsage && { usage: variants.has('usage_in_every_chunk') ? usage : null }),
    ...(variants.has('unknown_fields') && { x_stand_in: { nested: [1, null] } }),
  }
  const chunk = (delta: object, finish: string | null = null): string =>
    event({
      ...usual,
      choices: [
        {
          index: 0,
          delta: { ...delta, ...(variants.has('unknown_fields') && { x_mood: 'fine' }) },
          logprobs: null,
          finish_reason: finish,
        },
      ],
    })
  const event = (data: unknown): string =>
    lines(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}`)
  const lines = (line: string): string => (variants.has('crlf') ? `${line}\r\n\r\n` : `${line}\n\n`)
  const send = async (text: string): Promise<void> => {
    if (fault?.kind === 'drip') return await drip(response, text, fault.bytesPerSecond ?? 1)
    if (variants.has('cut')) return await cut(response, text)
    if (!response.write(text)) await drained(response)
  }
  /** Sends the fault if it is due. @returns whether it ended the response. */
  const fail = async (): Promise<boolean> => {
    if (
      fault === undefined ||
      !('after' in fault || fault.kind === 'broken_json' || fault.kind === 'error') ||
      recorded.pieces < (fault.after ?? 0)
    )
      return false
    if (fault.kind === 'hang') return true
    if (fault.kind === 'reset') {
      // An immediate reset would discard the pieces in flight.
      await sleep(50)
      reset(response, recorded)
    } else {
      recorded.outcome = 'failed'
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
  if (variants.has('comments')) await send(lines(': one moment, please'))
  if (variants.has('empty_choices')) await send(event({ ...usual, choices: [], prompt_filter_results: [] }))
  if (!variants.has('no_role')) await send(chunk({ role: 'assistant', content: '', refusal: null }))
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
    if (variants.has('comments')) await send(lines(': still here'))
    await send(chunk({ content: endless ?? pieces[i] }))
    recorded.pieces++
    // Yields to the event loop.
    if (endless !== null) await new Promise((resolve) => setImmediate(resolve))
  }
  if (await fail()) return
  await send(chunk({}, finishReason))
  if (withUsage) await send(event({ ...head, choices: [], usage }))
  if (fault?.kind === 'lingering') return
  if (variants.has('no_done')) response.end()
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

function embed(response: ServerResponse, recorded: RecordedRequest, script: Script, offer: Offer): void {
  const { model, input, dimensions, encoding_format: format = 'float' } = recorded.body
  if (offer.embeddings === null || model !== offer.embeddings!.model)
    return sendError(
      response,
      recorded,
      404,
      errorBody(
        `The model \`${model}\` does not exist or you do not have access to it.`,
        'invalid_request_error',
        'model_not_found',
      ),
    )
  const rejected = script.rejects?.find((field) => recorded.body[field] !== undefined)
  if (rejected !== undefined)
    return sendError(
      response,
      recorded,
      400,
      errorBody(
        `This model does not support specifying ${rejected}.`,
        'invalid_request_error',
        null,
        rejected,
      ),
    )
  const texts: string[] = Array.isArray(input) ? input : [input]
  if (texts.length === 0 || texts.some((text) => typeof text !== 'string' || text === ''))
    return sendError(
      response,
      recorded,
      400,
      errorBody(
        "'$.input' is invalid. Please check the API reference: " +
          'https://platform.openai.com/docs/api-reference.',
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

/** A unit vector. Each word adds its own direction, so texts that share words are similar. */
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

function sendError(
  response: ServerResponse,
  recorded: RecordedRequest,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  recorded.outcome = 'failed'
  if (typeof body === 'string') response.writeHead(status, headers).end(body)
  else json(response, status, body, headers)
}

function reset(response: ServerResponse, recorded: RecordedRequest): void {
  recorded.outcome = 'failed'
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
