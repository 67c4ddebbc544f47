// Benchmark of growth: lists with every filter, order and page that the spec declares, for a user with few
// rows and for one with many. Each size is a database with its server; they are measured in turns.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { operations } from '../../generated/operations.ts'
import { fire, type Cost } from './cost.ts'
import type { Shot } from './load.ts'
import type { Result } from './goals.ts'
import { growthLists, type Api, type GrowthList, type Made } from './growth-lists.ts'
import {
  addEvents,
  addFiles,
  addPeople,
  addProjects,
  copyRow,
  createDatabase,
  insertRow,
  type Person,
} from './population.ts'
import { benchMemberships } from './growth-memberships.ts'
import { openPlans, preparePlans, type Plans } from './growth-plans.ts'
import { leastOfRounds } from './rounds.ts'
import { serve, type Server } from './serve.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'
import { payWithTestCard } from './test-card.ts'

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

/** How many values of an enum are measured. */
const maxValues = 8

interface Size extends Server {
  rows: number
  /** Of the database. */
  url: string
  owner: Person
  admin: Person
  /** The paths of the lists, with the ids of this database. */
  paths: Record<string, string>
}

interface Found {
  query: string
  /** Seconds of a request, by size. */
  times: number[]
  /** Requests the list with the most rows. */
  again: () => Promise<unknown>
  /** Why the time grows, where it does. */
  reason: string
}

export async function benchGrowth(
  stage: Stage,
  options: { sizes: number[]; rounds: number; seconds: number; only: string[] },
): Promise<Result> {
  const { sizes, rounds, seconds, only } = options
  const { dataDir } = await stage.postgres()
  const all: Size[] = []
  for (const rows of sizes) all.push(await open(stage, rows, only))
  const found: Found[] = []
  for (const [operation, { path, byAdmin }] of Object.entries(lists)) {
    if (only.length > 0 && !only.includes(operation)) continue
    const queriesOf = await Promise.all(all.map((size) => queries(operation, size))).catch(unlessCancelled)
    if (queriesOf === null) {
      found.push({ query: path, times: [0, Infinity], again: async () => {}, reason: '' })
      continue
    }
    for (const name of Object.keys(queriesOf[0])) {
      const lanes = all.map((size, i) => ({ size, query: queriesOf[i][name] }))
      const personOf = (size: Size): Person => (byAdmin ? size.admin : size.owner)
      const costs = await leastOfRounds(lanes, rounds, async ({ size, query }) => {
        const path = `/v1${size.paths[operation]}${query}`
        const next = (): Shot => ({ method: 'GET', path, key: personOf(size).key })
        const cost = await fire(size, { next, status: 200, connections: 1, seconds, dataDir }).catch(
          unlessCancelled,
        )
        return cost ?? none
      })
      const { size, query } = lanes[lanes.length - 1]
      const times = costs.map(({ server, postgres }) => server + postgres)
      const again = () => request(size, personOf(size), `${size.paths[operation]}${query}`)
      found.push({ query: `${path}${name}`, times, again, reason: '' })
    }
  }
  const plans = await openPlans(all[all.length - 1].url, dataDir)
  for (const each of found) if (growthOf(each) > allowed) each.reason = await reasonOf(each, plans)
  await plans.close()
  for (const { program } of all) await program.stop()
  const texts = [report(all, found, { rounds, seconds })]
  if (only.length === 0) texts.push(await benchMemberships(stage, { most: sizes[sizes.length - 1], rounds }))
  return { text: texts.join('\n\n'), goals: [] }
}

/** Of a request whose statement PostgreSQL cancels. */
const none: Cost = { server: Infinity, postgres: Infinity, wall: Infinity }
const cancelled = 'takes more than the 10 s of a statement'

function unlessCancelled(error: Error): null {
  if (!/ 503\b/.test(error.message)) throw error
  return null
}

async function reasonOf({ query, times, again }: Found, plans: Plans): Promise<string> {
  if (times.includes(Infinity)) return cancelled
  if (query.startsWith('/events')) return 'docs/scaling.md'
  return (await plans.reasonOf(again).catch(unlessCancelled)) ?? `${cancelled}, while it is analyzed`
}

const growthOf = ({ times }: Found): number => times[times.length - 1] / times[0]

