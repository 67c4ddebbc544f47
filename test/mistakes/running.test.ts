// Mistakes of the operator that reach a running server: requests that need what is missing get 503, nothing
// is lost, the log names the cause, and the server goes on by itself.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { noS3 } from '../../scripts/test/s3-server.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createClient } from '../support/http/client.ts'
import { createCluster, execute, runCluster } from '../support/database/own-postgres.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { upload, uploadFile } from '../support/storage/storage.ts'
import { storeKinds } from '../support/server/store-servers.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('credentials of PostgreSQL that expire', async (t: Test) => {
  const { url, superuserUrl } = await runCluster(t, await createCluster())
  const server = await startServer(t, { databaseUrl: url })
  const { client } = await server.person()
  await client.post('/projects', { name: 'before' })
  await execute(superuserUrl, "ALTER ROLE platform VALID UNTIL '2020-01-01'")
  await execute(
    superuserUrl,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'platform'",
  )
  for (let i = 0; i < 5; i++) {
    t.equal((await client.post('/projects', { name: 'refused' })).status, 503)
    t.equal((await client.get('/projects')).status, 503)
  }
  t.match(await client.get('/readyz'), { status: 503, body: { checks: { database: 'unavailable' } } })
  t.match(server.logs.join(''), /password authentication failed/)
  await execute(superuserUrl, "ALTER ROLE platform VALID UNTIL 'infinity'")
  await waitUntil(async () => (await client.get('/readyz')).status === 200, 'the server is ready')
  t.equal((await client.post('/projects', { name: 'after' })).status, 201)
  const names = (await client.get('/projects?sort=name&order=asc')).body.data.map((one: any) => one.name)
  t.same(names, ['after', 'before'])
})

const [, s3] = storeKinds
t.test('credentials of S3 that are wrong', { skip: noS3 }, async (t: Test) => {
  const settings = await s3.env(t)
  const { url: databaseUrl } = await createTestDatabase(t)
  const right = await startServer(t, { databaseUrl, env: settings })
  const { key, client: before } = await right.person()
  const file = await uploadFile(before, { bytes: 'kept' })
  await right.close()
  const env = { DATABASE_URL: databaseUrl, ...settings, SHUTDOWN_TIMEOUT: '0' }
  const wrong = await spawnServer(t, { ...env, S3_SECRET_ACCESS_KEY: 'wrong' })
  t.match(
    wrong.output(),
    /"msg":"The file store cannot be used \((Signature\w+|AccessDenied)\), .*: check STORAGE_DIR, /,
  )
  const client = createClient(wrong.url, key)
  t.equal((await upload(client)).status, 503)
  t.equal((await client.get(`/storage/files/${file.id}/download`)).status, 503)
  t.equal((await client.post('/projects', { name: 'without files' })).status, 201)
  t.match(await client.get('/readyz'), { body: { status: 'degraded', checks: { storage: 'unavailable' } } })
  await wrong.end('SIGTERM')
  const again = await startServer(t, { databaseUrl, env: settings })
  t.equal((await createClient(again.url, key).get(`/storage/files/${file.id}/download`)).text, 'kept')
})

/** Mounts a file system of 400 MiB. @returns null when this user may not mount. */
function smallDisk(t: Pick<Test, 'teardown'>): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=755', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

const disk = smallDisk(t)

t.test(
  'a full disk of the database',
  { skip: disk === null && 'this user may not mount' },
  async (t: Test) => {
    const server = await spawnServer(t, { DATA_DIR: join(disk!, 'data'), LOG_LEVEL: 'error' })
    const client = createClient(server.url, bootstrapKey)
    const acknowledged: string[] = []
    const create = async (): Promise<number> => {
      const { status, body } = await client.post('/projects', { name: 'x', description: 'y'.repeat(2000) })
      if (status === 201) acknowledged.push(body.id)
      return status
    }
    t.equal(await create(), 201)
    const filler = join(disk!, 'filler')
    const fill = (): void => {
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(64 * 1024), { flag: 'a' })
      } catch {
        // The disk is full.
      }
    }
    const statuses = new Set<number>()
    for (let i = 0; i < 3000 && !statuses.has(503); i++) {
      if (i % 100 === 0) fill()
      statuses.add(await create())
    }
    t.same([...statuses].sort(), [201, 503])
    await waitUntil(() => /No space left on device|could not extend file/.test(server.output()), 'the cause')
    rmSync(filler)
    await waitUntil(async () => (await create()) === 201, 'writes')
    for (const id of acknowledged.slice(-50)) t.equal((await client.get(`/projects/${id}`)).status, 200)
    t.equal((await client.get('/projects?limit=1')).body.pagination.total, acknowledged.length)
  },
)
