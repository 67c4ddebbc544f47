// PostgreSQL crashes, drops connections or stops responding under load: no acknowledged write is lost, and
// the server recovers by itself. Nor is one lost when the server is killed during writes, and the next start
// needs no manual repair. `npm run faults` runs longer.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { recordedPid } from '../../infra/postgres/orphan-processes.ts'
import { signalPostgres } from '../support/database/signal-postgres.ts'
import { startServer } from '../support/server/server.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const headers = { authorization: `Bearer ${bootstrapKey}`, 'content-type': 'application/json' }

async function ready(url: string): Promise<boolean> {
  return (await fetch(`${url}/readyz`).catch(() => null))?.status === 200
}

/**
 * Writes with eight callers until stopped; answers what was acknowledged and every other status that was
 * seen. Each pauses after a response, or the refused writes would use all CPU.
 */
function load(url: string) {
  const acknowledged: string[] = []
  const others: Record<string, number> = {}
  let running = true
  const workers = Array.from({ length: 8 }, async () => {
    while (running) {
      const response = await fetch(`${url}/v1/projects`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ name: 'x' }),
      })
      const body = (await response.json()) as any
      if (response.status === 201) acknowledged.push(body.id)
      else others[response.status] = (others[response.status] ?? 0) + 1
      await sleep(20)
    }
  })
  return {
    acknowledged,
    others,
    async stop() {
      running = false
      await Promise.all(workers)
    },
  }
}

async function allIds(url: string): Promise<Set<string>> {
  const ids = new Set<string>()
  for (let page = 1, last = 1; page <= last; page++) {
    const body = (await (await fetch(`${url}/v1/projects?limit=100&page=${page}`, { headers })).json()) as any
    for (const { id } of body.data) ids.add(id)
    last = body.pagination.total_pages
  }
  return ids
}

const dataDir = await mkdtemp(join(tmpdir(), 'platform-postgres-'))
t.teardown(() => rm(dataDir, { recursive: true, force: true }))
const server = await spawnServer(t, { DATA_DIR: dataDir })

t.test('kill -9 of PostgreSQL under load loses no acknowledged write', async (t) => {
  for (let round = 0; round < (isLongForm ? 10 : 1); round++) {
    const writers = load(server.url)
    await waitUntil(() => writers.acknowledged.length > 20)
    const postmaster = postmasterOf(dataDir)!
    const killed = Date.now()
    process.kill(postmaster, 'SIGKILL')
    await waitUntil(() => ![postmaster, undefined].includes(postmasterOf(dataDir)), 'another PostgreSQL')
    await waitUntil(() => ready(server.url), 'PostgreSQL to be back')
    t.comment(`healthy again after ${Date.now() - killed} ms`)
    const before = writers.acknowledged.length
    await waitUntil(() => writers.acknowledged.length > before + 20, 'writes to go on')
    await writers.stop()
    t.same(
      Object.keys(writers.others).filter((status) => status !== '503'),
      [],
      'a refused write is 503',
    )
    const ids = await allIds(server.url)
    t.same(
      writers.acknowledged.filter((id) => !ids.has(id)),
      [],
      `0 of ${writers.acknowledged.length} acknowledged writes may be lost`,
    )
  }
  t.equal(server.child.exitCode, null, 'the server is the same process')
})

t.test('connections that are terminated every 200 ms lose no acknowledged write', async (t) => {
  const server = await startServer(t, { env: { DATABASE_POOL_SIZE: '4' } })
  const { client, id } = await server.person()
  const { prisma } = server.services.database
  const acknowledged: string[] = []
  const statuses = new Set<number>()
  let running = true
  const writers = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (running) {
        const { status, body } = await client.post('/projects', { name: 'x' })
        statuses.add(status)
        if (status === 201) acknowledged.push(body.id)
        await sleep(10)
      }
    }),
  )
  for (let i = 0; i < (isLongForm ? 100 : 4); i++) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    await prisma
      .$queryRawUnsafe(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      )
      .catch(() => {})
  }
  running = false
  await writers
  t.same(
    [...statuses].filter((status) => status !== 201 && status !== 503),
    [],
  )
  await waitUntil(async () => (await client.get('/projects')).status === 200)
  const kept = new Set(
    (await prisma.project.findMany({ where: { ownerId: id }, select: { id: true } })).map((p) => p.id),
  )
  t.same(
    acknowledged.filter((project) => !kept.has(project)),
    [],
  )
  t.ok(acknowledged.length > 0)
})

