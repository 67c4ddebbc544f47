// Owns what counts as a save: files whose content is another than it was. However an editor writes them (in place, by
// rename, several at once), what changed within a moment is one save.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'

export interface Watching {
  close(): void
}

export interface WatchOptions {
  /** The project's folder; `below` are the folders in it that are looked at, and files are named from it. */
  folder: string
  below: string[]
  onSave: (files: string[]) => void
  /** Milliseconds of quiet after which a save is over. */
  quiet?: number
}

interface Known {
  stamp: string
  digest: string
}

/** @throws what the system says when it cannot watch. */
export function watchFiles({ folder, below, onSave, quiet = 60 }: WatchOptions): Watching {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let known = look(new Map())

  function look(before: Map<string, Known>): Map<string, Known> {
    const files = new Map<string, Known>()
    const folders = new Set<string>()
    for (const top of below) visit(folder, top, before, files, folders)
    // One watcher for each folder: a file that is replaced is another file in the same folder.
    for (const at of folders)
      if (!watchers.has(at))
        watchers.set(
          at,
          watch(join(folder, at), soon).on('error', () => forget(at)),
        )
    for (const at of watchers.keys()) if (!folders.has(at)) forget(at)
    return files
  }

  function forget(at: string): void {
    watchers.get(at)?.close()
    watchers.delete(at)
  }

  function soon(): void {
    clearTimeout(timer)
    timer = setTimeout(compare, quiet)
  }

  function compare(): void {
    const now = look(known)
    const names = new Set([...known.keys(), ...now.keys()])
    const changed = [...names].filter((name) => known.get(name)?.digest !== now.get(name)?.digest).sort()
    known = now
    if (changed.length > 0) onSave(changed)
  }

  return {
    close() {
      clearTimeout(timer)
      for (const at of watchers.keys()) forget(at)
    },
  }
}

function visit(
  folder: string,
  at: string,
  before: Map<string, Known>,
  files: Map<string, Known>,
  folders: Set<string>,
): void {
  let entries
  try {
    entries = readdirSync(join(folder, at), { withFileTypes: true })
  } catch (error) {
    if (isGone(error)) return
    throw error
  }
  folders.add(at)
  for (const entry of entries) {
    const name = `${at}/${entry.name}`
    if (entry.isDirectory()) visit(folder, name, before, files, folders)
    else if (/\.(ts|js|mjs|json|ya?ml|prisma|sql)$/.test(entry.name)) {
      const found = knownOf(join(folder, name), before.get(name))
      if (found !== null) files.set(name, found)
    }
  }
}

/** Read only where the system says that it was written since. */
function knownOf(file: string, before: Known | undefined): Known | null {
  try {
    const { mtimeMs, size, ino } = statSync(file)
    const stamp = `${mtimeMs} ${size} ${ino}`
    return before?.stamp === stamp
      ? before
      : { stamp, digest: createHash('sha1').update(readFileSync(file)).digest('hex') }
  } catch (error) {
    // Between two halves of a rename.
    if (isGone(error)) return null
    throw error
  }
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
