// TLS with certificates of an authority that only the operator knows: PostgreSQL, and every other connection
// that a server opens.
import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { explainStartupError } from '../../app/startup-errors.ts'
import { clusterFolder } from '../../infra/postgres/cluster.ts'
import { makeCertificates, skipWithoutOpenssl } from '../support/http/certificates.ts'
import { createClient } from '../support/http/client.ts'
import { createCluster, ownFile, runCluster } from '../support/database/own-postgres.ts'
import { command } from '../support/server/backups.ts'
import {
  bootstrapKey,
  inheritedEnvironment,
  spawnServer,
  startServerHere,
} from '../support/server/process.ts'
import { startWorkingServer } from '../support/server/working-server.ts'
import { listen } from '../support/http/listen.ts'

const root = join(import.meta.dirname, '../..')

/** Runs a program of the project to its end. */
async function run(args: string[], env: Record<string, string>): Promise<{ code: number; output: string }> {
  const options = { cwd: root, env: { ...inheritedEnvironment(), ...env } }
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options)
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, output: stdout + stderr }
  }
}

/** The sentence of a server that does not start with this database. */
async function startProblem(DATABASE_URL: string): Promise<string | null> {
  const error = await startServerHere(t, { DATABASE_URL }).then(
    () => null,
    (error: unknown) => error,
  )
  return explainStartupError(error)
}

t.test('PostgreSQL', { skip: skipWithoutOpenssl }, async (t) => {
  const certificates = makeCertificates()
  const dataDir = await createCluster({ migrated: false })
  for (const name of ['certificate', 'key'] as const) {
    const target = join(clusterFolder(dataDir), `server.${name}`)
    copyFileSync(certificates[name], target)
    ownFile(dataDir, target)
  }
  const settings = `ssl = on\nssl_cert_file = 'server.certificate'\nssl_key_file = 'server.key'\n`
  const { url } = await runCluster(t, dataDir, { settings })
  const tls = (parameters: Record<string, string>): string => {
    const address = new URL(url)
    for (const [name, value] of Object.entries({ sslmode: 'verify-full', ...parameters }))
      address.searchParams.set(name, value)
    return address.href
  }
  const trusting = tls({ sslrootcert: certificates.authority })

  t.test('without the authority nothing starts, in one sentence', async (t) => {
    const sentence = new RegExp(
      'The certificate of the database at DATABASE_URL comes from an unknown authority \\(.+\\): ' +
        "set CA_FILE to the authority's certificate, or add sslrootcert=FILE to the address\\.",
    )
    const env = { DATABASE_URL: tls({}) }
    for (const program of ['app/main.ts', 'app/worker.ts'])
      t.match(await run([program], env), { code: 1, output: sentence }, program)
    for (const script of ['migrate', 'verify'] as const)
      t.match(await command(script, [], env), { code: 1, err: sentence }, script)
  })

  t.test('a file that is missing is named', async (t) => {
    t.match(
      await startProblem(tls({ sslrootcert: '/no/such.pem' })),
      /^DATABASE_URL names a file that cannot be read \(.*\/no\/such\.pem.*\): correct the path\.$/,
    )
  })

  t.test('sslrootcert in the address: migrations, commands, server and worker', async (t) => {
    const env = { DATABASE_URL: trusting }
    t.match(await command('migrate', [], env), { code: 0, out: /Applied \d+ migrations?\./ })
    const server = await startWorkingServer(t, { databaseUrl: trusting })
    const { client } = await server.person()
    t.match(await client.get('/readyz'), { status: 200, body: { status: 'ok' } })
    t.equal((await client.post('/projects', { name: 'over TLS' })).status, 201)
    t.match(await command('admin', ['users'], env), { code: 0 })
    t.same(server.errors, [])
  })

  t.test('CA_FILE does the same', async (t) => {
    const server = await spawnServer(t, { DATABASE_URL: tls({}), CA_FILE: certificates.authority })
    t.match(await createClient(server.url, bootstrapKey).get('/readyz'), { body: { status: 'ok' } })
  })

  t.test('a host name that the certificate does not have', async (t) => {
    const address = new URL(trusting)
    address.hostname = 'localhost'
    t.match(
      await startProblem(address.href),
      /^The certificate of the database has another host name than DATABASE_URL \(.+\)/,
    )
  })
})

t.test('CA_FILE holds for all connections of the process', { skip: skipWithoutOpenssl }, async (t) => {
  const { authority, certificate, key } = makeCertificates()
  const server = createServer(
    { cert: readFileSync(certificate), key: readFileSync(key) },
    (_request, reply) => reply.end('{}'),
  )
  const port = await listen(t, server)
  // The modules with which the clients of S3, models, gateways, webhooks and Redis open their connections.
  const program = `
    import { get } from 'node:https'
    import { connect } from 'node:tls'
    import { request } from 'undici'
    import { loadEnvFile } from './infra/config/config.ts'
    loadEnvFile()
    const url = 'https://127.0.0.1:${port}'
    await fetch(url)
    await request(url)
    await new Promise((done, fail) => get(url, done).on('error', fail))
    await new Promise((done, fail) => connect(${port}, '127.0.0.1', done).on('error', fail))
    process.exit(0)`
  t.match(await run(['--input-type=module', '-e', program], { CA_FILE: authority }), { code: 0 })
  t.match(await run(['--input-type=module', '-e', program], {}), {
    code: 1,
    output: /unable to verify the first certificate/,
  })
})

t.test('a CA_FILE that is no authority stops the start', async (t) => {
  const { output: missing } = await run(['app/main.ts'], { CA_FILE: '/no/such.pem' })
  t.match(missing, /"msg":"CA_FILE cannot be read: /)
  const wrong = await command('verify', [], { CA_FILE: join(root, 'package.json') })
  t.match(wrong.err, /^CA_FILE must be a file of certificates in the PEM format, not `.*package\.json`\.$/m)
})
