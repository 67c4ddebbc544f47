// The sweep of the store never removes the blob of a file: not after a restore of an older database, not
// beside a copy of the database, and not when the database has lost many rows.
import { createReadStream } from 'node:fs'
import t, { type Test } from 'tap'
import { readConfig } from '../../infra/config/config.ts'
import { newId } from '../../infra/ids.ts'
import { statement } from '../../infra/database/statements.ts'
import type { Services } from '../../services/services.ts'
import { createSweep, type SweepLog } from '../../services/storage/sweep.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import {
  ageQuarantine,
  download,
  silentLog,
  storedKeys,
  sweepStore,
  uploadFile,
} from '../support/storage/storage.ts'
import { newDatabase, openServices, storeKinds } from '../support/server/store-servers.ts'

/** A time when all blobs are old enough to be examined. */
const before = new Date(Date.now() + 3_600_000)

interface LogLine {
  level: string
  details: any
  message: string
}

function recordingLog(lines: LogLine[]): SweepLog {
  const at = (level: string) => (details: object, message: string) => {
    lines.push({ level, details, message })
  }
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

/** Sweeps, with the quarantine of all blobs over before each further sweep. @returns the lines of the log. */
async function sweepForDays(services: Services, { sweeps = 3 } = {}): Promise<LogLine[]> {
  const lines: LogLine[] = []
  for (let i = 0; i < sweeps; i++) {
    if (i > 0) await ageQuarantine(services, services.config.storageQuarantineDays)
    await sweepStore(services, { before, log: recordingLog(lines) })
  }
  return lines
}

async function putBlobs({ storage }: Services, n: number): Promise<string[]> {
  const keys = Array.from({ length: n }, () => newId('file'))
  for (const key of keys) {
    const content = createReadStream(import.meta.filename)
    const file = await storage.tempFiles.receive({ declaredType: null, content }, { maxBytes: 1e6 })
    await (await storage.blobStore()).put(key, file)
  }
  return keys
}

async function uploadFiles({ client }: Person, n: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < n; i++) ids.push((await uploadFile(client, { bytes: `file ${i}` })).id)
  return ids
}

/** The texts of files, by download. */
async function textsOf({ url }: TestServer, { key }: Person, ids: string[]): Promise<string[]> {
  const texts: string[] = []
  for (const id of ids) {
    const { status, bytes } = await download(url, `/storage/files/${id}/download`, { key })
    texts.push(status === 200 ? bytes.toString() : String(status))
  }
  return texts
}

const copyFiles = statement('CREATE TABLE lost_files AS SELECT * FROM files')
const deleteFiles = statement('DELETE FROM files WHERE id = ANY($1)')
const forget = statement('DELETE FROM quarantined_blobs WHERE key = ANY($1)')
const restoreFiles = statement(
  'INSERT INTO files SELECT l.* FROM lost_files l WHERE NOT EXISTS (SELECT FROM files f WHERE f.id = l.id)',
)
const identity = statement<{ sweep_id: string | null }>('SELECT sweep_id FROM database_identity')
const setSweep = statement('UPDATE database_identity SET sweep_id = $1')

