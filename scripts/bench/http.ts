// CPU per request: this server and the same four operations in other frameworks, on one database. The
// operations, and what the others leave out, are in the text of the report.
import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import { addPeople, addProjects, createDatabase } from './population.ts'
import { fire, type Cost } from './cost.ts'
import { atLeast, atMost, type Result } from './goals.ts'
import type { Shot } from './load.ts'
import { leastOfRounds } from './rounds.ts'
import { serve, type Server } from './serve.ts'
import { largest, scaled, spentByPackage, spentByStatement, type Spent } from './spent.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const connections = 32
const projects = 1_000
/** Seconds in which each server compiles what it runs often. */
const warmup = 3
/** Requests of a profile. */
const profiled = 2_000

interface Action {
  name: string
  status: number
  next: () => Shot
}

const here = import.meta.dirname
export const thisServer = join(here, '../../app/main.ts')
export const bareServer = join(here, 'servers/plain.ts')
const sources: Array<{ name: string; file: string }> = [
  { name: 'this server', file: thisServer },
  { name: 'Fastify + pg, bare', file: bareServer },
  { name: 'NestJS + Prisma', file: join(here, 'servers/nest.ts') },
  { name: 'Express + openapi-validator + Prisma', file: join(here, 'servers/express.ts') },
]

export async function benchHttp(
  stage: Stage,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Result> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_http')
  const [reader, writer] = await addPeople(url, ['reader', 'writer'])
  const ids = await addProjects(url, dataDir, reader, projects)
  const servers = await Promise.all(
    sources.map(({ name, file }) =>
      serve(stage, name, file, { DATABASE_URL: url, READER_ID: reader.id, WRITER_ID: writer.id }),
    ),
  )
  let turn = 0
  const actions = actionsOf(() => ({ key: reader.key, writeKey: writer.key, id: ids[turn++ % ids.length] }))
  await verify(servers, actions, ids[0])
  const lanes = actions.flatMap((action) => servers.map((server) => ({ action, server })))
  const costs = await leastOfRounds(lanes, rounds, ({ action, server }, isWarmup) =>
    fire(server, { ...action, connections, seconds: isWarmup ? warmup : seconds, dataDir }),
  )
  const spent = await spentOn(servers, actions)
  const post = { ...servers[0], ...actions[2], connections, requests: profiled }
  const statements = await spentByStatement({ url, dataDir }, post)
  for (const { program } of servers) await program.stop()
  const costOf = (server: number, action: number): Cost => costs[action * servers.length + server]
  return report(servers, actions, { costOf, spent, statements }, { rounds, seconds })
}

/** Where the time of each action goes: that of this server, and that of the bare one. */
async function spentOn(servers: Server[], actions: Action[]): Promise<Array<[Spent, Spent]>> {
  const spent: Array<[Spent, Spent]> = []
  for (const { next, status } of actions) {
    const load = { next, status, connections, requests: profiled }
    spent.push([await spentByPackage(servers[0], load), await spentByPackage(servers[1], load)])
  }
  return spent
}

interface Found {
  costOf: (server: number, action: number) => Cost
  /** By action: of this server, and of the bare one. */
  spent: Array<[Spent, Spent]>
  /** Of PostgreSQL for a POST. */
  statements: Spent
}

/** Whose request is next, and of which project. `writeKey`: of who creates projects. */
interface Caller {
  key: string
  writeKey: string
  id: string
}

export function actionsOf(nextCaller: () => Caller): Action[] {
  let turn = 0
  const body = {
    name: 'Launch',
    description: 'Everything for the launch',
    category: 'ai',
    tags: ['q4'],
    metadata: { team: 'bench' },
  }
  const action = (name: string, status: number, next: (caller: Caller) => Shot): Action => ({
    name,
    status,
    next: () => next(nextCaller()),
  })
  const path = '/v1/projects'
  return [
    action(`GET ${path}/{id}`, 200, ({ key, id }) => ({ method: 'GET', path: `${path}/${id}`, key })),
    action(`GET ${path}`, 200, ({ key }) => ({ method: 'GET', path, key })),
    action(`POST ${path}`, 201, ({ writeKey }) => ({ method: 'POST', path, key: writeKey, body })),
    action(`PUT ${path}/{id}`, 200, ({ key, id }) => ({
      method: 'PUT',
      path: `${path}/${id}`,
      key,
      body: { name: `Launch ${turn++}` },
    })),
  ]
}

/**
 * All servers must give the same responses, except for ids, times, versions, cursors. The bare server's are
 * as long as this server's, headers included, within the digits of a number.
 */
