// A trap for forbidden connections: listeners on the machine's own addresses that count every connection, and
// a counter of the sockets that this process opens.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Test } from 'tap'

export interface ListenerTrap {
  port: number
  /** The addresses of the listeners: loopback and the machine's interfaces, without link-local addresses. */
  addresses: string[]
  /** The number of connections so far. */
  arrived: () => number
}

/** Opens a trap that is closed at the end of the test. */
export async function openListenerTrap(t: Test): Promise<ListenerTrap> {
  const own = Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address))
  const wanted = new Set([
    '127.0.0.1',
    '127.0.0.2',
    '::1',
    ...own.filter((address) => !address.startsWith('fe80:')),
  ])
  let arrived = 0
  const servers: Server[] = []
  t.teardown(() => {
    for (const server of servers) server.close()
  })
  let port = 0
  const addresses: string[] = []
  for (const host of wanted) {
    const server = createServer((socket) => {
      arrived++
      socket.destroy()
    })
    try {
      server.listen({ host, port, exclusive: true })
      await once(server, 'listening')
    } catch {
      continue // The machine does not have this address, or the port is in use.
    }
    servers.push(server)
    addresses.push(host)
    port = (server.address() as { port: number }).port
  }
  return { port, addresses, arrived: () => arrived }
}

/** Counts the client sockets that this process opens until the end of the test. */
export function countSockets(t: Test): () => number {
  let opened = 0
  const count = (): void => {
    opened++
  }
  subscribe('net.client.socket', count)
  t.teardown(() => unsubscribe('net.client.socket', count))
  return () => opened
}
