// Benchmark of growth: lists with every filter, order and page that the spec declares, for a user with few
// rows and for one with many. Each size is a database with its server; they are measured in turns.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { operations } from '../../generated/operations.ts'
import { fire } from './cost.ts'
import type { Result } from './goals.ts'
import { growthLists, type Api, type GrowthList, type Made } from './growth-lists.ts'
import {
  addEvents,
  addFiles,
  addPeople,
  addProjects,
  copyRow,
  createDatabase,
  type Person,
} from './population.ts'
import { leastOfRounds } from './rounds.ts'
import { serve, type Server } from './serve.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const main = join(import.meta.dirname, '../../app/main.ts')

/** The lists of the tables that `population.ts` fills. */
const filled: Record<string, Pick<GrowthList, 'path' | 'values'>> = {
  listProjects: { path: '/projects', values: { tag: 'bench', q: 'Project 77' } },
  listFiles: { path: '/storage/files', values: { tag: 'bench', q: 'name-77' } },
  listEvents: { path: '/events', values: { type: 'project.created' } },
}

const lists: Record<string, Pick<GrowthList, 'path' | 'values' | 'byAdmin'>> = { ...filled, ...growthLists }

/** Largest growth that is no growth. */
const allowed = 1.5

/** Why the time of a request grows, where it does. */
const reasons: Array<[RegExp, string]> = [
  [/\/events/, 'see docs/scaling.md: one look into an index for each project of the caller'],
  [/sort=/, 'sorts what it finds: this order has no index'],
  [/[?&](?!sort|order|cursor|page)/, 'counts what it finds, for the exact total'],
]

interface Size extends Server {
  rows: number
  owner: Person
  admin: Person
  /** The paths of the lists, with the ids of this database. */
  paths: Record<string, string>
}

export async function benchGrowth(
  stage: Stage,
  { sizes, rounds, seconds }: { sizes: number[]; rounds: number; seconds: number },
): Promise<Result> {
  const { dataDir } = await stage.postgres()
  const all: Size[] = []
  for (const rows of sizes) all.push(await open(stage, rows))
  const found: Array<{ query: string; times: number[] }> = []
  for (const [operation, { path, byAdmin }] of Object.entries(lists)) {
    const queriesOf = await Promise.all(all.map((size) => queries(operation, size)))
    for (const name of Object.keys(queriesOf[0])) {
      const lanes = all.map((size, i) => ({ size, query: queriesOf[i][name] }))
      const costs = await leastOfRounds(lanes, rounds, ({ size, query }) => {
        const next = () => ({
          method: 'GET',
          path: `/v1${size.paths[operation]}${query}`,
          key: (byAdmin ? size.admin : size.owner).key,
        })
        return fire(size, { next, status: 200, connections: 1, seconds, dataDir }).catch((error) => {
          throw new Error(`${size.paths[operation]}${query}: ${(error as Error).message}`)
        })
      })
      found.push({ query: `${path}${name}`, times: costs.map(({ server, postgres }) => server + postgres) })
    }
  }
  for (const { program } of all) await program.stop()
  return { text: report(all, found, { rounds, seconds }), goals: [] }
}

async function open(stage: Stage, rows: number): Promise<Size> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, `bench_growth_${rows}`)
  const [owner] = await addPeople(url, ['owner'])
  const [admin] = await addPeople(url, ['admin'], { role: 'admin' })
  await addProjects(url, dataDir, owner, rows)
  const server = await serve(stage, String(rows), main, { DATABASE_URL: url })
  const paths = Object.fromEntries(Object.entries(filled).map(([operation, { path }]) => [operation, path]))
  const size = { ...server, rows, owner, admin, paths }
  await request(size, owner, '/projects', json({ name: 'The first' }))
  while ((await request(size, owner, '/events')).data.length === 0) await sleep(50)
  const made = {} as Made
  const first = Date.now() - rows
  for (const [operation, { path, create }] of Object.entries(growthLists)) {
    const { copy, id } = await create(apiOf(size), made)
    for (const row of copy) await copyRow(url, dataDir, row, { count: rows, first })
    paths[operation] = path.replace('{id}', id ?? '')
  }
  // Now: a server refuses to start on a database whose files its store lacks, and numbers its own events.
  await addFiles(url, dataDir, owner, rows)
  await addEvents(url, dataDir, rows)
  return size
}