async function verify(servers: Server[], actions: Action[], id: string): Promise<void> {
  const answers: unknown[] = []
  const sizes: number[][] = []
  for (const { port } of servers) {
    const got: unknown[] = []
    const lengths: number[] = []
    for (const { name, status, next } of actions) {
      const { method, path, key, body } = next()
      const response = await fetch(
        `http://127.0.0.1:${port}${name.endsWith('{id}') ? `/v1/projects/${id}` : path}`,
        {
          method,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: body === undefined ? undefined : JSON.stringify({ ...body, name: `Launch at ${port}` }),
        },
      )
      const text = await response.text()
      lengths.push([...response.headers].flat().join('').length + text.length)
      got.push([response.status === status, comparable(JSON.parse(text), method)])
    }
    answers.push(got)
    sizes.push(lengths)
  }
  servers.forEach(({ name }, i) => deepStrictEqual(answers[i], answers[0], `${name} answers differently`))
  if (JSON.stringify(answers[0]).includes('[false,'))
    throw new Error(`the servers reject the requests: ${JSON.stringify(answers[0])}`)
  const differs = sizes[0].some((size, i) => Math.abs(size - sizes[1][i]) > 8)
  if (differs) throw new Error(`the bare server sends other sizes: ${sizes[1]} in place of ${sizes[0]}`)
}

function comparable(value: any, method: string): unknown {
  if (value.data !== undefined)
    return { data: value.data.slice(1), pagination: { ...value.pagination, next_cursor: undefined } }
  const same = { ...value, name: '', version: 0, updated_at: '' }
  return method === 'POST' ? { ...same, id: '', created_at: '' } : same
}

function report(
  servers: Server[],
  actions: Action[],
  { costOf, spent, statements }: Found,
  { rounds, seconds }: { rounds: number; seconds: number },
): Result {
  const titles = actions.map(({ name }) => name)
  const micros = (value: number): string => count(value * 1e6)
  const ratio = (other: number, action: number): number =>
    costOf(other, action).server / costOf(0, action).server
  const rows = (kind: 'server' | 'postgres'): string[][] =>
    servers.map(({ name }, i) => [name, ...actions.map((_, action) => micros(costOf(i, action)[kind]))])
  const both = ({ server, postgres }: Cost): number => server + postgres
  const ratioOfBoth = (other: number, action: number): number =>
    both(costOf(other, action)) / both(costOf(0, action))
  const text = [
    `The least of ${rounds} rounds of ${seconds} s after ${warmup} s, ${connections} connections, a user`,
    `with ${count(projects)} projects, pages of 20 with the exact total. POST and PUT write their event in`,
    'the transaction of the change, on all servers. The bare server checks no key, validates, limits and',
    'logs nothing, and asks for no receivers of the event; its responses are as long as those of this',
    'server. The other two cache keys forever and do not log. All responses were compared first. Each has',
    'the options of Node.js of its own start command: this server one thread of V8, the others the default.',
    '',
    'This server as a multiple of another, by requests per second of the CPU of the server:',
    '',
    table(
      ['compared with', ...titles],
      servers
        .slice(1)
        .map(({ name }, i) => [name, ...actions.map((_, action) => ratio(i + 1, action).toFixed(2))]),
    ),
    '',
    'By those of the CPU of the server and PostgreSQL together:',
    '',
    table(
      ['compared with', ...titles],
      servers
        .slice(1)
        .map(({ name }, i) => [name, ...actions.map((_, action) => ratioOfBoth(i + 1, action).toFixed(2))]),
    ),
    '',
    'CPU of the server in µs a request:',
    '',
    table(['server', ...titles], rows('server')),
    '',
    'CPU of PostgreSQL in µs a request:',
    '',
    table(['server', ...titles], rows('postgres')),
  ].join('\n')
  const spentOf = (server: 0 | 1, i: number): Spent => scaled(spent[i][server], costOf(server, i).server)
  const wanted = [0.8, 1, 0.7, 0.7]
  return {
    text,
    goals: [
      ...titles.map((name, i) =>
        atLeast(wanted[i], {
          name: `${name}, multiple of bare`,
          value: ratio(1, i),
          timeSpent: `more than the bare server: ${largest(spentOf(0, i), spentOf(1, i))}`,
        }),
      ),
      ...titles.map((name, i) =>
        atLeast(4, {
          name: `${name}, multiple of NestJS + Prisma`,
          value: ratio(2, i),
          timeSpent: `this server's time: ${largest(spentOf(0, i))}`,
        }),
      ),
      atMost(800, {
        name: 'POST /v1/projects, CPU of PostgreSQL',
        value: costOf(0, 2).postgres * 1e6,
        unit: ' µs',
        digits: 0,
        timeSpent:
          `the bare server takes ${micros(costOf(1, 2).postgres)} µs for the same rows; this server's ` +
          `statements: ${largest(scaled(statements, costOf(0, 2).postgres))}`,
      }),
    ],
  }
}
