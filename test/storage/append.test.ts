// Appending the bytes of a request: the recorded progress when the disk or the database fails meanwhile.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { conflict, unavailable } from '../../infra/errors.ts'
import { append, type AppendOptions } from '../../services/storage/uploads/append.ts'
import { parseChecksum } from '../../services/storage/uploads/checksum.ts'
import { createPartialFiles, type PartialFileWriter } from '../../services/storage/blobs/partial-files.ts'
import { waitUntil } from '../support/server/wait.ts'

const id = `upl_${'0'.repeat(26)}`

/** An upload of 1,000 bytes with a fake lease. `override` replaces methods of the partial file's writer. */
function upload(t: Test, override: (writer: PartialFileWriter) => Partial<PartialFileWriter> = () => ({})) {
  const folder = mkdtempSync(join(tmpdir(), 'append-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const real = createPartialFiles(folder)
  const open = async (offset: number): Promise<PartialFileWriter> => {
    const writer = await real.open(id, offset)
    return { ...writer, ...override(writer) }
  }
  let callback: ((isRequested: boolean) => void) | null = null
  const row = { received: 0, isUnavailable: false, failures: 0, isLeaseLost: false }
  const lease = {
    id: 'holder',
    tempName: id,
    wasExpired: false,
    assertHeld() {
      if (row.isLeaseLost) throw conflict('in_progress', 'lost')
    },
    async recordProgress(bytes: number) {
      if (row.isUnavailable) {
        row.failures++
        throw unavailable('no database')
      }
      lease.assertHeld()
      row.received = bytes
    },
    async relocate() {},
    onHeartbeat(next: typeof callback) {
      callback = next
    },
    async release() {},
  }
  return {
    row,
    size: () => statSync(join(folder, 'uploads', id)).size,
    send: (chunks: Iterable<Buffer> | AsyncIterable<Buffer>, options: Partial<AppendOptions> = {}) =>
      append(open, lease, {
        offset: row.received,
        received: row.received,
        length: 1_000,
        multipart: null,
        content: Readable.from(chunks),
        checksum: null,
        ...options,
      }).then(({ bytes }) => bytes),
    /** Sends heartbeats, which save the progress in the background, until the condition holds. */
    async heartbeatUntil(condition: () => boolean) {
      await waitUntil(() => {
        callback?.(false)
        return condition()
      })
    },
  }
}

t.test('bytes of a failed fsync are not acknowledged, even when the next fsync succeeds', async (t) => {
  let syncs = 0
  const { row, send, heartbeatUntil } = upload(t, (writer) => ({
    async sync() {
      if (++syncs === 1) throw unavailable('EIO')
      return await writer.sync()
    },
  }))
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      await heartbeatUntil(() => syncs === 1)
      yield Buffer.alloc(500)
    })(),
  )
  await t.rejects(sent, { code: 'UNAVAILABLE' })
  t.equal(row.received, 0)
  t.equal(await send([Buffer.alloc(1_000)]), 1_000, 'the bytes are sent again')
  t.equal(row.received, 1_000)
})

t.test('a database outage during a background save does not fail the request', async (t) => {
  const { row, send, heartbeatUntil } = upload(t)
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      row.isUnavailable = true
      await heartbeatUntil(() => row.failures > 0)
      row.isUnavailable = false
      yield Buffer.alloc(500)
    })(),
  )
  t.equal(await sent, 1_000)
})

t.test('an upload can be resumed after a request is rejected during a database outage', async (t) => {
  const { row, size, send, heartbeatUntil } = upload(t)
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      await heartbeatUntil(() => row.received === 500)
      row.isUnavailable = true
      yield Buffer.alloc(600)
    })(),
  )
  await t.rejects(sent, { code: 'UNAVAILABLE' })
  t.equal(row.received, 500)
  t.ok(size() >= 500, 'the recorded bytes are on disk')
  row.isUnavailable = false
  t.equal(await send([Buffer.alloc(500)]), 1_000)
})

t.test('no byte of a request that is too long is recorded, not even bytes saved before', async (t) => {
  const { row, send, heartbeatUntil } = upload(t)
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      await heartbeatUntil(() => row.received === 500)
      t.equal(row.received, 500)
      yield Buffer.alloc(600)
    })(),
  )
  await t.rejects(sent, { code: 'PAYLOAD_TOO_LARGE' })
  t.equal(row.received, 0)
})

t.test('after a checksum mismatch nothing is recorded, and no fsync is needed', async (t) => {
  const { row, send } = upload(t, () => ({
    async sync() {
      throw unavailable('EIO')
    },
  }))
  await t.rejects(send([Buffer.alloc(1_000)], { checksum: parseChecksum(`sha1 ${'A'.repeat(27)}=`) }), {
    code: 'INVALID_REQUEST',
  })
  t.equal(row.received, 0)
})

t.test('a request that has lost the lease writes nothing more', async (t) => {
  for (const checksum of [null, parseChecksum(`sha1 ${'A'.repeat(27)}=`)]) {
    const { row, size, send } = upload(t)
    await send([Buffer.alloc(300)])
    const sent = send(
      (async function* () {
        yield Buffer.alloc(300)
        await waitUntil(() => size() === 600)
        row.isLeaseLost = true
        yield Buffer.alloc(300)
      })(),
      { checksum },
    )
    await t.rejects(sent, { code: 'CONFLICT' })
    t.match({ received: row.received, size: size() }, { received: 300, size: 600 })
  }
})
