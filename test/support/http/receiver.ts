// A webhook receiver as a customer would write it with the official library. It verifies and records the
// requests, and responds as the test configures, correctly or not.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Test } from 'tap'

export interface ReceivedWebhook {
  path: string
  headers: IncomingHttpHeaders & Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>
  /** The exact body of the request. */
  body: string
  event: any
  /** Whether the library accepted the signature with the receiver's secret. */
  verified: boolean
}

export interface ReceiverResponse {
  /** Default 200. */
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
  /** The response is sent when this resolves. Default: immediately. */
  when?: Promise<unknown>
}

/** `never`: no response. `hangup`: closes the connection without a response. */
export type ReceiverBehavior = ReceiverResponse | 'never' | 'hangup'

export interface Receiver {
  url: string
  /** The endpoint's secret, with which requests are verified. */
  secret: string
  /** All requests, in order. */
  received: ReceivedWebhook[]
  /** How the receiver responds from now on. */
  answer: ReceiverBehavior | ((received: ReceivedWebhook) => ReceiverBehavior)
  /** The number of requests without a response now, and its maximum so far. */
  waiting: number
  maxWaiting: number
  /** The types of the received events. */
  types(): string[]
}

/** Starts a receiver that runs until the end of the test. */
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
      const headers = request.headers as ReceivedWebhook['headers']
      const received: ReceivedWebhook = {
        path: request.url!,
        headers,
        body,
        event: JSON.parse(body),
        verified: verifies(receiver.secret, body, headers),
      }
      receiver.received.push(received)
      receiver.maxWaiting = Math.max(receiver.maxWaiting, ++receiver.waiting)
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
    maxWaiting: 0,
    types: () => receiver.received.map(({ event }) => event.type),
  }
  return receiver
}

function answerWith(response: ServerResponse, answer: ReceiverBehavior): void {
  if (answer === 'never') return
  if (answer === 'hangup') return void response.destroy()
  const { status = 200, headers = {}, body = '', when } = answer
  const write = (): void => {
    if (!response.destroyed) response.writeHead(status, headers).end(body)
  }
  if (when === undefined) write()
  else void when.then(write)
}

/** Whether the official library accepts the signature of a webhook. */
export function verifies(secret: string, body: string, headers: Record<string, unknown>): boolean {
  if (secret === '') return false
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
