// Observes and breaks file system calls: records fsync calls and makes hard links fail.
import fs from 'node:fs/promises'
import { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import type { Test } from 'tap'

/** Why a test that records fsync calls is skipped; false on Linux. */
export const skipSyncs = process.platform !== 'linux' && 'synced paths are read from /proc'

/** Runs `around` in place of every fsync until the end of the test, with the path and the real call. */
export async function aroundSyncs(
  t: Pick<Test, 'teardown'>,
  around: (path: string, sync: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const handle = await fs.open(tmpdir())
  const type = Object.getPrototypeOf(handle) as fs.FileHandle
  await handle.close()
  for (const name of ['sync', 'datasync'] as const) {
    const real = type[name]
    type[name] = async function (this: fs.FileHandle) {
      await around(readlinkSync(`/proc/self/fd/${this.fd}`), () => real.call(this))
    }
    t.teardown(() => {
      type[name] = real
    })
  }
}

/** Records every fsync until the end of the test. @returns a list to which synced paths are added. */
export async function recordSyncs(t: Pick<Test, 'teardown'>): Promise<string[]> {
  const synced: string[] = []
  await aroundSyncs(t, async (path, sync) => {
    await sync()
    synced.push(path)
  })
  return synced
}

/** Makes hard links fail with this error code until the end of the test. */
export function failLinks(t: Pick<Test, 'teardown'>, code: string): void {
  const real = fs.link
  fs.link = async () => {
    throw Object.assign(new Error('no link'), { code })
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    fs.link = real
    syncBuiltinESMExports()
  })
}
