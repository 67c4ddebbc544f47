// Configured servers of models: what they answer arrives whole, whatever form it comes in; whatever they do wrong ends soon,
// with the right error and nothing of theirs in it; and nobody's leaving keeps them at work.
import { getEventListeners } from 'node:events'
import { createServer } from 'node:net'
import OpenAI, { APIError } from 'openai'
import t, { type Test } from 'tap'
import {
  createUpstreams,
  type CompletionRequest,
  type Upstreams,
  type UpstreamsConfig,
} from '../../services/ai/providers/providers.ts'
import { createHabits } from '../../services/ai/providers/quirks.ts'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import { ApiError } from '../../infra/errors.ts'
import {
  openUpstream,
  type Fault,
  type Oddity,
  type Script,
  type Upstream,
  type UpstreamOptions,
} from '../../scripts/bench/model-server.ts'
import { waitUntil } from '../support/wait.ts'

const secret = 'sk-stand-in-canary'
const prompt = 'prompt-canary'

interface Opened {
  upstream: Upstream
  upstreams: Upstreams
  reports: string[]
}

async function open(
  t: Test,
  options: UpstreamOptions = {},
  config: Partial<UpstreamsConfig> = {},
): Promise<Opened> {
  const upstream = await openUpstream(t, { key: secret, ...options })
  return { upstream, ...connect(t, { AI_UPSTREAMS: upstream.setting }, config) }
}

function connect(
  t: Test,
  env: Record<string, string>,
  config: Partial<UpstreamsConfig> = {},
): Omit<Opened, 'upstream'> {
  const reports: string[] = []
  const upstreams = createUpstreams(
    { ...readConfig(env), ...config },
    { onError: (error) => reports.push(`${error.stack} ${JSON.stringify(error)}`) },
  )
  t.teardown(() => upstreams.close())
  return { upstreams, reports }
}

interface Read {
  text: string
  deltas: number
  end: { finishReason: string; usage: object | null } | null
  error: any
}

async function read(upstreams: Upstreams, request: Partial<CompletionRequest> = {}): Promise<Read> {
  const result: Read = { text: '', deltas: 0, end: null, error: null }
  const whole: CompletionRequest = {
    model: 'small',
    turns: [{ role: 'user', content: `${prompt} hello` }],
    signal: new AbortController().signal,
    ...request,
  }
  try {
    for await (const piece of upstreams.complete(whole)) {
      if ('end' in piece) {
        result.end = piece.end
      } else {
        result.deltas++
        result.text += piece.delta
      }
    }
  } catch (error) {
    result.error = error
  }
  return result
}

function isUnavailable(t: Test, { error }: Read, reports: string[]): void {
  t.ok(error instanceof ApiError, 'an error of the API')
  t.match({ status: error?.status, code: error?.code }, { status: 503, code: 'UNAVAILABLE' })
  t.match(error?.headers['retry-after'], /^\d+$/)
  t.notMatch(`${error?.message} ${JSON.stringify(error?.details)} ${reports.join()}`, /canary/)
}

