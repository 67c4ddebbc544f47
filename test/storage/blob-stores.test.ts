// The contract of the blob store, run against both implementations: local disk and an S3 server.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutBucketAclCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { request } from 'undici'
import type { S3Config } from '../../infra/config/config.ts'
import { newId } from '../../infra/ids.ts'
import { BlobNotFound, type BlobStore, type LocalFile } from '../../services/storage/blobs/blob-store.ts'
import { createDiskBlobStore } from '../../services/storage/blobs/disk.ts'
import { partSizeFor } from '../../services/storage/blobs/s3-put.ts'
import { createS3BlobStore } from '../../services/storage/blobs/s3.ts'
import { startFakeS3 } from '../support/storage/fake-s3.ts'
import { noS3, startS3, type S3Server } from '../../scripts/test/s3-server.ts'
import { waitUntil } from '../support/server/wait.ts'

const partSize = 5 * 1024 * 1024

const all = async (keys: string[]): Promise<string[]> => keys

function newDirectory(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'blobs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function s3Config(
  { endpoint, region, accessKeyId, secretAccessKey, bucket }: S3Server,
  redirect = false,
): S3Config {
  return { endpoint, region, bucket, redirect, credentials: { accessKeyId, secretAccessKey } }
}

interface OpenStore {
  blobs: BlobStore
  /** Stores more blobs than one page of the store's list has. @returns their keys. */
  fill(): Promise<string[]>
}

const stores: Array<{ name: string; skip: string | false; open(t: Test): Promise<OpenStore> }> = [
  {
    name: 'disk',
    skip: false,
    async open(t) {
      // A page is the content of one folder.
      return { blobs: createDiskBlobStore(newDirectory(t)), fill: async () => [] }
    },
  },
  {
    name: 's3',
    skip: noS3,
    async open(t) {
      const server = await startS3(t)
      const blobs = createS3BlobStore(s3Config(server), { partSize })
      return { blobs, fill: () => fillBucket(t, server) }
    },
  },
]

/** Puts 1,000 objects without signatures, which take most of the time. */
async function fillBucket(t: Test, server: S3Server): Promise<string[]> {
  const client = createClient(server)
  t.teardown(() => client.destroy())
  await client.send(new PutBucketAclCommand({ Bucket: server.bucket, ACL: 'public-read-write' }))
  const keys = Array.from({ length: 1_000 }, () => newId('file'))
  await concurrently(keys, async (key) => {
    const reply = await request(`${server.endpoint}/${server.bucket}/${key}`, { method: 'PUT', body: key })
    await reply.body.dump()
    if (reply.statusCode !== 200) throw new Error(`the object was not stored: ${reply.statusCode}`)
  })
  return keys
}

function createClient({ endpoint, region, accessKeyId, secretAccessKey }: S3Server): S3Client {
  return new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
  })
}

async function concurrently(keys: string[], work: (key: string) => Promise<unknown>): Promise<void> {
  const left = [...keys]
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) await work(key)
    }),
  )
}

async function keysOf(blobs: BlobStore): Promise<string[]> {
  const keys: string[] = []
  for await (const page of blobs.list()) for (const { key } of page) keys.push(key)
  return keys.sort()
}

