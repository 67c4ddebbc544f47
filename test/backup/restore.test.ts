// A backup that is restored has the same rows and files, on disk and in S3, and is quiet. Its jobs run, those
// included that were running.
import t, { type Test } from 'tap'
import { createClient } from '../support/http/client.ts'
import { createEmptyDatabase } from '../support/database/database.ts'
import { whenDelivered } from '../support/server/changes.ts'
import {
  backUp,
  command,
  contentsOf,
  newFolder,
  query,
  restore,
  type Settings,
} from '../support/server/backups.ts'
import { spawnServer } from '../support/server/process.ts'
import { openReceiver, type Receiver } from '../support/http/receiver.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { newDatabase, storeKinds } from '../support/server/store-servers.ts'
import { waitUntil } from '../support/server/wait.ts'

interface Original {
  server: TestServer
  settings: Settings
  person: Person
  files: Array<{ id: string; bytes: Buffer }>
  receiver: Receiver
}

/** A server with files, an avatar, special characters, and webhooks that no worker has sent yet. */
async function startOriginal(t: Test, store: Settings): Promise<Original> {
  const databaseUrl = await newDatabase(t, 'db_original')
  const server = await startServer(t, { databaseUrl, env: store })
  const person = await server.person()
  const { client } = person
  const receiver = await openReceiver(t)
  const endpoint = { url: receiver.url, event_types: ['*'] }
  t.equal((await client.post('/webhooks/endpoints', endpoint)).status, 201)
  const name = 'tab\t, newline\n, "\\N" \\. and \u{1f600}'
  t.equal((await client.post('/projects', { name, metadata: { text: name } })).status, 201)
  const files: Original['files'] = []
  for (const size of [0, 1, 70_000, 300_000]) {
    const bytes = Buffer.alloc(size, `content ${size} `)
    files.push({ id: (await uploadFile(client, { bytes })).id, bytes })
  }
  const deleted = await uploadFile(client, { bytes: 'deleted' })
  t.equal((await client.delete(`/storage/files/${deleted.id}?permanent=true`)).status, 204)
  return { server, settings: { DATABASE_URL: databaseUrl, ...store }, person, files, receiver }
}

async function requireFiles(t: Test, url: string, { person, files }: Original): Promise<void> {
  const client = createClient(url, person.key)
  for (const { id, bytes } of files) {
    const reply = await client.get(`/storage/files/${id}/download`)
    t.equal(reply.status, 200)
    t.ok(reply.bytes.equals(bytes), `${bytes.length} bytes`)
  }
}

const [disk, s3] = storeKinds
for (const [from, to] of [
  [disk, s3],
  [s3, disk],
]) {
  t.test(`from ${from.name} to ${to.name}`, { skip: from.skip || to.skip }, async (t: Test) => {
    const original = await startOriginal(t, await from.env(t))
    const target = newFolder(t)
    await original.server.services.lastUsed.flush()
    await whenDelivered(original.server.services.database.pool)
    const first = await backUp(original.settings, target)
    t.match(first, { copied: 4, lost: [] })
    const contents = await contentsOf(original.settings.DATABASE_URL)
    t.match(contents.jobs, /^[1-9]/)
    original.files.push({
      id: (await uploadFile(original.person.client, { bytes: 'later' })).id,
      bytes: Buffer.from('later'),
    })
    t.match(await backUp(original.settings, target), { copied: 1, lost: [] })

    const copy = { DATABASE_URL: await createEmptyDatabase(t), ...(await to.env(t)) }
    const [role] = await query(
      copy.DATABASE_URL,
      'SELECT rolsuper FROM pg_roles WHERE rolname = current_user',
    )
    t.equal(role.rolsuper, false)
    const { verification } = await restore(first.folder, copy)
    t.match(verification, { blobs: 4, differences: { missing: 0, unknown: 0, wrong_size: 0, wrong_hash: 0 } })
    t.same(await contentsOf(copy.DATABASE_URL), contents)
    t.match(await command('verify', ['--hash'], copy), { code: 0, out: /\n0 missing, 0 unknown, 0 of/ })

    const last = { DATABASE_URL: await createEmptyDatabase(t), ...(await to.env(t)) }
    await restore(target, last)
    const server = await startServer(t, { databaseUrl: last.DATABASE_URL, env: last })
    await requireFiles(t, server.url, original)
    const client = createClient(server.url, original.person.key)
    t.equal((await uploadFile(client, { bytes: 'new' })).bytes, 3)
    t.match(await command('verify', ['--hash'], last), { code: 0 })
  })
}

t.test('a restored copy sends nothing until it is confirmed', async (t: Test) => {
  const original = await startOriginal(t, { STORAGE_DIR: newFolder(t) })
  t.equal((await original.server.services.deliveries.fetch(1)).length, 1, 'one delivery is running')
  const { folder } = await backUp(original.settings, newFolder(t))
  const copy = {
    DATABASE_URL: await createEmptyDatabase(t),
    STORAGE_DIR: newFolder(t),
    DATA_DIR: newFolder(t),
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  }
  t.match(await command('restore', [folder], copy), { code: 0, out: /no|confirm-restore/, err: '' })
  // The running delivery times out now, not half a minute after its start.
  const timeOut =
    'UPDATE jobs SET due_at = now() WHERE due_at > now() AND fetched_at IS NOT NULL RETURNING id'
  t.equal((await query(copy.DATABASE_URL, timeOut)).length, 1, 'it is running in the copy, too')
  const server = await spawnServer(t, copy)
  t.match(server.output(), /restored copy/)
  const ready = await fetch(`${server.url}/readyz`)
  t.equal(ready.status, 200)
  t.match(await ready.json(), { status: 'degraded', checks: { restored_copy: 'unavailable' } })
  await requireFiles(t, server.url, original)
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  t.equal(original.receiver.received.length, 0)
  const [{ n }] = await query(copy.DATABASE_URL, `SELECT count(*)::int AS n FROM webhook_deliveries`)
  t.ok(n >= 5)
  t.match(await command('admin', ['confirm-restore'], copy), { code: 0, out: /^Confirmed/ })
  await waitUntil(() => original.receiver.received.length >= n, 'the deliveries')
  await waitUntil(async () => {
    const { status } = (await (await fetch(`${server.url}/readyz`)).json()) as { status: string }
    return status === 'ok'
  })
  t.match(await command('admin', ['confirm-restore'], copy), { code: 1, err: /There is no restored copy/ })
})
