// `npm run admin -- doctor` finds the mistakes of operators, and says what to do without printing a secret.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createCipher } from '../../infra/encryption/cipher.ts'
import { diagnose } from '../../scripts/admin/doctor.ts'
import type { Finding } from '../../scripts/admin/doctor-report.ts'
import { createEmptyDatabase, createTestDatabase, testSecretKey } from '../support/database/database.ts'
import { inheritedEnvironment } from '../support/server/process.ts'
import { openSession } from '../support/auth/session.ts'
import { listen } from '../support/http/listen.ts'

const script = join(import.meta.dirname, '../../scripts/admin/main.ts')
const canary = 'canary-8812'

interface Diagnosis {
  findings: Finding[]
  /** The findings of a check. */
  of(name: string): Finding[]
}

/** In this process, which has loaded the modules. */
async function doctor(t: Test, env: Record<string, string>): Promise<Diagnosis> {
  const findings: Finding[] = []
  const settings = { DATA_DIR: join(t.testdir({}), 'data'), SECRET_KEY: testSecretKey, ...env }
  await diagnose(settings, (finding) => findings.push(finding))
  t.notOk(JSON.stringify(findings).includes(canary), 'no secret')
  return { findings, of: (name) => findings.filter((finding) => finding.name === name) }
}

/** The command. @returns its exit code and what it prints. */
async function run(cwd: string, args: string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [script, 'doctor', ...args], {
    cwd,
    env: { ...inheritedEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: (await exit)[0] as number | null, out, errors }
}

/** For the tests that change nothing in it. */
const { url: database } = await createTestDatabase(t)

t.test('settings without a mistake', async (t) => {
  const folder = t.testdir({})
  const env = { DATA_DIR: join(folder, 'data'), SECRET_KEY: testSecretKey, DATABASE_URL: database }
  const { code, out, errors } = await run(folder, ['--json'], { ...env, DATABASE_POOL_SIZE: '2' })
  t.strictSame([code, errors], [0, ''])
  const findings = JSON.parse(out) as Finding[]
  t.same(
    findings.filter(({ state }) => state === 'problem'),
    [],
  )
  const names = findings.map(({ name }) => name)
  for (const name of ['settings', 'database', 'clock', 'rights', 'migrations', 'secret key', 'files', 'disk'])
    t.ok(names.includes(name), name)
})

t.test('one line for each check, and nothing is created', async (t) => {
  const folder = t.testdir({ '.env': 'NO_SETTING=1\n' })
  const { code, out, errors } = await run(folder, [], {})
  t.strictSame([code, errors], [0, ''])
  const lines = out.trim().split('\n')
  for (const line of lines) t.match(line, /^(?:ok|warning|problem) {2,}\S/)
  t.match(lines[0], /^warning {2}settings .*NO_SETTING/)
  t.match(lines.join('\n'), /ok {7}database {6}There is no DATABASE_URL: the first start creates a database/)
  t.notOk(existsSync(join(folder, '.data')))
})

t.test('a setting that is not valid', async (t) => {
  const wrong = { PORT: 'http', STRIPE_SECRET_KEY: canary }
  const { findings } = await doctor(t, wrong)
  t.match(findings, [{ state: 'problem', name: 'settings', message: /^PORT must be a whole number/ }])
  const { code, out, errors } = await run(t.testdir({}), ['--json'], wrong)
  t.strictSame([code, JSON.parse(out), errors], [1, findings, ''])
})

t.test('a database that is not there', async (t) => {
  const { of } = await doctor(t, { DATABASE_URL: `postgres://ada:${canary}@127.0.0.1:1/none` })
  t.match(of('database'), [
    { state: 'problem', message: /is unreachable \(.*ECONNREFUSED.*check the address/ },
  ])
  t.equal(of('disk').length, 3, 'the other checks go on')
})

t.test('DATABASE_DIRECT_URL of another database', async (t) => {
  const other = await createTestDatabase(t)
  const { of } = await doctor(t, { DATABASE_URL: database, DATABASE_DIRECT_URL: other.url })
  t.match(of('database'), [{ state: 'problem', message: /DATABASE_DIRECT_URL receives no notifications/ }])
})

t.test('migrations that are missing', async (t) => {
  const url = await createEmptyDatabase(t)
  const waiting = await doctor(t, { DATABASE_URL: url })
  t.match(waiting.of('migrations'), [{ state: 'warning', message: /the next start applies them/ }])
  const { of } = await doctor(t, { DATABASE_URL: url, MIGRATE: 'false' })
  t.match(of('migrations'), [{ state: 'problem', message: /are missing: run `npm run migrate`/ }])
})

t.test('rights that the role lacks', async (t) => {
  const { url } = await createTestDatabase(t)
  const session = await openSession(t, url)
  await session.query('REVOKE INSERT, UPDATE ON projects FROM CURRENT_USER')
  const { of } = await doctor(t, { DATABASE_URL: url })
  t.match(of('rights'), [{ state: 'problem', message: /lacks 2 rights, such as INSERT on projects, UPDATE/ }])
})

t.test('another SECRET_KEY than the database has', async (t) => {
  const { url } = await createTestDatabase(t)
  const { keyId } = createCipher('another-secret-key-of-other-servers', [])
  const session = await openSession(t, url)
  await session.query('INSERT INTO secret_keys (key_id) VALUES ($1)', [keyId])
  const wrong = await doctor(t, { DATABASE_URL: url })
  t.match(wrong.of('secret key'), [{ state: 'problem', message: /encrypted with .*SECRET_KEY_PREVIOUS/ }])
  const missing = await doctor(t, { DATABASE_URL: url, SECRET_KEY: '' })
  t.match(missing.of('secret key'), [{ state: 'problem', message: /There is no SECRET_KEY/ }])
})

t.test('a file store of another database', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'files-'))
  const marker = { store_id: '1', database_id: 'another' }
  writeFileSync(join(folder, '.platform-store.json'), JSON.stringify(marker))
  const { of } = await doctor(t, { DATABASE_URL: database, STORAGE_DIR: folder })
  t.match(of('files'), [{ state: 'problem', message: /belongs to the database another/ }])
})

