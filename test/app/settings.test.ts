// Settings: CORS and metrics are off by default, and an invalid setting is reported by name.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ConfigError, loadEnvFile, readConfig } from '../../infra/config/config.ts'
import { newSecret } from '../../infra/encryption/api-key-format.ts'
import { settings } from '../../infra/config/settings.ts'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { configurationPage, envExample } from '../../scripts/settings/main.ts'
import { startServer } from '../support/server/server.ts'

t.test('CORS is off by default and never reflects an origin', async (t) => {
  const server = await startServer(t)
  for (const origin of ['https://evil.example', 'null', 'http://localhost:3000']) {
    const preflight = await fetch(`${server.url}/v1/projects`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    })
    t.equal(preflight.status, 405)
    t.equal(preflight.headers.get('access-control-allow-origin'), null)
    const simple = await fetch(`${server.url}/healthz`, { headers: { origin } })
    t.equal(simple.headers.get('access-control-allow-origin'), null)
  }
})

t.test('CORS_ORIGINS allows only the listed origins', async (t) => {
  const server = await startServer(t, {
    env: { CORS_ORIGINS: 'https://app.example.com, https://b.example.com' },
  })
  const preflight = async (origin: string) =>
    await fetch(`${server.url}/v1/projects`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    })
  t.equal(
    (await preflight('https://app.example.com')).headers.get('access-control-allow-origin'),
    'https://app.example.com',
  )
  t.equal((await preflight('https://evil.example')).headers.get('access-control-allow-origin'), null)
  t.equal(
    (await preflight('https://app.example.com.evil.example')).headers.get('access-control-allow-origin'),
    null,
  )
})

t.test('metrics are served only with METRICS=true', async (t) => {
  t.equal((await fetch(`${(await startServer(t)).url}/metrics`)).status, 404)
  const server = await startServer(t, { env: { METRICS: 'true' } })
  await (await server.person()).client.get('/projects')
  const text = await (await fetch(`${server.url}/metrics`)).text()
  t.match(text, /http_request_duration_seconds_count\{operation="listProjects",status="200"\} 1/)
  t.match(text, /process_resident_memory_bytes/)
})

t.test('a secret may be in a file', async (t) => {
  const folder = t.testdir({ url: 'postgres://u:hunter2@h/d\n', empty: '' })
  t.equal(
    readConfig({ DATABASE_URL_FILE: join(folder, 'url') }).databaseUrl,
    'postgres://u:hunter2@h/d',
    'without the line break at the end',
  )
  t.equal(readConfig({ DATABASE_URL_FILE: join(folder, 'empty') }).databaseUrl, null)
  for (const [env, message] of [
    [{ DATABASE_URL_FILE: join(folder, 'none') }, /^DATABASE_URL_FILE cannot be read: ENOENT/],
    [{ DATABASE_URL_FILE: 'x', DATABASE_URL: 'postgres://h/d' }, /^Set DATABASE_URL or DATABASE_URL_FILE/],
  ] as const)
    t.throws(() => readConfig(env), { constructor: ConfigError, message })
  t.equal(readConfig({ PORT_FILE: join(folder, 'none') }).port, 3000, 'PORT is no secret')
})

t.test('variables of .env that are no settings are named', async (t) => {
  const folder = t.testdir({
    '.env': 'DATABSE_URL=x\nLOG_LEVEL=info\nSECRET_KEY_FILE=/x\nPORT_FILE=/x\n',
  })
  const before = { cwd: process.cwd(), env: { ...process.env } }
  t.teardown(() => {
    process.chdir(before.cwd)
    process.env = before.env
  })
  process.chdir(folder)
  const names = [
    'REQUEST_TIMOUT',
    'STORAGEE_DIR',
    'LOG_LEVLE',
    'PUBLIC_URI',
    'POTR',
    'HOSTNAME',
    'AWS_PROFILE',
  ]
  Object.assign(process.env, Object.fromEntries(names.map((name) => [name, 'x'])))
  const warnings: string[] = []
  loadEnvFile((message) => warnings.push(message))
  t.same(warnings.toSorted(), [
    '.env sets what is no setting: DATABSE_URL, PORT_FILE',
    'DATABSE_URL is no setting: did you mean DATABASE_URL?',
    'LOG_LEVLE is no setting: did you mean LOG_LEVEL?',
    'PUBLIC_URI is no setting: did you mean PUBLIC_URL?',
    'REQUEST_TIMOUT is no setting: did you mean REQUEST_TIMEOUT?',
    'STORAGEE_DIR is no setting: did you mean STORAGE_DIR?',
  ])
})

