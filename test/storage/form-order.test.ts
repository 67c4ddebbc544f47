// Forms with a file: the fields may come before and after it. A form that turns out to be invalid after its
// file was received leaves nothing behind.
import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { picture } from '../../packages/contract/forms.ts'
import type { Client, Reply } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import {
  assertNothingLeft,
  fileCount,
  multipart,
  newBoundary,
  openConnection,
  upload,
  uploadFile,
  uploadForm,
  uploadHead,
  type FormPart,
  type Upload,
} from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)

/** The fields of a form, with `null` for the place of the file. */
type Parts = Array<[name: string, value: string] | null>

function placed(parts: Parts): Pick<Upload, 'fields' | 'fieldsAfter'> {
  const at = parts.indexOf(null)
  return {
    fields: parts.slice(0, at) as Array<[string, string]>,
    fieldsAfter: parts.slice(at + 1) as Array<[string, string]>,
  }
}

function ordersOf<T>(items: T[]): T[][] {
  if (items.length < 2) return [items]
  return items.flatMap((item, i) => ordersOf(items.toSpliced(i, 1)).map((rest) => [item, ...rest]))
}

async function sendForm(client: Client, path: string, parts: FormPart[]): Promise<Reply> {
  const boundary = newBoundary()
  return await client.call('POST', path, {
    raw: multipart(parts, boundary),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
}

const field = (name: string, body: string): FormPart => ({
  head: `Content-Disposition: form-data; name="${name}"`,
  body,
})
const filePart = (filename: string, body: string | Buffer): FormPart => ({
  head: `Content-Disposition: form-data; name="file"; filename="${filename}"`,
  body,
})

t.test('an upload accepts its parts in every order', async (t) => {
  const { client } = await server.person()
  const projectId = (await client.post('/projects', { name: 'Orders' })).body.id
  const orders = ordersOf([null, ['project_id', projectId], ['path', 'a/b'], ['name', 'x.csv']] as Parts)
  t.equal(orders.length, 24)
  for (const parts of orders)
    t.match(
      await uploadFile(client, { bytes: 'a,b\n1,2\n', name: 'x.txt', ...placed(parts) }),
      { project_id: projectId, path: 'a/b', name: 'x.csv', content_type: 'text/csv' },
      parts.map((part) => part?.[0] ?? 'file').join(),
    )
  const many: Parts = [
    ['tags', '1'],
    null,
    ...Array.from({ length: 18 }, (_, i): [string, string] => ['tags', String(i + 2)]),
    ['visibility', 'public'],
  ]
  t.match(
    await uploadFile(client, placed(many)),
    { tags: Array.from({ length: 19 }, (_, i) => String(i + 1)), visibility: 'public' },
    '20 fields around the file',
  )
  await assertNothingLeft(t, server)
})

t.test('an avatar and a document accept their fields after the file', async (t) => {
  const { client } = await server.person()
  const { id } = (await client.post('/ai/knowledge', { name: 'Notes' })).body
  const { status, body } = await sendForm(client, `/ai/knowledge/${id}/documents`, [
    filePart('notes.md', '# Notes'),
    field('metadata', '{"team":"ops"}'),
    field('name', 'Minutes'),
  ])
  t.equal(status, 201)
  t.match(body, { name: 'Minutes', metadata: { team: 'ops' } })
  const invalid = await sendForm(client, `/ai/knowledge/${id}/documents`, [
    filePart('other.md', '# Others'),
    field('metadata', 'none'),
  ])
  t.equal(invalid.status, 400)
  t.equal(invalid.body.error.details.field, 'metadata')
  t.equal((await sendForm(client, '/user/avatar', [filePart('me.png', picture)])).status, 200)
  const { status: refused, body: avatar } = await sendForm(client, '/user/avatar', [
    filePart('me.png', picture),
    field('name', 'me'),
  ])
  t.equal(refused, 400)
  t.match(avatar.error.details, { field: 'name', constraint: 'additionalProperties' })
  await assertNothingLeft(t, server)
})

t.test('an invalid form is rejected after a large file and leaves nothing behind', async (t) => {
  const { client, key } = await server.person()
  const before = await fileCount(server)
  const bytes = randomBytes(5_000_000)
  const digest = createHash('sha256').update('other').digest('hex')
  const missing = 'prj_01jd6y8m5qe8btc4y5w1r0n3fz'
  const cases: Array<[fields: Record<string, string>, status: number, field: string, constraint: string]> = [
    [{ visibility: 'secret' }, 400, 'visibility', 'enum'],
    [{ path: '../x' }, 400, 'path', 'pattern'],
    [{ metadata: 'none' }, 400, 'metadata', 'type'],
    [{ surprise: '1' }, 400, 'surprise', 'additionalProperties'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 400, 'expires_at', 'future'],
    [{ sha256: digest }, 400, 'sha256', 'sha256'],
    [{ project_id: missing }, 404, 'project_id', 'exists'],
    [{ file: 'text' }, 400, 'file', 'file'],
    [{ path: 'x'.repeat(70_000) }, 400, 'path', 'maxLength'],
  ]
  for (const [fieldsAfter, status, field, constraint] of cases) {
    const reply = await upload(client, { bytes, fieldsAfter })
    t.equal(reply.status, status, field)
    t.match(reply.body.error.details, { field, constraint }, field)
  }
  const all = await upload(client, {
    bytes,
    fieldsAfter: { visibility: 'secret', path: '../x', surprise: '1' },
  })
  t.equal(all.body.error.details.errors.length, 3, 'all problems are reported at once')
  const twice = await upload(client, { bytes, fields: { path: 'a' }, fieldsAfter: { path: 'b' } })
  t.match(twice.body.error.details, { field: 'path', constraint: 'once' })
  const tooMany = await upload(client, {
    bytes,
    fieldsAfter: Array.from({ length: 60 }, (_, i): [string, string] => ['tags', String(i)]),
  })
  t.match(tooMany.body.error.details, { field: 'body', constraint: 'max_parts' })
  const form = new FormData()
  form.append('file', new Blob(['x']), 'a.txt')
  form.append('metadata', new Blob([`{"a":"${'x'.repeat(70_000)}"}`], { type: 'application/json' }))
  const headers = { authorization: `Bearer ${key}` }
  const long = await fetch(`${server.url}/v1/storage/upload`, { method: 'POST', headers, body: form })
  const { error } = (await long.json()) as any
  t.match(error.details, { field: 'metadata', constraint: 'maxLength' }, 'a long part of JSON')
  t.equal(await fileCount(server), before)
  await assertNothingLeft(t, server)
})

t.test('a form has exactly one file', async (t) => {
  const { client } = await server.person()
  const before = await fileCount(server)
  const none = await sendForm(client, '/storage/upload', [field('path', 'a')])
  t.equal(none.status, 400)
  t.match(none.body.error.details, { field: 'file', constraint: 'required' })
  for (const between of [[], [field('path', 'a')]]) {
    const { status, body } = await sendForm(client, '/storage/upload', [
      filePart('a.txt', 'a'),
      ...between,
      filePart('b.txt', 'b'),
      field('visibility', 'public'),
    ])
    t.equal(status, 400)
    t.match(body.error, {
      message: 'A form can have only one file.',
      details: { field: 'file', constraint: 'once' },
    })
  }
  t.equal(await fileCount(server), before)
  await assertNothingLeft(t, server)
})

t.test('invalid fields before the file, and a project without access, are rejected before it', async (t) => {
  const { client, key } = await server.person()
  const other = await server.person()
  const { id: theirs } = (await other.client.post('/projects', { name: 'Theirs' })).body
  for (const [fields, status] of [
    [{ visibility: 'secret' }, 400],
    [{ project_id: theirs }, 403],
  ] as Array<[Record<string, string>, number]>) {
    const { body, boundary } = uploadForm({ bytes: randomBytes(300_000), fields })
    const connection = await openConnection(t, server.url)
    await connection.write(uploadHead(key, boundary, body.length))
    await connection.write(body.subarray(0, 1_000))
    t.equal((await connection.reply()).status, status)
    connection.socket.destroy()
  }
  t.equal((await upload(client, { fieldsAfter: { project_id: theirs } })).status, 403)
  await assertNothingLeft(t, server)
})

t.test('a connection that is cut after the file leaves nothing behind', async (t) => {
  const { key } = await server.person()
  const before = await fileCount(server)
  const { body, boundary } = uploadForm({
    bytes: randomBytes(300_000),
    fieldsAfter: { path: 'a/b', tags: 'x' },
  })
  const incoming = join(server.services.config.storageDir, 'incoming')
  for (const cut of [250, 100, 5]) {
    const connection = await openConnection(t, server.url)
    await connection.write(uploadHead(key, boundary, body.length))
    await connection.write(body.subarray(0, body.length - cut))
    await waitUntil(async () => (await readdir(incoming)).length > 0, 'the upload to start')
    connection.socket.destroy()
    await connection.waitUntilClosed()
  }
  await assertNothingLeft(t, server)
  t.equal(await fileCount(server), before)
})

t.test('the quota holds when the project is given after the file', async (t) => {
  const server = await startServer(t, {
    env: { STORAGE_QUOTA_USER: '50000', STORAGE_QUOTA_PROJECT: '100000' },
  })
  const { client } = await server.person()
  const projectId = (await client.post('/projects', { name: 'Quota' })).body.id
  const send = async (size: number, fieldsAfter = {}): Promise<Reply> =>
    await upload(client, { bytes: randomBytes(size), fieldsAfter })
  const assertFull = ({ status, body }: Reply, what: string): void => {
    t.equal(status, 413, what)
    t.equal(body.error.details.constraint, 'quota', what)
  }
  t.equal((await send(100_000, { project_id: projectId })).status, 201)
  assertFull(await send(1, { project_id: projectId }), 'a full project')
  assertFull(await send(50_001), 'more than the quota of the user')
  t.equal((await send(50_000)).status, 201)
  assertFull(await send(1), 'a full user')
  assertFull(await send(100_001), 'more than either quota')
  t.equal(await fileCount(server), 2)
  await assertNothingLeft(t, server)
})

t.test('an Idempotency-Key does not depend on the order of the parts', async (t) => {
  const { client } = await server.person()
  const headers = { 'idempotency-key': 'any-order' }
  const parts: Parts = [null, ['path', 'a'], ['metadata', '{"k":"v"}'], ['visibility', 'public']]
  const first = await upload(client, { headers, ...placed(parts) })
  t.equal(first.status, 201)
  for (const order of [
    parts.toReversed(),
    [...parts.slice(1), null],
    [...parts.slice(2), ...parts.slice(0, 2)],
  ]) {
    const again = await upload(client, { headers, ...placed(order) })
    t.equal(again.text, first.text)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
  }
  const tags = (...names: string[]): Upload => ({
    fieldsAfter: names.map((name): [string, string] => ['tags', name]),
  })
  const listed = { headers: { 'idempotency-key': 'tags' } }
  t.equal((await upload(client, { ...listed, ...tags('a', 'b') })).status, 201)
  t.equal((await upload(client, { ...listed, ...tags('b', 'a') })).status, 422, 'a list in another order')
})
