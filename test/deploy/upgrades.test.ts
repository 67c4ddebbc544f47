// Upgrades from earlier releases, with the servers of those releases. Short form: the last release, one in
// the middle and the oldest; with `npm run faults`: all.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { releases, type Release } from '../../scripts/changes/release.ts'
import { freePort } from '../../scripts/test/free-port.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { execute } from '../support/own-postgres.ts'
import { bootstrapKey, inheritedEnvironment, spawnServer, spawnWorker } from '../support/process.ts'
import { skipWithout, startProxy } from '../support/proxies.ts'
import { rolloutSettings, underLoad } from '../support/rolling-load.ts'
import { uploadForm } from '../support/storage.ts'
import { waitUntil } from '../support/wait.ts'

const root = join(import.meta.dirname, '../..')
const authorization = `Bearer ${bootstrapKey}`
const found = existsSync(join(root, '.git')) ? releases(root) : { missing: 'this is no git clone' }
const known = Array.isArray(found) ? found.filter(wasPublished) : []
const short = [0, Math.floor(known.length / 2), known.length - 1]
const chosen = process.env.FAULTS === 'long' ? known : known.filter((_, i) => short.includes(i))

if (!Array.isArray(found)) t.test('upgrades', { skip: found.missing }, async () => {})

for (const release of chosen) {
  const folder = extract(release)
  if (rollsWithoutLoss(release))
    t.test(
      `a rolling upgrade from ${release.name} and back`,
      { skip: skipWithout('haproxy'), timeout: 400_000 },
      async (t) => {
        await roll(t, folder)
        for (const migrated of [false, true]) await restoreBackup(t, folder, { migrated })
      },
    )
  else t.test(`an upgrade from ${release.name} with a stop`, { timeout: 300_000 }, (t) => upgrade(t, folder))
}

/** Servers of 1.8.0 run on the present schema too, but lose a request now and then when they stop. */
function rollsWithoutLoss({ ref }: Release): boolean {
  const { version } = JSON.parse(git('show', `${ref}:package.json`).toString()) as { version: string }
  return version.localeCompare('1.9.0', undefined, { numeric: true }) >= 0
}

/** Before these two releases were published, commits after the one that set the version changed them. */
function wasPublished({ name }: Release): boolean {
  return !/^1\.0\.0 |^1\.3\.0 /.test(name)
}

/** The sources of the release beside the installed packages. */
function extract({ ref }: Release): string {
  const folder = mkdtempSync(join(tmpdir(), 'platform-release-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', ref) })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const compile = join(folder, 'scripts/compile/main.ts')
  if (existsSync(compile)) execFileSync(process.execPath, [compile])
  return folder
}

function git(...args: string[]): Buffer {
  return execFileSync('git', args, { cwd: root, maxBuffer: 256 * 1024 * 1024 })
}

/** Servers and worker are replaced one after the other, then one server goes back to the old release. */
async function roll(t: Test, old: string): Promise<void> {
  const ports: [number, number] = [await freePort(), await freePort()]
  const databaseUrl = await createEmptyDatabase(t)
  const env = { ...(await rolloutSettings(t, databaseUrl)), MIGRATE: 'false' }
  migrate(old, databaseUrl)
  const start = (i: number, folder?: string) => spawnServer(t, { ...env, PORT: String(ports[i]) }, folder)
  const servers = [await start(0, old), await start(1, old)]
  const worker = await spawnWorker(t, env, old)
  const url = await startProxy(t, 'haproxy', ports)
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'the proxy')
  const replace = async (i: number, folder?: string): Promise<void> => {
    t.strictSame(await servers[i].end('SIGTERM'), { code: 0, signal: null })
    servers[i] = await start(i, folder)
    // Until the proxy has seen that it is back, the other one must stay.
    await sleep(3_000)
  }

  await underLoad(t, url, async () => {
    migrate(root, databaseUrl)
    await replace(0)
    t.strictSame(await worker.end('SIGTERM'), { code: 0, signal: null }, 'the worker')
    await spawnWorker(t, env)
    await replace(1)
    await replace(0, old)
  })
}

