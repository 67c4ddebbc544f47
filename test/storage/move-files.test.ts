// `npm run admin -- move-files`: files move between disk and S3 while servers serve them.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../infra/config/config.ts'
import { noS3, startS3 } from '../../scripts/test/s3-server.ts'
import type { BlobStore } from '../../services/storage/blobs/blob-store.ts'
import { isBlobKey } from '../../services/storage/blobs/blob-store.ts'
import { openStores } from '../../services/storage/storage.ts'
import { verifyStore } from '../../services/storage/verify.ts'
import { createTestDatabase, testSecretKey } from '../support/database/database.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { listen } from '../support/http/listen.ts'
import { command } from '../support/server/backups.ts'
import { inheritedEnvironment } from '../support/server/process.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { download, sweepStore, upload, uploadFile, uploadForm } from '../support/storage/storage.ts'

type Settings = Record<string, string>

interface Installation {
  databaseUrl: string
  key?: string
  /** The settings of both stores. */
  places: Settings
  disk: BlobStore
  bucket: BlobStore
}

const onDisk = { STORAGE: 'disk' }
const inS3 = { STORAGE: 's3' }
const leavingDisk = { STORAGE: 's3', STORAGE_SECOND: 'disk' }
const enteringS3 = { STORAGE: 'disk', STORAGE_SECOND: 's3' }

