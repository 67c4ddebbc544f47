// An orderly stop: no accepted request is cut, and the process is gone within its time.
import { connect } from 'node:net'
import t from 'tap'
import { createTestDatabase } from '../support/database.ts'
import { openStream } from '../support/event-stream.ts'
import { bootstrapKey, spawnServer } from '../support/process.ts'

t.test('SIGTERM under load cuts no accepted request', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const server = await spawnServer(t, { DATABASE_URL: databaseUrl })
  const acknowledged: string[] = []
  const cut: string[] = []
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
        else cut.push(`${response.status}`)
      } catch (error) {
        const code = ((error as Error).cause as NodeJS.ErrnoException)?.code
        // A connection that the server no longer takes is no accepted request.
        if (stopped && (code === 'ECONNREFUSED' || code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')) return
        cut.push(String(code))
        return
      }
    }
  }
  const workers = Array.from({ length: 16 }, worker)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  stopped = true
  const began = Date.now()
  const ended = await server.end('SIGTERM')
  await Promise.all(workers)
  t.same(ended, { code: 0, signal: null })
  t.comment(`out after ${Date.now() - began} ms`)
  t.ok(Date.now() - began < 10_000, 'out within 10 s')
  t.same(cut, [])
  t.ok(acknowledged.length > 0)

  const again = await spawnServer(t, { DATABASE_URL: databaseUrl })
  const list = await fetch(`${again.url}/v1/projects?limit=1`, {
    headers: { authorization: `Bearer ${bootstrapKey}` },
  })
  t.ok(((await list.json()) as any).pagination.total >= acknowledged.length)
})

t.test('a client that holds its connection does not hold up the stop', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const server = await spawnServer(t, { DATABASE_URL: databaseUrl, SHUTDOWN_TIMEOUT: '1' })
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  t.teardown(() => {
    socket.destroy()
  })
  await new Promise<void>((resolve) =>
    socket.write(
      'POST /v1/projects HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
      () => resolve(),
    ),
  )
  const ended = await server.end('SIGTERM')
  t.same(ended, { code: 0, signal: null })
})

t.test('a stream on a connection that is kept ends with a word and does not hold up the stop', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const server = await spawnServer(t, { DATABASE_URL: databaseUrl, SHUTDOWN_TIMEOUT: '60' })
  const stream = await openStream(server.url, bootstrapKey)
  t.equal(stream.status, 200)
  const began = Date.now()
  const over = server.end('SIGTERM')
  t.match(await stream.next(), { event: 'end', data: { reason: 'shutdown' } })
  t.same(await over, { code: 0, signal: null })
  t.ok(Date.now() - began < 30_000, 'long before the deadline')
})
