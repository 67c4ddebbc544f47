// Uploads and downloads in tests: multipart forms built byte by byte, HTTP over raw sockets, and a check for
// leftovers in storage.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { statement } from '../../../infra/database/statements.ts'
import type { Services } from '../../../services/services.ts'
import { isBlobKey } from '../../../services/storage/blobs/blob-store.ts'
import { createSweep, type SweepLog } from '../../../services/storage/sweep.ts'
import type { Client, Reply } from '../http/client.ts'
import type { TestServer } from '../server/server.ts'
import { waitUntil } from '../server/wait.ts'

type Fields = Record<string, string> | Array<[name: string, value: string]>

export interface Upload {
  bytes?: Uint8Array | string
  /** The part's filename. Default `file.bin`. */
  name?: string
  /** The part's Content-Type; null for none. */
  type?: string | null
  /** Fields before the file, in this order. */
  fields?: Fields
  /** Fields after the file. */
  fieldsAfter?: Fields
  headers?: Record<string, string>
}

export async function upload(client: Client, { headers, ...content }: Upload = {}): Promise<Reply> {
  const form = uploadForm(content)
  return await client.call('POST', '/storage/upload', {
    raw: form.body,
    headers: { ...form.headers, ...headers },
  })
}

/** Uploads a file and returns it. Throws for any status but 201. */
export async function uploadFile(client: Client, content: Upload = {}): Promise<any> {
  const reply = await upload(client, content)
  if (reply.status !== 201) throw new Error(`the upload failed: ${reply.status} ${reply.text}`)
  return reply.body
}

/** One part of a multipart body: its raw header lines and its content. */
export interface FormPart {
  head: string | string[]
  body?: Uint8Array | string
}

/** The form of an upload, as a correct client encodes it. */
export function uploadForm(
  {
    bytes = 'content',
    name = 'file.bin',
    type = 'application/octet-stream',
    fields = {},
    fieldsAfter = {},
  }: Omit<Upload, 'headers'>,
  boundary = newBoundary(),
) {
  const partsOf = (given: Fields): FormPart[] =>
    (Array.isArray(given) ? given : Object.entries(given)).map(([field, value]) => ({
      head: `Content-Disposition: form-data; name="${field}"`,
      body: value,
    }))
  const parts = partsOf(fields)
  parts.push({
    head: [
      `Content-Disposition: form-data; name="file"; filename="${name}"`,
      ...(type === null ? [] : [`Content-Type: ${type}`]),
    ],
    body: bytes,
  })
  parts.push(...partsOf(fieldsAfter))
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: multipart(parts, boundary),
    boundary,
  }
}

