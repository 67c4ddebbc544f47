// The load of the tests that restart servers behind a proxy: what a rollout must not disturb.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { Agent, request } from 'undici'
import { createEventParser } from './event-stream.ts'
import { bootstrapKey } from '../server/process.ts'
import { openReceiver } from './receiver.ts'
import { uploadForm } from '../storage/storage.ts'
import { waitUntil } from '../server/wait.ts'
import { isLongForm } from '../long-form.ts'

const authorization = `Bearer ${bootstrapKey}`

/** Milliseconds between two requests of a client. At the pace of the long form the load needs both cores. */
const pause = isLongForm ? { read: 10, write: 20 } : { read: 400, write: 400 }

/** Settings of servers and a worker on one database and one folder of files. */
export async function rolloutSettings(t: Test, databaseUrl: string): Promise<Record<string, string>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'platform-rollout-'))
  t.teardown(() => rm(dataDir, { recursive: true, force: true }))
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    WORKER: 'false',
    TRUST_PROXY: '127.0.0.1',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    SHUTDOWN_DELAY: '5',
  }
}

/**
 * Runs `restart` under load through each proxy. No request may fail, and each event must be streamed by each
 * proxy and sent exactly once.
 * @returns the connections that the event stream of each proxy needed
 */
export async function underLoad(t: Test, urls: string[], restart: () => Promise<void>): Promise<number[]> {
  const receiver = await openReceiver(t)
  await created(urls[0], '/webhooks/endpoints', { url: receiver.url, event_types: ['project.created'] })
  const loads = urls.map((url) => createLoad(url))
  for (const load of loads) t.teardown(load.close)
  await waitUntil(() => loads.every(({ connections }) => connections > 0), 'the event streams')
  for (const load of loads) load.start()
  await waitUntil(
    () => loads.every(({ names, streamed }) => names.length > 5 && streamed.length > 0),
    'the load',
  )
  await restart()
  await Promise.all(loads.map((load) => load.stop()))

  const names = loads.flatMap((load) => load.names).sort()
  for (const load of loads) {
    t.strictSame(load.failed, [], `no request to ${load.url} failed`)
    t.ok(load.uploads > 0, `${load.names.length} writes, ${load.reads} reads, ${load.uploads} uploads`)
    await waitUntil(() => load.streamed.length >= names.length, 'the events').catch(() => {})
    t.strictSame(load.streamed.toSorted(), names, 'the stream has each event once')
  }
  await waitUntil(() => receiver.received.length >= names.length, 'the webhooks').catch(() => {})
  await sleep(500)
  const sent = receiver.received.map(({ event }) => event.data.object.name)
  t.strictSame(sent.toSorted(), names, 'each webhook arrived once')
  return loads.map(({ connections }) => connections)
}

async function created(url: string, path: string, body: object): Promise<any> {
  const response = await fetch(`${url}/v1${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (response.status !== 201) throw new Error(`POST ${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

/**
 * Follows the event stream through the proxy, and from the start on reads, writes and uploads. None repeats a
 * request.
 */
function createLoad(url: string) {
  const load = {
    url,
    failed: [] as string[],
    names: [] as string[],
    reads: 0,
    uploads: 0,
    streamed: [] as string[],
    connections: 0,
  }
  let running = true
  const closed = new AbortController()

  const until = async (work: (i: number) => Promise<void>): Promise<void> => {
    for (let i = 0; running; i++) await work(i).catch((error: Error) => load.failed.push(reasonOf(error)))
  }
  const read = async (): Promise<void> => {
    const response = await fetch(`${url}/v1/projects?limit=5`, { headers: { authorization } })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`GET: ${response.status} ${text}`)
    load.reads++
    await sleep(pause.read)
  }
  const write = (writer: number) => async (i: number) => {
    const name = `${url} ${writer} ${i}`
    await created(url, '/projects', { name })
    load.names.push(name)
    await sleep(pause.write)
  }
  const dispatcher = new Agent({ bodyTimeout: 0 })
  const stream = followEvents()
  let tasks: Promise<void>[] = []

  const record = ({ type, data }: any): void => {
    if (type === 'project.created') load.streamed.push(data.object.name)
  }

  /** Reads the stream of events; when it ends, opens it again after the last event. */
  async function followEvents(): Promise<void> {
    let lastEventId = ''
    while (!closed.signal.aborted) {
      try {
        const { statusCode, body } = await request(`${url}/v1/events/stream`, {
          headers: { authorization, ...(lastEventId !== '' && { 'last-event-id': lastEventId }) },
          signal: closed.signal,
          dispatcher,
        })
        if (statusCode !== 200) throw new Error(`the stream: ${statusCode} ${await body.text()}`)
        load.connections++
        const parser = createEventParser()
        let ended = false
        for await (const chunk of body)
          for (const { event, data, comment } of parser.write(chunk)) {
            lastEventId = parser.lastEventId || lastEventId
            if (comment !== undefined) continue
            ended ||= event === 'end'
            if (event === 'message') record(JSON.parse(data))
          }
        if (!ended) load.failed.push('the stream was cut without an end event')
      } catch (error) {
        if (!closed.signal.aborted) load.failed.push(reasonOf(error as Error))
      }
    }
  }

  const handle = Object.assign(load, {
    start(): void {
      tasks = [
        ...[0, 1, 2].map(() => until(read)),
        ...[0, 1, 2].map((writer) => until(write(writer))),
        until(async () => {
          await uploadSlowly(url)
          load.uploads++
        }),
      ]
    },
    async stop(): Promise<void> {
      running = false
      await Promise.all(tasks)
    },
    async close(): Promise<void> {
      await handle.stop()
      closed.abort()
      await stream
      await dispatcher.close()
    },
  })
  return handle
}

/** Uploads a file within about 4 seconds, and compares what is stored. */
async function uploadSlowly(url: string): Promise<void> {
  const pieceBytes = (isLongForm ? 128 : 16) * 1024
  const bytes = randomBytes(64 * pieceBytes)
  const form = uploadForm({ bytes })
  const content = Buffer.from(form.body)
  async function* pieces() {
    for (let at = 0; at < content.length; at += pieceBytes) {
      yield content.subarray(at, at + pieceBytes)
      await sleep(60)
    }
  }
  const { statusCode, body } = await request(`${url}/v1/storage/upload`, {
    method: 'POST',
    headers: { ...form.headers, authorization, 'content-length': String(content.length) },
    body: Readable.from(pieces()),
  })
  const text = await body.text()
  if (statusCode !== 201) throw new Error(`upload: ${statusCode} ${text}`)
  const { id } = JSON.parse(text) as { id: string }
  const download = await fetch(`${url}/v1/storage/files/${id}/download`, { headers: { authorization } })
  const stored = Buffer.from(await download.arrayBuffer())
  if (digestOf(stored) !== digestOf(bytes)) throw new Error(`download: ${download.status}, ${stored.length}`)
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

function reasonOf(error: Error): string {
  const cause = (error.cause as NodeJS.ErrnoException | undefined)?.code
  return cause === undefined ? error.message : `${error.message}: ${cause}`
}
