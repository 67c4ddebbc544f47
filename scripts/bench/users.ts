// Benchmark of many users: the operations of http.ts with 64 users in turn, and what a session in a cookie
// and a role that an organization gives add to a read.
import { fire, type Cost } from './cost.ts'
import { atLeast, type Result } from './goals.ts'
import { actionsOf, bareServer, thisServer } from './http.ts'
import { addPeople, addProjects, createDatabase } from './population.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { storePassword } from '../../generated/sql/auth.ts'
import { hashPassword } from '../../services/auth/passwords/hash.ts'
import { leastOfRounds } from './rounds.ts'
import { serve, type Server } from './serve.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const users = 64
const projectsOfUser = 40
const password = 'a harbour with a lantern'

export async function benchUsers(
  stage: Stage,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Result> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_users')
  const people = await addPeople(
    url,
    Array.from({ length: users }, (_, i) => `user${i}`),
  )
  const owned: string[][] = []
  for (const person of people) owned.push(await addProjects(url, dataDir, person, projectsOfUser))
  const env = { DATABASE_URL: url, READER_ID: people[0].id, WRITER_ID: people[0].id }
  const server = await serve(stage, 'this server', thisServer, env)
  const bare = await serve(stage, 'bare', bareServer, env)
  let turn = 0
  const actions = actionsOf(() => {
    const user = turn++ % users
    const id = owned[user][Math.floor(turn / users) % projectsOfUser]
    return { key: people[user].key, writeKey: people[user].key, id }
  })
  const [read] = actions
  const single = { key: people[0].key, writeKey: people[0].key, id: owned[0][0] }
  const [readOfOne] = actionsOf(() => single)
  const { key: _, ...shot } = readOfOne.next()
  const cookie = await cookieOf(server, url, people[0].id)
  const ofCookie = { ...readOfOne, next: () => ({ ...shot, cookie }) }
  const given = await giveToOrganization(server, people[0].key, owned[0][1])
  const [ofOrganization] = actionsOf(() => ({ ...single, id: given }))

  const lanes = [
    ...actions.flatMap((action) => [server, bare].map((on) => ({ on, action, connections: 32 }))),
    { on: server, action: read, connections: 256 },
    ...[readOfOne, ofCookie, ofOrganization].map((action) => ({ on: server, action, connections: 32 })),
  ]
  const costs = await leastOfRounds(lanes, rounds, ({ on, action, connections }, isWarmup) =>
    fire(on, { ...action, connections, seconds: isWarmup ? 3 : seconds, dataDir }),
  )
  for (const { program } of [server, bare]) await program.stop()

  const both = ({ server, postgres }: Cost): number => server + postgres
  const ratios = actions.map((_, i) => both(costs[2 * i + 1]) / both(costs[2 * i]))
  const [manyAt256, key, session, role] = costs.slice(2 * actions.length)
  const micros = ({ server, postgres }: Cost): string[] => [count(server * 1e6), count(postgres * 1e6)]
  const spent = (cost: Cost): string => `server ${micros(cost)[0]} µs, PostgreSQL ${micros(cost)[1]} µs`
  const reads: Array<[string, Cost]> = [
    [`${users} users, 32 connections`, costs[0]],
    [`${users} users, 256 connections`, manyAt256],
    ['one user, an API key', key],
    ['one user, a session in a cookie', session],
    ['one user, a role of an organization', role],
  ]
  const names = actions.map(({ name }) => name)
  return {
    text: [
      `The least of ${rounds} rounds of ${seconds} s. ${users} users in turn, each with ${projectsOfUser}`,
      'projects, on 32 connections: this server as a multiple of the bare one, by the CPU of both and',
      'PostgreSQL.',
      '',
      table(['', ...names], [['server and PostgreSQL', ...ratios.map((ratio) => ratio.toFixed(2))]]),
      '',
      `µs of CPU of a ${names[0]}:`,
      '',
      table(
        ['', 'server', 'PostgreSQL'],
        reads.map(([name, cost]) => [name, ...micros(cost)]),
      ),
    ].join('\n'),
    goals: [
      ...names.map((name, i) =>
        atLeast([1, 1, 0.8, 0.8][i], {
          name: `${name} of ${users} users, server and PostgreSQL together, multiple of bare`,
          value: ratios[i],
          timeSpent: `${spent(costs[2 * i])}; bare: ${spent(costs[2 * i + 1])}`,
        }),
      ),
      atLeast(0.95, {
        name: `${names[0]} on 256 connections, multiple of 32`,
        value: costs[0].server / manyAt256.server,
        timeSpent: spent(manyAt256),
      }),
      ...[['a session in a cookie', session] as const, ['a role of an organization', role] as const].map(
        ([name, cost]) =>
          atLeast(0.9, {
            name: `${names[0]} with ${name}, multiple of an API key and a role of its own`,
            value: both(key) / both(cost),
            timeSpent: `${spent(cost)}; with the key: ${spent(key)}`,
          }),
      ),
    ],
  }
}

/** Signs the user in. @returns the cookie of the session. */
async function cookieOf({ port }: Server, url: string, userId: string): Promise<string> {
  const database = openDatabase({ url, poolSize: 1 })
  const hash = await hashPassword(password, '127.0.0.1')
  await storePassword(database, { user_id: userId, hash })
  await database.close()
  const headers = { origin: `http://127.0.0.1:${port}` }
  const path = '/auth/sessions'
  const asked = { method: 'password', email: 'user0@example.com', password }
  const signedIn = await post(port, path, asked, headers)
  const { refresh_token } = (await signedIn.json()) as { refresh_token: string }
  const moved = await post(port, `${path}/cookie`, { refresh_token }, headers)
  return moved.headers.getSetCookie()[0].split(';')[0]
}

/** Gives the project to a new organization of its owner. @returns its id. */
async function giveToOrganization({ port }: Server, key: string, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}` }
  const made = await post(port, '/organizations', { name: 'Bench' }, headers)
  const { id: organization_id } = (await made.json()) as { id: string }
  await post(port, `/projects/${id}/transfer`, { organization_id }, headers)
  return id
}

async function post(
  port: number,
  path: string,
  body: object,
  headers: Record<string, string>,
): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(await response.text())
  return response
}
