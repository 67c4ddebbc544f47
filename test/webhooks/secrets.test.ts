// The secrets of endpoints in the database: encrypted, those of earlier versions too, and with another key
// after SECRET_KEY was changed.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCipher } from '../../infra/encryption/cipher.ts'
import { claimSecretKey } from '../../services/webhooks/secrets.ts'
import { spawnServer } from '../support/server/process.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { makeEndpoint, startWorkingServer, triedOnce } from '../support/server/working-server.ts'

const quiet = { event_types: ['profile.updated'] }
const firstKey = 'the-first-secret-key-of-this-database'
const secondKey = 'the-second-secret-key-of-this-database'

async function stored({ services }: TestServer) {
  return await services.database.prisma.webhookEndpoint.findMany({
    select: { id: true, secret: true, previousSecret: true, updatedAt: true },
    orderBy: { id: 'asc' },
  })
}

/** Another server on the same database, whose workers run. */
async function restart(t: Test, { databaseUrl }: TestServer, env: Record<string, string>) {
  const server = await startWorkingServer(t, { databaseUrl, env, sends: false })
  await claimSecretKey(server.services.database, server.services.cipher)
  return { ...server, worker: await server.work() }
}

const isSealedBy = (key: string, secret: string): boolean => secret.startsWith(createCipher(key).prefix)

t.test('the database has no secret in clear, and requests are signed', async (t) => {
  const server = await startWorkingServer(t)
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, quiet)
  t.match(endpoint.secret, /^whsec_/)
  const rotated = await person.client.post(`/webhooks/endpoints/${endpoint.id}/rotate-secret`)
  t.match(rotated.body.secret, /^whsec_/)
  const [row] = await stored(server)
  t.notMatch(JSON.stringify(row), /whsec_/)
  t.ok(row?.previousSecret)
  t.match(await triedOnce(person, endpoint), { status: 'succeeded' })
  t.ok(
    endpoint.receiver.received.every(({ verified }) => verified),
    'the old secret is valid during the overlap',
  )
  const moved = `UPDATE webhook_endpoints SET secret = (SELECT secret FROM webhook_endpoints WHERE id = $1)`
  const other = await makeEndpoint(t, person, quiet)
  await server.services.database.pool.query(moved, [endpoint.id])
  t.match(await triedOnce(person, other), { status: 'pending' }, 'a secret does not fit another endpoint')
})

t.test('after a change of SECRET_KEY all secrets are encrypted with the new key', async (t) => {
  const server = await startWorkingServer(t, { env: { SECRET_KEY: firstKey }, sends: false })
  await claimSecretKey(server.services.database, server.services.cipher)
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, quiet)
  t.ok((await stored(server)).every(({ secret }) => isSealedBy(firstKey, secret)))

  const changed = await restart(t, server, { SECRET_KEY: secondKey, SECRET_KEY_PREVIOUS: firstKey })
  await waitUntil(async () => (await stored(server)).every(({ secret }) => isSealedBy(secondKey, secret)))
  t.match(await triedOnce(person, endpoint), { status: 'succeeded' })
  await changed.worker.stop()

  const later = await restart(t, server, { SECRET_KEY: secondKey })
  t.match(await triedOnce(person, endpoint), { status: 'succeeded' }, 'the previous key is no longer needed')
  await later.worker.stop()
})

t.test('a server with another SECRET_KEY does not start; a lost key is replaced by hand', async (t) => {
  const server = await startServer(t, { env: { SECRET_KEY: firstKey } })
  await claimSecretKey(server.services.database, server.services.cipher)
  const person = await server.person()
  const endpoint = await makeEndpoint(t, person, quiet)
  const env = { DATABASE_URL: server.databaseUrl, SECRET_KEY: secondKey }
  const error = await spawnServer(t, env).then(
    () => '',
    (reason: Error) => reason.message,
  )
  t.match(error, /encrypted with the key \w{12}, but SECRET_KEY is the key \w{12}: set SECRET_KEY/)
  t.notMatch(error, new RegExp(`${firstKey}|${secondKey}`))

  const admin = join(import.meta.dirname, '../../scripts/admin/main.ts')
  const run = spawnSync(process.execPath, [admin, 'replace-lost-secrets'], {
    env: { PATH: process.env['PATH'], ...env },
    encoding: 'utf8',
  })
  t.equal(run.status, 0, run.stderr)
  t.match(run.stdout, endpoint.id)
  t.notMatch(run.stdout, /whsec_/)
  t.ok((await stored(server)).every(({ secret }) => isSealedBy(secondKey, secret)))
  const next = await spawnServer(t, env)
  t.equal((await fetch(`${next.url}/healthz`)).status, 200)
})
