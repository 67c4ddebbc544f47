// The key in the address of the console that a start prints on a terminal.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { consoleKey } from '../../app/console-key.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { database } = server.services
const dataDir = t.testdir()
const next = async (): Promise<string> => (await consoleKey(database, { dataDir, keyMode: 'live' }))!
const keyOf = async (secret: string): Promise<any> =>
  await (await fetch(`${server.url}/v1/key`, { headers: { authorization: `Bearer ${secret}` } })).json()
const expireIn = async (hours: number): Promise<unknown> =>
  await database.prisma.apiKey.updateMany({
    where: { name: 'console' },
    data: { expiresAt: new Date(Date.now() + hours * 3_600_000) },
  })

t.test('it is a key of the first admin for one day, in a private file', async (t) => {
  const secret = await next()
  const file = join(dataDir, 'console-key')
  t.equal(readFileSync(file, 'utf8'), `${secret}\n`)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const key = await keyOf(secret)
  t.match(key, { user_id: server.admin.id, name: 'console' })
  const hours = (Date.parse(key.expires_at) - Date.now()) / 3_600_000
  t.ok(hours > 23 && hours <= 24, `${hours} hours`)
})

t.test('a restart uses it again, until half a day is left', async (t) => {
  const first = await next()
  t.equal(await next(), first)
  await expireIn(11)
  const second = await next()
  t.not(second, first)
  t.match(await keyOf(first), { name: 'console' }, 'the other key stays valid')
})

t.test('a revoked key is replaced', async (t) => {
  const first = await next()
  const { id } = await keyOf(first)
  await server.admin.client.delete(`/user/api-keys/${id}`)
  const second = await next()
  t.not(second, first)
  t.match(await keyOf(second), { name: 'console' })
})

t.test('an admin with as many keys as allowed gets none, and the server starts', async (t) => {
  await expireIn(1)
  await database.pool.query(
    `INSERT INTO quota_changes (user_id, quota, change) VALUES ($1, 'api_keys', 1000000000)`,
    [server.admin.id],
  )
  t.equal(await consoleKey(database, { dataDir, keyMode: 'live' }), null)
  await database.pool.query(`DELETE FROM quota_changes WHERE change = 1000000000`)
})

t.test('without an active admin there is none', async (t) => {
  const { id } = await keyOf(await next())
  await server.admin.client.delete(`/user/api-keys/${id}`)
  await database.prisma.user.updateMany({ data: { status: 'disabled' } })
  t.equal(await consoleKey(database, { dataDir, keyMode: 'live' }), null)
})