/** `only`: the lists that get the rows. None means all. */
async function open(stage: Stage, rows: number, only: string[]): Promise<Size> {
  const rowsOf = (operation: string): number => (only.length === 0 || only.includes(operation) ? rows : 1)
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, `bench_growth_${rows}`)
  const [owner] = await addPeople(url, ['owner'])
  const [admin] = await addPeople(url, ['admin'], { role: 'admin' })
  await addProjects(url, dataDir, owner, rowsOf('listProjects'))
  await preparePlans(url, dataDir)
  // Without jobs: they would index, send and settle the copies while lists are measured.
  const server = await serve(stage, String(rows), main, { DATABASE_URL: url, WORKER: 'false' })
  const paths = Object.fromEntries(Object.entries(filled).map(([operation, { path }]) => [operation, path]))
  const size = { ...server, rows, url, owner, admin, paths }
  const { id: project } = await request(size, owner, '/projects', json({ name: 'The first' }))
  // The events of all projects would take long.
  while ((await request(size, owner, `/events?project_id=${project}`)).data.length === 0) await sleep(50)
  const made = {} as Made
  const first = Date.now() - rows
  for (const [operation, { path, create }] of Object.entries(growthLists)) {
    const { copy, id } = await create(apiOf(size, dataDir), made)
    for (const row of copy) await copyRow(url, dataDir, row, { count: rowsOf(operation), first })
    paths[operation] = path.replace('{id}', id ?? '')
  }
  // Now: a server refuses to start on a database whose files its store lacks, and numbers its own events.
  await addFiles(url, dataDir, owner, rowsOf('listFiles'))
  await addEvents(url, dataDir, rowsOf('listEvents'))
  return size
}

function apiOf(size: Size, dataDir: string): Api {
  const { owner, admin, url } = size
  return {
    get: async (path) => await request(size, owner, path),
    getAsAdmin: async (path) => await request(size, admin, path),
    post: async (path, body) => await request(size, owner, path, json(body)),
    postAsAdmin: async (path, body) => await request(size, admin, path, json(body)),
    insert: async (table, row) => await insertRow(url, dataDir, table, { user_id: owner.id, ...row }),
    async upload(name) {
      const body = new FormData()
      body.append('file', new Blob(['A short text.']), name)
      return await request(size, owner, '/storage/upload', { method: 'POST', body })
    },
    pay: (id, number) => payWithTestCard(size.port, id, number),
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
      for (const value of valuesOf(schema.enum, example[name])) all[`?${name}=${value}`] = `?${name}=${value}`
    else {
      const value = values[name] ?? valueOf(name, example)
      if (name === 'metadata') all['?metadata[team]=…'] = '?metadata%5Bteam%5D=bench'
      else if (value !== undefined) all[`?${name}=…`] = `?${name}=${encodeURIComponent(value)}`
    }
  }
  return all
}

/** All values of an enum; of a long one that of the example. */
function valuesOf(values: string[], ofExample: unknown): string[] {
  return values.length <= maxValues ? values : values.filter((value) => value === ofExample)
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

function summary(found: Found[]): string {
  const grown = found.filter((each) => growthOf(each) > allowed)
  const because = (reason: string): number => grown.filter((each) => each.reason.includes(reason)).length
  return (
    `Of ${count(found.length)} requests, ${count(found.length - grown.length)} grow to at most ${allowed} ` +
    `times. Of the other ${count(grown.length)}, ${because('exact total')} count an exact total, ` +
    `${because('the page reads')} read more rows for the page, ${because('no index')} have no index with ` +
    'their order: a request can have two reasons.'
  )
}

function report(
  all: Size[],
  found: Found[],
  { rounds, seconds }: { rounds: number; seconds: number },
): string {
  const others = Object.values(operations)
    .filter((info) => 'paged' in info && info.paged && lists[info.id] === undefined)
    .map(({ id }) => id)
  return [
    `CPU of the server and PostgreSQL in milliseconds a request, by the rows of the user: the least of`,
    `${rounds} rounds of ${seconds} s. Every filter and order of the spec, each with the exact total where`,
    `the list has one. Where it grows to more than ${allowed} times, the plan of one more request says why,`,
    'which has run the whole statement. Quotas bound most of these lists to far fewer rows.',
    '',
    summary(found),
    '',
    table(
      ['GET /v1', ...all.map(({ rows }) => count(rows)), 'growth', 'reason'],
      found.map((each) => [
        each.query,
        ...each.times.map((time) => (time === Infinity ? '–' : (time * 1000).toFixed(1))),
        growthOf(each) === Infinity ? '–' : growthOf(each).toFixed(2),
        each.reason,
      ]),
    ),
    '',
    `Not measured: ${others.join(', ')}.`,
  ].join('\n')
}
