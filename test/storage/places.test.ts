// Places of files: what happens when another file has the same folder and name, also with several requests at
// once, and the lists of one folder or one place.
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createMember, createProject } from '../support/database/db-fixtures.ts'
import type { Client, Reply } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { leftovers, upload, uploadFile } from '../support/storage/storage.ts'

const server = await startServer(t)
const owner = await server.person()
const stranger = await server.person()

let folders = 0
const newFolder = (): string => `folder ${++folders}/inner`

/** The names of the files of exactly this folder, in the order of their creation. */
async function namesIn(folder: string, client = owner.client): Promise<string[]> {
  const query = new URLSearchParams({ folder, order: 'asc' })
  const reply = await client.get(`/storage/files?${query}`)
  return reply.body.data.map(({ name }: { name: string }) => name)
}

const fields = (path: string, policy: string, more: Record<string, string> = {}) => ({
  path,
  on_conflict: policy,
  ...more,
})

async function eventsOf(id: string): Promise<string[]> {
  const reply = await owner.client.get('/events?limit=100')
  return reply.body.data
    .filter(({ data }: any) => data.object?.id === id || data.id === id)
    .map(({ type }: { type: string }) => type)
}

function isTaken(t: Test, reply: Reply): void {
  t.match(
    reply,
    {
      status: 409,
      body: { error: { code: 'CONFLICT', details: { constraint: 'name_taken', field: 'name' } } },
    },
    reply.text,
  )
}

const together = async (count: number, request: (i: number) => Promise<Reply>): Promise<Reply[]> =>
  await Promise.all(Array.from({ length: count }, (_, i) => request(i)))
const statuses = (replies: Reply[]): number[] => replies.map(({ status }) => status).toSorted()

/** A tus upload with all its bytes in the request that creates it, unless `bytes` is less than `length`. */
async function createUpload(
  client: Client,
  metadata: Record<string, string>,
  { bytes = 'content', length = bytes.length }: { bytes?: string; length?: number } = {},
): Promise<Reply> {
  return await client.call('POST', '/storage/uploads', {
    raw: Buffer.from(bytes),
    headers: {
      'tus-resumable': '1.0.0',
      'upload-length': String(length),
      'content-type': 'application/offset+octet-stream',
      'upload-metadata': Object.entries(metadata)
        .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
        .join(','),
    },
  })
}

t.test('without a policy, files may share a place', async (t) => {
  const path = newFolder()
  for (const policy of [{}, { on_conflict: 'duplicate' }] as Record<string, string>[])
    await uploadFile(owner.client, { name: 'a.txt', fields: { path, ...policy } })
  t.same(await namesIn(path), ['a.txt', 'a.txt'])
})

t.test('with `fail`, a file that has the place is 409, and nothing is left of the upload', async (t) => {
  const path = newFolder()
  const before = await owner.client.get('/storage/usage')
  const file = await uploadFile(owner.client, { name: 'a.txt', fields: fields(path, 'fail') })
  isTaken(t, await upload(owner.client, { name: 'a.txt', fields: fields(`/${path}/`, 'fail') }))
  const elsewhere = [
    ['A.txt', path],
    ['a.txt', `${path}/deeper`],
    ['a.txt', ''],
  ]
  for (const [name, folder] of elsewhere)
    await uploadFile(owner.client, { name, fields: fields(folder, 'fail') })
  const after = await owner.client.get('/storage/usage')
  t.equal(after.body.files - before.body.files, 4)
  t.equal(after.body.bytes - before.body.bytes, 4 * file.bytes)
  t.same(await leftovers(server), [])
})

t.test('names are compared in the Unicode form NFC and stored as they were sent', async (t) => {
  const [composed, decomposed] = ['caf\u00e9', 'cafe\u0301']
  const path = `${newFolder()} ${decomposed}`
  await uploadFile(owner.client, { name: 'x', fields: fields(path, 'fail', { name: decomposed }) })
  const other = path.normalize('NFC')
  t.not(other, path)
  isTaken(t, await upload(owner.client, { fields: fields(other, 'fail', { name: composed }) }))
  t.same(await namesIn(other), [decomposed])
  const query = new URLSearchParams({ folder: other, name: composed })
  t.equal((await owner.client.get(`/storage/files?${query}`)).body.data.length, 1)
})

t.test('with `rename`, a file gets the first free number before its extension', async (t) => {
  const path = newFolder()
  for (const name of ['a.tar.gz', 'a.tar.gz', 'a.tar.gz', '.env', '.env', 'no extension', 'no extension'])
    await uploadFile(owner.client, { name, fields: fields(path, 'rename') })
  t.same(await namesIn(path), [
    'a.tar.gz',
    'a.tar (2).gz',
    'a.tar (3).gz',
    '.env',
    '.env (2)',
    'no extension',
    'no extension (2)',
  ])
  const long = `${'\u{1f600}'.repeat(125)}.jpeg`
  const deep = `${path}/long`
  for (let i = 0; i < 2; i++)
    await uploadFile(owner.client, { fields: fields(deep, 'rename', { name: long }) })
  t.same(await namesIn(deep), [long, `${'\u{1f600}'.repeat(123)} (2).jpeg`])
})

