// Resumable uploads: the tus protocol, access control, interrupted requests, leases, and the creation of
// exactly one file per upload.
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { fileExpiryTasks } from '../../services/storage/retention.ts'
import { statement } from '../../infra/database/statements.ts'
import { acquireUploadLease } from '../../services/storage/uploads/lease.ts'
import type { Role } from '../support/server/team.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { finishUpload } from '../../services/storage/uploads/finish-upload.ts'
import { deleteExpiredUploads } from '../../services/storage/uploads/retention.ts'
import { accessOf, openUpload, type UploadRequest } from '../../services/storage/uploads/uploads.ts'
import { cuttingProxy } from '../support/http/cutting-proxy.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { download, fileCount, openConnection } from '../support/storage/storage.ts'
import {
  bytesType,
  checksum,
  encodeMetadata,
  tusClient,
  uploadWithTusClient,
  partialFiles,
} from '../support/http/tus.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { UPLOAD_MAX_BYTES: String(64 * 1024 * 1024) } })
const { prisma } = server.services.database
const tusOf = ({ key }: Person) => tusClient(server.url, key)
const endpoint = `${server.url}/v1/storage/uploads`
const eventsOf = async (person: Person) =>
  (await prisma.event.findMany({ where: { userId: person.id }, orderBy: { position: 'asc' } })).map(
    ({ type }) => type,
  )
const idOf = (path: string) => path.split('/').at(-1)!
const rowOf = async (path: string) => await prisma.upload.findUnique({ where: { id: idOf(path) } })

t.test(
  'the official client uploads in one request, in chunks, with the creation, and an empty file',
  async (t) => {
    for (const [bytes, options] of [
      [randomBytes(100_000), {}],
      [randomBytes(100_001), { chunkSize: 10_000 }],
      [randomBytes(5_000), { sendWithCreation: true }],
      [randomBytes(50_000), { sendWithCreation: true, chunkSize: 7_000 }],
      [Buffer.alloc(0), {}],
    ] as const) {
      const person = await server.person()
      const sent = await uploadWithTusClient(bytes, {
        endpoint,
        key: person.key,
        metadata: {
          filename: 'täglich.txt',
          filetype: 'text/plain',
          path: 'a/b',
          tags: 'one, two',
          metadata: '{"ticket":"OPS-12"}',
          relativePath: 'null',
        },
        ...options,
      })
      t.match(sent.fileId, /^file_/)
      const file = await person.client.get(`/storage/files/${sent.fileId}`)
      t.match(file.body, {
        name: 'täglich.txt',
        path: 'a/b',
        tags: ['one', 'two'],
        metadata: { ticket: 'OPS-12' },
        bytes: bytes.length,
        sha256: hash('sha256', bytes),
        declared_content_type: 'text/plain',
        owner_id: person.id,
        visibility: 'private',
      })
      t.ok(
        (
          await download(server.url, `/storage/files/${sent.fileId}/download`, { key: person.key })
        ).bytes.equals(bytes),
      )
      const emitted = await eventsOf(person)
      t.same(emitted, ['upload.created', 'folder.created', 'folder.created', 'file.created'])
      const head = await tusOf(person).head(new URL(sent.url).pathname)
      t.equal(head.status, 200, 'a finished upload can still be read')
      t.match(
        {
          offset: head.headers.get('upload-offset'),
          length: head.headers.get('upload-length'),
          id: head.headers.get('upload-file-id'),
          cache: head.headers.get('cache-control'),
        },
        { offset: String(bytes.length), length: String(bytes.length), id: sent.fileId, cache: 'no-store' },
      )
      t.equal(head.headers.get('tus-resumable'), '1.0.0')
    }
    t.same(await partialFiles(server), [], 'finished uploads leave no partial files')
  },
)

t.test('the official client resumes after 20 broken connections', async (t) => {
  const bytes = randomBytes(4 * 1024 * 1024)
  let left = 20
  const proxy = await cuttingProxy(t, server.url, {
    next: () => (left-- > 0 ? 2_000 + Math.floor(Math.random() * 400_000) : null),
  })
  const person = await server.person()
  const { fileId } = await uploadWithTusClient(bytes, {
    endpoint: `${proxy.url}/v1/storage/uploads`,
    key: person.key,
  })
  t.ok(proxy.cuts >= 10, `${proxy.cuts} connections were cut`)
  t.equal((await person.client.get(`/storage/files/${fileId}`)).body.sha256, hash('sha256', bytes))
  t.same(await eventsOf(person), ['upload.created', 'file.created'])
})

