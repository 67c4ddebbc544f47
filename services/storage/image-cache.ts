// A cache of rendered images in a folder. The least recently used are deleted when it is full. Several
// processes may share the folder. A file begins with the SHA-256 of the rest, so that one that a power cut
// has damaged is rendered again.
import { hash, randomUUID } from 'node:crypto'
import { mkdir, opendir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const digestBytes = 32
/** An image that is used again within this time is not touched. */
const touchMs = 60_000
/** Images that are not used for this long are deleted, as the contents of deleted files are. */
const maxAgeMs = 7 * 86_400_000

export class ImageCache {
  readonly #folder: string
  readonly #maxBytes: number
  /** Bytes written since the last cleaning; at first as if the folder were full. */
  #written: number
  #cleaning: Promise<void> | null = null

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
    this.#written = maxBytes
  }

  /** @returns null if the image is not in the cache. */
  async get(key: string): Promise<Buffer | null> {
    const path = join(this.#folder, key)
    const file = await readFile(path).catch(() => null)
    if (file === null) return null
    const image = file.subarray(digestBytes)
    if (!hash('sha256', image, 'buffer').equals(file.subarray(0, digestBytes))) return null
    const now = new Date()
    const found = await stat(path).catch(() => null)
    if (found !== null && now.getTime() - found.mtimeMs > touchMs)
      await utimes(path, now, now).catch(() => {})
    return image
  }

  /** Stores the image. An image that cannot be stored is rendered again: an error is no failure. */
  async put(key: string, image: Buffer): Promise<void> {
    const path = join(this.#folder, key)
    const temporary = `${path}.${randomUUID()}`
    try {
      await mkdir(this.#folder, { recursive: true })
      await writeFile(temporary, Buffer.concat([hash('sha256', image, 'buffer'), image]), { mode: 0o600 })
      await rename(temporary, path)
    } catch {
      await rm(temporary, { force: true }).catch(() => {})
      return
    }
    this.#written += image.length + digestBytes
    if (this.#written > this.#maxBytes / 8)
      await (this.#cleaning ??= this.#clean()
        .catch(() => {})
        .finally(() => {
          this.#cleaning = null
        }))
  }

  async #clean(): Promise<void> {
    this.#written = 0
    const files: Array<{ path: string; bytes: number; usedAt: number }> = []
    for await (const entry of await opendir(this.#folder)) {
      const path = join(this.#folder, entry.name)
      const found = await stat(path).catch(() => null)
      if (found !== null) files.push({ path, bytes: found.size, usedAt: found.mtimeMs })
    }
    files.sort((a, b) => b.usedAt - a.usedAt)
    let kept = 0
    for (const { path, bytes, usedAt } of files) {
      kept += bytes
      if (kept > (this.#maxBytes * 7) / 8 || Date.now() - usedAt > maxAgeMs) await rm(path, { force: true })
    }
  }
}
