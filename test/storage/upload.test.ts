// Uploads: fields, quotas, idempotency, interruptions and memory use. A rejected or interrupted upload leaves
// nothing behind.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import {
  download,
  fileCount,
  uploadForm,
  multipart,
  assertNothingLeft,
  openConnection,
  upload,
  uploadFile,
  uploadHead,
} from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const digest = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString()

// Shared by the tests with these settings.
const server = await startServer(t)
const limited = await startServer(t, { env: { UPLOAD_MAX_BYTES: '100000' } })

async function newProject(person: Person): Promise<string> {
  return (await person.client.post('/projects', { name: 'Files' })).body.id
}

t.test('an upload with all fields', async (t) => {
  const person = await server.person()
  const projectId = await newProject(person)
  const bytes = randomBytes(100_000)
  const expiresAt = inAnHour()
  const { status, body, headers } = await upload(person.client, {
    bytes,
    name: 'ignored.bin',
    type: 'Application/X-Thing; a=b',
    fields: [
      ['name', 'report é.bin'],
      ['project_id', projectId],
      ['path', 'reports/2026'],
      ['visibility', 'public'],
      ['metadata', '{"ticket": "OPS-12"}'],
      ['tags', 'q4'],
      ['tags', 'year end'],
      ['expires_at', expiresAt],
      ['sha256', digest(bytes)],
    ],
  })
  t.equal(status, 201)
  t.same(body, {
    id: body.id,
    project_id: projectId,
    name: 'report é.bin',
    folder_id: body.folder_id,
    path: 'reports/2026',
    content_type: 'application/octet-stream',
    declared_content_type: 'application/x-thing',
    bytes: bytes.length,
    sha256: digest(bytes),
    etag: `"${digest(bytes)}"`,
    content_version: 1,
    content_updated_at: body.created_at,
    visibility: 'public',
    owner_id: person.id,
    metadata: { ticket: 'OPS-12' },
    tags: ['q4', 'year end'],
    download_count: 0,
    expires_at: expiresAt,
    trashed_at: null,
    purge_at: null,
    created_by: person.id,
    created_at: body.created_at,
    updated_at: body.created_at,
  })
  t.equal(headers.get('location'), `${server.url}/v1/storage/files/${body.id}`)
  t.same((await person.client.get(`/storage/files/${body.id}`)).body, body)
  t.ok(
    (await download(server.url, `/storage/files/${body.id}/download`, person)).bytes.equals(bytes),
    'the downloaded bytes are the same',
  )
  const { body: events } = await person.client.get('/events?type=file.created')
  t.same(
    events.data.map(({ data }: any) => data.object),
    [body],
    'one event is emitted',
  )
  t.same((await person.client.get(`/storage/usage?project_id=${projectId}`)).body, {
    project_id: projectId,
    files: 1,
    bytes: bytes.length,
    trash: { files: 0, bytes: 0 },
    versions: { count: 0, bytes: 0 },
    reserved_bytes: 0,
    quota_bytes: server.services.config.storageQuotaProject,
  })
  await assertNothingLeft(t, server)
})

t.test('an upload needs nothing but the file', async (t) => {
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes: '', name: 'x', type: null })
  t.match(file, {
    name: 'x',
    path: '',
    bytes: 0,
    sha256: digest(''),
    visibility: 'private',
    project_id: null,
    metadata: {},
    tags: [],
    expires_at: null,
  })
  t.equal((await download(server.url, `/storage/files/${file.id}/download`, { key })).bytes.length, 0)
  await assertNothingLeft(t, server)
})

