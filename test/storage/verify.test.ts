// `npm run verify` and `npm run admin -- store`: what operators see of a store, and how they take one over.
import { mkdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { newId } from '../../infra/ids.ts'
import { statement } from '../../infra/database/statements.ts'
import { verifyStore, type Difference, type VerifyOptions } from '../../services/storage/verify.ts'
import { command } from '../support/server/backups.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { download, uploadFile } from '../support/storage/storage.ts'
import { newDatabase, openServices, storeKinds } from '../support/server/store-servers.ts'

async function verify({ services }: TestServer, options: VerifyOptions = {}) {
  const found: Difference[] = []
  const store = await services.storage.blobStore()
  const result = await verifyStore(services.database, store, {
    ...options,
    onDifference: (difference) => found.push(difference),
  })
  return { result, found: found.map(({ kind, key }) => `${kind} ${key}`).sort() }
}

function pathOf(folder: string, key: string): string {
  return join(folder, 'blobs', key.replace(/-\d+$/, '').slice(-2), key)
}

const makeOlder = statement(`UPDATE files SET created_at = now() - interval '3 days' WHERE id = ANY($1)`)

async function uploadAvatar({ client }: { client: any }): Promise<string> {
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const form = new FormData()
  form.append('file', new Blob([Buffer.from(pixel, 'base64')], { type: 'image/png' }), 'a.png')
  const request = new Request('http://x', { method: 'POST', body: form })
  const { status, body } = await client.call('POST', '/user/avatar', {
    raw: Buffer.from(await request.arrayBuffer()),
    headers: { 'content-type': request.headers.get('content-type')! },
  })
  if (status >= 300) throw new Error(JSON.stringify(body))
  return body.id
}

for (const { name, skip, env } of storeKinds) {
  t.test(`${name}: missing blobs are found among counted and young rows`, { skip }, async (t) => {
    const server = await startServer(t, { databaseUrl: await newDatabase(t, 'db_first'), env: await env(t) })
    const { database, storage } = server.services
    const person = await server.person()
    const ids: string[] = []
    for (let i = 0; i < 6; i++) ids.push((await uploadFile(person.client, { bytes: `file ${i}` })).id)
    const avatar = await uploadAvatar(person)
    await person.client.delete(`/storage/files/${ids[5]}?permanent=true`)
    await database.sql(makeOlder, [ids.slice(0, 3)])
    const clean = await verify(server, { hash: true })
    t.same(clean.found, [])
    t.match(clean.result, { blobs: 9, quarantined: 1, uploading: 0 })

    const lost = [ids[1], ids[4], `${avatar}-128`]
    await (await storage.blobStore()).delete([...lost, ids[5]])
    t.same((await verify(server)).found, lost.map((key) => `missing ${key}`).sort())
  })
}

t.test('--repair takes lost bytes from another blob or a backup, and counts the usage again', async (t) => {
  const [STORAGE_DIR, backups] = [t.testdir({}), await mkdtemp(join(tmpdir(), 'backups-'))]
  t.teardown(() => rm(backups, { recursive: true }))
  const url = await newDatabase(t, 'db_first')
  const server = await startServer(t, { databaseUrl: url, env: { STORAGE_DIR } })
  const settings = { DATABASE_URL: url, STORAGE_DIR }
  const { client, id: person, key } = await server.person()
  const upload = async (bytes: string): Promise<string> => (await uploadFile(client, { bytes })).id
  const [one, two] = [await upload('one'), await upload('two')]
  await upload('two')
  t.equal((await command('backup', [backups], settings)).code, 0)
  const late = await upload('late')
  rmSync(pathOf(STORAGE_DIR, two))
  truncateSync(pathOf(STORAGE_DIR, one), 1)
  writeFileSync(pathOf(STORAGE_DIR, late), 'LATE')
  const data = { files: 7n, bytes: 1n, versions: 2n }
  await server.services.database.prisma.storageUsage.update({ where: { workspaceId: person }, data })

  const first = await command('verify', ['--hash', '--repair'], settings)
  t.equal(first.code, 1, 'two blobs are left')
  for (const line of [
    `repaired    ${two}`,
    `left        ${one}`,
    `left        ${late}`,
    `recounted   ${person}`,
  ])
    t.match(first.out, line)
  t.match((await client.get('/storage/usage')).body, {
    files: 4,
    bytes: 13,
    versions: { count: 0, bytes: 0 },
  })
  const second = await command('verify', ['--hash', '--repair', backups], settings)
  t.equal(second.code, 1, 'one blob is younger than the backup')
  t.match(second.out, `repaired    ${one}`)
  t.notMatch(second.out, 'recounted')
  const text = async (id: string) =>
    (await download(server.url, `/storage/files/${id}/download`, { key })).bytes
  for (const [id, bytes] of [
    [one, 'one'],
    [two, 'two'],
    [late, 'LATE'],
  ])
    t.equal(String(await text(id)), bytes)
  t.match(
    (await command('verify', ['--hash'], settings)).out,
    '0 missing, 0 unknown, 0 of the wrong size, 1 with',
  )
})

t.test('the command prints each difference and a summary, and exits with 1', async (t: Test) => {
  const STORAGE_DIR = t.testdir({})
  const url = await newDatabase(t, 'db_first')
  const server = await startServer(t, { databaseUrl: url, env: { STORAGE_DIR } })
  const settings = { DATABASE_URL: url, STORAGE_DIR }
  const { client } = await server.person()
  const ids: string[] = []
  for (let i = 0; i < 4; i++) ids.push((await uploadFile(client, { bytes: `content ${i}` })).id)
  t.match(await command('verify', ['--hash'], settings), {
    code: 0,
    out:
      `${STORAGE_DIR}: 4 blobs, 36 bytes; 0 in quarantine, 0 being uploaded.\n` +
      '0 missing, 0 unknown, 0 of the wrong size, 0 with the wrong SHA-256.\n',
  })
  const [short, changed, missing] = ids
  const [unknown, uploading] = [newId('file'), newId('file')]
  truncateSync(pathOf(STORAGE_DIR, short), 3)
  writeFileSync(pathOf(STORAGE_DIR, changed), 'CONTENT 1')
  rmSync(pathOf(STORAGE_DIR, missing))
  for (const key of [unknown, uploading]) {
    mkdirSync(dirname(pathOf(STORAGE_DIR, key)), { recursive: true })
    writeFileSync(pathOf(STORAGE_DIR, key), 'x')
  }
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000)
  utimesSync(pathOf(STORAGE_DIR, unknown), hoursAgo, hoursAgo)
  const { code, out } = await command('verify', ['--hash'], settings)
  t.equal(code, 1)
  const lines = out.split('\n')
  t.same(lines.slice(0, 4).sort(), [
    `missing     ${missing}  9 bytes`,
    `unknown     ${unknown}  1 bytes`,
    `wrong_hash  ${changed}  9 bytes`,
    `wrong_size  ${short}  3 bytes`,
  ])
  t.match(lines[4], '5 blobs, 23 bytes; 0 in quarantine, 1 being uploaded.')
  t.equal(lines[5], '1 missing, 1 unknown, 1 of the wrong size, 1 with the wrong SHA-256.')
  t.match((await command('verify', [], settings)).out, /1 missing, 1 unknown, 1 of the wrong size\.\n$/)
  t.match(await command('verify', ['--all'], settings), {
    code: 2,
    err: /The arguments are a backup, --hash and --repair/,
  })
})

