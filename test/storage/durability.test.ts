// Durability on disk: bytes and their directories are synced before a write is acknowledged.
import { hash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { newId } from '../../infra/ids.ts'
import { createDiskBlobStore } from '../../services/storage/blobs/disk.ts'
import { createTempFiles } from '../../services/storage/blobs/temp-files.ts'
import { createPartialFiles } from '../../services/storage/blobs/partial-files.ts'
import { failLinks, recordSyncs, skipSyncs } from '../support/server/disk-calls.ts'

const id = `upl_${'0'.repeat(26)}`
const complete = { length: 4, declared: null, filename: 'a' }

/** A path whose last two directories do not exist yet. */
function newDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'durability-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'data', 'files')
}

/** The writes that create each directory, by the name of the directory. */
const writes: Record<string, (directory: string) => Promise<void>> = {
  async blobs(directory) {
    const path = join(dirname(dirname(directory)), `received-${randomBytes(8).toString('hex')}`)
    writeFileSync(path, 'text')
    const file = { path, bytes: 4, sha256: hash('sha256', 'text') }
    await createDiskBlobStore(directory).put(newId('file'), file)
  },
  async incoming(directory) {
    await createTempFiles(directory).receive({ content: Readable.from([Buffer.from('text')]) } as never, {
      maxBytes: 10,
    })
  },
  async uploads(directory) {
    await (await createPartialFiles(directory).open(newId('upl'), 0)).close()
  },
}

for (const [name, write] of Object.entries(writes)) {
  t.test(`every directory created for ${name} is synced into its parent`, { skip: skipSyncs }, async (t) => {
    const synced = await recordSyncs(t)
    const directory = newDirectory(t)
    await write(directory)
    const top = dirname(dirname(directory))
    t.same(
      [top, dirname(directory), directory].filter((path) => !synced.includes(path)),
      [],
      'every new directory is synced',
    )
  })

  t.test(
    `an existing directory ${name} is synced too, also for a concurrent second write`,
    { skip: skipSyncs },
    async (t) => {
      const synced = await recordSyncs(t)
      const directory = newDirectory(t)
      mkdirSync(join(directory, name), { recursive: true })
      await Promise.all(
        [1, 2].map(async () => {
          await write(directory)
          t.ok(synced.includes(directory), 'the existing directory is synced')
        }),
      )
    },
  )
}

t.test('without hard links a complete upload is copied durably', { skip: skipSyncs }, async (t) => {
  const partialFiles = createPartialFiles(newDirectory(t))
  const writer = await partialFiles.open(id, 0)
  await writer.write(Buffer.from('text'))
  await writer.close()
  const synced = await recordSyncs(t)
  for (const code of ['EPERM', 'ENOTSUP', 'EXDEV']) {
    failLinks(t, code)
    const file = await partialFiles.toTempFile(id, complete)
    t.ok(synced.includes(file.path), code)
    t.equal(readFileSync(file.path, 'utf8'), 'text')
    await file.discard()
  }
  for (const code of ['EIO', 'ENOSPC']) {
    failLinks(t, code)
    await t.rejects(partialFiles.toTempFile(id, complete), { code: 'UNAVAILABLE' }, code)
  }
})

t.test('two temporary files of one upload are independent', async (t) => {
  const partialFiles = createPartialFiles(newDirectory(t))
  const writer = await partialFiles.open(id, 0)
  await writer.write(Buffer.from('text'))
  await writer.close()
  const first = await partialFiles.toTempFile(id, complete)
  const second = await partialFiles.toTempFile(id, complete)
  await second.discard()
  t.equal(readFileSync(first.path, 'utf8'), 'text')
  await first.discard()
  const names = []
  for await (const page of partialFiles.list()) names.push(...page)
  t.same(names, [id])
})