t.test('fields precede the file in any order, and an error names the invalid field', async (t) => {
  const { client } = await server.person()
  const before = await fileCount(server)
  const fields: Array<[string, string]> = [
    ['visibility', 'public'],
    ['name', 'a'],
    ['path', 'b/c'],
    ['metadata', '{}'],
    ['tags', 'x'],
  ]
  for (let i = 0; i < fields.length; i++) {
    fields.push(fields.shift()!)
    t.match(
      await uploadFile(client, { fields }),
      { visibility: 'public', name: 'a', path: 'b/c', metadata: {}, tags: ['x'] },
      fields.map(([name]) => name).join(),
    )
  }
  const wrong: Record<string, string> = {
    visibility: 'secret',
    name: 'a/b',
    path: '../x',
    metadata: '{"a": 1}',
    sha256: 'abc',
    expires_at: 'tomorrow',
    project_id: 'prj_1',
    owner_id: 'usr_01jd6y8m5qe8btc4y5w1r0n3fz',
    bytes: '1',
  }
  for (const [name, value] of Object.entries(wrong)) {
    const { status, body } = await upload(client, { fields: { [name]: value } })
    t.equal(status, 400, name)
    t.match(
      body.error.details.errors[0],
      { field: name.replace('metadata', 'metadata.a'), location: 'body' },
      name,
    )
  }
  const all = await upload(client, { fields: wrong })
  t.ok(all.body.error.details.errors.length >= Object.keys(wrong).length, 'all errors are reported at once')
  t.equal(
    (await upload(client, { fields: { expires_at: '2020-01-01T00:00:00Z' } })).body.error.details.field,
    'expires_at',
  )
  t.equal(await fileCount(server), before + 5)
  await assertNothingLeft(t, server)
})

t.test('a file without a name is rejected, and a failed insert leaves no blob', async (t) => {
  const server = await startServer(t, { env: { STORAGE_QUOTA_USER: '100000' } })
  const { client } = await server.person()
  const nameless = (fields: Array<{ head: string; body: string }> = []) =>
    client.call('POST', '/storage/upload', {
      raw: multipart(
        [
          ...fields,
          {
            head: ['Content-Disposition: form-data; name="file"', 'Content-Type: application/octet-stream'],
            body: Buffer.alloc(90_000),
          },
        ],
        'B',
      ),
      headers: { 'content-type': 'multipart/form-data; boundary=B' },
    })
  for (let i = 0; i < 3; i++) {
    const { status, body } = await nameless()
    t.equal(status, 400)
    t.match(body.error.details, { field: 'name', constraint: 'required' })
  }
  t.equal(
    (await nameless([{ head: 'Content-Disposition: form-data; name="name"', body: 'a.bin' }])).status,
    201,
  )
  await server.services.database.pool.query("ALTER TABLE files ADD CHECK (path <> 'rejected') NOT VALID")
  for (let i = 0; i < 3; i++) t.equal((await upload(client, { fields: { path: 'rejected' } })).status, 500)
  t.equal(await fileCount(server), 1)
  await assertNothingLeft(t, server)
})

t.test('the SHA-256 is verified, as a field and as a header', async (t) => {
  const { client } = await server.person()
  const before = await fileCount(server)
  const right = digest('content')
  const wrong = digest('other')
  t.equal((await upload(client, { fields: { sha256: right } })).status, 201)
  t.equal((await upload(client, { headers: { 'x-content-sha256': right } })).status, 201)
  for (const content of [
    { fields: { sha256: wrong } },
    { headers: { 'x-content-sha256': wrong } },
    { fields: { sha256: wrong }, headers: { 'x-content-sha256': right } },
  ]) {
    const { status, body } = await upload(client, content)
    t.equal(status, 400, JSON.stringify(content))
    t.match(body.error.details, { field: 'sha256', constraint: 'sha256' })
  }
  t.equal((await upload(client, { headers: { 'x-content-sha256': right.toUpperCase() } })).status, 400)
  t.equal(await fileCount(server), before + 2)
  await assertNothingLeft(t, server)
})

