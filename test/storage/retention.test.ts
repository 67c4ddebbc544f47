// What time removes: files whose time is over, the bytes of what was deleted, and what crashes left; and nothing else.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { runRetention } from '../support/retention.ts'
import { coreRetentionTasks, fileExpiryTasks } from '../../services/retention-tasks.ts'
import { newId } from '../../infra/ids.ts'
import { createSweep, storageRetentionTasks } from '../../services/storage/retention.ts'
import { startServer } from '../support/server.ts'
import { sendFile } from '../support/transfer.ts'

const server = await startServer(t)
const { services } = server
const { database, storage, config } = services
const { prisma } = database
const folder = config.storageDir

async function keys(): Promise<string[]> {
  const found: string[] = []
  for await (const page of (await storage.blobs()).list()) for (const { key } of page) found.push(key)
  return found.sort()
}

async function upload(fields: Record<string, string> = {}, key = server.key): Promise<string> {
  const { status, body } = await sendFile({ url: server.url, key }, 1_000, { fields })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

async function sweep(before: Date): Promise<number> {
  const { step } = createSweep(storage)
  for (let removed = 0; ;) {
    const done = await step(database, before)
    removed += done.removed
    if (!done.more) return removed
  }
}

const anHourAgo = new Date(Date.now() - 3_600_000)

t.test('the bytes of a deleted file go with the next round, and its usage at once', async (t) => {
  const [kept, deleted] = [await upload(), await upload()]
  await server.admin.client.delete(`/storage/files/${deleted}`)
  t.match((await server.admin.client.get('/storage/usage')).body, { files: 1, bytes: 1_000 })
  t.same(await keys(), [kept, deleted].sort(), 'until then they are there')
  t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), { blobs: 1 })
  t.same(await keys(), [kept])
  t.equal(await prisma.doomedBlob.count(), 0)
})

t.test('a removal that fails midway is done again', async (t) => {
  const deleted = await upload()
  await server.admin.client.delete(`/storage/files/${deleted}`)
  const broken = {
    ...storage,
    blobs: async () => ({
      ...(await storage.blobs()),
      remove: async () => {
        throw new Error('no store')
      },
    }),
  }
  await t.rejects(runRetention(database, { tasks: fileExpiryTasks({ ...services, storage: broken }) }))
  t.equal(await prisma.doomedBlob.count(), 1)
  t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), { blobs: 1 })
})

t.test('a blob that cannot be removed keeps no other from it, and comes again later', async (t) => {
  const [stuck, other] = [await upload(), await upload()]
  const place = join(folder, 'blobs', stuck.slice(-2), stuck)
  rmSync(place)
  mkdirSync(place)
  for (const id of [stuck, other]) await server.admin.client.delete(`/storage/files/${id}`)
  const errors: Error[] = []
  await runRetention(database, { tasks: fileExpiryTasks(services), onError: (error) => errors.push(error) })
  t.match(
    errors.map(({ cause }) => (cause as Error).message),
    ['1 of 2 blobs cannot be removed'],
  )
  t.notOk((await keys()).includes(other))
  t.match(await prisma.doomedBlob.findMany(), [{ key: stuck }])
  t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), { blobs: 0 }, 'not at once')
  rmSync(place, { recursive: true })
  await prisma.doomedBlob.updateMany({ data: { doomedAt: new Date() } })
  t.match(await runRetention(database, { tasks: fileExpiryTasks(services) }), { blobs: 1 })
})

t.test('an orphan that cannot be removed keeps the sweep from nothing else', async (t) => {
  const [stuck, other] = [newId('file'), newId('file')]
  for (const key of [stuck, other])
    await (
      await storage.blobs()
    ).put(
      key,
      await storage.incoming.receive(
        { declaredType: null, content: Readable.from([Buffer.from('x')]) },
        { maxBytes: 9 },
      ),
    )
  const blobs = await storage.blobs()
  const real = blobs.remove
  t.teardown(() => {
    blobs.remove = real
  })
  blobs.remove = async (orphans) => {
    const { gone } = await real(orphans.filter((key) => key !== stuck))
    return { gone, error: orphans.includes(stuck) ? new Error('not this one') : null }
  }
  await t.rejects(sweep(new Date(Date.now() + 60_000)), /could not remove everything/)
  t.same(
    (await keys()).filter((key) => key === stuck || key === other),
    [stuck],
  )
  blobs.remove = real
  t.equal(await sweep(new Date(Date.now() + 60_000)), 1)
})

t.test('a file whose time is over is gone at once, with its event and its bytes soon after', async (t) => {
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
})

t.test('a project takes its files with it', async (t) => {
  const { id: project } = (await server.admin.client.post('/projects', { name: 'Short' })).body
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

t.test('a deleted user takes the files that are in no project', async (t) => {
  const person = await server.person()
  const { id: project } = (await server.admin.client.post('/projects', { name: 'Shared' })).body
  await server.admin.client.post(`/projects/${project}/members`, { user_id: person.id, role: 'editor' })
  const [own, shared] = [
    await upload({ visibility: 'public' }, person.key),
    await upload({ project_id: project }, person.key),
  ]
  t.equal((await fetch(`${server.url}/v1/storage/files/${own}/download`)).status, 200)
  t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
  t.not(
    (await fetch(`${server.url}/v1/storage/files/${own}/download`)).status,
    200,
    'not even what was public is given any more',
  )
  t.match(
    await runRetention(database, {
      tasks: [...storageRetentionTasks(services, config), ...fileExpiryTasks(services)],
    }),
    { 'files of deleted users': 1, blobs: 1 },
  )
  t.notOk((await keys()).includes(own))
  t.equal((await server.admin.client.get(`/storage/files/${shared}`)).status, 200, 'and no others')
})

t.test('the sweep removes what no row names and is old, and nothing else', async (t) => {
  const kept = await upload()
  const place = (key: string): string => join(folder, 'blobs', key.slice(-2), key)
  const put = (path: string, age: Date): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, randomBytes(10))
    utimesSync(path, age, age)
  }
  const [old, fresh, strange] = [newId('file'), newId('file'), 'not-ours']
  put(place(old), anHourAgo)
  put(place(fresh), new Date())
  put(join(folder, 'blobs', 'rs', strange), anHourAgo)
  utimesSync(place(kept), anHourAgo, anHourAgo)
  const [halfOld, halfFresh] = [join(folder, 'incoming', 'half-old'), join(folder, 'incoming', 'half-fresh')]
  put(halfOld, anHourAgo)
  put(halfFresh, new Date())
  t.equal(await sweep(new Date(Date.now() - 1_800_000)), 2)
  t.same(
    [old, fresh, kept].map((key) => existsSync(place(key))),
    [false, true, true],
  )
  t.same(
    [existsSync(halfOld), existsSync(halfFresh), existsSync(join(folder, 'blobs', 'rs', strange))],
    [false, true, true],
  )
})

t.test('while it sweeps, uploads go on and nothing of them is lost', async (t) => {
  let done = false
  const sweeping = (async () => {
    while (!done) await sweep(new Date(Date.now() - 60_000))
  })()
  const ids = await Promise.all(Array.from({ length: 40 }, () => upload()))
  done = true
  await sweeping
  const there = new Set(await keys())
  t.same(
    ids.filter((id) => !there.has(id)),
    [],
  )
})

t.test('what was counted is written at a stop', async (t) => {
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
