// Archives: the ZIP is read by other programs, a download resumes anywhere, and large layouts hold.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { layOut } from '../../services/storage/archives.ts'
import { storageRetentionTasks } from '../../services/storage/retention.ts'
import { centralHeader, endOfArchive, localHeader, localHeaderBytes } from '../../services/storage/zip.ts'
import { runRetention } from '../support/database/retention.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { download, uploadFile } from '../support/storage/storage.ts'

const run = promisify(execFile)
const server = await startServer(t)
const owner = await server.person()
const { prisma } = server.services.database

const create = async (body: Record<string, unknown>): Promise<any> =>
  (await owner.client.post('/storage/archives', body)).body

const contentOf = async ({ id }: { id: string }, headers: Record<string, string> = {}) =>
  await download(server.url, `/storage/archives/${id}/content`, { key: owner.key, headers })

/** Tests the ZIP, and lists its names and sizes, with the zipfile of Python. */
const listWithPython = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    bad = z.testzip() if len(sys.argv) < 3 else None
    print(json.dumps([bad, [[i.filename, i.file_size, i.header_offset] for i in z.infolist()]]))
`

t.test('a folder becomes a ZIP that other programs read', async (t) => {
  const small = randomBytes(10)
  const large = randomBytes(3_000_000)
  await uploadFile(owner.client, { bytes: small, name: 'größe.bin', fields: { path: 'a/b' } })
  await uploadFile(owner.client, { bytes: large, name: 'x.bin', fields: { path: 'a' } })
  await uploadFile(owner.client, { bytes: '', name: 'X.bin', fields: { path: 'a' } })
  await uploadFile(owner.client, { bytes: 'other', name: 'y.txt', fields: { path: 'ab' } })
  const archive = await create({ path: 'a', name: 'ä.zip' })
  t.match(archive, { project_id: null, name: 'ä.zip', files: 3, created_by: owner.id })
  t.same((await owner.client.get(`/storage/archives/${archive.id}`)).body, archive)
  const whole = await contentOf(archive)
  t.equal(whole.status, 200)
  t.equal(whole.bytes.length, archive.bytes)
  t.equal(whole.headers.get('content-length'), String(archive.bytes))
  const path = join(t.testdir({}), 'a.zip')
  await writeFile(path, whole.bytes)
  const { stdout } = await run('python3', ['-c', listWithPython, path])
  const [bad, names] = JSON.parse(stdout)
  t.equal(bad, null, 'the checksums are right')
  t.same(
    names.map(([name, size]: [string, number]) => [name, size]),
    [
      ['X.bin', 0],
      ['x (2).bin', 3_000_000],
      ['b/größe.bin', 10],
    ],
  )
  await run('unzip', ['-t', path]).catch((error) => {
    if (error.code !== 'ENOENT') throw error
    t.comment('no unzip here')
  })

  // Fresh entries, so that the checksums are not known yet.
  for (const from of [0, 1, 29, 100, 2_000_000, archive.bytes - 300, archive.bytes - 1]) {
    await prisma.archiveEntry.updateMany({ where: { archiveId: archive.id }, data: { crc32: null } })
    const range = from === 100 ? 'bytes=100-2999999' : `bytes=${from}-`
    const headers = { range, 'if-range': whole.headers.get('etag')! }
    const part = await contentOf(archive, headers)
    t.equal(part.status, 206, range)
    t.ok(part.bytes.equals(whole.bytes.subarray(from, from === 100 ? 3_000_000 : undefined)), range)
  }
  t.equal((await contentOf(archive, { range: `bytes=${archive.bytes}-` })).status, 416)
  t.ok(
    (await prisma.archiveEntry.findMany({ where: { archiveId: archive.id } })).some((e) => e.crc32 !== null),
    'checksums are kept',
  )
})

t.test('files are chosen by id, and those of others are refused', async (t) => {
  const stranger = await server.person()
  const { id } = await uploadFile(owner.client, { bytes: 'mine', name: 'mine.txt' })
  const theirs = await uploadFile(stranger.client, { bytes: 'theirs' })
  t.equal((await create({ file_ids: [id] })).files, 1)
  const refused = await owner.client.post('/storage/archives', { file_ids: [id, theirs.id] })
  t.equal(refused.status, 403)
  t.match((await owner.client.post('/storage/archives', { path: 'nowhere' })).body.error.details, {
    constraint: 'empty',
  })
  const archive = await create({ file_ids: [id] })
  t.ok([403, 404].includes((await stranger.client.get(`/storage/archives/${archive.id}`)).status))
  t.ok(
    [403, 404].includes(
      (await download(server.url, `/storage/archives/${archive.id}/content`, { key: stranger.key })).status,
    ),
  )
})

t.test('a folder is chosen by its id or its path, and excludes chosen files', async (t) => {
  const project = (await owner.client.post('/projects', { name: 'Archives' })).body.id
  const fields = { path: 'by id/inner', project_id: project }
  const file = await uploadFile(owner.client, { bytes: 'in a project', fields })
  const { parent_id: folder } = (await owner.client.get(`/storage/folders/${file.folder_id}`)).body
  t.match(await create({ folder_id: folder }), { project_id: project, files: 1 })
  for (const body of [
    { folder_id: folder, path: 'by id' },
    { folder_id: folder, file_ids: [file.id] },
    { path: 'by id', file_ids: [file.id] },
  ])
    t.match(await create(body), { error: { details: { constraint: 'exclusive' } } }, JSON.stringify(body))
  const stranger = await server.person()
  t.equal((await stranger.client.post('/storage/archives', { folder_id: folder })).status, 404)
  t.equal(
    (await owner.client.post('/storage/archives', { folder_id: folder, project_id: project })).status,
    201,
  )
})

t.test('a deleted file breaks the download off, and old archives are removed', async (t) => {
  const { id } = await uploadFile(owner.client, { bytes: randomBytes(500_000), name: 'gone.bin' })
  const archive = await create({ file_ids: [id] })
  await owner.client.delete(`/storage/files/${id}`)
  t.equal((await contentOf(archive)).status, 404, 'before the first byte')
  const [kept, gone] = [
    await uploadFile(owner.client, { bytes: randomBytes(3_000_000), name: '1.bin', fields: { path: 'c' } }),
    await uploadFile(owner.client, { bytes: randomBytes(10), name: '2.bin', fields: { path: 'c' } }),
  ]
  const broken = await create({ file_ids: [kept.id, gone.id] })
  await owner.client.delete(`/storage/files/${gone.id}`)
  await t.rejects(contentOf(broken), 'later the connection is closed')
  for (let i = 0; i < 5; i++) await create({ path: 'a' })
  t.equal((await owner.client.get(`/storage/archives/${archive.id}`)).status, 404, 'the latest five are kept')
  t.equal(await prisma.archive.count({ where: { ownerId: owner.id } }), 5)
  const before = new Date(Date.now() - 1000)
  await prisma.archive.updateMany({ where: { ownerId: owner.id }, data: { expiresAt: before } })
  const tasks = storageRetentionTasks(server.services, {
    config: { ...server.services.config, storageSweep: false },
    log: { info() {}, warn() {}, error() {} },
  })
  await runRetention(server.services.database, { tasks })
  t.equal(await prisma.archive.count({ where: { ownerId: owner.id } }), 0)
  t.equal(await prisma.archiveEntry.count({ where: { archiveId: archive.id } }), 0)
})

t.test(
  'a checksum is computed once for all requests, two at a time, and as long as a client waits',
  async (t) => {
    const content = randomBytes(100)
    const archives: any[] = []
    for (const name of ['1', '2', '3'])
      archives.push(
        await create({ file_ids: [(await uploadFile(owner.client, { bytes: content, name })).id] }),
      )
    const store = await server.services.storage.blobStore()
    const { read } = store
    const reads: Array<{ start: number; stream: PassThrough }> = []
    store.read = async (_key, range) => {
      const stream = new PassThrough()
      reads.push({ start: range?.start ?? 0, stream })
      return stream
    }
    t.teardown(() => void (store.read = read))

    const leaving = new AbortController()
    const left = fetch(`${server.url}/v1/storage/archives/${archives[0].id}/content`, {
      headers: { authorization: `Bearer ${owner.key}` },
      signal: leaving.signal,
    })
    await waitUntil(() => reads.length === 1)
    const [{ stream }] = reads
    stream.write(content.subarray(0, 60))
    await waitUntil(() => stream.readableLength === 0)
    leaving.abort()
    await t.rejects(left)
    await waitUntil(() => stream.destroyed, 'the end of the computation')

    const replies = [archives[0], archives[0], archives[1], archives[2]].map((archive) => contentOf(archive))
    await waitUntil(() => reads.length === 3)
    await setTimeout(200)
    const opened = reads.slice(1)
    t.equal(opened.length, 2, 'the other file waits for its turn')
    store.read = read
    for (const each of opened) each.stream.end(content.subarray(each.start))
    t.ok(
      opened.some(({ start }) => start === 60),
      'the computation goes on where it stopped',
    )
    for (const { status, bytes } of await Promise.all(replies)) {
      t.equal(status, 200)
      t.equal(bytes.readUInt32LE(14), crc32(content))
    }
  },
)

t.test('names that are equal once they are cut share their numbers', (t) => {
  const long = Array.from({ length: 2_000 }, (_, i) => 'x'.repeat(245) + String(i).padStart(10, '0'))
  const started = performance.now()
  const { entries } = layOut(
    [...long, ...long].map((name) => ({ name, path: 'p', bytes: 1 })),
    'p',
  )
  t.ok(performance.now() - started < 5_000, 'within seconds')
  const names = entries.map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  // The number of 100,000 files has six digits.
  t.same(
    names.slice(2_000),
    long.map((_, i) => `${'x'.repeat(245)}0 (${i + 2})`),
  )
  t.same(
    layOut(
      ['a.txt', 'A.txt', 'a (2).txt', 'a.txt'].map((name) => ({ name, path: '', bytes: 1 })),
      '',
    ).entries.map(({ name }) => name),
    ['a.txt', 'A (2).txt', 'a (2) (2).txt', 'a (3).txt'],
  )
  t.end()
})

t.test('more than 65,535 files, and files of more than 4 GiB, need ZIP64', async (t) => {
  const at = new Date('2026-11-28T12:00:00Z')
  const directory = t.testdir({})
  const many = Array.from({ length: 70_000 }, () => ({ name: 'same.txt', path: 'p', bytes: 1 }))
  const huge = [
    { name: 'huge.bin', path: '', bytes: 5 * 1024 ** 3 },
    { name: 'after.bin', path: '', bytes: 3 },
  ]
  for (const [name, files] of Object.entries({ many, huge })) {
    const { entries, directory: start, end } = layOut(files, '')
    const path = join(directory, `${name}.zip`)
    const { open } = await import('node:fs/promises')
    const handle = await open(path, 'w')
    // The contents are holes in the file.
    const central: Buffer[] = []
    const sum = crc32(Buffer.alloc(1))
    for (const { file, name: path, offset, central: place } of entries) {
      const entry = { name: path, bytes: file.bytes, modifiedAt: at, offset }
      const header = localHeader(entry, sum)
      if (offset < 1000 || name === 'huge') t.equal(header.length, localHeaderBytes(entry))
      if (offset < 1000 || name === 'huge') await handle.write(header, 0, header.length, offset)
      if (central.length === 0) t.equal(place, start)
      central.push(centralHeader(entry, sum))
    }
    const tail = Buffer.concat(central)
    const last = endOfArchive(entries.length, start, start + tail.length)
    t.equal(start + tail.length + last.length, end)
    await handle.write(Buffer.concat([tail, last]), 0, tail.length + last.length, start)
    await handle.close()
    const list = await run('python3', ['-c', listWithPython, path, 'without reading'], {
      maxBuffer: 100e6,
    })
    const [, names] = JSON.parse(list.stdout)
    t.same(
      names,
      entries.map(({ file, name: path, offset }) => [path, file.bytes, offset]),
      name,
    )
  }
})