for (const { name, skip, env } of storeKinds) {
  t.test(name, { skip }, async (t) => {
    const newServer = async (t: Test, more: Record<string, string> = {}): Promise<TestServer> =>
      await startServer(t, {
        databaseUrl: await newDatabase(t, 'db_first'),
        env: { ...(await env(t)), ...more },
      })

    t.test("yesterday's database with today's files loses nothing", async (t) => {
      const server = await newServer(t)
      const { services } = server
      const { database } = services
      const person = await server.person()
      const ids = await uploadFiles(person, 8)
      await sweepStore(services, { before })
      const { sweep_id: yesterday } = (await database.sql(identity, []))[0]
      await database.sql(copyFiles, [])
      // The dump of yesterday has neither the last files, which come and go by SQL, nor the last sweep.
      await sweepStore(services, { before })
      await database.sql(deleteFiles, [ids.slice(4)])
      await database.sql(forget, [ids.slice(4, 6)])
      await database.sql(setSweep, [yesterday])
      t.same((await textsOf(server, person, ids)).slice(4), ['404', '404', '404', '404'])

      await ageQuarantine(services, 100)
      const lines: LogLine[] = []
      await sweepStore(services, { before, log: recordingLog(lines) })
      t.match(lines, [
        { level: 'warn', message: /swept by another copy of this database, or before a restore/ },
        {},
      ])
      await ageQuarantine(services, services.config.storageQuarantineDays - 1)
      await sweepStore(services, { before })
      t.same(await storedKeys(services), [...ids].sort(), 'everything is still there')

      await database.sql(restoreFiles, [])
      t.match(await sweepForDays(services), Array(3).fill({ details: { storage_sweep: { removed: 0 } } }))
      t.equal(await database.prisma.quarantinedBlob.count(), 0, 'a known blob leaves the quarantine')
      t.same(
        await textsOf(server, person, ids),
        ids.map((_id, i) => `file ${i}`),
      )
    })

    t.test('blobs of restored rows are never removed, even when their quarantine is over', async (t) => {
      const server = await newServer(t)
      const { services } = server
      const person = await server.person()
      const [id] = await uploadFiles(person, 1)
      await services.database.sql(copyFiles, [])
      await services.database.sql(deleteFiles, [[id]])
      await sweepStore(services, { before })
      await ageQuarantine(services, 100)
      // The rows come back between the look at the store and the removal.
      const blobs = await services.storage.blobStore()
      const { list } = blobs
      blobs.list = async function* () {
        yield* list()
        await services.database.sql(restoreFiles, [])
      }
      t.equal(await sweepStore(services, { before }), 0)
      t.same(await textsOf(server, person, [id]), ['file 0'])
    })

    t.test('of two copies of a database on one store, neither removes blobs of the other', async (t) => {
      const place = await env(t)
      const [production, staging] = await Promise.all(
        [1, 2].map(async () => openServices(t, { ...place, DATABASE_URL: await newDatabase(t, 'db_first') })),
      )
      await Promise.all([production, staging].map(({ storage }) => storage.claim()))
      // Blobs that only the other copy knows are unknown to both.
      const keys = await putBlobs(production, 3)
      for (let day = 0; day < 8; day++) {
        for (const copy of [production, staging]) {
          await ageQuarantine(copy, 1)
          await sweepStore(copy, { before })
        }
      }
      await ageQuarantine(production, 100)
      await sweepStore(production, { before })
      t.same(await storedKeys(production), keys.sort())
    })

    t.test('too many unknown blobs stop the sweep with an error', async (t) => {
      const server = await newServer(t, { STORAGE_SWEEP_MAX_PERCENT: '10' })
      const { services } = server
      const ids = await uploadFiles(await server.person(), 20)
      const few = await putBlobs(services, 10)
      t.match(await sweepForDays(services, { sweeps: 1 }), [
        { level: 'info', details: { storage_sweep: { blobs: 30, quarantined: 10, removed: 0 } } },
      ])
      await ageQuarantine(services, 100)
      const many = await putBlobs(services, 1)
      const lines = await sweepForDays(services)
      t.match(
        lines,
        Array(3).fill({
          level: 'error',
          message: /removed nothing: .* no file for \d+ of \d+ blobs, more than STORAGE_SWEEP_MAX_PERCENT=10/,
        }),
      )
      t.same(await storedKeys(services), [...ids, ...few, ...many].sort())
      t.equal(
        await services.database.prisma.quarantinedBlob.count(),
        10,
        'the new one does not begin to wait',
      )
      const allowed = openServices(t, {
        ...(name === 's3' ? s3SettingsOf(services) : {}),
        STORAGE_DIR: services.config.storageDir,
        DATABASE_URL: server.databaseUrl,
        STORAGE_SWEEP_MAX_PERCENT: '100',
      })
      await sweepForDays(allowed)
      t.same(await storedKeys(services), [...ids].sort(), 'the operator can allow it')
    })

    t.test('an interrupted sweep is repeated, and a sweep that began later ends the former', async (t) => {
      const server = await newServer(t)
      const { services } = server
      await uploadFiles(await server.person(), 1)
      const [key] = await putBlobs(services, 1)
      await sweepStore(services, { before })
      await ageQuarantine(services, 100)
      const options = { config: services.config, log: silentLog }
      const former = createSweep(services.storage, options)
      for (let i = 0; i < 2; i++) await former.step(services.database, before)
      const later = createSweep(services.storage, options)
      await later.step(services.database, before)
      let removed = 0
      while (former.isRunning) removed += (await former.step(services.database, before)).removed
      t.equal(removed, 0)
      t.ok((await storedKeys(services)).includes(key))
      t.equal(await sweepStore(services, { before }), 1)
    })
  })
}

function s3SettingsOf({ config: { s3 } }: Services): Record<string, string> {
  return {
    STORAGE: 's3',
    S3_ENDPOINT: s3!.endpoint!,
    S3_BUCKET: s3!.bucket,
    S3_ACCESS_KEY_ID: s3!.credentials!.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3!.credentials!.secretAccessKey,
  }
}

t.test('settings that would remove files at once are refused', async (t) => {
  for (const [variable, value] of [
    ['STORAGE_QUARANTINE_DAYS', '0'],
    ['STORAGE_SWEEP_MAX_PERCENT', '101'],
    ['STORAGE_SWEEP', '0'],
  ])
    t.throws(() => readConfig({ [variable]: value }), { message: new RegExp(variable) })
})
