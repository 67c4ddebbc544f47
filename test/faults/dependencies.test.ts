// Every dependency × every fault: what the readiness says, what requests get, and that none waits for a
// dependency that it does not need. The table in docs/monitoring.md says the same.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import pg from 'pg'
import t from 'tap'
import { createClient, type Client, type Reply } from '../support/http/client.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { connectTo, urlOnPort } from '../support/database/database-proxy.ts'
import { acceptUpload, startFakeS3 } from '../support/storage/fake-s3.ts'
import { startFaultyProxy, type FaultyProxy, type NetworkFault } from '../support/http/faulty-proxy.ts'
import { openSmtp } from '../support/auth/mails.ts'
import { skipWithoutNats, startNats } from '../support/database/nats.ts'
import { skipWithoutRedis, startRedis } from '../support/database/redis.ts'
import { listen } from '../support/http/listen.ts'
import { startServer } from '../support/server/server.ts'
import { upload } from '../support/storage/storage.ts'
import { startFakeStripe } from '../support/payments/stripe.ts'
import { startModelServer } from '../../scripts/bench/model-server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

type Fault = Exclude<NetworkFault, 'none'> | 'full'
/** The short form leaves out what is like another fault for most dependencies. */
const faults: Fault[] = isLongForm
  ? ['away', 'refusing', 'hung', 'slow', 'full']
  : ['refusing', 'hung', 'full']

