// PgBouncer in front of the database of a test.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../../scripts/test/free-port.ts'
import { createDatabaseProxy } from './database-proxy.ts'
import { acceptsConnections } from '../../../scripts/test/accepts-connections.ts'
import { waitUntil } from '../server/wait.ts'

const binary = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path))

const unprivilegedId = 65534

/** The `skip` option of a test that needs PgBouncer. */
export const skipWithoutPgBouncer = binary === undefined && 'no PgBouncer'

/** @returns the URL of the database through PgBouncer. The end of the test stops it. */
export async function startPgBouncer(
  t: Pick<Test, 'teardown'>,
  databaseUrl: string,
  mode: 'session' | 'transaction',
  further: Record<string, string | number> = {},
): Promise<string> {
  // PgBouncer refuses to run as root. Its account may open neither the private socket of the database nor the
  // temporary folder of the run.
  const asRoot = process.getuid?.() === 0
  const upstream = new URL((await createDatabaseProxy(t, databaseUrl)).url)
  const folder = mkdtempSync(join(asRoot ? '/tmp' : tmpdir(), 'pgbouncer-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  const database = [
    `host=${upstream.hostname}`,
    `port=${upstream.port}`,
    `dbname=${upstream.pathname.slice(1)}`,
    `user=${decodeURIComponent(upstream.username)}`,
    `password=${decodeURIComponent(upstream.password)}`,
  ]
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    default_pool_size: 20,
    ...further,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, ['[databases]', `app = ${database.join(' ')}`, '[pgbouncer]', ...lines, ''].join('\n'))
  if (asRoot) for (const path of [folder, file]) chownSync(path, unprivilegedId, unprivilegedId)
  const account = asRoot ? { uid: unprivilegedId, gid: unprivilegedId } : {}
  const child = spawn(binary!, [file], { stdio: 'ignore', cwd: '/', ...account })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGINT')
    await exited
  })
  await waitUntil(() => acceptsConnections(port), 'PgBouncer')
  return `postgres://app@127.0.0.1:${port}/app`
}