export function multipart(
  parts: FormPart[],
  boundary: string,
  ending = `--${boundary}--\r\n`,
): Buffer<ArrayBuffer> {
  return Buffer.concat([
    ...parts.flatMap(({ head, body = '' }) => [
      Buffer.from(`--${boundary}\r\n${[head].flat().join('\r\n')}\r\n\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(ending),
  ])
}

export function newBoundary(): string {
  return `boundary-${randomBytes(8).toString('hex')}`
}

const fileKeys = statement<{ key: string }>(
  'SELECT blob_key AS key FROM files UNION SELECT blob_key FROM file_versions',
)
const otherKeys = statement<{ key: string }>(
  `SELECT key FROM quarantined_blobs
   UNION ALL SELECT id || '-' || size FROM avatars, unnest(ARRAY[64, 128, 256]) size`,
)

/** Inconsistencies of the storage: temporary files, blobs without a row, and files without a blob. */
export async function leftovers({ services }: TestServer): Promise<string[]> {
  const folder = services.config.storageDir
  const tempFiles = await names(join(folder, 'incoming'))
  const blobs = (
    await Promise.all(
      (await names(join(folder, 'blobs'))).map((shard) => names(join(folder, 'blobs', shard))),
    )
  ).flat()
  const files = (await services.database.sql(fileKeys, [])).map(({ key }) => key)
  const known = new Set([...files, ...(await services.database.sql(otherKeys, [])).map(({ key }) => key)])
  return [
    ...tempFiles.map((name) => `temporary file ${name}`),
    ...blobs.filter((key) => !known.has(key)).map((key) => `blob without a file ${key}`),
    ...files.filter((key) => !blobs.includes(key)).map((key) => `file without a blob ${key}`),
  ]
}

/** Fails when leftovers remain after 20 seconds. The server notices a disconnect only after a moment. */
export async function assertNothingLeft(t: Test, server: TestServer): Promise<void> {
  await waitUntil(
    async () => (await leftovers(server)).length === 0,
    'the leftovers to be deleted',
    20_000,
  ).catch(() => {})
  t.same(await leftovers(server), [], 'no leftovers remain')
}

const count = statement<{ n: number }>('SELECT count(*)::int AS n FROM files')

export async function fileCount({ services }: TestServer): Promise<number> {
  return (await services.database.sql(count, []))[0].n
}

async function names(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => [])
}

export interface Download {
  status: number
  headers: Headers
  bytes: Buffer
  /** The parsed body of an error. */
  body: any
}

/** Requests `path` below /v1 with exactly the given headers, and does not follow redirects. */
export async function download(
  url: string,
  path: string,
  {
    key = null,
    headers = {},
    method = 'GET',
  }: { key?: string | null; headers?: Record<string, string>; method?: string } = {},
): Promise<Download> {
  const reply = await fetch(`${url}/v1${path}`, {
    method,
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers },
    redirect: 'manual',
  })
  const bytes = Buffer.from(await reply.arrayBuffer())
  const isError = reply.status >= 400 && bytes.length > 0
  return {
    status: reply.status,
    headers: reply.headers,
    bytes,
    body: isError ? JSON.parse(bytes.toString()) : undefined,
  }
}

export interface RawConnection {
  socket: Socket
  /** Everything received so far, one character per byte. */
  received: () => string
  isClosed: () => boolean
  write(bytes: Uint8Array | string): Promise<void>
  /** Waits for the first complete response. */
  reply(): Promise<RawReply>
  /** Waits until the server closes the connection. */
  waitUntilClosed(): Promise<void>
}

export interface RawReply {
  status: number
  /** The status line and the header lines. */
  head: string
  text: string
  body: any
}

/** A raw TCP connection to the server, closed at the end of the test. */
export async function openConnection(t: Pick<Test, 'teardown'>, url: string): Promise<RawConnection> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  let text = ''
  let closed = false
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
  socket.on('close', () => {
    closed = true
  })
  await once(socket, 'connect')
  return {
    socket,
    received: () => text,
    isClosed: () => closed,
    async write(bytes) {
      if (!socket.write(bytes) && !socket.destroyed)
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
    },
    async reply() {
      let found: RawReply | null = null
      await waitUntil(() => (found = parseReply(text)) !== null || closed, 'a response')
      if (found === null) throw new Error(`closed without a complete response: ${JSON.stringify(text)}`)
      return found
    },
    async waitUntilClosed() {
      await waitUntil(() => closed, 'the server to close the connection')
    },
  }
}

/** The first final (not 1xx) response in the received text; null while it is incomplete. */
export function parseReply(text: string): RawReply | null {
  const response = text.replace(/^(HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)+/, '')
  const end = response.indexOf('\r\n\r\n')
  if (end === -1) return null
  const head = response.slice(0, end)
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  const body = response.slice(end + 4, end + 4 + length)
  if (body.length < length) return null
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    head,
    text: body,
    body: /^content-type: application\/json/im.test(head) ? JSON.parse(body) : undefined,
  }
}

/** The request line and headers of an upload, with Content-Length or chunked. */
export function uploadHead(
  key: string | null,
  boundary: string,
  length: number | 'chunked',
  more: string[] = [],
): string {
  return [
    'POST /v1/storage/upload HTTP/1.1',
    'host: localhost',
    ...(key === null ? [] : [`authorization: Bearer ${key}`]),
    `content-type: multipart/form-data; boundary=${boundary}`,
    length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`,
    ...more,
    '',
    '',
  ].join('\r\n')
}

/** Sweeps the store until the sweep ends. @returns how many blobs and temporary files it removed. */
export async function sweepStore(
  { config, database, storage }: Services,
  { before = new Date(), log = silentLog }: { before?: Date; log?: SweepLog } = {},
): Promise<number> {
  const sweep = createSweep(storage, { config, log })
  for (let removed = 0; ;) {
    const step = await sweep.step(database, before)
    removed += step.removed
    if (!step.more) return removed
  }
}

export const silentLog: SweepLog = { info() {}, warn() {}, error() {} }

/** Makes the blobs in quarantine older, in place of waiting. */
export async function ageQuarantine({ database }: Services, days: number): Promise<void> {
  await database.sql(ageBlobs, [days])
}

const ageBlobs = statement(`
  WITH restart AS (
    UPDATE database_identity SET quarantine_restarted_at = quarantine_restarted_at - make_interval(days => $1)
  )
  UPDATE quarantined_blobs SET since = since - make_interval(days => $1)`)

/** The keys of all blobs in the store. */
export async function storedKeys({ storage }: Services): Promise<string[]> {
  const keys: string[] = []
  for await (const page of (await storage.blobStore()).list())
    keys.push(...page.map(({ key }) => key).filter(isBlobKey))
  return keys.sort()
}
