// Requests per second of CPU time: this server and the same three operations in other frameworks, on one
// database. Rounds are short and alternate; the best round of each server counts, because the machine is
// never idle.
import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import { addPeople, addProjects, createDatabase, type Person } from './population.ts'
import { openLoad, type Shot } from './load.ts'
import { serve, type Server } from './serve.ts'
import { postgresCpu, type Stage } from './stage.ts'
import { count, table } from './table.ts'

const connections = 32
const projects = 1_000

interface Action {
  name: string
  status: number
  next: () => Shot
}
/** The best round of a server and an action, and PostgreSQL's CPU time over all rounds. */
interface Result {
  best: number
  requests: number
  postgres: number
}

const here = import.meta.dirname
const root = join(here, '../..')
const sources: Array<{ name: string; file: string }> = [
  { name: 'this server', file: join(root, 'app/main.ts') },
  { name: 'Fastify + pg, bare', file: join(here, 'servers/plain.ts') },
  { name: 'NestJS + Prisma', file: join(here, 'servers/nest.ts') },
  { name: 'Express + openapi-validator + Prisma', file: join(here, 'servers/express.ts') },
]

export async function benchHttp(
  stage: Stage,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<string> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_http')
  const [reader, writer] = await addPeople(url, ['reader', 'writer'])
  const ids = await addProjects(url, dataDir, reader, projects)
  const servers = await Promise.all(
    sources.map(({ name, file }) =>
      serve(stage, name, file, { DATABASE_URL: url, READER_ID: reader.id, WRITER_ID: writer.id }),
    ),
  )
  const actions = actionsOf(reader, writer, ids)
  await verify(servers, actions, ids[0])

  const results = new Map<string, Result>()
  for (let round = -1; round < rounds; round++) {
    for (const action of actions) {
      // The first server of a round would find the caches filled by another kind of request.
      const turn = servers.map((_, i) => servers[(i + Math.max(0, round)) % servers.length])
      for (const server of turn) {
        const { requests, cpu, postgres } = await fire(
          server,
          action,
          round < 0 ? 3 * seconds : seconds,
          dataDir,
        )
        if (round < 0) continue
        const key = `${server.name}/${action.name}`
        const so = results.get(key) ?? { best: 0, requests: 0, postgres: 0 }
        results.set(key, {
          best: Math.max(so.best, requests / cpu),
          requests: so.requests + requests,
          postgres: so.postgres + postgres,
        })
      }
    }
  }
  for (const { program } of servers) await program.stop()
  return report(servers, actions, results, { rounds, seconds })
}

function actionsOf(reader: Person, writer: Person, ids: string[]): Action[] {
  let turn = 0
  const body = {
    name: 'Launch',
    description: 'Everything for the launch',
    category: 'ai',
    tags: ['q4'],
    metadata: { team: 'bench' },
  }
  return [
    {
      name: 'GET /v1/projects/{id}',
      status: 200,
      next: () => ({ method: 'GET', path: `/v1/projects/${ids[turn++ % ids.length]}`, key: reader.key }),
    },
    {
      name: 'GET /v1/projects',
      status: 200,
      next: () => ({ method: 'GET', path: '/v1/projects', key: reader.key }),
    },
    {
      name: 'POST /v1/projects',
      status: 201,
      next: () => ({ method: 'POST', path: '/v1/projects', key: writer.key, body }),
    },
  ]
}

/** All servers must give the same responses, except for the ids of new projects. */
async function verify(servers: Server[], actions: Action[], id: string): Promise<void> {
  const answers: unknown[] = []
  for (const { port } of servers) {
    const got: unknown[] = []
    for (const { status, next } of actions) {
      const { method, path, key, body } = next()
      const response = await fetch(
        `http://127.0.0.1:${port}` +
          (method === 'GET' && path !== '/v1/projects' ? `/v1/projects/${id}` : path),
        {
          method,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: body === undefined ? undefined : JSON.stringify(body),
        },
      )
      const value = (await response.json()) as Record<string, unknown>
      const made = method === 'POST' ? { ...value, id: '', created_at: '', updated_at: '' } : value
      got.push([response.status === status, made])
    }
    answers.push(got)
  }
  servers.forEach(({ name }, i) => deepStrictEqual(answers[i], answers[0], `${name} answers differently`))
  if (JSON.stringify(answers[0]).includes('[false,'))
    throw new Error(`the servers reject the requests: ${JSON.stringify(answers[0])}`)
}

async function fire(
  { program, port }: Server,
  { status, next }: Action,
  seconds: number,
  dataDir: string,
): Promise<{ requests: number; cpu: number; postgres: number }> {
  const load = await openLoad({ port, connections, next, status })
  try {
    await load.fire({ seconds: 1, requests: connections })
    const before = { cpu: await program.cpu(), postgres: postgresCpu(dataDir) }
    const requests = await load.fire({ seconds, requests: 20_000 })
    return {
      requests,
      cpu: (await program.cpu()) - before.cpu,
      postgres: postgresCpu(dataDir) - before.postgres,
    }
  } finally {
    load.close()
  }
}

function report(
  servers: Server[],
  actions: Action[],
  results: Map<string, Result>,
  { rounds, seconds }: { rounds: number; seconds: number },
): string {
  const result = (server: Server, action: Action): Result => results.get(`${server.name}/${action.name}`)!
  const titles = actions.map(({ name }) => name)
  const [own, bare, ...others] = servers
  const ratio = (a: Server, b: Server) =>
    actions.map((action) => (result(a, action).best / result(b, action).best).toFixed(2))
  return [
    `Requests per second of the server's CPU: the best of ${rounds} rounds of ${seconds} s, ` +
      `${connections} connections,`,
    `a user with ${count(projects)} projects, pages of 20 with the exact total. Only this server logs`,
    '(to /dev/null). The minimal server validates nothing; the other two cache keys forever. All responses',
    'were compared first.',
    '',
    table(
      ['server', ...titles],
      servers.map((server) => [server.name, ...actions.map((action) => count(result(server, action).best))]),
    ),
    '',
    table(
      ['this server as a multiple of', ...titles],
      [bare, ...others].map((server) => [server.name, ...ratio(own, server)]),
    ),
    '',
    table(
      ['CPU of PostgreSQL, µs a request', ...titles],
      servers.map((server) => [
        server.name,
        ...actions.map((action) => {
          const { postgres, requests } = result(server, action)
          return count((postgres / requests) * 1e6)
        }),
      ]),
    ),
  ].join('\n')
}
