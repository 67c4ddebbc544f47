// What tests of chats start with: a server, a stand-in for a server of models, and a person who asks.
import type { Test } from 'tap'
import { openStream, type OpenStream, type StreamEvent } from './event-stream.ts'
import { startServer, type Person, type TestServer } from './server.ts'
import { openUpstream, type Upstream, type UpstreamOptions } from '../../scripts/bench/model-server.ts'
import { waitUntil } from './wait.ts'

export interface Stage {
  server: TestServer
  upstream: Upstream
  person: Person
}

export async function openStage(
  t: Test,
  { env = {}, ...options }: UpstreamOptions & { env?: Record<string, string> } = {},
): Promise<Stage> {
  const upstream = await openUpstream(t, { embeddings: null, ...options })
  const server = await startServer(t, {
    env: {
      AI_UPSTREAMS: upstream.setting,
      AI_RETRIES: '1',
      AI_STREAMS_PER_KEY: '10000',
      RATE_LIMIT_AI: '1000000',
      ...env,
    },
  })
  return { server, upstream, person: await server.person() }
}

/** Asks, and reads the answer as it is written. */
export async function stream(
  { server }: Stage,
  { key }: Person,
  body: object,
  headers: Record<string, string> = {},
): Promise<OpenStream> {
  return await openStream(server.url, key, { path: '/ai/chat/stream', post: body, headers })
}

/** The events of a stream, to its end. */
export async function all({ events }: OpenStream): Promise<StreamEvent[]> {
  const found: StreamEvent[] = []
  for await (const event of events) found.push(event)
  return found
}

export const textOf = (events: StreamEvent[]): string =>
  events
    .filter(({ event }) => event === 'message.delta')
    .map(({ data }) => data.delta)
    .join('')

/** Waits until nothing is written. */
export async function idle({ server, upstream }: Stage): Promise<void> {
  await waitUntil(() => server.services.writings.size === 0 && upstream.open === 0, 'nothing to be written')
}
