// The content of a file is replaced, and the former contents are kept as versions.
import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import { claimDocument } from '../../generated/sql/knowledge.ts'
import { statement } from '../../infra/database/statements.ts'
import { newId } from '../../infra/ids.ts'
import { storageRetentionTasks } from '../../services/storage/retention.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { isLongForm } from '../support/long-form.ts'
import type { Reply } from '../support/http/client.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  ageQuarantine,
  assertNothingLeft,
  download,
  leftovers,
  openConnection,
  silentLog,
  storedKeys,
  sweepStore,
  uploadFile,
  uploadForm,
  type Upload,
} from '../support/storage/storage.ts'

const quota = 1_000
const server = await startServer(t, {
  env: {
    STORAGE_QUOTA_USER: String(quota),
    STORAGE_QUOTA_PROJECT: String(quota),
    STORAGE_VERSIONS: '3',
    RATE_LIMIT_UPLOAD: '100000',
  },
})
const { services } = server

const wrongUsage = statement<{ workspace_id: string }>(
  `SELECT u.workspace_id FROM storage_usage u
   LEFT JOIN (SELECT workspace_id, count(*) AS n, sum(bytes) AS bytes FROM files GROUP BY 1) f
     ON f.workspace_id = u.workspace_id
   LEFT JOIN (SELECT workspace_id, count(*) AS n, sum(bytes) AS bytes FROM file_versions GROUP BY 1) v
     ON v.workspace_id = u.workspace_id
   WHERE (u.files, u.bytes, u.versions, u.version_bytes) IS DISTINCT FROM
     (coalesce(f.n, 0), coalesce(f.bytes, 0), coalesce(v.n, 0), coalesce(v.bytes, 0))`,
)
const numbersOf = statement<{ number: number; sha256: string }>(
  'SELECT number, sha256 FROM file_versions WHERE file_id = $1 ORDER BY number',
)

const makeOlder = statement(
  `UPDATE file_versions SET replaced_at = now() - make_interval(days => $2) - interval '1 minute'
   WHERE file_id = $1 AND number = 1`,
)
const allKeys = statement<{ key: string }>(
  'SELECT blob_key AS key FROM files UNION SELECT blob_key FROM file_versions ORDER BY 1',
)

async function assertUsage(t: Test): Promise<void> {
  t.same(await services.database.sql(wrongUsage, []), [], 'the usage of every workspace is exact')
}

/** Replaces the content of a file. */
async function replace(
  { client }: Pick<Person, 'client'>,
  id: string,
  bytes: string,
  { headers, ...content }: Upload = {},
): Promise<Reply> {
  const form = uploadForm({ bytes, ...content })
  return await client.call('PUT', `/storage/files/${id}/content`, {
    raw: form.body,
    headers: { ...form.headers, ...headers },
  })
}

async function contentOf({ key }: Person, id: string, from: TestServer = server) {
  return await download(from.url, `/storage/files/${id}/download`, { key })
}

t.test('the content of a file is replaced, and the former one is a version', async (t) => {
  const person = await server.person()
  const file = await uploadFile(person.client, { bytes: 'first', name: 'a.txt', fields: { tags: 'q4' } })
  t.match(file, { content_version: 1, content_updated_at: file.created_at })
  const before = await contentOf(person, file.id)
  const link = await person.client.post(`/storage/files/${file.id}/links`, {})
  const reply = await replace(person, file.id, '{"a": "second"}', {
    name: 'b.json',
    type: 'application/json',
  })
  t.match(reply, {
    status: 200,
    body: {
      id: file.id,
      name: 'a.txt',
      bytes: 15,
      sha256: hash('sha256', '{"a": "second"}'),
      content_type: 'application/json',
      declared_content_type: 'application/json',
      content_version: 2,
      tags: ['q4'],
      created_at: file.created_at,
    },
  })
  t.ok(reply.body.content_updated_at > file.content_updated_at)
  const read = await person.client.get(`/storage/files/${file.id}`)
  t.equal(reply.headers.get('etag'), read.headers.get('etag'))
  const after = await contentOf(person, file.id)
  t.equal(after.bytes.toString(), '{"a": "second"}')
  t.equal(after.headers.get('etag'), reply.body.etag)
  const modified = Date.parse(after.headers.get('last-modified')!)
  t.equal(modified, Math.floor(Date.parse(reply.body.content_updated_at) / 1000) * 1000)
  const conditional = { key: person.key, headers: { 'if-none-match': before.headers.get('etag')! } }
  t.equal((await download(server.url, `/storage/files/${file.id}/download`, conditional)).status, 200)
  const shared = await fetch(link.body.url)
  t.equal(await shared.text(), '{"a": "second"}', 'links give the present content')
  t.same(await services.database.sql(numbersOf, [file.id]), [{ number: 1, sha256: file.sha256 }])
  const { body: usage } = await person.client.get('/storage/usage')
  t.match(usage, { files: 1, bytes: 20, versions: { count: 1, bytes: 5 } })
  const { body: events } = await person.client.get('/events?type=file.updated')
  t.match(events.data[0].data, {
    object: { id: file.id, sha256: reply.body.sha256, content_version: 2 },
    previous_attributes: { sha256: file.sha256, bytes: 5, content_version: 1 },
  })
  await assertUsage(t)
})

