// Upgrades to a version with one more migration: server by server under load and back, and by a backup.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { createEmptyDatabase } from '../support/database/database.ts'
import { execute } from '../support/database/own-postgres.ts'
import { bootstrapKey, inheritedEnvironment, spawnServer, spawnWorker } from '../support/server/process.ts'
import { skipWithout, startProxy } from '../support/http/proxies.ts'
import { rolloutSettings, underLoad } from '../support/http/rolling-load.ts'
import { waitUntil } from '../support/server/wait.ts'

const present = join(import.meta.dirname, '../..')
const authorization = `Bearer ${bootstrapKey}`

/** A migration of a later version, on a table that the present version writes. */
const secondMigration = `
  ALTER TABLE projects ADD COLUMN priority int NOT NULL DEFAULT 0;
  CREATE TABLE project_notes (id text PRIMARY KEY, project_id text NOT NULL REFERENCES projects (id));`

/** A copy of the project with a second migration. */
function nextVersion(t: Test): string {
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

// Servers and worker are replaced one after the other, then one server goes back to the present version.
t.test('a rolling upgrade and back', { skip: skipWithout('haproxy'), timeout: 400_000 }, async (t) => {
  const next = nextVersion(t)
  const ports: [number, number] = [await freePort(), await freePort()]
  const databaseUrl = await createEmptyDatabase(t)
  const env = { ...(await rolloutSettings(t, databaseUrl)), MIGRATE: 'false' }
  migrate(present, databaseUrl)
  const start = (i: number, folder: string) => spawnServer(t, { ...env, PORT: String(ports[i]) }, folder)
  const servers = [await start(0, present), await start(1, present)]
  const worker = await spawnWorker(t, env)
  const url = await startProxy(t, 'haproxy', ports)
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'the proxy')
  const replace = async (i: number, folder: string): Promise<void> => {
    t.strictSame(await servers[i].end('SIGTERM'), { code: 0, signal: null })
    servers[i] = await start(i, folder)
    // Until the proxy has seen that it is back, the other one must stay.
    await sleep(3_000)
  }

  await underLoad(t, url, async () => {
    migrate(next, databaseUrl)
    await replace(0, next)
    t.strictSame(await worker.end('SIGTERM'), { code: 0, signal: null }, 'the worker')
    await spawnWorker(t, env, next)
    await replace(1, next)
    await replace(0, present)
  })
})

for (const migrated of [false, true])
  t.test(`the next version restores a backup of ${migrated ? 'the new' : 'the old'} tables`, async (t) => {
    const next = nextVersion(t)
    const target = mkdtempSync(join(tmpdir(), 'platform-backup-'))
    t.teardown(() => rmSync(target, { recursive: true, force: true }))
    const from = { DATABASE_URL: await createEmptyDatabase(t), DATA_DIR: join(target, 'from') }
    const to = { DATABASE_URL: await createEmptyDatabase(t), DATA_DIR: join(target, 'to') }
    const original = await spawnServer(t, from)
    for (const name of ['One', 'Two'])
      await call(`${original.url}/v1/projects`, {
        method: 'POST',
        body: JSON.stringify({ name }),
        headers: { 'content-type': 'application/json' },
      })
    const { data: events } = await call(`${original.url}/v1/events`)
    await original.end('SIGTERM')
    if (migrated) migrate(next, from.DATABASE_URL)
    run(present, 'backup', from, join(target, 'backups'))
    run(next, 'restore', to, join(target, 'backups'))
    const copy = await spawnServer(t, { ...to, WORKER: 'false' }, next)
    t.same((await call(`${copy.url}/v1/events`)).data, events)
    t.same(await execute(to.DATABASE_URL, 'SELECT DISTINCT priority FROM projects'), [{ priority: 0 }])
    await copy.end('SIGTERM')
  })

function migrate(folder: string, databaseUrl: string): void {
  run(folder, 'migrate', { DATABASE_URL: databaseUrl })
}

function run(folder: string, script: string, env: Record<string, string>, ...args: string[]): void {
  execFileSync(process.execPath, [`scripts/${script}/main.ts`, ...args], {
    cwd: folder,
    env: { ...inheritedEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

async function call(url: string, init: RequestInit = {}): Promise<any> {
  const response = await fetch(url, { ...init, headers: { ...init.headers, authorization } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${url}: ${response.status} ${text}`)
  return JSON.parse(text)
}
