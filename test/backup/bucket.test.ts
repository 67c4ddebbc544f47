// Backups in a bucket: written to and restored from s3://bucket/prefix.
import { ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { noS3, startS3 } from '../../scripts/test/s3-server.ts'
import { command, contentsOf, newFolder, query, type Settings } from '../support/server/backups.ts'
import { createEmptyDatabase } from '../support/database/database.ts'
import { startServer } from '../support/server/server.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { newDatabase } from '../support/server/store-servers.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('a backup in a bucket', { skip: noS3 }, async (t: Test) => {
  const s3 = await startS3(t)
  const account: Settings = {
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_REGION: s3.region,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  }
  const client = new S3Client({
    endpoint: s3.endpoint,
    region: s3.region,
    credentials: { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey },
    forcePathStyle: true,
  })
  t.teardown(() => client.destroy())
  const keys = async (): Promise<string[]> => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: s3.bucket }))
    return Contents.map(({ Key }) => Key!)
  }
  const put = async (Key: string, Body: string) =>
    await client.send(new PutObjectCommand({ Bucket: s3.bucket, Key, Body }))

  const DATABASE_URL = await newDatabase(t, 'db_original')
  const original: Settings = { DATABASE_URL, STORAGE_DIR: newFolder(t), DATA_DIR: newFolder(t) }
  const server = await startServer(t, { databaseUrl: DATABASE_URL, env: original })
  const { client: user } = await server.person()
  const files: string[] = []
  for (const bytes of ['first', 'second']) files.push((await uploadFile(user, { bytes })).id)
  await waitUntil(
    async () => (await query(DATABASE_URL, 'SELECT FROM events WHERE sequence IS NULL')).length === 0,
    'the sequence of the events',
  )
  await server.close()
  const contents = await contentsOf(DATABASE_URL)
  const address = `s3://${s3.bucket}/backups/platform`
  const newCopy = async (): Promise<Settings> => ({
    DATABASE_URL: await createEmptyDatabase(t),
    STORAGE_DIR: newFolder(t),
    DATA_DIR: newFolder(t),
    ...account,
  })

  await t.test('is restored with the same rows and files', async (t: Test) => {
    await put('backups/platform/2026-01-01T00-00-00-000Z/table-users.gz', 'of a killed backup')
    await put('elsewhere', 'of another program')
    const first = await command('backup', [address], { ...original, ...account })
    t.match(first, { code: 0, out: /^s3:\/\/.*: \d+ rows .* 2 of 11 bytes are new/ })
    const second = await command('backup', [`${address}/`], { ...original, ...account })
    t.match(second, { code: 0, out: /0 of 0 bytes are new/ })
    t.notOk((await keys()).some((key) => key.includes('2026-01-01')))
    for (const from of [address, /^(s3:\S+):/.exec(first.out)![1]]) {
      const copy = await newCopy()
      t.match(await command('restore', [from], copy), { code: 0, out: /2 blobs of 11 bytes; 0 missing/ })
      t.same(await contentsOf(copy.DATABASE_URL), contents)
      t.match(await command('verify', ['--hash'], copy), { code: 0 })
    }
  })

  await t.test('is verified', async (t: Test) => {
    const env = { ...account, DATA_DIR: newFolder(t) }
    const good = await command('verify', [address, '--hash'], env)
    t.match(good, { code: 0, out: /is complete: \d+ tables, 2 blobs of 11 bytes, 0 of which/ })
    const key = `backups/platform/blobs/${files[0]}`
    await put(key, 'FIRST')
    t.match(await command('verify', [address], env), { code: 0 })
    t.match(await command('verify', [address, '--hash'], env), {
      code: 1,
      err: new RegExp(`^The blob ${files[0]} .* is damaged: use another backup`),
    })
    await put(key, 'first')
    const table = (await keys()).filter((name) => name.endsWith('table-users.gz')).at(-1)!
    await put(table, 'damaged')
    t.match(await command('verify', [address], env), { code: 1, err: /table-users\.gz .* is damaged/ })
  })

  await t.test('uses the account of the file store when no other is set', async (t: Test) => {
    const settings = {
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    }
    t.match(await command('backup', [address], { ...original, ...settings }), { code: 0 })
  })

  await t.test('removes old ones, and the blobs that only they have', async (t: Test) => {
    await query(DATABASE_URL, 'DELETE FROM files WHERE id = $1', [files[1]])
    const { code, out } = await command('backup', [address, '--keep', '1'], { ...original, ...account })
    t.equal(code, 0)
    t.match(out, /Removed 3 old backups, and 1 blobs of 6 bytes\./)
    const left = await keys()
    t.equal(left.filter((key) => key.endsWith('manifest.json')).length, 1)
    t.ok(left.includes('elsewhere'))
    t.notOk(
      left.some((key) => key.endsWith('lock.json')),
      'the lock is released',
    )
    t.match(await command('restore', [address], await newCopy()), { code: 0, out: /1 blobs of 5 bytes/ })
  })

  await t.test('is refused while another is written, and without a prefix or a bucket', async (t: Test) => {
    const lock = (renewed: Date) => JSON.stringify({ id: 'other', renewed_at: renewed.toISOString() })
    await put('backups/platform/lock.json', lock(new Date()))
    t.match(await command('backup', [address], { ...original, ...account }), {
      code: 1,
      err: /^Another backup is being written to s3:/,
    })
    await put('backups/platform/lock.json', lock(new Date(Date.now() - 3_600_000)))
    t.match(await command('backup', [address], { ...original, ...account }), { code: 0 })
    t.match(await command('backup', [`s3://${s3.bucket}`], { ...original, ...account }), {
      code: 1,
      err: /needs a prefix/,
    })
    t.match(await command('backup', ['s3://no-such-bucket/a'], { ...original, ...account }), {
      code: 1,
      err: /NoSuchBucket/,
    })
    t.match(await command('restore', [`${address}/none`], await newCopy()), {
      code: 1,
      err: /^s3:.*none is no complete backup/,
    })
  })
})