t.test('a store without a marker is compared, too', async (t: Test) => {
  const settings = { DATABASE_URL: await newDatabase(t, 'db_first'), STORAGE_DIR: t.testdir({}) }
  t.match(await command('verify', [], settings), { code: 0, out: /0 blobs, 0 bytes.*\n0 missing/ })
  t.match((await command('admin', ['store'], settings)).out, /belongs to  no database yet/)
})

t.test('the store of another database is not compared until it is adopted', async (t: Test) => {
  const STORAGE_DIR = t.testdir({})
  const [first, second] = [await newDatabase(t, 'db_first'), await newDatabase(t, 'db_second')]
  await openServices(t, { STORAGE_DIR, DATABASE_URL: first }).storage.claim()
  const settings = { DATABASE_URL: second, STORAGE_DIR }
  t.match(await command('verify', [], settings), {
    code: 1,
    out: '',
    err: /belongs to the database db_first/,
  })
  t.match(await command('admin', ['store'], settings), {
    code: 0,
    out: /database    db_second\nstore       \S+\nstore id    \S+\nbelongs to  db_first\n/,
  })
  t.match(await command('admin', ['store', 'take'], settings), { code: 1, err: /`store` and `store adopt`/ })
  t.match(await command('admin', ['store', 'adopt'], settings), {
    code: 0,
    out: /now belongs to the database db_second, before to db_first\.\n/,
    err: /npm run verify/,
  })
  t.match(await command('verify', [], settings), { code: 0, out: /0 missing/ })
  t.match(await command('verify', [], { ...settings, DATABASE_URL: first }), {
    code: 1,
    err: /to the database db_second/,
  })
})
