// The providers of language models: answers arrive complete in every valid stream format; every fault ends in
// time with the right error and without text of the provider; and a disconnect stops the provider.
import { getEventListeners } from 'node:events'
import OpenAI, { APIError } from 'openai'
import t, { type Test } from 'tap'
import {
  createProviders,
  type CompletionRequest,
  type Providers,
  type ProvidersConfig,
} from '../../services/ai/providers/providers.ts'
import { createQuirks } from '../../services/ai/providers/quirks.ts'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import { ApiError } from '../../infra/errors.ts'
import {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
} from '../../scripts/bench/model-server.ts'
import type { Fault, Script, StreamVariant } from '../../scripts/bench/model-server/script.ts'
import { freePort } from '../../scripts/test/free-port.ts'
import { waitUntil } from '../support/server/wait.ts'

const secret = 'sk-stand-in-canary'
const prompt = 'prompt-canary'

interface ProviderFixture {
  modelServer: ModelServer
  providers: Providers
  reports: string[]
}

async function open(
  t: Test,
  options: ModelServerOptions = {},
  config: Partial<ProvidersConfig> = {},
): Promise<ProviderFixture> {
  const modelServer = await startModelServer(t, { key: secret, ...options })
  return { modelServer, ...connect(t, { AI_UPSTREAMS: modelServer.setting }, config) }
}

function connect(
  t: Test,
  env: Record<string, string>,
  config: Partial<ProvidersConfig> = {},
): Omit<ProviderFixture, 'modelServer'> {
  const reports: string[] = []
  const providers = createProviders(
    { ...readConfig(env), ...config },
    { onError: (error) => reports.push(`${error.stack} ${JSON.stringify(error)}`) },
  )
  t.teardown(() => providers.close())
  return { providers, reports }
}

interface Read {
  text: string
  end: { finishReason: string; usage: object | null } | null
  error: any
}

async function read(providers: Providers, request: Partial<CompletionRequest> = {}): Promise<Read> {
  const result: Read = { text: '', end: null, error: null }
  const whole: CompletionRequest = {
    model: 'small',
    messages: [{ role: 'user', content: `${prompt} hello` }],
    signal: new AbortController().signal,
    ...request,
  }
  try {
    result.end = await providers.complete(whole, (text) => {
      result.text += text
    })
  } catch (error) {
    result.error = error
  }
  return result
}

function isUnavailable(t: Test, { error }: Read, reports: string[]): void {
  t.ok(error instanceof ApiError, 'an ApiError')
  t.match({ status: error?.status, code: error?.code }, { status: 503, code: 'UNAVAILABLE' })
  t.match(error?.headers['retry-after'], /^\d+$/)
  t.notMatch(`${error?.message} ${JSON.stringify(error?.details)} ${reports.join()}`, /canary/)
}

t.test('an answer arrives with its finish reason and its usage', async (t) => {
  const { modelServer, providers, reports } = await open(t)
  const { text, end, error } = await read(providers, {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Grüße 👋 to you' },
    ],
    temperature: 0.5,
    maxTokens: 100,
    stop: ['never'],
    requestId: 'req-1',
  })
  t.equal(error, null)
  t.equal(text, 'I have heard: Grüße 👋 to you')
  t.same(end, {
    finishReason: 'stop',
    usage: { promptTokens: 15, completionTokens: 7, cachedTokens: 0 },
    toolCalls: [],
  })
  const [request] = modelServer.requests
  t.same(request.body, {
    model: 'small',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Grüße 👋 to you' },
    ],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.5,
    max_tokens: 100,
    stop: ['never'],
  })
  t.equal(request.headers.authorization, `Bearer ${secret}`)
  t.equal(request.headers['x-client-request-id'], 'req-1')
  t.equal(request.outcome, 'answered')
  t.same(reports, [])
})

t.test('an answer reports why it ended early', async (t) => {
  const { providers } = await open(t, {
    script: (request) =>
      request.body.messages.at(-1).content === 'filter'
        ? { answer: 'one', finishReason: 'content_filter' }
        : { answer: 'one two three four' },
  })
  t.match(await read(providers, { maxTokens: 2 }), {
    text: 'one two',
    end: { finishReason: 'length', usage: { completionTokens: 2 } },
  })
  t.match(await read(providers, { stop: [' three'] }), { text: 'one two', end: { finishReason: 'stop' } })
  t.match(await read(providers, { messages: [{ role: 'user', content: 'filter' }] }), {
    text: 'one',
    end: { finishReason: 'content_filter' },
  })
})

t.test(
  'an answer with the finish reason of another server is complete, or has reached its limit',
  async (t) => {
    const { modelServer, providers } = await open(t)
    for (const [reason, finishReason] of [
      ['eos', 'stop'],
      ['eos_token', 'stop'],
      ['stop_sequence', 'stop'],
      ['max_tokens', 'length'],
      ['model_length', 'length'],
    ]) {
      modelServer.script = { answer: 'one', finishReason: reason }
      t.match(await read(providers), { text: 'one', end: { finishReason }, error: null }, reason)
    }
  },
)

