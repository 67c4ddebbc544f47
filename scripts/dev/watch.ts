// Detects saves: files whose content has changed, whether an editor writes in place or renames.
// Changes within a short time count as one save.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'

export interface Watcher {
  close(): void
}

export interface WatchOptions {
  root: string
  /** The watched folders, relative to `root`. */
  folders: string[]
  /** @param files the changed files, relative to `root`. */
  onSave: (files: string[]) => void
  /** A save ends after this time without a change. */
  quietMs?: number
}

interface FileState {
  stamp: string
  digest: string
}

/** @throws the system's error if it cannot watch a folder. */
export function watchFiles({ root, folders, onSave, quietMs = 60 }: WatchOptions): Watcher {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let states = scan(new Map())

  function scan(before: Map<string, FileState>): Map<string, FileState> {
    const files = new Map<string, FileState>()
    const found = new Set<string>()
    for (const folder of folders) visit(root, folder, before, files, found)
    // Watches folders, not files: an editor that renames puts a new file into the folder.
    for (const at of found)
      if (!watchers.has(at))
        watchers.set(
          at,
          watch(join(root, at), scheduleCompare).on('error', () => forget(at)),
        )
    for (const at of watchers.keys()) if (!found.has(at)) forget(at)
    return files
  }

  function forget(at: string): void {
    watchers.get(at)?.close()
    watchers.delete(at)
  }

  function scheduleCompare(): void {
    clearTimeout(timer)
    timer = setTimeout(compare, quietMs)
  }

  function compare(): void {
    const now = scan(states)
    const names = new Set([...states.keys(), ...now.keys()])
    const changed = [...names].filter((name) => states.get(name)?.digest !== now.get(name)?.digest).sort()
    states = now
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
  root: string,
  at: string,
  before: Map<string, FileState>,
  files: Map<string, FileState>,
  folders: Set<string>,
): void {
  let entries
  try {
    entries = readdirSync(join(root, at), { withFileTypes: true })
  } catch (error) {
    if (isNotFound(error)) return
    throw error
  }
  folders.add(at)
  for (const entry of entries) {
    const name = `${at}/${entry.name}`
    if (entry.isDirectory()) visit(root, name, before, files, folders)
    else if (/\.(tsx?|js|mjs|css|json|ya?ml|prisma|sql)$/.test(entry.name)) {
      const found = stateOf(join(root, name), before.get(name))
      if (found !== null) files.set(name, found)
    }
  }
}

/** Reads the file only if its modification time, size or inode has changed. null if it does not exist. */
function stateOf(file: string, before: FileState | undefined): FileState | null {
  try {
    const { mtimeMs, size, ino } = statSync(file)
    const stamp = `${mtimeMs} ${size} ${ino}`
    return before?.stamp === stamp
      ? before
      : { stamp, digest: createHash('sha1').update(readFileSync(file)).digest('hex') }
  } catch (error) {
    // The file may be missing for a moment during a rename.
    if (isNotFound(error)) return null
    throw error
  }
}

function isNotFound(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