t.test('Idempotency-Key', async (t) => {
  const server = await startServer(t, { env: { STORAGE_QUOTA_USER: '1000' } })
  const { client, key } = await server.person()
  const headers = { 'idempotency-key': 'once' }

  t.test('a repeated request has the same response and creates no second file', async (t) => {
    const bytes = randomBytes(1000)
    const first = await upload(client, { bytes, headers })
    t.equal(first.status, 201)
    t.equal(first.headers.get('idempotent-replayed'), null)
    const again = await upload(client, { bytes, headers })
    t.equal(again.status, 201, 'even when the first request has filled the quota')
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.equal(again.text, first.text)
    t.equal(again.headers.get('etag'), first.headers.get('etag'))
    t.equal(again.headers.get('location'), first.headers.get('location'))
    for (const other of [
      { bytes: randomBytes(1000) },
      { bytes, name: 'other.bin' },
      { bytes, fields: { path: 'x' } },
      { bytes, type: 'text/plain' },
    ]) {
      const { status, body } = await upload(client, { headers, ...other })
      t.equal(status, 422, Object.keys(other).join())
      t.equal(body.error.code, 'IDEMPOTENCY_MISMATCH')
    }
    t.equal(await fileCount(server), 1)
    const { status, body } = await upload(client, { bytes: 'x', headers: { 'idempotency-key': 'another' } })
    t.equal(status, 413)
    t.equal(body.error.details.constraint, 'quota')
    await assertNothingLeft(t, server)
  })

  t.test('a retried transaction returns the response that a concurrent request has stored', async (t) => {
    const server = await startServer(t)
    const { client } = await server.person()
    // The first insert of a response fails like a deadlock, late enough for another request to come first.
    await server.services.database.pool.query(`
      CREATE SEQUENCE tries;
      CREATE FUNCTION fail_once () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') = 1 THEN
          PERFORM pg_sleep(0.3);
          RAISE EXCEPTION 'once' USING ERRCODE = '40P01';
        END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER fail_once BEFORE INSERT ON idempotency_records
        FOR EACH ROW EXECUTE FUNCTION fail_once()`)
    const repeated = upload(client, { headers })
    let other = await upload(client, { headers })
    while (other.status === 409) other = await upload(client, { headers })
    const created = [await repeated, other].filter(({ status }) => status === 201)
    t.ok(created.length > 0)
    for (const { body } of created)
      t.equal((await client.get(`/storage/files/${body.id}`)).status, 200, 'the returned file exists')
    t.equal(await fileCount(server), 1)
    await assertNothingLeft(t, server)
  })

  t.test('an error response is not stored', async (t) => {
    const { client } = await server.person()
    t.equal((await upload(client, { fields: { sha256: digest('other') }, headers })).status, 400)
    t.equal((await upload(client, { headers })).status, 201)
    await assertNothingLeft(t, server)
  })

  t.test('50 concurrent requests create one file', async (t) => {
    const person = await server.person()
    const before = await fileCount(server)
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => upload(person.client, { bytes: 'the same', headers })),
    )
    const created = replies.filter(({ status }) => status === 201)
    t.ok(created.length > 0)
    t.equal(new Set(created.map(({ text }) => text)).size, 1, 'all responses are the same')
    t.equal(
      created.filter(({ headers }) => headers.get('idempotent-replayed') === null).length,
      1,
      'one of them is not a replay',
    )
    for (const { status, body } of replies.filter(({ status }) => status !== 201)) {
      t.equal(status, 409)
      t.equal(body.error.details.constraint, 'in_progress')
    }
    t.equal(await fileCount(server), before + 1)
    t.equal((await person.client.get('/events?type=file.created')).body.data.length, 1)
    await assertNothingLeft(t, server)
  })

  t.equal((await download(server.url, '/storage/usage', { key })).status, 200)
})

