// Documents of a store on local disk: files directly in its folder.
import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoreDocuments } from './blob-store.ts'
import { asUnavailable, cannotHardLink, isMissing } from './disk-errors.ts'
import { createDirectory, syncDirectory } from './fsync.ts'

export function createDiskDocuments(directory: string): StoreDocuments {
  return {
    async read(name) {
      return await readFile(join(directory, name), 'utf8').catch((error) => {
        if (isMissing(error)) return null
        throw asUnavailable(error)
      })
    },
    create: (name, content) =>
      withTempFile(content, async (temp) => {
        try {
          await link(temp, join(directory, name))
          return true
        } catch (error) {
          if (isExisting(error)) return false
          if (!cannotHardLink(error as NodeJS.ErrnoException)) throw error
          return await createWithoutLinks(join(directory, name), content)
        }
      }),
    write: (name, content) => withTempFile(content, (temp) => rename(temp, join(directory, name))),
  }

  /** Runs `use` with a complete, durable file, which it may move, and makes the result durable. */
  async function withTempFile<T>(content: string, use: (path: string) => Promise<T>): Promise<T> {
    const path = join(directory, `.document-${randomUUID()}`)
    try {
      await createDirectory(directory)
      await writeDurably(path, content)
      const result = await use(path)
      await syncDirectory(directory)
      return result
    } catch (error) {
      throw asUnavailable(error)
    } finally {
      await rm(path, { force: true })
    }
  }
}

/** On a file system without hard links a reader may see the document before it is complete. */
async function createWithoutLinks(path: string, content: string): Promise<boolean> {
  try {
    await writeDurably(path, content)
    return true
  } catch (error) {
    if (isExisting(error)) return false
    throw error
  }
}

async function writeDurably(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

function isExisting(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST'
}
