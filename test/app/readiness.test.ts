// Readiness: what makes a server unready, and what only degrades it.
// own process: a test moves the clock, and ids never go back.
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { newId } from '../../infra/ids.ts'
import { Readiness } from '../../infra/readiness.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createDatabaseProxy } from '../support/database/database-proxy.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const readinessOf = async (url: string) => {
  const response = await fetch(`${url}/readyz`)
  return { status: response.status, body: (await response.json()) as { status: string } }
}

t.test('without its files a server is degraded, and says why once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'readiness-'))
  const storage = join(folder, 'files')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const server = await startServer(t, { env: { STORAGE_DIR: storage } })
  t.match(await readinessOf(server.url), { status: 200, body: { status: 'ok' } })
  renameSync(storage, join(folder, 'away'))
  await waitUntil(async () => (await readinessOf(server.url)).body.status === 'degraded')
  t.match(await readinessOf(server.url), {
    status: 200,
    body: { status: 'degraded', checks: { database: 'ok', storage: 'unavailable' } },
  })
  renameSync(join(folder, 'away'), storage)
  await waitUntil(async () => (await readinessOf(server.url)).body.status === 'ok')
})

t.test('without its database a server is unavailable, and ready again afterwards', async (t) => {
  const { url } = await createTestDatabase(t)
  const proxy = await createDatabaseProxy(t, url)
  const server = await startServer(t, { databaseUrl: proxy.url })
  t.match(await readinessOf(server.url), { status: 200, body: { status: 'ok' } })
  await proxy.cut()
  await waitUntil(async () => (await readinessOf(server.url)).status === 503)
  t.match(await readinessOf(server.url), { body: { status: 'unavailable', checks: { storage: 'ok' } } })
  await proxy.restore()
  await waitUntil(async () => (await readinessOf(server.url)).status === 200)
})

t.test('a clock that jumps degrades a server, is logged once, and ids never go back', async (t) => {
  const server = await startServer(t)
  const present = Date.now
  t.teardown(() => {
    Date.now = present
  })
  const before = newId('prj')
  t.match(await readinessOf(server.url), { body: { status: 'ok' } })
  for (const [hours, words] of [
    [-1, 'behind'],
    [1, 'ahead of'],
  ] as const) {
    Date.now = () => present() + hours * 3_600_000
    await waitUntil(async () => (await readinessOf(server.url)).body.status === 'degraded')
    t.match(await readinessOf(server.url), {
      status: 200,
      body: { checks: { clock: 'unavailable', database: 'ok' } },
    })
    const ids = [before, newId('prj'), newId('prj'), newId('prj')]
    t.same(ids.toSorted(), ids, `ids of a clock that is ${words} the database`)
    Date.now = present
    await waitUntil(async () => (await readinessOf(server.url)).body.status === 'ok')
  }
  const ids = [before, newId('prj')]
  t.same(ids.toSorted(), ids)
})

t.test('an answer does not wait for a dependency that hangs', async (t) => {
  let runs = 0
  let hangs = false
  const dependency = {
    run: async () => {
      runs++
      if (hangs) await new Promise(() => {})
    },
    required: true,
  }
  const readiness = new Readiness({ dependency }, () => {})
  t.teardown(() => readiness.close())
  t.equal((await readiness.report()).status, 'ok')
  hangs = true
  await waitUntil(() => runs > 1, 'the check in the background')
  const late = () => new Promise((resolve) => setTimeout(resolve, 500, 'late'))
  t.match(await Promise.race([readiness.report(), late()]), { status: 'ok' }, 'the last result')
  await waitUntil(async () => (await readiness.report()).status === 'unavailable', 'the check to fail')
  t.match(await Promise.race([readiness.report(), late()]), { status: 'unavailable' })
})

t.test('a check', async (t) => {
  t.test('that hangs has failed, and its cause is reported when it begins to fail', async (t) => {
    const errors: Error[] = []
    const hanging = { run: () => new Promise(() => {}), required: false }
    const readiness = new Readiness({ hanging }, (error) => errors.push(error))
    t.same(await readiness.report(), { status: 'degraded', checks: { hanging: 'unavailable' } })
    await readiness.report()
    t.equal(errors.length, 1)
    t.match(errors[0], { message: /hanging failed/, cause: { message: /no answer within/ } })
  })
  t.test('cannot make a server ready that stops', async (t) => {
    const readiness = new Readiness({ fine: { run: async () => {}, required: true } }, () => {})
    t.equal((await readiness.report()).status, 'ok')
    readiness.stop()
    t.same(await readiness.report(), {
      status: 'unavailable',
      checks: { fine: 'ok', server: 'unavailable' },
    })
  })
})
