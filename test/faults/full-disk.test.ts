// A full disk: uploads fail with 503 and leave nothing behind, and existing files can still be downloaded.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { fetchFile, sendFile } from '../support/http/transfer.ts'

/** Mounts a file system of 16 MiB. @returns null when this user may not mount. */
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

t.test('a full disk', { skip: disk === null && 'this user may not mount a file system' }, async (t) => {
  const server = await startServer(t, { env: { STORAGE_DIR: disk! } })
  const target = { url: server.url, key: server.key }
  const first = await sendFile(target, 4 << 20)
  t.equal(first.status, 201)

  const tries = await Promise.all(Array.from({ length: 8 }, () => sendFile(target, 6 << 20)))
  const rejected = tries.filter(({ status }) => status !== 201)
  t.ok(rejected.length >= 6, 'uploads that do not fit are rejected')
  for (const { status, body } of rejected)
    t.match({ status, body }, { status: 503, body: { error: { code: 'UNAVAILABLE', message: /room/ } } })
  t.same(readdirSync(join(disk!, 'incoming')), [], 'no temporary file is left')

  writeFileSync(join(disk!, 'filler'), '')
  try {
    for (;;) writeFileSync(join(disk!, 'filler'), Buffer.alloc(64 * 1024), { flag: 'a' })
  } catch {
    /* The disk is completely full. */
  }
  t.equal((await sendFile(target, 200_000)).status, 503)
  const readiness = async () => (await server.admin.client.get('/readyz')).body
  await waitUntil(async () => (await readiness()).status === 'degraded', 'the readiness to know it')
  t.match(await readiness(), { checks: { storage: 'unavailable', database: 'ok' } })
  for (const { status, body, sha256 } of [first, ...tries]) {
    if (status === 201)
      t.same(await fetchFile(target, body.id), { status: 200, sha256 }, 'existing files can be downloaded')
  }
  const { files, bytes } = (await server.admin.client.get('/storage/usage')).body
  const stored = [first, ...tries].filter(({ status }) => status === 201)
  t.same(
    { files, bytes },
    { files: stored.length, bytes: stored.reduce((sum, { body }) => sum + body.bytes, 0) },
    'the usage counts the existing files',
  )

  rmSync(join(disk!, 'filler'))
  t.equal((await server.admin.client.delete(`/storage/files/${first.body.id}?permanent=true`)).status, 204)
  t.equal((await server.admin.client.get('/readyz')).status, 200)
})
