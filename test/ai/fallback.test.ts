// Several providers of a model: one that is down is passed over before the first token and then left alone;
// what the request caused is not tried elsewhere; answers name their provider and what they cost.
import t, { type Test } from 'tap'
import { readConfig } from '../../infra/config/config.ts'
import { startModelServer, type ModelServer } from '../../scripts/bench/model-server.ts'
import type { Fault } from '../../scripts/bench/model-server/script.ts'
import { freePort } from '../../scripts/test/free-port.ts'
import { Circuit } from '../../services/ai/providers/fallback.ts'
import { createProviders, type Providers } from '../../services/ai/providers/providers.ts'
import { startServer } from '../support/server/server.ts'

const embeddings = { model: 'embedder', dimensions: 64 }

async function startServers(t: Test, names = ['first', 'second']): Promise<ModelServer[]> {
  return await Promise.all(names.map((name) => startModelServer(t, { name, embeddings })))
}

/** The value of AI_UPSTREAMS for all servers, each with `more`. */
function settingOf(servers: ModelServer[], more: object[] = []): string {
  const all = servers.map(({ setting }, i) => ({ ...JSON.parse(setting)[0], ...more[i] }))
  return JSON.stringify(all)
}

function connect(t: Test, setting: string, env: Record<string, string> = {}): Providers {
  const config = readConfig({ AI_UPSTREAMS: setting, AI_RETRIES: '0', ...env })
  const providers = createProviders(config)
  t.teardown(() => providers.close())
  return providers
}

/** The text, the provider, or the error of an answer. */
async function ask(providers: Providers, model = 'small') {
  let text = ''
  let provider = ''
  const request = {
    model,
    messages: [{ role: 'user' as const, content: 'hello' }],
    signal: new AbortController().signal,
    onProvider: (name: string) => (provider = name),
  }
  const error = await providers
    .complete(request, (more) => (text += more))
    .then(
      () => null,
      (error) => error,
    )
  return { text, provider, error }
}

const status = (status: number, body?: unknown): Fault => ({ kind: 'status', status, body })
const answered = { text: 'I have heard: hello', provider: 'second', error: null }

t.test('a provider that is down is passed over, and left alone afterwards', async (t) => {
  const faults: Fault[] = [
    status(503),
    status(429),
    status(401),
    status(404),
    status(400, { error: { message: 'Unknown model', code: 'model_not_found' } }),
    { kind: 'reset' },
  ]
  for (const fault of faults) {
    const [first, second] = await startServers(t)
    const providers = connect(t, settingOf([first, second]), { AI_RETRIES: '2' })
    first.script = { fault }
    t.match(await ask(providers), answered, JSON.stringify(fault))
    t.match(await Promise.all([ask(providers), ask(providers)]), [answered, answered])
    t.equal(first.requests.length, 1, `asked once: ${JSON.stringify(fault)}`)
    t.match(await ask(providers, 'large'), answered, 'each model is tried for itself')
  }
})

t.test('a provider that refuses connections, or does not answer, is passed over', async (t) => {
  const [silent, second] = await startServers(t)
  silent.script = { fault: { kind: 'hang' } }
  const dead = { base_url: `http://127.0.0.1:${await freePort()}/v1` }
  const third = { ...JSON.parse(silent.setting)[0], name: 'third', ...dead }
  const setting = JSON.stringify([third, ...JSON.parse(settingOf([silent, second]))])
  const providers = connect(t, setting, { AI_FIRST_TOKEN_TIMEOUT: '1' })
  t.match(await ask(providers), answered)
  const before = performance.now()
  t.match(await ask(providers), answered)
  t.ok(performance.now() - before < 900, 'the second request does not wait')
  t.equal(silent.requests.length, 1)
})

t.test('a fault of one request is passed over, and the provider is asked again', async (t) => {
  const [first, second] = await startServers(t)
  const providers = connect(t, settingOf([first, second]))
  first.nextScripts = [{ fault: status(500) }]
  t.match(await ask(providers), answered)
  t.match(await ask(providers), { ...answered, provider: 'first' })
})

t.test('what the request caused is not tried elsewhere', async (t) => {
  const [first, second] = await startServers(t)
  const providers = connect(t, settingOf([first, second]))
  const tooLong = { error: { message: 'too long', code: 'context_length_exceeded' } }
  for (const [fault, expected] of [
    [status(400, tooLong), { status: 400, details: { constraint: 'context_window' } }],
    [status(422, { error: { message: 'Bad tools' } }), { status: 503 }],
  ] as const) {
    first.nextScripts = [{ fault }]
    t.match((await ask(providers)).error, expected)
  }
  t.equal(second.requests.length, 0)
  t.match(await ask(providers), { provider: 'first', error: null })
})

t.test('an answer that has begun is not begun elsewhere', async (t) => {
  const [first, second] = await startServers(t)
  const providers = connect(t, settingOf([first, second]))
  first.nextScripts = [{ fault: { kind: 'reset', after: 2 } }]
  t.match(await ask(providers), { text: 'I have', provider: 'first', error: { status: 503 } })
  t.equal(second.requests.length, 0)
})

