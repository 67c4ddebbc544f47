// Folders, the trash and jobs by the API: renames and moves, also at once, deletions that are canceled or
// whose worker is lost, and the items of a folder.
import { randomInt } from 'node:crypto'
import t, { type Test } from 'tap'
import { newId } from '../../infra/ids.ts'
import { statement } from '../../infra/database/statements.ts'
import { createTrackedJobWorker } from '../../services/jobs/worker.ts'
import type { JobKinds } from '../../services/jobs/jobs.ts'
import { runRetention } from '../../infra/jobs/retention.ts'
import { fileExpiryTasks } from '../../services/storage/retention.ts'
import { storageJobs } from '../../services/storage/storage-jobs.ts'
import { createFile, createFolder, createProject } from '../support/database/db-fixtures.ts'
import type { Client, Reply } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { upload, uploadFile } from '../support/storage/storage.ts'

const server = await startServer(t)
const { services } = server
const { database } = services

const rowVersions = statement<{ version: string }>(
  'SELECT xmin::text AS version FROM files WHERE workspace_id = $1 ORDER BY id',
)
const addFiles = statement(`
  INSERT INTO files
    (id, owner_id, workspace_id, name, folder_id, content_type, bytes, sha256, blob_key)
  SELECT new_id('file', now()), $2, $2, 'n' || n, $1, 'text/plain', 1,
    repeat('0', 64), $1 || n
  FROM generate_series(1, $3::int) n`)
const addFolders = statement(`
  INSERT INTO folders (id, owner_id, workspace_id, name, path)
  SELECT new_id('fld', now()), $1, $1, 'f' || n, 'f' || n FROM generate_series(1, $2::int) n`)
const expireJobs = statement(`UPDATE jobs SET due_at = now() WHERE queue = 'tracked_jobs'`)
const passPurgeTime = statement(`UPDATE files SET purge_at = now() - interval '1 s' WHERE id = ANY($1)`)

/** Works on the jobs until the test ends. */
function startWorker(t: Test, kinds: JobKinds = storageJobs(services)): void {
  const { trackedJobs, events } = services
  const onError = (error: Error): void => void t.fail(error.message, { cause: error.cause })
  const worker = createTrackedJobWorker({ database, trackedJobs, events, kinds, onError, interval: 50 })
  worker.start()
  t.teardown(() => worker.stop())
}

const jobOf = async ({ client }: Person, id: string): Promise<any> => (await client.get(`/jobs/${id}`)).body
async function ended(person: Person, { body: { id } }: Reply): Promise<any> {
  await waitUntil(async () => (await jobOf(person, id)).finished_at !== null, 'the end of the job', 60_000)
  return await jobOf(person, id)
}

const isConflict = (t: Test, reply: Reply, constraint: string): void =>
  void t.match(reply, { status: 409, body: { error: { details: { constraint } } } }, reply.text)
const newFolder = async (client: Client, name: string, parent?: string): Promise<any> => {
  const reply = await client.post('/storage/folders', {
    name,
    ...(parent !== undefined && { parent_id: parent }),
  })
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}
const itemNames = async (client: Client, query = ''): Promise<string[]> => {
  const reply = await client.get(`/storage/items?limit=100${query}`)
  return reply.body.data.map((item: any) =>
    item.type === 'folder' ? `${item.folder.name}/` : item.file.name,
  )
}

t.test('a folder is renamed with all that is in it, without a change of its files', async (t) => {
  const person = await server.person()
  const file = await uploadFile(person.client, { fields: { path: 'a/b/c' } })
  await uploadFile(person.client, { fields: { path: 'a' } })
  await uploadFile(person.client, { fields: { path: 'ab' } })
  const before = await database.sql(rowVersions, [person.id])
  const [a] = (await person.client.get('/storage/folders?sort=name&order=asc')).body.data
  t.equal(a.name, 'a')
  const renamed = await person.client.put(`/storage/folders/${a.id}`, { name: 'cafe\u0301' })
  t.match(renamed, { status: 200, body: { name: 'caf\u00e9', path: 'caf\u00e9', parent_id: null } })
  t.same(await database.sql(rowVersions, [person.id]), before, 'no file has changed')
  t.equal((await person.client.get(`/storage/files/${file.id}`)).body.path, 'caf\u00e9/b/c')
  const paths = (await person.client.get('/storage/folders?parent_id=*')).body.data.map(
    ({ path }: any) => path,
  )
  t.same(paths.toSorted(), ['ab', 'caf\u00e9', 'caf\u00e9/b', 'caf\u00e9/b/c'])
  isConflict(t, await person.client.put(`/storage/folders/${a.id}`, { name: 'ab' }), 'name_taken')
  const next = await uploadFile(person.client, { fields: { path: 'a' } })
  t.not(next.folder_id, a.id, 'the former name is free')
})

