// The connections of the attacker.
import { connect, type Socket } from 'node:net'
import { Agent, type Dispatcher } from 'undici'

export interface Shot {
  key?: string
  json?: unknown
  body?: string | Buffer | FormData
  headers?: Record<string, string>
}

export interface Answer {
  /** The status, and for errors the constraint or code: `200`, `429 rate_limit`. */
  label: string
  body: any
  text: string
  headers: Record<string, string | string[] | undefined>
}

export interface AttackClient {
  send(method: string, path: string, shot?: Shot): Promise<Answer>
  /** A connection for bytes that no client library would send. Closed with the client. */
  socket(): Socket
  close(): Promise<void>
}

/** @param localAddress the address that the requests come from. */
export function openClient(url: string, localAddress?: string): AttackClient {
  const agent = new Agent({
    connections: 512,
    pipelining: 1,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
    localAddress,
  })
  const sockets = new Set<Socket>()
  return {
    async send(method, path, { key, json, body, headers = {} } = {}) {
      const text = json === undefined ? body : JSON.stringify(json)
      const response = await agent.request({
        origin: url,
        path,
        method: method as Dispatcher.HttpMethod,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: (text ?? null) as Dispatcher.DispatchOptions['body'],
      })
      const isJson = String(response.headers['content-type']).startsWith('application/json')
      const received = await response.body.text()
      const parsed = isJson && received !== '' ? JSON.parse(received) : undefined
      return {
        label: labelOf(response.statusCode, parsed),
        body: parsed,
        text: received,
        headers: response.headers,
      }
    },
    socket() {
      const { port, hostname } = new URL(url)
      const socket = connect({ port: Number(port), host: hostname, localAddress }).on('error', () => {})
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await agent.destroy()
    },
  }
}

/** The body of an answer that an attack needs. @throws for an error. */
export function made({ label, body }: Answer): any {
  if (!label.startsWith('2')) throw new Error(`the attack cannot be prepared: ${label}`)
  return body
}

function labelOf(status: number, body: any): string {
  const error = body?.error
  if (status < 400 || error === undefined) return String(status)
  return `${status} ${error.details?.constraint ?? error.code}`
}
