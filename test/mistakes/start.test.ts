// Mistakes of the operator that a start finds: server and worker refuse with one sentence, and change neither
// rows nor files. Those of TLS are in test/infra/private-authority.test.ts, those of backups in test/backup/.
// `npm run faults` starts both as processes for each mistake and in two time zones, `npm test` for the first
// mistake and in one time zone.
import t, { type Test } from 'tap'
import { newFolder } from '../support/server/backups.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createClient } from '../support/http/client.ts'
import { requireRefusal, type Settings } from '../support/generator/mistakes.ts'
import { createCluster, execute, runCluster } from '../support/database/own-postgres.ts'
import { skipWithoutPgBouncer, startPgBouncer } from '../support/database/pgbouncer.ts'
import { bootstrapKey, spawnServer, startServerHere } from '../support/server/process.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { newDatabase } from '../support/server/store-servers.ts'

/** A database with rows and a store with a file, of a server that has stopped. */
async function installation(t: Test, id = 'db_first'): Promise<Settings & { key: string }> {
  const settings = { DATABASE_URL: await newDatabase(t, id), STORAGE_DIR: newFolder(t) }
  const server = await startServer(t, { databaseUrl: settings.DATABASE_URL, env: settings })
  const { client, key } = await server.person()
  await client.post('/projects', { name: 'kept' })
  await uploadFile(client, { bytes: 'kept' })
  await server.close()
  return { ...settings, key }
}

/** A start that refuses changes nothing, so the tests share what is kept. */
const first = await installation(t)

t.test('the wrong database with the right store', async (t: Test) => {
  const wrong = { ...first, DATABASE_URL: await newDatabase(t, 'db_second') }
  const sentence =
    /^The file store \S+ belongs to the database db_first, but this is the database db_second: set/
  await requireRefusal(t, { env: wrong, kept: first, sentence, asProcesses: true })
})

t.test('the right database with an empty store', async (t: Test) => {
  const settings = { ...first, STORAGE_DIR: newFolder(t) }
  const sentence = /^The file store \S+ is empty, but the database db_first has files: set/
  await requireRefusal(t, { env: settings, sentence })
})

t.test('two databases with one store', async (t: Test) => {
  const second = await installation(t, 'db_second')
  const both = { ...second, STORAGE_DIR: first.STORAGE_DIR }
  const sentence =
    /^The file store \S+ belongs to the database db_first, but this is the database db_second: set/
  await requireRefusal(t, { env: both, sentence })
  await startServerHere(t, first)
})

t.test(
  'a pooler in transaction mode without DATABASE_DIRECT_URL',
  { skip: skipWithoutPgBouncer },
  async (t) => {
    const pooled = await startPgBouncer(t, first.DATABASE_URL, 'transaction')
    const sentence = /^DATABASE_URL leads to a pooler in transaction mode, .*: set DATABASE_DIRECT_URL to/
    await requireRefusal(t, { env: { ...first, DATABASE_URL: pooled }, kept: first, sentence })
  },
)

t.test('a clock that is ten minutes off', async (t: Test) => {
  const { now } = Date
  t.teardown(() => (Date.now = now))
  for (const [minutes, side] of [
    [10, 'ahead of'],
    [-10, 'behind'],
  ] as const) {
    const module = `const { now } = Date; Date.now = () => now() + ${minutes * 60_000}`
    const env = { ...first, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(module)}` }
    const sentence = new RegExp(
      `^The clock of this machine is \\d+ seconds ${side} that of the database: correct`,
    )
    if (!isLongForm) Date.now = () => now() + minutes * 60_000
    await requireRefusal(t, { env, sentence })
  }
})

t.test('two versions at once: the older one serves on a newer schema', async (t: Test) => {
  const older = await startServerHere(t, first)
  await execute(
    first.DATABASE_URL,
    `ALTER TABLE projects ADD COLUMN of_a_later_version text;
     INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
       VALUES ('later', 'later', '29990101000000_later', now())`,
  )
  for (const { url } of [older, await startServerHere(t, first)]) {
    const client = createClient(url, first.key)
    t.equal((await client.post('/projects', { name: 'both' })).status, 201)
    t.match(await client.get('/readyz'), { body: { status: 'ok' } })
  }
})

t.test('an older server after a newer migration', async (t: Test) => {
  await execute(first.DATABASE_URL, "UPDATE schema_requirements SET oldest_server = '99.0.0'")
  const sentence =
    /^The database is for servers of version 99\.0\.0 or later, and this is version [\d.]+: install/
  await requireRefusal(t, { env: first, sentence })
})

t.test('credentials of PostgreSQL', async (t: Test) => {
  const { url, superuserUrl } = await runCluster(t, await createCluster({ migrated: false }))
  const settings = { DATABASE_URL: url, STORAGE_DIR: newFolder(t) }
  const changed = (change: (url: URL) => void): Settings => {
    const address = new URL(url)
    change(address)
    return { ...settings, DATABASE_URL: address.href }
  }
  const cases: Array<[string, Settings, RegExp]> = [
    [
      'a wrong password',
      changed((to) => (to.password = 'wrong')),
      /^PostgreSQL refuses the password of DATABASE_URL/,
    ],
    [
      'no such role',
      changed((to) => (to.username = 'unknown')),
      /^PostgreSQL refuses the password of DATABASE_URL/,
    ],
    [
      'no such database',
      changed((to) => (to.pathname = '/nowhere')),
      /^There is no such database as in DATABASE_URL/,
    ],
    [
      'a port without a server',
      changed((to) => (to.port = '1')),
      /^The database at DATABASE_URL is unreachable \(.*ECONNREFUSED/,
    ],
  ]
  for (const [name, env, sentence] of cases)
    await t.test(name, async (t: Test) => requireRefusal(t, { env, kept: settings, sentence }))
  await execute(superuserUrl, "ALTER ROLE platform VALID UNTIL '2020-01-01'")
  const sentence =
    /^PostgreSQL refuses the password of DATABASE_URL .*: it may have expired or been changed\.$/m
  const kept = { ...settings, DATABASE_URL: superuserUrl }
  await t.test('an expired password', async (t: Test) => requireRefusal(t, { env: settings, kept, sentence }))
})

t.test('a wrong time zone, of the database and of the process, changes nothing', async (t: Test) => {
  const { url } = await createTestDatabase(t)
  await execute(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET timezone = 'Asia/Tokyo'`)
  for (const TZ of isLongForm ? ['America/New_York', 'Asia/Kolkata'] : ['Asia/Kolkata']) {
    const server = await spawnServer(t, { DATABASE_URL: url, TZ })
    const client = createClient(server.url, bootstrapKey)
    const { body: project } = await client.post('/projects', { name: TZ })
    const expires = new Date(Date.now() + 3_600_000).toISOString()
    const { body: key } = await client.post('/user/api-keys', {
      name: TZ,
      scopes: ['user:read'],
      expires_at: expires,
    })
    t.ok(Math.abs(Date.parse(project.created_at) - Date.now()) < 60_000, project.created_at)
    t.equal((await client.get(`/user/api-keys/${key.id}`)).body.expires_at, expires)
    t.equal((await createClient(server.url, key.key ?? key.secret).get('/user/profile')).status, 200)
    await server.end('SIGTERM')
  }
})
