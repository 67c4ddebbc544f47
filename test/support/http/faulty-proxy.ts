// A TCP proxy in front of a dependency, which fails in the ways that networks and servers fail.
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

/**
 * `refusing`: connections end, and new ones are refused. `away`: connections are silent, and new ones are
 * refused, as by the router of a host that is gone. `hung`: connections are accepted, and nothing is
 * answered. `slow`: every answer comes late.
 */
export type NetworkFault = 'none' | 'refusing' | 'away' | 'hung' | 'slow'

export interface FaultyProxy {
  port: number
  set(fault: NetworkFault): Promise<void>
}

/** Milliseconds by which a slow dependency answers late. */
export const slowMs = 300

/** @param open opens a connection to the dependency */
export async function startFaultyProxy(t: Pick<Test, 'teardown'>, open: () => Socket): Promise<FaultyProxy> {
  const sockets = new Set<Socket>()
  let fault: NetworkFault = 'none'
  const isSilent = (): boolean => fault === 'hung' || fault === 'away'
  const server = createServer((client) => {
    const upstream = open()
    // Bytes that arrive during a fault are lost, so the connection ends with the fault.
    let isBroken = false
    const forward = async (from: Socket, to: Socket, data: Buffer): Promise<void> => {
      isBroken ||= isSilent()
      if (isBroken) return
      if (fault === 'slow' && from === upstream) {
        from.pause()
        await sleep(slowMs)
        from.resume()
      }
      to.write(data)
    }
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      sockets.add(from)
      from.on('data', (data) => void forward(from, to, data)).on('error', () => {})
      from.on('end', () => !isBroken && to.end())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void server.listen(port, '127.0.0.1', () => resolve()))
  const closeServer = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()))
  await listen(0)
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port,
    async set(next) {
      const wasSilent = isSilent()
      fault = next
      if (next === 'refusing' || wasSilent) for (const socket of sockets) socket.destroy()
      const accepts = next !== 'refusing' && next !== 'away'
      if (!accepts && server.listening) void closeServer()
      if (accepts && !server.listening) await listen(port)
    },
  }
}
