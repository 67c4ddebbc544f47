// What is on the disk for good before anybody hears of it: bytes, the folders above them, and what a failed sync lost.
import { hash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { newId } from '../../infra/ids.ts'
import { createDiskBlobs } from '../../services/storage/blobs/disk.ts'
import { createIncoming } from '../../services/storage/blobs/temp-files.ts'
import { createStaging } from '../../services/storage/blobs/partial-files.ts'
import { breakLinks, noSyncs, watchSyncs } from '../support/disk-calls.ts'

const id = `upl_${'0'.repeat(26)}`
const hints = { declared: null, filename: 'a' }

/** A folder that is not there yet, nor the one above it. */
function newFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'durability-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'data', 'files')
}

const stores: Record<string, (folder: string) => Promise<void>> = {
  async blobs(folder) {
    const path = join(dirname(dirname(folder)), `arrived-${randomBytes(8).toString('hex')}`)
    writeFileSync(path, 'text')
    await createDiskBlobs(folder).put(newId('file'), { path, bytes: 4, sha256: hash('sha256', 'text') })
  },
  async incoming(folder) {
    await createIncoming(folder).receive({ content: Readable.from([Buffer.from('text')]) } as never, {
      maxBytes: 10,
    })
  },
  async uploads(folder) {
    await (await createStaging(folder).open(newId('upl'), 0)).close()
  },
}

for (const [name, keep] of Object.entries(stores)) {
  t.test(`every folder that ${name} makes is synced into the one above`, { skip: noSyncs }, async (t) => {
    const synced = await watchSyncs(t)
    const folder = newFolder(t)
    await keep(folder)
    const top = dirname(dirname(folder))
    t.same(
      [top, dirname(folder), folder].filter((path) => !synced.includes(path)),
      [],
      'down to the first',
    )
  })

  t.test(
    `${name}: who comes second waits for the folder too, and trusts no other process`,
    { skip: noSyncs },
    async (t) => {
      const synced = await watchSyncs(t)
      const folder = newFolder(t)
      mkdirSync(join(folder, name), { recursive: true })
      await Promise.all(
        [1, 2].map(async () => {
          await keep(folder)
          t.ok(synced.includes(folder), 'though it was there')
        }),
      )
    },
  )
}

t.test(
  'where there are no hard links a whole upload is a copy, on the disk for good',
  { skip: noSyncs },
  async (t) => {
    const staging = createStaging(newFolder(t))
    const tail = await staging.open(id, 0)
    await tail.write(Buffer.from('text'))
    await tail.close()
    const synced = await watchSyncs(t)
    for (const code of ['EPERM', 'ENOTSUP', 'EXDEV']) {
      breakLinks(t, code)
      const whole = await staging.whole(id, { length: 4, ...hints })
      t.ok(synced.includes(whole.path), code)
      t.equal(readFileSync(whole.path, 'utf8'), 'text')
      await whole.discard()
    }
    for (const code of ['EIO', 'ENOSPC']) {
      breakLinks(t, code)
      await t.rejects(staging.whole(id, { length: 4, ...hints }), { code: 'UNAVAILABLE' }, code)
    }
  },
)

t.test('two that make the same file of an upload do not disturb each other', async (t) => {
  const staging = createStaging(newFolder(t))
  const tail = await staging.open(id, 0)
  await tail.write(Buffer.from('text'))
  await tail.close()
  const [first, second] = [
    await staging.whole(id, { length: 4, ...hints }),
    await staging.whole(id, { length: 4, ...hints }),
  ]
  await second.discard()
  t.equal(readFileSync(first.path, 'utf8'), 'text')
  await first.discard()
  const names = []
  for await (const page of staging.list()) names.push(...page)
  t.same(names, [id])
})