t.test('with `replace`, a file takes the place of all others, with their documents and links', async (t) => {
  const path = newFolder()
  const others = []
  for (let i = 0; i < 3; i++)
    others.push(await uploadFile(owner.client, { name: 'a.txt', fields: { path }, bytes: randomBytes(1000) }))
  const kept = await uploadFile(owner.client, { name: 'b.txt', fields: { path } })
  const before = await owner.client.get('/storage/usage')
  const base = await owner.client.post('/ai/knowledge', { name: 'Base' })
  const documents = `/ai/knowledge/${base.body.id}/documents`
  t.equal((await owner.client.post(documents, { file_id: others[0].id })).status, 201)
  const file = await uploadFile(owner.client, {
    name: 'a.txt',
    fields: fields(path, 'replace'),
    bytes: 'new',
  })
  t.notOk(others.some(({ id }) => id === file.id))
  t.same(await namesIn(path), ['b.txt', 'a.txt'])
  t.equal((await owner.client.get(documents)).body.pagination.total, 0)
  for (const { id } of others) {
    t.equal((await owner.client.get(`/storage/files/${id}`)).status, 404)
    t.same(await eventsOf(id), ['file.created', 'file.trashed'])
  }
  const after = await owner.client.get('/storage/usage')
  t.equal(after.body.files, before.body.files - 2)
  t.equal(after.body.trash.files, before.body.trash.files + 3)
  t.equal(after.body.trash.bytes, before.body.trash.bytes + 3000)
  t.equal(after.body.bytes, before.body.bytes + 3)
  t.equal((await owner.client.get(`/storage/files/${kept.id}`)).status, 200)
  t.same(await leftovers(server), [])
})

t.test('of ten uploads at once with `fail`, one has the place', async (t) => {
  const path = newFolder()
  const replies = await together(10, (i) =>
    upload(owner.client, { name: 'a.txt', bytes: `content ${i}`, fields: fields(path, 'fail') }),
  )
  t.same(statuses(replies), [201, ...Array(9).fill(409)])
  t.same(await namesIn(path), ['a.txt'])
  t.same(await leftovers(server), [])
})

t.test('ten uploads at once with `rename` have ten names', async (t) => {
  const path = newFolder()
  await together(10, () => upload(owner.client, { name: 'a.txt', fields: fields(path, 'rename') }))
  const expected = ['a.txt', ...Array.from({ length: 9 }, (_, i) => `a (${i + 2}).txt`)]
  t.same((await namesIn(path)).toSorted(), expected.toSorted())
})

t.test('of ten uploads at once with `replace`, one stays, and each was there', async (t) => {
  const path = newFolder()
  const before = await owner.client.get('/storage/usage')
  const replies = await together(10, () =>
    upload(owner.client, { name: 'a.txt', fields: fields(path, 'replace') }),
  )
  t.same(statuses(replies), Array(10).fill(201))
  t.same(await namesIn(path), ['a.txt'])
  const after = await owner.client.get('/storage/usage')
  t.equal(after.body.files - before.body.files, 1)
  t.same(await leftovers(server), [])
})

t.test('a file that is renamed takes its new place as `on_conflict` says', async (t) => {
  const path = newFolder()
  const a = await uploadFile(owner.client, { name: 'a.txt', fields: { path } })
  const b = await uploadFile(owner.client, { name: 'b.txt', fields: { path: '' } })
  const put = (body: object): Promise<Reply> => owner.client.put(`/storage/files/${b.id}`, body)
  isTaken(t, await put({ name: 'a.txt', path, on_conflict: 'fail' }))
  t.match((await owner.client.get(`/storage/files/${b.id}`)).body, { name: 'b.txt', path: '' })
  const to = { name: 'a.txt', path: `/${path}/` }
  t.match((await put({ ...to, on_conflict: 'rename' })).body, { id: b.id, name: 'a (2).txt', path })
  const again = await put({ ...to, on_conflict: 'rename' })
  t.match(again.body, { name: 'a (2).txt' }, 'the same request again changes nothing')
  t.equal((await put({ on_conflict: 'fail' })).status, 200, 'the file itself is no conflict')
  t.match((await put({ ...to, on_conflict: 'replace' })).body, { id: b.id, name: 'a.txt', path })
  t.equal((await owner.client.get(`/storage/files/${a.id}`)).status, 404)
  t.same(await namesIn(path), ['a.txt'])
  t.notMatch((await owner.client.get(`/storage/files/${b.id}`)).body, { on_conflict: /./ })
})

