// Generates load over loopback: several connections, each sending its next request after the response to the
// last one. Plain HTTP/1.1 on sockets, to use little CPU of the machine.
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Shot {
  method: string
  path: string
  /** An API key, or the cookie of a session. */
  key?: string
  cookie?: string
  body?: unknown
}

export interface LoadOptions {
  port: number
  connections: number
  /** The next request. */
  next: () => Shot
  /** The expected status. */
  status: number
}

export interface Limit {
  seconds: number
  requests: number
  /** Requests per second. Default: each connection sends as soon as it has its response. */
  rate?: number
  /** Receives the milliseconds of each request, from the moment when it was due. */
  latencies?: number[]
}

export interface Load {
  /**
   * Sends requests until the time has passed or the number of requests is reached.
   * @returns the number of responses.
   */
  fire(limit: Limit): Promise<number>
  close(): void
}

export async function openLoad({ port, connections, next, status }: LoadOptions): Promise<Load> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true)
      await once(socket, 'connect')
      return socket
    }),
  )
  return {
    async fire({ seconds, requests, rate, latencies }) {
      const begun = performance.now()
      const end = begun + seconds * 1000
      let sent = 0
      await Promise.all(
        sockets.map(async (socket) => {
          while (sent < requests && performance.now() < end) {
            const due = rate === undefined ? performance.now() : begun + (sent * 1000) / rate
            sent++
            // A timer may fire up to a millisecond early.
            while (due > performance.now()) await sleep(due - performance.now())
            const got = await exchange(socket, bytesOf(next(), port))
            if (got !== status) throw new Error(`expected status ${status}, got ${got}`)
            latencies?.push(performance.now() - due)
          }
        }),
      )
      return sent
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function bytesOf({ method, path, key, cookie, body }: Shot, port: number): string {
  const credential = key === undefined ? `cookie: ${cookie}` : `authorization: Bearer ${key}`
  const head =
    `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n` +
    `accept: application/json\r\n${credential}\r\n`
  if (body === undefined) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** Sends one request and reads the complete response. @returns the status. */
function exchange(socket: Socket, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = ''
    /** Remaining bytes of the body; null until the head is complete. */
    let missing: number | null = null
    const done = (error?: Error): void => {
      socket.off('data', read).off('error', done).off('close', closed)
      if (error === undefined) resolve(Number(head.slice(9, 12)))
      else reject(error)
    }
    const closed = (): void => done(new Error('the server closed a connection'))
    const read = (chunk: Buffer): void => {
      if (missing === null) {
        head += chunk.toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end === -1) return
        const length = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, end))
        if (length === null)
          return done(new Error(`a response without Content-Length: ${head.slice(0, end)}`))
        missing = Number(length[1]) - (head.length - end - 4)
      } else {
        missing -= chunk.length
      }
      if (missing === 0) done()
    }
    socket.on('data', read).on('error', done).on('close', closed)
    socket.write(request)
  })
}