t.test('an answer is the same in every valid stream format', async (t) => {
  const formats: StreamVariant[][] = [
    ['crlf'],
    ['comments'],
    ['crlf', 'comments', 'cut'],
    ['empty_choices'],
    ['unknown_fields'],
    ['no_done'],
    ['no_usage'],
    ['no_role'],
    ['usage_in_every_chunk'],
    ['usage_twice'],
    ['no_space'],
    ['no_finish_reason'],
    ['parts'],
    ['think_tags'],
    ['think_tags', 'cut'],
    ['not_streamed'],
    ['cut'],
    ['cut', 'empty_choices', 'no_done', 'unknown_fields', 'no_usage', 'no_role'],
  ]
  const { modelServer, providers } = await open(t)
  for (const variants of formats) {
    modelServer.script = {
      answer: 'Žluťoučký kůň 🐎 said "ok" \\ 日本語\n',
      variants,
      usage: { prompt_tokens: 5, completion_tokens: 6 },
    }
    const { text, end, error } = await read(providers)
    t.equal(error, null, variants.join())
    t.equal(text, 'Žluťoučký kůň 🐎 said "ok" \\ 日本語\n', variants.join())
    t.same(
      end,
      {
        finishReason: 'stop',
        usage: variants.includes('no_usage')
          ? null
          : { promptTokens: 5, completionTokens: 6, cachedTokens: 0 },
        toolCalls: [],
      },
      variants.join(),
    )
  }
})

t.test('a split surrogate pair is joined, and characters that cannot be stored are replaced', async (t) => {
  const { providers } = await open(t, {
    script: { pieces: ['a\ud83d', '\udc4b', 'b\ud83d', 'c\0', '\udc4b', 'z\ud83d'] },
  })
  const { text } = await read(providers)
  t.equal(text, 'a👋b\ufffdc\ufffd\ufffdz\ufffd')
  t.ok(text.isWellFormed())
})

t.test(
  'every fault of a provider ends in time, with the right error, and closes the connection',
  async (t) => {
    // A case lowers only the time-out that it is about, so that a slow machine meets no other one.
    const timeouts = { aiTimeout: 60, aiFirstTokenTimeout: 30, aiIdleTimeout: 30, aiRetries: 0 }
    interface Case {
      name: string
      script: Script
      text?: string | RegExp
      within?: number
      config?: Partial<ProvidersConfig>
      report: RegExp
    }
    const fault = (fault: Fault, more: Script = {}): Script => ({
      answer: 'one two three four',
      fault,
      ...more,
    })
    const cases: Case[] = [
      {
        name: 'a hang before the response',
        script: fault({ kind: 'hang' }),
        config: { aiFirstTokenTimeout: 1 },
        within: 1,
        report: /did not start within 1 s/,
      },
      {
        name: 'a hang before the first piece',
        script: fault({ kind: 'hang', after: 0 }),
        config: { aiFirstTokenTimeout: 1 },
        within: 1,
        report: /did not start within 1 s/,
      },
      {
        name: 'a hang after two pieces',
        script: fault({ kind: 'hang', after: 2 }),
        text: 'one two',
        config: { aiIdleTimeout: 0.5 },
        within: 0.5,
        report: /paused for 0.5 s/,
      },
      { name: 'a reset before the response', script: fault({ kind: 'reset' }), report: /no connection \(/ },
      {
        name: 'a reset before the first piece',
        script: fault({ kind: 'reset', after: 0 }),
        report: /connection closed|no connection/,
      },
      {
        name: 'a reset after two pieces',
        script: fault({ kind: 'reset', after: 2 }),
        text: 'one two',
        report: /connection closed \(/,
      },
      {
        name: 'an end after two pieces',
        script: fault({ kind: 'end', after: 2 }),
        text: 'one two',
        report: /has no end/,
      },
      {
        name: 'single bytes',
        script: fault({ kind: 'drip', bytesPerSecond: 50 }),
        config: { aiFirstTokenTimeout: 1 },
        within: 1,
        report: /did not start/,
      },
      {
        name: 'pieces that are too slow',
        script: { answer: 'one '.repeat(1000), piecesPerSecond: 10 },
        text: /^one/,
        config: { aiTimeout: 4 },
        within: 4,
        report: /took more than 4 s/,
      },
      { name: 'broken JSON first', script: fault({ kind: 'broken_json' }), report: /is not valid JSON/ },
      {
        name: 'broken JSON after two pieces',
        script: fault({ kind: 'broken_json', after: 2 }),
        text: 'one two',
        report: /is not valid JSON/,
      },
      {
        name: 'an error first',
        script: fault({ kind: 'error' }),
        report: /ended the answer with an error \(server_error\)/,
      },
      {
        name: 'an error after two pieces',
        script: fault({ kind: 'error', after: 2, error: { message: `${prompt} leaked`, code: 'canary' } }),
        text: 'one two',
        report: /ended the answer with an error/,
      },
      {
        name: 'a chunk in another format',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: 'data: {"choices":{"canary":1}}\n\ndata: [DONE]\n\n',
        }),
        report: /no list of choices/,
      },
      {
        name: 'content that is not text',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: 'data: {"choices":[{"delta":{"content":{"canary":1}}}]}\n\ndata: [DONE]\n\n',
        }),
        report: /is not text/,
      },
      {
        name: 'nothing but null',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: 'data: null\n\ndata: [DONE]\n\n',
        }),
        report: /an unknown format/,
      },
      {
        name: 'an HTML page',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/html' },
          body: '<p>canary</p>',
        }),
        report: /an HTML page/,
      },
      {
        name: 'an error in an answer 200',
        script: fault({
          kind: 'status',
          status: 200,
          body: { error: { message: 'canary', type: 'server_error' } },
        }),
        report: /ended the answer with an error \(server_error\)/,
      },
      {
        name: 'an endless event',
        script: fault({ kind: 'endless_event' }),
        report: /too large/,
        config: { aiFirstTokenTimeout: 20 },
      },
      {
        name: '500',
        script: fault({ kind: 'status', status: 500 }),
        report: /answered 500 \(server_error\), request id req_/,
      },
      {
        name: '503 in plain text',
        script: fault({ kind: 'status', status: 503, body: 'canary' }),
        report: /answered 503/,
      },
      {
        name: 'a redirect',
        script: fault({ kind: 'status', status: 307, headers: { location: '/v1/elsewhere' }, body: '' }),
        report: /answered 307/,
      },
      {
        name: 'an unknown model',
        script: fault({
          kind: 'status',
          status: 404,
          body: { error: { message: 'canary', code: 'model_not_found' } },
        }),
        report: /answered 404 \(model_not_found\)/,
      },
      {
        name: 'an invalid parameter',
        script: fault({
          kind: 'status',
          status: 400,
          body: { error: { message: 'canary', type: 'invalid_request_error' } },
        }),
        report: /answered 400 \(invalid_request_error\)/,
      },
      {
        name: '422',
        script: fault({
          kind: 'status',
          status: 422,
          body: { detail: [{ loc: ['body', 'canary'], msg: 'canary' }] },
        }),
        report: /answered 422/,
      },
      {
        name: 'an unpaid bill',
        script: fault({
          kind: 'status',
          status: 429,
          body: { error: { message: 'canary', code: 'insufficient_quota' } },
        }),
        report: /answered 429 \(insufficient_quota\)/,
      },
      { name: '403', script: fault({ kind: 'status', status: 403, body: 'canary' }), report: /answered 403/ },
    ]
    await Promise.all(
      cases.map(async ({ name, script, text = '', within = 0, config, report }) => {
        const { modelServer, providers, reports } = await open(t, { script }, { ...timeouts, ...config })
        const started = Date.now()
        const got = await read(providers)
        const took = Date.now() - started
        isUnavailable(t, got, reports)
        t.match(
          got.text,
          text instanceof RegExp ? text : new RegExp(`^${text}$`),
          `${name}: the pieces before it are passed on`,
        )
        t.equal(got.end, null, name)
        t.ok(took >= within * 1000 - 50 && took < within * 1000 + 10_000, `${name}: after ${took} ms`)
        t.equal(reports.length, 1, `${name}: reported once`)
        t.match(reports[0], report, name)
        t.match(reports[0], /provider standin .* model small/, name)
        t.equal(modelServer.requests.length, 1, `${name}: requested once`)
        await waitUntil(() => modelServer.openRequests === 0, 'the request to end')
      }),
    )
  },
)

