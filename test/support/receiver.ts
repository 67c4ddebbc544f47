// A receiver of webhooks as a customer would write it with the official library: verifies what arrives, keeps it, and
// answers as it is told to, well or badly.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Test } from 'tap'

export interface Received {
  path: string
  headers: IncomingHttpHeaders & Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>
  /** Exactly what was sent. */
  body: string
  event: any
  /** Whether the library accepted it with the secret that the receiver has. */
  verified: boolean
}

export interface Answer {
  /** Default 200. */
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
  /** Resolves when it is to be answered; default at once. */
  when?: Promise<unknown>
}

/** `never` leaves the sender without an answer, `hangup` without a connection. */
export type Answering = Answer | 'never' | 'hangup'

export interface Receiver {
  url: string
  /** Set to the endpoint's secret, to verify what arrives. */
  secret: string
  /** Everything that arrived, in order. */
  received: Received[]
  /** How it answers from now on. */
  answer: Answering | ((received: Received) => Answering)
  /** How many have not been answered at this moment, and how many it were at most. */
  waiting: number
  mostWaiting: number
  /** The types of the events that arrived. */
  types(): string[]
}

/** Open until the end of the test. */
export async function openReceiver(
  t: Pick<Test, 'teardown'>,
  { secret = '', answer = {} }: { secret?: string; answer?: Receiver['answer'] } = {},
): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const headers = request.headers as Received['headers']
      const received: Received = {
        path: request.url!,
        headers,
        body,
        event: JSON.parse(body),
        verified: verifies(receiver.secret, body, headers),
      }
      receiver.received.push(received)
      receiver.mostWaiting = Math.max(receiver.mostWaiting, ++receiver.waiting)
      response.on('close', () => {
        receiver.waiting--
      })
      answerWith(
        response,
        typeof receiver.answer === 'function' ? receiver.answer(received) : receiver.answer,
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  )
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hooks`,
    secret,
    received: [],
    answer,
    waiting: 0,
    mostWaiting: 0,
    types: () => receiver.received.map(({ event }) => event.type),
  }
  return receiver
}

function answerWith(response: ServerResponse, answer: Answering): void {
  if (answer === 'never') return
  if (answer === 'hangup') return void response.destroy()
  const { status = 200, headers = {}, body = '', when } = answer
  const write = (): void => {
    if (!response.destroyed) response.writeHead(status, headers).end(body)
  }
  if (when === undefined) write()
  else void when.then(write)
}

/** Whether the official library accepts a message. */
export function verifies(secret: string, body: string, headers: Record<string, unknown>): boolean {
  if (secret === '') return false
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
