// Refusals of backup and restore, and the state after an interrupted one: each has an error in one sentence.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listBackups } from '../../infra/backup/manifest.ts'
import { createEmptyDatabase } from '../support/database/database.ts'
import {
  backUp,
  command,
  contentsOf,
  newFolder,
  query,
  restore,
  type Settings,
} from '../support/server/backups.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { newDatabase } from '../support/server/store-servers.ts'

function blobPath(folder: string, key: string): string {
  return join(folder, 'blobs', key.slice(-2), key)
}

/** A database with two files, whose server has stopped. */
async function createOriginal(t: Test): Promise<Settings & { files: string; user: string }> {
  const STORAGE_DIR = newFolder(t)
  const DATABASE_URL = await newDatabase(t, 'db_original')
  const server = await startServer(t, { databaseUrl: DATABASE_URL, env: { STORAGE_DIR } })
  const { client, id } = await server.person()
  const files: string[] = []
  for (const bytes of ['first', 'second']) files.push((await uploadFile(client, { bytes })).id)
  // Events are numbered a moment after their commit: not while the backup is made.
  await waitUntil(async () => (await client.get('/events')).body.data.length === 2, 'the events of the files')
  await server.close()
  return { DATABASE_URL, STORAGE_DIR, files: files.join(), user: id }
}

async function newCopy(t: Test): Promise<Settings> {
  return { DATABASE_URL: await createEmptyDatabase(t), STORAGE_DIR: newFolder(t) }
}

async function tablesIn({ DATABASE_URL }: Settings): Promise<number> {
  const [{ n }] = await query(
    DATABASE_URL,
    `SELECT count(*)::int AS n FROM pg_class WHERE relnamespace = 'public'::regnamespace`,
  )
  return n
}

/** The tests of restores only read it, and its backup. Those of backups, at the end, change it. */
const original = await createOriginal(t as Test)
const [file] = original.files.split(',')
const good = newFolder(t)
await backUp(original, good)
const contents = await contentsOf(original.DATABASE_URL)

t.test('a restore refuses', async (t: Test) => {
  const copy = await newCopy(t)
  const refuses = async (what: string, damage: (folder: string, target: string) => void, message: RegExp) => {
    const target = newFolder(t)
    cpSync(good, target, { recursive: true })
    const [folder] = await listBackups(target)
    damage(folder, target)
    await t.rejects(restore(folder, copy), { message }, what)
    t.equal(await tablesIn(copy), 0, 'the database stays empty')
    t.same(readdirSync(copy.STORAGE_DIR), [], 'the store stays empty')
  }
  await refuses(
    'a damaged table',
    (folder) => truncateSync(join(folder, 'table-users.gz'), 30),
    /^The file table-users\.gz of the backup .* is damaged: use another backup\.$/,
  )
  await refuses(
    'a missing table',
    (folder) => rmSync(join(folder, 'table-jobs.gz')),
    /table-jobs\.gz .* is missing\.$/,
  )
  await refuses(
    'a missing blob',
    (_folder, target) => rmSync(blobPath(target, file)),
    new RegExp(`^The blob ${file} of the backup .* is missing: use another backup\\.$`),
  )
  await refuses(
    'a blob of another size',
    (_folder, target) => truncateSync(blobPath(target, file), 2),
    /has 2 bytes instead of 5: use another backup\.$/,
  )
  const edit = (folder: string, change: (manifest: any) => void): void => {
    const path = join(folder, 'manifest.json')
    const manifest = JSON.parse(readFileSync(path, 'utf8'))
    change(manifest)
    writeFileSync(path, JSON.stringify(manifest))
  }
  await refuses(
    'a newer version',
    (folder) => edit(folder, (manifest) => manifest.migrations.push('20991231000000_future')),
    /^The backup has the migration 20991231000000_future, which this version does not know: restore it with/,
  )
  await refuses(
    'another format',
    (folder) => edit(folder, (manifest) => (manifest.format = 2)),
    /has the format 2, which this version does not know/,
  )
  await refuses(
    'an unfinished backup',
    (folder) => rmSync(join(folder, 'manifest.json')),
    /is no complete backup: it has no manifest\.json/,
  )
  t.match(await command('restore', [join(good, 'none')], copy), {
    code: 1,
    err: /^There is no backup .*none/,
  })
  t.match(await command('restore', [], copy), { code: 2, err: /^Name one backup\./ })

  const filled = { DATABASE_URL: original.DATABASE_URL, STORAGE_DIR: copy.STORAGE_DIR }
  await t.rejects(restore(good, filled), {
    message: /^The database is not empty: restore into a new database/,
  })
  const used = { DATABASE_URL: copy.DATABASE_URL, STORAGE_DIR: original.STORAGE_DIR }
  await t.rejects(restore(good, used), { message: /^The file store .* is not empty: restore into an empty/ })
  t.match(await command('restore', [good, '--keep-files'], used), { code: 0, out: /2 blobs/ })

  const served = await newCopy(t)
  const server = await startServer(t, { databaseUrl: await newDatabase(t, 'db_served') })
  await t.rejects(restore(good, { ...served, DATABASE_URL: server.databaseUrl }), {
    message: /^Servers or workers are connected to the database: stop them before the restore\.$/,
  })
})

