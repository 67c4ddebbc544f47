// Writes the bytes of an unfinished upload to S3. The bytes of a request are collected in a scratch file
// until they are a part, which is then sent. The bytes that remain at the end of the request become the tail,
// an object of its own with which the next request begins, on any server.
//
// Part n always has the same bytes of the file, so bytes that are sent again replace their part.
import { createHash, randomUUID, type Hash } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { PartsLost, type BlobParts, type LocalFile, type Multipart } from './blob-store.ts'
import { asUnavailable, requireFullWrite } from './disk-errors.ts'
import { createDirectory } from './fsync.ts'
import type { PartialFileWriter, Progress } from './partial-files.ts'

const smallestPart = 8 * 1024 * 1024
/** S3 accepts 10,000 parts, but every one is in the row of the upload. */
const maxParts = 1_000

export async function beginMultipart(parts: BlobParts, key: string, length: number): Promise<Multipart> {
  const part_size = Math.max(smallestPart, Math.ceil(length / maxParts))
  return { ...(await parts.begin(key)), part_size, etags: [], tail: null }
}

/** An upload whose bytes are in S3. */
export interface PartialUpload {
  /** The id of the upload, with which the names of its tails begin. */
  id: string
  length: number
  /** Durable bytes. */
  received: number
  multipart: Multipart
}

/** @param folder for scratch files: on the disk of this server, one for each request. */
export function createPartWriter(parts: BlobParts, folder: string, upload: PartialUpload): PartialFileWriter {
  // A client that sends the last byte again, to finish the upload.
  if (partsOf(upload) === upload.multipart.etags.length) return repeatedBytes(upload)
  return new PartWriter(parts, folder, upload)
}

/** The number of parts of the complete upload. */
function partsOf({ length, multipart }: PartialUpload): number {
  return Math.ceil(length / multipart.part_size)
}

function repeatedBytes({ length, multipart }: PartialUpload): PartialFileWriter {
  return {
    async write() {},
    sync: async () => ({ bytes: length, multipart }),
    async cleanUp() {},
    async close() {},
  }
}

interface Scratch {
  path: string
  file: FileHandle
  /** Bytes of the current part. */
  bytes: number
  hash: Hash
}

class PartWriter implements PartialFileWriter {
  readonly #parts: BlobParts
  readonly #folder: string
  readonly #upload: PartialUpload
  #scratch: Scratch | null = null
  #durable: { bytes: number; multipart: Multipart }

  constructor(parts: BlobParts, folder: string, upload: PartialUpload) {
    this.#parts = parts
    this.#folder = folder
    this.#upload = upload
    this.#durable = { bytes: upload.received, multipart: upload.multipart }
  }

  async write(chunk: Buffer): Promise<void> {
    const scratch = (this.#scratch ??= await this.#begin())
    for (let rest = chunk; rest.length > 0;) {
      const piece = rest.subarray(0, this.#partLength() - scratch.bytes)
      await append(scratch, piece)
      rest = rest.subarray(piece.length)
      if (scratch.bytes === this.#partLength()) await this.#putPart(scratch)
    }
  }

  async sync({ isLast } = { isLast: false }): Promise<Progress> {
    const scratch = this.#scratch
    // A whole part that could not be sent is no tail: its bytes are sent again.
    const hasTail = scratch !== null && scratch.bytes < this.#partLength()
    if (isLast && hasTail && this.#partStart() + scratch.bytes > this.#durable.bytes)
      await this.#putTail(scratch)
    return this.#durable
  }

  async cleanUp(): Promise<void> {
    const { tail } = this.#upload.multipart
    // The sweep of the store deletes the tail when this fails.
    if (tail !== null && tail !== this.#durable.multipart.tail)
      await this.#parts.deleteTails([tail]).catch(() => {})
  }

  async close(): Promise<void> {
    if (this.#scratch === null) return
    await this.#scratch.file.close()
    await rm(this.#scratch.path, { force: true })
  }

  /** The scratch file, with the bytes of the tail. */
  async #begin(): Promise<Scratch> {
    const { tail } = this.#upload.multipart
    const path = join(this.#folder, randomUUID())
    const file = await createDirectory(this.#folder)
      .then(() => open(path, 'wx', 0o600))
      .catch((error) => {
        throw asUnavailable(error)
      })
    const scratch = (this.#scratch = { path, file, bytes: 0, hash: createHash('sha256') })
    // The read starts after the file is open: if the file cannot be opened, nothing would end the read.
    const content = tail === null ? [] : await this.#parts.readTail(tail)
    for await (const chunk of content as AsyncIterable<Buffer>) await append(scratch, chunk)
    if (this.#partStart() + scratch.bytes !== this.#upload.received)
      throw new PartsLost(`the parts of ${this.#upload.id} and their row differ`)
    return scratch
  }

  /** The position in the file at which the current part begins. */
  #partStart(): number {
    return this.#durable.multipart.etags.length * this.#upload.multipart.part_size
  }

  #partLength(): number {
    return Math.min(this.#upload.multipart.part_size, this.#upload.length - this.#partStart())
  }

  async #putPart(scratch: Scratch): Promise<void> {
    const { multipart } = this.#durable
    const etag = await this.#parts.put(multipart, multipart.etags.length + 1, localFile(scratch))
    const etags = [...multipart.etags, etag]
    this.#durable = {
      bytes: this.#partStart() + scratch.bytes,
      multipart: { ...multipart, etags, tail: null },
    }
    scratch.bytes = 0
    scratch.hash = createHash('sha256')
  }

  /** Under a new name: another server may rely on the previous tail. */
  async #putTail(scratch: Scratch): Promise<void> {
    const tail = `${this.#upload.id}.${randomUUID()}`
    await this.#parts.putTail(tail, localFile(scratch))
    const { multipart } = this.#durable
    this.#durable = { bytes: this.#partStart() + scratch.bytes, multipart: { ...multipart, tail } }
  }
}

async function append(scratch: Scratch, chunk: Buffer): Promise<void> {
  try {
    const { bytesWritten } = await scratch.file.write(chunk, 0, chunk.length, scratch.bytes)
    requireFullWrite(bytesWritten, chunk.length)
  } catch (error) {
    throw asUnavailable(error)
  }
  scratch.hash.update(chunk)
  scratch.bytes += chunk.length
}

function localFile({ path, bytes, hash }: Scratch): LocalFile {
  return { path, bytes, sha256: hash.copy().digest('hex') }
}
