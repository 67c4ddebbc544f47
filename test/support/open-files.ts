// What this process has open, as Linux tells it; elsewhere nothing is known to be open.
import { readdirSync, readlinkSync } from 'node:fs'

/** How many descriptors of this process lead to something whose name begins so: the path of a folder, or `socket:`. */
export function openFiles(beginning: string): number {
  if (process.platform !== 'linux') return 0
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(beginning)
    } catch {
      return false
    }
  }).length
}