t.test('renames and uploads at once never share a place', async (t) => {
  const path = newFolder()
  const files = await Promise.all(
    Array.from({ length: 5 }, (_, i) => uploadFile(owner.client, { name: `${i}.txt`, fields: { path } })),
  )
  const replies = await together(10, (i) =>
    i < 5
      ? owner.client.put(`/storage/files/${files[i].id}`, { name: 'one.txt', on_conflict: 'fail' })
      : upload(owner.client, { name: 'one.txt', fields: fields(path, 'fail') }),
  )
  t.equal(replies.filter(({ status }) => status < 300).length, 1)
  t.equal(replies.filter(({ status }) => status === 409).length, 9)
  const swapped = await Promise.all([
    uploadFile(owner.client, { name: 'left', fields: { path } }),
    uploadFile(owner.client, { name: 'right', fields: { path } }),
  ])
  const swaps = await together(2, (i) =>
    owner.client.put(`/storage/files/${swapped[i].id}`, {
      name: ['right', 'left'][i],
      on_conflict: 'replace',
    }),
  )
  t.ok(
    swaps.every(({ status }) => status === 200 || status === 404),
    'no request waits for itself',
  )
})

t.test('a resumable upload takes its place when it completes', async (t) => {
  const path = newFolder()
  const meta = (policy: string) => ({ filename: 'a.txt', path, on_conflict: policy })
  const late = await createUpload(owner.client, meta('fail'), { bytes: 'con', length: 7 })
  t.equal(late.status, 201)
  t.equal((await createUpload(owner.client, meta('fail'))).status, 201)
  isTaken(t, await createUpload(owner.client, meta('fail'), { bytes: 'con', length: 7 }))
  isTaken(
    t,
    await owner.client.call('PATCH', `/storage/uploads/${late.body.id}`, {
      raw: Buffer.from('tent'),
      headers: {
        'tus-resumable': '1.0.0',
        'upload-offset': '3',
        'content-type': 'application/offset+octet-stream',
      },
    }),
  )
  t.equal((await owner.client.get(`/storage/uploads/${late.body.id}`)).status, 404)
  t.equal((await owner.client.get('/storage/usage')).body.reserved_bytes, 0)
  t.equal((await createUpload(owner.client, meta('rename'))).status, 201)
  t.same(await namesIn(path), ['a.txt', 'a (2).txt'])
  const replaced = await createUpload(owner.client, meta('replace'))
  t.same((await namesIn(path)).toSorted(), ['a (2).txt', 'a.txt'])
  const query = new URLSearchParams({ folder: path, name: 'a.txt' })
  t.equal((await owner.client.get(`/storage/files?${query}`)).body.data[0].id, replaced.body.file_id)
  const wrong = await createUpload(owner.client, meta('maybe'))
  t.match(wrong, { status: 400, body: { error: { details: { field: 'on_conflict', constraint: 'enum' } } } })
  const together10 = await together(10, () =>
    createUpload(owner.client, { filename: 'raced.txt', path, on_conflict: 'fail' }),
  )
  t.equal(together10.filter(({ status }) => status === 201).length, 1)
  t.same(await leftovers(server), [])
})

t.test('a folder is one level, and a folder and a name are one place', async (t) => {
  const path = newFolder()
  for (const [folder, name] of [
    [path, 'a%b.txt'],
    [path, 'a_b.txt'],
    [`${path}/deeper`, 'a%b.txt'],
  ])
    await uploadFile(owner.client, { name, fields: { path: folder } })
  const list = async (query: Record<string, string>): Promise<string[]> => {
    const reply = await owner.client.get(`/storage/files?${new URLSearchParams({ order: 'asc', ...query })}`)
    return reply.body.data.map((file: any) => `${file.path}/${file.name}`)
  }
  t.same(await list({ folder: `/${path}/` }), [`${path}/a%b.txt`, `${path}/a_b.txt`])
  t.same(await list({ folder: path, name: 'a%b.txt' }), [`${path}/a%b.txt`])
  t.same(await list({ path, name: 'a%b.txt' }), [`${path}/a%b.txt`, `${path}/deeper/a%b.txt`])
  t.same(await list({ folder: path, name: 'A%b.txt' }), [])
  const atRoot = await list({ folder: '/' })
  t.ok(atRoot.length > 0 && atRoot.every((place) => place.startsWith('/')))
})

t.test('files of others are no conflict, not visible and not replaced', async (t) => {
  const path = newFolder()
  const theirs = await uploadFile(stranger.client, { name: 'a.txt', fields: { path } })
  await uploadFile(owner.client, { name: 'a.txt', fields: fields(path, 'fail') })
  await uploadFile(owner.client, { name: 'a.txt', fields: fields(path, 'replace') })
  t.equal((await stranger.client.get(`/storage/files/${theirs.id}`)).status, 200)
  t.same(await namesIn(path, stranger.client), ['a.txt'])
  const projectId = await createProject({ server, caller: owner, role: 'editor' })
  const viewer = await server.person()
  await createMember(server, projectId, viewer.id, 'viewer')
  const fieldsOf = { path, project_id: projectId }
  const inProject = await uploadFile(owner.client, { name: 'a.txt', fields: fieldsOf })
  const body = { name: 'a.txt', fields: { ...fieldsOf, on_conflict: 'replace' } }
  t.equal((await upload(viewer.client, body)).status, 403)
  t.equal((await upload(stranger.client, body)).status, 403)
  t.equal((await owner.client.get(`/storage/files/${inProject.id}`)).status, 200)
})
