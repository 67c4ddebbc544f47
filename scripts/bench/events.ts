// Benchmark of events: the cost of a write with an event relative to the same write without one, and the
// delivery of a full queue to a receiver on this machine.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openLoad, type Shot } from './load.ts'
import { addPeople, addProjects, createDatabase, type Person } from './population.ts'
import { fire, type Cost } from './cost.ts'
import { atLeast, atMost, type Goal, type Result } from './goals.ts'
import { leastOfRounds } from './rounds.ts'
import { serve, type Server } from './serve.ts'
import {
  largest,
  profileOf,
  scaled,
  spentByPackage,
  spentByStatement,
  statementsOf,
  type Spent,
} from './spent.ts'
import { postgresCpu, type Program, type Stage } from './stage.ts'
import { count, table } from './table.ts'

const connections = 16
const projects = 1_000
/** Seconds of writes, and deliveries, in which a program compiles what it runs often. */
const warmup = { seconds: 3, deliveries: 2_000 }
let turn = 0
const actions: Record<string, { status: number; next: (lane: Lane) => Shot }> = {
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
const root = join(import.meta.dirname, '../..')

interface Lane {
  action: string
  server: Server
  person: Person
  ids: string[]
}

export async function benchEvents(
  stage: Stage,
  { rounds, seconds, deliveries }: { rounds: number; seconds: number; deliveries: number },
): Promise<Result> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const receiver = await openReceiver()
  try {
    const writes = await costOfWrites(stage, { serverUrl, dataDir, rounds, seconds })
    const sent = await costOfDeliveries(stage, { serverUrl, dataDir, deliveries, receiver })
    return { text: `${writes.text}\n\n${sent.text}`, goals: [...writes.goals, ...sent.goals] }
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
): Promise<Result> {
  // Separate databases, so that neither's tables grow with the other's writes.
  const files = {
    'with its event': join(root, 'app/main.ts'),
    without: join(root, 'scripts/bench/servers/silent.ts'),
  }
  const lanes: Lane[] = []
  for (const [name, file] of Object.entries(files)) {
    const url = await createDatabase(serverUrl, `bench_${lanes.length === 0 ? 'events' : 'silence'}`)
    const [person] = await addPeople(url, ['writer'])
    const ids = await addProjects(url, dataDir, person, projects)
    const server = await serve(stage, name, file, { DATABASE_URL: url })
    for (const action of Object.keys(actions)) lanes.push({ action, server, person, ids })
  }
  const costs = await leastOfRounds(lanes, rounds, (lane, isWarmup) => {
    const { status, next } = actions[lane.action]
    const requests = { status, next: () => next(lane), connections, dataDir }
    return fire(lane.server, { ...requests, seconds: isWarmup ? warmup.seconds : seconds })
  })
  const spent: Spent[] = []
  const statements: Spent[] = []
  for (const lane of lanes) {
    const { status, next } = actions[lane.action]
    const requests = { status, next: () => next(lane), connections, requests: 2_000 }
    spent.push(await spentByPackage(lane.server, requests))
    statements.push(await spentByStatement({ url: serverUrl, dataDir }, { ...lane.server, ...requests }))
  }
  for (const { server } of lanes) await server.program.stop()
  const titles = Object.keys(actions)
  const [loud, silent] = [costs.slice(0, titles.length), costs.slice(titles.length)]
  const sum = ({ server, postgres }: Cost): number => server + postgres
  const shown = (cost: Cost): string => `${count(cost.server * 1e6)} + ${count(cost.postgres * 1e6)}`
  const ratio = (of: (cost: Cost) => number): string[] =>
    titles.map((_, i) => (of(loud[i]) / of(silent[i])).toFixed(2))
  const text = [
    `CPU of a write in µs, server + PostgreSQL, including the numbering of events: ` +
      `the least of ${rounds} rounds of ${seconds} s after ${warmup.seconds} s, ${connections} connections.`,
    '',
    table(
      ['', ...titles],
      [
        ['with its event', ...loud.map(shown)],
        ['without', ...silent.map(shown)],
        ['the server, as a multiple', ...ratio(({ server }) => server)],
        ['both together, as a multiple', ...ratio(sum)],
      ],
    ),
  ].join('\n')
  const more = (i: number, parts: Spent[], kind: 'server' | 'postgres'): string =>
    largest(scaled(parts[i], loud[i][kind]), scaled(parts[titles.length + i], silent[i][kind]))
  const goals = titles.map((action, i) =>
    atMost(1.25, {
      name: `${action} with its event, multiple of without`,
      value: sum(loud[i]) / sum(silent[i]),
      timeSpent:
        `of the server ${more(i, spent, 'server')}; ` + `of PostgreSQL ${more(i, statements, 'postgres')}`,
    }),
  )
  return { text, goals }
}

async function costOfDeliveries(
  stage: Stage,
  { serverUrl, dataDir, deliveries, receiver }: Surroundings & { deliveries: number; receiver: Receiver },
): Promise<Result> {
  const queue = { serverUrl, deliveries: warmup.deliveries + deliveries, receiver }
  const { sent, cpu, postgres, seconds } = await withQueuedDeliveries(
    stage,
    { ...queue, name: 'bench_deliveries' },
    async (worker, drain) => {
      await receiver.receive(warmup.deliveries)
      const begun = { worker: await worker.cpu(), postgres: postgresCpu(dataDir), got: receiver.got() }
      const at = performance.now()
      await drain()
      return {
        sent: receiver.got() - begun.got,
        cpu: (await worker.cpu()) - begun.worker,
        postgres: Math.max(0.01, postgresCpu(dataDir) - begun.postgres),
        seconds: (performance.now() - at) / 1000,
      }
    },
  )
  const spent = await withQueuedDeliveries(stage, { ...queue, name: 'bench_spent' }, (worker, drain) =>
    profileOf(worker, { work: drain, rounds: 1 }),
  )
  const statements = await withQueuedDeliveries(
    stage,
    { ...queue, name: 'bench_statements' },
    (_worker, drain) => statementsOf({ url: serverUrl, dataDir }, drain),
  )
  const text = [
    `Deliveries of a queue of ${count(deliveries)} to one fast endpoint, by one worker, 10 at a time, after`,
    `${count(warmup.deliveries)} others:`,
    '',
    table(
      ["per second of the worker's CPU", "per second of PostgreSQL's CPU", 'per second'],
      [[count(sent / cpu), count(sent / postgres), count(sent / seconds)]],
    ),
  ].join('\n')
  const goal = (name: string, value: number, parts: string): Goal =>
    atLeast(3_000, {
      name: `webhook deliveries per CPU second of ${name}`,
      value,
      digits: 0,
      timeSpent: `${count(1e6 / value)} µs a delivery: ${parts}`,
    })
  return {
    text,
    goals: [
      goal('the worker', sent / cpu, largest(scaled(spent, cpu / sent))),
      goal('PostgreSQL', sent / postgres, largest(scaled(statements, postgres / sent))),
    ],
  }
}

/**
 * Queues deliveries to the receiver, then starts a worker.
 * @param work may wait until all are delivered.
 */
export async function withQueuedDeliveries<T>(
  stage: Stage,
  {
    serverUrl,
    name,
    deliveries,
    receiver,
  }: { serverUrl: string; name: string; deliveries: number; receiver: Receiver },
  work: (worker: Program, drain: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const url = await createDatabase(serverUrl, name)
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
    return await work(worker, async () => {
      for (;;) {
        const {
          rows: [{ left }],
        } = await database.query(
          "SELECT count(*)::int AS left FROM webhook_deliveries WHERE status = 'pending'",
        )
        if (left === 0) return
        await sleep(100)
      }
    })
  } finally {
    await worker.stop()
    await database.end()
  }
}

export interface Receiver {
  url: string
  got(): number
  /** Resolves when this number of further deliveries has arrived. */
  receive(deliveries: number): Promise<void>
  close(): void
}

export async function openReceiver(): Promise<Receiver> {
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
    async receive(deliveries) {
      for (const end = got + deliveries; got < end;) await sleep(20)
    },
    close: () => server.close(),
  }
}
