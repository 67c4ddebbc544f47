// Benchmark of a cold start, from the start of the process to its first 200: this server with a migrated
// database, compared with Express with express-openapi-validator and Fastify with glue's own validation,
// both without a database, on the same contract.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { operations } from '../../generated/operations.ts'
import { createDatabase } from './population.ts'
import { atMost, type Result } from './goals.ts'
import { leastOfRounds } from './rounds.ts'
import { serve } from './serve.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const root = join(import.meta.dirname, '../..')
const servers = join(import.meta.dirname, 'servers')

interface Start {
  cpu: number
  wall: number
}
interface Row extends Start {
  server: string
}

export async function benchStart(stage: Stage, { repeats }: { repeats: number }): Promise<Result> {
  const { url: serverUrl } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_start')
  const contract = { CONTRACT: join(root, 'generated/openapi.json') }
  const kinds: Array<[string, string, Record<string, string>]> = [
    ['this server', join(root, 'app/main.ts'), { PORT: '0', DATABASE_URL: url }],
    ['express-openapi-validator', join(servers, 'start-express.ts'), contract],
    ["glue's own validation", join(servers, 'start-glue.ts'), contract],
  ]
  const starts = await leastOfRounds(kinds, repeats, ([, file, env]) => start(stage, file, env))
  const rows = kinds.map(([server], i) => ({ server, ...starts[i] }))
  return report(rows, repeats, await idleMemory(stage, url))
}

/** In megabytes. */
interface Memory {
  resident: number
  /** The program and its libraries, which other processes share. */
  mapped: number
  /** Of JavaScript, with the memory that it has reserved. */
  heap: number
}

/** The memory of this server some seconds after its first 200. */
async function idleMemory(stage: Stage, url: string): Promise<Memory> {
  const { program, port } = await serve(stage, 'idle', join(root, 'app/main.ts'), { DATABASE_URL: url })
  await fetch(`http://127.0.0.1:${port}/healthz`)
  await sleep(5_000)
  const status = readFileSync(`/proc/${program.pid}/status`, 'utf8')
  const heap = (await program.ask<number>('heap', 'heap')) / 1e6
  await program.stop()
  const megabytes = (name: string): number =>
    (Number(new RegExp(`${name}:\\s*(\\d+) kB`).exec(status)![1]) * 1024) / 1e6
  return { resident: megabytes('VmRSS'), mapped: megabytes('RssFile'), heap }
}

async function start(stage: Stage, file: string, env: Record<string, string>): Promise<Start> {
  const started = performance.now()
  const program = stage.run(file, [], env)
  try {
    const [, address] = await program.says(/serving at (http:\S+)/)
    const response = await fetch(`${address}/healthz`)
    if (response.status !== 200)
      throw new Error(`${file} returned ${response.status}: ${await response.text()}`)
    return { wall: (performance.now() - started) / 1000, cpu: await program.cpu() }
  } finally {
    await program.stop()
  }
}

function report(rows: Row[], repeats: number, memory: Memory): Result {
  const s = (value: number): string => value.toFixed(2)
  const { resident, mapped, heap } = memory
  const text = [
    `Seconds from the start of the process to its first 200, the least of ${repeats}. This server includes`,
    'its database and its background workers; the other two have only one route.',
    '',
    table(
      [`${Object.keys(operations).length} operations`, 'CPU', 'by the clock'],
      rows.map(({ server, cpu, wall }) => [server, s(cpu), s(wall)]),
    ),
    '',
    `Resident memory of this server, idle for five seconds after its first 200: ${count(resident)} MB.`,
  ].join('\n')
  return {
    text,
    goals: [
      atMost(1.5, {
        name: 'start to the first 200, CPU',
        value: rows[0].cpu,
        unit: ' s',
        timeSpent: `${s(rows[0].wall)} s by the clock; not profiled`,
      }),
      atMost(150, {
        name: 'idle memory',
        value: resident,
        unit: ' MB',
        digits: 0,
        timeSpent:
          `the heap of JavaScript ${count(heap)} MB, Node.js and its libraries ${count(mapped)} MB, all ` +
          `others ${count(resident - mapped - heap)} MB`,
      }),
    ],
  }
}
