// Benchmark of growth by memberships: lists of callers who are members of few and of many projects of others,
// with stale statistics, with fresh ones and without. The events are spread over the projects.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fire } from './cost.ts'
import type { Shot } from './load.ts'
import {
  addMemberships,
  addPeople,
  addProjects,
  clearStatistics,
  createDatabase,
  openAsAdministrator,
  spreadEvents,
  type Person,
} from './population.ts'
import { leastOfRounds } from './rounds.ts'
import { serve, type Server } from './serve.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const main = join(import.meta.dirname, '../../app/main.ts')

const requests = [
  '/events?limit=20',
  '/events?limit=20&order=asc',
  '/projects?limit=20',
  '/projects?limit=20&sort=updated_at',
  '/user/invitations?limit=20',
  '/service-accounts?limit=20',
]

/** Each request is measured for so long, because few of them are below the resolution of the CPU's time. */
const secondsOfRequest = 0.3

/** @param most memberships of the caller with the most; there are ten times as many events. */
export async function benchMemberships(
  stage: Stage,
  { most, rounds }: { most: number; rounds: number },
): Promise<string> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_growth_memberships')
  const [owner] = await addPeople(url, ['owner'])
  await addProjects(url, dataDir, owner, 2 * most)
  const server = await serve(stage, 'memberships', main, { DATABASE_URL: url, WORKER: 'false' })
  await createEvent(server, owner)
  const administer = async (statement: string): Promise<void> => {
    const client = await openAsAdministrator(url, dataDir)
    for (const { name } of (await client.query(tables)).rows) await client.query(`${statement} ${name}`)
    await client.end()
  }
  const sizes = [10, 1_000, 10_000, 100_000].filter((size) => size <= most)
  const callers = await addPeople(url, [...sizes.map((size) => `member-${size}`), 'quiet'])
  for (const [i, size] of sizes.entries())
    await addMemberships(url, dataDir, callers[i], { count: size, among: 2 * most })
  await addMemberships(url, dataDir, callers[sizes.length], { count: most, among: 2 * most, odd: true })
  await spreadEvents(url, dataDir, { count: 10 * most, among: 2 * most })

  const rows: string[][] = []
  for (const [statistics, prepare] of Object.entries({
    // The statistics from before the memberships of the callers and the events.
    stale: async () => {},
    fresh: async () => await administer('VACUUM ANALYZE'),
    absent: async () => await clearStatistics(url, dataDir, 'events|members|projects'),
  })) {
    await prepare()
    for (const path of requests) {
      const costs = await leastOfRounds(callers, rounds, async ({ key }) => {
        const next = (): Shot => ({ method: 'GET', path: `/v1${path}`, key })
        return await fire(server, { next, status: 200, connections: 1, seconds: secondsOfRequest, dataDir })
      })
      rows.push([path, statistics, ...costs.map(({ postgres }) => (postgres * 1000).toFixed(1))])
    }
  }
  await server.program.stop()
  return [
    `CPU of PostgreSQL in milliseconds a request, by the memberships of the caller, with ${count(10 * most)}`,
    `events spread over ${count(most)} projects: the least of ${rounds} rounds of ${secondsOfRequest} s. The`,
    `last caller is a member of ${count(most)} other projects, without events.`,
    '',
    table(['GET /v1', 'statistics', ...sizes.map((size) => count(size)), 'without events'], rows),
  ].join('\n')
}

/** The tables of the lists, with the partitions of the events. */
const tables = `SELECT relname AS name FROM pg_class
  WHERE relkind IN ('r', 'p') AND relname ~ '^(events|members|projects)'`

/** Creates a project, and waits for its event. */
async function createEvent({ port }: Server, { key }: Person): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const at = `http://127.0.0.1:${port}/v1`
  await fetch(`${at}/projects`, { method: 'POST', headers, body: '{"name":"The first"}' })
  for (;;) {
    const events: any = await (await fetch(`${at}/events`, { headers })).json()
    if (events.data.length > 0) return
    await sleep(50)
  }
}
