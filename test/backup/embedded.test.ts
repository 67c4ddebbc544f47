// The way from the embedded database to an external one, and back, by the commands as processes.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmptyDatabase } from '../support/database/database.ts'
import { command, commandProcess, contentsOf, newFolder } from '../support/server/backups.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'

t.test('from the embedded database to an external one and back', async (t: Test) => {
  const [data, target, back] = [newFolder(t), newFolder(t), newFolder(t)]
  const server = await spawnServer(t, { DATA_DIR: data })
  const headers = { authorization: `Bearer ${bootstrapKey}` }
  const form = new FormData()
  form.append('file', new Blob(['content']), 'a.txt')
  const uploaded = await fetch(`${server.url}/v1/storage/upload`, { method: 'POST', headers, body: form })
  t.equal(uploaded.status, 201)
  const { id } = (await uploaded.json()) as { id: string }
  t.match(await commandProcess('backup', [target], { DATA_DIR: data }), { code: 0 }, 'while the server runs')
  await server.end('SIGTERM')

  const external = { DATABASE_URL: await createEmptyDatabase(t), STORAGE_DIR: newFolder(t) }
  t.match(await command('restore', [target], external), { code: 0, out: /1 blobs of 7 bytes/ })
  const contents = await contentsOf(external.DATABASE_URL)
  const second = newFolder(t)
  t.match(await command('backup', [second], external), { code: 0 })
  t.match(await commandProcess('restore', [second], { DATA_DIR: back }), { code: 0 })
  t.ok(existsSync(join(back, 'files', 'blobs', id.slice(-2), id)))
  const again = await spawnServer(t, { DATA_DIR: back })
  const download = await fetch(`${again.url}/v1/storage/files/${id}/download`, { headers })
  t.equal(await download.text(), 'content')
  await again.end('SIGTERM')
  t.match(contents.users, /^1 /)
})
