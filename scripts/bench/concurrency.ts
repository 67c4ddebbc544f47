// Benchmark of concurrency: what more connections cost, the slowest requests below the capacity, and what one
// user's load does to another user.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fire } from './cost.ts'
import { atLeast, atMost, type Result } from './goals.ts'
import { openLoad, type Shot } from './load.ts'
import { addPeople, addProjects, createDatabase } from './population.ts'
import { leastOfRounds } from './rounds.ts'
import { serve } from './serve.ts'
import { largest, profileOf, scaled, spentByPackage, type Spent } from './spent.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const main = join(import.meta.dirname, '../../app/main.ts')
const numbersOfConnections = [1, 8, 32, 128]
const hotConnections = 100

export async function benchConcurrency(
  stage: Stage,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Result> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_concurrency')
  const [hot, calm] = await addPeople(url, ['hot', 'calm'])
  const hotIds = await addProjects(url, dataDir, hot, 1_000)
  const calmIds = await addProjects(url, dataDir, calm, 1_000)
  const { program, port } = await serve(stage, 'this server', main, { DATABASE_URL: url })
  let turn = 0
  const read = (key: string, ids: string[]) => (): Shot => ({
    method: 'GET',
    path: `/v1/projects/${ids[turn++ % ids.length]}`,
    key,
  })
  const own = { next: read(calm.key, calmIds), status: 200 }
  const costs = await leastOfRounds(numbersOfConnections, rounds, (connections) =>
    fire({ program, port }, { ...own, connections, seconds, dataDir }),
  )
  const paced = async (connections: number, rate: number): Promise<{ p50: number; p99: number }> => {
    const load = await openLoad({ port, connections, ...own })
    const latencies: number[] = []
    await load.fire({ seconds: 4 * seconds, requests: 1e6, rate, latencies })
    load.close()
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
  }
  const [below] = await leastOfRounds([0.7], rounds, async (part) => {
    const { wall } = await fire({ program, port }, { ...own, connections: 32, seconds, dataDir })
    return await paced(32, part / wall)
  })
  const rate = 0.7 / Math.min(...costs.map(({ wall }) => wall))
  const waitedBefore = waitedForCore(program.pid)
  const ofPaced = await profileOf(program, { work: () => paced(32, rate), rounds: 1 })
  const requests = rate * 4 * seconds
  const waited = (waitedForCore(program.pid) - waitedBefore) / requests
  const spent: Spent[] = []
  for (const connections of numbersOfConnections)
    spent.push(await spentByPackage({ program, port }, { ...own, connections, requests: 2_000 }))
  const [quiet, disturbed] = await leastOfRounds([false, true], rounds, async (isDisturbed) => {
    if (!isDisturbed) return await paced(1, 50)
    const load = await openLoad({
      port,
      connections: hotConnections,
      next: read(hot.key, hotIds),
      status: 200,
    })
    const [times] = await Promise.all([paced(1, 50), load.fire({ seconds: 4 * seconds, requests: 1e6 })])
    load.close()
    return times
  })
  await program.stop()

  const perSecond = costs.map(({ server }) => 1 / server)
  const ofAll = costs.map(({ server }, i) => scaled(spent[i], server))
  const text = [
    `GET /v1/projects/{id}, the least of ${rounds} rounds of ${seconds} s:`,
    '',
    table(
      ['connections', ...numbersOfConnections.map(String)],
      [
        ["requests per second of the server's CPU", ...perSecond.map(count)],
        ['requests per second by the clock', ...costs.map(({ wall }) => count(1 / wall))],
      ],
    ),
    '',
    'Milliseconds of a request:',
    '',
    table(
      ['', 'p50', 'p99'],
      [
        ['at 70 % of the capacity, 32 connections', below.p50.toFixed(1), below.p99.toFixed(1)],
        ['one calm user alone', quiet.p50.toFixed(1), quiet.p99.toFixed(1)],
        [
          `one calm user beside ${hotConnections} hot connections of another`,
          disturbed.p50.toFixed(1),
          disturbed.p99.toFixed(1),
        ],
      ],
    ),
    '',
    'The load comes from the same machine, so the times by the clock contain its work.',
  ].join('\n')
  return {
    text,
    goals: [
      atLeast(1, {
        name: '128 connections, requests per CPU second as a multiple of 1',
        value: perSecond[3] / perSecond[0],
        timeSpent: `more than with 1: ${largest(ofAll[3], ofAll[0])}`,
      }),
      atLeast(0.95, {
        name: '128 connections, requests per CPU second as a multiple of 32',
        value: perSecond[3] / perSecond[2],
        timeSpent: `more than with 32: ${largest(ofAll[3], ofAll[2])}`,
      }),
      atMost(10, {
        name: 'p99 at 70 % of the capacity, multiple of p50',
        value: below.p99 / below.p50,
        timeSpent:
          `the server waited ${count(waited * 1e6)} µs a request for a core of the machine; garbage ` +
          `collection took ${count(((ofPaced['garbage collection'] ?? 0) * 1_000) / requests)} µs`,
      }),
      atMost(3, {
        name: `p50 beside ${hotConnections} hot connections of another user, multiple of alone`,
        value: disturbed.p50 / quiet.p50,
        timeSpent: `the p99 is ${disturbed.p99.toFixed(1)} ms, alone ${quiet.p99.toFixed(1)} ms`,
      }),
    ],
  }
}

/** Seconds in which the main thread of a process was ready to run and had no core; 0 without /proc. */
function waitedForCore(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e9
  } catch {
    return 0
  }
}

function quantile(values: number[], at: number): number {
  return values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * at))]
}
