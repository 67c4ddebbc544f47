// A TCP proxy that forwards a number of bytes, then cuts the connection or stops forwarding.
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { listen } from './listen.ts'

export interface CuttingProxy {
  url: string
  /** URL of the server behind the proxy. May change while it runs. */
  target: string
  /** Number of connections that were cut or silenced. */
  cuts: number
}

export interface CuttingOptions {
  /** Returns how many client bytes the next connection forwards before it breaks; null for no limit. */
  next: () => number | null
  /** Default `cut`. */
  how?: 'cut' | 'silence'
}

export async function cuttingProxy(
  t: Pick<Test, 'teardown'>,
  target: string,
  { next, how = 'cut' }: CuttingOptions,
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const { hostname, port } = new URL(proxy.target)
    const upstream = connect({ host: hostname, port: Number(port) })
    let left = next() ?? Infinity
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        if (left > 0 || how === 'cut') (socket === client ? upstream : client).destroy()
      })
    }
    client.on('data', (chunk) => {
      if (left <= 0) return
      const passed = chunk.subarray(0, left)
      left -= passed.length
      if (!upstream.write(passed)) {
        client.pause()
        upstream.once('drain', () => client.resume())
      }
      if (left > 0) return
      proxy.cuts++
      if (how === 'silence') return client.destroy()
      // The forwarded bytes still arrive; then both ends are closed without a response.
      upstream.end(() => upstream.destroy())
      client.destroy()
    })
    upstream.on('data', (chunk) => {
      if (left > 0) client.write(chunk)
    })
    upstream.on('end', () => client.end())
    client.on('end', () => upstream.end())
  })
  const port = await listen(t, server)
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${port}`,
    target,
    cuts: 0,
  }
  return proxy
}