t.test('quotas', async (t) => {
  const server = await startServer(t, {
    env: { STORAGE_QUOTA_USER: '100000', STORAGE_QUOTA_PROJECT: '50000' },
  })

  t.test('the quota is exact, and a deleted file frees it', async (t) => {
    const { client } = await server.person()
    const { id } = await uploadFile(client, { bytes: randomBytes(60_000) })
    const over = await upload(client, { bytes: randomBytes(40_001) })
    t.equal(over.status, 413)
    t.match(over.body.error, { code: 'PAYLOAD_TOO_LARGE', details: { constraint: 'quota' } })
    t.equal((await upload(client, { bytes: randomBytes(40_000) })).status, 201)
    t.equal((await upload(client, { bytes: '' })).status, 201, 'an empty file needs no quota')
    t.equal((await upload(client, { bytes: 'x' })).status, 413)
    t.same((await client.get('/storage/usage')).body, {
      project_id: null,
      files: 3,
      bytes: 100_000,
      trash: { files: 0, bytes: 0 },
      versions: { count: 0, bytes: 0 },
      reserved_bytes: 0,
      quota_bytes: 100_000,
    })
    await client.delete(`/storage/files/${id}?permanent=true`)
    t.equal((await upload(client, { bytes: randomBytes(60_000) })).status, 201)
    await assertNothingLeft(t, server)
  })

  t.test('concurrent uploads do not exceed the quota together', async (t) => {
    const person = await server.person()
    const projectId = await newProject(person)
    for (const fields of [{}, { project_id: projectId }] as Array<Record<string, string>>) {
      const quota = fields.project_id === undefined ? 100_000 : 50_000
      const before = await fileCount(server)
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => upload(person.client, { bytes: randomBytes(quota / 5), fields })),
      )
      t.equal(replies.filter(({ status }) => status === 201).length, 5)
      const rejected = replies.filter(({ status }) => status !== 201)
      t.ok(
        rejected.every(({ status, body }) => status === 413 && body.error.details.constraint === 'quota'),
        JSON.stringify(rejected.map(({ status }) => status)),
      )
      t.equal(await fileCount(server), before + 5)
      const usage = await person.client.get(
        `/storage/usage${fields.project_id === undefined ? '' : `?project_id=${projectId}`}`,
      )
      t.equal(usage.body.bytes, quota)
      await assertNothingLeft(t, server)
    }
  })
})

t.test('a file larger than UPLOAD_MAX_BYTES is rejected', async (t) => {
  const server = limited
  const { client } = await server.person()
  t.equal((await upload(client, { bytes: randomBytes(100_000) })).status, 201)
  const { status, body } = await upload(client, { bytes: randomBytes(100_001) })
  t.equal(status, 413)
  t.match(body.error, { code: 'PAYLOAD_TOO_LARGE', details: { constraint: 'max_bytes' } })
  t.equal(await fileCount(server), 1)
  await assertNothingLeft(t, server)
})

t.test('an interrupted upload leaves nothing behind', async (t) => {
  const { key } = await server.person()
  const before = await fileCount(server)
  const { body, boundary } = uploadForm({ bytes: randomBytes(300_000) })
  for (const end of ['destroy', 'resetAndDestroy', 'end'] as const) {
    for (const sent of [50, 200, 100_000, body.length - 40, body.length - 1]) {
      const connection = await openConnection(t, server.url)
      await connection.write(uploadHead(key, boundary, body.length + (end === 'end' ? 10 : 0)))
      await connection.write(body.subarray(0, sent))
      // Waits until some bytes have been received.
      if (sent >= 100_000)
        await waitUntil(async () => (await countTempFiles(server)) > 0, 'the upload to start')
      connection.socket[end]()
      await connection.waitUntilClosed()
    }
  }
  await assertNothingLeft(t, server)
  t.equal(await fileCount(server), before)
  t.same(
    server.logs.filter((line) => /"level":(50|60)/.test(line)),
    [],
    'there is no error in the log',
  )
})

async function countTempFiles({ services }: TestServer): Promise<number> {
  const { readdir } = await import('node:fs/promises')
  return (await readdir(join(services.config.storageDir, 'incoming')).catch(() => [])).length
}

t.test('access that is lost during an upload is checked again at its end', async (t) => {
  const owner = await server.person()
  const projectId = await newProject(owner)
  const before = await fileCount(server)
  const losses: Record<
    string,
    { status: number; constraint: string; lose: (member: string) => Promise<unknown> }
  > = {
    removed: {
      status: 403,
      constraint: 'role',
      lose: (member) => owner.client.delete(`/projects/${projectId}/members/${member}`),
    },
    demoted: {
      status: 403,
      constraint: 'role',
      lose: (member) => owner.client.put(`/projects/${projectId}/members/${member}`, { role: 'viewer' }),
    },
    archived: {
      status: 409,
      constraint: 'archived',
      lose: () => owner.client.post(`/projects/${projectId}/archive`),
    },
    deleted: {
      status: 404,
      constraint: 'deleted',
      lose: () => owner.client.delete(`/projects/${projectId}`),
    },
  }
  for (const [what, { status, constraint, lose }] of Object.entries(losses)) {
    const person = await server.person()
    const member = await createMember(server, projectId, person.id, 'editor')
    const { body, boundary } = uploadForm({ bytes: randomBytes(200_000), fields: { project_id: projectId } })
    const connection = await openConnection(t, server.url)
    await connection.write(uploadHead(person.key, boundary, body.length))
    await connection.write(body.subarray(0, 100_000))
    await waitUntil(async () => (await countTempFiles(server)) > 0, 'the upload to start')
    const done = (await lose(member)) as { status: number }
    t.ok(done.status < 300, `${what} ${done.status}`)
    await connection.write(body.subarray(100_000))
    const reply = await connection.reply()
    t.equal(reply.status, status, what)
    t.equal(reply.body.error.details.constraint, constraint, what)
    await assertNothingLeft(t, server)
    if (what === 'archived') await owner.client.post(`/projects/${projectId}/unarchive`)
  }
  t.equal(await fileCount(server), before)
})

