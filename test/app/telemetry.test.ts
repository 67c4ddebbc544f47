// OpenTelemetry: a trace from the client's request over the job to the webhook, in two processes, with their
// metrics and logs.
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createClient } from '../support/http/client.ts'
import { openCollector } from '../support/server/collector.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey, spawnServer, spawnWorker } from '../support/server/process.ts'
import { openReceiver } from '../support/http/receiver.ts'
import { startTelemetry } from '../../infra/telemetry/start.ts'
import { waitUntil } from '../support/server/wait.ts'
import { listen } from '../support/http/listen.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`
const canary = 'canary-93d1'

/** A model server that answers 400 and remembers the trace of each request. */
async function refusingModel(t: Test): Promise<{ url: string; traceparents: unknown[] }> {
  const traceparents: unknown[] = []
  const server = createServer((request, response) => {
    traceparents.push(request.headers.traceparent)
    request.resume().on('end', () => response.writeHead(400).end('{}'))
  })
  const port = await listen(t, server)
  return { url: `http://127.0.0.1:${port}/v1`, traceparents }
}

t.test('a trace leads from the request over the job to the webhook', async (t) => {
  const collector = await openCollector(t)
  const receiver = await openReceiver(t)
  const model = await refusingModel(t)
  const { url: databaseUrl } = await createTestDatabase(t)
  const env = {
    AI_UPSTREAMS: JSON.stringify([{ name: 'remote', base_url: model.url, models: [{ id: 'remote-1' }] }]),
    DATABASE_URL: databaseUrl,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_BLRP_SCHEDULE_DELAY: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    LOG_LEVEL: 'info',
  }
  const server = await spawnServer(t, { ...env, WORKER: 'false' })
  await spawnWorker(t, env)
  const client = createClient(server.url, bootstrapKey)
  const hook = { url: `${receiver.url}?token=${canary}`, event_types: ['project.created'] }
  t.equal((await client.post('/webhooks/endpoints', hook)).status, 201)
  const { status, headers } = await client.post(
    '/projects',
    { name: canary },
    { headers: { traceparent, tracestate: 'vendor=1' } },
  )
  t.equal(status, 201)
  await waitUntil(() => receiver.received.length === 1, 'the webhook')

  const request = await collector.span(({ name }) => name === 'POST /v1/projects', 'the span of the request')
  t.match(request, { traceId, parentSpanId: '00f067aa0ba902b7', kind: 2, service: 'platform-api', status: 0 })
  t.match(request.attributes, {
    'http.request.method': 'POST',
    'http.route': '/v1/projects',
    'http.response.status_code': 201,
    'platform.operation': 'createProject',
    'platform.request_id': headers.get('x-request-id'),
    'user.id': /^usr_/,
    'platform.key_id': /^key_/,
  })
  const insert = await collector.span(
    (span) => span.name === 'projects/insert-project' || span.name === 'INSERT projects',
    'the statement',
  )
  t.match(insert, { traceId, parentSpanId: request.spanId, kind: 3 })
  t.equal(insert.attributes['db.system.name'], 'postgresql')

  const job = await collector.span(({ name }) => name === 'process webhook-deliveries', 'the job')
  t.match(job, { traceId, parentSpanId: request.spanId, kind: 5, service: 'platform-worker', status: 0 })
  const call = await collector.span(({ name }) => name === 'POST 127.0.0.1', 'the call')
  t.match(call, { traceId, parentSpanId: job.spanId, kind: 3, service: 'platform-worker' })
  t.match(call.attributes, { 'http.response.status_code': 200, 'server.port': Number })
  t.equal(receiver.received[0].headers.traceparent, `00-${traceId}-${call.spanId}-01`)

  const logged = (): string | undefined =>
    server
      .output()
      .split('\n')
      .find((text) => text.includes('"createProject"') && text.includes('"msg":"request"'))
  await waitUntil(() => logged() !== undefined, 'the line of the request')
  t.equal(JSON.parse(logged()!).trace_id, traceId, 'the log names the trace')

  await waitUntil(
    () => collector.logs.some(({ attributes }) => attributes.operation === 'createProject'),
    'log',
  )
  const log = collector.logs.find(({ attributes }) => attributes.operation === 'createProject')!
  t.match(log, {
    traceId,
    spanId: request.spanId,
    severity: 'INFO',
    body: 'request',
    service: 'platform-api',
  })
  t.match(log.attributes, { status: 201, path: '/v1/projects', user_id: /^usr_/ })
  const latest = (service: string, name: string): any =>
    collector.metrics.findLast((metric) => metric.service === service && metric.name === name)?.data
  const counts = (): any[] =>
    latest('platform-api', 'http_request_duration_seconds')?.histogram.dataPoints.filter(
      ({ attributes }: any) => attributes.some(({ value }: any) => value.stringValue === 'createProject'),
    ) ?? []
  await waitUntil(() => counts().length === 1, 'the histogram')
  const [{ count, sum, bucketCounts, explicitBounds }] = counts()
  t.equal(Number(count), 1)
  t.ok(sum > 0)
  t.equal(bucketCounts.length, explicitBounds.length + 1)
  t.equal(
    bucketCounts.reduce((total: number, each: number | string) => total + Number(each), 0),
    1,
  )
  await waitUntil(() => latest('platform-worker', 'job_run_duration_seconds') !== undefined, 'the worker')
  t.ok(latest('platform-worker', 'database_connections').gauge.dataPoints.length === 3)
  t.ok(latest('platform-api', 'process_cpu_seconds_total').sum.isMonotonic)

  await client.post('/ai/chat', { model: 'remote-1', messages: [{ role: 'user', content: canary }] })
  const chat = await collector.span(({ name }) => name === 'POST /v1/ai/chat', 'the chat')
  const upstream = await collector.span(
    ({ name, traceId }) => name === 'POST 127.0.0.1' && traceId === chat.traceId,
    'the call of the model',
  )
  t.match(upstream, { kind: 3, status: 2, attributes: { 'http.response.status_code': 400 } })
  t.equal(model.traceparents[0], `00-${chat.traceId}-${upstream.spanId}-01`)

  await client.get('/projects')
  const other = await collector.span(
    ({ name }) => name === 'GET /v1/projects',
    'a request without traceparent',
  )
  t.not(other.traceId, traceId)
  t.equal(other.parentSpanId, undefined)
  await client.get('/nothing/here', { headers: { traceparent: 'not valid' } })
  const unrouted = await collector.span(
    ({ attributes }) => attributes['http.response.status_code'] === 404,
    '404',
  )
  t.match(unrouted, { name: 'GET', attributes: { 'platform.error_code': 'NOT_FOUND' } })
  t.not(unrouted.traceId, traceId)
  for (const secret of [canary, bootstrapKey]) t.notOk(collector.received().includes(secret))
  const names = new Set(collector.spans.map(({ name }) => name))
  t.notOk(names.has('jobs/fetch-jobs'), 'polling is not traced')
})

