// Downloads: ranges and conditional requests, access control, and headers that keep a browser from running a
// file.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync, rmSync, truncateSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { acceptUpload, startFakeS3 } from '../support/storage/fake-s3.ts'
import { countOpenFiles } from '../support/server/open-files.ts'
import { noS3, startS3 } from '../../scripts/test/s3-server.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { download, openConnection, uploadFile, type Download } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const pathOf = ({ id }: { id: string }): string => `/storage/files/${id}/download`
const bytes = randomBytes(1000)
const server = await startServer(t)

t.test('GET returns the file and HEAD the same headers', async (t) => {
  const { client, key } = await server.person()
  for (const content of [Buffer.alloc(0), Buffer.from([255]), bytes, randomBytes(300_000)]) {
    const size = content.length
    const file = await uploadFile(client, { bytes: content, name: 'some.bin' })
    const whole = await download(server.url, pathOf(file), { key })
    t.equal(whole.status, 200)
    t.ok(whole.bytes.equals(content), `${size} bytes`)
    const expected = {
      'content-length': String(size),
      'content-type': size === 0 ? 'text/plain; charset=utf-8' : 'application/octet-stream',
      etag: file.etag,
      'accept-ranges': 'bytes',
      'last-modified': new Date(file.created_at).toUTCString(),
      'content-disposition': 'attachment; filename=some.bin',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-range': null,
    }
    hasHeaders(t, whole, expected)
    const head = await download(server.url, pathOf(file), { key, method: 'HEAD' })
    t.equal(head.status, 200)
    hasHeaders(t, head, expected)
    t.same(fieldsOf(head), fieldsOf(whole), 'HEAD has the same header fields')
    t.equal(head.bytes.length, 0)
    const ranged = await download(server.url, pathOf(file), {
      key,
      method: 'HEAD',
      headers: { range: 'bytes=0-0' },
    })
    t.equal(ranged.status, 200, 'Range is ignored for HEAD')
    hasHeaders(t, ranged, expected)
  }
})

