// Resumable uploads with files in S3: the bytes are in the parts of a multipart upload, so that any server
// takes any request, and nothing depends on the disk of one.
import { hash, randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import pg from 'pg'
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { isBlobKey } from '../../services/storage/blobs/blob-store.ts'
import { deleteExpiredUploads } from '../../services/storage/uploads/retention.ts'
import { noS3 } from '../../scripts/test/s3-server.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { download, sweepStore } from '../support/storage/storage.ts'
import { storeKinds } from '../support/server/store-servers.ts'
import { bytesType, checksum, tusClient, uploadWithTusClient } from '../support/http/tus.ts'
import { waitUntil } from '../support/server/wait.ts'

const mebibyte = 2 ** 20
const part = 8 * mebibyte
const hour = 3_600_000

t.test('S3', { skip: noS3 }, async (t) => {
  t.test('two servers take the bytes of one upload, and one is killed within a chunk', async (t) => {
    const { url: DATABASE_URL } = await createTestDatabase(t)
    const store = await s3Env(t)
    const one = await spawnServer(t, { ...store, STORAGE_DIR: t.testdir({}), DATABASE_URL })
    const two = await startServer(t, { env: store, databaseUrl: DATABASE_URL })
    const bytes = randomBytes(3 * part + 12_345)
    const tus = [one, two].map(({ url }) => tusClient(url, bootstrapKey))
    const path = await tus[0].createUpload(bytes.length)
    let offset = 0
    for (const [index, length] of [1, 5 * mebibyte, 100_000, 6 * mebibyte].entries()) {
      const reply = await tus[index % 2].append(path, offset, bytes.subarray(offset, offset + length))
      offset += length
      t.match(
        { status: reply.status, offset: reply.headers.get('upload-offset') },
        { status: 204, offset: `${offset}` },
      )
    }

    // The second part is complete within this chunk, and the server has time to record it.
    sendSlowly(t, `${one.url}${path}`, offset, bytes.subarray(offset, 2 * part + mebibyte))
    await waitUntil(async () => (await offsetOf(DATABASE_URL)) === 2 * part, 'the second part', 20_000)
    await one.end('SIGKILL')
    t.equal(await expireLease(two), 1, 'the killed server had the lease')
    offset = 2 * part + 1
    await waitUntil(
      async () => (await tus[1].append(path, 2 * part, bytes.subarray(2 * part, offset))).status === 204,
      'the lease of the killed server to end',
      30_000,
    )
    t.equal((await tus[1].append(path, offset, bytes.subarray(offset))).status, 204)
    const fileId = (await tus[1].head(path)).headers.get('upload-file-id')!
    const file = await download(two.url, `/storage/files/${fileId}/download`, { key: bootstrapKey })
    t.equal(file.status, 200)
    t.ok(bytes.equals(file.bytes), 'the file has the bytes of both servers')
    t.same((await unfinished(store)).multiparts, [])
  })

  t.test('one server', async (t) => {
    const store = await s3Env(t)
    const server = await startServer(t, { env: { ...store, UPLOAD_MAX_BYTES: String(64 * mebibyte) } })
    const { database, config } = server.services
    const tus = tusClient(server.url, server.key)
    const bytes = randomBytes(2 * part + 1_000)
    const fileOf = async (path: string): Promise<Buffer> => {
      const id = (await tus.head(path)).headers.get('upload-file-id')
      return (await download(server.url, `/storage/files/${id}/download`, { key: server.key })).bytes
    }
    const expire = async (path: string): Promise<void> => {
      const data = { expiresAt: new Date(0) }
      await database.prisma.upload.update({ where: { id: path.split('/').at(-1)! }, data })
      await deleteExpiredUploads(database, server.services)
    }
    /** Runs the work while no file can be inserted. */
    const refuseFiles = async (work: () => Promise<unknown>): Promise<void> => {
      await database.sql(failInserts, [])
      await database.sql(addTrigger, [])
      await work()
      await database.sql(dropTrigger, [])
      await database.sql(dropFunction, [])
    }
    const offsetAt = async (path: string) => Number((await tus.head(path)).headers.get('upload-offset'))
    t.beforeEach(async () => {
      await database.prisma.upload.deleteMany()
    })

    t.test('the official client uploads in chunks of any size', async (t) => {
      for (const [length, chunkSize] of [
        [0, Infinity],
        [1, Infinity],
        [part, Infinity],
        [2 * part + 1, 3 * mebibyte],
        [5_000, 1_000],
      ]) {
        const content = randomBytes(length)
        const { fileId } = await uploadWithTusClient(content, {
          endpoint: `${server.url}/v1/storage/uploads`,
          key: server.key,
          chunkSize,
        })
        const file = await download(server.url, `/storage/files/${fileId}/download`, { key: server.key })
        t.ok(content.equals(file.bytes), `${length} bytes in chunks of ${chunkSize}`)
        const { body } = await server.admin.client.get(`/storage/files/${fileId}`)
        t.equal((body as any).sha256, hash('sha256', content))
      }
      t.same(await unfinished(store), { multiparts: [], tails: [] })
      t.same(
        await readdir(join(config.storageDir, 'incoming')).catch(() => []),
        [],
        'no scratch file is left',
      )
    })

    t.test('of two requests at one offset, one is accepted', async (t) => {
      const path = await tus.createUpload(bytes.length)
      const replies = await Promise.all([tus.append(path, 0, bytes), tus.append(path, 0, bytes)])
      t.same(replies.map(({ status }) => status).sort(), [204, 409])
      t.ok(bytes.equals(await fileOf(path)))
    })

    t.test('a wrong checksum and too many bytes leave the bytes that were there', async (t) => {
      const path = await tus.createUpload(bytes.length)
      await tus.append(path, 0, bytes.subarray(0, 1_000))
      const rest = bytes.subarray(1_000)
      t.equal((await tus.append(path, 1_000, rest, checksum('sha1', 'other'))).status, 460)
      const tooMany = Buffer.concat([rest, Buffer.alloc(1)])
      t.equal((await tus.append(path, 1_000, tooMany)).status, 413)
      t.equal(await offsetAt(path), 1_000)
      t.equal((await tus.append(path, 1_000, rest, checksum('sha256', rest))).status, 204)
      t.ok(bytes.equals(await fileOf(path)))
    })

    t.test('a complete upload that becomes no file leaves no blob', async (t) => {
      const before = await blobsOf(store)
      const path = await tus.createUpload(5, { filename: 'a', sha256: hash('sha256', 'other') })
      t.equal((await tus.append(path, 0, 'bytes')).status, 460)
      t.equal((await tus.head(path)).status, 404)
      await waitUntil(async () => (await blobsOf(store)).length === before.length, 'no blob after a 460')

      const taken = { filename: 'taken', path: 'conflicts', on_conflict: 'fail' }
      const [first, second] = [await tus.createUpload(5, taken), await tus.createUpload(5, taken)]
      t.equal((await tus.append(first, 0, 'bytes')).status, 204)
      t.equal((await tus.append(second, 0, 'bytes')).status, 409)
      await waitUntil(async () => (await blobsOf(store)).length === before.length + 1, 'the blob of one file')

      const expired = await tus.createUpload(5)
      await refuseFiles(async () => t.equal((await tus.append(expired, 0, 'bytes')).status, 500))
      t.equal((await blobsOf(store)).length, before.length + 2, 'the bytes stay for a retry')
      await expire(expired)
      await waitUntil(async () => (await blobsOf(store)).length === before.length + 1, 'no blob after expiry')
      t.equal((await fileOf(first)).toString(), 'bytes')
    })

    t.test('a deleted and an expired upload leave no parts and no tail', async (t) => {
      for (const remove of [(path: string) => tus.delete(path), expire]) {
        const path = await tus.createUpload(bytes.length)
        await tus.append(path, 0, bytes.subarray(0, part + 1_000))
        t.match(await unfinished(store), { multiparts: [String], tails: [String] })
        await remove(path)
        await waitUntil(async () => (await unfinished(store)).multiparts.length === 0)
        await waitUntil(async () => (await unfinished(store)).tails.length === 0)
        t.not((await tus.head(path)).status, 200)
      }
    })

    t.test('the sweep removes what no upload uses, after the time of the longest upload', async (t) => {
      const path = await tus.createUpload(bytes.length)
      const lost = await tus.createUpload(bytes.length)
      for (const each of [path, lost]) await tus.append(each, 0, bytes.subarray(0, part + 1_000))
      await database.prisma.upload.delete({ where: { id: lost.split('/').at(-1)! } })
      await sweepStore(server.services, { before: new Date() })
      t.match(await unfinished(store), { multiparts: [String, String], tails: [String, String] })
      const before = new Date(Date.now() + (config.resumableUploadHours + 1) * hour)
      await sweepStore(server.services, { before })
      const { multiparts, tails } = await unfinished(store)
      t.match({ multiparts: multiparts.length, tails: tails.length }, { multiparts: 1, tails: 1 })
      t.equal((await tus.append(path, part + 1_000, bytes.subarray(part + 1_000))).status, 204)
      t.ok(bytes.equals(await fileOf(path)))
    })

    t.test('an upload whose parts the store has lost begins again', async (t) => {
      const path = await tus.createUpload(bytes.length)
      await tus.append(path, 0, bytes.subarray(0, part + 1_000))
      await abortAll(store)
      // A store may refuse a part and close the connection before it has read the part: that is a 503.
      const reply = await waitUntil(async () => {
        const answer = await tus.append(path, part + 1_000, bytes.subarray(part + 1_000))
        return answer.status !== 503 && answer
      })
      t.match(reply, { status: 409, body: { error: { details: { constraint: 'offset' } } } })
      t.equal(await offsetAt(path), 0)
      t.equal((await tus.append(path, 0, bytes)).status, 204)
      t.ok(bytes.equals(await fileOf(path)))
    })

    t.test('an upload that could not become a file is finished by its last byte', async (t) => {
      const path = await tus.createUpload(bytes.length)
      await refuseFiles(async () => t.equal((await tus.append(path, 0, bytes)).status, 500))
      t.equal(await offsetAt(path), bytes.length - 1)
      t.equal((await tus.append(path, bytes.length - 1, bytes.subarray(-1))).status, 204)
      t.ok(bytes.equals(await fileOf(path)))
      t.equal((await tus.head(path)).headers.get('upload-offset'), String(bytes.length))
    })

    const { client } = server.admin
    const idOf = (path: string): string => path.split('/').at(-1)!
    const sign = async (path: string) => await client.post(`/storage/uploads/${idOf(path)}/parts`)
    const complete = async (path: string) => await client.post(`/storage/uploads/${idOf(path)}/complete`)
    const put = async ({ url, offset, bytes: length }: any, content = bytes) =>
      await fetch(url, { method: 'PUT', body: content.subarray(offset, offset + length) })

    t.test('a client sends the parts to the bucket itself, in any order and again', async (t) => {
      const path = await tus.createUpload(bytes.length, { filename: 'direct.bin', path: 'direct' })
      t.match(await complete(path), { status: 409, body: { error: { details: { constraint: 'parts' } } } })
      const { status, body } = await sign(path)
      t.match({ status, body }, { status: 200, body: { missing: 3 } })
      t.same(
        body.parts.map(({ number, offset, bytes: length }: any) => [number, offset, length]),
        [
          [1, 0, part],
          [2, part, part],
          [3, 2 * part, 1_000],
        ],
      )
      for (const each of [body.parts[2], body.parts[0], body.parts[0]]) t.equal((await put(each)).status, 200)
      t.match((await sign(path)).body, { missing: 1, parts: [{ number: 2 }] })
      t.match((await complete(path)).body, { error: { message: /size: 2\.$/ } })
      t.equal(await offsetAt(path), 0, 'no file yet')
      await put(body.parts[1])
      const both = await Promise.all([complete(path), complete(path)])
      t.same([...new Set(both.map(({ body: upload }) => upload.file_id))], [both[0].body.file_id])
      t.match(both[0], { status: 200, body: { file_id: /^file_/, offset: bytes.length } })
      t.ok(bytes.equals(await fileOf(path)))
      const { body: file } = await client.get(`/storage/files/${both[0].body.file_id}`)
      t.match(file, {
        name: 'direct.bin',
        path: 'direct',
        sha256: hash('sha256', bytes),
        bytes: bytes.length,
      })
      t.match((await sign(path)).body, { parts: [], missing: 0 })
      t.not((await put(body.parts[0])).status, 200, 'the URLs end with the upload')
      t.same((await unfinished(store)).multiparts, [])
      t.same(
        await readdir(join(config.storageDir, 'incoming')).catch(() => []),
        [],
        'nothing was on the disk',
      )
    })

    t.test('a URL takes its part alone, with its size and without more rights', async (t) => {
      const path = await tus.createUpload(bytes.length)
      const [first] = (await sign(path)).body.parts
      t.not((await put({ ...first, bytes: first.bytes - 1 })).status, 200, 'fewer bytes')
      t.not((await put({ ...first, bytes: first.bytes + 1 })).status, 200, 'more bytes')
      const other = first.url.replace('partNumber=1', 'partNumber=2')
      t.not((await put({ ...first, url: other })).status, 200, 'another part')
      t.not((await fetch(first.url)).status, 200, 'reading')
      t.match((await sign(path)).body, { missing: 3 })
    })

    t.test('parts whose file could not be created are kept for the next request', async (t) => {
      const path = await tus.createUpload(bytes.length)
      for (const each of (await sign(path)).body.parts) await put(each)
      await refuseFiles(async () => t.equal((await complete(path)).status, 500))
      t.match((await sign(path)).body, { parts: [], missing: 0 })
      t.match(await complete(path), { status: 200, body: { file_id: /^file_/ } })
      t.ok(bytes.equals(await fileOf(path)))
    })

    t.test('parts and PATCH exclude each other, and lost or wrong bytes leave nothing', async (t) => {
      const path = await tus.createUpload(bytes.length)
      await tus.append(path, 0, bytes.subarray(0, 1_000))
      t.match(await sign(path), { status: 409, body: { error: { details: { constraint: 'offset' } } } })
      t.match(await complete(path), { status: 409, body: { error: { details: { constraint: 'offset' } } } })
      await tus.delete(path)

      const lost = await tus.createUpload(bytes.length)
      for (const each of (await sign(lost)).body.parts) await put(each)
      await abortAll(store)
      t.match(await complete(lost), { status: 409, body: { error: { details: { constraint: 'parts' } } } })
      for (const each of (await sign(lost)).body.parts) await put(each)
      t.equal((await complete(lost)).status, 200)

      const blobs = await blobsOf(store)
      const wrong = await tus.createUpload(bytes.length, { filename: 'a', sha256: hash('sha256', 'other') })
      for (const each of (await sign(wrong)).body.parts) await put(each)
      t.equal((await complete(wrong)).status, 460)
      t.equal((await tus.head(wrong)).status, 404)
      await waitUntil(async () => (await blobsOf(store)).length === blobs.length, 'no blob')
      const stranger = await server.person()
      const mine = await tus.createUpload(bytes.length)
      for (const action of ['parts', 'complete'])
        t.equal((await stranger.client.post(`/storage/uploads/${idOf(mine)}/${action}`)).status, 403)
      await tus.delete(mine)
      await waitUntil(async () => (await unfinished(store)).multiparts.length === 0)
    })

    t.test('bytes that an earlier version has on disk are finished there', async (t) => {
      const path = await tus.createUpload(1_000)
      const id = path.split('/').at(-1)!
      const writer = await server.services.storage.partialFiles.open(id, 0)
      await writer.write(bytes.subarray(0, 400))
      await writer.sync()
      await writer.close()
      await database.prisma.upload.update({ where: { id }, data: { received: 400 } })
      t.equal((await tus.append(path, 400, bytes.subarray(400, 1_000))).status, 204)
      t.ok(bytes.subarray(0, 1_000).equals(await fileOf(path)))
      t.same((await unfinished(store)).multiparts, [])
    })
  })
})

const failInserts = statement(
  `CREATE FUNCTION refuse_file() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`,
)
const addTrigger = statement(
  'CREATE TRIGGER refuse BEFORE INSERT ON files FOR EACH ROW EXECUTE FUNCTION refuse_file()',
)
const dropTrigger = statement('DROP TRIGGER refuse ON files')
const dropFunction = statement('DROP FUNCTION refuse_file()')

async function s3Env(t: Test): Promise<Record<string, string>> {
  return await storeKinds.find(({ name }) => name === 's3')!.env(t)
}

/** Sends the bytes and leaves the request open. */
function sendSlowly(t: Test, url: string, offset: number, bytes: Buffer): void {
  const request = httpRequest(url, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${bootstrapKey}`,
      'tus-resumable': '1.0.0',
      'upload-offset': String(offset),
      'content-type': bytesType,
    },
  })
  request.on('error', () => {})
  request.write(bytes)
  t.teardown(() => request.destroy())
}

/** Ends the lease of the upload, as its time would. @returns 1 if there is one, otherwise 0 */
async function expireLease({ services }: TestServer): Promise<number> {
  const { upload } = services.database.prisma
  const where = { heldUntil: { gt: new Date(), lt: new Date(Date.now() + 60_000) } }
  return (await upload.updateMany({ where, data: { heldUntil: new Date() } })).count
}

async function offsetOf(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return Number((await client.query('SELECT received FROM uploads')).rows[0].received)
  } finally {
    await client.end()
  }
}

function clientOf(store: Record<string, string>): S3Client {
  return new S3Client({
    endpoint: store.S3_ENDPOINT,
    region: store.S3_REGION,
    credentials: { accessKeyId: store.S3_ACCESS_KEY_ID, secretAccessKey: store.S3_SECRET_ACCESS_KEY },
    forcePathStyle: true,
  })
}

/** The parts of unfinished uploads in the store. */
async function unfinished(store: Record<string, string>): Promise<{ multiparts: string[]; tails: string[] }> {
  const client = clientOf(store)
  const Bucket = store.S3_BUCKET
  try {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }))
    const { Contents = [] } = await client.send(
      new ListObjectsV2Command({ Bucket, Prefix: '.platform-uploads/' }),
    )
    return { multiparts: Uploads.map(({ Key }) => Key!), tails: Contents.map(({ Key }) => Key!) }
  } finally {
    client.destroy()
  }
}

/** The keys of the blobs in the store. */
async function blobsOf(store: Record<string, string>): Promise<string[]> {
  const client = clientOf(store)
  try {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: store.S3_BUCKET }))
    return Contents.map(({ Key }) => Key!).filter(isBlobKey)
  } finally {
    client.destroy()
  }
}

async function abortAll(store: Record<string, string>): Promise<void> {
  const client = clientOf(store)
  const Bucket = store.S3_BUCKET
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }))
  for (const { Key, UploadId } of Uploads)
    await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
  client.destroy()
}
