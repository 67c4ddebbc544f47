// Readers of the event stream for tests: one that reads as fast as it can, and one that does not read. Also
// helpers that write and read the event log.
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { newId } from '../../../infra/ids.ts'
import { createEventParser } from './event-stream.ts'
import type { Person, TestServer } from '../server/server.ts'
import { cursorAt } from '../operations/event-cursors.ts'
import { waitUntil } from '../server/wait.ts'

interface ReceivedEvent {
  id: number
  event: string
  data: any
}

export interface SseReader {
  answer: IncomingMessage
  /** The raw text of the stream so far. */
  text: string
  events: ReceivedEvent[]
  /** The last event id so far. */
  readonly at: number
  /** Why the stream ended; null while it is open. */
  ended: string | null
  close(): void
}

interface ReaderOptions {
  query?: string
  /** The server that decodes the cursors, for a reader of another process. Default the server itself. */
  log?: Pick<TestServer, 'services'>
  after?: number
  headers?: Record<string, string>
  /** Keeps only the ids of events, not their data or text. */
  lean?: boolean
  /** Disconnects after this many bytes, even in the middle of an event. */
  bytes?: number
}

/** Opens a stream and reads it as fast as possible. */
export async function openReader(
  t: Pick<Test, 'teardown'>,
  server: { url: string } & Partial<Pick<TestServer, 'services'>>,
  key: string,
  options: ReaderOptions = {},
): Promise<SseReader> {
  const { query = '', after, lean = false, bytes = Infinity, log = server as TestServer } = options
  const cursors = await log.services?.eventCursors()
  const sequenceOf = (id: string): number => (id === '' ? 0 : (cursors?.decode(id) ?? 0))
  const headers = {
    authorization: `Bearer ${key}`,
    ...(after !== undefined && { 'last-event-id': cursors!.encode(after) }),
    ...options.headers,
  }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${server.url}/v1/events/stream${query}`, { agent: false, headers }, resolve).on('error', reject)
  })
  const parser = createEventParser()
  let left = bytes
  const reader: SseReader = {
    answer,
    text: '',
    events: [],
    get at() {
      return sequenceOf(parser.lastEventId)
    },
    ended: null,
    close() {
      left = 0
      answer.destroy()
    },
  }
  t.teardown(reader.close)
  answer.on('data', (all: Buffer) => {
    const chunk = all.subarray(0, left)
    left -= chunk.length
    if (!lean) reader.text += chunk
    for (const { id, event, data, comment } of parser.write(chunk)) {
      if (comment === undefined)
        reader.events.push({ id: sequenceOf(id), event, data: lean ? null : JSON.parse(data) })
    }
    if (left === 0) reader.close()
  })
  answer.on('end', () => {
    reader.ended = reader.events.find(({ event }) => event === 'end')?.data?.reason ?? 'no end event'
  })
  answer.on('error', () => {
    reader.ended = 'connection error'
  })
  return reader
}

/** Opens a stream and does not read from the connection. */
export async function openStalledReader(
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

export const eventIds = ({ events }: SseReader): number[] => events.map(({ id }) => id)
export const eventTypes = ({ events }: SseReader): string[] => events.map(({ data }) => data.type)
/** The names of the resources that the received events are about. */
export const resourceNames = ({ events }: SseReader): string[] =>
  events.map(({ data }) => data.data?.object.name)

export async function createProject(
  { client }: Person,
  fields: object = { name: 'A project' },
): Promise<string> {
  return (await client.post('/projects', fields)).body.id
}

export async function renameProject({ client }: Person, project: string, name: string): Promise<void> {
  const { status, text } = await client.put(`/projects/${project}`, { name })
  if (status !== 200) throw new Error(text)
}

/** The last sequence of the event log. */
export async function lastSequence({ services: { database } }: TestServer): Promise<number> {
  const [{ last }] = await database.prisma.$queryRaw<
    Array<{ last: bigint }>
  >`SELECT "last" FROM number_events(1000)`
  return Number(last)
}

/** All events after a sequence that the list returns. */
export async function listEvents(
  server: Pick<TestServer, 'services'>,
  { client }: Pick<Person, 'client'>,
  after: number,
  query = '',
): Promise<any[]> {
  const found = []
  let cursor = await cursorAt(server, after)
  for (let more = true; more;) {
    const { body } = await client.get(`/events?limit=100&cursor=${cursor}${query}`)
    found.push(...body.data)
    more = body.has_more
    cursor = body.next_cursor
  }
  return found
}

const copies = `INSERT INTO events (id, type, project_id, user_id, scope, role, data)
  SELECT copies.id, e.type, e.project_id, e.user_id, e.scope, e.role, e.data
  FROM unnest($1::text[]) AS copies (id), (SELECT * FROM events ORDER BY position DESC LIMIT 1) e`

/** Adds many copies of the newest event to the log, in one statement. */
export async function duplicateLastEvent(
  { services: { database } }: TestServer,
  count: number,
): Promise<void> {
  await database.pool.query(copies, [Array.from({ length: count }, () => newId('evt'))])
}

/** Waits until the streams have reached the end of the log, or have ended. */
export async function waitUntilCaughtUp(server: TestServer, ...streams: SseReader[]): Promise<void> {
  const last = await lastSequence(server)
  await waitUntil(
    () => streams.every(({ at, ended }) => at >= last || ended !== null),
    'the streams to reach the end of the log',
  )
}

/** The largest fields that a project can have. */
export const largestProject = {
  name: 'n'.repeat(200),
  description: 'd'.repeat(5_000),
  metadata: Object.fromEntries(
    Array.from({ length: 16 }, (_, i) => [`${i}`.padEnd(64, 'k'), 'v'.repeat(512)]),
  ),
}
