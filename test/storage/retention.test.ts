// Data retention of storage: expired files, blobs of deleted files and leftovers of crashes are deleted, and
// nothing else.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { createMember } from '../support/db-fixtures.ts'
import { runRetention } from '../support/retention.ts'
import { coreRetentionTasks, fileExpiryTasks } from '../../services/retention-tasks.ts'
import { newId } from '../../infra/ids.ts'
import { createOrphanSweep, storageRetentionTasks } from '../../services/storage/retention.ts'
import { startServer } from '../support/server.ts'
import { sendFile } from '../support/transfer.ts'

const server = await startServer(t)
const { services } = server
const { database, storage, config } = services
const { prisma } = database
const { storageDir } = config

async function keys(): Promise<string[]> {
  const found: string[] = []
  for await (const page of (await storage.blobStore()).list()) for (const { key } of page) found.push(key)
  return found.sort()
}

async function upload(fields: Record<string, string> = {}, key = server.key): Promise<string> {
  const { status, body } = await sendFile({ url: server.url, key }, 1_000, { fields })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

async function sweep(before: Date): Promise<number> {
  const { step } = createOrphanSweep(storage)
  for (let removed = 0; ;) {
    const result = await step(database, before)
    removed += result.removed
    if (!result.more) return removed
  }
}

const anHourAgo = new Date(Date.now() - 3_600_000)

t.test('the usage of a deleted file ends at once, and the next run deletes its blob', async (t) => {
  const [kept, deleted] = [await upload(), await upload()]
  await server.admin.client.delete(`/storage/files/${deleted}`)
  t.match((await server.admin.client.get('/storage/usage')).body, { files: 1, bytes: 1_000 })
  t.same(await keys(), [kept, deleted].sort(), 'the blobs still exist')
  t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), { blobs: 1 })
  t.same(await keys(), [kept])
  t.equal(await prisma.deletedBlob.count(), 0)
})

t.test('a deletion that fails midway is repeated', async (t) => {
  const deleted = await upload()
  await server.admin.client.delete(`/storage/files/${deleted}`)
  const broken = {
    ...storage,
    blobStore: async () => ({
      ...(await storage.blobStore()),
      delete: async () => {
        throw new Error('no store')
      },
    }),
  }
  await t.rejects(runRetention(database, { tasks: fileExpiryTasks({ ...services, storage: broken }) }))
  t.equal(await prisma.deletedBlob.count(), 1)
  t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), { blobs: 1 })
})

t.test('a blob that cannot be deleted does not stop the others and is retried later', async (t) => {
  const [stuck, other] = [await upload(), await upload()]
  const path = join(storageDir, 'blobs', stuck.slice(-2), stuck)
  rmSync(path)
  mkdirSync(path)
  for (const id of [stuck, other]) await server.admin.client.delete(`/storage/files/${id}`)
  const errors: Error[] = []
  await runRetention(database, { tasks: fileExpiryTasks(services), onError: (error) => errors.push(error) })
  t.match(
    errors.map(({ cause }) => (cause as Error).message),
    ['1 of 2 blobs could not be deleted'],
  )
  t.notOk((await keys()).includes(other))
  t.match(await prisma.deletedBlob.findMany(), [{ key: stuck }])
  t.match(
    await runRetention(database, { tasks: fileExpiryTasks(services) }),
    { blobs: 0 },
    'it is not retried at once',
  )
  rmSync(path, { recursive: true })
  await prisma.deletedBlob.updateMany({ data: { deleteAfter: new Date() } })
  t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), { blobs: 1 })
})

t.test('an orphan that cannot be deleted does not stop the sweep', async (t) => {
  const [stuck, other] = [newId('file'), newId('file')]
  for (const key of [stuck, other])
    await (
      await storage.blobStore()
    ).put(
      key,
      await storage.tempFiles.receive(
        { declaredType: null, content: Readable.from([Buffer.from('x')]) },
        { maxBytes: 9 },
      ),
    )
  const blobs = await storage.blobStore()
  const realDelete = blobs.delete
  t.teardown(() => {
    blobs.delete = realDelete
  })
  blobs.delete = async (orphans) => {
    const { deleted } = await realDelete(orphans.filter((key) => key !== stuck))
    return { deleted, error: orphans.includes(stuck) ? new Error('stuck') : null }
  }
  await t.rejects(sweep(new Date(Date.now() + 60_000)), /could not delete every orphaned blob/)
  t.same(
    (await keys()).filter((key) => key === stuck || key === other),
    [stuck],
  )
  blobs.delete = realDelete
  t.equal(await sweep(new Date(Date.now() + 60_000)), 1)
})