t.test('a folder cannot be moved into itself, also by two moves at once', async (t) => {
  const { client } = await server.person()
  const a = await newFolder(client, 'a')
  const inner = await newFolder(client, 'inner', a.id)
  for (const parent of [a.id, inner.id])
    isConflict(t, await client.put(`/storage/folders/${a.id}`, { parent_id: parent }), 'cycle')
  for (let round = 0; round < 5; round++) {
    const [one, two] = [await newFolder(client, `one ${round}`), await newFolder(client, `two ${round}`)]
    const replies = await Promise.all([
      client.put(`/storage/folders/${one.id}`, { parent_id: two.id }),
      client.put(`/storage/folders/${two.id}`, { parent_id: one.id }),
    ])
    t.same(replies.map(({ status }) => status).toSorted(), [200, 409])
    isConflict(
      t,
      replies.find(({ status }) => status === 409)!,
      'cycle',
    )
  }
})

t.test('names of folders are unique at their place, also with requests at once', async (t) => {
  const { client } = await server.person()
  const a = await newFolder(client, 'a')
  const replies = await Promise.all(
    ['caf\u00e9', 'cafe\u0301', 'caf\u00e9'].map((name) =>
      client.post('/storage/folders', { name, parent_id: a.id }),
    ),
  )
  t.same(replies.map(({ status }) => status).toSorted(), [201, 409, 409])
  await newFolder(client, 'caf\u00e9')
  await newFolder(client, 'CAF\u00c9')
})

t.test('paths have at most 1,024 characters', async (t) => {
  const { client } = await server.person()
  const long = await newFolder(client, '\u{1f600}'.repeat(1000))
  isConflict(
    t,
    await client.post('/storage/folders', { name: 'x'.repeat(24), parent_id: long.id }),
    'path_length',
  )
  const inner = await newFolder(client, 'x'.repeat(23), long.id)
  const other = await newFolder(client, 'y')
  isConflict(t, await client.put(`/storage/folders/${long.id}`, { parent_id: other.id }), 'path_length')
  t.equal((await client.get(`/storage/folders/${inner.id}`)).body.path.length, 2000 + 24)
})

t.test('a name of 1,024 characters of any script is listed by name, page by page', async (t) => {
  const person = await server.person()
  // Random letters cannot be compressed: the name has 3,072 bytes, in an index too.
  const start = Array.from({ length: 1_023 }, () => String.fromCodePoint(0x4e00 + randomInt(20_000))).join('')
  const names = ['a', 'b', 'c'].map((end) => start + end)
  for (const name of names) await newFolder(person.client, name)
  const file = await uploadFile(person.client, { fields: { path: `${start}d` } })
  t.equal(file.path, `${start}d`)
  for (const path of ['/storage/folders?sort=name&order=asc', '/storage/items?']) {
    const found: string[] = []
    for (let cursor = ''; ;) {
      const { status, body } = await person.client.get(`${path}&limit=1${cursor}`)
      t.equal(status, 200)
      found.push((body.data[0].folder ?? body.data[0]).name)
      if (!body.pagination.has_more) break
      t.ok(body.pagination.next_cursor.length < 4_000)
      cursor = `&cursor=${body.pagination.next_cursor}`
    }
    t.same(found.toSorted(), [...names, `${start}d`], path)
  }
})

t.test('a workspace has at most 10,000 folders', async (t) => {
  const person = await server.person()
  await database.sql(addFolders, [person.id, 9_999])
  await uploadFile(person.client, { fields: { path: 'last' } })
  const refused = { status: 403, body: { error: { details: { constraint: 'folders' } } } }
  t.match(await person.client.post('/storage/folders', { name: 'one more' }), refused)
  t.match(await upload(person.client, { fields: { path: 'f1/more' } }), refused)
  await uploadFile(person.client, { fields: { path: 'f1' } })
})