t.test('a client that resumes ends its stalled request', async (t) => {
  const bytes = randomBytes(2 * 1024 * 1024)
  let first = true
  const proxy = await cuttingProxy(t, server.url, {
    how: 'silence',
    next: () => {
      const now = first
      first = false
      return now ? null : 1_000_000
    },
  })
  const person = await server.person()
  const path = await tusOf(person).createUpload(bytes.length)
  first = false
  await t
    .rejects(
      fetch(`${proxy.url}${path}`, {
        method: 'PATCH',
        body: bytes,
        headers: {
          authorization: `Bearer ${person.key}`,
          'tus-resumable': '1.0.0',
          'upload-offset': '0',
          'content-type': bytesType,
        },
      }),
    )
    .catch(() => {})
  // The stalled request may begin to write after the first HEAD. Then the client asks for the offset again.
  const reply = await waitUntil(async () => {
    const head = await tusOf(person).head(path)
    const offset = Number(head.headers.get('upload-offset'))
    const answer = await tusOf(person).append(path, offset, bytes.subarray(offset))
    return answer.status !== 409 && answer
  })
  t.equal(reply.status, 204, reply.text)
  t.equal(
    (await person.client.get(`/storage/files/${reply.headers.get('upload-file-id')}`)).body.sha256,
    hash('sha256', bytes),
  )
})

t.test('bytes received before a disconnect are kept', async (t) => {
  const person = await server.person()
  const path = await tusOf(person).createUpload(1_000_000)
  const wire = await openConnection(t, server.url)
  await wire.write(
    `PATCH ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${person.key}\r\ntus-resumable: 1.0.0\r\n` +
      `upload-offset: 0\r\ncontent-type: ${bytesType}\r\ncontent-length: 1000000\r\n\r\n`,
  )
  await wire.write('a'.repeat(300_000))
  const partialFile = join(server.services.config.storageDir, 'uploads', idOf(path))
  await waitUntil(
    async () => (await stat(partialFile).catch(() => null))?.size === 300_000,
    'the bytes to be written',
  )
  wire.socket.destroy()
  await waitUntil(
    async () => (await rowOf(path))!.received === 300_000n && (await rowOf(path))!.holder === null,
    'the received bytes to be recorded',
  )
  t.equal((await tusOf(person).head(path)).headers.get('upload-offset'), '300000')
  t.equal((await tusOf(person).append(path, 300_000, 'c'.repeat(700_000))).status, 204)
})

