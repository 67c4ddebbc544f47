// Attacks of one user with several keys with files: uploads that never end, large ones, pictures, downloads.
import sharp from 'sharp'
import { made } from '../client.ts'
import { attack, type Attack, type Scene } from '../attack.ts'

const limit = '429 rate_limit'
const atOnceLimit = '429 max_open'
const tus = { 'tus-resumable': '1.0.0' }

function form(
  part: string,
  name: string,
  content: Buffer | string,
): { body: Buffer; headers: Record<string, string> } {
  const head = `--B\r\ncontent-disposition: form-data; name="${part}"; filename="${name}"\r\n\r\n`
  return {
    body: Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n--B--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=B' },
  }
}

async function createUpload({ client, key }: Scene, bytes: number): Promise<string> {
  const headers = { ...tus, 'upload-length': String(bytes), 'upload-metadata': 'filename YS5iaW4=' }
  const answer = await client.send('POST', '/v1/storage/uploads', { key: key(), headers })
  made(answer)
  return new URL(String(answer.headers.location)).pathname
}

/** Uploads a file of `bytes` bytes. @returns its id. */
async function uploadedFile({ client, key }: Scene, bytes: number): Promise<string> {
  const { body, headers } = form('file', 'a.bin', Buffer.alloc(bytes, 'x'))
  const file = made(await client.send('POST', '/v1/storage/upload', { key: key(), body, headers }))
  return file.id as string
}

/** Sends the head of a request and then a chunk now and then, until the server answers or the round ends. */
async function drip({ client, over }: Scene, head: string, chunk: string): Promise<string> {
  const socket = client.socket()
  let answer = ''
  socket.on('data', (text) => {
    answer += text.toString('latin1')
  })
  socket.write(head)
  const timer = setInterval(() => socket.write(chunk), 100)
  const answered = new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
  await Promise.race([over, answered])
  clearInterval(timer)
  socket.destroy()
  if (answer === '') return 'held open'
  const constraint = /"constraint":"(\w+)"/.exec(answer)?.[1]
  return `${answer.slice(9, 12)}${constraint === undefined ? '' : ` ${constraint}`}`
}

export const fileAttacks: Attack[] = [
  attack({
    name: 'uploads held open',
    does: 'uploads of 4 GiB with an Idempotency-Key, 4 KiB ten times a second each',
    atOnce: 100,
    send: async (scene, _, i) =>
      await drip(
        scene,
        `POST /v1/storage/upload HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${scene.key()}\r\n` +
          `idempotency-key: held-${i}\r\ncontent-type: multipart/form-data; boundary=B\r\n` +
          `content-length: ${4 * 2 ** 30}\r\n\r\n` +
          '--B\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n',
        'x'.repeat(4_096),
      ),
    answers: ['held open', limit, '413 quota', atOnceLimit, '429'],
    limit,
    cpuMs: 60,
  }),
  attack({
    name: 'uploads at once',
    does: 'files of 1 MB on 32 connections',
    atOnce: 32,
    prepare: async () => form('file', 'a.bin', Buffer.alloc(1_000_000, 'x')),
    send: async ({ client, key }, { body, headers }) =>
      (await client.send('POST', '/v1/storage/upload', { key: key(), body, headers })).label,
    answers: ['201', limit, atOnceLimit],
    limit,
    cpuMs: 80,
  }),
  attack({
    name: 'requests that wait for an upload',
    does: 'one request that sends a byte now and then, and 100 that wait for it',
    atOnce: 100,
    async prepare(scene) {
      const path = await createUpload(scene, 1_000_000)
      const head =
        `PATCH ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${scene.key()}\r\n` +
        'tus-resumable: 1.0.0\r\nupload-offset: 0\r\n' +
        'content-type: application/offset+octet-stream\r\ncontent-length: 1000000\r\n\r\n'
      void drip(scene, head, 'x')
      return path
    },
    send: async ({ client, key }, path) =>
      (
        await client.send('PATCH', path, {
          key: key(),
          body: 'x',
          headers: { ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
        })
      ).label,
    answers: ['204', '409 in_progress', '409 offset', limit, atOnceLimit],
    limit,
    cpuMs: 30,
  }),
  attack({
    name: 'large pictures',
    does: 'avatars of 36 megapixels in 100 kB',
    atOnce: 8,
    async prepare() {
      const options = { width: 6_000, height: 6_000, channels: 3 as const, background: 'white' }
      return form('file', 'a.png', await sharp({ create: options }).png().toBuffer())
    },
    send: async ({ client, key }, { body, headers }) =>
      (await client.send('POST', '/v1/user/avatar', { key: key(), body, headers })).label,
    answers: ['200', '201', '400 pixels', '413 pixels', limit, atOnceLimit],
    cpuMs: 80,
  }),
  attack({
    name: 'unread downloads',
    does: '64 downloads of 8 MB that read nothing',
    atOnce: 64,
    prepare: (scene) => uploadedFile(scene, 8_000_000),
    async send({ client, key, over }, id) {
      const socket = client.socket().pause()
      socket.write(
        `GET /v1/storage/files/${id}/download HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key()}\r\n\r\n`,
      )
      await over
      socket.destroy()
      return 'held open'
    },
    answers: ['held open'],
    cpuMs: 50,
  }),
  attack({
    name: 'byte ranges',
    does: 'small ranges and many ranges of a file on 64 connections',
    atOnce: 64,
    prepare: (scene) => uploadedFile(scene, 500_000),
    send: async ({ client, key }, id, i) => {
      const range = i % 2 === 0 ? `bytes=${i}-${i + 10}` : `bytes=${'0-1,'.repeat(200)}0-1`
      const path = `/v1/storage/files/${id}/download`
      return (await client.send('GET', path, { key: key(), headers: { range } })).label
    },
    answers: ['206', '200', limit, atOnceLimit],
    cpuMs: 40,
  }),
]