t.test(
  'a stalled body is answered with 408, and a client that never stops sending is disconnected',
  async (t) => {
    const server = await startServer(t, { env: { REQUEST_TIMEOUT: '1', UPLOAD_TIMEOUT: '3' } })
    const { client, key } = await server.person()
    const { body, boundary } = uploadForm({ bytes: randomBytes(100_000) })
    await Promise.all([
      ...[0, 60, 50_000, body.length - 10].map(async (sent) => {
        const connection = await openConnection(t, server.url)
        await connection.write(uploadHead(key, boundary, body.length))
        await connection.write(body.subarray(0, sent))
        const { status, body: answer } = await connection.reply()
        t.equal(status, 408, `after ${sent} bytes`)
        t.equal(answer.error.code, 'REQUEST_TIMEOUT')
        await connection.waitUntilClosed()
      }),
      (async () => {
        const connection = await openConnection(t, server.url)
        await connection.write(uploadHead(key, boundary, body.length))
        for (let sent = 0; !connection.isClosed() && connection.received() === ''; sent += 10) {
          await connection.write(body.subarray(sent, sent + 10))
          await sleep(100)
        }
        t.equal((await connection.reply()).status, 408, 'a trickling body runs into UPLOAD_TIMEOUT')
      })(),
      (async () => {
        const connection = await openConnection(t, server.url)
        await connection.write(uploadHead(key, boundary, body.length))
        for (let sent = 0; sent < body.length; sent += 20_000) {
          await connection.write(body.subarray(sent, sent + 20_000))
          await sleep(300)
        }
        t.equal((await connection.reply()).status, 201, 'a slow body that makes progress is accepted')
      })(),
      (async () => {
        const connection = await openConnection(t, server.url)
        await connection.write(uploadHead(null, boundary, 1e12))
        await connection.write(body.subarray(0, 1000))
        const endless = setInterval(() => {
          if (!connection.isClosed()) connection.socket.write(Buffer.alloc(1000))
        }, 50)
        t.teardown(() => clearInterval(endless))
        t.equal((await connection.reply()).status, 401)
        await connection.waitUntilClosed()
      })(),
    ])
    t.equal((await upload(client)).status, 201)
    await assertNothingLeft(t, server)
    t.equal(await fileCount(server), 2)
  },
)

