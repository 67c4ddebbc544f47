// Benchmark of events: the cost of a write with an event relative to the same write without one, and the
// delivery of a full queue to a receiver on this machine.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { openLoad, type Shot } from './load.ts'
import { addPeople, addProjects, createDatabase, type Person } from './population.ts'
import { serve } from './serve.ts'
import { postgresCpu, type Program, type Stage } from './stage.ts'
import { count, table } from './table.ts'

const connections = 16
const projects = 1_000
const root = join(import.meta.dirname, '../..')

interface Server {
  name: string
  program: Program
  port: number
  person: Person
  ids: string[]
}
interface Cost {
  server: number
  postgres: number
}

export async function benchEvents(
  stage: Stage,
  { rounds, seconds, deliveries }: { rounds: number; seconds: number; deliveries: number },
): Promise<string> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const receiver = await openReceiver()
  try {
    const writes = await costOfWrites(stage, { serverUrl, dataDir, rounds, seconds })
    const sent = await costOfDeliveries(stage, { serverUrl, dataDir, deliveries, receiver })
    return `${writes}\n\n${sent}`
  } finally {
    receiver.close()
  }
}

interface Surroundings {
  serverUrl: string
  dataDir: string
}

async function costOfWrites(
  stage: Stage,
  { serverUrl, dataDir, rounds, seconds }: Surroundings & { rounds: number; seconds: number },
): Promise<string> {
  // Separate databases, so that neither's tables grow with the other's writes.
  const files = {
    'with its event': join(root, 'app/main.ts'),
    without: join(root, 'scripts/bench/servers/silent.ts'),
  }
  const servers: Server[] = []
  for (const [name, file] of Object.entries(files)) {
    const url = await createDatabase(serverUrl, `bench_${servers.length === 0 ? 'events' : 'silence'}`)
    const [person] = await addPeople(url, ['writer'])
    const ids = await addProjects(url, dataDir, person, projects)
    servers.push({ ...(await serve(stage, name, file, { DATABASE_URL: url })), person, ids })
  }
  let turn = 0
  const actions: Record<string, { status: number; next: (server: Server) => Shot }> = {
    'POST /v1/projects': {
      status: 201,
      next: ({ person }) => ({
        method: 'POST',
        path: '/v1/projects',
        key: person.key,
        body: { name: 'Launch', description: 'Everything for the launch', tags: ['q4'] },
      }),
    },
    'PUT /v1/projects/{id}': {
      status: 200,
      next: ({ person, ids }) => ({
        method: 'PUT',
        path: `/v1/projects/${ids[turn++ % ids.length]}`,
        key: person.key,
        body: { name: `Launch ${turn}` },
      }),
    },
  }
  const best = new Map<string, Cost>()
  for (let round = -1; round < rounds; round++) {
    for (const [action, { status, next }] of Object.entries(actions)) {
      for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
        const cost = await fire(server, status, () => next(server), seconds, dataDir)
        const known = best.get(`${server.name}/${action}`)
        // The minimum of each, because disturbances only add time.
        if (round >= 0)
          best.set(`${server.name}/${action}`, {
            server: Math.min(cost.server, known?.server ?? Infinity),
            postgres: Math.min(cost.postgres, known?.postgres ?? Infinity),
          })
      }
    }
  }
  for (const { program } of servers) await program.stop()
  const titles = Object.keys(actions)
  const of = (server: Server, action: string): Cost => best.get(`${server.name}/${action}`)!
  const [loud, silent] = servers
  return [
    `CPU of a write in µs, server + PostgreSQL, including the numbering of events: ` +
      `the minimum of ${rounds} rounds of ${seconds} s each, ${connections} connections.`,
    '',
    table(
      ['', ...titles],
      [
        ...servers.map((server) => [
          server.name,
          ...titles.map(
            (action) =>
              `${count(of(server, action).server * 1e6)} + ${count(of(server, action).postgres * 1e6)}`,
          ),
        ]),
        [
          'the server, as a multiple',
          ...titles.map((action) => (of(loud, action).server / of(silent, action).server).toFixed(2)),
        ],
        [
          'both together, as a multiple',
          ...titles.map((action) => (sum(of(loud, action)) / sum(of(silent, action))).toFixed(2)),
        ],
        [
          "events written per second of the server's CPU",
          ...titles.map((action) =>
            count(1 / Math.max(1e-6, of(loud, action).server - of(silent, action).server)),
          ),
        ],
      ],
    ),
  ].join('\n')
}

