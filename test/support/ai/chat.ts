// A chat fixture for tests: a server with a fake model provider, and a user.
import type { Test } from 'tap'
import { openStream, type OpenStream, type StreamEvent } from '../http/event-stream.ts'
import { startServer, type Person, type TestServer } from '../server/server.ts'
import {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
} from '../../../scripts/bench/model-server.ts'
import { waitUntil } from '../server/wait.ts'

export interface ChatFixture {
  server: TestServer
  modelServer: ModelServer
  person: Person
}

export async function startChatFixture(
  t: Test,
  { env = {}, ...options }: ModelServerOptions & { env?: Record<string, string> } = {},
): Promise<ChatFixture> {
  const modelServer = await startModelServer(t, { embeddings: null, ...options })
  const server = await startServer(t, {
    env: {
      AI_UPSTREAMS: modelServer.setting,
      AI_RETRIES: '1',
      AI_STREAMS_PER_USER: '10000',
      RATE_LIMIT_AI: '1000000',
      ...env,
    },
  })
  return { server, modelServer, person: await server.person() }
}

/** Starts a streamed chat. */
export async function streamChat(
  { server }: ChatFixture,
  { key }: Person,
  body: object,
  headers: Record<string, string> = {},
): Promise<OpenStream> {
  return await openStream(server.url, key, { path: '/ai/chat/stream', post: body, headers })
}

/** All events of a stream, up to its end. */
export async function collect({ events }: OpenStream): Promise<StreamEvent[]> {
  const collected: StreamEvent[] = []
  for await (const event of events) collected.push(event)
  return collected
}

export const textOf = (events: StreamEvent[]): string =>
  events
    .filter(({ event }) => event === 'message.delta')
    .map(({ data }) => data.delta)
    .join('')

/** Waits until the server generates no answer. */
export async function waitUntilIdle({ server, modelServer }: ChatFixture): Promise<void> {
  await waitUntil(
    () => server.services.generations.size === 0 && modelServer.openRequests === 0,
    'no answer to be in progress',
  )
}
