// The first API key: on a terminal, else in a file that only the account of the server can read.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { firstKeyLines } from '../../app/first-key.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { bootstrapKey, spawnServer, startServerHere } from '../support/server/process.ts'

const status = async (url: string, key: string): Promise<number> =>
  (await fetch(`${url}/v1/user/profile`, { headers: { authorization: `Bearer ${key}` } })).status

t.test('without a terminal the key is in a private file, and not in the output', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const dataDir = join(t.testdir(), 'data')
  const env = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, BOOTSTRAP_API_KEY: '' }
  const server = await spawnServer(t, env)
  const file = join(dataDir, 'first-api-key')
  t.equal(statSync(file).mode & 0o777, 0o600)
  const key = readFileSync(file, 'utf8').trim()
  t.equal(await status(server.url, key), 200)
  await server.end('SIGTERM')
  t.match(server.output(), `Your API key is in the file ${file}.`)
  t.notOk(server.output().includes(key))
  t.notMatch(server.output(), /plat_live_/)
})

t.test('a key that cannot be written is not created, and the next start makes one', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const folder = t.testdir()
  const occupied = join(folder, 'occupied')
  writeFileSync(occupied, '')
  const env = {
    DATABASE_URL: databaseUrl,
    BOOTSTRAP_API_KEY: '',
    STORAGE_DIR: join(folder, 'files'),
    DATA_DIR: occupied,
  }
  await t.rejects(startServerHere(t, env), /The first API key cannot be written to .*occupied/)
  const dataDir = join(folder, 'data')
  const server = await startServerHere(t, { ...env, DATA_DIR: dataDir })
  t.equal(await status(server.url, readFileSync(join(dataDir, 'first-api-key'), 'utf8').trim()), 200)
})

t.test('BOOTSTRAP_API_KEY is neither printed nor written', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t)
  const dataDir = join(t.testdir(), 'data')
  const server = await spawnServer(t, { DATABASE_URL: databaseUrl, DATA_DIR: dataDir })
  t.equal(await status(server.url, bootstrapKey), 200)
  await server.end('SIGTERM')
  t.notOk(server.output().includes(bootstrapKey))
  t.notOk(existsSync(join(dataDir, 'first-api-key')))
})

t.test('the commands that are shown find the key', (t) => {
  const secret = 'plat_live_example'
  t.match(firstKeyLines({ secret }, 'http://api').join('\n'), `Bearer ${secret}"`)
  const file = join(
    t.testdir({ "it's here": { 'first-api-key': `${secret}\n` } }),
    "it's here",
    'first-api-key',
  )
  const lines = firstKeyLines({ file }, 'http://api')
  const header = lines.find((line) => line.includes('-H "')) ?? ''
  const shown = execFileSync('sh', ['-c', header.trim().replace('-H', 'printf %s').replace(/ \\$/, '')])
  t.equal(shown.toString(), `Authorization: Bearer ${secret}`)
  t.end()
})