t.test('if all are down, the last one is retried, and its error is the answer', async (t) => {
  const [first, second] = await startServers(t)
  const providers = connect(t, settingOf([first, second]), { AI_RETRIES: '1' })
  first.script = second.script = { fault: status(503) }
  t.match((await ask(providers)).error, { status: 503, code: 'UNAVAILABLE' })
  t.equal(first.requests.length, 1)
  t.equal(second.requests.length, 2)
  first.script = second.script = {}
  t.match(await ask(providers), { error: null }, 'one of them is tried although both rest')
})

t.test('embeddings are computed elsewhere, but only by the same model', async (t) => {
  const [first] = await startServers(t, ['first'])
  const second = await startModelServer(t, { name: 'second', embeddings: { ...embeddings, model: 'v1' } })
  const renamed = { embeddings: { ...embeddings, upstream_id: 'v1' } }
  const providers = connect(t, settingOf([first, second], [{}, renamed]))
  const expected = await providers.embed!(['a harbour'])
  first.script = { fault: status(503) }
  t.same(await providers.embed!(['a harbour']), expected)
  t.same(await providers.embed!(['a harbour']), expected)
  t.equal(first.requests.length, 2)
  for (const other of [
    { model: 'other', dimensions: 64 },
    { ...embeddings, dimensions: 32 },
  ])
    t.throws(
      () => readConfig({ AI_UPSTREAMS: settingOf([first, second], [{}, { embeddings: other }]) }),
      /same `model` and `dimensions`/,
    )
})

t.test('a provider that is down rests longer each time, and one request tries it', (t) => {
  let now = 0
  const circuit = new Circuit(() => now)
  t.ok(circuit.rest <= 0)
  const rests = [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
  for (const rest of rests) {
    circuit.enter()
    circuit.failed({ retryAfter: null })
    circuit.failed({ retryAfter: null })
    t.equal(circuit.rest, rest, 'failures at once count once')
    now += rest
    t.ok(circuit.rest <= 0)
    circuit.enter()
    t.equal(circuit.rest, Infinity, 'others pass it over meanwhile')
  }
  circuit.left()
  t.ok(circuit.rest <= 0, 'an aborted request says nothing')
  circuit.answered()
  circuit.failed({ retryAfter: 30_000 })
  t.equal(circuit.rest, 30_000, 'the provider may ask for more')
  t.end()
})

t.test('an answer names its provider and its cost, by the prices of that provider', async (t) => {
  const [first, second] = await startServers(t)
  const model = { id: 'small', context_window: 8000 }
  const prices = { input_price: 10, cached_input_price: 1, output_price: 100 }
  const setting = settingOf(
    [first, second],
    [
      { models: [{ ...model, max_output_tokens: 500, input_price: 1, output_price: 1 }, { id: 'large' }] },
      {
        models: [{ ...model, ...prices, upstream_id: 'large' }],
        embeddings: { ...embeddings, input_price: 7 },
      },
    ],
  )
  const server = await startServer(t, { env: { AI_UPSTREAMS: setting, AI_CURRENCY: 'eur' } })
  const { client } = await server.person()
  const { body: models } = await client.get('/ai/models')
  t.match(
    models.data.find(({ id }: { id: string }) => id === 'small'),
    {
      provider: 'first',
      max_output_tokens: 500,
      price: { currency: 'eur', input_micros: 1_000_000, cached_input_micros: 1_000_000 },
    },
  )
  t.equal(models.data.filter(({ id }: { id: string }) => id === 'small').length, 1, 'once')
  t.equal(models.data.find(({ id }: { id: string }) => id === 'large').price, null)

  const { body: list } = await client.get('/models')
  t.same(
    list.data.map(({ id, owned_by: owner }: { id: string; owned_by: string }) => `${owner} ${id}`),
    ['first small', 'first large', 'builtin extractive-1', 'first embedder'],
  )

  first.script = { fault: status(503) }
  const usage = { prompt_tokens: 30, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 10 } }
  second.script = { answer: 'Yes.', usage }
  const { body } = await client.post('/ai/chat', { message: 'Is it open?', model: 'small' })
  t.match(body, { model: 'small', provider: 'second', usage: { cost_micros: 20 * 10 + 10 + 2 * 100 } })
  t.equal(second.requests[0].body.model, 'large')
  const { body: message } = await client.get(`/ai/messages/${body.id}`)
  t.match(message, { provider: 'second', usage: { cost_micros: 410 } })
  const report = '/usage/report?group_by=model&meter=cost_micros'
  t.match((await client.get(report)).body.data, [{ model: 'small', quantity: 410 }])
  t.match((await client.get('/ai/usage')).body, { cost_micros: 410, currency: 'eur' })

  first.script = {}
  const { body: free } = await client.post('/ai/chat', { message: 'Is it open?', model: 'large' })
  t.match(free, { provider: 'first', usage: { cost_micros: null } })
  const { body: quoted } = await client.post('/ai/chat', { message: 'Is it open?', model: 'extractive-1' })
  t.match(quoted, { provider: 'builtin', usage: { cost_micros: null } })
})

t.test('embeddings cost what their model costs', async (t) => {
  const [server] = await startServers(t, ['only'])
  const { embed } = connect(t, settingOf([server], [{ embeddings: { ...embeddings, input_price: 7 } }]))
  t.same({ ...embed }, { model: 'embedder', provider: 'only', price: 7, dimensions: 64 })
})
