// A file store belongs to one database: servers of another one do not start, and nothing takes it over by
// mistake.
import { randomBytes } from 'node:crypto'
import { createReadStream, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newId } from '../../infra/ids.ts'
import type { Services } from '../../services/services.ts'
import { adoptStore, claimAtStart, markerName, readMarker } from '../../services/storage/ownership.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { spawnServer, spawnWorker } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { sweepStore, storedKeys, uploadFile } from '../support/storage/storage.ts'
import { newDatabase, openServices, storeKinds } from '../support/server/store-servers.ts'

async function markerOf({ config }: Services) {
  const store = await openBlobStore(config)
  try {
    return await readMarker(store)
  } finally {
    await store.close()
  }
}

/** Puts a blob that no row refers to. */
async function putBlob({ storage }: Services): Promise<string> {
  const key = newId('file')
  const content = createReadStream(import.meta.filename)
  const file = await storage.tempFiles.receive({ declaredType: null, content }, { maxBytes: 1e6 })
  await (await storage.blobStore()).put(key, file)
  return key
}

async function claimError(services: Services): Promise<string> {
  return await services.storage.claim().then(
    () => 'no error',
    (error: Error) => error.message,
  )
}

/** Deletes the marker, as a version without markers had none. */
async function removeMarker({ storage }: Services): Promise<void> {
  const store = await storage.blobStore()
  // The disk store deletes blobs only.
  if (store.location.startsWith('s3:')) await store.delete([markerName])
  else rmSync(join(store.location, markerName))
}

for (const { name, skip, env } of storeKinds) {
  t.test(name, { skip }, async (t) => {
    t.test('the first database owns an empty store, and any other one is refused by name', async (t) => {
      const place = await env(t)
      const [first, second] = [await newDatabase(t, 'db_first'), await newDatabase(t, 'db_second')]
      const server = await startServer(t, { databaseUrl: first, env: place })
      t.match(await markerOf(server.services), { database_id: 'db_first', store_id: /^[0-9a-f-]{36}$/ })
      const person = await server.person()
      const file = await uploadFile(person.client)

      const other = openServices(t, { ...place, DATABASE_URL: second })
      const location = (await openBlobStore(other.config)).location
      t.equal(
        await claimError(other),
        `The file store ${location} belongs to the database db_first, but this is the database db_second: ` +
          'set STORAGE_DIR or S3_BUCKET, or DATABASE_URL, to the right one, or take the store over with ' +
          '`npm run admin -- store adopt`.',
      )
      await t.rejects(
        claimAtStart(other.storage, () => {}),
        /belongs to the database db_first/,
      )
      await t.rejects(putBlob(other), { code: 'UNAVAILABLE' }, 'no request can use the store')
      await t.rejects(sweepStore(other), /belongs to the database db_first/)
      t.match(await (await other.storage.blobStore()).delete([file.id]), { deleted: [] })
      t.same(await storedKeys(server.services), [file.id])
      await t.resolves(server.services.storage.ping())
    })

    t.test('the right database with the store of another one is refused, too', async (t) => {
      const [mine, theirs] = [await env(t), await env(t)]
      const [first, second] = [await newDatabase(t, 'db_first'), await newDatabase(t, 'db_second')]
      await openServices(t, { ...mine, DATABASE_URL: first }).storage.claim()
      await openServices(t, { ...theirs, DATABASE_URL: second }).storage.claim()
      t.match(await claimError(openServices(t, { ...theirs, DATABASE_URL: first })), /belongs to .*db_second/)
    })

    t.test('servers of one database start at once on an empty store', async (t) => {
      const place = await env(t)
      const url = await newDatabase(t, 'db_first')
      const servers = Array.from({ length: 5 }, () => openServices(t, { ...place, DATABASE_URL: url }))
      await Promise.all(servers.map(({ storage }) => storage.claim()))
      const ids = await Promise.all(servers.map(async (one) => (await markerOf(one))!.store_id))
      t.equal(new Set(ids).size, 1, 'with one marker')
      for (const server of servers) await putBlob(server)
      t.equal((await storedKeys(servers[0])).length, 5)
    })

    t.test('two databases start at once on an empty store: one gets it', async (t) => {
      const place = await env(t)
      const urls = [await newDatabase(t, 'db_first'), await newDatabase(t, 'db_second')]
      const outcomes = await Promise.all(
        urls.map((url) => claimError(openServices(t, { ...place, DATABASE_URL: url }))),
      )
      t.equal(outcomes.filter((outcome) => outcome === 'no error').length, 1, outcomes.join())
    })

    t.test('a store of an earlier version is adopted only if the database knows its files', async (t) => {
      const place = await env(t)
      const [first, second] = [await newDatabase(t, 'db_first'), await newDatabase(t, 'db_second')]
      const server = await startServer(t, { databaseUrl: first, env: place })
      const person = await server.person()
      for (let i = 0; i < 3; i++) await uploadFile(person.client)
      await putBlob(server.services)
      await removeMarker(server.services)
      t.match(
        await claimError(openServices(t, { ...place, DATABASE_URL: second })),
        /has no marker, and the database db_second does not know 4 of its first 4 files/,
      )
      t.equal(await markerOf(server.services), null, 'the refused database writes no marker')
      t.equal(
        await claimError(openServices(t, { ...place, DATABASE_URL: first })),
        'no error',
        'a blob of a crash is no obstacle',
      )
      t.match(await markerOf(server.services), { database_id: 'db_first' })
    })

    t.test('an empty store is refused by a database that has files', async (t) => {
      const url = await newDatabase(t, 'db_first')
      const server = await startServer(t, { databaseUrl: url, env: await env(t) })
      await uploadFile((await server.person()).client)
      const elsewhere = openServices(t, { ...(await env(t)), DATABASE_URL: url })
      t.match(await claimError(elsewhere), /is empty, but the database db_first has files/)
      t.equal(await markerOf(elsewhere), null)
    })

    t.test('adopting a store makes the previous database stop', async (t) => {
      const place = await env(t)
      const [first, second] = [await newDatabase(t, 'db_first'), await newDatabase(t, 'db_second')]
      const before = openServices(t, { ...place, DATABASE_URL: first })
      await before.storage.claim()
      const after = openServices(t, { ...place, DATABASE_URL: second })
      const store = await openBlobStore(after.config)
      t.equal(await adoptStore(after.database, store), 'db_first')
      if (name === 's3') {
        t.match(await claimError(after), /The file store \/.* belongs to the database db_first/, 'its folder')
        return
      }
      t.equal(await claimError(after), 'no error')
      await t.rejects(sweepStore(before), /belongs to the database db_second/, 'a running server, too')
    })

    t.test('a damaged marker stops the start', async (t) => {
      const place = await env(t)
      const services = openServices(t, { ...place, DATABASE_URL: await newDatabase(t, 'db_first') })
      const store = await openBlobStore(services.config)
      for (const content of ['', '{', '{}', 'null', randomBytes(100).toString('latin1')]) {
        await store.documents.write(markerName, content)
        t.match(await claimError(services), /is damaged: restore it/)
      }
      t.equal(await adoptStore(services.database, store), null)
      t.equal(await claimError(services), 'no error')
    })
  })
}

