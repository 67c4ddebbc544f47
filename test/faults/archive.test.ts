// An archive of files in S3: the memory that its download takes, that `unzip -t` opens it, and that a
// download that is broken off and resumed, and one by Chromium, have the same bytes. `npm run faults`
// downloads 10 GiB, `npm test` 320 MiB.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { request } from 'undici'
import { noS3, startS3 } from '../../scripts/test/s3-server.ts'
import * as sql from '../../generated/sql/auth.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { hashPassword } from '../../services/auth/passwords/hash.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { password } from '../support/operations/operation-fixtures-auth.ts'
import { sendFile, type Target } from '../support/http/transfer.ts'
import { isLongForm } from '../support/long-form.ts'
import { bootstrapKey as key, spawnServer } from '../support/server/process.ts'

const mebibyte = 2 ** 20
const bytesOfFile = isLongForm ? 1024 * mebibyte : 32 * mebibyte
const files = 10
/** MiB above the idle process. */
const mostMemory = 150

const skip = process.platform === 'linux' ? noS3 : 'memory use is read from /proc'

t.test('an archive of files in S3 takes little memory and resumes', { skip, timeout: 600_000 }, async (t) => {
  const { url: DATABASE_URL } = await createTestDatabase(t)
  const folder = await mkdtemp(join(tmpdir(), 'platform-archive-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const { endpoint, region, accessKeyId, secretAccessKey, bucket } = await startS3(t)
  const server = await spawnServer(t, {
    DATABASE_URL,
    STORAGE: 's3',
    STORAGE_DIR: join(folder, 'storage'),
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  })
  const target = { url: server.url, key }
  const client = createClient(server.url, key)
  // Copies share the blob, so that the bucket stays small.
  const { body } = await sendFile(target, bytesOfFile, { name: 'large.bin' })
  const ids: string[] = [body.id]
  while (ids.length < files) ids.push((await client.post(`/storage/files/${body.id}/copy`, {})).body.id)
  const archive = (await client.post('/storage/archives', { file_ids: ids })).body
  t.ok(archive.bytes > files * bytesOfFile)

  const pid = server.child.pid!
  const path = join(folder, 'archive.zip')
  const idle = memory(pid, 'VmRSS')
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const started = performance.now()
  const broken = Math.floor(archive.bytes * 0.4)
  await t.rejects(save(target, archive.id, { path, from: 0, until: broken }), /broken off/)
  const { size } = await stat(path)
  await save(target, archive.id, { path, from: size })
  const seconds = (performance.now() - started) / 1000
  const peak = Math.round(memory(pid, 'VmHWM') - idle)
  t.ok(peak <= mostMemory, `${peak} MiB above ${Math.round(idle)} MiB idle`)
  t.comment(
    `${archive.bytes} bytes in ${Math.round(seconds)} s, broken off at ${size}; ` +
      `${peak} MiB above ${Math.round(idle)} MiB idle`,
  )
  t.equal((await stat(path)).size, archive.bytes)
  const hash = await hashOfFile(path)
  t.equal(hash, await hashOfArchive(target, archive.id), 'the same bytes at once')
  const isWhole = promisify(execFile)('unzip', ['-tq', path])
  const { stdout } = await isWhole.catch((error) => {
    if (error.code !== 'ENOENT') throw error
    return { stdout: 'No errors detected: no unzip here' }
  })
  t.match(stdout, /No errors detected/)
  await rm(path)
  await t.test('Chromium saves it', { skip: skipWithoutBrowser, timeout: 600_000 }, async (t) => {
    await setPassword(DATABASE_URL, client)
    const page = await (await launchBrowser(t)).newPage()
    await page.goto(`${server.url}/console`)
    await page.evaluate(signIn, { method: 'password', email: await emailOf(client), password })
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.evaluate(`location.assign('/v1/storage/archives/${archive.id}/content')`),
    ])
    t.equal(saved.suggestedFilename(), archive.name)
    t.equal(await hashOfFile(await saved.path()), hash)
  })
})

const emailOf = async (client: Client): Promise<string> => (await client.get('/user')).body.email

/** Gives the owner of the bootstrap key a password. */
async function setPassword(url: string, client: Client): Promise<void> {
  const database = openDatabase({ url, poolSize: 1 })
  try {
    const { id } = (await client.get('/user')).body
    await sql.storePassword(database, { user_id: id, hash: await hashPassword(password, 'test') })
  } finally {
    await database.close()
  }
}

/** Runs in the page: signs in, and keeps the session in a cookie. */
async function signIn(body: Record<string, string>): Promise<void> {
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(await response.text())
    return await response.json()
  }
  const { refresh_token } = await post('/v1/auth/sessions', body)
  await post('/v1/auth/sessions/cookie', { refresh_token })
}

async function open({ url, key }: Target, id: string, from: number) {
  const { statusCode, body } = await request(`${url}/v1/storage/archives/${id}/content`, {
    headers: { authorization: `Bearer ${key}`, ...(from > 0 && { range: `bytes=${from}-` }) },
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  if (statusCode !== (from > 0 ? 206 : 200)) throw new Error(`the archive was refused: ${statusCode}`)
  return body
}

interface Saving {
  path: string
  from: number
  /** Breaks the connection after this byte. */
  until?: number
}

/** Appends the archive from a byte on to the file. */
async function save(target: Target, id: string, { path, from, until = Infinity }: Saving): Promise<void> {
  let at = from
  const counting = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      at += chunk.length
      done(at > until ? new Error('broken off') : null, chunk)
    },
  })
  await pipeline(await open(target, id, from), counting, createWriteStream(path, { flags: 'a' }))
}

async function hashOfArchive(target: Target, id: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(await open(target, id, 0), hash)
  return hash.digest('hex')
}

async function hashOfFile(path: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sha256sum', [path])
  return stdout.split(' ')[0]
}

/** Memory use of a process in MiB. */
function memory(pid: number, line: 'VmRSS' | 'VmHWM'): number {
  return (
    Number(new RegExp(`${line}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
  )
}
