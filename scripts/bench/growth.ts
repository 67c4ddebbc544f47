// Benchmark of growth: the first page of a user's projects, with the exact total, for users with few and
// with many projects. Two databases on one PostgreSQL, each with its server, measured in turns.
import { join } from 'node:path'
import { serve } from './serve.ts'
import { openLoad } from './load.ts'
import { addPeople, addProjects, createDatabase } from './population.ts'
import { postgresCpu, type Program, type Stage } from './stage.ts'
import { count, table } from './table.ts'

const main = join(import.meta.dirname, '../../app/main.ts')

interface Size {
  projects: number
  program: Program
  port: number
  key: string
  wall: number
  cpu: number
  postgres: number
  requests: number
}

export async function benchGrowth(
  stage: Stage,
  { sizes, rounds, seconds }: { sizes: number[]; rounds: number; seconds: number },
): Promise<string> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const all: Size[] = []
  for (const projects of sizes) {
    const url = await createDatabase(serverUrl, `bench_growth_${projects}`)
    const [owner] = await addPeople(url, ['owner'])
    await addProjects(url, dataDir, owner, projects)
    const { program, port } = await serve(stage, String(projects), main, { DATABASE_URL: url })
    await verify(port, owner.key, projects)
    all.push({
      projects,
      program,
      port,
      key: owner.key,
      wall: Infinity,
      cpu: Infinity,
      postgres: 0,
      requests: 0,
    })
  }
  // Opened late, because the server closes idle connections.
  const loads = await Promise.all(
    all.map(({ port, key }) =>
      openLoad({
        port,
        connections: 1,
        status: 200,
        next: () => ({ method: 'GET', path: '/v1/projects', key }),
      }),
    ),
  )
  for (let round = -2; round < rounds; round++) {
    for (const [i, size] of all.entries()) {
      const before = {
        cpu: await size.program.cpu(),
        postgres: postgresCpu(dataDir),
        time: performance.now(),
      }
      const requests = await loads[i].fire({ seconds, requests: 100_000 })
      const wall = (performance.now() - before.time) / 1000
      const cpu = (await size.program.cpu()) - before.cpu
      if (round < 0) continue
      size.wall = Math.min(size.wall, wall / requests)
      size.cpu = Math.min(size.cpu, cpu / requests)
      size.postgres += postgresCpu(dataDir) - before.postgres
      size.requests += requests
    }
  }
  for (const load of loads) load.close()
  for (const { program } of all) await program.stop()
  return report(all, rounds, seconds)
}

async function verify(port: number, key: string, projects: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/projects`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const { data, pagination } = (await response.json()) as { data: unknown[]; pagination: { total: number } }
  if (data.length !== 20 || pagination.total !== projects)
    throw new Error(`the page has ${data.length} of ${pagination.total} projects, not 20 of ${projects}`)
}

function report(all: Size[], rounds: number, seconds: number): string {
  const micros = (value: number): string => count(value * 1e6)
  const row = ({ projects, wall, cpu, postgres, requests }: Size): string[] => [
    count(projects),
    micros(wall),
    micros(cpu),
    micros(postgres / requests),
  ]
  const first = all[0]
  const last = all[all.length - 1]
  return [
    `GET /v1/projects, first page and exact total, one request at a time: ` +
      `the best of ${rounds} rounds of ${seconds} s each, in µs.`,
    '',
    table(
      ['projects of the caller', 'time', 'CPU of the server', 'CPU of PostgreSQL (mean)'],
      [
        ...all.map(row),
        [
          'growth',
          (last.wall / first.wall).toFixed(2),
          (last.cpu / first.cpu).toFixed(2),
          (last.postgres / last.requests / (first.postgres / first.requests)).toFixed(2),
        ],
      ],
    ),
  ].join('\n')
}
