// A foreign program at the address of the database asks for the password; no connection of the server sends
// it in clear or as MD5.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client } from '../../infra/database/client.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { Listener } from '../../infra/database/notifications.ts'
import { databaseUrl } from '../../infra/postgres/address.ts'
import { applyMigrations } from '../../infra/postgres/migrations.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { waitUntil } from '../support/server/wait.ts'
import { listen } from '../support/http/listen.ts'

const PASSWORD = 'the-password-of-the-database'
const CLEARTEXT = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])
const MD5 = Buffer.from([0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4])

/** A server that answers each start-up message with a request for the password, and keeps what it is sent. */
async function openTrap(t: Test, request: Buffer) {
  let asked = 0
  let received = ''
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      asked += 1
      socket.write(request)
      socket.on('data', (data) => {
        received += data.toString('latin1')
      })
    })
  })
  const port = await listen(t, server)
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const role = { role: 'platform', password: PASSWORD, database: 'platform' }
  return {
    url: databaseUrl({ host: '127.0.0.1', port }, role),
    asked: () => asked,
    received: () => received,
    /** Resolves when the other side has closed its connections. */
    closed: () =>
      waitUntil(() => [...sockets].every(({ readableEnded, destroyed }) => readableEnded || destroyed)),
  }
}

const connections: Record<string, (url: string, t: Test) => Promise<unknown>> = {
  'a client': async (connectionString) => await new Client({ connectionString }).connect(),
  'the pool': async (url, t) => {
    const db = openDatabase({ url })
    t.teardown(() => db.close())
    await db.pool.query('SELECT 1')
  },
  migrations: async (url) => await applyMigrations(url),
}

for (const [way, request] of Object.entries({ 'in clear': CLEARTEXT, 'as MD5': MD5 }))
  for (const [what, connect] of Object.entries(connections))
    t.test(`${what} sends no password ${way}`, async (t) => {
      const trap = await openTrap(t, request)
      await t.rejects(connect(trap.url, t), new RegExp(`asks for the password ${way}`))
      t.ok(trap.asked() >= 1)
      await trap.closed()
      t.equal(trap.received(), '')
    })

t.test('the listening connection sends no password in clear', async (t) => {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url })
  t.teardown(() => db.close())
  const trap = await openTrap(t, CLEARTEXT)
  const errors: Error[] = []
  const listener = new Listener({ db, url: trap.url, onError: (error) => errors.push(error) })
  listener.start()
  await waitUntil(() => errors.length > 0)
  await listener.close()
  t.match(errors[0], { message: /asks for the password in clear/ })
  t.equal(trap.received(), '')
})

t.test('without require_auth the operator of DATABASE_URL decides', async (t) => {
  const trap = await openTrap(t, CLEARTEXT)
  const url = new URL(trap.url)
  url.searchParams.delete('require_auth')
  const client = new Client({ connectionString: url.href })
  client.on('error', () => {})
  client.connect().catch(() => {})
  await waitUntil(() => trap.received().includes(PASSWORD))
  await client.end().catch(() => {})
})

t.test('an unknown value of require_auth is an error', (t) => {
  const connectionString = 'postgresql://u:p@localhost/d?require_auth=none'
  t.throws(() => new Client({ connectionString }), /require_auth=none is not supported/)
  t.end()
})

t.test('the server opens no connection with another client', (t) => {
  const root = join(import.meta.dirname, '../..')
  const files = ['app', 'infra', 'services'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const others = files
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => /new pg\.(Client|Pool)\(/.test(readFileSync(join(root, file), 'utf8')))
  t.same(others, [])
  t.end()
})