async function install(t: Test): Promise<Installation> {
  const { url: databaseUrl } = await createTestDatabase(t)
  const { endpoint, region, accessKeyId, secretAccessKey, bucket } = await startS3(t)
  const folder = mkdtempSync(join(tmpdir(), 'move-files-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const places = {
    STORAGE_DIR: folder,
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  }
  const stores = await openStores(readConfig({ ...places, ...leavingDisk, SECRET_KEY: testSecretKey }))
  t.teardown(() => Promise.all([stores.first.close(), stores.second!.close()]))
  return { databaseUrl, places, bucket: stores.first, disk: stores.second! }
}

interface Served {
  services: TestServer['services']
  url: string
  /** The key of the same user at every server. */
  key: string
  client: Client
  close(): Promise<void>
}

async function serve(t: Test, place: Installation, settings: Settings): Promise<Served> {
  const { databaseUrl, places } = place
  const server = await startServer(t, { databaseUrl, env: { ...places, ...settings } })
  place.key ??= (await server.person()).key
  const { services, url, close } = server
  return { services, url, key: place.key, client: createClient(url, place.key), close }
}

const move = (
  { databaseUrl, places }: Installation,
  settings: Settings,
  ...args: string[]
): ReturnType<typeof command> =>
  command('admin', ['move-files', ...args], { DATABASE_URL: databaseUrl, ...places, ...settings })

async function keysOf(store: BlobStore): Promise<string[]> {
  const keys: string[] = []
  for await (const page of store.list()) keys.push(...page.map(({ key }) => key).filter(isBlobKey))
  return keys.sort()
}

/** Passes bytes to the server until `limit` of them arrived, and none after that. */
async function blockAfter(t: Test, target: string, limit: number) {
  const { hostname, port } = new URL(target)
  let passed = 0
  let block!: () => void
  const blocked = new Promise<void>((resolve) => (block = resolve))
  const proxy = createServer((socket) => {
    const upstream = connect(Number(port), hostname)
    for (const each of [socket, upstream]) each.on('error', () => {})
    upstream.pipe(socket)
    socket.on('close', () => upstream.destroy())
    socket.on('data', (chunk) => {
      passed += chunk.length
      if (passed <= limit) upstream.write(chunk)
      else block()
    })
  })
  return { url: `http://127.0.0.1:${await listen(t, proxy as never)}`, blocked }
}

/** Runs the command in a process of its own and kills it while it copies. */
async function moveAndKill(t: Test, { databaseUrl, places }: Installation, settings: Settings) {
  const { url, blocked } = await blockAfter(t, places.S3_ENDPOINT, 1_000_000)
  const script = join(import.meta.dirname, '../../scripts/admin/main.ts')
  const child = spawn(process.execPath, [script, 'move-files', '--to', 's3'], {
    env: {
      ...inheritedEnvironment(),
      SECRET_KEY: testSecretKey,
      DATABASE_URL: databaseUrl,
      ...places,
      ...settings,
      S3_ENDPOINT: url,
    },
    cwd: tmpdir(),
    stdio: 'ignore',
  })
  await Promise.race([blocked, once(child, 'exit')])
  t.equal(child.exitCode, null, 'the command still runs')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** The contents of files that clients know, by id. */
type Contents = Map<string, Buffer>

async function assertContents(t: Test, servers: Served[], contents: Contents): Promise<void> {
  const wrong: string[] = []
  for (const { url, key } of servers)
    for (const [id, content] of contents) {
      const { status, bytes } = await download(url, `/storage/files/${id}/download`, { key })
      if (status !== 200 || !bytes.equals(content)) wrong.push(`${id} ${status}`)
    }
  t.same(wrong, [], `${contents.size} files have their content`)
}

/** Uploads a file. A store that is too slow on a busy machine is a 503: the client tries again. */
async function uploadWithRetry(client: Client, bytes: Buffer): Promise<{ id: string }> {
  for (;;) {
    const { status, text, body } = await upload(client, { bytes })
    if (status === 201) return body
    if (status !== 503) throw new Error(`the upload failed: ${status} ${text}`)
  }
}

/** Uploads, reads, replaces and deletes files by several servers until it is stopped. */
function startTraffic(t: Test, servers: Served[], contents: Contents): { stop(): Promise<number> } {
  let [isRunning, requests] = [true, 0]
  const owned = [...contents.keys()].slice(0, 6)
  const work = async (server: Served, n: number): Promise<void> => {
    const { client } = server
    while (isRunning) {
      const content = randomBytes(20_000)
      const { id } = await uploadWithRetry(client, content)
      contents.set(id, content)
      const range = await download(server.url, `/storage/files/${id}/download`, {
        key: server.key,
        headers: { range: 'bytes=100-199' },
      })
      t.ok(range.bytes.equals(content.subarray(100, 200)), 'a range')
      const old = owned[n % owned.length]
      n += servers.length
      if (n % 2 === 0) {
        t.equal((await client.delete(`/storage/files/${id}?permanent=true`)).status, 204)
        contents.delete(id)
      } else if (old !== undefined) {
        const read = await download(server.url, `/storage/files/${old}/download`, { key: server.key })
        t.ok(read.bytes.equals(contents.get(old)!), 'an old file')
      }
      requests += 3
    }
  }
  const workers = servers.map(work)
  return {
    async stop() {
      isRunning = false
      await Promise.all(workers)
      return requests
    },
  }
}

/** Every row has its blob in this store with its SHA-256, and every blob a row or a place in quarantine. */
async function assertComplete(t: Test, { services }: Served, store: BlobStore): Promise<void> {
  const { differences, uploading } = await verifyStore(services.database, store, { hash: true })
  t.same(
    { ...differences, uploading },
    { missing: 0, unknown: 0, wrong_size: 0, wrong_hash: 0, uploading: 0 },
  )
}

t.test('files move to S3 and back while servers serve them', { skip: noS3, timeout: 120_000 }, async (t) => {
  const place = await install(t)
  const before = await serve(t, place, onDisk)
  const { client } = before
  const contents: Contents = new Map()
  for (let i = 0; i < 30; i++) {
    const content = randomBytes(100_000)
    contents.set((await uploadFile(client, { bytes: content })).id, content)
  }
  const versioned = (await uploadFile(client, { bytes: 'first' })).id
  const { body, headers } = uploadForm({ bytes: 'second' })
  const replaced = await client.call('PUT', `/storage/files/${versioned}/content`, { raw: body, headers })
  t.equal(replaced.status, 200)
  contents.set(versioned, Buffer.from('second'))
  const trashed = (await uploadFile(client, { bytes: 'trashed' })).id
  t.equal((await client.delete(`/storage/files/${trashed}`)).status, 204)
  const deleted = (await uploadFile(client, { bytes: 'deleted' })).id
  t.equal((await client.delete(`/storage/files/${deleted}?permanent=true`)).status, 204)

  t.match(await move(place, inS3, '--to', 's3'), {
    code: 1,
    err: /Restart all servers with STORAGE=s3 and STORAGE_SECOND=disk first/,
  })
  t.match(await move(place, leavingDisk), { code: 1, err: /Say `--to s3` or `--to disk`/ })

  // Servers are restarted one after the other.
  const entering = await serve(t, place, enteringS3)
  const leaving = await serve(t, place, leavingDisk)
  await before.close()
  const servers = [entering, leaving]
  const traffic = startTraffic(t, servers, contents)
  await moveAndKill(t, place, leavingDisk)
  const some = (await keysOf(place.bucket)).length
  t.ok(some > 0 && some < contents.size, `${some} blobs had moved when the command was killed`)
  await sweepStore(leaving.services)
  t.match(await move(place, leavingDisk, '--to', 's3'), { code: 0, out: /\n0 blobs were deleted/ })
  t.ok((await traffic.stop()) > 10)
  await assertContents(t, servers, contents)
  await entering.close()

  t.match(await move(place, leavingDisk, '--to', 's3', '--delete-source'), { code: 0 })
  t.same(await keysOf(place.disk), [], 'the source is empty')
  const restored = await leaving.client.post(`/storage/trash/${trashed}/restore`, {})
  t.equal(restored.status, 200, 'a file in the trash moved, too')
  contents.set(trashed, Buffer.from('trashed'))
  await leaving.close()
  const after = await serve(t, place, inS3)
  await assertComplete(t, after, place.bucket)
  await assertContents(t, [after], contents)
  const { data } = (await after.client.get(`/storage/files/${versioned}/versions`)).body
  const version = `/storage/files/${versioned}/versions/${data[0].id}/content`
  t.equal(String((await download(after.url, version, { key: after.key })).bytes), 'first')
  t.ok((await keysOf(place.bucket)).includes(deleted), 'a blob in quarantine moved, too')
  await after.close()

  const leavingS3 = { STORAGE: 'disk', STORAGE_SECOND: 's3' }
  const back = await serve(t, place, leavingS3)
  const more = startTraffic(t, [back], contents)
  t.match(await move(place, leavingS3, '--to', 'disk', '--delete-source'), { code: 0 })
  await more.stop()
  await assertContents(t, [back], contents)
  t.same(await keysOf(place.bucket), [], 'the bucket is empty')
  await assertComplete(t, back, place.disk)
})

t.test('a damaged and a missing blob are named, and nothing is deleted', { skip: noS3 }, async (t) => {
  const place = await install(t)
  const server = await serve(t, place, onDisk)
  const ids: string[] = []
  for (const bytes of ['good', 'damaged', 'missing'])
    ids.push((await uploadFile(server.client, { bytes })).id)
  const pathOf = (key: string): string => join(place.places.STORAGE_DIR, 'blobs', key.slice(-2), key)
  writeFileSync(pathOf(ids[1]), 'dAmaged')
  rmSync(pathOf(ids[2]))
  const { code, out } = await move(place, leavingDisk, '--to', 's3', '--delete-source')
  t.equal(code, 1)
  t.match(out, `wrong_hash  ${ids[1]}`)
  t.match(out, `missing     ${ids[2]}`)
  t.match(out, /2 blobs are damaged or missing in both stores, so nothing was deleted/)
  t.same(await keysOf(place.disk), [ids[0], ids[1]].sort())
  t.same(await keysOf(place.bucket), [ids[0]])
})

t.test('an upload that has begun in S3 ends there, and its blob follows', { skip: noS3 }, async (t) => {
  const place = await install(t)
  const server = await serve(t, place, inS3)
  const { client } = server
  const content = randomBytes(3_000)
  const tus = (offset: number): Record<string, string> => ({
    'tus-resumable': '1.0.0',
    'upload-offset': String(offset),
    'content-type': 'application/offset+octet-stream',
  })
  const created = await client.call('POST', '/storage/uploads', {
    headers: {
      'tus-resumable': '1.0.0',
      'upload-length': String(content.length),
      'upload-metadata': `filename ${btoa('a.bin')}`,
    },
  })
  t.equal(created.status, 201, created.text)
  const path = new URL(created.headers.get('location')!, server.url).pathname.replace(/^\/v1/, '')
  const first = await client.call('PATCH', path, { raw: content.subarray(0, 1_000), headers: tus(0) })
  t.equal(first.status, 204, first.text)
  await server.close()

  const leavingS3 = { STORAGE: 'disk', STORAGE_SECOND: 's3' }
  const back = await serve(t, place, leavingS3)
  t.match(await move(place, leavingS3, '--to', 'disk', '--delete-source'), {
    code: 1,
    out: /1 unfinished uploads have bytes in s3:/,
  })
  const rest = await back.client.call('PATCH', path, {
    raw: content.subarray(1_000),
    headers: tus(1_000),
  })
  t.equal(rest.status, 204, rest.text)
  const [file] = (await back.client.get('/storage/files')).body.data
  const contents = new Map([[file.id as string, content]])
  await assertContents(t, [back], contents)
  t.same(await keysOf(place.disk), [])
  t.match(await move(place, leavingS3, '--to', 'disk', '--delete-source'), { code: 0 })
  t.same(await keysOf(place.bucket), [])
  await assertContents(t, [back], contents)
})

t.test('an empty store beside one without a marker is refused', { skip: noS3 }, async (t) => {
  const place = await install(t)
  const server = await serve(t, place, onDisk)
  await uploadFile(server.client)
  rmSync(join(place.places.STORAGE_DIR, '.platform-store.json'))
  t.match(await move(place, leavingDisk, '--to', 's3'), { code: 1, err: /is empty, but the database/ })
})
