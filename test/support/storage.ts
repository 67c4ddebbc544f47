// Files as tests send and fetch them: forms built byte by byte, requests over bare sockets, and what must not be left behind.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import type { Client, Reply } from './client.ts'
import type { TestServer } from './server.ts'
import { waitUntil } from './wait.ts'

export interface Upload {
  bytes?: Uint8Array | string
  /** The part's filename. Default `file.bin`. */
  name?: string
  /** The part's Content-Type; null for none. */
  type?: string | null
  /** Fields before the file, in this order. */
  fields?: Record<string, string> | Array<[name: string, value: string]>
  headers?: Record<string, string>
}

export async function upload(client: Client, { headers, ...content }: Upload = {}): Promise<Reply> {
  const form = formOf(content)
  return await client.call('POST', '/storage/upload', {
    raw: form.body,
    headers: { ...form.headers, ...headers },
  })
}

/** Uploads, and throws unless there is a file. @returns the file. */
export async function uploaded(client: Client, content: Upload = {}): Promise<any> {
  const reply = await upload(client, content)
  if (reply.status !== 201) throw new Error(`no file: ${reply.status} ${reply.text}`)
  return reply.body
}

/** A part of a form: its header lines as they are, and its content. */
export interface FormPart {
  head: string | string[]
  body?: Uint8Array | string
}

/** The form of an upload as a well-behaved client writes it. */
export function formOf(
  {
    bytes = 'content',
    name = 'file.bin',
    type = 'application/octet-stream',
    fields = {},
  }: Omit<Upload, 'headers'>,
  boundary = newBoundary(),
) {
  const parts: FormPart[] = (Array.isArray(fields) ? fields : Object.entries(fields)).map(
    ([field, value]) => ({ head: `Content-Disposition: form-data; name="${field}"`, body: value }),
  )
  parts.push({
    head: [
      `Content-Disposition: form-data; name="file"; filename="${name}"`,
      ...(type === null ? [] : [`Content-Type: ${type}`]),
    ],
    body: bytes,
  })
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

const rows = statement<{ key: string }>('SELECT blob_key AS key FROM files')
const others = statement<{ key: string }>(
  `SELECT key FROM doomed_blobs UNION ALL SELECT id || '-' || size FROM avatars, unnest(ARRAY[64, 128, 256]) size`,
)

/** What is half there: bytes that are still arriving, blobs that belong to nothing, and files without their bytes. */
export async function leftovers({ services }: TestServer): Promise<string[]> {
  const folder = services.config.storageDir
  const incoming = await names(join(folder, 'incoming'))
  const blobs = (
    await Promise.all(
      (await names(join(folder, 'blobs'))).map((shard) => names(join(folder, 'blobs', shard))),
    )
  ).flat()
  const files = (await services.database.sql(rows, [])).map(({ key }) => key)
  const known = new Set([...files, ...(await services.database.sql(others, [])).map(({ key }) => key)])
  return [
    ...incoming.map((name) => `incoming ${name}`),
    ...blobs.filter((key) => !known.has(key)).map((key) => `blob without a file ${key}`),
    ...files.filter((key) => !blobs.includes(key)).map((key) => `file without a blob ${key}`),
  ]
}

/** Fails unless nothing is half there, now or in a moment: who leaves is noticed a moment later. */
export async function nothingLeft(t: Test, server: TestServer): Promise<void> {
  await waitUntil(async () => (await leftovers(server)).length === 0, 'nothing to be left', 20_000).catch(
    () => {},
  )
  t.same(await leftovers(server), [], 'nothing is left behind')
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
  /** Of an error. */ body: any
}

/** Fetches `path`, below /v1, with no more politeness than the headers given. */
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

export interface Wire {
  socket: Socket
  /** All that was answered so far, a character a byte. */
  answer: () => string
  closed: () => boolean
  write(bytes: Uint8Array | string): Promise<void>
  /** Waits for the first answer to be whole. @returns status, header lines and body. */
  reply(): Promise<WireReply>
  /** Waits until the server has closed it. */
  ended(): Promise<void>
}

export interface WireReply {
  status: number
  head: string
  text: string
  body: any
}

/** A connection with no client in between. It is closed at the end of the test. */
export async function openWire(t: Pick<Test, 'teardown'>, url: string): Promise<Wire> {
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
    answer: () => text,
    closed: () => closed,
    async write(bytes) {
      if (!socket.write(bytes) && !socket.destroyed)
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
    },
    async reply() {
      let found: WireReply | null = null
      await waitUntil(() => (found = replyIn(text)) !== null || closed, 'an answer')
      if (found === null) throw new Error(`closed without a whole answer: ${JSON.stringify(text)}`)
      return found
    },
    async ended() {
      await waitUntil(() => closed, 'the server to close the connection')
    },
  }
}

/** The first final answer in what came over a wire, once it is whole. */
export function replyIn(text: string): WireReply | null {
  const answer = text.replace(/^(HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)+/, '')
  const end = answer.indexOf('\r\n\r\n')
  if (end === -1) return null
  const head = answer.slice(0, end)
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  const body = answer.slice(end + 4, end + 4 + length)
  if (body.length < length) return null
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    head,
    text: body,
    body: /^content-type: application\/json/im.test(head) ? JSON.parse(body) : undefined,
  }
}

/** The head of an upload, for a wire; a length, or chunks. */
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
