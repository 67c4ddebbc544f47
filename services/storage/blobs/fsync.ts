// Durable directories: a new file survives a power loss only if its directory was synced afterwards.
import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

const created = new Map<string, Promise<void>>()

/** Creates the directory and its missing parents, durably. Concurrent calls for one path share the work. */
export async function createDirectory(path: string): Promise<void> {
  const directory = resolve(path)
  const creating = created.get(directory) ?? create(directory)
  created.set(directory, creating)
  await creating.catch((error) => {
    if (created.get(directory) === creating) created.delete(directory)
    throw error
  })
}

async function create(directory: string): Promise<void> {
  // An existing directory is synced too: another process may have created it and not synced its parent yet.
  const first = (await mkdir(directory, { recursive: true, mode: 0o700 })) ?? directory
  for (let at = directory; at.length >= first.length; at = dirname(at)) await syncDirectory(dirname(at))
}

/** Makes the current entries of the directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows has no handles on directories.
  if (process.platform === 'win32') return
  const handle = await open(directory)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
