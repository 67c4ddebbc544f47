// What every store of blobs has to keep, held against each of them: a folder, and an S3 server.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import type { S3Config } from '../../infra/config/config.ts'
import { newId } from '../../infra/ids.ts'
import { BlobMissing, type Blobs, type Received } from '../../services/storage/blobs/blob-store.ts'
import { createDiskBlobs } from '../../services/storage/blobs/disk.ts'
import { createS3Blobs, sizeOfParts } from '../../services/storage/blobs/s3.ts'
import { startFakeS3 } from '../support/fake-s3.ts'
import { noS3, startS3, type S3Server } from '../../scripts/test/s3-server.ts'
import { waitUntil } from '../support/wait.ts'

const partSize = 5 * 1024 * 1024

function temporary(t: Test): string {
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

const stores: Array<{ name: string; skip: string | false; open(t: Test): Promise<Blobs> }> = [
  { name: 'disk', skip: false, open: async (t) => createDiskBlobs(temporary(t)) },
  { name: 's3', skip: noS3, open: async (t) => createS3Blobs(s3Config(await startS3(t)), { partSize }) },
]

async function keysOf(blobs: Blobs): Promise<string[]> {
  const keys: string[] = []
  for await (const page of blobs.list()) for (const { key } of page) keys.push(key)
  return keys.sort()
}

/** A file that has arrived. */
function arrived(t: Test, content: Buffer): Received {
  const path = join(temporary(t), 'arrived')
  writeFileSync(path, content)
  return { path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

for (const { name, skip, open } of stores) {
  t.test(name, { skip }, async (t) => {
    const blobs = await open(t)
    t.teardown(() => blobs.close())
    await blobs.ping()
    t.same(await keysOf(blobs), [], 'there is nothing at first')

    t.test('what is put is read, whole and in part', async (t) => {
      for (const size of [0, 1, 100_000, partSize, 2 * partSize + 7]) {
        const content = randomBytes(size)
        const key = newId('file')
        await blobs.put(key, arrived(t, content))
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

    t.test('a key with a variant is a blob of its own', async (t) => {
      const id = newId('avt')
      for (const size of [64, 128]) await blobs.put(`${id}-${size}`, arrived(t, Buffer.from(String(size))))
      t.equal((await buffer(await blobs.read(`${id}-128`))).toString(), '128')
    })

    t.test('what is not there is missing, and removed without complaint', async (t) => {
      const key = newId('file')
      t.type(await blobs.read(key).catch((error: unknown) => error), BlobMissing)
      await blobs.remove([key])
      await blobs.put(key, arrived(t, Buffer.from('x')))
      const missing = newId('file')
      const { gone, error } = await blobs.remove([key, missing])
      t.same([gone.sort(), error], [[key, missing].sort(), null])
      t.type(await blobs.read(key).catch((error: unknown) => error), BlobMissing)
      t.notOk((await keysOf(blobs)).includes(key))
    })

    t.test('a blob that is removed while it is read is read to its end', async (t) => {
      const content = randomBytes(2_000_000)
      const key = newId('file')
      await blobs.put(key, arrived(t, content))
      const stream = await blobs.read(key)
      await blobs.remove([key])
      t.ok(content.equals(await buffer(stream)))
    })

    t.test('the list has everything, with its time', async (t) => {
      const before = await keysOf(blobs)
      const started = Date.now()
      const keys = Array.from({ length: 1_100 }, () => newId('file'))
      const work = [...keys]
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          for (let key = work.pop(); key !== undefined; key = work.pop())
            await blobs.put(key, arrived(t, Buffer.from(key)))
        }),
      )
      t.same(await keysOf(blobs), [...before, ...keys].sort())
      for await (const page of blobs.list()) {
        for (const { key, modifiedAt } of page) {
          if (keys.includes(key) && Math.abs(modifiedAt.getTime() - started) > 120_000)
            t.fail(`${key} is of ${modifiedAt.toISOString()}`)
        }
      }
      await blobs.remove(keys)
      t.same(await keysOf(blobs), before)
    })

    t.test('a put that fails leaves nothing', async (t) => {
      const before = await keysOf(blobs)
      for (const bytes of [10, 2 * partSize]) {
        await t.rejects(
          blobs.put(newId('file'), { path: join(temporary(t), 'nowhere'), bytes, sha256: 'ab'.repeat(32) }),
          { code: 'UNAVAILABLE' },
        )
      }
      t.same(await keysOf(blobs), before)
    })
  })
}

t.test('a folder takes no key that is a path', async (t) => {
  const folder = temporary(t)
  const blobs = createDiskBlobs(folder)
  for (const key of ['../../etc/passwd', 'a/b', '..', '', 'file_A', 'x'.repeat(101), 'nul\0'])
    await t.rejects(blobs.put(key, arrived(t, Buffer.from('x'))), /not a key/)
  t.same(readdirSync(folder), [])
})

t.test('a folder: what cannot be removed keeps nothing else from it', async (t) => {
  const folder = temporary(t)
  const blobs = createDiskBlobs(folder)
  const keys = Array.from({ length: 3 }, () => newId('file'))
  for (const key of keys) await blobs.put(key, arrived(t, Buffer.from('x')))
  const stuck = join(folder, 'blobs', keys[1].slice(-2), keys[1])
  rmSync(stuck)
  mkdirSync(stuck)
  const { gone, error } = await blobs.remove(keys)
  t.same(gone, [keys[0], keys[2]])
  t.ok(error instanceof Error)
  t.same(await keysOf(blobs), [])
})

t.test('S3: a store that misbehaves', async (t) => {
  const silence = 1_000
  const open = async (t: Test, answer: Parameters<typeof startFakeS3>[1], options = {}): Promise<Blobs> => {
    const blobs = createS3Blobs((await startFakeS3(t, answer)).config, { silence, ...options })
    t.teardown(() => blobs.close())
    return blobs
  }
  const key = newId('file')
  /** Milliseconds until it is 503. */
  const patience = async (t: Test, work: Promise<unknown>): Promise<number> => {
    const started = performance.now()
    await t.rejects(work, { code: 'UNAVAILABLE' })
    return performance.now() - started
  }

  t.test('one that says nothing is given up at once, and not asked again', async (t) => {
    let asked = 0
    const blobs = await open(
      t,
      (request) => {
        asked++
        request.resume()
      },
      { partSize },
    )
    const works = {
      read: () => blobs.read(key),
      'put small': () => blobs.put(key, arrived(t, Buffer.from('x'))),
      'put nothing': () => blobs.put(key, arrived(t, Buffer.alloc(0))),
      'put in parts': () => blobs.put(key, arrived(t, Buffer.alloc(partSize + 1))),
      tidy: () => blobs.tidy(new Date()),
      list: () => keysOf(blobs),
    }
    for (const [what, work] of Object.entries(works)) {
      asked = 0
      t.ok((await patience(t, work())) < 3 * silence, what)
      t.equal(asked, 1, what)
    }
    t.match(await blobs.remove([key, newId('file')]), { gone: [], error: Error })
  })

  t.test('one that stops in the middle of a part is given up, and its parts in the background', async (t) => {
    let begun = 0
    const aborted: string[] = []
    const blobs = await open(
      t,
      (request, response) => {
        if (request.method === 'POST')
          return response.end(
            '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>',
          )
        // Nor does it answer to this.
        if (request.method === 'DELETE') return aborted.push(request.url!)
        begun++
        request.once('data', () => request.pause())
      },
      { partSize },
    )
    t.ok((await patience(t, blobs.put(key, arrived(t, Buffer.alloc(2 * partSize))))) < 4 * silence)
    t.equal(begun, 1)
    await waitUntil(() => aborted.length === 1, 'the parts to be given up')
  })

  t.test('a reader may take any time, and a store may not', async (t) => {
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
    await sleep(3 * silence)
    t.equal((await buffer(reading)).length, content.length)
    sent = 1_000_000
    await t.rejects(buffer(await blobs.read(key)), /the store is silent/)
  })

  t.test('uploads in parts of others are theirs, and there may be many of ours', async (t) => {
    const ours = Array.from({ length: 3 }, () => newId('file'))
    const aborted: string[] = []
    const upload = (key: string): string =>
      `<Upload><Key>${key}</Key><UploadId>u-${key.slice(-4)}</UploadId><Initiated>2020-01-01T00:00:00.000Z</Initiated></Upload>`
    const blobs = await open(t, (request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://x')
      if (request.method === 'DELETE') {
        aborted.push(pathname)
        // Somebody else may be at it, too.
        return aborted.length === 1
          ? response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>')
          : response.writeHead(204).end()
      }
      const page = Number(searchParams.get('key-marker') ?? 0)
      const last = page === ours.length - 1
      response.end(
        `<ListMultipartUploadsResult>${upload('backup/other.tar')}${upload(ours[page])}<IsTruncated>${!last}</IsTruncated>${last ? '' : `<NextKeyMarker>${page + 1}</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>`}</ListMultipartUploadsResult>`,
      )
    })
    await blobs.tidy(new Date())
    t.same(
      aborted,
      ours.map((key) => `/fake/${key}`),
    )
  })

  t.test('what it refuses to remove keeps nothing else from it', async (t) => {
    const keys = Array.from({ length: 5 }, () => newId('file'))
    const blobs = await open(t, (request, response) => {
      if (request.url!.includes(keys[2]))
        return response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
      response.writeHead(204).end()
    })
    const { gone, error } = await blobs.remove(keys)
    t.same(gone.sort(), keys.filter((_key, i) => i !== 2).sort())
    t.match(error, { name: 'AccessDenied' })
  })
})

t.test('no file has more parts than S3 takes', async (t) => {
  for (const bytes of [1, 2 ** 28, 5 * 2 ** 30, 10_000 * 2 ** 28 + 1, 2 ** 45 + 1]) {
    const size = sizeOfParts(bytes)
    t.ok(Math.ceil(bytes / size) <= 10_000 && size >= 2 ** 28, `${bytes} in parts of ${size}`)
  }
})

t.test('S3: what only it has', { skip: noS3 }, async (t) => {
  const server = await startS3(t)
  const config = s3Config(server, true)
  const blobs = createS3Blobs(config, { partSize })
  t.teardown(() => blobs.close())

  t.test('a presigned address gives the blob, named and typed, for a while', async (t) => {
    const content = randomBytes(1_000)
    const key = newId('file')
    await blobs.put(key, arrived(t, content))
    const address = await blobs.presign(key, {
      type: 'image/png',
      disposition: 'attachment; filename="a b.png"',
      seconds: 60,
    })
    const response = await fetch(address)
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-type'), 'image/png')
    t.equal(response.headers.get('content-disposition'), 'attachment; filename="a b.png"')
    t.equal(response.headers.get('cache-control'), 'private, no-store')
    t.ok(content.equals(Buffer.from(await response.arrayBuffer())))
    t.equal((await fetch(address.replace(key, newId('file')))).status, 403, 'and no other')
  })

  t.test('parts that a dead process left are removed when they are old', async (t) => {
    const { endpoint, region, credentials } = config
    const client = new S3Client({
      endpoint: endpoint!,
      region,
      credentials: credentials!,
      forcePathStyle: true,
    })
    t.teardown(() => client.destroy())
    const left = async (): Promise<number> =>
      (await client.send(new ListMultipartUploadsCommand({ Bucket: config.bucket }))).Uploads?.length ?? 0
    await client.send(new CreateMultipartUploadCommand({ Bucket: config.bucket, Key: newId('file') }))
    await blobs.tidy(new Date(Date.now() - 60_000))
    t.equal(await left(), 1)
    await blobs.tidy(new Date(Date.now() + 60_000))
    t.equal(await left(), 0)
  })

  t.test('a store that refuses, or is not there, is 503 and says nothing of itself', async (t) => {
    const strangers = createS3Blobs({
      ...config,
      credentials: { accessKeyId: config.credentials!.accessKeyId, secretAccessKey: 'wrong' },
    })
    const nowhere = createS3Blobs({ ...config, endpoint: 'http://127.0.0.1:9' })
    const homeless = createS3Blobs({ ...config, bucket: 'there-is-no-such-bucket' })
    for (const broken of [strangers, nowhere, homeless]) {
      t.teardown(() => broken.close())
      await t.rejects(broken.put(newId('file'), arrived(t, Buffer.from('x'))), {
        status: 503,
        message: 'The store of files is out of reach; try again.',
      })
      await t.rejects(broken.read(newId('file')), { code: 'UNAVAILABLE' })
      await t.rejects(broken.ping())
    }
  })
})
