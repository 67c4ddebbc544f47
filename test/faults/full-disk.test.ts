// A disk that is full: uploads are refused as the spec says, nothing is left of them, and what is there can
// still be read.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startServer } from '../support/server.ts'
import { fetchFile, sendFile } from '../support/transfer.ts'

/** A file system of its own, of 16 MiB. @returns null where this user may not have one. */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'platform-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    rmSync(folder, { recursive: true })
    return null
  }
  t.teardown(() => {
    execFileSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true })
  })
  return folder
}

const disk = smallDisk()

t.test('a full disk', { skip: disk === null && 'this user may not mount a small disk' }, async (t) => {
  const server = await startServer(t, { env: { STORAGE_DIR: disk! } })
  const place = { url: server.url, key: server.key }
  const first = await sendFile(place, 4 << 20)
  t.equal(first.status, 201)

  const tries = await Promise.all(Array.from({ length: 8 }, () => sendFile(place, 6 << 20)))
  const refused = tries.filter(({ status }) => status !== 201)
  t.ok(refused.length >= 6, 'what does not fit is refused')
  for (const { status, body } of refused)
    t.match({ status, body }, { status: 503, body: { error: { code: 'UNAVAILABLE', message: /room/ } } })
  t.same(readdirSync(join(disk!, 'incoming')), [], 'and leaves nothing')

  writeFileSync(join(disk!, 'filler'), '')
  try {
    for (;;) writeFileSync(join(disk!, 'filler'), Buffer.alloc(64 * 1024), { flag: 'a' })
  } catch {
    /* Now it is full to the last block. */
  }
  t.equal((await sendFile(place, 200_000)).status, 503)
  for (const { status, body, sha256 } of [first, ...tries]) {
    if (status === 201)
      t.same(await fetchFile(place, body.id), { status: 200, sha256 }, 'what is there is read')
  }
  const { files, bytes } = (await server.admin.client.get('/storage/usage')).body
  const kept = [first, ...tries].filter(({ status }) => status === 201)
  t.same(
    { files, bytes },
    { files: kept.length, bytes: kept.reduce((sum, { body }) => sum + body.bytes, 0) },
    'the usage counts what is there',
  )

  rmSync(join(disk!, 'filler'))
  t.equal((await server.admin.client.delete(`/storage/files/${first.body.id}`)).status, 204)
  t.equal((await server.admin.client.get('/readyz')).status, 200)
})
