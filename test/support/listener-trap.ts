// A trap for connections that must not be made: listeners on the machine's own addresses that notice everyone, and a
// count of the sockets that this process opens to anywhere.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Test } from 'tap'

export interface ListenerTrap {
  port: number
  /** Where it listens: loopback addresses and those of the machine's interfaces, without link-local ones. */
  addresses: string[]
  /** Connections that arrived so far. */
  arrived: () => number
}

/** Closed at the end of the test. */
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
      continue // The machine does not have this address, or not this port of it.
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