t.test('the same bytes change nothing', async (t) => {
  const person = await server.person()
  const file = await uploadFile(person.client, { bytes: 'same' })
  const reply = await replace(person, file.id, 'same')
  t.equal(reply.status, 200)
  t.same(reply.body, file)
  t.same(await services.database.sql(numbersOf, [file.id]), [])
  await assertNothingLeft(t, server)
})

t.test('as many versions are kept as the server is set to', async (t) => {
  const person = await server.person()
  const file = await uploadFile(person.client, { bytes: '1' })
  for (let i = 2; i <= 6; i++)
    t.match(await replace(person, file.id, String(i)), { body: { content_version: i } })
  const kept = (await services.database.sql(numbersOf, [file.id])).map(({ number }) => number)
  t.same(kept, [3, 4, 5])
  await assertUsage(t)
  await assertNothingLeft(t, server)

  const none = await startServer(t, { env: { STORAGE_VERSIONS: '0', STORAGE_QUOTA_USER: '10' } })
  const other = await none.person()
  const { id } = await uploadFile(other.client, { bytes: '12345' })
  for (const bytes of ['123456789', '1234567890'])
    t.match(await replace(other, id, bytes), { status: 200, body: { bytes: bytes.length } })
  t.equal((await replace(other, id, '12345678901')).status, 413)
  t.same(await none.services.database.sql(numbersOf, [id]), [])
  t.equal((await contentOf(other, id, none)).bytes.toString(), '1234567890')
  t.equal(await none.services.database.prisma.quarantinedBlob.count(), 2, 'the former blobs')
  await assertNothingLeft(t, none)
})

t.test('versions count in the quota, and move with their file', async (t) => {
  const person = await server.person()
  const project = (await person.client.post('/projects', { name: 'Versions' })).body.id
  const file = await uploadFile(person.client, { bytes: 'x'.repeat(400) })
  t.equal((await replace(person, file.id, 'y'.repeat(500))).status, 200)
  const full = await replace(person, file.id, 'z'.repeat(101))
  t.match(full, {
    status: 413,
    body: { error: { details: { constraint: 'quota', limit: { limit: quota, used: 900 } } } },
  })
  t.equal((await contentOf(person, file.id)).bytes.toString(), 'y'.repeat(500))

  const target = { project_id: project }
  await uploadFile(person.client, { bytes: 'x'.repeat(101), fields: target })
  t.equal((await person.client.post(`/storage/files/${file.id}/move`, target)).status, 413)
  const own = await person.client.post('/projects', { name: 'Empty' })
  const moved = await person.client.post(`/storage/files/${file.id}/move`, { project_id: own.body.id })
  t.match(moved, { status: 200, body: { content_version: 2 } })
  t.match((await person.client.get(`/storage/usage?project_id=${own.body.id}`)).body, {
    bytes: 900,
    versions: { count: 1, bytes: 400 },
  })
  t.match((await person.client.get('/storage/usage')).body, { bytes: 0, versions: { count: 0, bytes: 0 } })
  const copy = await person.client.post(`/storage/files/${file.id}/copy`, { project_id: null })
  t.match(copy, { status: 201, body: { content_version: 1, bytes: 500 } })
  t.same(await services.database.sql(numbersOf, [copy.body.id]), [], 'a copy has no versions')

  await person.client.delete(`/storage/files/${file.id}`)
  t.match((await person.client.get(`/storage/usage?project_id=${own.body.id}`)).body, { bytes: 900 })
  t.equal((await replace(person, file.id, 'x')).status, 404, 'a file in the trash has no content to replace')
  await person.client.delete(`/storage/trash/${file.id}`)
  t.match((await person.client.get(`/storage/usage?project_id=${own.body.id}`)).body, { bytes: 0 })
  await assertUsage(t)
  await assertNothingLeft(t, server)
})