t.test(
  'an expired file is gone at once, and the next run emits its event and deletes its blob',
  async (t) => {
    const id = await upload({ expires_at: new Date(Date.now() + 3_600_000).toISOString() })
    t.equal((await server.admin.client.get(`/storage/files/${id}`)).status, 200)
    await prisma.file.update({ where: { id }, data: { expiresAt: new Date(Date.now() - 1) } })
    t.equal((await server.admin.client.get(`/storage/files/${id}`)).status, 404)
    t.equal(
      (await server.admin.client.get('/storage/files')).body.data.filter(
        (file: { id: string }) => file.id === id,
      ).length,
      0,
    )
    t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), {
      'expired files': 1,
      blobs: 1,
    })
    const { data } = (await server.admin.client.get('/events?type=file.deleted&limit=100')).body
    t.equal(data.filter((event: any) => event.data.object.id === id).length, 1)
    t.notOk((await keys()).includes(id))
  },
)

t.test('the files of a purged project are deleted', async (t) => {
  const { id: project } = (await server.admin.client.post('/projects', { name: 'Deleted' })).body
  const files = [await upload({ project_id: project }), await upload({ project_id: project })]
  await prisma.project.update({
    where: { id: project },
    data: { status: 'deleted', deletedAt: new Date(Date.now() - 31 * 86_400_000) },
  })
  t.match(await runRetention(database, { tasks: [...coreRetentionTasks(), ...fileExpiryTasks(services)] }), {
    projects: 1,
    blobs: 2,
  })
  for (const id of files) t.notOk((await keys()).includes(id))
  t.equal(await prisma.storageUsage.findUnique({ where: { spaceId: project } }), null)
})

t.test('the files of a deleted user outside of projects are deleted', async (t) => {
  const person = await server.person()
  const { id: project } = (await server.admin.client.post('/projects', { name: 'Shared' })).body
  await createMember(server, project, person.id, 'editor')
  const [own, shared] = [
    await upload({ visibility: 'public' }, person.key),
    await upload({ project_id: project }, person.key),
  ]
  t.equal((await fetch(`${server.url}/v1/storage/files/${own}/download`)).status, 200)
  t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
  t.not(
    (await fetch(`${server.url}/v1/storage/files/${own}/download`)).status,
    200,
    'not even a public file can be downloaded',
  )
  t.match(
    await runRetention(database, {
      tasks: [...storageRetentionTasks(services, config), ...fileExpiryTasks(services)],
    }),
    { 'files of deleted users': 1, blobs: 1 },
  )
  t.notOk((await keys()).includes(own))
  t.equal((await server.admin.client.get(`/storage/files/${shared}`)).status, 200, 'files in projects stay')
})

t.test('the sweep deletes old blobs without a row, and nothing else', async (t) => {
  const kept = await upload()
  const pathOf = (key: string): string => join(storageDir, 'blobs', key.slice(-2), key)
  const put = (path: string, age: Date): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, randomBytes(10))
    utimesSync(path, age, age)
  }
  const [old, fresh, foreign] = [newId('file'), newId('file'), 'foreign']
  put(pathOf(old), anHourAgo)
  put(pathOf(fresh), new Date())
  put(join(storageDir, 'blobs', 'rs', foreign), anHourAgo)
  utimesSync(pathOf(kept), anHourAgo, anHourAgo)
  const [oldTemp, freshTemp] = [join(storageDir, 'incoming', 'old'), join(storageDir, 'incoming', 'fresh')]
  put(oldTemp, anHourAgo)
  put(freshTemp, new Date())
  t.equal(await sweep(new Date(Date.now() - 1_800_000)), 2)
  t.same(
    [old, fresh, kept].map((key) => existsSync(pathOf(key))),
    [false, true, true],
  )
  t.same(
    [existsSync(oldTemp), existsSync(freshTemp), existsSync(join(storageDir, 'blobs', 'rs', foreign))],
    [false, true, true],
  )
})

t.test('uploads during a sweep lose no blob', async (t) => {
  let isDone = false
  const sweeping = (async () => {
    while (!isDone) await sweep(new Date(Date.now() - 60_000))
  })()
  const ids = await Promise.all(Array.from({ length: 40 }, () => upload()))
  isDone = true
  await sweeping
  const stored = new Set(await keys())
  t.same(
    ids.filter((id) => !stored.has(id)),
    [],
  )
})

t.test('download counts are written at shutdown', async (t) => {
  const id = await upload()
  for (let i = 0; i < 3; i++)
    await (
      await fetch(`${server.url}/v1/storage/files/${id}/download`, {
        headers: { authorization: `Bearer ${server.key}` },
      })
    ).arrayBuffer()
  await storage.close()
  t.equal(Number((await prisma.file.findUnique({ where: { id } }))!.downloadCount), 3)
})