t.test('an answer arrives in pieces, with its end and its usage', async (t) => {
  const { upstream, upstreams, reports } = await open(t)
  const { text, deltas, end, error } = await read(upstreams, {
    turns: [
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
  t.equal(deltas, 7)
  t.same(end, { finishReason: 'stop', usage: { promptTokens: 15, completionTokens: 7 } })
  const [asked] = upstream.asked
  t.same(asked.body, {
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
  t.equal(asked.headers.authorization, `Bearer ${secret}`)
  t.equal(asked.headers['x-client-request-id'], 'req-1')
  t.equal(asked.outcome, 'answered')
  t.same(reports, [])
})

t.test('what ends an answer early is told', async (t) => {
  const { upstreams } = await open(t, {
    script: (asked) =>
      asked.body.messages.at(-1).content === 'filter'
        ? { answer: 'one', finishReason: 'content_filter' }
        : { answer: 'one two three four' },
  })
  t.match(await read(upstreams, { maxTokens: 2 }), {
    text: 'one two',
    end: { finishReason: 'length', usage: { completionTokens: 2 } },
  })
  t.match(await read(upstreams, { stop: [' three'] }), { text: 'one two', end: { finishReason: 'stop' } })
  t.match(await read(upstreams, { turns: [{ role: 'user', content: 'filter' }] }), {
    text: 'one',
    end: { finishReason: 'content_filter' },
  })
})

t.test('an answer is the same in whatever form it comes', async (t) => {
  const forms: Oddity[][] = [
    ['crlf'],
    ['comments'],
    ['crlf', 'comments', 'cut'],
    ['empty_choices'],
    ['unknown_fields'],
    ['no_done'],
    ['no_usage'],
    ['no_role'],
    ['usage_in_every_chunk'],
    ['cut'],
    ['cut', 'empty_choices', 'no_done', 'unknown_fields', 'no_usage', 'no_role'],
  ]
  const { upstream, upstreams } = await open(t)
  for (const odd of forms) {
    upstream.script = {
      answer: 'Žluťoučký kůň 🐎 said "ok" \\ 日本語\n',
      odd,
      usage: { prompt_tokens: 5, completion_tokens: 6 },
    }
    const { text, end, error } = await read(upstreams)
    t.equal(error, null, odd.join())
    t.equal(text, 'Žluťoučký kůň 🐎 said "ok" \\ 日本語\n', odd.join())
    t.same(
      end,
      {
        finishReason: 'stop',
        usage: odd.includes('no_usage') ? null : { promptTokens: 5, completionTokens: 6 },
      },
      odd.join(),
    )
  }
})

t.test('a character cut in two is put together, and what no text can hold is replaced', async (t) => {
  const { upstreams } = await open(t, {
    script: { pieces: ['a\ud83d', '\udc4b', 'b\ud83d', 'c\0', '\udc4b', 'z\ud83d'] },
  })
  const { text } = await read(upstreams)
  t.equal(text, 'a👋b\ufffdc\ufffd\ufffdz\ufffd')
  t.ok(text.isWellFormed())
})

t.test(
  'what an upstream does wrong ends in time, with the right error, and leaves nothing open',
  async (t) => {
    const times = { aiTimeout: 20, aiFirstTokenTimeout: 1, aiIdleTimeout: 0.5, aiRetries: 0 }
    interface Case {
      name: string
      script: Script
      text?: string | RegExp
      within?: number
      config?: Partial<UpstreamsConfig>
      told: RegExp
    }
    const fault = (fault: Fault, more: Script = {}): Script => ({
      answer: 'one two three four',
      fault,
      ...more,
    })
    const cases: Case[] = [
      {
        name: 'a hang before the head',
        script: fault({ kind: 'hang' }),
        within: 1,
        told: /did not begin within 1 s/,
      },
      {
        name: 'a hang before the first piece',
        script: fault({ kind: 'hang', after: 0 }),
        within: 1,
        told: /did not begin within 1 s/,
      },
      {
        name: 'a hang after two pieces',
        script: fault({ kind: 'hang', after: 2 }),
        text: 'one two',
        within: 0.5,
        told: /stopped for 0.5 s/,
      },
      { name: 'a reset before the head', script: fault({ kind: 'reset' }), told: /no connection \(/ },
      {
        name: 'a reset before the first piece',
        script: fault({ kind: 'reset', after: 0 }),
        told: /connection ended|no connection/,
      },
      {
        name: 'a reset after two pieces',
        script: fault({ kind: 'reset', after: 2 }),
        text: 'one two',
        told: /connection ended \(/,
      },
      {
        name: 'an end after two pieces',
        script: fault({ kind: 'end', after: 2 }),
        text: 'one two',
        told: /has no end/,
      },
      {
        name: 'bytes one by one',
        script: fault({ kind: 'drip', bytesPerSecond: 50 }),
        within: 1,
        told: /did not begin/,
      },
      {
        name: 'pieces so slow that it would take too long',
        script: { answer: 'one '.repeat(1000), piecesPerSecond: 10 },
        text: /^one/,
        config: { aiTimeout: 1.5 },
        within: 1.5,
        told: /took more than 1.5 s/,
      },
      { name: 'broken JSON first', script: fault({ kind: 'broken_json' }), told: /is no JSON/ },
      {
        name: 'broken JSON after two pieces',
        script: fault({ kind: 'broken_json', after: 2 }),
        text: 'one two',
        told: /is no JSON/,
      },
      {
        name: 'an error first',
        script: fault({ kind: 'error' }),
        told: /ended the answer with an error \(server_error\)/,
      },
      {
        name: 'an error after two pieces',
        script: fault({ kind: 'error', after: 2, error: { message: `${prompt} leaked`, code: 'canary' } }),
        text: 'one two',
        told: /ended the answer with an error/,
      },
      {
        name: 'a chunk of another form',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: 'data: {"choices":{"canary":1}}\n\ndata: [DONE]\n\n',
        }),
        told: /no list of choices/,
      },
      {
        name: 'content of another form',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: 'data: {"choices":[{"delta":{"content":["canary"]}}]}\n\ndata: [DONE]\n\n',
        }),
        told: /is no text/,
      },
      {
        name: 'nothing but null',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/event-stream' },
          body: 'data: null\n\ndata: [DONE]\n\n',
        }),
        told: /another form/,
      },
      {
        name: 'a page instead',
        script: fault({
          kind: 'status',
          status: 200,
          headers: { 'content-type': 'text/html' },
          body: '<p>canary</p>',
        }),
        told: /has no end/,
      },
      {
        name: 'an end for no known reason',
        script: { answer: 'one', finishReason: 'canary' },
        text: 'one',
        told: /a reason that is none/,
      },
      {
        name: 'an event without an end',
        script: fault({ kind: 'endless_event' }),
        told: /too large/,
        config: { aiFirstTokenTimeout: 20 },
      },
      {
        name: '500',
        script: fault({ kind: 'status', status: 500 }),
        told: /answered 500 \(server_error\), its request req_/,
      },
      {
        name: '503 in plain text',
        script: fault({ kind: 'status', status: 503, body: 'canary' }),
        told: /answered 503/,
      },
      {
        name: 'a redirect',
        script: fault({ kind: 'status', status: 307, headers: { location: '/v1/elsewhere' }, body: '' }),
        told: /answered 307/,
      },
      {
        name: 'a model that is not there',
        script: fault({
          kind: 'status',
          status: 404,
          body: { error: { message: 'canary', code: 'model_not_found' } },
        }),
        told: /answered 404 \(model_not_found\)/,
      },
      {
        name: 'a parameter that is wrong',
        script: fault({
          kind: 'status',
          status: 400,
          body: { error: { message: 'canary', type: 'invalid_request_error' } },
        }),
        told: /answered 400 \(invalid_request_error\)/,
      },
      {
        name: '422',
        script: fault({
          kind: 'status',
          status: 422,
          body: { detail: [{ loc: ['body', 'canary'], msg: 'canary' }] },
        }),
        told: /answered 422/,
      },
      {
        name: 'a bill that is not paid',
        script: fault({
          kind: 'status',
          status: 429,
          body: { error: { message: 'canary', code: 'insufficient_quota' } },
        }),
        told: /answered 429 \(insufficient_quota\)/,
      },
      { name: '403', script: fault({ kind: 'status', status: 403, body: 'canary' }), told: /answered 403/ },
    ]
    await Promise.all(
      cases.map(async ({ name, script, text = '', within = 0, config, told }) => {
        const { upstream, upstreams, reports } = await open(t, { script }, { ...times, ...config })
        const started = Date.now()
        const got = await read(upstreams)
        const took = Date.now() - started
        isUnavailable(t, got, reports)
        t.match(
          got.text,
          text instanceof RegExp ? text : new RegExp(`^${text}$`),
          `${name}: what came before it is passed on`,
        )
        t.equal(got.end, null, name)
        t.ok(took >= within * 1000 - 50 && took < within * 1000 + 10_000, `${name}: after ${took} ms`)
        t.equal(reports.length, 1, `${name}: told once`)
        t.match(reports[0], told, name)
        t.match(reports[0], /upstream standin .* model small/, name)
        t.equal(upstream.asked.length, 1, `${name}: asked once`)
        await waitUntil(() => upstream.open === 0, 'the request to be over')
      }),
    )
  },
)

t.test('nobody listens, or the name is unknown', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => closed.once('listening', resolve))
  const { port } = closed.address() as { port: number }
  await new Promise((resolve) => closed.close(resolve))
  const settings = (base: string): string =>
    JSON.stringify([{ name: 'gone', base_url: base, models: [{ id: 'small' }] }])
  const refused = connect(t, { AI_UPSTREAMS: settings(`http://127.0.0.1:${port}/v1`) }, { aiRetries: 1 })
  isUnavailable(t, await read(refused.upstreams), refused.reports)
  t.match(refused.reports, [/no connection \(ECONNREFUSED\)/])
  const unknown = connect(t, { AI_UPSTREAMS: settings('http://nowhere.invalid/v1') }, { aiRetries: 0 })
  isUnavailable(t, await read(unknown.upstreams), unknown.reports)
  t.match(unknown.reports, [/no connection \(E/])
})