const stripe = { STRIPE_SECRET_KEY: 'sk_test_x', STRIPE_WEBHOOK_SECRET: 'whsec_x' }

t.test('an invalid setting is reported by name, without its value if that is secret', async (t) => {
  const cases: Array<[Record<string, string>, RegExp]> = [
    [{ PORT: '70000' }, /^PORT must be a whole number from 0 to 65535/],
    [{ PORT: '-1' }, /^PORT/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of/],
    [
      { DATABASE_URL: 'mysql://u:hunter2@h/d' },
      /^DATABASE_URL must be an address that starts with postgres:\/\//,
    ],
    [{ REDIS_URL: 'hunter2' }, /^REDIS_URL/],
    [{ PUBLIC_URL: 'ftp://x' }, /^PUBLIC_URL/],
    [{ BOOTSTRAP_API_KEY: 'plat_live_hunter2' }, /^BOOTSTRAP_API_KEY/],
    [{ BOOTSTRAP_EMAIL: 'ada' }, /^BOOTSTRAP_EMAIL/],
    [{ TRUST_PROXY: '1' }, /^TRUST_PROXY/],
    [{ CORS_ORIGINS: '*' }, /^CORS_ORIGINS/],
    [{ METRICS: 'yes' }, /^METRICS must be one of true, false/],
    [{ RATE_LIMIT_WRITE: '0' }, /^RATE_LIMIT_WRITE/],
    [{ PAYMENT_GATEWAY: 'barter' }, /^PAYMENT_GATEWAY must be one of sandbox, stripe/],
    [
      { PAYMENT_GATEWAY: 'stripe' },
      /^PAYMENT_GATEWAY=stripe needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET/,
    ],
    [{ PAYMENT_GATEWAY: 'stripe', ...stripe, STRIPE_SECRET_KEY: 'pk_hunter2' }, /^STRIPE_SECRET_KEY/],
    [{ PAYMENT_GATEWAY: 'stripe', ...stripe, STRIPE_WEBHOOK_SECRET: 'sk_hunter2' }, /^STRIPE_WEBHOOK_SECRET/],
    [
      { PAYMENT_GATEWAY: 'stripe', ...stripe, STRIPE_API_BASE: 'http://localhost/hunter2' },
      /^STRIPE_API_BASE/,
    ],
  ]
  for (const [env, message] of cases) {
    try {
      readConfig(env)
      t.fail(`${Object.keys(env)[0]} was accepted`)
    } catch (error) {
      t.ok(error instanceof ConfigError)
      t.match((error as Error).message, message)
      t.notMatch((error as Error).message, /hunter2/)
    }
  }
})

t.test('.env.example lists exactly the settings that the code reads', async (t) => {
  const root = join(import.meta.dirname, '../..')
  const documented = new Set(
    [...readFileSync(join(root, '.env.example'), 'utf8').matchAll(/^#?\s?([A-Z][A-Z0-9_]+)=/gm)].map(
      (m) => m[1],
    ),
  )
  const readSettings = new Set<string>()
  // Some settings are read only when others are set.
  const settings: Array<Record<string, string>> = [
    { BOOTSTRAP_API_KEY: newSecret('live') },
    { STORAGE: 's3', S3_BUCKET: 'files' },
    { PAYMENT_GATEWAY: 'stripe', ...stripe },
  ]
  for (const env of settings) {
    readConfig(
      new Proxy(env, {
        get(target, name: string) {
          readSettings.add(name)
          return target[name]
        },
      }),
    )
  }
  const read = [...readSettings].filter(
    (name) => !readSettings.has(name.replace(/_FILE$/, '')) || !name.endsWith('_FILE'),
  )
  t.same([...documented].sort(), read.sort())
})

t.test('.env.example and docs/configuration.md match the table of settings', async (t) => {
  const root = join(import.meta.dirname, '../..')
  t.equal(envExample(), readFileSync(join(root, '.env.example'), 'utf8'))
  t.equal(await configurationPage(), readFileSync(join(root, 'docs/configuration.md'), 'utf8'))
})

t.test('the documented rate limits are those of the spec', async (t) => {
  for (const [policy, limit] of Object.entries(contract['x-rate-limits'])) {
    const variable = `RATE_LIMIT_${policy.toUpperCase()}`
    const setting = Object.values(settings).find((candidate) => candidate.variable === variable)
    t.equal(setting?.defaultText, String(limit), variable)
  }
})
