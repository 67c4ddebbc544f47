// A power cut, for the files of a server in this process: what was not synced by then is lost.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { aroundSyncs } from './disk-calls.ts'

interface Entry {
  inode: number
  isDirectory: boolean
}

/** What is on the disk, by inode: the bytes of a file as of its last sync, or the entries of a directory. */
type Synced = Map<number, Buffer | Map<string, Entry>>

export interface Disk {
  /** Cuts the power: every later sync fails. */
  cut(): void
  /** Turns the power on. Writes what is left of a directory to another: files never synced are empty. */
  restore(directory: string, to: string): void
}

/**
 * Keeps what the syncs of this process make durable, until the end of the test. Bytes that are written and
 * names that are made after a sync has begun wait for the next.
 */
export async function watchDisk(t: Pick<Test, 'teardown'>): Promise<Disk> {
  let synced: Synced = new Map()
  let isCut = false
  await aroundSyncs(t, async (path, sync) => {
    const entry = entryOf(path)
    const state = entry === null ? null : entry.isDirectory ? entriesOf(path) : readFileSync(path)
    await sync()
    if (isCut) throw Object.assign(new Error('the power is off'), { code: 'EIO' })
    if (entry !== null) synced.set(entry.inode, state!)
  })
  return {
    cut() {
      isCut = true
    },
    restore(directory, to) {
      const left: Synced = new Map()
      restore({ synced, left }, entryOf(directory)!, to)
      synced = left
      isCut = false
    },
  }
}

function entryOf(path: string): Entry | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? null : { inode: found.ino, isDirectory: found.isDirectory() }
}

function entriesOf(directory: string): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  for (const name of readdirSync(directory)) {
    const entry = entryOf(join(directory, name))
    if (entry !== null) entries.set(name, entry)
  }
  return entries
}

/** Writes a file or a directory. `left` gets what is on the disk then. */
function restore(disks: { synced: Synced; left: Synced }, { inode, isDirectory }: Entry, to: string): void {
  const state = disks.synced.get(inode)
  if (isDirectory) {
    mkdirSync(to)
    if (state instanceof Map) for (const [name, entry] of state) restore(disks, entry, join(to, name))
  } else writeFileSync(to, state instanceof Map ? '' : (state ?? ''))
  disks.left.set(entryOf(to)!.inode, isDirectory ? entriesOf(to) : readFileSync(to))
}
