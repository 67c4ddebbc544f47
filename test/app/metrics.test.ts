// Metrics of servers and workers on a port of their own.
import t from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { spawnWorker, startServerHere } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { scrape } from '../support/server/metrics.ts'
import { waitUntil } from '../support/server/wait.ts'

const readText = async (url: string): Promise<string> => await (await fetch(url)).text()

t.test('a server with METRICS_PORT', async (t) => {
  const port = String(await freePort())
  const env = { METRICS_PORT: port, QUOTA_PROJECTS: '1' }
  const server = await startServer(t, { env })
  const inner = `http://127.0.0.1:${port}`
  const { client } = await server.person()
  t.equal((await fetch(`${server.url}/metrics`)).status, 404, 'the public port has no metrics')
  await client.post('/webhooks/endpoints', { url: 'https://example.invalid/hook', event_types: ['*'] })
  await client.post('/projects', { name: 'measured' })
  t.equal((await client.post('/projects', { name: 'too many' })).status, 403)

  const text = await readText(`${inner}/metrics`)
  t.match(text, /http_request_duration_seconds_count\{operation="createProject",status="201"\} 1/)
  t.match(text, /platform_build_info\{version="\d+\.\d+\.\d+"\} 1/)
  t.match(text, /dependency_up\{name="database"\} 1/)
  t.match(text, /^process_ready 1$/m)
  t.match(text, /limit_refusals_total\{limit="projects"\} 1/)
  t.match(text, /^event_log_numbering_delay_seconds \d/m)
  t.match(text, /^event_log_position \d/m)
  t.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m)
  t.match(text, /database_connections\{state="waiting"\} 0/)
  const waiting = /job_queue_waiting\{queue="webhook-deliveries"\} 2/
  await waitUntil(async () => waiting.test(await readText(`${inner}/metrics`)), 'the deliveries, which wait')
  t.match(text, /event_streams_open 0/)
  t.match(await (await fetch(`${inner}/readyz`)).json(), { status: 'ok' })
  t.equal((await fetch(`${inner}/v1/projects`)).status, 404)
  const { types } = await scrape(`${inner}/metrics`)
  t.equal(types.get('http_request_duration_seconds'), 'histogram')
})

t.test('a worker with METRICS_PORT, and its jobs', async (t) => {
  const { databaseUrl, person } = await startServer(t)
  const { client } = await person()
  await client.post('/webhooks/endpoints', { url: 'https://example.invalid/hook', event_types: ['*'] })
  await client.post('/projects', { name: 'announced' })
  const port = String(await freePort())
  await spawnWorker(t, { DATABASE_URL: databaseUrl, DATA_DIR: t.testdir(), METRICS_PORT: port })
  const inner = `http://127.0.0.1:${port}`
  const read = (): Promise<string> => readText(`${inner}/metrics`)
  const failed = /job_run_duration_seconds_count\{queue="webhook-deliveries",outcome="failed"\} 1/
  await waitUntil(async () => failed.test(await read()), 'the failed attempt')
  t.match(await read(), /^nodejs_eventloop_lag_p99_seconds \d/m)
  t.match(await read(), /job_queue_oldest_seconds\{queue="[a-z-]+"\} 0/)
  t.match(await (await fetch(`${inner}/readyz`)).json(), { status: 'ok', checks: { notifications: 'ok' } })
})

t.test('a port that is taken stops the start', async (t) => {
  const port = String(await freePort())
  const first = await startServer(t, { env: { METRICS_PORT: port } })
  const env = { DATABASE_URL: first.databaseUrl, METRICS_PORT: port, DATA_DIR: t.testdir() }
  await t.rejects(startServerHere(t, env), {
    message: /METRICS_PORT \d+ cannot be used: listen EADDRINUSE/,
  })
})