t.test('services that do not answer, or refuse the key', async (t) => {
  const refusing = createServer((_request, response) => response.writeHead(401).end())
  const port = await listen(t, refusing)
  const address = `http://127.0.0.1:${port}`
  const { of } = await doctor(t, {
    DATABASE_URL: database,
    DATABASE_READ_URL: database,
    REDIS_URL: `redis://:${canary}@127.0.0.1:1`,
    BUS_URL: `nats://us:${canary}@127.0.0.1:1`,
    STORAGE: 's3',
    S3_BUCKET: 'files',
    S3_ENDPOINT: 'http://127.0.0.1:1',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: canary,
    PAYMENT_GATEWAY: 'stripe',
    STRIPE_SECRET_KEY: `sk_test_${canary.replace('-', '')}`,
    STRIPE_WEBHOOK_SECRET: 'whsec_x',
    STRIPE_API_BASE: address,
    AI_UPSTREAMS: JSON.stringify([
      { name: 'refusing', base_url: `${address}/v1`, api_key: canary, models: [{ id: 'a' }] },
      { name: 'away', base_url: 'http://127.0.0.1:1/v1', models: [{ id: 'b' }] },
    ]),
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  })
  t.match(of('nats'), [{ state: 'problem', message: /BUS_URL leads to no NATS server/ }])
  t.match(of('replica'), [{ state: 'problem', message: /leads to a database that accepts writes/ }])
  t.match(of('redis'), [{ state: 'problem', message: /Redis does not answer .*check REDIS_URL/ }])
  t.match(of('files'), [{ state: 'problem', message: /does not answer .*check S3_ENDPOINT, S3_BUCKET/ }])
  t.match(of('stripe'), [{ state: 'problem', message: /check STRIPE_SECRET_KEY/ }])
  t.match(of('model refusing'), [{ state: 'problem', message: /refuses the key \(401\)/ }])
  t.match(of('model away'), [{ state: 'problem', message: /does not answer .*check AI_UPSTREAMS/ }])
  t.match(of('traces'), [{ state: 'warning', message: /does not answer .*traces are lost/ }])
})