t.test('a content that is refused leaves nothing', async (t) => {
  const [owner, other] = [await server.person(), await server.person()]
  const project = (await owner.client.post('/projects', { name: 'Refused' })).body.id
  const file = await uploadFile(owner.client, { bytes: 'first', fields: { project_id: project } })
  const wrong = await replace(owner, file.id, 'second', { fieldsAfter: { sha256: file.sha256 } })
  t.match(wrong, { status: 400, body: { error: { details: { constraint: 'sha256' } } } })
  const header = { headers: { 'x-content-sha256': file.sha256 } }
  t.equal((await replace(owner, file.id, 'second', header)).status, 400)
  t.equal((await replace(owner, file.id, 'second', { fields: { name: 'x' } })).status, 400)
  t.equal((await replace(owner, file.id, 'second', { headers: { 'if-match': '"other"' } })).status, 412)
  t.equal((await replace(owner, newId('file'), 'second')).status, 404)
  t.equal((await replace(other, file.id, 'second')).status, 403)
  await createMember(server, project, other.id, 'viewer')
  t.equal((await replace(other, file.id, 'second')).status, 403)
  await owner.client.post(`/projects/${project}/archive`, {})
  t.equal((await replace(owner, file.id, 'second')).status, 409)

  const own = await uploadFile(owner.client, { bytes: 'own' })
  const form = uploadForm({ bytes: 'interrupted' })
  const connection = await openConnection(t, server.url)
  const head = [
    `PUT /v1/storage/files/${own.id}/content HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${owner.key}`,
    `Content-Type: ${form.headers['content-type']}`,
    `Content-Length: ${form.body.length}`,
  ]
  await connection.write(`${head.join('\r\n')}\r\n\r\n`)
  await connection.write(form.body.subarray(0, form.body.length - 10))
  await waitUntil(async () => (await leftovers(server)).length > 0, 'the first bytes')
  connection.socket.destroy()
  await assertNothingLeft(t, server)
  for (const id of [file.id, own.id]) t.same(await services.database.sql(numbersOf, [id]), [])
  t.equal((await contentOf(owner, own.id)).bytes.toString(), 'own')
  await assertUsage(t)
})

t.test('of two replacements of one version, one wins', async (t) => {
  const person = await server.person()
  const file = await uploadFile(person.client, { bytes: 'first' })
  for (let i = 0; i < 8; i++) {
    const { headers, body } = await person.client.get(`/storage/files/${file.id}`)
    const replies = await Promise.all(
      ['a', 'b'].map((bytes) =>
        replace(person, file.id, `${bytes}${i}`, { headers: { 'if-match': headers.get('etag')! } }),
      ),
    )
    t.same(replies.map(({ status }) => status).toSorted(), [200, 412])
    const { body: winner } = replies.find(({ status }) => status === 200)!
    t.equal(winner.content_version, body.content_version + 1)
    t.equal((await person.client.get(`/storage/files/${file.id}`)).body.sha256, winner.sha256)
  }
  await assertUsage(t)
  await assertNothingLeft(t, server)
})

t.test('a replacement at once with a deletion, a move or the trash', async (t) => {
  const person = await server.person()
  const project = (await person.client.post('/projects', { name: 'Races' })).body.id
  const changes: Array<(id: string) => Promise<Reply>> = [
    (id) => person.client.delete(`/storage/files/${id}?permanent=true`),
    (id) => person.client.delete(`/storage/files/${id}`),
    (id) => person.client.post(`/storage/files/${id}/move`, { project_id: project }),
  ]
  for (let i = 0; i < 18; i++) {
    const file = await uploadFile(person.client, { bytes: `first ${i}` })
    const [replaced, changed] = await Promise.all([
      replace(person, file.id, `second ${i}`),
      changes[i % 3](file.id),
    ])
    t.ok([200, 404, 409].includes(replaced.status), replaced.text)
    t.ok([200, 204].includes(changed.status), changed.text)
    const content = await contentOf(person, file.id)
    if (i % 3 < 2) t.equal(content.status, 404)
    else t.equal(content.bytes.toString(), `${replaced.status === 200 ? 'second' : 'first'} ${i}`)
    const { data } = (await person.client.get('/storage/trash')).body
    if (i % 3 === 1) t.equal(data[0].content_version, replaced.status === 200 ? 2 : 1)
    await person.client.post('/storage/trash/empty', {})
    for (const { id } of data) await person.client.delete(`/storage/trash/${id}`)
    await person.client.delete(`/storage/files/${file.id}?permanent=true`)
  }
  await assertUsage(t)
  await assertNothingLeft(t, server)
})

