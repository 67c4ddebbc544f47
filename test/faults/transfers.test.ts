// Memory use during large and concurrent transfers, for both blob stores. `npm run faults` transfers 1 GiB at
// once and 20 × 100 MiB concurrently, `npm test` 10 × 16 MiB. With `npm run faults` the official tus client
// also uploads 1 GiB through 20 broken connections; test/storage/resumable-uploads.test.ts has a short
// version.
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { createReadStream, globSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { cuttingProxy } from '../support/http/cutting-proxy.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey as key, spawnServer } from '../support/server/process.ts'
import { noS3, startS3 } from '../../scripts/test/s3-server.ts'
import { fetchFile, sendFile } from '../support/http/transfer.ts'
import { uploadWithTusClient } from '../support/http/tus.ts'
import { isLongForm } from '../support/long-form.ts'

const large = 2 ** 30
/** In the short form a little more than the limit below. */
const several = isLongForm ? { count: 20, bytes: 100 * 2 ** 20 } : { count: 10, bytes: 16 * 2 ** 20 }
const mebibyte = 2 ** 20

const stores: Array<{ name: string; skip: string | false; env(t: Test): Promise<Record<string, string>> }> = [
  { name: 'disk', skip: false, env: async () => ({}) },
  {
    name: 's3',
    skip: noS3,
    async env(t) {
      const { endpoint, region, accessKeyId, secretAccessKey, bucket } = await startS3(t)
      return {
        STORAGE: 's3',
        S3_ENDPOINT: endpoint,
        S3_REGION: region,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY_ID: accessKeyId,
        S3_SECRET_ACCESS_KEY: secretAccessKey,
      }
    },
  },
]

for (const { name, skip, env } of stores) {
  t.test(
    `memory use stays flat with ${name}`,
    { skip: process.platform !== 'linux' ? 'memory use is read from /proc' : skip },
    async (t) => {
      const { url: DATABASE_URL } = await createTestDatabase(t)
      const STORAGE_DIR = await mkdtemp(join(tmpdir(), 'platform-transfers-'))
      t.teardown(() => rm(STORAGE_DIR, { recursive: true, force: true }))
      const server = await spawnServer(t, {
        DATABASE_URL,
        STORAGE_DIR,
        RATE_LIMIT_UPLOAD: '1000000',
        ...(await env(t)),
      })
      const target = { url: server.url, key }
      const pid = server.child.pid!
      // The first transfer loads code and buffers that count as idle memory.
      await fetchFile(target, (await sendFile(target, mebibyte)).body.id)
      await sleep(500)

      const idle = memory(pid, 'VmRSS')
      const peaks: Record<string, number> = {}
      const measured = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
        writeFileSync(`/proc/${pid}/clear_refs`, '5')
        const result = await work()
        peaks[what] = Math.round(memory(pid, 'VmHWM') - idle)
        return result
      }
      if (isLongForm) {
        const one = await measured('upload of one', () => sendFile(target, large))
        t.match(one, { status: 201, body: { sha256: one.sha256 } })
        t.same(await measured('download of one', () => fetchFile(target, one.body.id)), {
          status: 200,
          sha256: one.sha256,
        })
      }
      const many = await measured('uploads at once', () =>
        Promise.all(Array.from({ length: several.count }, () => sendFile(target, several.bytes))),
      )
      t.ok(many.every(({ status, body, sha256 }) => status === 201 && body.sha256 === sha256))
      const back = await measured('downloads at once', () =>
        Promise.all(many.map(({ body }) => fetchFile(target, body.id))),
      )
      t.same(
        back,
        many.map(({ sha256 }) => ({ status: 200, sha256 })),
      )
      for (const [what, peak] of Object.entries(peaks))
        t.ok(peak <= 150, `${what}: ${peak} MiB above ${Math.round(idle)} MiB idle`)
      t.comment(
        `${name}: idle ${Math.round(idle)} MiB; above it ${Object.entries(peaks)
          .map(([what, peak]) => `${what} ${peak}`)
          .join(', ')} MiB`,
      )
      await server.end('SIGTERM')
    },
  )
}

for (const { name, skip, env } of isLongForm ? stores : []) {
  t.test(
    `tus uploads 1 GiB through 20 broken connections with ${name}`,
    { skip: process.platform !== 'linux' ? 'memory use is read from /proc' : skip },
    async (t) => {
      const { url: DATABASE_URL } = await createTestDatabase(t)
      const folder = await mkdtemp(join(tmpdir(), 'platform-tus-'))
      t.teardown(() => rm(folder, { recursive: true, force: true }))
      const STORAGE_DIR = join(folder, 'storage')
      const server = await spawnServer(t, { DATABASE_URL, STORAGE_DIR, ...(await env(t)) })
      const pid = server.child.pid!
      const path = join(folder, 'large.bin')
      const sha256 = await makeFile(path, large)
      let left = 20
      const proxy = await cuttingProxy(t, server.url, {
        next: () => (left-- > 0 ? randomInt(5 * mebibyte, 45 * mebibyte) : null),
      })

      const idle = memory(pid, 'VmRSS')
      writeFileSync(`/proc/${pid}/clear_refs`, '5')
      const started = performance.now()
      const { fileId } = await uploadWithTusClient(createReadStream(path), {
        endpoint: `${proxy.url}/v1/storage/uploads`,
        key,
      })
      const seconds = Math.round((performance.now() - started) / 1000)
      const peak = Math.round(memory(pid, 'VmHWM') - idle)
      t.equal(proxy.cuts, 20)
      t.same(await fetchFile({ url: server.url, key }, fileId!), { status: 200, sha256 })
      t.same(globSync(join(STORAGE_DIR, 'uploads', '*')), [], 'no partial file is left')
      t.ok(peak <= 150, `${peak} MiB above ${Math.round(idle)} MiB idle`)
      t.comment(`${name}: ${seconds} s, ${peak} MiB above ${Math.round(idle)} MiB idle`)
      await server.end('SIGTERM')
    },
  )
}

/** Writes a file of random bytes. @returns its SHA-256 in hex. */
async function makeFile(path: string, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  const file = await open(path, 'w')
  for (let left = bytes; left > 0;) {
    const chunk = randomBytes(Math.min(left, mebibyte))
    hash.update(chunk)
    await file.write(chunk)
    left -= chunk.length
  }
  await file.close()
  return hash.digest('hex')
}

/** Memory use of a process in MiB. */
function memory(pid: number, line: 'VmRSS' | 'VmHWM'): number {
  return (
    Number(new RegExp(`${line}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
  )
}