function localFile(t: Test, content: Buffer): LocalFile {
  const path = join(newDirectory(t), 'file')
  writeFileSync(path, content)
  return { path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

for (const { name, skip, open } of stores) {
  t.test(name, { skip }, async (t) => {
    const { blobs, fill } = await open(t)
    t.teardown(() => blobs.close())
    await blobs.ping()
    t.same(await keysOf(blobs), [], 'a new store is empty')

    t.test('a stored blob can be read completely and in ranges', async (t) => {
      for (const size of [0, 1, 100_000, partSize, 2 * partSize + 7]) {
        const content = randomBytes(size)
        const key = newId('file')
        await blobs.put(key, localFile(t, content))
        t.ok(content.equals(await buffer(await blobs.read(key))), `${size} bytes`)
        if (size === 0) continue
        for (const [start, end] of [
          [0, 0],
          [size - 1, size - 1],
          [0, size - 1],
          [Math.floor(size / 3), Math.floor(size / 2)],
        ]) {
          t.ok(
            content.subarray(start, end + 1).equals(await buffer(await blobs.read(key, { start, end }))),
            `${start}-${end} of ${size}`,
          )
        }
      }
    })

    t.test('keys with a variant are separate blobs', async (t) => {
      const id = newId('avt')
      for (const size of [64, 128]) await blobs.put(`${id}-${size}`, localFile(t, Buffer.from(String(size))))
      t.equal((await buffer(await blobs.read(`${id}-128`))).toString(), '128')
    })

    t.test('reading a missing blob throws BlobNotFound, and deleting it succeeds', async (t) => {
      const key = newId('file')
      t.type(await blobs.read(key).catch((error: unknown) => error), BlobNotFound)
      await blobs.delete([key])
      await blobs.put(key, localFile(t, Buffer.from('x')))
      const missing = newId('file')
      const { deleted, error } = await blobs.delete([key, missing])
      t.same([deleted.sort(), error], [[key, missing].sort(), null])
      t.type(await blobs.read(key).catch((error: unknown) => error), BlobNotFound)
      t.notOk((await keysOf(blobs)).includes(key))
    })

    t.test('a blob that is deleted while it is read can be read to its end', async (t) => {
      const content = randomBytes(2_000_000)
      const key = newId('file')
      await blobs.put(key, localFile(t, content))
      const stream = await blobs.read(key)
      await blobs.delete([key])
      t.ok(content.equals(await buffer(stream)))
    })

    t.test('the list contains every blob with its modification time', async (t) => {
      const before = await keysOf(blobs)
      const started = Date.now()
      const keys = Array.from({ length: 100 }, () => newId('file'))
      await concurrently(keys, (key) => blobs.put(key, localFile(t, Buffer.from(key))))
      const more = await fill()
      t.same(await keysOf(blobs), [...before, ...keys, ...more].sort())
      for await (const page of blobs.list()) {
        for (const { key, modifiedAt } of page) {
          if (!before.includes(key) && Math.abs(modifiedAt.getTime() - started) > 120_000)
            t.fail(`${key} was modified at ${modifiedAt.toISOString()}`)
        }
      }
      await blobs.delete(keys)
      t.same(await keysOf(blobs), [...before, ...more].sort())
    })

    t.test('a failed put leaves no blob', async (t) => {
      const before = await keysOf(blobs)
      for (const bytes of [10, 2 * partSize]) {
        await t.rejects(
          blobs.put(newId('file'), {
            path: join(newDirectory(t), 'missing'),
            bytes,
            sha256: 'ab'.repeat(32),
          }),
          { code: 'UNAVAILABLE' },
        )
      }
      t.same(await keysOf(blobs), before)
    })
  })
}

t.test('disk: a key that is a path is rejected', async (t) => {
  const directory = newDirectory(t)
  const blobs = createDiskBlobStore(directory)
  for (const key of ['../../etc/passwd', 'a/b', '..', '', 'file_A', 'x'.repeat(101), 'nul\0'])
    await t.rejects(blobs.put(key, localFile(t, Buffer.from('x'))), /invalid blob key/)
  t.same(readdirSync(directory), [])
})

t.test('disk: a blob that cannot be deleted does not stop the others', async (t) => {
  const directory = newDirectory(t)
  const blobs = createDiskBlobStore(directory)
  const keys = Array.from({ length: 3 }, () => newId('file'))
  for (const key of keys) await blobs.put(key, localFile(t, Buffer.from('x')))
  const stuck = join(directory, 'blobs', keys[1].slice(-2), keys[1])
  rmSync(stuck)
  mkdirSync(stuck)
  const { deleted, error } = await blobs.delete(keys)
  t.same(deleted, [keys[0], keys[2]])
  t.ok(error instanceof Error)
  t.same(await keysOf(blobs), [])
})

t.test('S3: a store that does not behave', async (t) => {
  const idleTimeoutMs = 1_000
  const open = async (
    t: Test,
    answer: Parameters<typeof startFakeS3>[1],
    options = {},
  ): Promise<BlobStore> => {
    const blobs = createS3BlobStore((await startFakeS3(t, answer)).config, { idleTimeoutMs, ...options })
    t.teardown(() => blobs.close())
    return blobs
  }
  const key = newId('file')
  /** Milliseconds until the operation fails with 503. */
  const failureTime = async (t: Test, operation: Promise<unknown>): Promise<number> => {
    const started = performance.now()
    await t.rejects(operation, { code: 'UNAVAILABLE' })
    return performance.now() - started
  }

  t.test('a request without a response is aborted once and not retried', async (t) => {
    const operations: Record<string, (blobs: BlobStore) => Promise<unknown>> = {
      read: (blobs) => blobs.read(key),
      'put small': (blobs) => blobs.put(key, localFile(t, Buffer.from('x'))),
      'put empty': (blobs) => blobs.put(key, localFile(t, Buffer.alloc(0))),
      'put in parts': (blobs) => blobs.put(key, localFile(t, Buffer.alloc(partSize + 1))),
      deleteIncompletePuts: (blobs) => blobs.deleteIncompletePuts(new Date(), all),
      list: (blobs) => keysOf(blobs),
    }
    const silent = async (): Promise<{ blobs: BlobStore; requests(): number }> => {
      let requests = 0
      const answer = (request: IncomingMessage): void => {
        requests++
        request.resume()
      }
      return { blobs: await open(t, answer, { partSize }), requests: () => requests }
    }
    // At the same time, because each waits for the time-out.
    await Promise.all([
      ...Object.entries(operations).map(async ([name, operation]) => {
        const { blobs, requests } = await silent()
        t.ok((await failureTime(t, operation(blobs))) < 3 * idleTimeoutMs, name)
        t.equal(requests(), 1, name)
      }),
      silent().then(async ({ blobs }) =>
        t.match(await blobs.delete([key, newId('file')]), { deleted: [], error: Error }),
      ),
    ])
  })

  t.test(
    'an upload that stalls within a part is aborted, and its parts are deleted in the background',
    async (t) => {
      let parts = 0
      const aborted: string[] = []
      const blobs = await open(
        t,
        (request, response) => {
          if (request.method === 'POST')
            return response.end(
              '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>',
            )
          // The abort gets no response either.
          if (request.method === 'DELETE') return aborted.push(request.url!)
          parts++
          request.once('data', () => request.pause())
        },
        { partSize },
      )
      const put = blobs.put(key, localFile(t, Buffer.alloc(2 * partSize)))
      t.ok((await failureTime(t, put)) < 4 * idleTimeoutMs)
      t.equal(parts, 1)
      await waitUntil(() => aborted.length === 1, 'the multipart upload to be aborted')
    },
  )

  t.test('a slow reader is not disconnected, but a stalled store is', async (t) => {
    const content = Buffer.alloc(4_000_000, 'x')
    let sent = content.length
    const blobs = await open(t, (_request, response) => {
      response
        .writeHead(200, { 'content-length': content.length, etag: '"x"' })
        .write(content.subarray(0, sent))
      if (sent === content.length) response.end()
    })
    const reading = await blobs.read(key)
    reading.pause()
    await sleep(3 * idleTimeoutMs)
    t.equal((await buffer(reading)).length, content.length)
    sent = 1_000_000
    await t.rejects(buffer(await blobs.read(key)), /the S3 store stopped responding/)
  })

  t.test('incomplete puts are deleted on all pages, and foreign multipart uploads are kept', async (t) => {
    const ours = Array.from({ length: 3 }, () => newId('file'))
    const aborted: string[] = []
    const upload = (key: string): string =>
      `<Upload><Key>${key}</Key><UploadId>u-${key.slice(-4)}</UploadId>` +
      '<Initiated>2020-01-01T00:00:00.000Z</Initiated></Upload>'
    const marker = (page: number): string =>
      `<NextKeyMarker>${page}</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>`
    const blobs = await open(t, (request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://x')
      if (request.method === 'DELETE') {
        aborted.push(pathname)
        // Another process may have aborted the upload already.
        return aborted.length === 1
          ? response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>')
          : response.writeHead(204).end()
      }
      const page = Number(searchParams.get('key-marker') ?? 0)
      const last = page === ours.length - 1
      response.end(
        `<ListMultipartUploadsResult>${upload('backup/other.tar')}${upload(ours[page])}` +
          `<IsTruncated>${!last}</IsTruncated>${last ? '' : marker(page + 1)}</ListMultipartUploadsResult>`,
      )
    })
    await blobs.deleteIncompletePuts(new Date(), all)
    t.same(
      aborted,
      ours.map((key) => `/fake/${key}`),
    )
  })

  t.test('a refused deletion does not stop the others', async (t) => {
    const keys = Array.from({ length: 5 }, () => newId('file'))
    const blobs = await open(t, (request, response) => {
      if (request.url!.includes(keys[2]))
        return response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
      response.writeHead(204).end()
    })
    const { deleted, error } = await blobs.delete(keys)
    t.same(deleted.sort(), keys.filter((_key, i) => i !== 2).sort())
    t.match(error, { name: 'AccessDenied' })
  })
})

t.test('no file has more parts than S3 accepts', async (t) => {
  for (const bytes of [1, 2 ** 28, 5 * 2 ** 30, 10_000 * 2 ** 28 + 1, 2 ** 45 + 1]) {
    const size = partSizeFor(bytes)
    t.ok(Math.ceil(bytes / size) <= 10_000 && size >= 2 ** 28, `${bytes} bytes in parts of ${size}`)
  }
})

t.test('S3: features that the disk store lacks', { skip: noS3 }, async (t) => {
  const server = await startS3(t)
  const config = s3Config(server, true)
  const blobs = createS3BlobStore(config, { partSize })
  t.teardown(() => blobs.close())

  t.test('a presigned URL returns the blob with the requested headers', async (t) => {
    const content = randomBytes(1_000)
    const key = newId('file')
    await blobs.put(key, localFile(t, content))
    const url = await blobs.presign(key, {
      contentType: 'image/png',
      contentDisposition: 'attachment; filename="a b.png"',
      expiresInSeconds: 60,
    })
    const response = await fetch(url)
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-type'), 'image/png')
    t.equal(response.headers.get('content-disposition'), 'attachment; filename="a b.png"')
    t.equal(response.headers.get('cache-control'), 'private, no-store')
    t.ok(content.equals(Buffer.from(await response.arrayBuffer())))
    t.equal((await fetch(url.replace(key, newId('file')))).status, 403, 'no other blob can be read')
  })

  t.test('old parts of a crashed process are deleted', async (t) => {
    const client = createClient(server)
    t.teardown(() => client.destroy())
    const countUploads = async (): Promise<number> =>
      (await client.send(new ListMultipartUploadsCommand({ Bucket: config.bucket }))).Uploads?.length ?? 0
    await client.send(new CreateMultipartUploadCommand({ Bucket: config.bucket, Key: newId('file') }))
    await blobs.deleteIncompletePuts(new Date(Date.now() - 60_000), all)
    t.equal(await countUploads(), 1)
    await blobs.deleteIncompletePuts(new Date(Date.now() + 60_000), all)
    t.equal(await countUploads(), 0)
  })

  t.test('a store that is unreachable or denies access is a 503 without details', async (t) => {
    const wrongSecret = createS3BlobStore({
      ...config,
      credentials: { accessKeyId: config.credentials!.accessKeyId, secretAccessKey: 'wrong' },
    })
    const unreachable = createS3BlobStore({ ...config, endpoint: 'http://127.0.0.1:9' })
    const missingBucket = createS3BlobStore({ ...config, bucket: 'there-is-no-such-bucket' })
    for (const broken of [wrongSecret, unreachable, missingBucket]) {
      t.teardown(() => broken.close())
      await t.rejects(broken.put(newId('file'), localFile(t, Buffer.from('x'))), {
        status: 503,
        message: 'The file store is unavailable; try again later.',
      })
      await t.rejects(broken.read(newId('file')), { code: 'UNAVAILABLE' })
      await t.rejects(broken.ping())
    }
  })
})
