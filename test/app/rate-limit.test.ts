// Rate limits: per policy and key, per IP address without a valid key; stored in memory or in Redis.
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { createRateLimits } from '../../app/http/rate-limit.ts'
import { newSecret } from '../../infra/encryption/api-key-format.ts'
import { createClient } from '../support/http/client.ts'
import { listen } from '../support/http/listen.ts'
import { startServer } from '../support/server/server.ts'

t.test('in memory', async (t) => {
  const server = await startServer(t, {
    env: { RATE_LIMIT_DEFAULT: '5', RATE_LIMIT_WRITE: '2', RATE_LIMIT_ADDRESS: '3' },
  })

  t.test('each policy has its own limit and reports it in the headers', async (t) => {
    const { client } = await server.person()
    const first = await client.get('/projects')
    t.equal(first.headers.get('ratelimit-policy'), '"default";q=5;w=60')
    t.match(first.headers.get('ratelimit'), /^"default";r=4;t=\d+$/)
    for (let i = 0; i < 4; i++) t.equal((await client.get('/projects')).status, 200)
    const refused = await client.get('/projects')
    t.equal(refused.status, 429)
    t.equal(refused.body.error.code, 'RATE_LIMITED')
    t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/)
    t.match(refused.headers.get('ratelimit'), /^"default";r=0;/)
    t.equal((await client.post('/projects', { name: 'a write' })).status, 201)
    t.equal((await client.post('/projects', { name: '' })).status, 400, 'a rejected request counts')
    t.equal((await client.post('/projects', { name: 'x' })).status, 429)
  })

  t.test('each key has its own limit', async (t) => {
    const { client } = await server.person()
    t.equal((await client.get('/projects')).status, 200)
  })

  t.test('a request without a valid key counts for its IP address; X-Forwarded-For is ignored', async (t) => {
    const stranger = createClient(server.url, null)
    const send = async (i: number): Promise<number> =>
      (await stranger.get('/projects', { headers: { 'x-forwarded-for': `10.0.${i >> 8}.${i & 255}` } }))
        .status
    for (let i = 0; i < 3; i++) t.equal(await send(i), 401)
    const statuses = await Promise.all(Array.from({ length: 1000 }, (_, i) => send(i + 3)))
    t.ok(statuses.every((status) => status === 429))
    const { client } = await server.person()
    t.equal((await client.get('/projects')).status, 200, 'a valid key from the same address still works')
  })
})

t.test('unknown keys are refused without a look-up over the limit of their address', async (t) => {
  const server = await startServer(t, { env: { RATE_LIMIT_ADDRESS: '5' } })
  const known = await server.person()
  t.equal((await known.client.get('/user/profile')).status, 200)
  server.statements.length = 0
  const statuses: number[] = []
  for (let i = 0; i < 40; i++)
    statuses.push((await createClient(server.url, newSecret('live')).get('/projects')).status)
  t.same(statuses, [...Array(5).fill(401), ...Array(35).fill(429)])
  t.equal(server.statements.filter((text) => text.includes('FROM api_keys')).length, 5)
  t.equal((await known.client.get('/user/profile')).status, 200, 'a key that is in use still works')
})

t.test('refusals are sent at once, and late after a hundred of a client', async (t) => {
  const server = await startServer(t, { env: { RATE_LIMIT_DEFAULT: '1' } })
  const [busy, other] = [await server.person(), await server.person()]
  t.equal((await busy.client.get('/projects')).status, 200)
  const refusals = await Promise.all(Array.from({ length: 100 }, () => busy.client.get('/projects')))
  t.ok(refusals.every(({ status }) => status === 429))
  const startedAt = performance.now()
  t.equal((await busy.client.get('/projects')).status, 429)
  t.ok(performance.now() - startedAt > 290)
  t.equal((await other.client.get('/projects')).status, 200)
})