/** A backup by the old release is restored by this one. `migrated`: the database has the new tables. */
async function restoreBackup(t: Test, old: string, { migrated }: { migrated: boolean }): Promise<void> {
  const target = mkdtempSync(join(tmpdir(), 'platform-backup-'))
  t.teardown(() => rmSync(target, { recursive: true, force: true }))
  const from = { DATABASE_URL: await createEmptyDatabase(t), DATA_DIR: join(target, 'from') }
  const to = { DATABASE_URL: await createEmptyDatabase(t), DATA_DIR: join(target, 'to') }
  const original = await spawnServer(t, from, old)
  for (const name of ['One', 'Two'])
    await call(`${original.url}/v1/projects`, {
      method: 'POST',
      body: JSON.stringify({ name }),
      headers: { 'content-type': 'application/json' },
    })
  const { data: events } = await call(`${original.url}/v1/events`)
  await original.end('SIGTERM')
  if (migrated) migrate(root, from.DATABASE_URL)
  const monthly = await eventsByMonth(from.DATABASE_URL)
  for (const [folder, script, env] of [
    [old, 'backup', from],
    [root, 'restore', to],
  ] as const)
    execFileSync(process.execPath, [`scripts/${script}/main.ts`, join(target, 'backups')], {
      cwd: folder,
      env: { ...inheritedEnvironment(), ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  const copy = await spawnServer(t, { ...to, WORKER: 'false' })
  // Later releases add fields.
  t.match((await call(`${copy.url}/v1/events`)).data, events)
  t.match(await execute(to.DATABASE_URL, 'SELECT DISTINCT tableoid::regclass::text AS name FROM events'), [
    { name: monthly ? /^events_\d{4}_\d{2}$/ : /^events_before_/ },
  ])
  await copy.end('SIGTERM')
}

/** Whether the table of events has partitions; up to 1.10.0 it had none. */
async function eventsByMonth(databaseUrl: string): Promise<boolean> {
  const partitioned = "SELECT 1 FROM pg_class WHERE oid = 'events'::regclass AND relkind = 'p'"
  return (await execute(databaseUrl, partitioned)).length === 1
}

function migrate(folder: string, databaseUrl: string): void {
  execFileSync(process.execPath, ['scripts/migrate/main.ts'], {
    cwd: folder,
    env: { ...inheritedEnvironment(), DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

/** What a client of the old release has stored is there after the upgrade. */
async function upgrade(t: Test, old: string): Promise<void> {
  const databaseUrl = await createEmptyDatabase(t)
  const dataDir = join(old, 'data')
  mkdirSync(dataDir)
  const env = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir }
  const before = await spawnServer(t, env, old)
  const project = await call(`${before.url}/v1/projects`, {
    method: 'POST',
    body: JSON.stringify({ name: 'Before' }),
    headers: { 'content-type': 'application/json' },
  })
  const form = uploadForm({ bytes: Buffer.from('stored before the upgrade') })
  // The first release had no files yet.
  const file = hasFiles(old)
    ? await call(`${before.url}/v1/storage/upload`, { method: 'POST', ...form })
    : null
  const users = await execute(databaseUrl, 'SELECT id, email FROM users ORDER BY id')
  await before.end('SIGTERM')

  const after = await spawnServer(t, env)
  t.equal((await call(`${after.url}/v1/projects/${project.id}`)).name, 'Before')
  if (file !== null) {
    const path = `/v1/storage/files/${file.id}/download`
    const download = await fetch(`${after.url}${path}`, { headers: { authorization } })
    t.equal(await download.text(), 'stored before the upgrade')
  }
  t.same(await execute(databaseUrl, 'SELECT id, email FROM users ORDER BY id'), users)
  await after.end('SIGTERM')
}

function hasFiles(folder: string): boolean {
  return '/storage/upload' in JSON.parse(readFileSync(join(folder, 'generated/openapi.json'), 'utf8')).paths
}

async function call(url: string, init: RequestInit = {}): Promise<any> {
  const response = await fetch(url, { ...init, headers: { ...init.headers, authorization } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${url}: ${response.status} ${text}`)
  return JSON.parse(text)
}