t.test("a wrong key is the operator's matter", async (t) => {
  const { upstream, upstreams, reports } = await open(t)
  upstream.key = 'another'
  isUnavailable(t, await read(upstreams), reports)
  t.match(reports, [/answered 401 \(invalid_api_key\), its request req_\w+\./])
  t.equal(upstream.asked.length, 1)
})

t.test('what fails before the answer has begun is tried again, so often and no more', async (t) => {
  const again: Script[] = [
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
    again.map(async (script) => {
      const { upstream, upstreams, reports } = await open(t, {}, { aiRetries: 2 })
      upstream.next.push(script, script)
      t.match(
        await read(upstreams),
        { text: `I have heard: ${prompt} hello`, end: { finishReason: 'stop' }, error: null },
        JSON.stringify(script),
      )
      t.equal(upstream.asked.length, 3)
      if (script !== again[1]) t.ok(upstream.asked[2].at - upstream.asked[1].at >= 450, 'after a pause')
      t.same(reports, [])
    }),
  )
  const { upstream, upstreams, reports } = await open(t, { script: again[0] }, { aiRetries: 1 })
  isUnavailable(t, await read(upstreams), reports)
  t.equal(upstream.asked.length, 2)
  t.equal(reports.length, 1)
})

t.test('nothing is tried again when the answer has begun, or it would not help', async (t) => {
  const never: Script[] = [
    { pieces: ['one', 'two'], fault: { kind: 'reset', after: 1 } },
    { pieces: ['one', 'two'], fault: { kind: 'error', after: 1 } },
    { pieces: ['one', 'two'], fault: { kind: 'end', after: 1 } },
    { fault: { kind: 'status', status: 400 } },
    { fault: { kind: 'status', status: 403 } },
    { fault: { kind: 'status', status: 404 } },
    { fault: { kind: 'broken_json' } },
  ]
  for (const script of never) {
    const { upstream, upstreams } = await open(t, { script })
    t.match(await read(upstreams), { error: { status: 503 } })
    t.equal(upstream.asked.length, 1, JSON.stringify(script))
  }
})

