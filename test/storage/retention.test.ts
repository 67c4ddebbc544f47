// Data retention of storage: expired files, blobs of deleted files and leftovers of crashes are deleted when
// their time is over, and nothing else.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { coreRetentionTasks } from '../../services/deletion/retention-tasks.ts'
import { newId } from '../../infra/ids.ts'
import type { RetentionTask } from '../../infra/jobs/retention.ts'
import { fileExpiryTasks, storageRetentionTasks } from '../../services/storage/retention.ts'
import type { SweepLog } from '../../services/storage/sweep.ts'
import { startServer } from '../support/server/server.ts'
import { ageQuarantine, silentLog, storedKeys, sweepStore } from '../support/storage/storage.ts'
import { sendFile } from '../support/http/transfer.ts'

const server = await startServer(t)
const { services } = server
const { database, storage, config } = services
const { prisma } = database
const { storageDir } = config

async function upload(fields: Record<string, string> = {}, key = server.key): Promise<string> {
  const { status, body } = await sendFile({ url: server.url, key }, 1_000, { fields })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

const anHourAgo = new Date(Date.now() - 3_600_000)

/** The tasks that a server runs hourly, with the store's sweep. */
function hourlyTasks(log = silentLog): RetentionTask[] {
  return storageRetentionTasks(services, { config, log })
}

t.test(
  'the usage of a deleted file ends at once, and its blob stays for the days of the quarantine',
  async (t) => {
    const [kept, deleted] = [await upload(), await upload()]
    await server.admin.client.delete(`/storage/files/${deleted}?permanent=true`)
    t.match((await server.admin.client.get('/storage/usage')).body, { files: 1, bytes: 1_000 })
    await runRetention(database, { tasks: fileExpiryTasks(services) })
    t.equal(await sweepStore(services), 0)
    await ageQuarantine(services, config.storageQuarantineDays - 1)
    t.equal(await sweepStore(services), 0)
    t.same(await storedKeys(services), [kept, deleted].sort(), 'the blobs still exist')
    await ageQuarantine(services, 1)
    t.equal(await sweepStore(services), 1)
    t.same(await storedKeys(services), [kept])
    t.equal(await prisma.quarantinedBlob.count(), 0)
  },
)

t.test(
  'a blob that cannot be removed does not stop the others and is removed by a later sweep',
  async (t) => {
    const [stuck, other] = [await upload(), await upload()]
    for (const id of [stuck, other]) await server.admin.client.delete(`/storage/files/${id}?permanent=true`)
    await ageQuarantine(services, config.storageQuarantineDays)
    const blobs = await storage.blobStore()
    const realDelete = blobs.delete
    t.teardown(() => {
      blobs.delete = realDelete
    })
    blobs.delete = async (keys) => {
      const { deleted } = await realDelete(keys.filter((key) => key !== stuck))
      return { deleted, error: keys.includes(stuck) ? new Error('stuck') : null }
    }
    await t.rejects(sweepStore(services), /could not delete every blob/)
    t.notOk((await storedKeys(services)).includes(other))
    t.match(await prisma.quarantinedBlob.findMany(), [{ key: stuck }])
    blobs.delete = realDelete
    t.equal(await sweepStore(services), 1)
  },
)

t.test('any number of servers sweep once a day together, and never with STORAGE_SWEEP=false', async (t) => {
  const lines: object[] = []
  const log: SweepLog = { ...silentLog, info: (details) => lines.push(details) }
  const off = storageRetentionTasks(services, { config: { ...config, storageSweep: false }, log })
  await prisma.databaseIdentity.updateMany({ data: { sweptAt: null } })
  await runRetention(database, { tasks: off })
  t.same(lines, [], 'no sweep when it is off')
  await runRetention(database, { tasks: hourlyTasks(log) })
  await runRetention(database, { tasks: hourlyTasks(log) })
  t.match(lines, [{ storage_sweep: { blobs: 1, bytes: 1_000, quarantined: 0, removed: 0 } }], 'one line each')
  const yesterday = new Date(Date.now() - 24 * 3_600_000)
  await prisma.databaseIdentity.updateMany({ data: { sweptAt: yesterday } })
  await runRetention(database, { tasks: hourlyTasks(log) })
  t.equal(lines.length, 2)
})

t.test(
  'an expired file is gone at once, and the next run emits its event and quarantines its blob',
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
    })
    const { data } = (await server.admin.client.get('/events?type=file.deleted&limit=100')).body
    t.equal(data.filter((event: any) => event.data.object.id === id).length, 1)
    t.match(await prisma.quarantinedBlob.findMany(), [{ key: id, reason: 'deleted' }])
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
  })
  await ageQuarantine(services, config.storageQuarantineDays)
  await sweepStore(services)
  for (const id of files) t.notOk((await storedKeys(services)).includes(id))
  t.equal(await prisma.storageUsage.findUnique({ where: { workspaceId: project } }), null)
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
      tasks: [...hourlyTasks(), ...fileExpiryTasks(services)],
    }),
    { 'files of deleted users': 1 },
  )
  await ageQuarantine(services, config.storageQuarantineDays)
  await sweepStore(services)
  t.notOk((await storedKeys(services)).includes(own))
  t.equal((await server.admin.client.get(`/storage/files/${shared}`)).status, 200, 'files in projects stay')
})

t.test('the sweep quarantines old blobs without a row, removes them later, and nothing else', async (t) => {
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
  const before = new Date(Date.now() - 1_800_000)
  t.equal(await sweepStore(services, { before }), 1, 'the old temporary file')
  t.match(await prisma.quarantinedBlob.findMany(), [{ key: old, reason: 'unknown', bytes: 10n }])
  await ageQuarantine(services, config.storageQuarantineDays)
  t.equal(await sweepStore(services, { before }), 1)
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
    while (!isDone) await sweepStore(services, { before: new Date(Date.now() - 60_000) })
  })()
  const ids = await Promise.all(Array.from({ length: 40 }, () => upload()))
  isDone = true
  await sweeping
  const stored = new Set(await storedKeys(services))
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
