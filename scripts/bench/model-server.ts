// A fake model provider for tests and benchmarks. It implements the part of OpenAI's API that we use: models,
// chat completions and embeddings. A script decides what it answers, how fast, and how it fails; it records
// every request and its outcome.
import { randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { complete } from './model-server/completions.ts'
import { embed } from './model-server/embeddings.ts'
import { errorBody, json, reset, sendError } from './model-server/responses.ts'
import type { Offer, RecordedRequest, Script } from './model-server/script.ts'

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
    vision?: boolean
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
