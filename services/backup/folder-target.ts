// Backups in a folder on disk.
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { listBackups, manifestFile } from '../../infra/backup/manifest.ts'
import { lockFolder } from '../../infra/postgres/lock.ts'
import { createDiskBlobStore } from '../storage/blobs/disk.ts'
import { createDirectory, syncDirectory } from '../storage/blobs/fsync.ts'
import { backupName, type BackupTarget } from './target.ts'

export function createFolderTarget(root: string): BackupTarget {
  return {
    location: root,
    blobs: createDiskBlobStore(root),
    scratchFolder: (name) => join(root, name, '.unfinished'),
    async lock() {
      await createDirectory(root)
      const release = lockFolder(root)
      return release === null ? null : async () => release()
    },
    async list() {
      const complete = (await listBackups(root)).map((folder) => basename(folder))
      const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
      const folders = entries.filter((entry) => entry.isDirectory() && backupName.test(entry.name))
      const unfinished = folders.map(({ name }) => name).filter((name) => !complete.includes(name))
      return { complete, unfinished }
    },
    begin: async (name) => await mkdir(join(root, name), { mode: 0o700 }).then(() => {}),
    addFile: async (name, file, write) => await write(join(root, name, file)),
    async addManifest(name, content) {
      const folder = join(root, name)
      await syncDirectory(folder)
      await writeDurably(join(folder, manifestFile), content)
      await syncDirectory(folder)
      await syncDirectory(root)
    },
    async read(name, file) {
      try {
        return (await open(join(root, name, file))).createReadStream()
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw error
      }
    },
    async remove(name) {
      const folder = join(root, name)
      await rm(join(folder, manifestFile), { force: true })
      await syncDirectory(folder)
      await rm(folder, { recursive: true, force: true })
    },
    async close() {},
  }
}

async function writeDurably(path: string, content: string): Promise<void> {
  const file = await open(`${path}.part`, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.part`, path)
}