t.test('a place may have backups of several databases', async (t: Test) => {
  const target = newFolder(t)
  cpSync(good, target, { recursive: true })
  const [own] = await listBackups(target)
  const other = join(target, '2099-01-01T00-00-00-000Z')
  cpSync(own, other, { recursive: true })
  const manifest = JSON.parse(readFileSync(join(other, 'manifest.json'), 'utf8'))
  writeFileSync(join(other, 'manifest.json'), JSON.stringify({ ...manifest, database_id: 'another' }))
  t.match(await command('restore', [target], await newCopy(t)), {
    code: 1,
    err: /has backups of several databases: name one, such as .*2099-01-01T00-00-00-000Z\.$/m,
  })
  t.match(await command('backup', [target, '--keep', '1'], original), {
    code: 0,
    out: /Removed 1 old backup/,
  })
  const left = await listBackups(target)
  t.equal(left.length, 2)
  t.ok(left.includes(other), 'backups of another database stay')
  t.notOk(left.includes(own))
})

t.test(
  'a damaged blob of the right size stops a restore, which another backup completes',
  async (t: Test) => {
    const bad = newFolder(t)
    cpSync(good, bad, { recursive: true })
    writeFileSync(blobPath(bad, file), 'FIRST')
    const copy = await newCopy(t)
    await t.rejects(restore(bad, copy), { message: new RegExp(`1 damaged blobs, the first of them ${file}`) })
    t.equal(await tablesIn(copy), 0)
    await restore(good, copy)
    t.same(await contentsOf(copy.DATABASE_URL), contents)
  },
)

t.test('an interrupted restore can be run again', async (t: Test) => {
  for (const place of ['blobs: 1 of 2', 'table users:', 'comparing the database']) {
    const copy: Settings = { ...(await newCopy(t)), DATA_DIR: newFolder(t) }
    const interrupt = (message: string): void => {
      if (message.startsWith(place)) throw new Error('interrupted')
    }
    await t.rejects(restore(good, copy, interrupt), { message: 'interrupted' }, place)
    t.match(await command('verify', [], copy), { code: 1, err: /is being restored from the backup bak_/ })
    if (place !== 'comparing the database')
      t.same(await query(copy.DATABASE_URL, 'SELECT FROM users'), [], 'no rows')
    await restore(good, copy)
    t.same(await contentsOf(copy.DATABASE_URL), contents)
    t.match(await command('verify', ['--hash'], copy), { code: 0 })
    await t.rejects(restore(good, copy), { message: /^The database is not empty/ })
  }
})

t.test('a backup', async (t: Test) => {
  const target = newFolder(t)
  t.test('that was killed is removed by the next one', async (t: Test) => {
    mkdirSync(join(target, '2026-01-01T00-00-00-000Z'))
    t.match(await command('backup', [target], original), { code: 0, out: /2 blobs of 11 bytes/ })
    t.equal((await listBackups(target)).length, 1)
    t.notOk(readdirSync(target).includes('2026-01-01T00-00-00-000Z'))
  })
  t.test('removes old ones, and the blobs that only they have', async (t: Test) => {
    const folder = newFolder(t)
    t.match(await command('backup', [folder], original), { code: 0 })
    await query(original.DATABASE_URL, 'DELETE FROM files WHERE id = $1', [original.files.split(',')[1]])
    const { code, out } = await command('backup', [folder, '--keep', '1'], original)
    t.equal(code, 0)
    t.match(out, /Removed 1 old backups, and 1 blobs of 6 bytes\./)
    t.equal((await listBackups(folder)).length, 1)
    t.match(await command('restore', [folder], await newCopy(t)), { code: 0, out: /1 blobs of 5 bytes/ })
    t.match(await command('backup', [folder, '--keep', '0'], original), { code: 2, err: /^--keep must be/ })
  })
  t.test('names a lost blob, has all others, and exits with 1', async (t: Test) => {
    rmSync(blobPath(original.STORAGE_DIR, file))
    const folder = newFolder(t)
    const { code, err } = await command('backup', [folder], original)
    t.equal(code, 1)
    t.match(
      err,
      `complete except for 1 blobs that the file store has lost or damaged, the first of them ${file}`,
    )
    const copy = await newCopy(t)
    t.match(await command('restore', [folder], copy), { code: 1, out: new RegExp(`^missing +${file}`) })
    t.same(await contentsOf(copy.DATABASE_URL), await contentsOf(original.DATABASE_URL))
  })
  t.test('needs a database, its store, and a target', async (t: Test) => {
    t.match(await command('backup', [], original), { code: 2, err: /^Name one target\./ })
    t.match(await command('backup', [target], { DATA_DIR: join(target, 'none') }), {
      code: 1,
      err: /^There is no database in DATA_DIR/,
    })
    const empty = await newCopy(t)
    t.match(await command('backup', [newFolder(t)], empty), { code: 1, err: /^The database is empty: set/ })
    t.match(await command('backup', [newFolder(t)], { ...original, STORAGE_DIR: newFolder(t) }), {
      code: 1,
      err: /has lost its marker/,
    })
  })
})
