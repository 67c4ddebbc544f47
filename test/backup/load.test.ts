// A backup while users write: it has everything that was acknowledged before it began, in one state.
import t, { type Test } from 'tap'
import { createClient } from '../support/http/client.ts'
import { createEmptyDatabase } from '../support/database/database.ts'
import { backUp, command, newFolder, query, restore } from '../support/server/backups.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { newDatabase } from '../support/server/store-servers.ts'
import { waitUntil } from '../support/server/wait.ts'

interface Written {
  files: Set<string>
  projects: Set<string>
  deleted: Set<string>
}

/** Uploads, deletes and creates until it is stopped. An id is recorded when its response has arrived. */
function startWriter(server: TestServer, written: Written): () => Promise<void> {
  let stopping = false
  const write = async (): Promise<void> => {
    const { client } = await server.person()
    for (let n = 0; !stopping; n++) {
      const { id } = await uploadFile(client, { bytes: Buffer.alloc(1 + (n % 7) * 20_000, `${n} `) })
      written.files.add(id)
      const project = await client.post('/projects', { name: `project ${n}` })
      if (project.status === 201) written.projects.add(project.body.id)
      if (n % 3 !== 0) continue
      written.files.delete(id)
      if ((await client.delete(`/storage/files/${id}?permanent=true`)).status === 204) written.deleted.add(id)
    }
  }
  const writing = write()
  return async () => {
    stopping = true
    await writing
  }
}

async function idsIn(url: string, table: string): Promise<Set<string>> {
  return new Set((await query(url, `SELECT id FROM ${table}`)).map(({ id }) => id as string))
}

t.test('under load', async (t: Test) => {
  const STORAGE_DIR = newFolder(t)
  const DATABASE_URL = await newDatabase(t, 'db_loaded')
  const server = await startServer(t, { databaseUrl: DATABASE_URL, env: { STORAGE_DIR } })
  const written: Written = { files: new Set(), projects: new Set(), deleted: new Set() }
  const stops = [1, 2, 3].map(() => startWriter(server, written))
  const target = newFolder(t)
  await waitUntil(() => written.files.size >= 20 && written.deleted.size >= 5)
  await backUp({ DATABASE_URL, STORAGE_DIR }, target)
  const [files, projects, deleted] = [[...written.files], [...written.projects], [...written.deleted]]
  await backUp({ DATABASE_URL, STORAGE_DIR }, target)
  const before = written.files.size
  await waitUntil(() => written.files.size >= before + 5)
  for (const stop of stops) await stop()

  const copy = { DATABASE_URL: await createEmptyDatabase(t), STORAGE_DIR: newFolder(t) }
  await restore(target, copy)
  const found = await idsIn(copy.DATABASE_URL, 'files')
  const foundProjects = await idsIn(copy.DATABASE_URL, 'projects')
  // A file that was being deleted counts for neither.
  const missing = files.filter((id) => !found.has(id) && !written.deleted.has(id))
  t.same(missing, [])
  t.same(
    projects.filter((id) => !foundProjects.has(id)),
    [],
  )
  t.same(
    deleted.filter((id) => found.has(id)),
    [],
  )
  t.match(await command('verify', ['--hash'], copy), { code: 0 })

  const [sums] = await query(
    copy.DATABASE_URL,
    `SELECT (SELECT coalesce(sum(bytes), 0) FROM files) AS files,
       (SELECT coalesce(sum(bytes), 0) FROM storage_usage) AS counted,
       (SELECT count(*) FROM pg_trigger WHERE tgenabled = 'D') AS disabled,
       (SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace
          AND convalidated) AS keys`,
  )
  t.equal(sums.files, sums.counted)
  t.equal(sums.disabled, '0')
  const [{ keys }] = await query(
    DATABASE_URL,
    `SELECT count(*) AS keys FROM pg_constraint
     WHERE contype = 'f' AND connamespace = 'public'::regnamespace`,
  )
  t.equal(sums.keys, keys)

  const second = await startServer(t, { databaseUrl: copy.DATABASE_URL, env: copy })
  const { client } = await second.person()
  const before2 = (await client.get('/events?limit=1')).body
  t.equal((await client.post('/projects', { name: 'after the restore' })).status, 201)
  const events = createClient(second.url, (await second.person()).key)
  t.equal((await events.get('/events')).status, 200)
  t.same(before2.data, [])
  const [{ last, next }] = await query(
    copy.DATABASE_URL,
    'SELECT last_sequence AS last, (SELECT max(sequence) FROM events) AS next FROM event_log',
  )
  t.equal(last, next)
})