t.test('a busy upstream is waited for as long as it says, within reason', async (t) => {
  const busy = (headers: Record<string, string>): Script => ({
    fault: {
      kind: 'status',
      status: 429,
      headers,
      body: { error: { message: prompt, code: 'rate_limit_exceeded' } },
    },
  })
  const { upstream, upstreams, reports } = await open(t)
  upstream.next.push(busy({ 'retry-after': '1' }))
  t.match(await read(upstreams), { error: null })
  t.ok(upstream.asked[1].at - upstream.asked[0].at >= 990, 'as it said')

  for (const [headers, seconds] of [
    [{ 'retry-after': '120' }, '120'],
    [{ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }, /^(59|60)$/],
    [{ 'retry-after': '999999999' }, '3600'],
  ] as const) {
    upstream.asked.length = 0
    upstream.next.push(busy({ ...headers }))
    const { error } = await read(upstreams)
    t.match(error, { status: 429, code: 'RATE_LIMITED', headers: { 'retry-after': seconds } })
    t.notMatch(`${error.message} ${JSON.stringify(error.details)}`, /canary/)
    t.equal(upstream.asked.length, 1)
  }
  const { upstreams: without } = await open(t, { script: busy({ 'retry-after': 'soon' }) }, { aiRetries: 0 })
  t.match((await read(without)).error, { status: 429, headers: { 'retry-after': '5' } })
  t.same(reports, [])
})

t.test('what the caller has asked too much of is 400', async (t) => {
  const refusals: Array<[unknown, string, string]> = [
    [
      {
        error: {
          message:
            "This model's maximum context length is 8000 tokens. However, your messages resulted in 9001 tokens.",
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
            'max_tokens is too large: 999. This model supports at most 500 completion tokens, whereas you provided 999.',
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
            "'max_tokens' or 'max_completion_tokens' is too large: 999. This model's maximum context length is 500 tokens and your request has 12 input tokens",
          code: 400,
        },
      },
      'max_tokens',
      'maximum',
    ],
  ]
  for (const [body, field, constraint] of refusals) {
    const { upstream, upstreams, reports } = await open(t, {
      script: { fault: { kind: 'status', status: 400, body } },
    })
    t.match(
      (await read(upstreams, { maxTokens: 999 })).error,
      { status: 400, code: 'INVALID_REQUEST', details: { field, constraint } },
      JSON.stringify(body),
    )
    t.equal(upstream.asked.length, 1)
    t.same(reports, [])
  }
  const { upstream, upstreams } = await open(t, { script: { refuses: ['temperature', 'stop'] } })
  t.match((await read(upstreams, { maxTokens: 1001 })).error, {
    status: 400,
    details: { field: 'max_tokens', constraint: 'maximum' },
  })
  t.equal(upstream.asked.length, 0, 'what is configured is not asked for')
  t.match((await read(upstreams, { temperature: 0.1 })).error, {
    status: 400,
    details: { field: 'temperature', constraint: 'unsupported' },
  })
  t.match((await read(upstreams, { stop: ['x'] })).error, {
    status: 400,
    details: { field: 'stop', constraint: 'unsupported' },
  })
  t.match(await read(upstreams), { error: null })
})