t.test('versions are listed, downloaded, restored and deleted', async (t) => {
  const person = await server.person()
  const file = await uploadFile(person.client, { bytes: 'first', name: 'a.txt', type: 'text/plain' })
  for (const bytes of ['second', 'third']) await replace(person, file.id, bytes)
  const path = `/storage/files/${file.id}/versions`
  const { body: list } = await person.client.get(path)
  t.match(list, {
    data: [
      { number: 2, bytes: 6, sha256: hash('sha256', 'second'), file_id: file.id, created_by: person.id },
      { number: 1, bytes: 5, sha256: file.sha256, created_at: file.created_at },
    ],
    pagination: { total: 2 },
  })
  const [second, first] = list.data
  const version = await person.client.get(`${path}/${first.id}`)
  t.same(version.body, first)
  const content = await download(server.url, `${path}/${first.id}/content`, { key: person.key })
  t.equal(content.bytes.toString(), 'first')
  t.equal(content.headers.get('etag'), first.etag)
  t.match(content.headers.get('content-disposition'), 'a.txt')
  const part = { key: person.key, headers: { range: 'bytes=1-3', 'if-range': first.etag } }
  const range = await download(server.url, `${path}/${first.id}/content`, part)
  t.equal(range.status, 206)
  t.equal(range.bytes.toString(), 'irs')
  const unchanged = { key: person.key, headers: { 'if-none-match': first.etag } }
  t.equal((await download(server.url, `${path}/${first.id}/content`, unchanged)).status, 304)

  const blobs = await storedKeys(services)
  const restored = await person.client.post(`${path}/${first.id}/restore`, {})
  t.match(restored, { status: 200, body: { content_version: 4, sha256: file.sha256, bytes: 5 } })
  t.equal((await contentOf(person, file.id)).bytes.toString(), 'first')
  t.same(await storedKeys(services), blobs, 'no bytes are copied')
  const after = (await person.client.get(path)).body.data
  t.same(
    after.map(({ number, bytes }: any) => [number, bytes]),
    [
      [3, 5],
      [2, 6],
    ],
    'the present content is no version',
  )
  t.equal((await person.client.post(`${path}/${first.id}/restore`, {})).status, 404)
  const { data: events } = (await person.client.get('/events?type=file.updated')).body
  t.equal(events.at(-1).data.object.content_version, 4)

  const etag = (await person.client.get(`${path}/${second.id}`)).headers.get('etag')!
  const stale = { headers: { 'if-match': '"other"' } }
  t.equal((await person.client.call('DELETE', `${path}/${second.id}`, stale)).status, 412)
  const present = { headers: { 'if-match': etag } }
  t.equal((await person.client.call('DELETE', `${path}/${second.id}`, present)).status, 204)
  t.equal((await person.client.get(`${path}/${second.id}`)).status, 404)
  t.equal((await download(server.url, `${path}/${second.id}/content`, { key: person.key })).status, 404)
  t.match((await person.client.get('/storage/usage')).body, { bytes: 10, versions: { count: 1, bytes: 5 } })
  await assertUsage(t)
  await assertNothingLeft(t, server)
})

