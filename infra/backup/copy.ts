// Copies rows between PostgreSQL and compressed files, as streams in constant memory.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { PassThrough, Writable, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { RowDigest, type RowCounts } from './row-digest.ts'

/** A complete file of rows. */
export interface RowFile extends RowCounts {
  /** Bytes of the compressed file. */
  file_bytes: number
  /** SHA-256 of the compressed file, in hex. */
  sha256: string
}

/** A fast level: backups are read rarely and written often. */
const compression = { level: 3 }

/** Writes the rows of `source`, a table with columns or a query in parentheses, to a new, durable file. */
export async function copyToFile(client: pg.Client, source: string, path: string): Promise<RowFile> {
  const [digest, hash] = [new RowDigest(), createHash('sha256')]
  const hashing = new PassThrough()
  hashing.on('data', (chunk: Buffer) => hash.update(chunk))
  await pipeline(
    client.query(copyTo(`COPY ${source} TO STDOUT`)),
    digest,
    createGzip(compression),
    hashing,
    createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }),
  )
  return { ...digest.counts, file_bytes: (await stat(path)).size, sha256: hash.digest('hex') }
}

/** Adds the rows of a file to `target`, a table with columns. */
export async function copyFromFile(client: pg.Client, target: string, file: Readable): Promise<void> {
  await pipeline(file, createGunzip(), client.query(copyFrom(`COPY ${target} FROM STDIN`)))
}

/** Counts and hashes the rows of `source` in the database. */
export async function countRows(client: pg.Client, source: string): Promise<RowCounts> {
  const digest = new RowDigest()
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
  await pipeline(client.query(copyTo(`COPY ${source} TO STDOUT`)), digest, sink)
  return digest.counts
}

/** The rows of a file, each as the texts of its columns, which must have no special characters. */
export async function* readRows(file: Readable): AsyncGenerator<string[]> {
  let rest = ''
  const texts = createGunzip().setEncoding('utf8')
  file.on('error', (error) => texts.destroy(error))
  for await (const chunk of file.pipe(texts)) {
    const lines = `${rest}${chunk as string}`.split('\n')
    rest = lines.pop()!
    for (const line of lines) yield line.split('\t')
  }
}

/** SHA-256 of a file, in hex. */
export async function hashFile(file: Readable): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(file, hash)
  return hash.digest('hex')
}