t.test('a server that knows a field by another name, or not at all, is asked so from then on', async (t) => {
  const { upstream, upstreams, reports } = await open(
    t,
    { script: { refuses: ['stream_options', 'max_tokens'] } },
    { aiRetries: 0 },
  )
  t.match(await read(upstreams, { maxTokens: 2 }), {
    text: 'I have',
    end: { finishReason: 'length', usage: null },
    error: null,
  })
  t.equal(upstream.asked.length, 3)
  t.match(await read(upstreams, { maxTokens: 2 }), { text: 'I have', error: null })
  t.equal(upstream.asked.length, 4)
  t.same(Object.keys(upstream.asked[3].body), ['model', 'messages', 'stream', 'max_completion_tokens'])
  t.same(reports, [])
})

t.test('a server that repeats what a user wrote teaches nothing by it', async (t) => {
  const { upstream, upstreams } = await open(
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
  t.ok((await read(upstreams, { maxTokens: 2, temperature: 1 })).error)
  t.equal(upstream.asked.length, 1)
  upstream.script = {}
  await read(upstreams, { maxTokens: 2 })
  t.match(upstream.asked[1].body, { stream_options: { include_usage: true }, max_tokens: 2 })
})

t.test('what was learnt of a server is forgotten after some minutes', async (t) => {
  let now = 0
  const habits = createHabits({ usage: true, limit: 'max_tokens' }, { clock: () => now })
  habits.learn({ usage: false })
  now += 60_000
  habits.learn({ limit: 'max_completion_tokens' })
  t.same(habits.now(), { usage: false, limit: 'max_completion_tokens' })
  now += 600_000
  t.same(habits.now(), { usage: true, limit: 'max_tokens' })
  habits.learn({ limit: 'max_completion_tokens' })
  t.same(habits.now(), { usage: true, limit: 'max_completion_tokens' })
})

t.test('an answer without an end is cut off', async (t) => {
  const { upstream, upstreams, reports } = await open(t, {
    script: { fault: { kind: 'endless', piece: 'x'.repeat(100) } },
  })
  const limited = await read(upstreams, { maxTokens: 10 })
  t.match(limited, { end: { finishReason: 'length', usage: null }, error: null })
  t.equal(limited.text.length, 10 * 32 + 4096)
  const whole = await read(upstreams)
  t.equal(whole.text.length, 1000 * 32 + 4096, 'the limit of the model')
  upstream.script = { fault: { kind: 'endless', piece: '🐎'.repeat(50_000) } }
  const unlimited = await read(upstreams, { model: 'large' })
  t.equal(unlimited.text.length, 4_000_000)
  t.ok(unlimited.text.isWellFormed())
  await waitUntil(() => upstream.open === 0)
  t.equal(upstream.aborted.length, 3)
  t.equal(reports.length, 3)
})

t.test('an answer that is whole is not lost for what comes after it', async (t) => {
  const { upstreams, reports } = await open(
    t,
    { script: { answer: 'all of it', fault: { kind: 'lingering' } } },
    { aiTimeout: 1.5 },
  )
  t.match(await read(upstreams), {
    text: 'all of it',
    end: { finishReason: 'stop', usage: { completionTokens: 3 } },
    error: null,
  })
  t.same(reports, [])
})

t.test('thinking is no silence', async (t) => {
  const { upstreams } = await open(
    t,
    { script: { thoughts: Array.from({ length: 8 }, () => 'hm'), piecesPerSecond: 4, answer: 'yes' } },
    { aiFirstTokenTimeout: 1.5, aiIdleTimeout: 1.5 },
  )
  t.match(await read(upstreams), { text: 'yes', error: null })
})

t.test('a reader who is slow is no silence of the upstream', async (t) => {
  const { upstreams } = await open(
    t,
    { script: { answer: 'one two three' } },
    { aiIdleTimeout: 0.3, aiFirstTokenTimeout: 5 },
  )
  let text = ''
  for await (const piece of upstreams.complete({
    model: 'small',
    turns: [{ role: 'user', content: 'x' }],
    signal: new AbortController().signal,
  })) {
    if ('delta' in piece) text += piece.delta
    await new Promise((resolve) => setTimeout(resolve, 400))
  }
  t.equal(text, 'one two three')
})

t.test('leaving ends the work of the upstream at once, and leaves no listener behind', async (t) => {
  const scripts: Script[] = [
    { fault: { kind: 'hang' } },
    { fault: { kind: 'hang', after: 0 } },
    { pieces: ['one', 'two'], fault: { kind: 'hang', after: 1 } },
    { answer: 'on '.repeat(1000), piecesPerSecond: 50 },
  ]
  for (const script of scripts) {
    const { upstream, upstreams, reports } = await open(t, { script })
    const controller = new AbortController()
    const reading = read(upstreams, { signal: controller.signal })
    await waitUntil(
      () =>
        upstream.asked.length === 1 &&
        upstream.asked[0].body !== undefined &&
        (script.answer === undefined || upstream.asked[0].pieces > 3),
    )
    const reason = new Error('gone')
    const left = Date.now()
    controller.abort(reason)
    t.equal((await reading).error, reason)
    await waitUntil(
      () => upstream.aborted.length === 1 && upstream.connections === 0,
      'the upstream to see it',
    )
    t.ok(upstream.aborted[0].endedAt! - left < 2_000, `after ${upstream.aborted[0].endedAt! - left} ms`)
    t.equal(getEventListeners(controller.signal, 'abort').length, 0)
    t.same(reports, [])
  }
})

t.test('leaving the loop, and leaving between tries and before the first, end it too', async (t) => {
  const { upstream, upstreams } = await open(t, {
    script: { answer: 'on '.repeat(1000), piecesPerSecond: 50 },
  })
  const { signal } = new AbortController()
  for await (const piece of upstreams.complete({
    model: 'small',
    turns: [{ role: 'user', content: 'x' }],
    signal,
  })) {
    if ('delta' in piece) break
  }
  await waitUntil(() => upstream.aborted.length === 1 && upstream.connections === 0)
  t.equal(getEventListeners(signal, 'abort').length, 0)

  upstream.script = { fault: { kind: 'status', status: 500, headers: { 'retry-after': '9' } } }
  const between = new AbortController()
  const reading = read(upstreams, { signal: between.signal })
  await waitUntil(() => upstream.asked.length === 2)
  between.abort()
  t.match((await reading).error, { name: 'AbortError' })
  t.match((await read(upstreams, { signal: AbortSignal.abort() })).error, { name: 'AbortError' })
  t.equal(upstream.asked.length, 2)
  for (let i = 0; i < 20; i++)
    await read(upstreams, {
      signal,
      model: 'small',
      turns: [{ role: 'user', content: 'x' }],
      maxTokens: 1001,
    })
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

t.test('what is under way when it closes ends, and nothing begins after that', async (t) => {
  const { upstream, upstreams } = await open(t, {
    script: { answer: 'on '.repeat(1000), piecesPerSecond: 50 },
  })
  const reading = read(upstreams)
  await waitUntil(() => upstream.asked[0]?.pieces > 3)
  await upstreams.close()
  t.match(await reading, { error: { status: 503 } })
  t.throws(() => upstreams.complete({ model: 'small', turns: [], signal: new AbortController().signal }), {
    code: 'UNAVAILABLE',
  })
  await waitUntil(() => upstream.connections === 0)
  t.equal(upstream.asked.length, 1)
})

t.test('a thousand answers at once, half of whose readers leave', async (t) => {
  const go = Promise.withResolvers<void>()
  const { upstream, upstreams, reports } = await open(t, { script: { answer: 'a b c d', when: go.promise } })
  const controllers = Array.from({ length: 1000 }, () => new AbortController())
  const started = Date.now()
  const reading = controllers.map(({ signal }) => read(upstreams, { signal }))
  await waitUntil(
    () => upstream.open === 1000 && upstream.asked.every(({ body }) => body !== undefined),
    'all to be under way',
  )
  const left = Date.now()
  for (const controller of controllers.slice(500)) controller.abort()
  await waitUntil(() => upstream.aborted.length === 500, 'those to be over')
  const seen = Math.max(...upstream.aborted.map(({ endedAt }) => endedAt! - left))
  go.resolve()
  const results = await Promise.all(reading)
  t.comment(
    `all asked within ${left - started} ms, the last of 500 seen to leave after ${seen} ms, all over after ${Date.now() - started} ms`,
  )
  t.equal(
    results.slice(0, 500).filter(({ text, end }) => text === 'a b c d' && end?.finishReason === 'stop')
      .length,
    500,
  )
  t.ok(results.slice(500).every(({ error }) => error?.name === 'AbortError'))
  t.equal(upstream.mostOpen, 1000)
  t.same(reports, [])
})

t.test('the environment of the official client has no say', async (t) => {
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
  t.match(await read(keyless.upstreams), { error: null })
  t.match(await read(keyed.upstreams), { error: null })
  await keyed.upstreams.embed!(['x'])
  t.equal(keyless.upstream.asked[0].headers.authorization, undefined)
  t.equal(keyed.upstream.asked[0].headers.authorization, `Bearer ${secret}`)
  for (const { headers } of [...keyless.upstream.asked, ...keyed.upstream.asked]) {
    t.same(
      Object.keys(headers).filter((name) => /openai|other|stainless/.test(name)),
      [],
    )
  }
  t.equal(quiet().length, 0)
})

t.test('the models are those of the settings and the built-in one', async (t) => {
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
  const { upstreams } = connect(t, { AI_UPSTREAMS: setting })
  t.same(upstreams.models, [
    {
      id: 'b',
      provider: 'first',
      kind: 'language',
      context_window: 8000,
      max_output_tokens: 1000,
      is_default: true,
    },
    {
      id: 'a',
      provider: 'second',
      kind: 'language',
      context_window: null,
      max_output_tokens: null,
      is_default: false,
    },
    {
      id: 'extractive-1',
      provider: 'builtin',
      kind: 'extractive',
      context_window: null,
      max_output_tokens: null,
      is_default: false,
    },
  ])
  t.equal(upstreams.default, 'b')
  t.same(['a', 'b', 'extractive-1', 'c', '__proto__'].map(upstreams.has), [true, true, true, false, false])
  t.same(upstreams.priceOf('b'), { input: 0.25, output: 2 })
  t.equal(upstreams.priceOf('a'), null)
  t.equal(upstreams.priceOf('extractive-1'), null)
  t.equal(upstreams.embed, null)
  t.throws(
    () => upstreams.complete({ model: 'extractive-1', turns: [], signal: new AbortController().signal }),
    { code: 'INVALID_REQUEST' },
  )
  t.equal(connect(t, {}).upstreams.default, 'extractive-1')
  t.equal(connect(t, { AI_UPSTREAMS: setting, AI_DEFAULT_MODEL: 'a' }).upstreams.models[1].is_default, true)
})

t.test('settings that cannot be used are named, and their secrets are not repeated', async (t) => {
  const upstream = { name: 'one', base_url: 'http://h/v1', api_key: 'sk-canary', models: [{ id: 'm' }] }
  const cases: Array<[unknown, RegExp]> = [
    ['[{"api_key":"sk-canary"', /^AI_UPSTREAMS must be a JSON array\./],
    [{ canary: 1 }, /^AI_UPSTREAMS must be a JSON array\./],
    [['canary'], /^AI_UPSTREAMS\[0\] must be an object/],
    [[{ ...upstream, canary: 'canary' }], /^AI_UPSTREAMS\[0\] must have no fields other than name, base_url/],
    [[{ ...upstream, name: '' }], /^AI_UPSTREAMS\[0\]\.name/],
    [[{ ...upstream, name: 'builtin' }], /^AI_UPSTREAMS\[0\]\.name .* reserved/],
    [[{ ...upstream, base_url: 'ftp://canary' }], /^AI_UPSTREAMS\[0\]\.base_url/],
    [[{ ...upstream, base_url: 'http://user:canary@h/v1' }], /^AI_UPSTREAMS\[0\]\.base_url/],
    [[{ ...upstream, api_key: 'sk canary\n' }], /^AI_UPSTREAMS\[0\]\.api_key/],
    [
      [{ ...upstream, models: [{ id: 'm' }, { id: 'extractive-1' }] }],
      /^AI_UPSTREAMS\[0\]\.models\[1\]\.id .* reserved/,
    ],
    [
      [{ ...upstream, models: [{ id: 'm', context_window: 0 }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\]\.context_window/,
    ],
    [
      [{ ...upstream, models: [{ id: 'm', max_output_tokens: '9' }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\]\.max_output_tokens/,
    ],
    [
      [{ ...upstream, models: [{ id: 'm', input_price: 1 }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\] must have both/,
    ],
    [
      [{ ...upstream, models: [{ id: 'm', input_price: -1, output_price: 1 }] }],
      /^AI_UPSTREAMS\[0\]\.models\[0\]\.input_price/,
    ],
    [[{ ...upstream, embeddings: { model: 'e' } }], /^AI_UPSTREAMS\[0\]\.embeddings\.dimensions/],
    [[upstream, { ...upstream, models: [] }], /^AI_UPSTREAMS: two upstreams have the same name/],
    [[upstream, { ...upstream, name: 'two' }], /^AI_UPSTREAMS: two models have the same id/],
    [
      [
        { ...upstream, embeddings: { model: 'e', dimensions: 3 } },
        { name: 'two', base_url: 'http://h', embeddings: { model: 'e', dimensions: 3 } },
      ],
      /^AI_UPSTREAMS: only one upstream/,
    ],
  ]
  for (const [value, message] of cases) {
    try {
      readConfig({ AI_UPSTREAMS: typeof value === 'string' ? value : JSON.stringify(value) })
      t.fail(`${JSON.stringify(value)} was taken`)
    } catch (error) {
      t.ok(error instanceof ConfigError)
      t.match((error as Error).message, message)
      t.notMatch((error as Error).message, /canary/)
    }
  }
  t.throws(() => readConfig({ AI_DEFAULT_MODEL: 'none' }), /^AI_DEFAULT_MODEL must be one of extractive-1/)
  t.throws(() => readConfig({ AI_RETRIES: '-1' }), /^AI_RETRIES/)
})

t.test('texts become vectors, in order, in batches; similar ones are near', async (t) => {
  const { upstream, upstreams, reports } = await open(t)
  const texts = [
    'events are kept for thirty days',
    'for how many days are events kept',
    'the harbour was empty',
    ...Array.from({ length: 67 }, (_, i) => `text ${i}`),
  ]
  const vectors = await upstreams.embed!(texts)
  t.equal(vectors.length, 70)
  t.ok(vectors.every((vector) => Array.isArray(vector) && vector.length === 64))
  const near = (a: number[], b: number[]): number => a.reduce((sum, number, i) => sum + number * b[i], 0)
  t.ok(near(vectors[0], vectors[1]) > near(vectors[0], vectors[2]) + 0.2)
  t.same(
    upstream.asked.map(({ body }) => body.input.length),
    [32, 32, 6],
  )
  t.match(upstream.asked[0].body, { model: 'embedder', dimensions: 64, encoding_format: 'base64' })
  t.same(await upstreams.embed!([]), [])
  t.same(
    (await upstreams.embed!(texts.slice(60))).map((v) => v[0]),
    vectors.slice(60).map((v) => v[0]),
  )
  upstream.script = { floats: true }
  const [floats] = await upstreams.embed!(['text 5'])
  t.ok(near(floats, vectors[8]) > 0.999, 'a server that knows no base64')
  t.same(reports, [])
})

t.test('vectors of a server that refuses dimensions, is busy, or answers badly', async (t) => {
  const { upstream, upstreams, reports } = await open(t)
  upstream.next.push({ fault: { kind: 'status', status: 500 } }, { fault: { kind: 'reset' } })
  t.equal((await upstreams.embed!(['x'])).length, 1)
  upstream.script = { refuses: ['dimensions'] }
  upstream.asked.length = 0
  t.equal((await upstreams.embed!(['x']))[0].length, 64)
  t.equal((await upstreams.embed!(['x'])).length, 1)
  t.equal(upstream.asked.length, 3)
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
    upstream.script = script
    reports.length = 0
    await t.rejects(upstreams.embed!(['x']), { code: 'UNAVAILABLE' }, JSON.stringify(script).slice(0, 100))
    t.equal(reports.length, 1)
    t.notMatch(reports[0], /canary/)
  }
  upstream.script = { fault: { kind: 'hang' } }
  const controller = new AbortController()
  const embedding = upstreams.embed!(['x'], controller.signal)
  await waitUntil(() => upstream.open === 1)
  controller.abort(new Error('gone'))
  await t.rejects(embedding, { message: 'gone' })
  await waitUntil(() => upstream.open === 0)
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
})

t.test('the stand-in is taken for the real thing by the official client', async (t) => {
  const upstream = await openUpstream(t)
  const client = new OpenAI({ baseURL: upstream.url, apiKey: upstream.key, maxRetries: 0 })
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
    'usage only where it is asked for',
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
      () => t.fail('it was answered'),
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
  upstream.script = { fault: { kind: 'status', status: 429, headers: { 'retry-after-ms': '10' } } }
  t.match(await refused(client.chat.completions.create(question)), { constructor: OpenAI.RateLimitError })
  upstream.asked.length = 0
  t.match(await refused(client.chat.completions.create(question, { maxRetries: 2 })), {
    constructor: OpenAI.RateLimitError,
  })
  t.equal(upstream.asked.length, 3, 'its own tries')
  upstream.script = { fault: { kind: 'reset' } }
  t.match(await refused(client.chat.completions.create(question)), { constructor: OpenAI.APIConnectionError })
  upstream.script = { fault: { kind: 'hang' } }
  t.match(await refused(client.chat.completions.create(question, { timeout: 100 })), {
    constructor: OpenAI.APIConnectionTimeoutError,
  })
  upstream.script = { fault: { kind: 'error', after: 1 } }
  t.match(await refused(client.chat.completions.stream(question).finalChatCompletion()), {
    constructor: APIError,
    type: 'server_error',
  })
  t.equal(upstream.aborted.length, 1)
})
