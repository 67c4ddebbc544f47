// Where the embedded PostgreSQL listens: a Unix socket in a folder that only its own account may enter. On
// Windows, whose Node.js has no Unix sockets, a port of loopback.
import { randomInt } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Account } from './account.ts'

export interface Address {
  /** The folder of the Unix socket, or the address of loopback. */
  host: string
  port: number
}

/** The port in the name of the socket. Several sockets have the same one, in different folders. */
const SOCKET_PORT = 5432

/** Bytes of the path of a socket: macOS allows 103, Linux 107. */
const PATH_LIMIT = 103

const TEMPORARY = 'platform-postgres-'

/**
 * Below the ports that operating systems use for outgoing connections, so that a restarted database finds its
 * port free.
 */
const PORTS = { from: 20_000, to: 32_000 }
const PORT_ATTEMPTS = 10

/** The addresses to try: in the data folder, and where its path is too long for a socket, in a new folder. */
export async function* possibleAddresses(dataDir: string): AsyncGenerator<Address> {
  if (process.platform === 'win32') {
    for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt += 1)
      yield { host: '127.0.0.1', port: await freePort() }
    return
  }
  const inside = join(dataDir, 'socket')
  if (fits(inside)) yield { host: inside, port: SOCKET_PORT }
  for (const parent of new Set([tmpdir(), '/tmp'])) {
    const prefix = join(parent, TEMPORARY)
    if (fits(`${prefix}XXXXXX`) && existsSync(parent)) yield { host: mkdtempSync(prefix), port: SOCKET_PORT }
  }
}

/** Makes the folder of the socket private. Only while no PostgreSQL of this data folder runs. */
export function prepareAddress({ host, port }: Address, account: Account): void {
  if (!isSocket(host)) return
  if (!existsSync(host)) mkdirSync(host, { mode: 0o700 })
  chmodSync(host, 0o700)
  account.own(host)
  // PostgreSQL trusts the lock of a killed one if another process has its process id by now.
  const socket = join(host, `.s.PGSQL.${port}`)
  for (const path of [socket, `${socket}.lock`]) rmSync(path, { force: true })
}

/** Removes the folder of a socket outside the data folder. */
export function removeAddress({ host }: Address, dataDir: string): void {
  if (isSocket(host) && dirname(host) !== dataDir && host.includes(TEMPORARY))
    rmSync(host, { recursive: true, force: true })
}

/** PostgreSQL's settings for an address. */
export function addressSettings({ host, port }: Address): Record<string, string> {
  const places = isSocket(host)
    ? { listen_addresses: '', unix_socket_directories: `"${host.replaceAll('"', '""')}"` }
    : { listen_addresses: host, unix_socket_directories: '' }
  return { ...places, unix_socket_permissions: '0700', port: String(port) }
}

/**
 * The URL of a database at an address. `require_auth` keeps the password from a server that asks for it in
 * clear.
 */
export function databaseUrl(
  { host, port }: Address,
  { role, password, database }: { role: string; password: string; database: string },
): string {
  const url = new URL(`postgresql://${role}:${password}@localhost/${database}`)
  if (isSocket(host)) url.searchParams.set('host', host)
  else url.hostname = host
  if (isSocket(host)) url.searchParams.set('port', String(port))
  else url.port = String(port)
  url.searchParams.set('require_auth', 'scram-sha-256')
  return url.href
}

function isSocket(host: string): boolean {
  return host.startsWith('/')
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, `.s.PGSQL.${SOCKET_PORT}`)) <= PATH_LIMIT
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to)
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer()
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (free) return port
  }
}
