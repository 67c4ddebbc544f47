// Benchmark of size: the same requests on databases of ten, a hundred and a thousand times the rows. All rows
// belong to one user, the worst case: what a list skips by its index is then as large as can be. Files and
// projects are a tenth as many as events.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from './serve.ts'
import { openLoad, type Shot } from './load.ts'
import {
  addEvents,
  addFiles,
  addPeople,
  addProjects,
  createDatabase,
  megabytesOf,
  type Person,
} from './population.ts'
import type { Program, Stage } from './stage.ts'
import { count, table } from './table.ts'

const main = join(import.meta.dirname, '../../app/main.ts')

/** Far above the quota of a user. */
const maxProjects = 100_000

interface Caller {
  /** The key of the user who owns all rows. */
  owner: string
  /** The key of a user without rows. */
  other: string
  projectIds: string[]
}

interface Requests {
  name: string
  status: number
  shot: (caller: Caller, i: number) => Shot
}

const get =
  (path: string): Requests['shot'] =>
  ({ owner }) => ({ method: 'GET', path, key: owner })

const getOther =
  (path: string): Requests['shot'] =>
  ({ other }) => ({ method: 'GET', path, key: other })

const all: Requests[] = [
  {
    name: 'a project',
    status: 200,
    shot: ({ owner, projectIds }, i) => ({
      method: 'GET',
      path: `/v1/projects/${projectIds[i % projectIds.length]}`,
      key: owner,
    }),
  },
  { name: 'the projects', status: 200, shot: get('/v1/projects') },
  { name: 'the files', status: 200, shot: get('/v1/storage/files') },
  { name: 'files by a part of the name', status: 200, shot: get('/v1/storage/files?q=name-77') },
  { name: 'the events', status: 200, shot: get('/v1/events') },
  { name: 'the events of a type', status: 200, shot: get('/v1/events?type=project.created') },
  {
    name: 'a new project',
    status: 201,
    shot: ({ owner }, i) => ({
      method: 'POST',
      path: '/v1/projects',
      key: owner,
      body: { name: `Project ${i}` },
    }),
  },
  { name: 'the projects of another user', status: 200, shot: getOther('/v1/projects') },
  { name: 'the files of another user', status: 200, shot: getOther('/v1/storage/files') },
  { name: 'the events of another user', status: 200, shot: getOther('/v1/events') },
]

interface Size {
  rows: number
  megabytes: number
  program: Program
  port: number
  next: (shot: Requests['shot']) => Shot
  /** Milliseconds of each request, the best of all rounds. */
  best: number[]
}

export async function benchScale(
  stage: Stage,
  { sizes, rounds, seconds }: { sizes: number[]; rounds: number; seconds: number },
): Promise<string> {
  const measured: Size[] = []
  for (const rows of sizes) measured.push(await open(stage, rows))
  for (let round = -1; round < rounds; round++)
    for (const [i, { status, shot }] of all.entries())
      for (const { port, next, best } of measured) {
        const load = await openLoad({ port, connections: 1, status, next: () => next(shot) })
        const started = performance.now()
        const sent = await load.fire({ seconds, requests: 10_000 })
        if (round >= 0) best[i] = Math.min(best[i], (performance.now() - started) / sent)
        load.close()
      }
  for (const { program } of measured) await program.stop()
  return report(measured, { rounds, seconds })
}

async function open(stage: Stage, rows: number): Promise<Size> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, `bench_scale_${rows}`)
  const [owner, other] = await addPeople(url, ['owner', 'other'])
  const projectIds = await addProjects(url, dataDir, owner, Math.min(rows / 10, maxProjects))
  const { program, port } = await serve(stage, String(rows), main, { DATABASE_URL: url })
  // Only now: a server refuses to start on a database whose files its store lacks.
  await addFiles(url, dataDir, owner, rows / 10)
  await firstEvent(port, owner)
  await addEvents(url, dataDir, rows)
  let sent = 0
  return {
    rows,
    megabytes: await megabytesOf(url),
    program,
    port,
    next: (shot) => shot({ owner: owner.key, other: other.key, projectIds }, sent++),
    best: all.map(() => Infinity),
  }
}

/** Causes the event that is copied, and waits until it is in the log. */
async function firstEvent(port: number, { key }: Person): Promise<void> {
  const call = async (path: string, init: RequestInit = {}): Promise<any> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    return await (await fetch(`http://127.0.0.1:${port}/v1${path}`, { ...init, headers })).json()
  }
  await call('/projects', { method: 'POST', body: '{"name":"The first"}' })
  while ((await call('/events')).data.length === 0) await sleep(50)
}

function report(measured: Size[], { rounds, seconds }: { rounds: number; seconds: number }): string {
  const [first, last] = [measured[0], measured[measured.length - 1]]
  return [
    `Milliseconds of a request, one at a time: the best of ${rounds} rounds of ${seconds} s each. One user`,
    'owns all rows; files and projects are a tenth as many as events, projects at most 100,000.',
    '',
    table(
      ['events', ...measured.map(({ rows }) => count(rows)), 'growth'],
      [
        ['database in MB', ...measured.map(({ megabytes }) => count(megabytes)), ''],
        ...all.map(({ name }, i) => [
          name,
          ...measured.map(({ best }) => best[i].toFixed(1)),
          (last.best[i] / first.best[i]).toFixed(1),
        ]),
      ],
    ),
  ].join('\n')
}
