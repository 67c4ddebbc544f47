// Large files to and from a server, streamed on this side too: made up on the way and hashed on arrival.
import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const boundary = 'platform-test-boundary'

export interface Place {
  url: string
  key: string
}

export interface Sent {
  status: number
  body: any
  sha256: string
}

/** Uploads so many bytes that nobody else has. Rejects where the connection breaks. */
export async function sendFile(
  { url, key }: Place,
  bytes: number,
  { name = 'large.bin', fields = {} }: { name?: string; fields?: Record<string, string> } = {},
): Promise<Sent> {
  const hash = createHash('sha256')
  const before = Buffer.from(
    Object.entries(fields)
      .map(
        ([field, value]) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
      )
      .join('') +
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  )
  const after = Buffer.from(`\r\n--${boundary}--\r\n`)
  const { promise, resolve, reject } = Promise.withResolvers<Sent>()
  const call = request(
    `${url}/v1/storage/upload`,
    {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': before.length + bytes + after.length,
      },
    },
    async (response) => {
      try {
        const text = (await response.toArray()).join('')
        resolve({ status: response.statusCode!, body: JSON.parse(text), sha256: sent })
      } catch (error) {
        reject(error as Error)
      }
    },
  )
  let sent = ''
  call.on('error', reject)
  async function* body(): AsyncGenerator<Buffer> {
    yield before
    for await (const chunk of content(bytes)) {
      hash.update(chunk)
      yield chunk
    }
    sent = hash.digest('hex')
    yield after
  }
  pipeline(Readable.from(body(), { objectMode: false }), call).catch(reject)
  return await promise
}

const block = randomBytes(1024 * 1024 + 17)

/** Bytes that are cheap to make and unlike any other file's. */
function* content(bytes: number): Generator<Buffer> {
  let left = bytes
  const start = randomBytes(Math.min(32, bytes))
  yield start
  left -= start.length
  while (left > 0) {
    const chunk = block.subarray(0, Math.min(left, 64 * 1024))
    yield chunk
    left -= chunk.length
  }
}

/** Downloads a file. @returns its status, and the SHA-256 of what came. */
export async function fetchFile(
  { url, key }: Place,
  id: string,
): Promise<{ status: number; sha256: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; sha256: string }>()
  request(
    `${url}/v1/storage/files/${id}/download`,
    { agent: false, headers: { authorization: `Bearer ${key}` } },
    async (response) => {
      try {
        const hash = createHash('sha256')
        for await (const chunk of response) hash.update(chunk as Buffer)
        resolve({ status: response.statusCode!, sha256: hash.digest('hex') })
      } catch (error) {
        reject(error as Error)
      }
    },
  )
    .on('error', reject)
    .end()
  return await promise
}
