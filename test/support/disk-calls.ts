// The calls that a test asks the disk about: which files and folders were synced, and calls that fail.
import fs from 'node:fs/promises'
import { readlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import type { Test } from 'tap'

/** The name of a descriptor is asked for there. */
export const noSyncs = process.platform !== 'linux' && 'what is synced is read from /proc'

/** Notes what is synced from now on, until the end of the test. @returns the paths, as they come. */
export async function watchSyncs(t: Pick<Test, 'teardown'>): Promise<string[]> {
  const synced: string[] = []
  const handle = await fs.open(tmpdir())
  const type = Object.getPrototypeOf(handle) as fs.FileHandle
  await handle.close()
  for (const name of ['sync', 'datasync'] as const) {
    const real = type[name]
    type[name] = async function (this: fs.FileHandle) {
      const path = readlinkSync(`/proc/self/fd/${this.fd}`)
      await real.call(this)
      synced.push(path)
    }
    t.teardown(() => {
      type[name] = real
    })
  }
  return synced
}

/** Hard links fail with this from now on, until the end of the test. */
export function breakLinks(t: Pick<Test, 'teardown'>, code: string): void {
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