t.test('a body must not exceed the length of the upload', async (t) => {
  const person = await server.person()
  const path = await tusOf(person).createUpload(10)
  const tooLong = await tusOf(person).append(path, 0, 'x'.repeat(11))
  t.match(tooLong, { status: 413, body: { error: { code: 'PAYLOAD_TOO_LARGE' } } })
  t.equal(tooLong.headers.get('tus-resumable'), '1.0.0')
  t.equal((await tusOf(person).head(path)).headers.get('upload-offset'), '0', 'no byte is accepted')
  const chunked = await fetch(`${server.url}${path}`, {
    method: 'PATCH',
    duplex: 'half',
    body: new Blob(['x'.repeat(500)]).stream(),
    headers: {
      authorization: `Bearer ${person.key}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': bytesType,
    },
  } as RequestInit)
  t.equal(chunked.status, 413)
  t.equal((await tusOf(person).append(path, 0, '0123456')).headers.get('upload-offset'), '7')
  t.equal((await tusOf(person).append(path, 7, '789')).status, 204)
  t.equal((await tusOf(person).append(path, 10, 'x')).status, 413, 'a finished upload accepts no bytes')
  const again = await tusOf(person).append(path, 10, '')
  t.equal(again.status, 204)
  t.match(again.headers.get('upload-file-id'), /^file_/)
})

t.test('bytes that do not match Upload-Checksum are not accepted', async (t) => {
  const person = await server.person()
  const path = await tusOf(person).createUpload(10)
  for (const algorithm of ['sha1', 'sha256'] as const) {
    const reply = await tusOf(person).append(path, 0, '01234', checksum(algorithm, '01235'))
    t.match(reply, {
      status: 460,
      body: {
        error: { code: 'INVALID_REQUEST', details: { field: 'Upload-Checksum', constraint: 'checksum' } },
      },
    })
    t.equal((await tusOf(person).head(path)).headers.get('upload-offset'), '0', 'no byte is accepted')
  }
  t.equal(
    (await tusOf(person).append(path, 0, '01234', checksum('sha1', '01234'))).headers.get('upload-offset'),
    '5',
  )
  for (const header of ['md5 AAAA', 'sha1 AAAA', 'sha1', `sha256 ${'A'.repeat(27)}=`])
    t.equal((await tusOf(person).append(path, 5, '5', { 'upload-checksum': header })).status, 400, header)
  t.equal((await tusOf(person).append(path, 5, '56789', checksum('sha256', '56780'))).status, 460)
  t.equal((await tusOf(person).append(path, 5, '56789', checksum('sha256', '56789'))).status, 204)
  const created = await tusOf(person).create(4, undefined, checksum('sha1', 'other'), 'text')
  t.equal(created.status, 201)
  t.equal(created.headers.get('upload-offset'), '0', 'the same holds for bytes sent with the creation')
})

t.test('an upload that does not match its sha256 is deleted', async (t) => {
  const person = await server.person()
  const path = await tusOf(person).createUpload(4, { filename: 'a', sha256: hash('sha256', 'text') })
  t.equal((await tusOf(person).append(path, 0, 'text')).status, 204)
  const wrong = await tusOf(person).createUpload(4, { filename: 'a', sha256: hash('sha256', 'test') })
  t.match(await tusOf(person).append(wrong, 0, 'text'), {
    status: 460,
    body: { error: { details: { field: 'sha256', constraint: 'sha256' } } },
  })
  t.equal((await tusOf(person).head(wrong)).status, 404, 'the upload is deleted')
  t.same(await eventsOf(person), ['upload.created', 'file.created', 'upload.created', 'upload.deleted'])
  t.equal((await person.client.get('/storage/usage')).body.files, 1)
})

t.test('a wrong offset is a conflict', async (t) => {
  const person = await server.person()
  const path = await tusOf(person).createUpload(10)
  await tusOf(person).append(path, 0, '01234')
  for (const offset of [0, 4, 6, 10, 11])
    t.match(
      await tusOf(person).append(path, offset, 'x'),
      {
        status: 409,
        body: { error: { code: 'CONFLICT', details: { field: 'Upload-Offset', constraint: 'offset' } } },
      },
      String(offset),
    )
  for (const offset of ['-1', '1e1', '5.5', '0x5', ' ', '99999999999999999999'])
    t.equal((await tusOf(person).append(path, 5, 'x', { 'upload-offset': offset })).status, 400, offset)
  t.equal((await tusOf(person).head(path)).headers.get('upload-offset'), '5')
})

t.test('the tus version, the content type and the length are validated', async (t) => {
  const person = await server.person()
  const path = await tusOf(person).createUpload(10)
  for (const version of ['0.2.2', '2.0.0', '']) {
    for (const reply of [
      await tusOf(person).create(1, undefined, { 'tus-resumable': version }),
      await tusOf(person).append(path, 0, 'x', { 'tus-resumable': version }),
    ]) {
      t.match(reply, {
        status: 412,
        body: {
          error: { code: 'PRECONDITION_FAILED', details: { field: 'Tus-Resumable', constraint: 'version' } },
        },
      })
      t.equal(reply.headers.get('tus-version'), '1.0.0')
    }
  }
  t.equal((await person.client.get(path, { headers: { 'tus-resumable': '0.2.2' } })).status, 412)
  t.equal((await person.client.get(path)).status, 200, 'a plain GET needs no version')
  t.equal(
    (await tusOf(person).append(path, 0, 'x', { 'content-type': 'application/octet-stream' })).status,
    415,
  )
  t.equal((await tusOf(person).append(path, 0, '{}', { 'content-type': 'application/json' })).status, 415)
  const create = async (headers: Record<string, string>) =>
    (
      await person.client.call('POST', '/storage/uploads', {
        headers: { 'tus-resumable': '1.0.0', 'upload-metadata': 'filename YQ==', ...headers },
      })
    ).status
  t.equal(await create({ 'upload-defer-length': '1' }), 400, 'a deferred length is not supported')
  for (const length of ['-1', '1e3', 'x', '1.5', '9007199254740993'])
    t.equal(await create({ 'upload-length': length }), 400, length)
  t.equal(await create({ 'upload-length': String(64 * 1024 * 1024 + 1) }), 413)
})

t.test('OPTIONS returns the tus capabilities without authentication', async (t) => {
  const reply = await fetch(endpoint, { method: 'OPTIONS' })
  t.equal(reply.status, 204)
  const headers = Object.fromEntries(
    ['tus-version', 'tus-extension', 'tus-max-size', 'tus-checksum-algorithm'].map((name) => [
      name,
      reply.headers.get(name),
    ]),
  )
  t.same(headers, {
    'tus-version': '1.0.0',
    'tus-extension': 'creation,creation-with-upload,termination,expiration,checksum',
    'tus-max-size': String(64 * 1024 * 1024),
    'tus-checksum-algorithm': 'sha1,sha256',
  })
})

t.test('a browser on an allowed origin can upload', async (t) => {
  const origin = 'https://app.example.com'
  const open = await startServer(t, { env: { CORS_ORIGINS: origin } })
  const preflight = await fetch(`${open.url}/v1/storage/uploads`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'upload-length,tus-resumable',
    },
  })
  t.equal(preflight.status, 204)
  t.match(Object.fromEntries(preflight.headers), {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': /PATCH/,
    'access-control-allow-headers': /upload-length/,
    'tus-version': '1.0.0',
  })
  const patch = await fetch(`${open.url}/v1/storage/uploads/upl_01jd6y8m5qe8btc4y5w1r0n3fz`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'PATCH' },
  })
  t.match(patch.headers.get('access-control-allow-methods'), /PATCH/)
  const plain = await fetch(`${open.url}/v1/storage/uploads`, { method: 'OPTIONS' })
  t.equal(plain.headers.get('tus-version'), '1.0.0', 'OPTIONS without an origin returns the version too')
  const reply = await fetch(`${open.url}/v1/storage/uploads`, { method: 'POST', headers: { origin } })
  t.match(reply.headers.get('access-control-expose-headers'), /Upload-Offset.*Upload-File-Id/)
})

t.test('an upload to a folder follows it, and takes its path when it is gone', async (t) => {
  const person = await server.person()
  const tus = tusOf(person)
  const folder = (await person.client.post('/storage/folders', { name: 'first' })).body.id
  const begin = async () => await tus.createUpload(4, { filename: 'in.txt', folder_id: folder })
  const fileOf = async (path: string) => {
    t.equal((await tus.append(path, 0, 'data')).status, 204)
    const id = (await tus.head(path)).headers.get('upload-file-id')
    return (await person.client.get(`/storage/files/${id}`)).body
  }
  const [moved, orphan] = [await begin(), await begin()]
  await person.client.put(`/storage/folders/${folder}`, { name: 'second' })
  t.match(await fileOf(moved), { folder_id: folder, path: 'second' })
  await person.client.delete(`/storage/folders/${folder}`)
  const file = await fileOf(orphan)
  t.match(file, { path: 'first' })
  t.not(file.folder_id, folder)
  const metadata = { filename: 'in.txt', folder_id: folder }
  t.equal((await tus.create(4, metadata)).status, 404, 'a folder that is gone')
})

t.test('invalid metadata is rejected', async (t) => {
  const person = await server.person()
  const raw = async (header: string) =>
    await tusOf(person).create(1, undefined, { 'upload-metadata': header })
  for (const name of [
    '../x',
    'a/b',
    'a\\b',
    '.',
    '..',
    '',
    ' ',
    'a\0b',
    'a\u202eb',
    'a\nb',
    'x'.repeat(256),
  ]) {
    t.match(await tusOf(person).create(1, { filename: name }), { status: 400 }, JSON.stringify(name))
  }
  const invalid: Array<Record<string, string>> = [
    { path: '../x' },
    { path: '//x' },
    { visibility: 'secret' },
    { project_id: 'prj_x' },
    { expires_at: 'soon' },
    { expires_at: '2020-01-01T00:00:00Z' },
    { sha256: 'abc' },
    { metadata: '{' },
    { metadata: '[]' },
    { metadata: '{"a":1}' },
    { metadata: '{"a":"\\u0000"}' },
    { metadata: '{"a":"\\ud800"}' },
    { metadata: '{"__proto__":"x"}' },
    { tags: '["a",1]' },
    { tags: 'a,a' },
    { tags: 'a,,b' },
    { tags: '' },
    { tags: '["a"' },
    { tags: '["a,b"]' },
    { tags: 'x'.repeat(51) },
  ]
  for (const metadata of invalid) {
    t.match(
      await tusOf(person).create(1, { filename: 'a', ...metadata }),
      { status: 400, body: { error: { code: 'INVALID_REQUEST' } } },
      JSON.stringify(metadata),
    )
  }
  for (const header of [
    'filename',
    'filename YQ',
    'filename Y Q',
    'filename YQ==,filename Yg==',
    'filename YQ==,,',
    'filename /////w==',
    'fi\u00e4 YQ==,filename YQ==',
    'name YQ==,constructor',
    '=',
    ',',
  ]) {
    const { status } = await raw(header)
    t.equal(status, header === 'name YQ==,constructor' ? 201 : 400, header)
  }
  const kept = await tusOf(person).create(1, {
    name: 'one',
    filename: 'two',
    owner_id: 'usr_x',
    __proto__2: 'x',
    constructor: 'y',
  })
  t.equal(kept.body.name, 'one')
  const upload = await person.client.get(kept.headers.get('location')!)
  t.equal(
    upload.headers.get('upload-metadata'),
    encodeMetadata({ name: 'one', filename: 'two', owner_id: 'usr_x', __proto__2: 'x', constructor: 'y' }),
    'Upload-Metadata is returned unchanged',
  )
  const bracket = 'a"; x=\'<script>.txt'
  const path = await tusOf(person).createUpload(4, { filename: bracket, filetype: 'text/html\r\nx: y' })
  const done = await tusOf(person).append(path, 0, 'text')
  t.equal(
    (await person.client.get(`/storage/files/${done.headers.get('upload-file-id')}`)).body.name,
    bracket,
  )
})

t.test('the bytes of concurrent requests do not mix', async (t) => {
  const person = await server.person()
  const bytes = Buffer.alloc(3_000_000, 'a')
  const path = await tusOf(person).createUpload(bytes.length)
  const replies = await Promise.all(
    Array.from({ length: 4 }, (_, i) => tusOf(person).append(path, 0, Buffer.alloc(1_000_000, String(i)))),
  )
  const statuses = replies.map(({ status }) => status).sort()
  t.same(statuses, [204, 409, 409, 409])
  t.equal((await tusOf(person).head(path)).headers.get('upload-offset'), '1000000')
  const winner = replies.findIndex(({ status }) => status === 204)
  const last = await tusOf(person).append(path, 1_000_000, Buffer.alloc(2_000_000, String(winner)))
  t.equal(
    (await person.client.get(`/storage/files/${last.headers.get('upload-file-id')}`)).body.sha256,
    hash('sha256', Buffer.alloc(3_000_000, String(winner))),
  )
})

t.test('concurrent and repeated last bytes create one file and one event', async (t) => {
  const second = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { STORAGE_DIR: server.services.config.storageDir },
  })
  for (let round = 0; round < 5; round++) {
    const person = await server.person()
    const path = await tusOf(person).createUpload(10)
    await tusOf(person).append(path, 0, '01234')
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (i % 2 === 0 ? tusOf(person) : tusClient(second.url, person.key)).append(path, 5, '56789'),
      ),
    )
    t.equal(replies.filter(({ status }) => status === 204).length, 1)
    t.ok(replies.every(({ status }) => status === 204 || status === 409))
    const id = replies.find(({ status }) => status === 204)!.headers.get('upload-file-id')
    const again = await Promise.all(Array.from({ length: 8 }, () => tusOf(person).append(path, 10, '')))
    t.same(
      [...new Set(again.map(({ status, headers }) => `${status} ${headers.get('upload-file-id')}`))],
      [`204 ${id}`],
    )
    t.equal((await person.client.get('/storage/usage')).body.files, 1)
    t.same(await eventsOf(person), ['upload.created', 'file.created'])
  }
})

t.test('an upload can be finished after a crash between its last byte and the file', async (t) => {
  const person = await server.person()
  const finish = async (sends: 'the last byte' | 'an empty body'): Promise<void> => {
    const path = await tusOf(person).createUpload(10)
    await tusOf(person).append(path, 0, '01234')
    // The state after the crash: all bytes are written and recorded, and the lease is still held.
    await writeFile(join(server.services.config.storageDir, 'uploads', idOf(path)), '0123456789')
    await prisma.upload.update({
      where: { id: idOf(path) },
      data: { received: 10n, holder: 'crashed', heldUntil: new Date(Date.now() + 3_000) },
    })
    const head = await tusOf(person).head(path)
    t.equal(head.headers.get('upload-offset'), '9', 'the client does not consider the upload finished')
    t.equal(head.headers.get('upload-file-id'), null)
    const reply =
      sends === 'an empty body'
        ? await tusOf(person).append(path, 10, '')
        : await tusOf(person).append(path, 9, '9')
    t.equal(reply.status, 204, reply.text)
    t.equal(reply.headers.get('upload-offset'), '10')
    t.equal(
      (await person.client.get(`/storage/files/${reply.headers.get('upload-file-id')}`)).body.sha256,
      hash('sha256', '0123456789'),
    )
  }
  // Each waits for the lease to expire.
  await Promise.all([finish('the last byte'), finish('an empty body')])
  t.equal((await person.client.get('/storage/usage')).body.files, 2)
})

t.test('a server that was suspended does not write to uploads whose leases it lost', async (t) => {
  const { url: DATABASE_URL } = await createTestDatabase(t)
  const env = { DATABASE_URL, STORAGE_DIR: await mkdtemp(join(tmpdir(), 'platform-paused-')) }
  t.teardown(() => rm(env.STORAGE_DIR, { recursive: true, force: true }))
  const one = await spawnServer(t, env)
  const two = await startServer(t, { databaseUrl: DATABASE_URL, env: { STORAGE_DIR: env.STORAGE_DIR } })
  const content = randomBytes(100_000)
  const rest = content.subarray(1_000)
  const suspended = await Promise.all(
    [rest, rest.subarray(0, 50_000)].flatMap((sent) =>
      [checksum('sha256', rest), {}].map(async (headers) => {
        const path = await tusClient(one.url, bootstrapKey).createUpload(content.length)
        await tusClient(one.url, bootstrapKey).append(path, 0, content.subarray(0, 1_000))
        const wire = await openConnection(t, one.url)
        const lines = [
          `PATCH ${path} HTTP/1.1`,
          'host: x',
          `authorization: Bearer ${bootstrapKey}`,
          'tus-resumable: 1.0.0',
          'upload-offset: 1000',
          `content-type: ${bytesType}`,
          `content-length: ${rest.length}`,
          ...Object.entries(headers).map((pair) => pair.join(': ')),
        ]
        await wire.write(`${lines.join('\r\n')}\r\n\r\n`)
        await wire.write(Buffer.alloc(20_000, 'x'))
        await waitUntil(
          async () => (await stat(join(env.STORAGE_DIR, 'uploads', idOf(path)))).size === 21_000,
          'the bytes to be written',
        )
        return { path, wire, sent }
      }),
    ),
  )
  one.child.kill('SIGSTOP')
  const other = tusClient(two.url, bootstrapKey)
  const replies = await Promise.all(
    suspended.map(async ({ path, sent }) => {
      for (let i = 0; ; i++) {
        const offset = Number((await other.head(path)).headers.get('upload-offset'))
        const reply = await other.append(path, offset, offset === 1_000 ? sent : Buffer.alloc(0))
        if (reply.status !== 409 || i === 3) return reply
      }
    }),
  )
  t.same(
    replies.map(({ status }) => status),
    [204, 204, 204, 204],
  )
  one.child.kill('SIGCONT')
  await Promise.all(
    suspended.map(async ({ wire }) => {
      await wire.write(Buffer.alloc(20_000, 'x'))
      t.equal((await wire.reply()).status, 409)
    }),
  )
  for (const [i, { path, sent }] of suspended.entries()) {
    const last =
      sent.length === rest.length
        ? replies[i]
        : await other.append(path, 1_000 + sent.length, rest.subarray(sent.length))
    t.equal(last.status, 204, last.text)
    const { bytes } = await download(
      two.url,
      `/storage/files/${last.headers.get('upload-file-id')}/download`,
      { key: bootstrapKey },
    )
    t.ok(bytes.equals(content), 'acknowledged bytes are unchanged')
  }
})

t.test('writes after the loss of a lease go to an unused file', async (t) => {
  const { database, storage } = server.services
  const person = await server.person()
  for (const pieces of [['56789'], ['567', '89']]) {
    const path = await tusOf(person).createUpload(10)
    await tusOf(person).append(path, 0, '01234')
    const lease = await acquireUploadLease(database, idOf(path))
    const writer = await storage.partialFiles.open(lease.tempName, 5)
    await writer.write(Buffer.from('x'))
    await prisma.upload.update({ where: { id: idOf(path) }, data: { heldUntil: new Date(Date.now() - 1) } })
    t.equal((await tusOf(person).append(path, 4, 'x')).status, 409)
    t.equal(
      (await rowOf(path))!.holder === null,
      false,
      'a rejected request in between does not clear the expired holder',
    )
    let offset = 5
    let reply
    for (const piece of pieces) {
      reply = await tusOf(person).append(path, offset, piece)
      t.equal(reply.status, 204, reply.text)
      offset += piece.length
      await writer.write(Buffer.from('xxxx'))
      await writer.sync()
      await (await storage.partialFiles.open(lease.tempName, 0)).close()
      await t.rejects(lease.recordProgress(0), { code: 'CONFLICT' })
      await t.rejects(lease.relocate('other'), { code: 'CONFLICT' })
    }
    await writer.close()
    await lease.release()
    const { bytes } = await download(
      server.url,
      `/storage/files/${reply!.headers.get('upload-file-id')}/download`,
      { key: person.key },
    )
    t.equal(bytes.toString(), '0123456789')
    t.equal((await rowOf(path))!.holder, null)
    await storage.partialFiles.delete([lease.tempName])
  }
})

t.test('a request that has lost the lease does not delete the upload on a sha256 mismatch', async (t) => {
  const { database } = server.services
  const person = await server.person()
  const path = await tusOf(person).createUpload(4, { filename: 'a', sha256: hash('sha256', 'test') })
  await writeFile(join(server.services.config.storageDir, 'uploads', idOf(path)), 'text')
  const lease = await acquireUploadLease(database, idOf(path))
  await prisma.upload.update({ where: { id: idOf(path) }, data: { holder: 'other' } })
  const principal = { userId: person.id, accountId: person.id, serviceAccountId: null, projectIds: null }
  const access = accessOf({ principal } as UploadRequest, idOf(path))
  const upload = await openUpload(database, access)
  await t.rejects(finishUpload(database, server.services, access, upload, lease), {
    code: 'CONFLICT',
  })
  t.ok(await rowOf(path), 'the upload belongs to the new holder')
  t.same(await eventsOf(person), ['upload.created'])
  await lease.release()
  await prisma.upload.update({ where: { id: idOf(path) }, data: { holder: null, heldUntil: null } })
})

t.test('a lease is renewed every three seconds and notices a waiting request within one', async (t) => {
  const { database } = server.services
  const person = await server.person()
  const path = await tusOf(person).createUpload(4)
  const renewals: number[] = []
  const sql = (async (query: { text: string }, values: unknown[]) => {
    if (/SET held_until/.test(query.text)) renewals.push(performance.now())
    return await database.sql(query as never, values as never)
  }) as typeof database.sql
  const lease = await acquireUploadLease({ ...database, sql }, idOf(path))
  let requestedAt = 0
  const noticed = new Promise<number>((resolve) =>
    lease.onHeartbeat((isRequested) => {
      if (isRequested) resolve(performance.now())
    }),
  )
  await sleep(4_500)
  t.equal(renewals.length, 1)
  requestedAt = performance.now()
  const [, head] = await Promise.all([
    noticed.then(async (at) => {
      t.ok(at - requestedAt < 2_000)
      await lease.release()
    }),
    tusOf(person).head(path),
  ])
  t.equal(head.status, 200)
})

t.test(
  'a creation whose bytes are rejected or cut off is undone, unless it has an Idempotency-Key',
  async (t) => {
    const person = await server.person()
    const count = () => prisma.upload.count({ where: { userId: person.id } })
    const headers = {
      authorization: `Bearer ${person.key}`,
      'tus-resumable': '1.0.0',
      'upload-length': '10',
      'upload-metadata': encodeMetadata({ filename: 'a' }),
      'content-type': bytesType,
    }
    const create = (more: Record<string, string>) =>
      fetch(endpoint, {
        method: 'POST',
        duplex: 'half',
        body: new Blob(['x'.repeat(500)]).stream(),
        headers: { ...headers, ...more },
      } as RequestInit)
    t.equal((await create({})).status, 413)
    t.equal(await count(), 0)
    t.same(await eventsOf(person), ['upload.created', 'upload.deleted'])
    const wire = await openConnection(t, server.url)
    await wire.write(
      `POST /v1/storage/uploads HTTP/1.1\r\nhost: x\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}content-length: 10\r\n\r\n01234`,
    )
    await waitUntil(async () => (await count()) === 1, 'the upload to be created')
    wire.socket.destroy()
    await waitUntil(async () => (await count()) === 0, 'the upload to be deleted')
    t.equal((await create({ 'idempotency-key': 'again' })).status, 413)
    t.equal(await count(), 1)
    const again = await create({ 'idempotency-key': 'again' })
    t.equal(again.status, 201)
    t.equal((await tusOf(person).append(again.headers.get('location')!, 0, '0123456789')).status, 204)
  },
)

t.test('only the creator has access to an upload outside of projects', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const path = await tusOf(person).createUpload(10)
  for (const [who, status] of [
    [other, 403],
    [server.admin, 403],
  ] as const) {
    t.equal((await tusOf(who).append(path, 0, 'x')).status, status)
    t.equal((await tusOf(who).head(path)).status, status)
    t.equal((await tusOf(who).delete(path)).status, status)
  }
  const missing = '/v1/storage/uploads/upl_01jd6y8m5qe8btc4y5w1r0n3fz'
  t.equal((await tusOf(person).append(missing, 0, 'x')).status, 404)
  t.equal((await tusOf(person).append('/v1/storage/uploads/..%2f..%2fx', 0, 'x')).status, 404)
  for (const scopes of [['storage:read'], ['projects:write']] as const) {
    const weak = await server.person({ scopes: [...scopes] })
    t.equal((await tusOf(weak).create(1)).status, 403)
  }
  t.equal((await tusClient(server.url, 'plat_live_x').create(1)).status, 401)
  t.equal((await tusOf(person).head(path)).headers.get('upload-offset'), '0')
})

t.test('the role and the state of the project are checked with every request', async (t) => {
  const owner = await server.person()
  const { body: project } = await owner.client.post('/projects', { name: 'Files' })
  const add = async (role: Role) => {
    const person = await server.person()
    return { person, member: await createMember(server, project.id, person.id, role) }
  }
  const [viewer, editor, second] = [await add('viewer'), await add('editor'), await add('editor')]
  const metadata = { filename: 'a.txt', project_id: project.id }
  t.equal((await tusOf(viewer.person).create(10, metadata)).status, 403)
  t.equal((await tusOf(await server.person()).create(10, metadata)).status, 403)
  t.equal(
    (await tusOf(owner).create(10, { filename: 'a', project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' })).status,
    404,
  )
  const path = await tusOf(editor.person).createUpload(10, metadata)
  t.equal((await tusOf(viewer.person).append(path, 0, 'x')).status, 403)
  t.equal((await tusOf(editor.person).append(path, 0, '01')).status, 204)
  t.equal((await tusOf(second.person).append(path, 2, '23')).status, 204, 'another editor resumes')
  await owner.client.delete(`/projects/${project.id}/members/${editor.member}`)
  t.equal((await tusOf(editor.person).append(path, 4, '45')).status, 403, 'a removed member cannot')
  await owner.client.post(`/projects/${project.id}/archive`)
  t.match(await tusOf(second.person).append(path, 4, '45'), {
    status: 409,
    body: { error: { code: 'INVALID_STATE' } },
  })
  t.equal((await tusOf(second.person).head(path)).status, 200)
  await owner.client.post(`/projects/${project.id}/unarchive`)
  const done = await tusOf(second.person).append(path, 4, '456789')
  t.match((await owner.client.get(`/storage/files/${done.headers.get('upload-file-id')}`)).body, {
    owner_id: editor.person.id,
    project_id: project.id,
  })
  const types = (
    await prisma.event.findMany({ where: { projectId: project.id, type: { startsWith: 'upload.' } } })
  ).map(({ type, role }) => `${type} ${role}`)
  t.same(types, ['upload.created editor'])
  const restricted = await server.person({ projectIds: [project.id] })
  t.equal(
    (await tusOf(restricted).create(1)).status,
    403,
    'a key restricted to projects cannot use the own workspace',
  )
})

t.test('unfinished uploads count towards the quota', async (t) => {
  const small = await startServer(t, { env: { STORAGE_QUOTA_USER: '1000' } })
  const person = await small.person()
  const tus = tusClient(small.url, person.key)
  t.match(await tus.create(1001), {
    status: 413,
    body: { error: { code: 'PAYLOAD_TOO_LARGE', details: { constraint: 'quota' } } },
  })
  const racers = await Promise.all(Array.from({ length: 10 }, () => tus.create(300)))
  t.equal(
    racers.filter(({ status }) => status === 201).length,
    3,
    'concurrent creations do not exceed the quota',
  )
  const [first, second] = racers
    .filter(({ status }) => status === 201)
    .map(({ headers }) => headers.get('location')!)
  t.equal((await tus.delete(first)).status, 204)
  const again = await tus.createUpload(300)
  for (const path of [second, again]) t.equal((await tus.append(path, 0, 'x'.repeat(300))).status, 204)
  t.equal((await tus.create(200)).status, 413)
  const last = await tus.createUpload(100)
  await small.services.database.prisma.storageUsage.update({
    where: { workspaceId: person.id },
    data: { bytes: 950n },
  })
  t.match(
    await tus.append(last, 0, 'x'.repeat(100)),
    { status: 413, body: { error: { details: { constraint: 'quota' } } } },
    'the quota is checked again when the upload is finished',
  )
  t.equal(await fileCount(small), 2)
  await small.services.database.prisma.storageUsage.update({
    where: { workspaceId: person.id },
    data: { bytes: 600n },
  })
  t.equal(
    (await tus.append(last, 99, 'x')).status,
    204,
    'the upload can be finished once the quota allows it',
  )
})

t.test('a deleted upload is gone with its bytes', async (t) => {
  const person = await server.person()
  const path = await tusOf(person).createUpload(10)
  await tusOf(person).append(path, 0, '01234')
  t.ok((await partialFiles(server)).includes(idOf(path)))
  t.equal((await person.client.delete(path, { headers: { 'if-match': '"other"' } })).status, 412)
  const reply = await tusOf(person).delete(path)
  t.equal(reply.status, 204)
  t.equal(reply.headers.get('tus-resumable'), '1.0.0')
  t.notOk((await partialFiles(server)).includes(idOf(path)), 'the partial file is deleted')
  t.equal((await tusOf(person).head(path)).status, 404)
  t.equal((await tusOf(person).append(path, 5, 'x')).status, 404)
  t.same(await eventsOf(person), ['upload.created', 'upload.deleted'])
  const finished = await tusOf(person).createUpload(1)
  const done = await tusOf(person).append(finished, 0, 'x')
  t.equal((await tusOf(person).delete(finished)).status, 204)
  t.equal(
    (await person.client.get(`/storage/files/${done.headers.get('upload-file-id')}`)).status,
    200,
    'the file of a finished upload stays',
  )
})

t.test('an expired upload is rejected and deleted by retention', async (t) => {
  const person = await server.person()
  const paths = [
    await tusOf(person).createUpload(10),
    await tusOf(person).createUpload(10),
    await tusOf(person).createUpload(3),
  ]
  const [path, kept, finished] = paths
  for (const one of paths) await tusOf(person).append(one, 0, '012')
  t.ok(
    Date.parse((await tusOf(person).head(path)).headers.get('upload-expires')!) > Date.now() + 23 * 3_600_000,
  )
  await prisma.upload.updateMany({
    where: { id: { in: [idOf(path), idOf(finished)] } },
    data: { expiresAt: new Date(Date.now() - 1000) },
  })
  t.match(await tusOf(person).append(path, 3, '3'), {
    status: 410,
    body: { error: { code: 'GONE', details: { constraint: 'expired' } } },
  })
  t.equal((await tusOf(person).head(path)).status, 410)
  await writeFile(
    join(server.services.config.storageDir, 'uploads', 'upl_01jd6y8m5qe8btc4y5w1r0n3fz'),
    'leftover',
  )
  const { database, storage, events } = server.services
  const [copy, orphan] = [kept, path].map((one) => `${idOf(one)}.${randomUUID()}`)
  for (const name of [copy, orphan])
    await writeFile(join(server.services.config.storageDir, 'uploads', name), 'leftover')
  t.match(
    await runRetention(database, { tasks: fileExpiryTasks({ storage, events }) }),
    { uploads: 4 },
    'the retention task deletes them',
  )
  t.same(await deleteExpiredUploads(database, { storage, events }), { removed: 0, more: false })
  t.equal(await rowOf(path), null)
  const left = await partialFiles(server)
  t.ok(left.includes(idOf(kept)), 'an upload that has not expired keeps its partial file')
  t.same(
    left.filter((id) => id.startsWith(idOf(path)) || id === 'upl_01jd6y8m5qe8btc4y5w1r0n3fz'),
    [],
    'all other partial files are deleted',
  )
  t.equal((await tusOf(person).head(path)).status, 404)
  t.equal((await tusOf(person).append(kept, 3, '3456789')).status, 204)
  t.equal((await eventsOf(person)).filter((type) => type === 'upload.deleted').length, 1)
})

t.test('a creation repeated with its Idempotency-Key creates one upload', async (t) => {
  const person = await server.person()
  const idempotent = { 'idempotency-key': 'once' }
  const first = await tusOf(person).create(4, undefined, idempotent, 'text')
  t.equal(first.headers.get('upload-offset'), '4')
  const again = await tusOf(person).create(4, undefined, idempotent, 'text')
  t.equal(again.status, 201)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(again.headers.get('location'), first.headers.get('location'))
  t.equal((await tusOf(person).create(5, undefined, idempotent, 'text')).status, 422)
  t.equal((await tusOf(person).create(4, { filename: 'other' }, idempotent, 'text')).status, 422)
  t.same(await eventsOf(person), ['upload.created', 'file.created'])
})

const countLeases = statement<{ n: number }>(
  'SELECT count(*)::int AS n FROM uploads WHERE holder IS NOT NULL',
)

t.test('no lease remains after the requests', async (t) => {
  t.same(await server.services.database.sql(countLeases, []), [{ n: 0 }])
})
