// Body timeouts: an upload keeps its connection while the file is processed, other requests do not.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { addressOf } from '../../app/build.ts'
import { drainUnreadBodies, enforceBodyTimeout } from '../../app/http/body-timeout.ts'
import { openConnection } from '../support/storage/storage.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const idle = 500

/** A server with one operation that reads its body and then works for five times the idle timeout. */
async function startSlow(streamed: boolean, { upload }: { upload: number }): Promise<string> {
  const app = Fastify({ connectionTimeout: idle, keepAliveTimeout: idle })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume().once('end', () => done(null, ''))
  })
  app.addHook('onRequest', (request, reply, done) => {
    enforceBodyTimeout(request, reply, { requestMs: 2_000, uploadMs: upload, idleMs: idle })
    done()
  })
  app.post(
    '/',
    { config: { operation: { body: { streamed, contentTypes: ['application/octet-stream'] } } as never } },
    async () => {
      await sleep(5 * idle)
      return 'kept'
    },
  )
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  return addressOf(app)
}

const request =
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: 4\r\n\r\nfile'

t.test(
  'an upload outlives the idle timeout while it is processed, also the second one on the connection',
  async (t) => {
    const wire = await openConnection(t, await startSlow(true, { upload: 60_000 }))
    for (let i = 1; i <= 2; i++) {
      await wire.write(request)
      await waitUntil(() => wire.isClosed() || wire.received().split('kept').length > i, 'the response')
      t.equal(wire.received().split('HTTP/1.1 200').length - 1, i)
    }
    await wire.waitUntilClosed()
  },
)

t.test('an upload is cut off after the upload timeout', async (t) => {
  const wire = await openConnection(t, await startSlow(true, { upload: 2 * idle }))
  await wire.write(request)
  await wire.waitUntilClosed()
  t.equal(wire.received(), '')
})

t.test('any other request is cut off after the idle timeout', async (t) => {
  const wire = await openConnection(t, await startSlow(false, { upload: 60_000 }))
  await wire.write(request)
  await wire.waitUntilClosed()
  t.equal(wire.received(), '')
})

t.test('a client that still sends a refused body reads the response', async (t) => {
  const app = Fastify({ bodyLimit: 10 })
  drainUnreadBodies(app.server)
  app.post('/', async () => 'read')
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const wire = await openConnection(t, addressOf(app))
  // The server ends its direction of the connection; this client goes on sending.
  const ended = once(wire.socket.removeAllListeners('end'), 'end')
  const errors: unknown[] = []
  wire.socket.on('error', (error) => errors.push(error))
  await wire.write(
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 40\r\n\r\nfirst',
  )
  await ended
  t.match(wire.received(), /^HTTP\/1\.1 413 [^]*connection: close/)
  await wire.write('x'.repeat(20))
  await wire.write('x'.repeat(15))
  wire.socket.end()
  await wire.waitUntilClosed()
  t.same(errors, [])
})

t.test('a refused large body is not read after its connection is closed, nor timed out', async (t) => {
  const server = await startServer(t, { env: { REQUEST_TIMEOUT: '1' } })
  const { key } = await server.person()
  for (const length of ['content-length: 1000000', 'transfer-encoding: chunked']) {
    const head =
      `POST /v1/projects HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\n${length}\r\n\r\n`
    const size = 200 * 1024
    const chunk = (length.startsWith('content') ? '' : `${(size + 10).toString(16)}\r\n`) + '{'.repeat(size)
    const refused = await openConnection(t, server.url)
    await refused.write(head + chunk)
    await waitUntil(() => refused.received() !== '', 'the response')
    t.match(refused.received(), /^HTTP\/1.1 413 /, length)
    refused.socket.destroy()
    // The time-out of a later request comes after that of the refused one.
    const late = await openConnection(t, server.url)
    await late.write(head.replace('1000000', '40'))
    await waitUntil(() => late.received() !== '', 'the time-out')
    t.match(late.received(), /^HTTP\/1.1 408 /, length)
  }
})
