// The files that the TypeScript client uploads: from paths, bytes and streams, with their names.
import { hash, randomBytes } from 'node:crypto'
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { fileFrom, toFile, type Progress, type Uploadable } from '../../../generated/client/index.js'
import { startServer } from '../../../test/support/server/server.ts'
import { assertNothingLeft } from '../../../test/support/storage/storage.ts'
import { instantClock, typedClient } from '../../../test/support/http/typed-client.ts'

const server = await startServer(t)
const { key } = await server.person()
const client = typedClient(server.url, key)
const bytes = randomBytes(200_000)
const sha256 = hash('sha256', bytes)
const folder = t.testdir()
const path = join(folder, 'the report.pdf')
writeFileSync(path, bytes)

t.test('a file of any source keeps its name and its bytes', async (t) => {
  const web = (): ReadableStream<Uint8Array> =>
    Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>
  async function* generated(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < bytes.length; i += 30_000) yield bytes.subarray(i, i + 30_000)
  }
  const cases: Array<[string, string, Uploadable]> = [
    ['a path', 'the report.pdf', await fileFrom(path)],
    ['a path with another name', 'other.pdf', await fileFrom(path, { name: 'other.pdf' })],
    ['a stream of Node.js', 'the report.pdf', createReadStream(path)],
    ['a stream of the web', 'named.bin', toFile(web(), 'named.bin')],
    ['a generator', 'sized.bin', toFile(generated(), 'sized.bin', { size: bytes.length })],
    ['a Buffer', 'buffer.bin', toFile(bytes, 'buffer.bin')],
    ['a Buffer without a name', 'file', bytes],
    ['an ArrayBuffer', 'array.bin', toFile(new Uint8Array(bytes).buffer, 'array.bin')],
    ['a Blob', 'blob.bin', toFile(new Blob([bytes]), 'blob.bin')],
    ['a File', 'mine.bin', new File([bytes], 'mine.bin')],
  ]
  for (const [kind, name, file] of cases) {
    const stored = await client.storage.files.upload({ file, tags: ['kinds'] })
    t.match(stored, { name, sha256, bytes: bytes.length, tags: ['kinds'] }, kind)
  }
  const typed = await client.uploadFile({ body: { file: toFile(bytes, 'x', { type: 'application/x-y' }) } })
  t.equal(typed.declared_content_type, 'application/x-y')
  await assertNothingLeft(t, server)
})

t.test('a stream is sent once, with its progress, and an early end is an error', async (t) => {
  const progress: Progress[] = []
  const sized = toFile(Readable.from([bytes]), 'sized.bin', { size: bytes.length })
  await client.storage.files.upload({ file: sized }, { onProgress: (now) => progress.push(now) })
  t.strictSame(progress.at(-1), { sent: bytes.length, total: bytes.length })
  const unknown: Progress[] = []
  await client.storage.files.upload(
    { file: Readable.from([bytes]) },
    { onProgress: (now) => unknown.push(now) },
  )
  t.match(unknown.at(-1), { sent: bytes.length, total: Infinity })

  let sent = 0
  const fetch = async (): Promise<Response> => {
    sent++
    throw new TypeError('fetch failed')
  }
  const lost = typedClient(server.url, key, { fetch, clock: instantClock() })
  await t.rejects(lost.uploadFile({ body: { file: Readable.from([bytes]) } }), { name: 'ConnectionError' })
  t.equal(sent, 1, 'a stream cannot be sent again')

  const before = (await client.listFiles()).pagination.total
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield bytes
    throw new Error('the disk failed')
  }
  await t.rejects(client.uploadFile({ body: { file: failing() } }))
  t.equal((await client.listFiles()).pagination.total, before)
  await assertNothingLeft(t, server)
})

t.test('a large stream is not kept in memory', async (t) => {
  const chunks: Array<WeakRef<Uint8Array>> = []
  async function* large(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 60; i++) {
      const chunk = new Uint8Array(1024 * 1024)
      chunks.push(new WeakRef(chunk))
      yield chunk
    }
  }
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  let most = 0
  let next = 0
  const onProgress = ({ sent }: Progress): void => {
    // Once for every six MiB, because it takes some milliseconds.
    if (sent < next) return
    next = sent + 6 * 1024 * 1024
    collectGarbage()
    most = Math.max(most, chunks.filter((chunk) => chunk.deref() !== undefined).length)
  }
  const stored = await client.storage.files.upload({ file: toFile(large(), 'large.bin') }, { onProgress })
  t.equal(stored.bytes, 60 * 1024 * 1024)
  t.ok(most < 30, `${most} chunks of one MiB at once`)
})

t.test('what is no file says what to pass instead', async (t) => {
  const wrong = (file: unknown) => client.uploadFile({ body: { file: file as Blob } })
  await t.rejects(wrong('report.pdf'), { name: 'TypeError', message: /fileFrom\(path\)/ })
  for (const file of [null, undefined, 7, {}])
    await t.rejects(wrong(file), { name: 'TypeError', message: /A file must be a Blob, bytes or a stream/ })
  await t.rejects(client.resumableUpload(createReadStream(path)), { message: /cannot be read again/ })
  t.ok((await client.resumableUpload(await fileFrom(path))).file_id)
  t.ok((await client.storage.files.resumableUpload(bytes, { fields: { name: 'b.bin' } })).file_id)
})