t.test('dependencies', { skip: skipWithoutNats || skipWithoutRedis, timeout: 300_000 }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const at = (url: string): Promise<FaultyProxy> => {
    const { hostname, port } = new URL(url)
    return startFaultyProxy(t, () => connect(Number(port), hostname))
  }
  const through = (url: string, { port }: FaultyProxy): string =>
    Object.assign(new URL(url), { port: String(port) }).href.replace(/\/$/, '')
  const [redis, nats, smtp, stripe, model] = [
    await startRedis(t),
    await startNats(t),
    await openSmtp(t),
    await startFakeStripe(t),
    await startModelServer(t, { embeddings: null }),
  ]
  let isStoreFull = false
  const s3 = await startFakeS3(t, (request, response) => {
    if (isStoreFull && request.method === 'PUT')
      return response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>')
    acceptUpload(request, response)
  })
  let isProviderFull = false
  const provider = createServer((_request, response) => {
    const issuer = `http://127.0.0.1:${proxies.provider.port}`
    response.statusCode = isProviderFull ? 503 : 200
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ issuer, authorization_endpoint: `${issuer}/authorize` }))
  })
  const providerPort = await listen(t, provider)
  const proxies = {
    postgresql: await startFaultyProxy(t, () => connectTo(databaseUrl)),
    redis: await at(redis.url),
    nats: await at(nats.url),
    store: await at(s3.config.endpoint!),
    gateway: await at(stripe.url),
    mail: await at(smtp.url),
    model: await at(model.url),
    provider: await at(`http://127.0.0.1:${providerPort}`),
  }
  const issuer = `http://127.0.0.1:${proxies.provider.port}`
  const server = await startServer(t, {
    databaseUrl: urlOnPort(databaseUrl, proxies.postgresql.port),
    env: {
      ...s3.env,
      ...stripe.env,
      S3_ENDPOINT: through(s3.config.endpoint!, proxies.store),
      REDIS_URL: through(redis.url, proxies.redis),
      BUS_URL: through(nats.url, proxies.nats),
      STRIPE_API_BASE: through(stripe.url, proxies.gateway),
      SMTP_URL: through(smtp.url, proxies.mail),
      AI_UPSTREAMS: model.setting.replace(model.url, through(model.url, proxies.model)),
      AI_RETRIES: '0',
      AI_CONNECT_TIMEOUT: '2',
      OIDC_PROVIDERS: JSON.stringify([{ name: 'idp', issuer, client_id: 'a', client_secret: 'b' }]),
      SIGN_IN_URL: 'https://app.example.com/sign-in',
    },
  })
  const person = await server.person({ role: 'admin' })
  const { client } = person
  const anyone = createClient(server.url, null)
  const { body: project } = await client.post('/projects', { name: 'P' })
  const { body: product } = await client.post('/payments/products', { name: 'A thing' })
  const priceFields = { product_id: product.id, unit_amount: 500, currency: 'eur' }
  const { body: price } = await client.post('/payments/prices', priceFields)
  const read = (): Promise<Reply> => client.get(`/projects/${project.id}`)
  const write = (): Promise<Reply> =>
    client.put(`/projects/${project.id}`, { description: String(Math.random()) })
  const checkout = async (on: Client = client): Promise<Reply> =>
    await on.post('/payments/checkout', {
      items: [{ price_id: price.id, quantity: 1 }],
      success_url: 'https://shop.example/ok',
      cancel_url: 'https://shop.example/no',
    })
  const readiness = async (): Promise<{ status: number; body: any; ms: number }> => {
    const start = performance.now()
    const response = await fetch(`${server.url}/readyz`)
    return { status: response.status, body: await response.json(), ms: performance.now() - start }
  }
  const admin = new Redis(redis.url)
  t.teardown(() => admin.disconnect())

  interface Dependency {
    /** The check of the readiness; null for none. */
    check: string | null
    /** The check that fails when it is full, if it is another one. */
    fullCheck?: string
    required?: true
    /** A request that needs it. */
    use: () => Promise<Reply>
    /** The statuses of that request while the dependency is away; by default 503. */
    refused?: number[]
    full: (on: boolean) => unknown
    /** The faults in which everything works. */
    harmless?: Fault[]
  }
  const dependencies: Record<keyof typeof proxies, Dependency> = {
    postgresql: {
      check: 'database',
      fullCheck: 'writes',
      required: true,
      use: write,
      // A provider makes a database that is full refuse writes.
      full: async (on) => await setReadOnly(on),
      harmless: ['slow'],
    },
    redis: {
      check: 'rate_limits',
      use: write,
      refused: [200],
      full: async (on) => await admin.config('SET', 'maxmemory', on ? '1' : '0'),
    },
    nats: { check: 'bus', use: write, refused: [200], full: () => {}, harmless: ['slow', 'full'] },
    store: {
      check: 'storage',
      use: () => upload(client, { bytes: 'content' }),
      full: (on) => (isStoreFull = on),
      harmless: ['slow'],
    },
    gateway: {
      check: null,
      use: () => checkout(),
      refused: [503, 409],
      full: (on) => (on ? stripe.fail({ status: 429 }) : stripe.fail({ status: 429 }, { times: 0 })),
      harmless: ['slow'],
    },
    mail: {
      check: null,
      use: () => anyone.post('/auth/magic-links', { email: 'ada@example.com' }),
      // E-mails are sent by workers.
      refused: [202],
      full: () => {},
    },
    model: {
      check: null,
      use: () => client.post('/ai/chat', { message: 'Hello' }),
      refused: [502, 503, 429],
      full: (on) => (model.script = on ? { fault: { kind: 'status', status: 429 } } : {}),
      harmless: ['slow'],
    },
    provider: {
      check: null,
      use: () => anyone.get('/auth/oidc/idp/authorize'),
      full: (on) => (isProviderFull = on),
      harmless: ['slow'],
    },
  }
  async function setReadOnly(on: boolean): Promise<void> {
    const name = new URL(databaseUrl).pathname.slice(1)
    const client = new pg.Client({
      connectionString: databaseUrl,
      options: '-c default_transaction_read_only=off',
    })
    await client.connect()
    await client.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = ${on ? 'on' : 'off'}`)
    // It applies to new sessions.
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
      [name],
    )
    await client.end()
  }

  await waitUntil(async () => (await readiness()).body.status === 'ok', 'all dependencies')
  for (const [name, dependency] of Object.entries(dependencies))
    for (const fault of faults)
      t.test(`${name} ${fault}`, async (t) => {
        const { check, fullCheck, required, use, refused = [503], full, harmless = [] } = dependency
        const proxy = proxies[name as keyof typeof proxies]
        const isHarmless = harmless.includes(fault)
        const named = fault === 'full' ? (fullCheck ?? check) : check
        if (fault === 'full') await full(true)
        else await proxy.set(fault)
        const isDown = !isHarmless && check !== null && !(fault === 'full' && check === 'storage')
        const first = isDown ? use().catch(() => {}) : undefined
        if (isDown) {
          const noticed = async (): Promise<boolean> => (await readiness()).body.checks[named!] !== 'ok'
          await waitUntil(noticed, `${named} to be noticed`)
        }
        // The checks that the previous fault made fail.
        else await waitUntil(async () => (await readiness()).body.status === 'ok', 'the readiness')
        const asked = [await readiness()]
        // The fastest answer is for the table.
        if (isLongForm) asked.push(await readiness(), await readiness())
        const { status, body } = asked[0]
        const isUnready = required === true && isDown && fault !== 'full'
        t.equal(status, isUnready ? 503 : 200, JSON.stringify(body))
        // Of the others, one may answer late on a busy machine.
        if (named !== null) t.equal(body.checks[named], isDown ? 'unavailable' : 'ok', JSON.stringify(body))
        if (isDown) t.equal(body.status, isUnready ? 'unavailable' : 'degraded', JSON.stringify(body))
        const fastest = Math.min(...asked.map(({ ms }) => ms))
        const reads: number[] = []
        if (!isUnready) for (let i = 0; i < 3; i++) reads.push((await read()).status)
        t.ok(
          reads.every((one) => one === 200),
          `reads are served: ${reads}`,
        )
        const start = performance.now()
        const late = sleep(isLongForm ? 60_000 : 6_000, { status: 0, text: 'no answer' } as Reply, {
          ref: false,
        })
        const used = await Promise.race([use(), late])
        const ms = Math.round(performance.now() - start)
        if (isHarmless) t.ok(used.status < 400, used.text)
        else t.ok(refused.includes(used.status) || used.status < 400, `${used.status} ${used.text}`)
        if (fault === 'full') await full(false)
        else await proxy.set('none')
        await first
        await waitUntil(async () => (await readiness()).body.status === 'ok', 'the return')
        await waitUntil(async () => (await use()).status < 400, 'its use')
        const row = [name, fault, `${status} ${body.status}`, Math.round(fastest), used.status, ms]
        if (isLongForm) console.log(`| ${row.join(' | ')} |`)
      })
})