t.test('behind a trusted proxy, requests count for the forwarded address', async (t) => {
  const server = await startServer(t, { env: { RATE_LIMIT_ADDRESS: '1', TRUST_PROXY: '127.0.0.1' } })
  const stranger = createClient(server.url, null)
  t.equal((await stranger.get('/projects', { headers: { 'x-forwarded-for': '192.0.2.1' } })).status, 401)
  t.equal((await stranger.get('/projects', { headers: { 'x-forwarded-for': '192.0.2.1' } })).status, 429)
  t.equal((await stranger.get('/projects', { headers: { 'x-forwarded-for': '192.0.2.2' } })).status, 401)
  t.equal(
    (await stranger.get('/projects', { headers: { 'x-forwarded-for': '::ffff:192.0.2.2' } })).status,
    429,
    'in any notation of the address',
  )
})

t.test('all addresses of an IPv6 network share one limit', async (t) => {
  const server = await startServer(t, {
    env: { RATE_LIMIT_ADDRESS: '1', RATE_LIMIT_DEFAULT: '1', TRUST_PROXY: '127.0.0.1' },
  })
  const stranger = createClient(server.url, null)
  const from = async (address: string, path = '/projects'): Promise<number> =>
    (await stranger.get(path, { headers: { 'x-forwarded-for': address } })).status
  t.equal(await from('2001:db8:1:2::1'), 401)
  t.equal(await from('2001:0db8:0001:0002:ffff:ffff:ffff:ffff'), 429)
  t.equal(await from('2001:db8:1:3::1'), 401)
  t.equal(await from('fe80::1%eth0'), 401)
  t.equal(await from('fe80::2'), 429)
  t.equal(await from('unknown'), 401)
})

const redisUrl = process.env.TEST_REDIS_URL
t.test('in Redis', { skip: redisUrl === undefined ? 'redis-server is not installed' : false }, async (t) => {
  const env = { RATE_LIMIT_DEFAULT: '10', REDIS_URL: redisUrl! }
  const first = await startServer(t, { env })
  const second = await startServer(t, { env, databaseUrl: first.databaseUrl })
  const { key } = await first.person()

  t.test('two instances share exact limits', async (t) => {
    const clients = [createClient(first.url, key), createClient(second.url, key)]
    const replies = await Promise.all(Array.from({ length: 40 }, (_, i) => clients[i % 2].get('/projects')))
    t.equal(replies.filter((r) => r.status === 200).length, 10)
    t.equal(replies.filter((r) => r.status === 429).length, 30)
  })
})

t.test('each instance counts by itself while Redis is unreachable', async (t) => {
  const server = await startServer(t, { env: { RATE_LIMIT_DEFAULT: '2', REDIS_URL: 'redis://127.0.0.1:1' } })
  const { client } = await server.person()
  t.equal((await client.get('/projects')).status, 200)
  t.equal((await client.get('/projects')).status, 200)
  t.equal((await client.get('/projects')).status, 429)
  t.match((await client.get('/readyz')).body, {
    status: 'degraded',
    checks: { rate_limits: 'unavailable', database: 'ok' },
  })
})

t.test('a Redis that accepts connections and never answers delays few requests', async (t) => {
  let commands = 0
  const hung = createServer((socket) => {
    socket.on('error', () => {})
    // The library considers the connection ready after this reply.
    socket.on('data', (data: Buffer) => {
      if (data.toString().toUpperCase().includes('INFO')) {
        const info = 'redis_version:7.0.0\r\nloading:0\r\n'
        socket.write(`$${info.length}\r\n${info}\r\n`)
      } else commands++
    })
  })
  const port = await listen(t, hung)
  const sockets = new Set<Socket>()
  hung.on('connection', (socket) => sockets.add(socket))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const errors: Error[] = []
  const limits = await createRateLimits({
    policies: { default: 1_000 },
    redisUrl: `redis://127.0.0.1:${port}`,
    onError: (error) => errors.push(error),
  })
  t.teardown(() => limits.close())
  for (let i = 0; i < 200; i++) t.equal((await limits.consume('default', 'ada')).allowed, true)
  t.ok(commands < 20, `Redis was asked ${commands} times`)
  t.equal(errors.length, 1, 'reported once')
  t.equal((await limits.peek('default', 'ada')).remaining, 800, 'counted by the server')
})