t.test('the items of a folder are its folders and its files by name, page by page', async (t) => {
  const person = await server.person()
  const { client } = person
  const folder = await newFolder(client, 'f')
  for (const name of ['B', 'a', 'c']) await newFolder(client, name, folder.id)
  for (const name of ['z.txt', 'A.txt', 'm.txt', 'A.txt'])
    await uploadFile(client, { name, fields: { folder_id: folder.id } })
  await uploadFile(client, { name: 'root.txt' })
  t.same(await itemNames(client), ['f/', 'root.txt'])
  const expected = ['a/', 'B/', 'c/', 'A.txt', 'A.txt', 'm.txt', 'z.txt']
  t.same(await itemNames(client, `&folder_id=${folder.id}`), expected)
  for (const limit of [1, 2, 3, 4, 7]) {
    const found: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = `folder_id=${folder.id}&limit=${limit}${cursor && `&cursor=${cursor}`}`
      const { body } = await client.get(`/storage/items?${query}`)
      t.ok(body.data.length > 0 && body.data.length <= limit)
      found.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.pagination.next_cursor
    }
    t.equal(new Set(found).size, expected.length, `pages of ${limit}`)
    t.equal(found.length, expected.length)
  }
  const { body } = await client.get('/storage/items?limit=1')
  const cursor = body.pagination.next_cursor
  for (const wrong of [`cursor=${cursor}&folder_id=${folder.id}`, 'cursor=abc', `cursor=${'A'.repeat(90)}`])
    t.equal((await client.get(`/storage/items?${wrong}`)).status, 400)
  t.equal((await client.get(`/storage/items?folder_id=${newId('fld')}`)).status, 404)
})

t.test('a deleted folder is gone at once, and a job moves its files to the trash', async (t) => {
  const person = await server.person()
  const { client } = person
  const outer = await createFolder(database, person.id, 'outer')
  const inner = await createFolder(database, person.id, 'outer/inner')
  await database.sql(addFiles, [inner, person.id, 1_200])
  await createFile(server, person.id, { folderId: outer, expiresAt: new Date(Date.now() - 1000) })
  const kept = await uploadFile(client, { fields: { path: 'kept' } })
  const base = await client.post('/ai/knowledge', { name: 'Base' })
  const doomed = await uploadFile(client, { fields: { path: 'outer' } })
  const documents = `/ai/knowledge/${base.body.id}/documents`
  t.equal((await client.post(documents, { file_id: doomed.id })).status, 201)
  const etag = (await client.get(`/storage/folders/${outer}`)).headers.get('etag')!
  t.equal(
    (await client.call('DELETE', `/storage/folders/${outer}`, { headers: { 'if-match': '"x"' } })).status,
    412,
  )
  const deletion = await client.call('DELETE', `/storage/folders/${outer}`, { headers: { 'if-match': etag } })
  t.match(deletion, {
    status: 202,
    body: { type: 'folder_delete', status: 'queued', resource_id: outer, done: 0, total: 1_202, error: null },
  })
  for (const id of [outer, inner]) t.equal((await client.get(`/storage/folders/${id}`)).status, 404)
  t.equal((await client.delete(`/storage/folders/${outer}`)).status, 404)
  t.equal((await client.get(`/storage/files/${doomed.id}`)).status, 404)
  t.match((await client.get('/storage/files')).body, { data: [{ id: kept.id }], pagination: { total: 1 } })
  t.same((await client.get('/storage/files?folder=outer')).body.data, [])
  t.same(await itemNames(client), ['kept/'])
  const again = await uploadFile(client, { fields: { path: 'outer/inner' } })
  t.not(again.folder_id, inner)

  const listed = await client.get('/jobs')
  t.match(listed, { status: 200, body: { data: [{ id: deletion.body.id }] } }, listed.text)
  startWorker(t)
  t.match(await ended(person, deletion), { status: 'succeeded', done: 1_202, total: 1_202 })
  t.equal((await client.get('/storage/files')).body.pagination.total, 2)
  t.equal((await client.get('/storage/trash')).body.pagination.total, 1_201, 'the expired one is not shown')
  t.match((await client.get('/storage/usage')).body, { files: 2, trash: { files: 1_202 } })
  t.equal((await client.get(documents)).body.pagination.total, 0)
  t.equal(await database.prisma.folder.count({ where: { id: { in: [outer, inner] } } }), 0)
  const types = (await client.get('/events?type=job.*&limit=100')).body.data.map(({ type }: any) => type)
  t.same(types, ['job.created', 'job.progressed', 'job.progressed', 'job.succeeded'])

  const restored = await client.post(`/storage/trash/${doomed.id}/restore`, { on_conflict: 'rename' })
  t.match(restored, { status: 200, body: { path: 'outer', trashed_at: null } })
  t.equal((await client.get(`/storage/files/${doomed.id}`)).body.path, 'outer')
  isConflict(t, await client.post(`/jobs/${deletion.body.id}/cancel`, {}), 'succeeded')
})

