// A TCP proxy in front of PostgreSQL. While it is cut, connections break and new ones are refused.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'

export interface DatabaseProxy {
  /** The URL of the database through the proxy. */
  url: string
  cut(): Promise<void>
  restore(): Promise<void>
}

export async function createDatabaseProxy(
  t: Pick<Test, 'teardown'>,
  databaseUrl: string,
): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>()
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = connectTo(databaseUrl)
    for (const socket of [client, upstream]) track(socket)
    client.pipe(upstream).pipe(client)
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  const cut = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  t.teardown(() => (server.listening ? cut() : undefined))
  return { url: urlOnPort(databaseUrl, port), cut, restore: () => listen(port) }
}

/** A connection to the server of a database: over its Unix socket, or over TCP. */
export function connectTo(databaseUrl: string): Socket {
  const { hostname, port, searchParams } = new URL(databaseUrl)
  const host = searchParams.get('host') ?? hostname
  const number = searchParams.get('port') ?? port
  return host.startsWith('/') ? connect(join(host, `.s.PGSQL.${number}`)) : connect(Number(number), host)
}

/** The URL of the same database through another port of loopback. */
export function urlOnPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl)
  url.searchParams.delete('host')
  url.searchParams.delete('port')
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return url.href
}
