// Counts the open file descriptors of this process, from /proc. Returns 0 on other systems than Linux.
import { readdirSync, readlinkSync } from 'node:fs'

/** The number of descriptors whose target starts with `prefix`: the path of a directory, or `socket:`. */
export function countOpenFiles(prefix: string): number {
  if (process.platform !== 'linux') return 0
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(prefix)
    } catch {
      return false
    }
  }).length
}
