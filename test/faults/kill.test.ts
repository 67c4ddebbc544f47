// kill -9 of the server during writes: no acknowledged write is lost, and the next start needs no manual
// repair. `npm run faults` kills it 20 times, `npm test` once.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const rounds = isLongForm ? 20 : 1

t.test(`kill -9 of the server, ${rounds} times, loses no acknowledged write`, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'platform-kill-'))
  const acknowledged = new Map<string, string>()
  const headers = { authorization: `Bearer ${bootstrapKey}`, 'content-type': 'application/json' }
  let unknown = 0
  let doubled = 0

  for (let round = 0; round < rounds; round++) {
    const server = await spawnServer(t, { DATA_DIR: dataDir })
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
          const response = await call(server.url)
          const body = (await response.json()) as any
          if (response.status === 201) acknowledged.set(name, body.id)
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
    await server.end('SIGKILL')
    running = false
    await Promise.all(workers)
  }

  const server = await spawnServer(t, { DATA_DIR: dataDir })
  const ids = new Set<string>()
  const names = new Map<string, number>()
  for (let page = 1; ; page++) {
    const response = await fetch(`${server.url}/v1/projects?limit=100&page=${page}`, { headers })
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
  for (const count of names.values()) if (count > 1) doubled++
  t.same(lost, [], `0 of ${acknowledged.size} acknowledged writes may be lost`)
  t.equal(doubled, 0)

  // Repeating a request with its Idempotency-Key after the kill has one effect, committed before or not.
  const [name, id] = [...acknowledged].at(-1)!
  const replay = await fetch(`${server.url}/v1/projects`, {
    method: 'POST',
    headers: { ...headers, 'idempotency-key': name.replaceAll(' ', '-') },
    body: JSON.stringify({ name }),
  })
  t.equal(((await replay.json()) as any).id, id)
  t.comment(`${acknowledged.size} acknowledged, ${unknown} cut off, 0 lost in ${rounds} kills`)
  await server.end('SIGTERM')
  await rm(dataDir, { recursive: true, force: true })
})
