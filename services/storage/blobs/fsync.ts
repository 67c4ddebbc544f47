// Folders that survive a loss of power: what is put into one is there afterwards only if the folder itself is.
import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

const made = new Map<string, Promise<void>>()

/** Makes the folder, with all above it that are not there, for good. Whoever asks meanwhile waits for the same. */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path)
  const making = made.get(folder) ?? make(folder)
  made.set(folder, making)
  await making.catch((error) => {
    if (made.get(folder) === making) made.delete(folder)
    throw error
  })
}

async function make(folder: string): Promise<void> {
  // One that is there already may have been made by a process that has not synced its entry yet.
  const first = (await mkdir(folder, { recursive: true, mode: 0o700 })) ?? folder
  for (let at = folder; at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at))
}

/** When it resolves, what is in the folder is there for good. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows has no handles on folders.
  if (process.platform === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