t.test('a refused connection and an unknown host are reported', async (t) => {
  const port = await freePort()
  const settings = (base: string): string =>
    JSON.stringify([{ name: 'gone', base_url: base, models: [{ id: 'small' }] }])
  const refused = connect(t, { AI_UPSTREAMS: settings(`http://127.0.0.1:${port}/v1`) }, { aiRetries: 1 })
  isUnavailable(t, await read(refused.providers), refused.reports)
  t.match(refused.reports, [/no connection \(ECONNREFUSED\)/])
  const unknown = connect(t, { AI_UPSTREAMS: settings('http://nowhere.invalid/v1') }, { aiRetries: 0 })
  isUnavailable(t, await read(unknown.providers), unknown.reports)
  t.match(unknown.reports, [/no connection \(E/])
})

t.test('a wrong API key is reported to the operator', async (t) => {
  const { modelServer, providers, reports } = await open(t)
  modelServer.key = 'another'
  isUnavailable(t, await read(providers), reports)
  t.match(reports, [/answered 401 \(invalid_api_key\), request id req_\w+\./])
  t.equal(modelServer.requests.length, 1)
})

t.test('a failure before the first piece is retried, up to the configured number of times', async (t) => {
  const retryable: Script[] = [
    { fault: { kind: 'status', status: 500 } },
    { fault: { kind: 'status', status: 503, headers: { 'retry-after': '0' } } },
    { fault: { kind: 'status', status: 408 } },
    { fault: { kind: 'status', status: 409 } },
    { fault: { kind: 'status', status: 429 } },
    { fault: { kind: 'reset' } },
    { fault: { kind: 'reset', after: 0 } },
    { fault: { kind: 'error', after: 0 } },
    { fault: { kind: 'end', after: 0 } },
  ]
  await Promise.all(
    retryable.map(async (script) => {
      const { modelServer, providers, reports } = await open(t, {}, { aiRetries: 2 })
      modelServer.nextScripts.push(script, script)
      t.match(
        await read(providers),
        { text: `I have heard: ${prompt} hello`, end: { finishReason: 'stop' }, error: null },
        JSON.stringify(script),
      )
      t.equal(modelServer.requests.length, 3)
      if (script !== retryable[1])
        t.ok(modelServer.requests[2].at - modelServer.requests[1].at >= 450, 'after a delay')
      t.same(reports, [])
    }),
  )
  const { modelServer, providers, reports } = await open(t, { script: retryable[0] }, { aiRetries: 1 })
  isUnavailable(t, await read(providers), reports)
  t.equal(modelServer.requests.length, 2)
  t.equal(reports.length, 1)
})

t.test('a failure after the first piece, or that a retry cannot fix, is not retried', async (t) => {
  const permanent: Script[] = [
    { pieces: ['one', 'two'], fault: { kind: 'reset', after: 1 } },
    { pieces: ['one', 'two'], fault: { kind: 'error', after: 1 } },
    { pieces: ['one', 'two'], fault: { kind: 'end', after: 1 } },
    { fault: { kind: 'status', status: 400 } },
    { fault: { kind: 'status', status: 403 } },
    { fault: { kind: 'status', status: 404 } },
    { fault: { kind: 'broken_json' } },
  ]
  for (const script of permanent) {
    const { modelServer, providers } = await open(t, { script })
    t.match(await read(providers), { error: { status: 503 } })
    t.equal(modelServer.requests.length, 1, JSON.stringify(script))
  }
})

t.test('a busy provider is retried after its Retry-After, unless that is too long', async (t) => {
  const busy = (headers: Record<string, string>): Script => ({
    fault: {
      kind: 'status',
      status: 429,
      headers,
      body: { error: { message: prompt, code: 'rate_limit_exceeded' } },
    },
  })
  const { modelServer, providers, reports } = await open(t)
  modelServer.nextScripts.push(busy({ 'retry-after': '1' }))
  t.match(await read(providers), { error: null })
  t.ok(modelServer.requests[1].at - modelServer.requests[0].at >= 990, 'after its Retry-After')

  for (const [headers, seconds] of [
    [{ 'retry-after': '120' }, '120'],
    [{ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }, /^(59|60)$/],
    [{ 'retry-after': '999999999' }, '3600'],
  ] as const) {
    modelServer.requests.length = 0
    modelServer.nextScripts.push(busy({ ...headers }))
    const { error } = await read(providers)
    t.match(error, {
      status: 503,
      code: 'UNAVAILABLE',
      details: { reason: 'provider_busy' },
      headers: { 'retry-after': seconds },
    })
    t.notMatch(`${error.message} ${JSON.stringify(error.details)}`, /canary/)
    t.equal(modelServer.requests.length, 1)
  }
  const { providers: without } = await open(t, { script: busy({ 'retry-after': 'soon' }) }, { aiRetries: 0 })
  t.match((await read(without)).error, { status: 503, headers: { 'retry-after': '5' } })
  t.same(reports, [])
})

t.test('a request that exceeds the limits of the model is 400', async (t) => {
  const refusals: Array<[unknown, string, string]> = [
    [
      {
        error: {
          message:
            "This model's maximum context length is 8000 tokens. " +
            'However, your messages resulted in 9001 tokens.',
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
      'messages',
      'context_window',
    ],
    [
      {
        object: 'error',
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
      'messages',
      'context_window',
    ],
    [
      {
        error: {
          code: 400,
          message: 'the request exceeds the available context size, try increasing it',
          type: 'exceed_context_size_error',
        },
      },
      'messages',
      'context_window',
    ],
    ['prompt is too long: 200001 tokens > 200000 maximum', 'messages', 'context_window'],
    [
      {
        error: {
          message:
            'max_tokens is too large: 999. This model supports at most 500 completion tokens, ' +
            'whereas you provided 999.',
          param: 'max_tokens',
          code: 'invalid_value',
        },
      },
      'max_tokens',
      'maximum',
    ],
    [
      {
        error: {
          message:
            "'max_tokens' or 'max_completion_tokens' is too large: 999. " +
            "This model's maximum context length is 500 tokens and your request has 12 input tokens",
          code: 400,
        },
      },
      'max_tokens',
      'maximum',
    ],
  ]
  for (const [body, field, constraint] of refusals) {
    const { modelServer, providers, reports } = await open(t, {
      script: { fault: { kind: 'status', status: 400, body } },
    })
    t.match(
      (await read(providers, { maxTokens: 999 })).error,
      { status: 400, code: 'INVALID_REQUEST', details: { field, constraint } },
      JSON.stringify(body),
    )
    t.equal(modelServer.requests.length, 1)
    t.same(reports, [])
  }
  const { modelServer, providers } = await open(t, { script: { rejects: ['temperature', 'stop'] } })
  t.match((await read(providers, { maxTokens: 1001 })).error, {
    status: 400,
    details: { field: 'max_tokens', constraint: 'maximum' },
  })
  t.equal(modelServer.requests.length, 0, 'a limit that is configured is checked without a request')
  t.match((await read(providers, { temperature: 0.1 })).error, {
    status: 400,
    details: { field: 'temperature', constraint: 'unsupported' },
  })
  t.match((await read(providers, { stop: ['x'] })).error, {
    status: 400,
    details: { field: 'stop', constraint: 'unsupported' },
  })
  t.match(await read(providers), { error: null })
})

t.test('a field that the provider rejects is left out or renamed from then on', async (t) => {
  const { modelServer, providers, reports } = await open(
    t,
    { script: { rejects: ['stream_options', 'max_tokens'] } },
    { aiRetries: 0 },
  )
  t.match(await read(providers, { maxTokens: 2 }), {
    text: 'I have',
    end: { finishReason: 'length', usage: null },
    error: null,
  })
  t.equal(modelServer.requests.length, 3)
  t.match(await read(providers, { maxTokens: 2 }), { text: 'I have', error: null })
  t.equal(modelServer.requests.length, 4)
  t.same(Object.keys(modelServer.requests[3].body), ['model', 'messages', 'stream', 'max_completion_tokens'])
  t.same(reports, [])
})

t.test('a provider that repeats text of a user in an error teaches no quirk', async (t) => {
  const { modelServer, providers } = await open(
    t,
    {
      script: {
        fault: {
          kind: 'status',
          status: 400,
          body: {
            error: { message: `invalid request: ${'x'.repeat(200)} stream_options max_tokens temperature` },
          },
        },
      },
    },
    { aiRetries: 0 },
  )
  t.ok((await read(providers, { maxTokens: 2, temperature: 1 })).error)
  t.equal(modelServer.requests.length, 1)
  modelServer.script = {}
  await read(providers, { maxTokens: 2 })
  t.match(modelServer.requests[1].body, { stream_options: { include_usage: true }, max_tokens: 2 })
})

t.test('a quirk is forgotten after five minutes', async (t) => {
  let now = 0
  const quirks = createQuirks({}, { clock: () => now })
  const rejected = (field: string): boolean => {
    const error = new APIError(400, { message: `unknown field ${field}` }, undefined, new Headers())
    return quirks.learn(error, { [field]: 1 })
  }
  const usual = quirks.current()
  t.ok(rejected('stream_options'))
  now += 60_000
  t.ok(rejected('max_tokens'))
  t.notOk(rejected('max_tokens'), 'known already')
  t.notOk(rejected('messages'))
  const limitField = 'max_completion_tokens'
  t.same(quirks.current(), { ...usual, acceptsUsage: false, limitField })
  now += 600_000
  t.same(quirks.current(), usual)
  t.ok(rejected('max_tokens'))
  t.same(quirks.current(), { ...usual, limitField })
})

t.test('an endless answer is cut', async (t) => {
  const { modelServer, providers, reports } = await open(t, {
    script: { fault: { kind: 'endless', piece: 'x'.repeat(100) } },
  })
  const limited = await read(providers, { maxTokens: 10 })
  t.match(limited, { end: { finishReason: 'length', usage: null }, error: null })
  t.equal(limited.text.length, 10 * 32 + 4096)
  const whole = await read(providers)
  t.equal(whole.text.length, 1000 * 32 + 4096, 'the limit of the model')
  modelServer.script = { fault: { kind: 'endless', piece: '🐎'.repeat(50_000) } }
  const unlimited = await read(providers, { model: 'large' })
  t.equal(unlimited.text.length, 4_000_000)
  t.ok(unlimited.text.isWellFormed())
  await waitUntil(() => modelServer.openRequests === 0)
  t.equal(modelServer.aborted.length, 3)
  t.equal(reports.length, 3)
})

t.test('a complete answer is kept although the stream does not end', async (t) => {
  const { providers, reports } = await open(
    t,
    { script: { answer: 'all of it', fault: { kind: 'lingering' } } },
    { aiTimeout: 1.5 },
  )
  t.match(await read(providers), {
    text: 'all of it',
    end: { finishReason: 'stop', usage: { completionTokens: 3 } },
    error: null,
  })
  t.same(reports, [])
})

t.test('reasoning counts as progress', async (t) => {
  const { providers } = await open(
    t,
    { script: { thoughts: Array.from({ length: 8 }, () => 'hm'), piecesPerSecond: 4, answer: 'yes' } },
    { aiFirstTokenTimeout: 1.5, aiIdleTimeout: 1.5 },
  )
  t.match(await read(providers), { text: 'yes', error: null })
})

t.test('the idle time-out does not count between two attempts', async (t) => {
  const { modelServer, providers } = await open(t, {}, { aiIdleTimeout: 0.9, aiRetries: 3 })
  const broken: Script = { thoughts: ['hm'], fault: { kind: 'reset', after: 0 } }
  modelServer.nextScripts.push(broken, broken, broken, { answer: 'yes' })
  t.match(await read(providers), { text: 'yes', error: null })
  t.equal(modelServer.requests.length, 4)
})

t.test('the time-out for the first token counts again after an attempt with reasoning alone', async (t) => {
  const { modelServer, providers, reports } = await open(t, {}, { aiFirstTokenTimeout: 2, aiRetries: 1 })
  modelServer.nextScripts.push(
    { thoughts: ['hm'], fault: { kind: 'reset', after: 0 } },
    { fault: { kind: 'hang', after: 0 } },
  )
  isUnavailable(t, await read(providers), reports)
  t.match(reports, [/did not start within 2 s/])
})

t.test('an abort closes the connection to the provider at once, and leaves no listener behind', async (t) => {
  const scripts: Script[] = [
    { fault: { kind: 'hang' } },
    { fault: { kind: 'hang', after: 0 } },
    { pieces: ['one', 'two'], fault: { kind: 'hang', after: 1 } },
    { answer: 'on '.repeat(1000), piecesPerSecond: 50 },
  ]
  for (const script of scripts) {
    const { modelServer, providers, reports } = await open(t, { script })
    const controller = new AbortController()
    const reading = read(providers, { signal: controller.signal })
    await waitUntil(
      () =>
        modelServer.requests.length === 1 &&
        modelServer.requests[0].body !== undefined &&
        (script.answer === undefined || modelServer.requests[0].pieces > 3),
    )
    const reason = new Error('gone')
    const abortedAt = Date.now()
    controller.abort(reason)
    t.equal((await reading).error, reason)
    await waitUntil(
      () => modelServer.aborted.length === 1 && modelServer.connections === 0,
      'the provider to notice',
    )
    const took = modelServer.aborted[0].endedAt! - abortedAt
    t.ok(took < 2_000, `after ${took} ms`)
    t.equal(getEventListeners(controller.signal, 'abort').length, 0)
    t.same(reports, [])
  }
})

t.test('an error of the caller, and an abort before or between attempts stop the request too', async (t) => {
  const { modelServer, providers } = await open(t, {
    script: { answer: 'on '.repeat(1000), piecesPerSecond: 50 },
  })
  const { signal } = new AbortController()
  const failure = new Error('the caller fails')
  const whole = { model: 'small', messages: [{ role: 'user' as const, content: 'x' }], signal }
  const failing = providers.complete(whole, () => {
    throw failure
  })
  await t.rejects(failing, failure)
  await waitUntil(() => modelServer.aborted.length === 1 && modelServer.connections === 0)
  t.equal(getEventListeners(signal, 'abort').length, 0)

  modelServer.script = { fault: { kind: 'status', status: 500, headers: { 'retry-after': '9' } } }
  const between = new AbortController()
  const reading = read(providers, { signal: between.signal })
  await waitUntil(() => modelServer.requests.length === 2)
  between.abort()
  t.match((await reading).error, { name: 'AbortError' })
  t.match((await read(providers, { signal: AbortSignal.abort() })).error, { name: 'AbortError' })
  t.equal(modelServer.requests.length, 2)
  for (let i = 0; i < 20; i++)
    await read(providers, {
      signal,
      model: 'small',
      messages: [{ role: 'user', content: 'x' }],
      maxTokens: 1001,
    })
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

t.test('close aborts the requests in progress, and rejects new ones', async (t) => {
  const { modelServer, providers } = await open(t, {
    script: { answer: 'on '.repeat(1000), piecesPerSecond: 50 },
  })
  const reading = read(providers)
  await waitUntil(() => modelServer.requests[0]?.pieces > 3)
  await providers.close()
  t.match(await reading, { error: { status: 503 } })
  t.match((await read(providers)).error, { code: 'UNAVAILABLE' })
  await waitUntil(() => modelServer.connections === 0)
  t.equal(modelServer.requests.length, 1)
})

t.test('a thousand answers at once, half of which are aborted', async (t) => {
  const go = Promise.withResolvers<void>()
  const { modelServer, providers, reports } = await open(t, {
    script: { answer: 'a b c d', when: go.promise },
  })
  const controllers = Array.from({ length: 1000 }, () => new AbortController())
  const started = Date.now()
  const reading = controllers.map(({ signal }) => read(providers, { signal }))
  await waitUntil(
    () => modelServer.openRequests === 1000 && modelServer.requests.every(({ body }) => body !== undefined),
    'all to be open',
  )
  const abortedAt = Date.now()
  for (const controller of controllers.slice(500)) controller.abort()
  await waitUntil(() => modelServer.aborted.length === 500, 'the aborted ones to end')
  const seen = Math.max(...modelServer.aborted.map(({ endedAt }) => endedAt! - abortedAt))
  go.resolve()
  const results = await Promise.all(reading)
  t.comment(
    `all open after ${abortedAt - started} ms, the last of 500 aborts noticed after ${seen} ms, ` +
      `all finished after ${Date.now() - started} ms`,
  )
  t.equal(
    results.slice(0, 500).filter(({ text, end }) => text === 'a b c d' && end?.finishReason === 'stop')
      .length,
    500,
  )
  t.ok(results.slice(500).every(({ error }) => error?.name === 'AbortError'))
  t.equal(modelServer.maxOpen, 1000)
  t.same(reports, [])
})

t.test('the environment variables of the official client have no effect', async (t) => {
  const env = {
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    OPENAI_API_KEY: 'sk-other',
    OPENAI_ADMIN_KEY: 'sk-admin',
    OPENAI_ORG_ID: 'org-other',
    OPENAI_PROJECT_ID: 'proj-other',
    OPENAI_CUSTOM_HEADERS: 'Authorization: Bearer sk-other\nX-Other: 1',
    OPENAI_LOG: 'debug',
  }
  const before = { ...process.env }
  Object.assign(process.env, env)
  t.teardown(() => {
    process.env = before
  })
  const keyless = await open(t, { key: null })
  const keyed = await open(t)
  const quiet = t.capture(console, 'debug')
  t.match(await read(keyless.providers), { error: null })
  t.match(await read(keyed.providers), { error: null })
  await keyed.providers.embed!(['x'])
  t.equal(keyless.modelServer.requests[0].headers.authorization, undefined)
  t.equal(keyed.modelServer.requests[0].headers.authorization, `Bearer ${secret}`)
  for (const { headers } of [...keyless.modelServer.requests, ...keyed.modelServer.requests]) {
    t.same(
      Object.keys(headers).filter((name) => /openai|other|stainless/.test(name)),
      [],
    )
  }
  t.equal(quiet().length, 0)
})

t.test('the models are the configured ones and the built-in one', async (t) => {
  const setting = JSON.stringify([
    {
      name: 'first',
      base_url: 'http://127.0.0.1:1/v1/',
      models: [
        { id: 'b', context_window: 8000, max_output_tokens: 1000, input_price: 0.25, output_price: 2 },
      ],
    },
    { name: 'second', base_url: 'http://127.0.0.1:2/v1', models: [{ id: 'a' }] },
  ])
  const { providers } = connect(t, { AI_UPSTREAMS: setting })
  t.same(providers.models, [
    {
      id: 'b',
      provider: 'first',
      kind: 'language',
      context_window: 8000,
      max_output_tokens: 1000,
      vision: null,
      price: {
        currency: 'usd',
        input_micros: 250_000,
        cached_input_micros: 250_000,
        output_micros: 2_000_000,
      },
      is_default: true,
    },
    {
      id: 'a',
      provider: 'second',
      kind: 'language',
      context_window: null,
      max_output_tokens: null,
      vision: null,
      price: null,
      is_default: false,
    },
    {
      id: 'extractive-1',
      provider: 'builtin',
      kind: 'extractive',
      context_window: null,
      max_output_tokens: null,
      vision: false,
      price: null,
      is_default: false,
    },
  ])
  t.equal(providers.default, 'b')
  t.same(['a', 'b', 'extractive-1', 'c', '__proto__'].map(providers.has), [true, true, true, false, false])
  t.same(providers.priceOf('b'), { input: 0.25, cachedInput: 0.25, output: 2 })
  t.equal(providers.priceOf('a'), null)
  t.equal(providers.priceOf('extractive-1'), null)
  t.equal(providers.embed, null)
  const noText = (): void => {}
  await t.rejects(
    providers.complete({ model: 'extractive-1', messages: [], signal: new AbortController().signal }, noText),
    { code: 'INVALID_REQUEST' },
  )
  t.equal(connect(t, {}).providers.default, 'extractive-1')
  t.equal(connect(t, { AI_UPSTREAMS: setting, AI_DEFAULT_MODEL: 'a' }).providers.models[1].is_default, true)
})

t.test('an invalid setting is named, and its secrets are not repeated', async (t) => {
  const provider = { name: 'one', base_url: 'http://h/v1', api_key: 'sk-canary', models: [{ id: 'm' }] }
  const cases: Array<[unknown, RegExp]> = [
    ['[{"api_key":"sk-canary"', /^AI_UPSTREAMS must be a JSON array\./],
    [{ canary: 1 }, /^AI_UPSTREAMS must be a JSON array\./],
    [['canary'], /^AI_UPSTREAMS\[0\] must be an object/],
    [[{ ...provider, canary: 'canary' }], /^AI_UPSTREAMS\[0\] must have no fields other than name, base_url/],
    [[{ ...provider, name: '' }], /^AI_UPSTREAMS\[0\]\.name/],
    [[{ ...provider, name: 'builtin' }], /^AI_UPSTREAMS\[0\]\.name .* reserved/],
    [[{ ...provider, base_url: 'ftp://canary' }], /^AI_UPSTREAMS\[0\]\.base_url/],
    [[{ ...provider, base_url: 'http://user:canary@h/v1' }], /^AI_UPSTREAMS\[0\]\.base_url/],
    [[{ ...provider, api_key: 'sk canary\n' }], /^AI_UPSTREAMS\[0\]\.api_key/],
    [
      [{ ...provider, models: [{ id: 'm' }, { id: 'extractive-1' }] }],
      /^AI_UPSTREAMS\[0\]\.models\[1\]\.id .* reserved/,
    ],
    [
      [{ ...provider, models: [{ id: 'm', context_window: 0 }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\]\.context_window/,
    ],
    [
      [{ ...provider, models: [{ id: 'm', max_output_tokens: '9' }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\]\.max_output_tokens/,
    ],
    [
      [{ ...provider, models: [{ id: 'm', input_price: 1 }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\] must have both/,
    ],
    [
      [{ ...provider, models: [{ id: 'm', input_price: -1, output_price: 1 }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\]\.input_price/,
    ],
    [[{ ...provider, embeddings: { model: 'e' } }], /^AI_UPSTREAMS\[0\]\.embeddings\.dimensions/],
    [[provider, { ...provider, models: [] }], /^AI_UPSTREAMS: two providers have the same name/],
    [
      [{ ...provider, models: [{ id: 'm' }, { id: 'm' }] }],
      /^AI_UPSTREAMS: two models of one have the same id/,
    ],
    [
      [
        { ...provider, embeddings: { model: 'e', dimensions: 3 } },
        { name: 'two', base_url: 'http://h', embeddings: { model: 'e', dimensions: 4 } },
      ],
      /^AI_UPSTREAMS: all `embeddings` must have the same/,
    ],
  ]
  for (const [value, message] of cases) {
    try {
      readConfig({ AI_UPSTREAMS: typeof value === 'string' ? value : JSON.stringify(value) })
      t.fail(`${JSON.stringify(value)} was accepted`)
    } catch (error) {
      t.ok(error instanceof ConfigError)
      t.match((error as Error).message, message)
      t.notMatch((error as Error).message, /canary/)
    }
  }
  t.throws(() => readConfig({ AI_DEFAULT_MODEL: 'none' }), /^AI_DEFAULT_MODEL must be one of extractive-1/)
  t.throws(() => readConfig({ AI_RETRIES: '-1' }), /^AI_RETRIES/)
})

t.test('texts are embedded in order and in batches, and similar texts have similar vectors', async (t) => {
  const { modelServer, providers, reports } = await open(t)
  const texts = [
    'events are kept for thirty days',
    'for how many days are events kept',
    'the harbour was empty',
    ...Array.from({ length: 67 }, (_, i) => `text ${i}`),
  ]
  const vectors = await providers.embed!(texts)
  t.equal(vectors.length, 70)
  t.ok(vectors.every((vector) => Array.isArray(vector) && vector.length === 64))
  const near = (a: number[], b: number[]): number => a.reduce((sum, number, i) => sum + number * b[i], 0)
  t.ok(near(vectors[0], vectors[1]) > near(vectors[0], vectors[2]) + 0.2)
  t.same(
    modelServer.requests.map(({ body }) => body.input.length),
    [32, 32, 6],
  )
  t.match(modelServer.requests[0].body, { model: 'embedder', dimensions: 64, encoding_format: 'base64' })
  t.same(await providers.embed!([]), [])
  t.same(
    (await providers.embed!(texts.slice(60))).map((v) => v[0]),
    vectors.slice(60).map((v) => v[0]),
  )
  modelServer.script = { floats: true }
  const [floats] = await providers.embed!(['text 5'])
  t.ok(near(floats, vectors[8]) > 0.999, 'a server without base64')
  t.same(reports, [])
})

t.test('embeddings of a server that rejects dimensions, is busy, or answers in a wrong format', async (t) => {
  const { modelServer, providers, reports } = await open(t)
  modelServer.nextScripts.push({ fault: { kind: 'status', status: 500 } }, { fault: { kind: 'reset' } })
  t.equal((await providers.embed!(['x'])).length, 1)
  modelServer.script = { rejects: ['dimensions', 'encoding_format=base64'] }
  modelServer.requests.length = 0
  t.equal((await providers.embed!(['x']))[0].length, 64)
  t.equal((await providers.embed!(['x'])).length, 1)
  t.equal(modelServer.requests.length, 4)
  t.same(reports, [])
  const answer = (data: unknown): Script => ({
    fault: { kind: 'status', status: 200, body: { object: 'list', data } },
  })
  for (const script of [
    answer([]),
    answer([{ index: 0, embedding: [1] }]),
    answer([{ index: 7, embedding: Array(64).fill(0) }]),
    answer([{ index: 0, embedding: Array(64).fill('canary') }]),
    answer(null),
    answer([null]),
    answer([{ index: 0 }]),
    answer([{ index: 0, embedding: 'canary' }]),
    { fault: { kind: 'status', status: 200, body: '<p>canary' } },
  ] as Script[]) {
    modelServer.script = script
    reports.length = 0
    await t.rejects(providers.embed!(['x']), { code: 'UNAVAILABLE' }, JSON.stringify(script).slice(0, 100))
    t.equal(reports.length, 1)
    t.notMatch(reports[0], /canary/)
  }
  modelServer.script = { fault: { kind: 'hang' } }
  const controller = new AbortController()
  const embedding = providers.embed!(['x'], controller.signal)
  await waitUntil(() => modelServer.openRequests === 1)
  controller.abort(new Error('gone'))
  await t.rejects(embedding, { message: 'gone' })
  await waitUntil(() => modelServer.openRequests === 0)
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
})

t.test('the official client accepts the fake model server', async (t) => {
  const modelServer = await startModelServer(t)
  const client = new OpenAI({ baseURL: modelServer.url, apiKey: modelServer.key, maxRetries: 0 })
  const question = { model: 'small', messages: [{ role: 'user' as const, content: 'hello' }] }
  t.same(
    (await client.models.list()).data.map(({ id, object }) => [id, object]),
    [
      ['small', 'model'],
      ['large', 'model'],
    ],
  )
  t.match(await client.models.retrieve('large'), { id: 'large', object: 'model' })
  const whole = await client.chat.completions.create(question)
  t.match(whole, {
    object: 'chat.completion',
    id: /^chatcmpl-/,
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'I have heard: hello' } },
    ],
    usage: { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 },
  })
  t.match(whole._request_id, /^req_/)
  const final = await client.chat.completions
    .stream({ ...question, stream_options: { include_usage: true } })
    .finalChatCompletion()
  t.match(final, {
    choices: [{ finish_reason: 'stop', message: { content: 'I have heard: hello' } }],
    usage: { total_tokens: 11 },
  })
  const chunks = []
  for await (const chunk of await client.chat.completions.create({ ...question, stream: true }))
    chunks.push(chunk)
  t.match(chunks[0], {
    object: 'chat.completion.chunk',
    choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: null }],
  })
  t.equal(new Set(chunks.map(({ id }) => id)).size, 1)
  t.ok(
    chunks.every(({ usage, choices }) => usage === undefined && choices.length === 1),
    'usage only on request',
  )
  const {
    data: [{ embedding }],
    usage,
  } = await client.embeddings.create({ model: 'embedder', input: 'a b c', dimensions: 16 })
  t.equal(embedding.length, 16)
  t.equal(usage.total_tokens, 3)
  const {
    data: [float],
  } = await client.embeddings.create({
    model: 'embedder',
    input: 'a b c',
    dimensions: 16,
    encoding_format: 'float',
  })
  t.ok(float.embedding.every((number, i) => Math.abs(number - embedding[i]) < 1e-6))

  const refused = async (work: Promise<unknown>): Promise<APIError> =>
    (await work.then(
      () => t.fail('the request succeeded'),
      (error) => error,
    )) as APIError
  t.match(await refused(client.chat.completions.create({ ...question, model: 'none' })), {
    constructor: OpenAI.NotFoundError,
    code: 'model_not_found',
  })
  t.match(await refused(client.chat.completions.create({ ...question, messages: [] })), {
    constructor: OpenAI.BadRequestError,
    param: 'messages',
  })
  t.match(
    await refused(client.chat.completions.create({ ...question, max_tokens: 1, max_completion_tokens: 1 })),
    { constructor: OpenAI.BadRequestError },
  )
  t.match(await refused(client.withOptions({ apiKey: 'wrong' }).models.list()), {
    constructor: OpenAI.AuthenticationError,
    code: 'invalid_api_key',
  })
  modelServer.script = { fault: { kind: 'status', status: 429, headers: { 'retry-after-ms': '10' } } }
  t.match(await refused(client.chat.completions.create(question)), { constructor: OpenAI.RateLimitError })
  modelServer.requests.length = 0
  t.match(await refused(client.chat.completions.create(question, { maxRetries: 2 })), {
    constructor: OpenAI.RateLimitError,
  })
  t.equal(modelServer.requests.length, 3, 'the retries of the client')
  modelServer.script = { fault: { kind: 'reset' } }
  t.match(await refused(client.chat.completions.create(question)), { constructor: OpenAI.APIConnectionError })
  modelServer.script = { fault: { kind: 'hang' } }
  t.match(await refused(client.chat.completions.create(question, { timeout: 100 })), {
    constructor: OpenAI.APIConnectionTimeoutError,
  })
  modelServer.script = { fault: { kind: 'error', after: 1 } }
  t.match(await refused(client.chat.completions.stream(question).finalChatCompletion()), {
    constructor: APIError,
    type: 'server_error',
  })
  await waitUntil(() => modelServer.aborted.length === 1)
})
