// Streams large generated files to and from a server, hashing them on the way.
import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const boundary = 'platform-test-boundary'

/** A server and an API key. */
export interface Target {
  url: string
  key: string
}

export interface SentFile {
  status: number
  body: any
  /** SHA-256 of the sent bytes, in hex. */
  sha256: string
}

/** Uploads a file with `bytes` bytes of unique content. Rejects when the connection breaks. */
export async function sendFile(
  { url, key }: Target,
  bytes: number,
  { name = 'large.bin', fields = {} }: { name?: string; fields?: Record<string, string> } = {},
): Promise<SentFile> {
  const hash = createHash('sha256')
  const before = Buffer.from(
    Object.entries(fields)
      .map(
        ([field, value]) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
      )
      .join('') +
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  )
  const after = Buffer.from(`\r\n--${boundary}--\r\n`)
  const { promise, resolve, reject } = Promise.withResolvers<SentFile>()
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

/** Content that is cheap to generate and unique per file. */
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

/** Downloads a file. @returns the status and the SHA-256 of the received bytes. */
export async function fetchFile(
  { url, key }: Target,
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
