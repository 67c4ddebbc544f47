// Public documents: rendered once, compressed, revalidated, and limited by IP address.
import t from 'tap'
import { gunzipSync } from 'node:zlib'
import { handlers } from '../../generated/routes.ts'
import { createClient } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'

const paths = [
  '/openapi.json',
  '/openapi.yaml',
  '/docs',
  '/docs/reference/files',
  '/docs/reference/files/openapi.json',
  '/docs/postman.json',
  '/docs/errors',
  '/docs/client.tgz',
  '/docs/client-python.tar.gz',
]

t.test('a document is rendered once, and kept with its ETag and its gzip', async (t) => {
  let rendered = 0
  const server = await startServer(t, {
    handlers: {
      ...handlers,
      async getOpenapiJson(...call) {
        rendered++
        return await handlers.getOpenapiJson(...call)
      },
    },
  })
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    await fetch(`${server.url}${path}`, { headers: { 'accept-encoding': 'identity', ...headers } })
  await Promise.all(Array.from({ length: 20 }, async () => await (await get('/openapi.json')).text()))
  t.equal(rendered, 1)
  for (const path of paths) {
    const plain = await get(path)
    t.equal(plain.status, 200, path)
    const [text, etag] = [Buffer.from(await plain.arrayBuffer()), plain.headers.get('etag')!]
    t.match(etag, /^"[^"]+"$/)
    t.equal((await get(path, { 'if-none-match': etag })).status, 304)
    if (/\.tgz$|\.tar\.gz$/.test(path)) {
      const file = path.endsWith('.tgz') ? 'package/package.json' : '/pyproject.toml'
      t.equal(gunzipSync(text).includes(file), true)
      continue
    }
    t.equal(plain.headers.get('content-length'), String(text.length))
    t.match(plain.headers.get('vary'), 'accept-encoding')
    const zipped = await get(path, { 'accept-encoding': 'gzip' })
    t.equal(zipped.headers.get('content-encoding'), 'gzip')
    t.ok(Number(zipped.headers.get('content-length')) < text.length / 2)
    t.ok(Buffer.from(await zipped.arrayBuffer()).equals(text))
    const zippedEtag = zipped.headers.get('etag')!
    t.not(zippedEtag, etag)
    const revalidated = await get(path, { 'accept-encoding': 'gzip', 'if-none-match': zippedEtag })
    t.equal(revalidated.status, 304)
  }
})

t.test('requests for documents and unknown paths are limited by IP address', async (t) => {
  const server = await startServer(t, { env: { RATE_LIMIT_ADDRESS: '3', TRUST_PROXY: '127.0.0.1' } })
  const stranger = createClient(server.url, null)
  for (const [i, path] of [...paths, '/', '/nothing', '/v1/nothing', '/v1/projects/'].entries()) {
    const headers = { 'x-forwarded-for': `192.0.2.${i}` }
    const statuses = []
    for (let n = 0; n < 5; n++) statuses.push((await stranger.get(path, { headers })).status)
    t.equal(statuses.slice(0, 3).includes(429), false, path)
    t.same(statuses.slice(3), [429, 429], path)
  }
  t.equal((await stranger.get('/healthz')).status, 200, 'the liveness check has no limit')
})

t.test('readiness checks are shared by concurrent requests, and have a limit of their own', async (t) => {
  const server = await startServer(t, { env: { RATE_LIMIT_ADDRESS: '1', RATE_LIMIT_HEALTH: '600' } })
  const stranger = createClient(server.url, null)
  server.statements.length = 0
  const replies = await Promise.all(Array.from({ length: 30 }, () => stranger.get('/readyz')))
  t.ok(replies.every(({ status }) => status === 200))
  // The checks run once, and again in the background each second.
  const checks = server.statements.filter((text) => text.includes('pg_is_in_recovery'))
  t.ok(checks.length >= 1 && checks.length <= 5, `${checks.length} checks for 30 requests`)
  t.match(replies[0].headers.get('ratelimit-policy'), '"health";q=600')
})