t.test('a client that is still sending can read an error response', async (t) => {
  const server = limited
  const before = await fileCount(server)
  const reader = await server.person({ scopes: ['storage:read'] })
  const person = await server.person()
  const size = 8_000_000
  const { body, boundary, headers } = uploadForm({ bytes: Buffer.alloc(size) })
  const refusals: Array<[what: string, status: number, key: string | null, form: Buffer<ArrayBuffer>]> = [
    ['no key', 401, null, body],
    ['no scope', 403, reader.key, body],
    ['too large', 413, person.key, body],
    [
      'an unknown field',
      400,
      person.key,
      uploadForm({ bytes: Buffer.alloc(size), fields: { nonsense: '1' } }, boundary).body,
    ],
    [
      'a missing project',
      404,
      person.key,
      uploadForm(
        { bytes: Buffer.alloc(size), fields: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } },
        boundary,
      ).body,
    ],
  ]
  for (const [what, status, key, form] of refusals) {
    const connection = await openConnection(t, server.url)
    await connection.write(uploadHead(key, boundary, form.length))
    for (let at = 0; at < form.length && !connection.isClosed(); at += 500_000)
      await connection.write(form.subarray(at, at + 500_000))
    t.equal((await connection.reply()).status, status, `${what}: over a raw connection`)
    // The request was sent completely, so the connection can be reused.
    await connection.write('GET /v1/nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await connection.waitUntilClosed()
    t.match(
      connection.received(),
      /HTTP\/1\.1 404 [^]*HTTP\/1\.1 404 |HTTP\/1\.1 4[^]*HTTP\/1\.1 404 /,
      `${what}: a second request on the connection`,
    )

    const reply = await fetch(`${server.url}/v1/storage/upload`, {
      method: 'POST',
      headers: { ...headers, ...(key !== null && { authorization: `Bearer ${key}` }) },
      body: form,
    })
    t.equal(reply.status, status, `${what}: with fetch`)
    t.equal(((await reply.json()) as any).error.details.request_id, reply.headers.get('x-request-id'))
  }
  t.equal(await fileCount(server), before)
  await assertNothingLeft(t, server)
})

t.test('100 concurrent uploads create 100 files', async (t) => {
  const person = await server.person()
  const contents = Array.from({ length: 100 }, () => randomBytes(10_000))
  const files = await Promise.all(contents.map((bytes) => uploadFile(person.client, { bytes })))
  const fetched = await Promise.all(
    files.map(({ id }) => download(server.url, `/storage/files/${id}/download`, person)),
  )
  t.ok(
    fetched.every(({ bytes }, i) => bytes.equals(contents[i])),
    'every file has its own bytes',
  )
  await assertNothingLeft(t, server)
})

t.test(
  'memory use does not depend on the file size',
  { skip: process.platform !== 'linux' && 'no /proc' },
  async (t) => {
    const { url, pid } = await spawnedServer(t)
    const client = createClient(url, bootstrapKey)
    const rss = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
    const block = randomBytes(1024 * 1024)
    const send = async (mebibytes: number): Promise<any> => {
      const { body, headers } = uploadForm({ bytes: '|' })
      const [head, tail] = [body.subarray(0, body.indexOf('|')), body.subarray(body.indexOf('|') + 1)]
      const form = async function* () {
        yield head
        for (let i = 0; i < mebibytes; i++) yield block
        yield tail
      }
      const reply = await fetch(`${url}/v1/storage/upload`, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${bootstrapKey}` },
        body: ReadableStream.from(form()),
        duplex: 'half',
      })
      return await reply.json()
    }
    await send(30)
    const before = rss()
    let peak = 0
    const watch = setInterval(() => {
      peak = Math.max(peak, rss())
    }, 20)
    t.teardown(() => clearInterval(watch))
    // More than the limits below.
    const size = 128
    const file = await send(size)
    t.equal(file.bytes, size * 1024 * 1024)
    t.ok(
      peak - before < 120,
      `the upload used ${Math.round(peak - before)} MiB more than ${Math.round(before)} MiB`,
    )
    peak = 0
    const hash = createHash('sha256')
    const reply = await fetch(`${url}/v1/storage/files/${file.id}/download`, {
      headers: { authorization: `Bearer ${bootstrapKey}` },
    })
    let slept = 0
    for await (const chunk of reply.body!) {
      hash.update(chunk)
      // The server does not buffer for a slow client.
      if (slept++ % 200 === 0) await sleep(5)
    }
    t.equal(hash.digest('hex'), file.sha256)
    t.ok(
      peak - before < 120,
      `the download used ${Math.round(peak - before)} MiB more than ${Math.round(before)} MiB`,
    )
    t.equal((await client.delete(`/storage/files/${file.id}?permanent=true`)).status, 204)
  },
)

async function spawnedServer(t: Test): Promise<{ url: string; pid: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'storage-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { url, child } = await spawnServer(t, {
    DATABASE_URL: (await createTestDatabase(t)).url,
    STORAGE_DIR: folder,
  })
  return { url, pid: child.pid! }
}
