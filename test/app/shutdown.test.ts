// Graceful shutdown: accepted requests complete, and the process exits in time.
import { connect } from 'node:net'
import { Agent, get as httpGet, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import t from 'tap'
import { createTestDatabase } from '../support/database/database.ts'
import { openStream } from '../support/http/event-stream.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const { url: databaseUrl } = await createTestDatabase(t)

t.test('SIGTERM under load interrupts no accepted request', async (t) => {
  const server = await spawnServer(t, { DATABASE_URL: databaseUrl })
  const acknowledged: string[] = []
  const failed: string[] = []
  let stopped = false
  const worker = async (): Promise<void> => {
    while (true) {
      try {
        const response = await fetch(`${server.url}/v1/projects`, {
          method: 'POST',
          headers: { authorization: `Bearer ${bootstrapKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name: 'under load' }),
        })
        const body = (await response.json()) as any
        if (response.status === 201) acknowledged.push(body.id)
        else failed.push(`${response.status}`)
      } catch (error) {
        const code = ((error as Error).cause as NodeJS.ErrnoException)?.code
        // After SIGTERM, refused and closed connections carry no accepted request.
        if (stopped && (code === 'ECONNREFUSED' || code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')) return
        failed.push(String(code))
        return
      }
    }
  }
  const workers = Array.from({ length: 16 }, worker)
  await waitUntil(() => acknowledged.length >= 50 || failed.length > 0, 'the load')
  stopped = true
  const startedAt = Date.now()
  const exit = await server.end('SIGTERM')
  await Promise.all(workers)
  t.same(exit, { code: 0, signal: null })
  t.comment(`exited after ${Date.now() - startedAt} ms`)
  t.ok(Date.now() - startedAt < 10_000, 'the process exits within 10 s')
  t.same(failed, [])
  t.ok(acknowledged.length > 0)

  const restarted = await startServer(t, { databaseUrl })
  const list = await fetch(`${restarted.url}/v1/projects?limit=1`, {
    headers: { authorization: `Bearer ${bootstrapKey}` },
  })
  t.ok(((await list.json()) as any).pagination.total >= acknowledged.length)
})

t.test('with SHUTDOWN_DELAY a stopping server serves on, and is not ready', async (t) => {
  const server = await spawnServer(t, { DATABASE_URL: databaseUrl, SHUTDOWN_DELAY: '3' })
  const get = (path: string) =>
    fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${bootstrapKey}` } })
  const before = await get('/v1/projects')
  t.equal(before.headers.get('connection'), 'keep-alive')
  t.equal((await get('/readyz')).status, 200)
  const exit = server.end('SIGTERM')
  await waitUntil(async () => (await get('/readyz')).status === 503)
  const during = await get('/v1/projects')
  t.equal(during.status, 200)
  t.equal(during.headers.get('connection'), 'keep-alive', 'a proxy opens no connection for each request')

  // It still answers on a kept connection after it has stopped listening, and closes it then.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  await waitUntil(async () => {
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      httpGet(`${server.url}/readyz`, { agent }, resolve).once('error', reject),
    )
    response.resume()
    await once(response, 'end')
    return response.headers.connection === 'close'
  })
  t.same(await exit, { code: 0, signal: null })
})

t.test(
  'neither an event stream, which ends with an event, nor an incomplete request delays the exit',
  async (t) => {
    const server = await spawnServer(t, { DATABASE_URL: databaseUrl, SHUTDOWN_TIMEOUT: '60' })
    const { port } = new URL(server.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    t.teardown(() => {
      socket.destroy()
    })
    await new Promise<void>((resolve) =>
      socket.write(
        [
          'POST /v1/projects HTTP/1.1',
          'host: x',
          'content-type: application/json',
          'content-length: 100',
          '',
          '{',
        ].join('\r\n'),
        () => resolve(),
      ),
    )
    const stream = await openStream(server.url, bootstrapKey)
    t.equal(stream.status, 200)
    const startedAt = Date.now()
    const exit = server.end('SIGTERM')
    t.match(await stream.next(), { event: 'end', data: { reason: 'shutdown' } })
    t.same(await exit, { code: 0, signal: null })
    t.ok(Date.now() - startedAt < 30_000, 'the process exits long before its shutdown timeout')
  },
)