function apiOf(size: Size): Api {
  const { owner, admin } = size
  return {
    get: async (path) => await request(size, owner, path),
    post: async (path, body) => await request(size, owner, path, json(body)),
    postAsAdmin: async (path, body) => await request(size, admin, path, json(body)),
    async upload(name) {
      const body = new FormData()
      body.append('file', new Blob(['A short text.']), name)
      return await request(size, owner, '/storage/upload', { method: 'POST', body })
    },
    async pay(id) {
      const card = { number: '4242424242424242', expiry: '12/34', cvc: '123', name: 'Owner' }
      const response = await fetch(`http://127.0.0.1:${size.port}/pay/${id}`, {
        method: 'POST',
        body: new URLSearchParams(card),
        redirect: 'manual',
      })
      if (response.status !== 303) throw new Error(`the payment returned ${response.status}`)
    },
  }
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  ...(body !== undefined && {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  }),
})

async function request({ port }: Size, { key }: Person, path: string, init: RequestInit = {}): Promise<any> {
  const headers = { ...init.headers, authorization: `Bearer ${key}` }
  const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, { ...init, headers })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** The queries of a list by their name, from the parameters that the spec declares. */
async function queries(operation: string, size: Size): Promise<Record<string, string>> {
  const { path, values = {}, byAdmin } = lists[operation]
  const { data, pagination } = await request(size, byAdmin ? size.admin : size.owner, size.paths[operation])
  const example = data[Math.floor(data.length / 2)]
  const cursor = pagination?.next_cursor
  const all: Record<string, string> = { '': '' }
  if (cursor) all['?cursor=…'] = `?cursor=${encodeURIComponent(cursor)}`
  for (const parameter of resolved((contract.paths as any)[path].get.parameters)) {
    const { name, schema } = parameter
    if (name === 'limit' || name === 'cursor') continue
    if (name === 'page') all['?page=40'] = '?page=40'
    else if (schema.enum !== undefined)
      for (const value of schema.enum) all[`?${name}=${value}`] = `?${name}=${value}`
    else {
      const value = values[name] ?? valueOf(name, example)
      if (name === 'metadata') all['?metadata[team]=…'] = '?metadata%5Bteam%5D=bench'
      else if (value !== undefined) all[`?${name}=…`] = `?${name}=${encodeURIComponent(value)}`
    }
  }
  return all
}

function resolved(values: any[]): any[] {
  const resolve = (value: any): any =>
    value?.$ref === undefined
      ? value
      : resolve(
          value.$ref
            .slice(2)
            .split('/')
            .reduce((node: any, key: string) => node[key], contract),
        )
  return values.map(resolve).map((value) => ({ ...value, schema: resolve(value.schema) }))
}

/** The value of an example, or a time near it. */
function valueOf(name: string, example: Record<string, unknown>): string | undefined {
  const time = /^(.*)_(after|before)$/.exec(name)
  const value = time === null ? example[name] : example[`${time[1]}_at`]
  return value === undefined || value === null ? undefined : String(value)
}

function report(
  all: Size[],
  found: Array<{ query: string; times: number[] }>,
  { rounds, seconds }: { rounds: number; seconds: number },
): string {
  const others = Object.values(operations)
    .filter((info) => 'paged' in info && info.paged && lists[info.id] === undefined)
    .map(({ id }) => id)
  const growthOf = (times: number[]): number => times[times.length - 1] / times[0]
  const reasonOf = (query: string, times: number[]): string => {
    if (growthOf(times) <= allowed) return ''
    return reasons.find(([pattern]) => pattern.test(query))?.[1] ?? 'not explained'
  }
  return [
    `CPU of the server and PostgreSQL in milliseconds a request, by the rows of the user: the least of`,
    `${rounds} rounds of ${seconds} s. Every filter and order of the spec, each with the exact total where`,
    `the list has one. A growth above ${allowed} has its reason.`,
    '',
    table(
      ['GET /v1', ...all.map(({ rows }) => count(rows)), 'growth', 'reason'],
      found.map(({ query, times }) => [
        query,
        ...times.map((time) => (time * 1000).toFixed(1)),
        growthOf(times).toFixed(2),
        reasonOf(query, times),
      ]),
    ),
    '',
    `Not measured: ${others.join(', ')}.`,
  ].join('\n')
}
