// Benchmark of size: the same requests on databases of ten, a hundred and a thousand times the rows. All rows
// belong to one user, the worst case: what a list skips by its index is then as large as can be. Deliveries,
// files and projects are a tenth as many as events.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fire } from './cost.ts'
import { growthLists, type Api, type Made } from './growth-lists.ts'
import type { Shot } from './load.ts'
import {
  addEvents,
  addFiles,
  addPeople,
  addProjects,
  copyRow,
  createDatabase,
  megabytesOf,
} from './population.ts'
import { leastOfRounds } from './rounds.ts'
import { serve, type Server } from './serve.ts'
import { postgresCpu, type Stage } from './stage.ts'
import { count, table } from './table.ts'

const main = join(import.meta.dirname, '../../app/main.ts')

/** Far above the quota of a user. */
const maxProjects = 100_000
/** Events that a stream reads of the past: four pages. */
const pastEvents = 100

interface Size extends Server {
  rows: number
  megabytes: number
  dataDir: string
  /** The key of the user who owns all rows. */
  owner: string
  /** The key of a user without rows. */
  other: string
  projectIds: string[]
  endpointId: string
}

/** CPU seconds. */
interface Time {
  total: number
}

type Measure = (size: Size, seconds: number) => Promise<Time>

let turn = 0

/** One request at a time. */
function requests(shot: (size: Size) => Shot, status = 200): Measure {
  return async (size, seconds) => {
    const { dataDir } = size
    const cost = await fire(size, { next: () => shot(size), status, connections: 1, seconds, dataDir })
    return { total: cost.server + cost.postgres }
  }
}

const get = (path: string): Measure => requests(({ owner }) => ({ method: 'GET', path, key: owner }))

const getOther = (path: string): Measure => requests(({ other }) => ({ method: 'GET', path, key: other }))

const newProject = ({ owner }: Size): Shot => ({
  method: 'POST',
  path: '/v1/projects',
  key: owner,
  body: { name: `Project ${turn++}` },
})

const all: Record<string, Measure> = {
  'a project': requests(({ owner, projectIds }) => ({
    method: 'GET',
    path: `/v1/projects/${projectIds[turn++ % projectIds.length]}`,
    key: owner,
  })),
  'the projects': get('/v1/projects'),
  'the files': get('/v1/storage/files'),
  'files by a part of the name': get('/v1/storage/files?q=name-77'),
  'the deliveries of an endpoint': requests(({ owner, endpointId }) => ({
    method: 'GET',
    path: `/v1/webhooks/endpoints/${endpointId}/deliveries`,
    key: owner,
  })),
  'the events': get('/v1/events'),
  'the events of a type': get('/v1/events?type=project.created'),
  [`the stream: its first ${pastEvents} events`]: (size) =>
    withStream(size, '?cursor=start', async (received) => await received(pastEvents)),
  'a new project': requests(newProject, 201),
  'a new project, and its event in the stream': (size) =>
    withStream(size, '', async (received) => {
      await send(size, newProject(size))
      await received(1)
    }),
  'the projects of another user': getOther('/v1/projects'),
  'the files of another user': getOther('/v1/storage/files'),
  'the events of another user': getOther('/v1/events'),
}

export async function benchScale(
  stage: Stage,
  { sizes, rounds, seconds }: { sizes: number[]; rounds: number; seconds: number },
): Promise<string> {
  const opened: Size[] = []
  for (const rows of sizes) opened.push(await open(stage, rows))
  const lanes = Object.values(all).flatMap((measure) => opened.map((size) => ({ measure, size })))
  const times = await leastOfRounds(lanes, rounds, ({ measure, size }) => measure(size, seconds))
  for (const { program } of opened) await program.stop()
  return report(opened, times, { rounds, seconds })
}

async function open(stage: Stage, rows: number): Promise<Size> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, `bench_scale_${rows}`)
  const [owner, other] = await addPeople(url, ['owner', 'other'])
  const projectIds = await addProjects(url, dataDir, owner, Math.min(rows / 10, maxProjects))
  // Without jobs: they would send the copied deliveries while requests are measured.
  const server = await serve(stage, String(rows), main, { DATABASE_URL: url, WORKER: 'false' })
  const keys = { owner: owner.key, other: other.key }
  const size = { ...server, ...keys, rows, megabytes: 0, dataDir, projectIds, endpointId: '' }
  // Causes the event that is copied, and waits until it is in the log.
  await send(size, newProject(size))
  while ((await send(size, shotOf(size, 'GET', '/events'))).data.length === 0) await sleep(50)
  const { copy, id } = await growthLists.listWebhookDeliveries.create(apiOf(size) as Api, {} as Made)
  for (const row of copy)
    await copyRow(url, dataDir, row, { count: rows / 10, first: Date.now() - rows / 10 })
  // Only now: a server refuses to start on a database whose files its store lacks.
  await addFiles(url, dataDir, owner, rows / 10)
  await addEvents(url, dataDir, rows)
  return { ...size, endpointId: id!, megabytes: await megabytesOf(url) }
}

const shotOf = ({ owner }: Size, method: string, path: string, body?: unknown): Shot => ({
  method,
  path: `/v1${path}`,
  key: owner,
  body,
})

const apiOf = (size: Size): Pick<Api, 'get' | 'post'> => ({
  get: async (path) => await send(size, shotOf(size, 'GET', path)),
  post: async (path, body = {}) => await send(size, shotOf(size, 'POST', path, body)),
})

async function send({ port }: Server, { method, path, key, body }: Shot): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`)
  return JSON.parse(text)
}

/**
 * Opens a stream of events and measures the work.
 * @param work gets a function that waits until the stream has received a number of events.
 */
async function withStream(
  { program, port, owner, dataDir }: Size,
  query: string,
  work: (received: (events: number) => Promise<void>) => Promise<void>,
): Promise<Time> {
  const used = async (): Promise<number> => (await program.cpu()) + postgresCpu(dataDir)
  const end = new AbortController()
  const before = await used()
  const response = await fetch(`http://127.0.0.1:${port}/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${owner}` },
    signal: end.signal,
  })
  if (response.status !== 200) throw new Error(`the stream returned ${response.status}`)
  const chunks = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await chunks.read()).value ?? ''
  await work(async (events) => {
    while (text.split('\ndata: ').length - 1 < events) text += (await chunks.read()).value!
  })
  const total = (await used()) - before
  end.abort()
  return { total }
}

function report(
  opened: Size[],
  times: Time[],
  { rounds, seconds }: { rounds: number; seconds: number },
): string {
  const rows = Object.keys(all).map((name, i) => {
    const ofSizes = times.slice(i * opened.length, (i + 1) * opened.length).map(({ total }) => total)
    const growth = ofSizes[ofSizes.length - 1] / ofSizes[0]
    return [name, ...ofSizes.map((time) => (time * 1000).toFixed(1)), growth.toFixed(1)]
  })
  return [
    'CPU of the server and PostgreSQL in milliseconds a request, one at a time: the least of',
    `${rounds} rounds of ${seconds} s. One user owns all rows: deliveries, files and projects are a tenth as`,
    `many as events, projects at most ${count(maxProjects)}. The stream is opened for each measurement. What`,
    'grows: searches and deliveries count their exact total.',
    '',
    table(
      ['events', ...opened.map((size) => count(size.rows)), 'growth'],
      [['database in MB', ...opened.map(({ megabytes }) => count(megabytes)), ''], ...rows],
    ),
  ].join('\n')
}
