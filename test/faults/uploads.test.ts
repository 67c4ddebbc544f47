// Kills the server (SIGKILL) during uploads. Every acknowledged file must be readable with its SHA-256, and
// after the orphan sweep every blob has a row and every row a blob. `npm run faults` kills 200 times, `npm
// test` once.
import { randomInt } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey as key, spawnServer } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { ageQuarantine, sweepStore } from '../support/storage/storage.ts'
import { fetchFile, sendFile } from '../support/http/transfer.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const rounds = isLongForm ? 200 : 1

t.test(
  `no acknowledged file is lost in ${rounds} kills during uploads`,
  { timeout: 2_000_000 },
  async (t) => {
    const { url: databaseUrl } = await createTestDatabase(t)
    const storageDir = await mkdtemp(join(tmpdir(), 'platform-uploads-'))
    t.teardown(() => rm(storageDir, { recursive: true, force: true }))
    const env = { DATABASE_URL: databaseUrl, STORAGE_DIR: storageDir, RATE_LIMIT_UPLOAD: '1000000' }
    const acknowledged = new Map<string, string>()
    let interrupted = 0

    for (let round = 0; round < rounds; round++) {
      const server = await spawnServer(t, env)
      let running = true
      const uploader = async (): Promise<void> => {
        while (running) {
          try {
            const { status, body, sha256 } = await sendFile(
              { url: server.url, key },
              randomInt(1, 1 << randomInt(10, 23)),
            )
            if (status === 201) acknowledged.set(body.id, sha256)
          } catch {
            interrupted++
          }
        }
      }
      const uploaders = Array.from({ length: 6 }, uploader)
      // On a slow machine too, some uploads finish before the first kill.
      if (round === 0) await waitUntil(() => acknowledged.size > 3, 'uploads to be acknowledged')
      await sleep(randomInt(50, 700))
      running = false
      await server.end('SIGKILL')
      await Promise.all(uploaders)
    }

    const server = await startServer(t, { databaseUrl, env: { STORAGE_DIR: storageDir } })
    const { services } = server
    const wrong: string[] = []
    const ids = [...acknowledged.keys()]
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
          const { status, sha256 } = await fetchFile({ url: server.url, key }, id)
          if (status !== 200 || sha256 !== acknowledged.get(id)) wrong.push(id)
        }
      }),
    )
    t.same(wrong, [], `none of ${acknowledged.size} acknowledged files is lost or changed`)

    const reservedBytes = async (): Promise<number> =>
      ((await createClient(server.url, key).get('/storage/usage')).body as any).reserved_bytes
    const { storageReservation } = services.database.prisma
    const soon = new Date(Date.now() + 60_000)
    t.equal(await storageReservation.count({ where: { heldUntil: { gte: soon } } }), 0)
    // The short form does not wait half a minute for them.
    if (!isLongForm) await storageReservation.updateMany({ data: { heldUntil: new Date() } })
    await waitUntil(async () => (await reservedBytes()) === 0, 'the reservations of killed servers to end')

    const before = new Date(Date.now() + 1_000)
    await sweepStore(services, { before })
    await ageQuarantine(services, services.config.storageQuarantineDays)
    const removed = await sweepStore(services, { before })
    const stored = new Set<string>()
    for await (const page of (await services.storage.blobStore()).list())
      for (const { key } of page) stored.add(key)
    const rows = await services.database.prisma.file.findMany({ select: { blobKey: true } })
    t.same(
      rows.filter(({ blobKey }) => !stored.has(blobKey)),
      [],
      'every row has a blob',
    )
    t.equal(stored.size, rows.length, 'every blob has a row')
    t.same(await readdir(join(storageDir, 'incoming')), [], 'no temporary file is left')
    const usage = await services.database.prisma.storageUsage.findMany()
    const bytes = await services.database.prisma.file.aggregate({ _sum: { bytes: true }, _count: true })
    t.equal(Number(usage[0].bytes), Number(bytes._sum.bytes), 'the usage is the total size of the files')
    t.equal(Number(usage[0].files), bytes._count)
    t.comment(
      `${acknowledged.size} acknowledged, ${rows.length} stored, ${interrupted} interrupted, ` +
        `${removed} orphans deleted in ${rounds} kills`,
    )
  },
)