t.test('server and worker exit with one sentence', async (t: Test) => {
  const STORAGE_DIR = t.testdir({})
  const [first, second] = [await newDatabase(t, 'db_first'), await newDatabase(t, 'db_second')]
  await openServices(t, { STORAGE_DIR, DATABASE_URL: first }).storage.claim()
  for (const spawn of [spawnServer, spawnWorker]) {
    const failure = await spawn(t, { DATABASE_URL: second, STORAGE_DIR, LOG_LEVEL: 'fatal' }).catch(
      (error: Error) => error.message,
    )
    t.match(
      failure,
      /exited \(1\):[^]*"msg":"The file store \S+ belongs to the database db_first, but .* db_second: .*\."/,
    )
  }
})

t.test('a store that is unreachable at the start is claimed when it is back', async (t) => {
  const folder = t.testdir({ file: 'in the way' })
  const STORAGE_DIR = join(folder, 'file', 'files')
  const services = openServices(t, { STORAGE_DIR, DATABASE_URL: await newDatabase(t, 'db_first') })
  const errors: Error[] = []
  await claimAtStart(services.storage, (error) => errors.push(error))
  t.match(
    errors.map(({ message }) => message),
    [/^The file store cannot be used \(.+\), and requests for files get 503 until it can: check/],
  )
  await t.rejects(services.storage.ping(), { code: 'UNAVAILABLE' })
  rmSync(join(folder, 'file'))
  await services.storage.ping()
  t.match(await markerOf(services), { database_id: 'db_first' })
  writeFileSync(join(STORAGE_DIR, markerName), '{}')
  await services.storage.ping()
})
