// Uploads by the TypeScript client: progress, retries and resumable uploads.
import { hash, randomBytes } from 'node:crypto'
import { openAsBlob, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Progress } from '../../../generated/client/index.js'
import { cuttingProxy } from '../../../test/support/http/cutting-proxy.ts'
import { startServer } from '../../../test/support/server/server.ts'
import { assertNothingLeft } from '../../../test/support/storage/storage.ts'
import { typedClient, instantClock, apiErrorOf } from '../../../test/support/http/typed-client.ts'

const server = await startServer(t)
const person = await server.person()
const client = typedClient(server.url, person.key)
const bytes = randomBytes(3_000_000)
const sha256 = hash('sha256', bytes)

function isMonotone(t: Test, progress: Progress[], total: number): void {
  t.ok(progress.length > 1, `${progress.length} progress reports`)
  t.ok(
    progress.every(
      ({ sent, total: all }, i) => all === total && sent <= total && (i === 0 || sent > progress[i - 1].sent),
    ),
    'the progress never decreases',
  )
  t.strictSame(progress.at(-1), { sent: total, total })
}

t.test('a form arrives with its fields and its file', async (t) => {
  const file = await client.uploadFile({
    body: {
      file: new File([bytes], 'report "é"\n.bin', { type: 'application/x-thing' }),
      path: 'from/client',
      metadata: { ticket: 'OPS-12' },
      tags: ['a', 'b'],
      visibility: 'public',
      sha256,
    },
  })
  t.match(file, {
    path: 'from/client',
    metadata: { ticket: 'OPS-12' },
    tags: ['a', 'b'],
    visibility: 'public',
    declared_content_type: 'application/x-thing',
    bytes: bytes.length,
    sha256,
  })
  t.equal(file.name, 'report %22é%22%0D%0A.bin', 'as browsers write it')
  t.equal((await client.uploadFile({ body: { file: new Blob(['x']), name: 'named.txt' } })).name, 'named.txt')
  await assertNothingLeft(t, server)
})

t.test('a file on disk is streamed, and its progress is reported', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'big.bin'), bytes)
  const progress: Progress[] = []
  const lengths: Array<string | null> = []
  const own = typedClient(server.url, person.key, {
    fetch: (request) => {
      lengths.push(request.headers.get('content-length'))
      return fetch(request)
    },
  })
  const file = await own.uploadFile({
    body: { file: await openAsBlob(join(folder, 'big.bin')), path: 'x' },
    onProgress: (now) => progress.push(now),
  })
  t.equal(file.sha256, sha256)
  isMonotone(t, progress, bytes.length)
  t.ok(Number(lengths[0]) > bytes.length, 'the server knows how much will come')
})

t.test('an interrupted upload is retried and creates one file', async (t) => {
  const cuts = [1_000_000, 2_500_000]
  const proxy = await cuttingProxy(t, server.url, { next: () => cuts.shift() ?? null })
  const progress: Progress[] = []
  const own = typedClient(proxy.url, person.key, { clock: instantClock() })
  const file = await own.uploadFile({
    body: { file: new Blob([bytes]), name: 'cut.bin' },
    onProgress: (now) => progress.push(now),
  })
  t.equal(file.sha256, sha256)
  t.equal(proxy.cuts, 2)
  isMonotone(t, progress, bytes.length)
  t.equal((await client.listFiles({ query: { q: 'cut.bin' } })).pagination.total, 1)
  await assertNothingLeft(t, server)
})

t.test('an upload is aborted by its signal', async (t) => {
  const gone = new AbortController()
  const upload = client.uploadFile({
    body: { file: new Blob([bytes]), name: 'stopped.bin' },
    signal: gone.signal,
    onProgress: ({ sent }) => {
      if (sent > 0) gone.abort(new Error('enough'))
    },
  })
  await t.rejects(upload, { name: 'AbortError', cause: { message: 'enough' } })
  await assertNothingLeft(t, server)
  t.equal((await client.listFiles({ query: { q: 'stopped.bin' } })).pagination.total, 0)
})

t.test('a file that is too large is rejected with an API error, with and without onProgress', async (t) => {
  const small = await startServer(t, { env: { UPLOAD_MAX_BYTES: '1000' } })
  const own = typedClient(small.url, (await small.person()).key, { retries: 0 })
  for (const onProgress of [undefined, () => {}]) {
    t.match(
      await apiErrorOf(own.uploadFile({ body: { file: new Blob([bytes.subarray(0, 5000)]) }, onProgress })),
      { status: 413, code: 'PAYLOAD_TOO_LARGE' },
    )
  }
})