t.test('conditional requests answer 304 for unchanged content', async (t) => {
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes })
  const modified = new Date(file.created_at).toUTCString()
  const before = new Date(Date.parse(file.created_at) - 5_000).toUTCString()
  const conditions: Array<[headers: Record<string, string>, status: number]> = [
    [{ 'if-none-match': file.etag }, 304],
    [{ 'if-none-match': `W/${file.etag}` }, 304],
    [{ 'if-none-match': `"other", ${file.etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"other"' }, 200],
    [{ 'if-none-match': file.sha256 }, 200],
    [{ 'if-modified-since': modified }, 304],
    [{ 'if-modified-since': new Date(Date.now() + 60_000).toUTCString() }, 304],
    [{ 'if-modified-since': before }, 200],
    [{ 'if-modified-since': 'yesterday' }, 200],
    [{ 'if-none-match': '"other"', 'if-modified-since': modified }, 200],
    [{ 'if-none-match': file.etag, 'if-modified-since': before }, 304],
    [{ 'if-none-match': file.etag, range: 'bytes=0-1' }, 304],
    [{ 'if-none-match': '"other"', range: 'bytes=0-1' }, 206],
  ]
  for (const [headers, status] of conditions) {
    for (const method of status === 206 ? ['GET'] : ['GET', 'HEAD']) {
      const reply = await download(server.url, pathOf(file), { key, headers, method })
      t.same(
        [reply.status, reply.headers.get('etag'), reply.headers.get('cache-control'), reply.bytes.length],
        [
          status,
          file.etag,
          'no-store',
          method === 'HEAD' || status === 304 ? 0 : status === 206 ? 2 : bytes.length,
        ],
        `${method} ${JSON.stringify(headers)}`,
      )
    }
  }
  t.equal((await client.put(`/storage/files/${file.id}`, { name: 'other.bin', tags: ['x'] })).status, 200)
  t.equal(
    (await download(server.url, pathOf(file), { key, headers: { 'if-none-match': file.etag } })).status,
    304,
    'a rename does not change the ETag',
  )
})

// A Range header for 1,000 bytes, and the returned range; null is the whole file.
const ranges: Array<[range: string, answer: [number, number] | null | 416]> = [
  ['bytes=0-0', [0, 0]],
  ['bytes=0-99', [0, 99]],
  ['bytes=400-599', [400, 599]],
  ['bytes=999-999', [999, 999]],
  ['bytes=0-999', [0, 999]],
  ['bytes=-1', [999, 999]],
  ['bytes=-300', [700, 999]],
  ['bytes=-1000', [0, 999]],
  ['bytes=-5000', [0, 999]],
  ['bytes=-99999999999999999999999', [0, 999]],
  ['bytes=0-', [0, 999]],
  ['bytes=500-', [500, 999]],
  ['bytes=999-', [999, 999]],
  ['bytes=900-1000', [900, 999]],
  ['bytes=900-99999999999999999999999', [900, 999]],
  ['Bytes=1-2', [1, 2]],
  ['bytes= 1-2 ', [1, 2]],
  ['bytes=0001-0002', [1, 2]],
  ['bytes=1000-', 416],
  ['bytes=1000-2000', 416],
  ['bytes=99999999999999999999999-', 416],
  ['bytes=-0', 416],
  ['bytes=2-1', null],
  ['bytes=-', null],
  ['bytes=', null],
  ['bytes', null],
  ['1-2', null],
  ['bytes=a-b', null],
  ['bytes=1-2-3', null],
  ['bytes=--1', null],
  ['bytes=1.5-2', null],
  ['bytes=0x1-2', null],
  ['bytes=1e1-20', null],
  ['items=0-1', null],
  ['bytes 0-1', null],
  ['bytes=+1-2', null],
  ['bytes=1 - 2', null],
  ['bytes=\xa01-2', null],
  ['bytes=0-1,5-6', null],
  ['bytes=0-1, -1', null],
  ['bytes=0-1,', null],
  ['bytes=,', null],
  [`bytes=${'0-0,'.repeat(200)}0-0`, null],
]

const stores: Array<{ name: string; skip: string | false; env(t: Test): Promise<Record<string, string>> }> = [
  { name: 'disk', skip: false, env: async () => ({}) },
  { name: 's3', skip: noS3, env: (t) => s3Env(t) },
]

async function s3Env(t: Test): Promise<Record<string, string>> {
  const { endpoint, region, accessKeyId, secretAccessKey, bucket } = await startS3(t)
  return {
    STORAGE: 's3',
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  }
}

for (const { name, skip, env } of stores) {
  let opened: Promise<TestServer> | undefined
  /** The server of this store, which ends with the file. */
  const serverOf = (): Promise<TestServer> =>
    (opened ??= env(t).then((more) => startServer(t, { env: { REQUEST_TIMEOUT: '1', ...more } })))

  t.test(`ranges from ${name}`, { skip }, async (t) => {
    const server = await serverOf()
    const { client, key } = await server.person()
    const file = await uploadFile(client, { bytes })

    t.test('each range returns the expected bytes', async (t) => {
      for (const [range, answer] of ranges) {
        const reply = await download(server.url, pathOf(file), { key, headers: { range } })
        isRange(t, reply, bytes, answer, range)
        if (answer !== 416)
          hasHeaders(t, reply, {
            etag: file.etag,
            'content-type': 'application/octet-stream',
            'content-disposition': 'attachment; filename=file.bin',
            'cache-control': 'no-store',
          })
      }
    })

    t.test('ranges of an empty file', async (t) => {
      const empty = await uploadFile(client, { bytes: '' })
      for (const [range, answer] of [
        ['bytes=0-', 416],
        ['bytes=0-0', 416],
        ['bytes=-0', 416],
        ['bytes=-1', null],
        ['bytes=1-0', null],
      ] as typeof ranges) {
        isRange(
          t,
          await download(server.url, pathOf(empty), { key, headers: { range } }),
          Buffer.alloc(0),
          answer,
          range,
        )
      }
    })

    t.test('a range applies only when If-Range matches', async (t) => {
      const modified = new Date(file.created_at).toUTCString()
      const validators: Array<[ifRange: string, matches: boolean]> = [
        [file.etag, true],
        ['"other"', false],
        [`W/${file.etag}`, false],
        [file.sha256, false],
        ['*', false],
        ['', false],
        ['nonsense', false],
        [modified, true],
        [new Date(Date.parse(file.created_at) + 60_000).toUTCString(), false],
        [new Date(Date.parse(file.created_at) - 60_000).toUTCString(), false],
      ]
      for (const [ifRange, matches] of validators) {
        isRange(
          t,
          await download(server.url, pathOf(file), {
            key,
            headers: { range: 'bytes=1-2', 'if-range': ifRange },
          }),
          bytes,
          matches ? [1, 2] : null,
          ifRange,
        )
        isRange(
          t,
          await download(server.url, pathOf(file), {
            key,
            headers: { range: 'bytes=5000-', 'if-range': ifRange },
          }),
          bytes,
          matches ? 416 : null,
          ifRange,
        )
      }
    })

    t.test('random ranges, and parts that add up to the file', async (t) => {
      const content = randomBytes(700_001)
      const file = await uploadFile(client, { bytes: content })
      for (let i = 0; i < 40; i++) {
        const start = Math.floor(Math.random() * content.length)
        const end = start + Math.floor(Math.random() * (content.length - start))
        isRange(
          t,
          await download(server.url, pathOf(file), { key, headers: { range: `bytes=${start}-${end}` } }),
          content,
          [start, end],
          `${start}-${end}`,
        )
      }
      const pieces = await Promise.all(
        Array.from(
          { length: 8 },
          async (_, i) =>
            (
              await download(server.url, pathOf(file), {
                key,
                headers: { range: `bytes=${i * 100_000}-${i * 100_000 + 99_999}` },
              })
            ).bytes,
        ),
      )
      t.ok(Buffer.concat(pieces).equals(content))
    })
    t.same(errorsIn(server), [])
  })

  t.test(
    `interrupted and slow downloads from ${name}`,
    { skip: skip === false && process.platform !== 'linux' ? 'no /proc' : skip },
    async (t) => {
      const server = await serverOf()
      const { client, key } = await server.person()
      const content = randomBytes(12_000_000)
      const file = await uploadFile(client, { bytes: content })

      t.test('a disconnected client leaves no open files or sockets', async (t) => {
        // Opens the pooled connections before sockets are counted.
        await download(server.url, pathOf(file), { key, headers: { range: 'bytes=0-0' } })
        const before = countOpenFiles('socket:')
        for (let i = 0; i < 20; i++) {
          const connection = await openConnection(t, server.url)
          await connection.write(requestFor(file, key))
          if (i % 4 > 0) await waitUntil(() => connection.received().length > 1000, 'the download to start')
          connection.socket[i % 2 === 0 ? 'destroy' : 'resetAndDestroy']()
        }
        await waitUntil(() => openBlobs(server) === 0, 'the blobs to be closed')
        await waitUntil(() => countOpenFiles('socket:') < before + 10, 'the connections to be closed')
        t.same(errorsIn(server), [], 'there is no error in the log')
        const { bytes } = await download(server.url, pathOf(file), { key })
        t.ok(bytes.equals(content), 'the next download is complete')
      })

      t.test('a slow reader receives the complete file', async (t) => {
        const reading = await startDownload(server, file, key)
        // Longer than the request timeout.
        await sleep(2_200)
        const chunks: Buffer[] = []
        for await (const chunk of reading) {
          if (chunks.push(chunk as Buffer) % 50 === 0) await sleep(10)
        }
        t.ok(Buffer.concat(chunks).equals(content))
      })

      t.test('a file deleted during a download is sent correctly or the connection is cut', async (t) => {
        const deleted = await uploadFile(client, { bytes: content })
        const readings = await Promise.all(
          Array.from({ length: 4 }, () => startDownload(server, deleted, key)),
        )
        t.equal((await client.delete(`/storage/files/${deleted.id}?permanent=true`)).status, 204)
        await (await server.services.storage.blobStore()).delete([deleted.id])
        t.equal((await download(server.url, pathOf(deleted), { key })).status, 404)
        for (const reading of readings) {
          const chunks: Buffer[] = []
          let cut = false
          try {
            for await (const chunk of reading) chunks.push(chunk as Buffer)
          } catch {
            cut = true
          }
          const received = Buffer.concat(chunks)
          t.ok(received.equals(content.subarray(0, received.length)))
          t.equal(received.length < content.length, cut, 'the download is complete or visibly cut')
          if (name === 'disk') t.notOk(cut, 'from disk it is complete')
        }
      })

      t.test('a lost blob is a 503 that is logged once, not an empty file', async (t) => {
        const lost = await uploadFile(client, { bytes: content })
        await (await server.services.storage.blobStore()).delete([lost.id])
        for (const headers of [{}, { range: 'bytes=5-' }] as Array<Record<string, string>>) {
          const reply = await download(server.url, pathOf(lost), { key, headers })
          t.match(
            [reply.status, reply.body.error],
            [503, { code: 'UNAVAILABLE', details: { constraint: 'content' } }],
          )
          hasHeaders(t, reply, {
            etag: null,
            'content-disposition': null,
            'content-range': null,
            'accept-ranges': null,
            'cache-control': 'no-store',
          })
        }
        const logged = errorsIn(server).filter((line) => line.includes(lost.id))
        t.equal(logged.length, 1, 'the log names the file once')
        t.notMatch(logged[0], 'node:internal', 'without a stack')
        t.equal((await client.get(`/storage/files/${lost.id}`)).body.download_count, 0)
        t.equal((await client.delete(`/storage/files/${lost.id}?permanent=true`)).status, 204)
      })

      t.test('a file deleted between reading its row and its blob is a 404', async (t) => {
        const file = await uploadFile(client, { bytes })
        const blobs = await server.services.storage.blobStore()
        const { read } = blobs
        t.teardown(() => {
          blobs.read = read
        })
        blobs.read = async (...args) => {
          await client.delete(`/storage/files/${file.id}?permanent=true`)
          await blobs.delete([file.id])
          return await read(...args)
        }
        t.equal((await download(server.url, pathOf(file), { key })).status, 404)
      })
    },
  )
}

t.test('a truncated blob cuts the connection', async (t) => {
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes: randomBytes(500_000) })
  truncateSync(blobOf(server, file.id), 300_000)
  for (const range of [undefined, 'bytes=100000-', 'bytes=400000-400010']) {
    await t.rejects(
      download(server.url, pathOf(file), { key, headers: { ...(range && { range }) } }),
      range ?? 'the whole',
    )
  }
  t.equal(
    (await download(server.url, pathOf(file), { key, headers: { range: 'bytes=0-299999' } })).bytes.length,
    300_000,
  )
  // The client has the last byte before the server closes the file.
  await waitUntil(() => openBlobs(server) === 0, 'the blobs to be closed')
})

t.test('a missing blob directory is a server error, not an empty file', async (t) => {
  const server = await startServer(t)
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes })
  rmSync(join(server.services.config.storageDir, 'blobs'), { recursive: true })
  const reply = await download(server.url, pathOf(file), { key })
  t.ok(reply.status >= 500)
  t.equal(
    (await download(server.url, pathOf(file), { key, headers: { 'if-none-match': file.etag } })).status,
    304,
    'a conditional request needs no blob',
  )
})

t.test('access', async (t) => {
  const owner = await server.person()
  const other = await server.person()
  const mine = await uploadFile(owner.client, { bytes })
  const unknown = `${mine.id.slice(0, -4)}0000`

  t.test('a private file outside of projects is for its owner only', async (t) => {
    const anonymous = await download(server.url, pathOf(mine))
    t.equal(anonymous.status, 401)
    t.equal(anonymous.body.error.details.reason, 'missing')
    t.equal(anonymous.headers.get('www-authenticate'), 'Bearer')
    t.equal((await download(server.url, pathOf(mine), { method: 'HEAD' })).status, 401)
    t.equal(
      (await download(server.url, pathOf(mine), { headers: { 'if-none-match': mine.etag } })).status,
      401,
      '401 comes before 304',
    )
    t.equal(
      (await download(server.url, pathOf(mine), { headers: { range: 'bytes=9999-' } })).status,
      401,
      '401 comes before 416',
    )
    t.equal((await download(server.url, pathOf(mine), { key: 'plat_live_nonsense' })).status, 401)
    t.equal((await download(server.url, pathOf(mine), other)).status, 403)
    t.equal((await download(server.url, pathOf(mine), server.admin)).status, 403)
    t.equal(
      (await download(server.url, pathOf(mine), await server.person({ scopes: ['storage:write'] }))).status,
      403,
    )
    t.equal((await download(server.url, pathOf({ id: unknown }), owner)).status, 404)
    t.equal((await download(server.url, pathOf({ id: unknown }))).status, 404)
    t.equal((await download(server.url, pathOf({ id: 'file_1' }), owner)).status, 404)
    t.equal((await download(server.url, pathOf(mine), owner)).status, 200)
  })

  t.test('a public file needs no key until it is private again', async (t) => {
    const file = await uploadFile(owner.client, { bytes, fields: { visibility: 'public' } })
    const reply = await download(server.url, pathOf(file))
    t.equal(reply.status, 200)
    t.ok(reply.bytes.equals(bytes))
    hasHeaders(t, reply, {
      'cache-control': 'no-cache',
      'set-cookie': null,
      'content-security-policy': "default-src 'none'; sandbox",
    })
    isRange(
      t,
      await download(server.url, pathOf(file), { headers: { range: 'bytes=-5' } }),
      bytes,
      [995, 999],
      'a range',
    )
    t.equal(
      (await download(server.url, pathOf(file), { headers: { 'if-none-match': file.etag } })).headers.get(
        'cache-control',
      ),
      'no-cache',
    )
    t.equal((await download(server.url, pathOf(file), other)).status, 200)
    t.equal(
      (await download(server.url, pathOf(file), { key: 'plat_live_nonsense' })).status,
      401,
      'an invalid key is not ignored',
    )
    t.equal(
      (await download(server.url, `/storage/files/${file.id}`)).status,
      401,
      'the metadata of a public file is not public',
    )
    await owner.client.put(`/storage/files/${file.id}`, { visibility: 'private' })
    t.equal(
      (await download(server.url, pathOf(file), { headers: { 'if-none-match': file.etag } })).status,
      401,
    )
  })

  t.test('a file of a project is for its members, also while the project is archived', async (t) => {
    const projectId = (await owner.client.post('/projects', { name: 'Files' })).body.id
    const file = await uploadFile(owner.client, { bytes, fields: { project_id: projectId } })
    const open = await uploadFile(owner.client, {
      bytes,
      fields: { project_id: projectId, visibility: 'public' },
    })
    const members: Record<string, Person> = { owner }
    for (const role of ['viewer', 'editor', 'admin'] as const) {
      members[role] = await server.person()
      await createMember(server, projectId, members[role].id, role)
    }
    const statuses = async (): Promise<Record<string, number[]>> =>
      Object.fromEntries(
        await Promise.all(
          Object.entries({ ...members, outsider: other, anonymous: { key: null } }).map(
            async ([who, { key }]) => [
              who,
              [
                (await download(server.url, pathOf(file), { key })).status,
                (await download(server.url, pathOf(open), { key })).status,
              ],
            ],
          ),
        ),
      )
    const allowed = {
      owner: [200, 200],
      viewer: [200, 200],
      editor: [200, 200],
      admin: [200, 200],
      outsider: [403, 200],
      anonymous: [401, 200],
    }
    t.same(await statuses(), allowed)
    t.equal((await owner.client.post(`/projects/${projectId}/archive`)).status, 200)
    t.same(await statuses(), allowed, 'archived')
    const stranger = await server.person()
    const elsewhere = (await stranger.client.post('/projects', { name: 'Elsewhere' })).body.id
    const restricted = await server.person({ projectIds: [elsewhere] })
    t.equal((await download(server.url, pathOf(file), restricted)).status, 403)
    await owner.client.post(`/projects/${projectId}/unarchive`)
    t.equal((await owner.client.delete(`/projects/${projectId}`)).status < 300, true)
    t.same(new Set(Object.values(await statuses()).flat()), new Set([404]), 'deleted')
  })

  t.test('an expired or deleted file is a 404', async (t) => {
    for (const visibility of ['private', 'public']) {
      const file = await uploadFile(owner.client, { bytes, fields: { visibility } })
      t.equal((await download(server.url, pathOf(file), owner)).status, 200)
      await owner.client.put(`/storage/files/${file.id}`, {
        expires_at: new Date(Date.now() + 300).toISOString(),
      })
      await waitUntil(
        async () => (await download(server.url, pathOf(file), owner)).status !== 200,
        'the file to expire',
      )
      for (const key of [owner.key, other.key, null])
        t.equal((await download(server.url, pathOf(file), { key })).status, 404)
      const deleted = await uploadFile(owner.client, { bytes, fields: { visibility } })
      await owner.client.delete(`/storage/files/${deleted.id}?permanent=true`)
      for (const key of [owner.key, other.key, null])
        t.equal((await download(server.url, pathOf(deleted), { key })).status, 404)
    }
  })

  t.test('a file of a deleted user cannot be downloaded', async (t) => {
    const person = await server.person()
    const file = await uploadFile(person.client, { bytes, fields: { visibility: 'public' } })
    t.equal((await download(server.url, pathOf(file))).status, 200)
    t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
    t.not((await download(server.url, pathOf(file))).status, 200)
    t.not((await download(server.url, pathOf(file), other)).status, 200)
  })
})

t.test('only safe types are sent inline, and only on request', async (t) => {
  const { client, key } = await server.person()
  const html = '<!doctype html><script>alert(1)</script>'
  const kinds: Record<string, { bytes: Uint8Array | string; name: string; type: string; inline: boolean }> = {
    PNG: {
      bytes: Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      ),
      name: 'a.png',
      type: 'image/png',
      inline: true,
    },
    GIF: {
      bytes: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
      name: 'a.gif',
      type: 'image/gif',
      inline: true,
    },
    WAV: {
      bytes: Buffer.from(
        'RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0',
        'latin1',
      ),
      name: 'a.wav',
      type: 'audio/wav',
      inline: true,
    },
    MP4: {
      bytes: Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', 'latin1'),
      name: 'a.mp4',
      type: 'video/mp4',
      inline: true,
    },
    PDF: { bytes: '%PDF-1.4\n%%EOF\n', name: 'a.pdf', type: 'application/pdf', inline: true },
    text: { bytes: 'plain', name: 'a.txt', type: 'text/plain; charset=utf-8', inline: true },
    HTML: { bytes: html, name: 'a.html', type: 'text/html; charset=utf-8', inline: false },
    'HTML named .txt': { bytes: html, name: 'a.txt', type: 'text/html; charset=utf-8', inline: false },
    'HTML named .png': { bytes: html, name: 'a.png', type: 'text/html; charset=utf-8', inline: false },
    'text named .html': { bytes: 'plain', name: 'a.html', type: 'text/html; charset=utf-8', inline: false },
    XHTML: {
      bytes:
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>',
      name: 'a.xhtml',
      type: 'text/html; charset=utf-8',
      inline: false,
    },
    SVG: {
      bytes: '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
      name: 'a.svg',
      type: 'image/svg+xml',
      inline: false,
    },
    XML: { bytes: '<?xml version="1.0"?><thing/>', name: 'a.xml', type: 'application/xml', inline: false },
    JavaScript: { bytes: 'alert(1)', name: 'a.js', type: 'text/javascript; charset=utf-8', inline: false },
    CSS: { bytes: 'a {}', name: 'a.css', type: 'text/css; charset=utf-8', inline: false },
    JSON: { bytes: '{}', name: 'a.json', type: 'application/json', inline: false },
    unknown: {
      bytes: Buffer.from([0, 1, 2, 255]),
      name: 'a.png',
      type: 'application/octet-stream',
      inline: false,
    },
  }
  for (const [kind, { bytes, name, type, inline }] of Object.entries(kinds)) {
    const file = await uploadFile(client, { bytes, name, type: 'image/png' })
    for (const disposition of [undefined, 'attachment', 'inline']) {
      const expected = inline && disposition === 'inline' ? 'inline' : 'attachment'
      const path = `${pathOf(file)}${disposition === undefined ? '' : `?disposition=${disposition}`}`
      for (const headers of [{}, { range: 'bytes=0-0' }] as Array<Record<string, string>>) {
        const reply = await download(server.url, path, { key, headers })
        hasHeaders(
          t,
          reply,
          {
            'content-type': type,
            'content-disposition': `${expected}; filename=${name}`,
            'x-content-type-options': 'nosniff',
            'content-security-policy': /^(audio|video)/.test(type)
              ? "default-src 'none'; media-src 'self'"
              : "default-src 'none'; sandbox",
          },
          `${kind} ${disposition}`,
        )
      }
    }
  }
  t.equal(
    (await download(server.url, `${pathOf(await uploadFile(client))}?disposition=other`, { key })).status,
    400,
  )
})

t.test('the filename parameter is escaped, and invalid names are rejected', async (t) => {
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes, name: 'naïve.bin' })
  t.equal(
    (await download(server.url, pathOf(file), { key })).headers.get('content-disposition'),
    'attachment; filename="na?ve.bin"; filename*=UTF-8\'\'na%C3%AFve.bin',
  )
  const names: Record<string, string> = {
    'plain.txt': 'filename=plain.txt',
    'two words; x=y.txt': 'filename="two words; x=y.txt"',
    '日本語.txt': 'filename="???.txt"; filename*=UTF-8\'\'%E6%97%A5%E6%9C%AC%E8%AA%9E.txt',
    '😀.txt': 'filename="??.txt"; filename*=UTF-8\'\'%F0%9F%98%80.txt',
    'a "b".txt': 'filename="a \\"b\\".txt"',
    '100%25.txt': "filename=100%25.txt; filename*=UTF-8''100%2525.txt",
    '.htaccess': 'filename=.htaccess',
  }
  for (const [name, parameters] of Object.entries(names)) {
    const { status, headers } = await download(
      server.url,
      `${pathOf(file)}?filename=${encodeURIComponent(name)}`,
      { key },
    )
    t.equal(status, 200, name)
    t.equal(headers.get('content-disposition'), `attachment; ${parameters}`)
  }
  for (const name of [
    'a\r\nset-cookie: x=y',
    'a\nb',
    'a\0b',
    'a/b',
    'a\\b',
    '..',
    '',
    ' ',
    'a\u2028b',
    'a\u202eb',
    'x'.repeat(256),
  ]) {
    const { status, body } = await download(
      server.url,
      `${pathOf(file)}?filename=${encodeURIComponent(name)}`,
      { key },
    )
    t.equal(status, 400, encodeURIComponent(name))
    t.match(body.error.details.errors[0], { field: 'filename', location: 'query' })
  }
  for (const raw of ['%ED%A0%80', '%FF', '%', '%2', 'a%0d%0ab']) {
    const { status, headers } = await download(server.url, `${pathOf(file)}?filename=${raw}`, { key })
    t.ok(status === 200 || status === 400, `${raw} ${status}`)
    t.equal(headers.get('set-cookie'), null)
  }
  t.same(errorsIn(server), [], 'there is no error in the log')
})

t.test('each download is counted, and a response without bytes is not', async (t) => {
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes })
  const requests: Array<{ headers?: Record<string, string>; method?: string }> = [
    {},
    { method: 'HEAD' },
    { headers: { 'if-none-match': file.etag } },
    { headers: { range: 'bytes=5000-' } },
    {},
  ]
  for (const options of requests) await download(server.url, pathOf(file), { key, ...options })
  await download(server.url, pathOf(file))
  await Promise.all(Array.from({ length: 50 }, () => download(server.url, pathOf(file), { key })))
  const count = async (): Promise<number> =>
    (await client.get(`/storage/files/${file.id}`)).body.download_count
  await waitUntil(async () => (await count()) >= 52, 'the count to be written')
  t.equal(await count(), 52)
})

t.test('redirects to presigned URLs', { skip: noS3 }, async (t) => {
  const env = await s3Env(t)
  const server = await startServer(t, { env: { ...env, S3_REDIRECT: 'true' } })
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes, name: 'rapport é.txt', type: 'text/plain' })
  const page = await uploadFile(client, {
    bytes: '<script>alert(1)</script>',
    name: 'page.html',
    fields: { visibility: 'public' },
  })

  t.test('a lost blob is a 503 and no redirect', async (t) => {
    const lost = await uploadFile(client, { bytes })
    await (await server.services.storage.blobStore()).delete([lost.id])
    const reply = await client.get(pathOf(lost))
    t.match([reply.status, reply.body.error], [503, { details: { constraint: 'content' } }])
    t.equal(reply.headers.get('location'), null)
    t.equal((await client.get(`/storage/files/${lost.id}`)).body.download_count, 0)
  })

  t.test('a presigned URL needs no key, expires and allows nothing else', async (t) => {
    const reply = await client.get(`${pathOf(file)}?filename=other.bin`)
    t.equal(reply.status, 302)
    t.equal(reply.headers.get('cache-control'), 'no-store')
    t.equal(reply.bytes.length, 0)
    const address = reply.headers.get('location')!
    t.ok(address.startsWith(env.S3_ENDPOINT))
    t.ok(Number(new URL(address).searchParams.get('X-Amz-Expires')) <= 300)
    t.notOk(address.includes(key) || address.includes(env.S3_SECRET_ACCESS_KEY))
    const bare = await fetch(address)
    t.equal(bare.status, 200)
    t.ok(Buffer.from(await bare.arrayBuffer()).equals(bytes))
    t.equal(bare.headers.get('content-type'), 'application/octet-stream')
    t.equal(bare.headers.get('content-disposition'), 'attachment; filename=other.bin')
    const part = await fetch(address, { headers: { range: 'bytes=10-19' } })
    t.equal(part.status, 206)
    t.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(10, 20)))
    t.equal(
      (await fetch(address.replace(/(X-Amz-Expires=)\d+/, '$199999'))).status,
      403,
      'the expiry cannot be changed',
    )
    t.equal((await fetch(address, { method: 'PUT', body: 'x' })).status, 403, 'the URL cannot be written to')
    t.equal(
      (
        await fetch(
          address.replace(/response-content-disposition=[^&]*/, 'response-content-disposition=inline'),
        )
      ).status,
      403,
      'the headers cannot be changed',
    )
  })

  t.test('a client that follows the redirect gets the requested range and headers', async (t) => {
    const follow = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${server.url}/v1${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } })
    const whole = await follow(pathOf(file))
    t.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes))
    t.equal(
      whole.headers.get('content-disposition'),
      'attachment; filename="rapport ?.txt"; filename*=UTF-8\'\'rapport%20%C3%A9.txt',
    )
    const part = await follow(pathOf(file), { range: 'bytes=100-' })
    t.equal(part.status, 206)
    t.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(100)))
    const html = await fetch(`${server.url}/v1${pathOf(page)}?disposition=inline`)
    t.equal(html.status, 200)
    t.equal(
      html.headers.get('content-disposition'),
      'attachment; filename=page.html',
      'HTML is sent as an attachment',
    )
  })

  t.test('an unauthorized request is not redirected', async (t) => {
    const refused = await download(server.url, pathOf(file))
    t.equal(refused.status, 401)
    t.equal(refused.headers.get('location'), null)
    t.equal((await download(server.url, pathOf(file), await server.person())).status, 403)
  })

  t.test('a request without bytes is answered without a redirect', async (t) => {
    const head = await download(server.url, pathOf(file), { key, method: 'HEAD' })
    t.equal(head.status, 200, 'HEAD is not redirected')
    hasHeaders(t, head, {
      'content-length': '1000',
      etag: file.etag,
      'accept-ranges': 'bytes',
      location: null,
    })
    t.equal(
      (await download(server.url, pathOf(file), { key, headers: { 'if-none-match': file.etag } })).status,
      304,
    )
    isRange(
      t,
      await download(server.url, pathOf(file), { key, headers: { range: 'bytes=1000-' } }),
      bytes,
      416,
      'a range past the end',
    )
  })

  t.test('each redirect is counted once', async (t) => {
    const file = await uploadFile(client, { bytes })
    await download(server.url, pathOf(file), { key, method: 'HEAD' })
    for (let i = 0; i < 3; i++) await download(server.url, pathOf(file), { key })
    const count = async (): Promise<number> =>
      (await client.get(`/storage/files/${file.id}`)).body.download_count
    await waitUntil(async () => (await count()) >= 3, 'the counts to be written')
    t.equal(await count(), 3)
  })

  const log = server.logs.join('')
  for (const secret of [key, env.S3_SECRET_ACCESS_KEY, 'X-Amz-Signature', 'X-Amz-Credential'])
    t.notOk(log.includes(secret), `no ${secret.slice(0, 12)} in the log`)
})

t.test('with redirects only images, audio and video are inline', async (t) => {
  const { env } = await startFakeS3(t, acceptUpload)
  const server = await startServer(t, { env: { ...env, S3_REDIRECT: 'true' } })
  const { client } = await server.person()
  const kinds: Array<[name: string, bytes: string | Buffer, disposition: string]> = [
    ['a.gif', Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'), 'inline'],
    ['a.mp4', Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', 'latin1'), 'inline'],
    ['a.svg', '<svg xmlns="http://www.w3.org/2000/svg"></svg>', 'attachment'],
    ['a.pdf', '%PDF-1.4\n%%EOF\n', 'attachment'],
    ['a.txt', 'plain', 'attachment'],
  ]
  for (const [name, content, disposition] of kinds) {
    const reply = await client.get(
      `${pathOf(await uploadFile(client, { bytes: content, name }))}?disposition=inline`,
    )
    t.equal(reply.status, 302)
    const { searchParams } = new URL(reply.headers.get('location')!)
    t.equal(searchParams.get('response-content-disposition'), `${disposition}; filename=${name}`)
    t.equal(searchParams.get('response-cache-control'), 'private, no-store')
  }
})

t.test('an unreachable store is a 503, and its credentials are not logged', { skip: noS3 }, async (t) => {
  const env = await s3Env(t)
  const server = await startServer(t, { env })
  const { client, key } = await server.person()
  const file = await uploadFile(client, { bytes })
  const unreachable = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { ...env, S3_ENDPOINT: 'http://127.0.0.1:9' },
  })
  const wrongSecret = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { ...env, S3_SECRET_ACCESS_KEY: 'another-secret' },
  })
  for (const { url, logs } of [unreachable, wrongSecret]) {
    const reply = await download(url, pathOf(file), { key })
    t.equal(reply.status, 503)
    t.ok(Number(reply.headers.get('retry-after')) > 0)
    t.equal((await download(url, pathOf(file), { key, method: 'HEAD' })).status, 200)
    for (const secret of [key, env.S3_SECRET_ACCESS_KEY, 'another-secret', 'Signature='])
      t.notOk(logs.join('').includes(secret), `no ${secret.slice(0, 12)} in the log`)
  }
})

function hasHeaders(
  t: Test,
  { headers }: Download,
  expected: Record<string, string | null>,
  what = 'the header',
): void {
  t.same(Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)])), expected, what)
}

/** The names of the header fields, without those of the connection. */
function fieldsOf({ headers }: Download): string[] {
  return [...headers.keys()].filter((name) => name !== 'connection' && name !== 'keep-alive')
}

function isRange(
  t: Test,
  { status, headers, bytes, body }: Download,
  content: Buffer,
  answer: [number, number] | null | 416,
  what: string,
): void {
  const { length } = content
  const answered = { status, range: headers.get('content-range'), length: headers.get('content-length') }
  if (answer === 416) {
    t.same(
      [answered.status, answered.range, body.error.code, headers.get('content-disposition')],
      [416, `bytes */${length}`, 'RANGE_NOT_SATISFIABLE', null],
      what,
    )
    return
  }
  const [start, end] = answer ?? [0, length - 1]
  t.same(
    answered,
    {
      status: answer === null ? 200 : 206,
      range: answer === null ? null : `bytes ${start}-${end}/${length}`,
      length: String(end - start + 1),
    },
    what,
  )
  t.ok(bytes.equals(content.subarray(start, end + 1)), `${what}: the bytes`)
}

function errorsIn({ logs }: TestServer): string[] {
  return logs.filter((line) => /"level":(50|60)/.test(line))
}

function requestFor(file: { id: string }, key: string): string {
  return `GET /v1${pathOf(file)} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`
}

/** A download whose response has started and whose body is not read yet. */
async function startDownload(
  { url }: TestServer,
  file: { id: string },
  key: string,
): Promise<AsyncIterable<unknown>> {
  const call = get(`${url}/v1${pathOf(file)}`, { agent: false, headers: { authorization: `Bearer ${key}` } })
  const [response] = await once(call, 'response')
  return response
}

function blobOf({ services }: TestServer, id: string): string {
  return join(services.config.storageDir, 'blobs', id.slice(-2), id)
}

/** The number of blobs that this process has open. */
function openBlobs({ services }: TestServer): number {
  return countOpenFiles(join(realpathSync(services.config.storageDir), 'blobs'))
}