t.test('a canceled deletion gives back the folder with what is left, under a free name', async (t) => {
  const person = await server.person()
  const { client } = person
  const parent = await createFolder(database, person.id, 'parent')
  const folder = await createFolder(database, person.id, 'parent/f')
  const inner = await createFolder(database, person.id, 'parent/f/inner')
  await database.sql(addFiles, [inner, person.id, 1_100])
  const deletion = await client.delete(`/storage/folders/${folder}`)
  await newFolder(client, 'f', parent)
  await client.put(`/storage/folders/${parent}`, { name: 'renamed' })
  // The worker does one step and waits then.
  const real = storageJobs(services)
  const paused = Promise.withResolvers<void>()
  let steps = 0
  startWorker(t, {
    ...real,
    folder_delete: {
      ...real.folder_delete,
      async step(tx, job) {
        if (steps++ > 0) return { done: 0, more: true }
        return await real.folder_delete.step(tx, job).finally(paused.resolve)
      },
    },
  })
  await paused.promise
  await waitUntil(async () => (await jobOf(person, deletion.body.id)).done === 500, 'the first step')
  t.equal((await client.get('/storage/files')).body.pagination.total, 0)
  const canceled = await client.post(`/jobs/${deletion.body.id}/cancel`, {})
  t.match(canceled, { status: 200, body: { status: 'canceled', done: 500, total: 1_100 } })
  t.match((await client.get(`/storage/folders/${folder}`)).body, { name: 'f (2)', path: 'renamed/f (2)' })
  t.equal((await client.get(`/storage/folders/${inner}`)).body.path, 'renamed/f (2)/inner')
  t.equal((await client.get('/storage/files')).body.pagination.total, 600)
  t.equal((await client.get(`/storage/files?folder_id=${inner}`)).body.pagination.total, 600)
  t.match((await client.get('/storage/usage')).body, { files: 600, trash: { files: 500 } })
  t.match(await client.post(`/jobs/${deletion.body.id}/cancel`, {}), { status: 200, body: { done: 500 } })
})

t.test('a folder whose parent was deleted meanwhile comes back at the root', async (t) => {
  const person = await server.person()
  const { client } = person
  const parent = await createFolder(database, person.id, 'p')
  const child = await createFolder(database, person.id, 'p/c')
  const file = await uploadFile(client, { fields: { path: 'p/c' } })
  const first = await client.delete(`/storage/folders/${child}`)
  const second = await client.delete(`/storage/folders/${parent}`)
  t.equal((await client.post(`/jobs/${first.body.id}/cancel`, {})).status, 200)
  t.match((await client.get(`/storage/folders/${child}`)).body, { path: 'c', parent_id: null })
  t.equal((await client.get(`/storage/files/${file.id}`)).body.path, 'c')
  startWorker(t)
  t.match(await ended(person, second), { status: 'succeeded', total: 0 })
})

t.test('a job goes on when its worker is lost', async (t) => {
  const person = await server.person()
  const folder = await createFolder(database, person.id, 'f')
  await database.sql(addFiles, [folder, person.id, 700])
  const deletion = await person.client.delete(`/storage/folders/${folder}`)
  // This worker fetches the job, and is lost before its first step.
  const [fetched] = await services.trackedJobs.fetch(1)
  t.equal(fetched.data.job_id, deletion.body.id)
  startWorker(t)
  await database.sql(expireJobs, [])
  t.match(await ended(person, deletion), { status: 'succeeded', done: 700 })
  t.equal((await services.trackedJobs.heartbeat([fetched])).size, 0)
})