t.test('a resumable upload resumes after a disconnect', async (t) => {
  const cuts = [null, 1_200_000, 900_000]
  const proxy = await cuttingProxy(t, server.url, { next: () => (cuts.length > 0 ? cuts.shift()! : null) })
  const progress: Progress[] = []
  let sent = 0
  const own = typedClient(proxy.url, person.key, {
    clock: instantClock(),
    fetch: (request) => {
      if (request.method === 'PATCH') sent += Number(request.headers.get('content-length'))
      return fetch(request)
    },
  })
  const upload = await own.resumableUpload(new File([bytes], 'resumed é.bin'), {
    fields: { path: 'in/pieces', metadata: { ticket: 'OPS-13' } },
    pieceSize: 1_500_000,
    onProgress: (now) => progress.push(now),
  })
  const file = await client.getFile({ path: { id: upload.file_id! } })
  t.match(file, { name: 'resumed é.bin', path: 'in/pieces', metadata: { ticket: 'OPS-13' }, sha256 })
  t.ok(proxy.cuts > 0, `cut ${proxy.cuts} times`)
  t.ok(sent < bytes.length + proxy.cuts * 1_500_000, 'received bytes are not sent again')
  isMonotone(t, progress, bytes.length)
  await assertNothingLeft(t, server)
})

t.test('a later run resumes an upload by its id', async (t) => {
  const gone = new AbortController()
  let id = ''
  const begun = client.resumableUpload(new Blob([bytes]), {
    pieceSize: 1_000_000,
    signal: gone.signal,
    onCreated: (its) => {
      id = its
    },
    onProgress: ({ sent }) => {
      if (sent > 1_000_000) gone.abort(new Error('closed'))
    },
  })
  await t.rejects(begun, { name: 'AbortError', cause: { message: 'closed' } })
  const progress: Progress[] = []
  const upload = await client.resumableUpload(new Blob([bytes]), {
    uploadId: id,
    onProgress: (now) => progress.push(now),
  })
  t.equal(upload.id, id)
  t.ok(progress[0].sent >= 1_000_000, 'from where it was')
  isMonotone(t, progress, bytes.length)
  t.equal((await client.getFile({ path: { id: upload.file_id! } })).sha256, sha256)
})

t.test('an empty file can be uploaded', async (t) => {
  const upload = await client.resumableUpload(new File([], 'empty.txt'))
  t.match(await client.getFile({ path: { id: upload.file_id! } }), { name: 'empty.txt', bytes: 0 })
})

t.test('a document is sent as JSON or as a form, depending on its fields', async (t) => {
  const base = await client.createKnowledgeBase({ body: { name: 'Rules' } })
  const fromText = await client.createDocument({
    path: { id: base.id },
    body: { name: 'retention', text: 'Events are kept for 30 days.' },
  })
  const sent = await client.createDocument({
    path: { id: base.id },
    body: { file: new File(['Keys are shown once.'], 'keys.md', { type: 'text/markdown' }) },
  })
  t.match(
    [fromText, sent],
    [
      { name: 'retention', source: { type: 'text' } },
      { name: 'keys.md', source: { type: 'file' } },
    ],
  )
})

t.test('a download returns the response with its body unread', async (t) => {
  const file = await client.uploadFile({ body: { file: new Blob([bytes]), name: 'down.bin' } })
  const response = await client.downloadFile({ path: { id: file.id } })
  t.equal(response.headers.get('Content-Disposition'), 'attachment; filename=down.bin')
  t.equal(response.bodyUsed, false)
  t.equal(hash('sha256', Buffer.from(await response.arrayBuffer())), sha256)
  const part = await client.downloadFile({ path: { id: file.id }, headers: { Range: 'bytes=0-9' } })
  t.equal(part.status, 206)
  t.strictSame(Buffer.from(await part.arrayBuffer()), bytes.subarray(0, 10))
  t.match(await apiErrorOf(client.downloadFile({ path: { id: 'file_01jd6y8m5qe8btc4y5w1r0n3fz' } })), {
    status: 404,
    code: 'NOT_FOUND',
  })
})
