// Backups below a prefix of a bucket. A file is written to disk first, so that its SHA-256 is known when it
// is sent, and a failed request can be repeated. A file that is read is on disk, too.
import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { manifestFile } from '../../infra/backup/manifest.ts'
import type { S3Config } from '../../infra/config/config.ts'
import { BlobNotFound, type StoreDocuments } from '../storage/blobs/blob-store.ts'
import { createS3BlobStore } from '../storage/blobs/s3.ts'
import { createS3Client, translateErrors, withTimeout, type S3Target } from '../storage/blobs/s3-client.ts'
import { createS3Documents } from '../storage/blobs/s3-documents.ts'
import { defaultPartSize, putFile } from '../storage/blobs/s3-put.ts'
import { readObject } from '../storage/blobs/s3-read.ts'
import { backupName, type BackupTarget } from './target.ts'

/** Milliseconds between two renewals of the lock, and until a lock that is not renewed has ended. */
const lockRenewal = 60_000
const lockTimeout = 15 * lockRenewal

export function createBucketTarget(config: S3Config, prefix: string, scratch: string): BackupTarget {
  const client = createS3Client(config)
  const s3: S3Target = { client, bucket: config.bucket, partSize: defaultPartSize, idleTimeoutMs: 20_000 }
  const documents = createS3Documents(s3)
  const blobs = createS3BlobStore(config, { prefix: `${prefix}/blobs/` })
  const scratchFolder = join(scratch, `backup-${randomUUID()}`)
  const keyOf = (name: string, file: string): string => `${prefix}/${name}/${file}`

  /** The objects, or the folders, directly below a prefix of the bucket. */
  async function* list(Prefix: string, Delimiter?: string): AsyncGenerator<string> {
    for (let after: string | undefined; ;) {
      const request = { Bucket: config.bucket, Prefix, Delimiter, ContinuationToken: after }
      const page = await translateErrors(client.send(new ListObjectsV2Command(request), withTimeout(s3)))
      for (const { Prefix: folder } of page.CommonPrefixes ?? []) yield folder!
      if (Delimiter === undefined) for (const { Key } of page.Contents ?? []) yield Key!
      after = page.NextContinuationToken
      if (after === undefined) return
    }
  }

  async function deleteObject(Key: string): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: config.bucket, Key })
    await translateErrors(client.send(command, withTimeout(s3)))
  }

  return {
    location: `s3://${config.bucket}/${prefix}`,
    blobs,
    scratchFolder: () => scratchFolder,
    async lock() {
      const name = `${prefix}/lock.json`
      if (!(await takeLock(documents, name))) return null
      const timer = setInterval(() => void documents.write(name, lockContent()).catch(() => {}), lockRenewal)
      return async () => {
        clearInterval(timer)
        await deleteObject(name)
      }
    },
    async list() {
      const [complete, unfinished]: string[][] = [[], []]
      for await (const folder of list(`${prefix}/`, '/')) {
        const name = folder.slice(prefix.length + 1, -1)
        if (!backupName.test(name)) continue
        const isComplete = (await documents.read(keyOf(name, manifestFile))) !== null
        ;(isComplete ? complete : unfinished).push(name)
      }
      return { complete: complete.sort(), unfinished }
    },
    async begin() {},
    async addFile(name, file, write) {
      await mkdir(scratchFolder, { recursive: true, mode: 0o700 })
      const path = join(scratchFolder, file)
      try {
        const written = await write(path)
        const { file_bytes: bytes, sha256 } = written
        await translateErrors(putFile(s3, keyOf(name, file), { path, bytes, sha256 }))
        return written
      } finally {
        await rm(path, { force: true })
      }
    },
    addManifest: async (name, content) => await documents.write(keyOf(name, manifestFile), content),
    async read(name, file) {
      const content = await readObject(s3, keyOf(name, file)).catch((error) => {
        if (error instanceof BlobNotFound) return null
        throw error
      })
      if (content === null) return null
      // A reader may take hours, longer than a store keeps a connection.
      await mkdir(scratchFolder, { recursive: true, mode: 0o700 })
      const path = join(scratchFolder, randomUUID())
      await pipeline(content, createWriteStream(path, { mode: 0o600 }))
      return createReadStream(path).once('close', () => void rm(path, { force: true }).catch(() => {}))
    },
    async remove(name) {
      await deleteObject(keyOf(name, manifestFile))
      for await (const key of list(keyOf(name, ''))) await deleteObject(key)
    },
    async close() {
      await rm(scratchFolder, { recursive: true, force: true })
      await blobs.close()
      client.destroy()
    },
  }
}

const lockId = randomUUID()

function lockContent(): string {
  return JSON.stringify({ id: lockId, renewed_at: new Date().toISOString() })
}

async function takeLock(documents: StoreDocuments, name: string): Promise<boolean> {
  if (await documents.create(name, lockContent())) return true
  const held = JSON.parse((await documents.read(name)) ?? '{"renewed_at":"1970-01-01"}')
  if (Date.now() - Date.parse(held.renewed_at) < lockTimeout) return false
  await documents.write(name, lockContent())
  // Of two processes that take over the lock of a killed one, the later one has it.
  await sleep(1_000)
  return JSON.parse((await documents.read(name)) ?? '{}').id === lockId
}