t.test('the trash: a deleted file comes back to its path, or is deleted for good', async (t) => {
  const person = await server.person()
  const { client } = person
  const file = await uploadFile(client, { name: 'a.txt', fields: { path: 'x/y' }, bytes: 'content' })
  const link = await client.post(`/storage/files/${file.id}/links`, {})
  const token = link.body.url.split('/').at(-1)
  t.equal((await client.delete(`/storage/files/${file.id}`)).status, 204)
  for (const path of [
    `/storage/files/${file.id}`,
    `/storage/files/${file.id}/download`,
    `/storage/links/${token}`,
  ])
    t.equal((await client.get(path)).status, 404, path)
  const trashed = await client.get(`/storage/trash/${file.id}`)
  t.match(trashed.body, { id: file.id, path: 'x/y', folder_id: null, name: 'a.txt' })
  const days = (Date.parse(trashed.body.purge_at) - Date.parse(trashed.body.trashed_at)) / 86_400_000
  t.equal(days, 30)
  t.match((await client.get('/storage/usage')).body, { files: 0, bytes: 7, trash: { files: 1, bytes: 7 } })
  await uploadFile(client, { name: 'a.txt', fields: { path: 'x/y' } })
  isConflict(t, await client.post(`/storage/trash/${file.id}/restore`, { on_conflict: 'fail' }), 'name_taken')
  const restored = await client.post(`/storage/trash/${file.id}/restore`, { on_conflict: 'rename' })
  t.match(restored, { status: 200, body: { name: 'a (2).txt', path: 'x/y', folder_id: file.folder_id } })
  t.equal((await client.get(`/storage/links/${token}`)).status, 200)
  t.equal((await client.get(`/storage/trash/${file.id}`)).status, 404)
  t.equal((await client.post(`/storage/trash/${file.id}/restore`, {})).status, 404)
  await client.delete(`/storage/files/${file.id}`)
  t.equal((await client.delete(`/storage/trash/${file.id}`)).status, 204)
  t.match((await client.get('/storage/usage')).body, { files: 1, bytes: 7, trash: { files: 0, bytes: 0 } })
  const other = await uploadFile(client)
  t.equal((await client.delete(`/storage/files/${other.id}?permanent=true`)).status, 204)
  t.equal((await client.get(`/storage/trash/${other.id}`)).status, 404)
})

t.test('of requests at once for one file in the trash, one restores it', async (t) => {
  const { client } = await server.person()
  const file = await uploadFile(client, { fields: { path: 'gone' } })
  await client.delete(`/storage/files/${file.id}`)
  const restore = () => client.post(`/storage/trash/${file.id}/restore`, {})
  const remove = () => client.delete(`/storage/trash/${file.id}`)
  const replies = await Promise.all([restore(), restore(), remove(), remove()])
  t.equal(replies.filter(({ status }) => status < 300).length, 1, replies.map(({ status }) => status).join())
  t.equal(replies.filter(({ status }) => status === 404).length, 3)
  const { files, trash } = (await client.get('/storage/usage')).body
  t.equal(trash.files, 0)
  t.equal(files, replies.slice(0, 2).some(({ status }) => status === 200) ? 1 : 0)
})

t.test('the trash is purged after its days, and emptied by a job', async (t) => {
  const person = await server.person()
  const { client } = person
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.push((await uploadFile(client)).id)
  for (const id of ids.slice(0, 2)) await client.delete(`/storage/files/${id}`)
  await database.sql(passPurgeTime, [ids.slice(0, 1)])
  await runRetention(database, { tasks: fileExpiryTasks(services) })
  t.equal((await client.get(`/storage/trash/${ids[0]}`)).status, 404)
  t.equal((await client.get(`/storage/trash/${ids[1]}`)).status, 200)
  const emptying = await client.post('/storage/trash/empty', {})
  t.match(emptying, { status: 202, body: { type: 'trash_empty', total: 1 } })
  await client.delete(`/storage/files/${ids[2]}`)
  startWorker(t)
  t.match(await ended(person, emptying), { status: 'succeeded', done: 1 })
  const { data } = (await client.get('/storage/trash')).body
  t.same(
    data.map(({ id }: { id: string }) => id),
    [ids[2]],
    'what came later stays',
  )
})

t.test('without a trash, deletions are permanent', async (t) => {
  const other = await startServer(t, { env: { STORAGE_TRASH_DAYS: '0' } })
  const { client } = await other.person()
  const file = await uploadFile(client)
  t.equal((await client.delete(`/storage/files/${file.id}`)).status, 204)
  t.match((await client.get('/storage/usage')).body, { files: 0, bytes: 0, trash: { files: 0 } })
})

t.test(
  'members read the folders, the trash and the jobs of their project, and editors change them',
  async (t) => {
    const owner = await server.person()
    const viewer = await server.person()
    const project = await createProject({ server, caller: viewer, role: 'viewer' })
    const folder = await createFolder(database, owner.id, 'f', project)
    const read = `?project_id=${project}`
    for (const path of ['/storage/folders', '/storage/items', '/storage/trash', '/jobs'])
      t.equal((await viewer.client.get(path + read)).status, 200, path)
    for (const reply of [
      await viewer.client.put(`/storage/folders/${folder}`, { name: 'g' }),
      await viewer.client.delete(`/storage/folders/${folder}`),
      await viewer.client.post('/storage/folders', { name: 'g', project_id: project }),
      await viewer.client.post('/storage/trash/empty', { project_id: project }),
      await owner.client.get(`/storage/folders/${folder}`),
    ])
      t.equal(reply.status, 403, reply.text)
  },
)
