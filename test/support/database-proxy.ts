// A TCP proxy in front of PostgreSQL. While it is cut, connections break and new ones are refused.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
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
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
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
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return { url: url.href, cut, restore: () => listen(port) }
}