t.test('the server recovers when a suspended PostgreSQL resumes', async (t) => {
  // Longer than the requests below take; in a short run, only as long.
  const seconds = isLongForm ? 30 : 0
  t.equal((await fetch(`${server.url}/v1/projects`, { headers })).status, 200)
  const postmaster = postmasterOf(dataDir)!
  signalPostgres(postmaster, 'SIGSTOP')
  const began = Date.now()
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => (await fetch(`${server.url}/v1/projects`, { headers })).status),
  )
  const waited = Date.now() - began
  t.ok(
    answers.every((status) => status === 503),
    `each response is 503: ${[...new Set(answers)]}`,
  )
  // At most 15 s for a turn and 11 s for the statement.
  t.ok(waited < 30_000, `within the deadlines: ${waited} ms`)
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, seconds * 1000 - waited)))
  signalPostgres(postmaster, 'SIGCONT')
  await waitUntil(
    async () => (await fetch(`${server.url}/v1/projects`, { headers })).status === 200,
    'the recovery',
  )
})

const rounds = isLongForm ? 20 : 1

// The last test that uses the server: it kills it.
t.test(`kill -9 of the server, ${rounds} times, loses no acknowledged write`, async (t) => {
  const acknowledged = new Map<string, string>()
  let unknown = 0
  let doubled = 0

  for (let round = 0; round < rounds; round++) {
    const killed = round === 0 ? server : await spawnServer(t, { DATA_DIR: dataDir })
    let running = true
    const worker = async (number: number): Promise<void> => {
      for (let i = 0; running; i++) {
        const name = `round ${round} worker ${number} write ${i}`
        const call = async (url: string) =>
          await fetch(`${url}/v1/projects`, {
            method: 'POST',
            headers: { ...headers, 'idempotency-key': name.replaceAll(' ', '-') },
            body: JSON.stringify({ name }),
          })
        try {
          const response = await call(killed.url)
          const body = (await response.json()) as any
          if (response.status === 201) acknowledged.set(name, body.id)
          await sleep(20)
        } catch {
          unknown++
          return
        }
      }
    }
    const workers = Array.from({ length: 8 }, (_, number) => worker(number))
    const before = acknowledged.size
    await waitUntil(() => acknowledged.size > before + 20, 'writes')
    await sleep(Math.random() * 100)
    await killed.end('SIGKILL')
    running = false
    await Promise.all(workers)
  }

  const { url, end } = await spawnServer(t, { DATA_DIR: dataDir })
  const ids = new Set<string>()
  const names = new Map<string, number>()
  for (let page = 1; ; page++) {
    const response = await fetch(`${url}/v1/projects?limit=100&page=${page}`, { headers })
    const { data, pagination } = (await response.json()) as any
    for (const project of data) {
      ids.add(project.id)
      names.set(project.name, (names.get(project.name) ?? 0) + 1)
    }
    if (page >= pagination.total_pages) {
      t.equal(ids.size, pagination.total, 'the total matches the items')
      break
    }
  }
  const lost = [...acknowledged].filter(([, id]) => !ids.has(id))
  for (const [name, count] of names) if (name.startsWith('round ') && count > 1) doubled++
  t.same(lost, [], `0 of ${acknowledged.size} acknowledged writes may be lost`)
  t.equal(doubled, 0)

  // Repeating a request with its Idempotency-Key after the kill has one effect, committed before or not.
  const [name, id] = [...acknowledged].at(-1)!
  const replay = await fetch(`${url}/v1/projects`, {
    method: 'POST',
    headers: { ...headers, 'idempotency-key': name.replaceAll(' ', '-') },
    body: JSON.stringify({ name }),
  })
  t.equal(((await replay.json()) as any).id, id)
  t.comment(`${acknowledged.size} acknowledged, ${unknown} cut off, 0 lost in ${rounds} kills`)
  await end('SIGTERM')
})

/** The process id of the data folder's PostgreSQL; undefined while there is none. */
function postmasterOf(dataDir: string): number | undefined {
  return recordedPid(join(dataDir, 'cluster/postmaster.pid'))
}
