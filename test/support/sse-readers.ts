// Readers of the stream of events for tests: one that reads as fast as it can, and one that does not read; and what
// such tests say of the log.
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { newId } from '../../infra/ids.ts'
import { createEventParser } from './event-stream.ts'
import type { Person, TestServer } from './server.ts'
import { waitUntil } from './wait.ts'

interface Told {
  id: number
  event: string
  data: any
}

export interface Following {
  answer: IncomingMessage
  /** Everything that came, as it came. */
  text: string
  told: Told[]
  /** How far it knows itself to be. */
  readonly at: number
  /** Why it ended; null while it has not. */
  ended: string | null
  close(): void
}

interface FollowOptions {
  query?: string
  after?: number
  headers?: Record<string, string>
  /** Keeps of what it is told only the ids, and no text. */
  lean?: boolean
  /** After so many bytes it is gone, wherever that is. */
  bytes?: number
}

/** Opens a stream and reads as fast as it can. */
export async function follow(
  t: Pick<Test, 'teardown'>,
  { url }: { url: string },
  key: string,
  options: FollowOptions = {},
): Promise<Following> {
  const { query = '', after, lean = false, bytes = Infinity } = options
  const headers = {
    authorization: `Bearer ${key}`,
    ...(after !== undefined && { 'last-event-id': `${after}` }),
    ...options.headers,
  }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}/v1/events/stream${query}`, { agent: false, headers }, resolve).on('error', reject)
  })
  const parser = createEventParser()
  let left = bytes
  const following: Following = {
    answer,
    text: '',
    told: [],
    get at() {
      return Number(parser.lastEventId)
    },
    ended: null,
    close() {
      left = 0
      answer.destroy()
    },
  }
  t.teardown(following.close)
  answer.on('data', (all: Buffer) => {
    const chunk = all.subarray(0, left)
    left -= chunk.length
    if (!lean) following.text += chunk
    for (const { id, event, data, comment } of parser.write(chunk)) {
      if (comment === undefined)
        following.told.push({ id: Number(id), event, data: lean ? null : JSON.parse(data) })
    }
    if (left === 0) following.close()
  })
  answer.on('end', () => {
    following.ended = following.told.find(({ event }) => event === 'end')?.data?.reason ?? 'without a word'
  })
  answer.on('error', () => {
    following.ended = 'cut'
  })
  return following
}

/** A client that asks for a stream and does not read. */
export async function openUnread(
  t: Pick<Test, 'teardown'>,
  { url }: { url: string },
  key: string,
  query = '',
): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause()
  socket.on('error', () => {})
  t.teardown(() => {
    socket.destroy()
  })
  await new Promise<void>((resolve) =>
    socket.write(
      `GET /v1/events/stream${query} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`,
      () => resolve(),
    ),
  )
  return socket
}

export const idsIn = ({ told }: Following): number[] => told.map(({ id }) => id)
export const typesIn = ({ told }: Following): string[] => told.map(({ data }) => data.type)
/** The names of what it was told of. */
export const namesIn = ({ told }: Following): string[] => told.map(({ data }) => data.data?.object.name)

export async function newProject(
  { client }: Person,
  fields: object = { name: 'A project' },
): Promise<string> {
  return (await client.post('/projects', fields)).body.id
}

export async function rename({ client }: Person, project: string, name: string): Promise<void> {
  const { status, text } = await client.put(`/projects/${project}`, { name })
  if (status !== 200) throw new Error(text)
}

/** How far the log reaches. */
export async function lastOf({ services: { database } }: TestServer): Promise<number> {
  const [{ last }] = await database.prisma.$queryRaw<
    Array<{ last: bigint }>
  >`SELECT "last" FROM number_events(1000)`
  return Number(last)
}

/** What a list says is there to read. */
export async function listed({ client }: Pick<Person, 'client'>, after: number, query = ''): Promise<any[]> {
  const found = []
  for (let more = true; more;) {
    const { body } = await client.get(`/events?limit=100&after=${after}${query}`)
    found.push(...body.data)
    more = body.has_more
    after = body.next_after
  }
  return found
}

const copies = `INSERT INTO events (id, type, project_id, user_id, scope, role, data)
  SELECT copies.id, e.type, e.project_id, e.user_id, e.scope, e.role, e.data
  FROM unnest($1::text[]) AS copies (id), (SELECT * FROM events ORDER BY position DESC LIMIT 1) e`

/** Adds copies of the newest event to the log, more than one would write one by one. */
export async function copyLast({ services: { database } }: TestServer, count: number): Promise<void> {
  await database.pool.query(copies, [Array.from({ length: count }, () => newId('evt'))])
}

/** Waits until the streams have passed everything that is written. */
export async function caughtUp(server: TestServer, ...streams: Following[]): Promise<void> {
  const last = await lastOf(server)
  await waitUntil(
    () => streams.every(({ at, ended }) => at >= last || ended !== null),
    'the streams to pass all that was written',
  )
}

/** As large as a project may be. */
export const largest = {
  name: 'n'.repeat(200),
  description: 'd'.repeat(5_000),
  metadata: Object.fromEntries(
    Array.from({ length: 16 }, (_, i) => [`${i}`.padEnd(64, 'k'), 'v'.repeat(512)]),
  ),
}