function sum({ server, postgres }: Cost): number {
  return server + postgres
}

/** @returns CPU seconds of one request. */
async function fire(
  { program, port }: Server,
  status: number,
  next: () => Shot,
  seconds: number,
  dataDir: string,
): Promise<Cost> {
  const load = await openLoad({ port, connections, next, status })
  try {
    await load.fire({ seconds: 1, requests: connections })
    const before = { server: await program.cpu(), postgres: postgresCpu(dataDir) }
    const requests = await load.fire({ seconds, requests: 20_000 })
    return {
      server: ((await program.cpu()) - before.server) / requests,
      postgres: (postgresCpu(dataDir) - before.postgres) / requests,
    }
  } finally {
    load.close()
  }
}

async function costOfDeliveries(
  stage: Stage,
  { serverUrl, dataDir, deliveries, receiver }: Surroundings & { deliveries: number; receiver: Receiver },
): Promise<string> {
  const url = await createDatabase(serverUrl, 'bench_deliveries')
  const [person] = await addPeople(url, ['receiver'])
  const env = { DATABASE_URL: url, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_ALLOWED_PORTS: '1-65535' }
  const { program: server, port } = await serve(stage, 'server', join(root, 'app/main.ts'), {
    ...env,
    WORKER: 'false',
  })
  const made = await fetch(`http://127.0.0.1:${port}/v1/webhooks/endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, event_types: ['project.created'] }),
  })
  if (made.status !== 201) throw new Error(`the endpoint was not created: ${await made.text()}`)
  const load = await openLoad({
    port,
    connections,
    status: 201,
    next: () => ({
      method: 'POST',
      path: '/v1/projects',
      key: person.key,
      body: { name: 'Launch', description: 'Everything for the launch' },
    }),
  })
  await load.fire({ seconds: 600, requests: deliveries })
  load.close()
  await server.stop()

  const database = new pg.Client({ connectionString: url })
  await database.connect()
  const worker = stage.run(join(root, 'app/worker.ts'), [], { ...env, LOG_LEVEL: 'warn' })
  try {
    await worker.says(/working;/)
    const begun = {
      worker: await worker.cpu(),
      postgres: postgresCpu(dataDir),
      got: receiver.got(),
      at: performance.now(),
    }
    for (;;) {
      const {
        rows: [{ left }],
      } = await database.query(
        "SELECT count(*)::int AS left FROM webhook_deliveries WHERE status = 'pending'",
      )
      if (left === 0) break
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const sent = receiver.got() - begun.got
    const cpu = (await worker.cpu()) - begun.worker
    const postgres = postgresCpu(dataDir) - begun.postgres
    const seconds = (performance.now() - begun.at) / 1000
    return [
      `Deliveries of a queue of ${count(deliveries)} to one fast endpoint, by one worker, 10 at a time:`,
      '',
      table(
        ["per second of the worker's CPU", "per second of PostgreSQL's CPU", 'per second'],
        [[count(sent / cpu), count(sent / Math.max(0.01, postgres)), count(sent / seconds)]],
      ),
    ].join('\n')
  } finally {
    await worker.stop()
    await database.end()
  }
}

interface Receiver {
  url: string
  got(): number
  close(): void
}

async function openReceiver(): Promise<Receiver> {
  let got = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      got++
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got: () => got,
    close: () => server.close(),
  }
}
