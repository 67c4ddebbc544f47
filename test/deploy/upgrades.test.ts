// Two servers and a worker behind the proxies of deploy/ are restarted one after the other under load, with a
// version that has one more migration: no request fails, no upload is cut, the event streams have no gap, and
// each webhook arrives once. That version also restores the backups of this one.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/database/database.ts'
import { execute } from '../support/database/own-postgres.ts'
import { createClient } from '../support/http/client.ts'
import { backUp, newFolder } from '../support/server/backups.ts'
import { inheritedEnvironment, spawnServer, spawnWorker } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { skipWithout, startProxy, type ProxyName } from '../support/http/proxies.ts'
import { rolloutSettings, underLoad } from '../support/http/rolling-load.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const present = join(import.meta.dirname, '../..')

/** A migration of a later version, on a table that the present version writes. */
const secondMigration = `
  ALTER TABLE projects ADD COLUMN priority int NOT NULL DEFAULT 0;
  CREATE TABLE project_notes (id text PRIMARY KEY, project_id text NOT NULL REFERENCES projects (id));`

const next = nextVersion()

/** A copy of the project with a second migration. */
function nextVersion(): string {
  const folder = mkdtempSync(join(tmpdir(), 'platform-next-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of readdirSync(present))
    if (!/^(\.|node_modules$|test$|docs$)/.test(name))
      cpSync(join(present, name), join(folder, name), { recursive: true })
  symlinkSync(join(present, 'node_modules'), join(folder, 'node_modules'))
  const migration = join(folder, 'prisma/migrations/20991231000000_second')
  mkdirSync(migration)
  writeFileSync(join(migration, 'migration.sql'), secondMigration)
  return folder
}

/** Starts two servers and a worker behind the proxies. */
async function startBehind(t: Test, proxies: readonly ProxyName[], databaseUrl: string) {
  const ports: [number, number] = [await freePort(), await freePort()]
  const env = { ...(await rolloutSettings(t, databaseUrl)), MIGRATE: 'false' }
  const start = (i: number, folder: string) => spawnServer(t, { ...env, PORT: String(ports[i]) }, folder)
  const servers = [await start(0, present), await start(1, present)]
  let worker = await spawnWorker(t, env)
  const urls: string[] = []
  for (const name of proxies) urls.push(await startProxy(t, name, ports))
  for (const url of urls) await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'the proxy')
  return {
    urls,
    async replaceServer(i: number, folder = present): Promise<void> {
      t.strictSame(await servers[i].end('SIGTERM'), { code: 0, signal: null }, `server ${i}`)
      servers[i] = await start(i, folder)
      // Until the proxy has seen that it is back, the other one must stay.
      await sleep(3_000)
    },
    async replaceWorker(folder = present): Promise<void> {
      t.strictSame(await worker.end('SIGTERM'), { code: 0, signal: null }, 'the worker')
      worker = await spawnWorker(t, env, folder)
    },
  }
}

const proxies = ['haproxy', 'nginx'] as const

// The short form upgrades one server, and restarts the other one as it is: as one that goes back.
t.test(
  'a rolling upgrade and back behind both proxies',
  { skip: skipWithout('haproxy') || skipWithout('nginx'), timeout: 400_000 },
  async (t) => {
    const { url: databaseUrl } = await createTestDatabase(t)
    const { urls, replaceServer, replaceWorker } = await startBehind(t, proxies, databaseUrl)
    const connections = await underLoad(t, urls, async () => {
      run('migrate', { DATABASE_URL: databaseUrl })
      await replaceServer(0, next)
      await replaceWorker(next)
      if (isLongForm) {
        await replaceServer(1, next)
        await replaceServer(0)
      } else await replaceServer(1)
    })
    t.ok(Math.min(...connections) > 1, `${connections} connections for the event streams`)
  },
)

for (const name of isLongForm ? proxies : [])
  t.test(`20 restarts behind ${name}`, { skip: skipWithout(name), timeout: 1_500_000 }, async (t) => {
    const { url: databaseUrl } = await createTestDatabase(t)
    const { urls, replaceServer, replaceWorker } = await startBehind(t, [name], databaseUrl)
    const [connections] = await underLoad(t, urls, async () => {
      for (let i = 0; i < 20; i++) {
        await replaceServer(i % 2)
        if (i % 2 === 1) await replaceWorker()
      }
    })
    t.ok(connections > 1, `${connections} connections for the event stream`)
  })

t.test('the next version restores a backup of the old and of the new tables', async (t) => {
  const from = { DATABASE_URL: (await createTestDatabase(t)).url, STORAGE_DIR: newFolder(t) }
  const original = await startServer(t, { databaseUrl: from.DATABASE_URL, env: from })
  const { client, key } = await original.person()
  for (const name of ['One', 'Two']) t.equal((await client.post('/projects', { name })).status, 201)
  const { data: events } = (await client.get('/events')).body
  await original.close()
  const isRestored = async (t: Test): Promise<void> => {
    const { folder } = await backUp(from, newFolder(t))
    const to = { DATABASE_URL: await createEmptyDatabase(t), STORAGE_DIR: newFolder(t) }
    run('restore', to, folder)
    const copy = await spawnServer(t, { ...to, WORKER: 'false' }, next)
    t.same((await createClient(copy.url, key).get('/events')).body.data, events)
    t.same(await execute(to.DATABASE_URL, 'SELECT DISTINCT priority FROM projects'), [{ priority: 0 }])
    await copy.end('SIGTERM')
  }
  await t.test('of the old', isRestored)
  run('migrate', { DATABASE_URL: from.DATABASE_URL })
  await t.test('of the new', isRestored)
})

/** Runs a command of the next version. */
function run(script: string, env: Record<string, string>, ...args: string[]): void {
  execFileSync(process.execPath, [`scripts/${script}/main.ts`, ...args], {
    cwd: next,
    env: { ...inheritedEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}
