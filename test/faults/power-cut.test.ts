// Cuts the power of the disk while files are uploaded, also in parts, and contents are replaced and restored.
// Every acknowledged content must be there, and every row must have its blob. `npm run faults` cuts 20 times,
// `npm test` twice.
import { hash, randomBytes, randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { verifyStore } from '../../services/storage/verify.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import type { Target } from '../support/http/transfer.ts'
import { tusClient, type TusClient } from '../support/http/tus.ts'
import { isLongForm } from '../support/long-form.ts'
import { skipSyncs } from '../support/server/disk-calls.ts'
import { watchDisk } from '../support/server/power-cut.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { uploadForm } from '../support/storage/storage.ts'

const cuts = isLongForm ? 20 : 2
const writers = 4
const uploadBytes = 100_000

/** The contents and the parts of uploads that the server acknowledged to a client. */
class Acknowledged {
  /** The SHA-256 of the contents of its files. */
  readonly contents = new Map<string, Set<string>>()
  /** The bytes of its unfinished uploads, by path. */
  readonly offsets = new Map<string, number>()

  add(fileId: string, sha256: string): void {
    this.contents.set(fileId, (this.contents.get(fileId) ?? new Set()).add(sha256))
  }
}

const contentsOfFile = statement<{ sha256: string }>(
  `SELECT sha256 FROM files WHERE id = $1 UNION SELECT sha256 FROM file_versions WHERE file_id = $1`,
)

t.test(`nothing acknowledged is lost in ${cuts} power cuts`, { skip: skipSyncs }, async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const root = await mkdtemp(join(tmpdir(), 'platform-power-'))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  const disk = await watchDisk(t)
  const start = async (folder: string): Promise<TestServer> =>
    await startServer(t, {
      databaseUrl,
      env: { STORAGE_DIR: join(root, folder), STORAGE_VERSIONS: '1000' },
    })
  let server = await start('0')
  const { key } = await server.person()
  const known = Array.from({ length: writers }, () => new Acknowledged())

  for (let round = 1; round <= cuts; round++) {
    const target = { url: server.url, key }
    let isOn = true
    let writes = 0
    const writing = known.map(async (each) => {
      while (isOn) {
        await write(target, each).catch((error) => {
          if (isOn) throw error
        })
        writes++
      }
    })
    const most = randomInt(10, 60)
    await Promise.race([Promise.all(writing), waitUntil(() => writes >= most, 'contents to be written')])
    disk.cut()
    isOn = false
    await Promise.all(writing)
    await server.close()
    disk.restore(join(root, String(round - 1)), join(root, String(round)))
    server = await start(String(round))
    for (const each of known) await verify(t, server, { known: each, key })
    const { differences } = await verifyStore(
      server.services.database,
      await server.services.storage.blobStore(),
      {
        hash: true,
      },
    )
    t.match(differences, { missing: 0, wrong_size: 0, wrong_hash: 0 }, 'every row has its blob')
  }
  const files = known.flatMap(({ contents }) => [...contents.values()])
  t.comment(`${files.length} files with ${files.flatMap((each) => [...each]).length} contents`)
})

/** Every acknowledged content is that of the file or of a version, and every acknowledged part is there. */
async function verify(
  t: Test,
  { url, services }: TestServer,
  { known, key }: { known: Acknowledged; key: string },
): Promise<void> {
  for (const [id, contents] of known.contents) {
    const stored = await services.database.sql(contentsOfFile, [id])
    const left = [...contents].filter((sha256) => !stored.some((row) => row.sha256 === sha256))
    t.same(left, [], `the contents of ${id}`)
  }
  for (const [path, offset] of known.offsets) {
    const response = await tusClient(url, key).head(path)
    t.equal(response.status, 200)
    t.ok(Number(response.headers.get('upload-offset')) >= offset, `${offset} bytes of ${path}`)
  }
}

/** Uploads a file, replaces its content, restores the former one, or sends a part of an upload. */
async function write({ url, key }: Target, known: Acknowledged): Promise<void> {
  const client = createClient(url, key)
  const files = [...known.contents.keys()]
  const id = files[randomInt(files.length + 1)]
  const form = uploadForm({ bytes: randomBytes(randomInt(1, 1 << randomInt(4, 18))) })
  const content = { raw: form.body, headers: form.headers }
  const action = randomInt(4)
  let reply: Reply
  if (action === 0) return await append(tusClient(url, key), known)
  if (id === undefined) reply = await client.call('POST', '/storage/upload', content)
  else if (action === 1) {
    const version = (await client.get(`/storage/files/${id}/versions`)).body.data?.at(-1)
    if (version === undefined) return
    reply = await client.post(`/storage/files/${id}/versions/${version.id}/restore`)
  } else reply = await client.call('PUT', `/storage/files/${id}/content`, content)
  if (reply.status > 201) throw new Error(`${reply.status} ${reply.text}`)
  known.add(reply.body.id, reply.body.sha256)
}

/** Sends a part of an upload, whose path is its content. */
async function append(tus: TusClient, known: Acknowledged): Promise<void> {
  let [path] = known.offsets.keys()
  if (path === undefined) {
    path = await tus.createUpload(uploadBytes)
    known.offsets.set(path, 0)
  }
  const content = Buffer.alloc(uploadBytes, path)
  const offset = Number((await tus.head(path)).headers.get('upload-offset'))
  const { status, text, headers } = await tus.append(
    path,
    offset,
    content.subarray(offset, offset + randomInt(1, uploadBytes)),
  )
  if (status !== 204) throw new Error(`${status} ${text}`)
  known.offsets.set(path, Number(headers.get('upload-offset')))
  const fileId = headers.get('upload-file-id')
  if (fileId === null) return
  known.offsets.delete(path)
  known.add(fileId, hash('sha256', content))
}
