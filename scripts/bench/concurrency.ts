// Benchmark of concurrency: what more connections cost, the slowest requests below the capacity, and what one
// user's load does to another user.
import { join } from 'node:path'
import { fire } from './cost.ts'
import { atLeast, atMost, type Result } from './goals.ts'
import { openLoad, type Shot } from './load.ts'
import { addPeople, addProjects, createDatabase } from './population.ts'
import { leastOfRounds } from './rounds.ts'
import { serve } from './serve.ts'
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
          `the same, beside ${hotConnections} hot connections of another`,
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
        rest: 'more waiting requests, whose state leaves the caches of the CPU',
      }),
      atLeast(0.95, {
        name: '128 connections, requests per CPU second as a multiple of 32',
        value: perSecond[3] / perSecond[2],
        rest: 'requests that wait for their turn of the user and for a connection of PostgreSQL',
      }),
      atMost(10, {
        name: 'p99 at 70 % of the capacity, multiple of p50',
        value: below.p99 / below.p50,
        rest: 'garbage collection, and the load on the same two cores',
      }),
      atMost(3, {
        name: `p50 beside ${hotConnections} hot connections of another user, multiple of alone`,
        value: disturbed.p50 / quiet.p50,
        rest:
          'one process works through what all sockets have sent before a turn comes, and the load shares ' +
          'its cores',
      }),
    ],
  }
}

function quantile(values: number[], at: number): number {
  return values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * at))]
}