t.test('parallel requests keep their statements apart', async (t) => {
  const collector = await openCollector(t)
  const { url: databaseUrl } = await createTestDatabase(t)
  const server = await spawnServer(t, {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '2',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  })
  const client = createClient(server.url, bootstrapKey)
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, i) => client.post('/projects', { name: `project ${i}` })),
  )
  await Promise.all(made.map(({ body }) => client.get(`/projects/${body.id}`)))
  const requests = (name: string) => collector.spans.filter((span) => span.name === name)
  const reads = () => requests('GET /v1/projects/{id}')
  const writes = () => requests('POST /v1/projects')
  await waitUntil(() => writes().length === 12 && reads().length === 12, 'the spans of all requests')
  const statementsOf = ({ traceId, spanId }: { traceId: string; spanId: string }) =>
    collector.spans.filter((span) => span.traceId === traceId && span.parentSpanId === spanId)
  for (const request of reads())
    t.same(
      statementsOf(request).map(({ name }) => name),
      ['projects/find-project'],
    )
  for (const request of writes()) {
    const statements = statementsOf(request)
    t.equal(statements.filter(({ name }) => /BEGIN/.test(name)).length, 1)
    t.equal(statements.filter(({ name }) => /COMMIT/.test(name)).length, 1)
  }
})

t.test('without the variables of OpenTelemetry nothing starts', async (t) => {
  t.equal(await startTelemetry({}, 'x'), null)
  t.equal(await startTelemetry({ OTEL_SERVICE_NAME: 'x' }, 'x'), null)
  t.equal(
    await startTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_SDK_DISABLED: 'true' }, 'x'),
    null,
  )
  t.equal(
    await startTelemetry(
      { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x' },
      'x',
    ),
    null,
  )
  // A few modules import the packages, and only a start with the variables imports these modules.
  const root = join(import.meta.dirname, '../..')
  const sources = globSync('{app,handlers,services,infra}/**/*.ts', { cwd: root })
  const importing = (pattern: RegExp): string[] =>
    sources.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))
  const loaded = ['log-export', 'metrics-export', 'resource', 'tracer']
  t.same(
    importing(/from '@opentelemetry\//).sort(),
    loaded.map((name) => `infra/telemetry/${name}.ts`),
  )
  for (const name of loaded) t.same(importing(new RegExp(`from '.*/${name}\\.ts'`)), [], name)
})

t.test('a variable that cannot be used stops the start', async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  const cases: Array<[Record<string, string>, RegExp]> = [
    [{ OTEL_METRICS_EXPORTER: 'prometheus' }, /^OTEL_METRICS_EXPORTER must be otlp or none/],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /^OTEL_TRACES_EXPORTER must be otlp or none, not `zipkin`\.$/],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL must be http\/json/],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: 'often' }, /^OTEL_TRACES_SAMPLER must be/],
    [{ ...endpoint, OTEL_BSP_MAX_QUEUE_SIZE: 'x' }, /^OTEL_BSP_MAX_QUEUE_SIZE must be a number/],
  ]
  for (const [env, message] of cases) await t.rejects(startTelemetry(env, 'x'), { message })
})
