// What is noted of the bytes of one request when the disk or the database fails meanwhile.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { conflict, unavailable } from '../../infra/errors.ts'
import { append, type Appending } from '../../services/storage/uploads/append.ts'
import { checksumOf } from '../../services/storage/uploads/checksum.ts'
import { createStaging, type Tail } from '../../services/storage/blobs/partial-files.ts'
import { waitUntil } from '../support/wait.ts'

const id = `upl_${'0'.repeat(26)}`

/** An upload of 1,000 bytes with a row that is made up, and a disk that may fail. */
function upload(t: Test, broken: (tail: Tail) => Partial<Tail> = () => ({})) {
  const folder = mkdtempSync(join(tmpdir(), 'append-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const real = createStaging(folder)
  const staging = {
    ...real,
    open: async (name: string, offset: number) => {
      const tail = await real.open(name, offset)
      return { ...tail, ...broken(tail) }
    },
  }
  let work: ((wanted: boolean) => void) | null = null
  const row = { received: 0, away: false, refused: 0, lost: false }
  const hold = {
    id: 'holder',
    stagedAs: id,
    lapsed: false,
    check() {
      if (row.lost) throw conflict('in_progress', 'lost')
    },
    async advance(bytes: number) {
      if (row.away) {
        row.refused++
        throw unavailable('away')
      }
      hold.check()
      row.received = bytes
    },
    async moveTo() {},
    onBeat(then: typeof work) {
      work = then
    },
    async release() {},
  }
  return {
    row,
    size: () => statSync(join(folder, 'uploads', id)).size,
    send: (chunks: Iterable<Buffer> | AsyncIterable<Buffer>, options: Partial<Appending> = {}) =>
      append(staging, hold, {
        offset: row.received,
        received: row.received,
        length: 1_000,
        content: Readable.from(chunks),
        checksum: null,
        ...options,
      }),
    /** What came until now is kept on the side. */
    async beat(done: () => boolean) {
      await waitUntil(() => {
        work?.(false)
        return done()
      })
    },
  }
}

t.test('bytes that a failed sync lost are not acknowledged, whatever the next sync says', async (t) => {
  let syncs = 0
  const { row, send, beat } = upload(t, (tail) => ({
    async sync() {
      if (++syncs === 1) throw unavailable('EIO')
      await tail.sync()
    },
  }))
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      await beat(() => syncs === 1)
      yield Buffer.alloc(500)
    })(),
  )
  await t.rejects(sent, { code: 'UNAVAILABLE' })
  t.equal(row.received, 0)
  t.equal(await send([Buffer.alloc(1_000)]), 1_000, 'they are sent again')
  t.equal(row.received, 1_000)
})

t.test('a database that is away on the side costs nothing', async (t) => {
  const { row, send, beat } = upload(t)
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      row.away = true
      await beat(() => row.refused > 0)
      row.away = false
      yield Buffer.alloc(500)
    })(),
  )
  t.equal(await sent, 1_000)
})

t.test('what is refused while the database is away can be gone on with', async (t) => {
  const { row, size, send, beat } = upload(t)
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      await beat(() => row.received === 500)
      row.away = true
      yield Buffer.alloc(600)
    })(),
  )
  await t.rejects(sent, { code: 'UNAVAILABLE' })
  t.equal(row.received, 500)
  t.ok(size() >= 500, 'what is noted is there')
  row.away = false
  t.equal(await send([Buffer.alloc(500)]), 1_000)
})

t.test('of what is refused nothing is noted, also what was on the side', async (t) => {
  const { row, send, beat } = upload(t)
  const sent = send(
    (async function* () {
      yield Buffer.alloc(500)
      await beat(() => row.received === 500)
      t.equal(row.received, 500)
      yield Buffer.alloc(600)
    })(),
  )
  await t.rejects(sent, { code: 'PAYLOAD_TOO_LARGE' })
  t.equal(row.received, 0)
})

t.test('with a wrong checksum nothing is noted, and nothing has to succeed on the disk', async (t) => {
  const { row, send } = upload(t, () => ({
    async sync() {
      throw unavailable('EIO')
    },
  }))
  await t.rejects(send([Buffer.alloc(1_000)], { checksum: checksumOf(`sha1 ${'A'.repeat(27)}=`) }), {
    code: 'INVALID_REQUEST',
  })
  t.equal(row.received, 0)
})

t.test('who lost the upload touches nothing', async (t) => {
  for (const checksum of [null, checksumOf(`sha1 ${'A'.repeat(27)}=`)]) {
    const { row, size, send } = upload(t)
    await send([Buffer.alloc(300)])
    const sent = send(
      (async function* () {
        yield Buffer.alloc(300)
        await waitUntil(() => size() === 600)
        row.lost = true
        yield Buffer.alloc(300)
      })(),
      { checksum },
    )
    await t.rejects(sent, { code: 'CONFLICT' })
    t.match({ received: row.received, size: size() }, { received: 300, size: 600 })
  }
})