t.test('versions belong to their file and its readers', async (t) => {
  const [owner, other] = [await server.person(), await server.person()]
  const file = await uploadFile(owner.client, { bytes: 'first', fields: { visibility: 'public' } })
  await replace(owner, file.id, 'second')
  const [{ id }] = (await owner.client.get(`/storage/files/${file.id}/versions`)).body.data
  const path = `/storage/files/${file.id}/versions/${id}`
  const theirs = await uploadFile(other.client, { bytes: 'theirs' })
  await replace(other, theirs.id, 'theirs, too')
  t.equal((await other.client.get(path)).status, 403)
  t.equal((await other.client.get(`/storage/files/${theirs.id}/versions/${id}`)).status, 404)
  t.equal((await other.client.post(`/storage/files/${theirs.id}/versions/${id}/restore`, {})).status, 404)
  t.equal((await other.client.delete(`/storage/files/${theirs.id}/versions/${id}`)).status, 404)
  t.equal((await download(server.url, `/storage/files/${file.id}/download`)).status, 200)
  t.equal((await download(server.url, `${path}/content`)).status, 401, 'only the present content is public')

  await owner.client.delete(`/storage/files/${file.id}`)
  t.equal((await owner.client.get(path)).status, 404, 'versions in the trash are not visible')
  await owner.client.post(`/storage/trash/${file.id}/restore`, {})
  t.equal((await owner.client.get(path)).status, 200, 'but they are kept')
})

t.test('old versions are deleted', async (t) => {
  const person = await server.person()
  const file = await uploadFile(person.client, { bytes: '1' })
  for (const bytes of ['2', '3']) await replace(person, file.id, bytes)
  await services.database.sql(makeOlder, [file.id, services.config.storageVersionDays])
  const task = storageRetentionTasks(services, { config: services.config, log: silentLog }).find(
    ({ name }) => name === 'versions of files',
  )!
  t.match(await task.step(services.database), { more: false })
  t.same(
    (await services.database.sql(numbersOf, [file.id])).map(({ number }) => number),
    [2],
  )
  await assertUsage(t)
})

t.test('restores, replacements and deletions at once neither lose nor leak a blob', async (t) => {
  const { client, key, id: userId } = await server.person()
  const person = { client, key, id: userId } as Person
  const file = await uploadFile(client, { bytes: 'round 0' })
  const path = `/storage/files/${file.id}/versions`
  for (let i = 1; i <= (isLongForm ? 1_000 : 70); i++) {
    const [version] = (await client.get(`${path}?limit=1`)).body.data
    const actions = await Promise.all([
      i % 3 === 0 ? replace(person, file.id, `again ${i}`) : client.get(path),
      version === undefined ? client.get(path) : client.post(`${path}/${version.id}/restore`, {}),
      version === undefined ? client.get(path) : client.delete(`${path}/${version.id}`),
    ])
    const statuses = actions.map(({ status }) => status)
    t.ok(
      statuses.every((status) => [200, 204, 404].includes(status)),
      String(statuses),
    )
    if (version !== undefined) t.ok(statuses[1] === 200 || statuses[2] === 204, 'one of them has the version')
    t.equal((await replace(person, file.id, `round ${i}`)).status, 200)
    const content = await contentOf(person, file.id)
    t.equal(content.bytes.toString(), `round ${i}`)
  }
  const before = new Date(Date.now() + 3_600_000)
  await sweepStore(services, { before })
  await ageQuarantine(services, services.config.storageQuarantineDays)
  await sweepStore(services, { before })
  const known = await services.database.sql(allKeys, [])
  t.same(
    await storedKeys(services),
    known.map((row) => row.key),
    'exactly the blobs with a row stay',
  )
  for (const { id } of (await client.get(path)).body.data)
    t.equal((await download(server.url, `${path}/${id}/content`, { key })).status, 200)
  await assertUsage(t)
})

t.test('a document has the content from which it was created', async (t) => {
  const person = await server.person()
  const { body: base } = await person.client.post('/ai/knowledge', { name: 'Versions' })
  const file = await uploadFile(person.client, { bytes: 'first', name: 'a.txt', type: 'text/plain' })
  const path = `/ai/knowledge/${base.id}/documents`
  const { body: document } = await person.client.post(path, { file_id: file.id })
  t.equal(document.sha256, file.sha256)
  await replace(person, file.id, 'second', { type: 'text/plain' })
  const claim = async () => (await claimDocument(services.database, { id: document.id, wanted: 1 }))?.blob_key
  t.equal(await claim(), file.id, 'the blob of the version')
  const versions = `/storage/files/${file.id}/versions`
  const [{ id }] = (await person.client.get(versions)).body.data
  await person.client.post(`${versions}/${id}/restore`, {})
  t.equal(await claim(), file.id, 'the blob of the file')
  await replace(person, file.id, 'third', { type: 'text/plain' })
  for (const each of (await person.client.get(versions)).body.data)
    await person.client.delete(`${versions}/${each.id}`)
  t.equal(await claim(), null, 'no other bytes are indexed in their place')
})
