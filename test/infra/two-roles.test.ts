// The two roles of deploy/postgresql/roles.sql: the owner applies migrations; servers and workers do
// everything else with a role that cannot change a table.
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { cards, createCatalog, createCheckout, payWithCard } from '../support/operations/catalog-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { createCluster, execute, runCluster } from '../support/database/own-postgres.ts'
import { command } from '../support/server/backups.ts'
import { bootstrapKey, spawnServer, spawnWorker, startServerHere } from '../support/server/process.ts'
import { isLongForm } from '../support/long-form.ts'
import { openReceiver } from '../support/http/receiver.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const root = join(import.meta.dirname, '../..')

const { superuserUrl } = await runCluster(t, await createCluster({ migrated: false }))

const at = (database: string, role?: string): string => {
  const url = new URL(superuserUrl)
  url.pathname = `/${database}`
  if (role !== undefined) [url.username, url.password] = [`platform_${role}`, role]
  return url.href
}

/** The statements of a file, for the database where psql would run them. */
function statementsOf(file: string, database: string): string[] {
  return readFileSync(join(root, 'deploy/postgresql', file), 'utf8')
    .replace(/^--.*$/gm, '')
    .replace(/^\\.*$/gm, '')
    .replace(/:'(owner|server)_password'/g, (_all, role: string) => `'${role}'`)
    .replace(/^SELECT format\('(.*)', current_database\(\)\) \\gexec/gm, (_all, text: string) =>
      text.replace('%I', `"${database}"`).concat(';'),
    )
    .split(';')
    .filter((text) => text.trim() !== '')
}

/** Runs roles.sql as psql does. @returns the addresses of the two roles. */
async function createRoles(): Promise<{ owner: string; server: string }> {
  await execute(at('postgres'), 'DROP DATABASE platform')
  for (const statement of statementsOf('roles.sql', 'platform')) await execute(at('postgres'), statement)
  await grantRights('platform')
  return { owner: at('platform', 'owner'), server: at('platform', 'server') }
}

async function grantRights(database: string): Promise<void> {
  for (const statement of statementsOf('rights.sql', database)) await execute(at(database), statement)
}

const urls = await createRoles()
const storageDir = mkdtempSync(join(tmpdir(), 'storage-'))
const env = { DATABASE_URL: urls.server, MIGRATE: 'false', STORAGE_DIR: storageDir }

t.test('before the migrations a server says what is missing', async (t) => {
  await t.rejects(startServerHere(t, env), {
    name: 'MigrationError',
    message: /^The database lacks \d+ migrations, .*npm run migrate/,
  })
})

t.test('only the owner applies migrations', async (t) => {
  t.match(await command('migrate', [], { DATABASE_URL: urls.server }), {
    code: 1,
    err: /^The role of DATABASE_URL may not apply migrations \(permission denied.*\): .*MIGRATE=false.*\n$/,
  })
  t.match(await command('migrate', [], { DATABASE_URL: urls.owner }), { code: 0, out: /Applied/ })
})

t.test('server and worker with the lesser role: the main flows', async (t) => {
  const settings = { ...env, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' }
  // In the short form the worker runs in the server's process.
  const server = await spawnServer(t, { ...settings, WORKER: String(!isLongForm) })
  const worker = isLongForm ? await spawnWorker(t, settings) : null
  const admin = { client: createClient(server.url, bootstrapKey) }
  const { body: created } = await admin.client.post('/users', { name: 'Ada', email: 'ada@example.com' })
  const person = { client: createClient(server.url, created.api_key.key) }
  const { client } = person
  const receiver = await openReceiver(t)
  const endpoint = await client.post('/webhooks/endpoints', { url: receiver.url, event_types: ['*'] })
  t.equal(endpoint.status, 201)

  const { body: project } = await client.post('/projects', { name: 'least rights' })
  t.equal((await client.put(`/projects/${project.id}`, { name: 'renamed' })).status, 200)
  const file = await uploadFile(client, { bytes: 'content' })
  t.equal((await client.get(`/storage/files/${file.id}/download`)).text, 'content')
  t.equal((await client.delete(`/storage/files/${file.id}?permanent=true`)).status, 204)

  const { body: base } = await client.post('/ai/knowledge', { name: 'facts' })
  const document = { name: 'fact.txt', text: 'The lighthouse is green.', content_type: 'text/plain' }
  t.equal((await client.post(`/ai/knowledge/${base.id}/documents`, document)).status, 201)
  const indexed = async (): Promise<boolean> =>
    (await client.get(`/ai/knowledge/${base.id}/documents`)).body.data[0].status === 'ready'
  await waitUntil(indexed, 'the document')
  const chat = await client.post('/ai/chat', {
    messages: [{ role: 'user', content: 'Which lighthouse is green?' }],
    knowledge_base_ids: [base.id],
  })
  t.match(chat, { status: 200, text: /green/ })

  const { price } = await createCatalog({ admin: admin as never })
  const checkout = await createCheckout(person, { items: [{ price_id: price }] })
  await payWithCard(server, checkout.id, cards.succeeds)
  t.equal((await client.get(`/payments/orders/${checkout.order_id}`)).body.status, 'paid')
  await waitUntil(() => receiver.types().includes('order.paid'), 'the webhook')
  t.ok(receiver.types().includes('project.created'))
  t.equal((await client.delete(`/projects/${project.id}`)).status, 204)

  t.match(await command('admin', ['users'], env), { code: 0 })
  t.match(await command('verify', [], env), { code: 0 })
  t.notMatch(server.output() + (worker?.output() ?? ''), /permission denied|42501/)
})

t.test('the lesser role makes the months of events and drops old ones', async (t) => {
  const made = async (): Promise<string[]> =>
    (await execute(urls.owner, 'SELECT name FROM month_partitions() ORDER BY name')).map(
      (row: any) => row.name,
    )
  const months = await made()
  const last = months.filter((name) => /^events_\d/.test(name)).at(-1)!
  await execute(urls.owner, `DROP TABLE ${last}`)
  t.match(await execute(urls.server, 'SELECT make_partitions() AS made'), [{ made: 1 }])
  t.same(await made(), months)
  await execute(urls.owner, `ALTER TABLE ${last} RENAME TO events_2020_01`)
  t.match(await execute(urls.server, 'SELECT drop_old_partition(30) AS name'), [{ name: 'events_2020_01' }])
  t.match(await execute(urls.server, 'SELECT default_partitions_have_rows() AS filled'), [{ filled: false }])
  await execute(urls.owner, 'REVOKE DELETE ON events FROM platform_server')
  await t.rejects(execute(urls.server, 'SELECT drop_old_partition(30)'), { code: '42501' })
  await execute(urls.owner, 'GRANT DELETE ON events TO platform_server')
})

t.test('a database without the rights says where they are given', async (t) => {
  await execute(at('postgres'), 'CREATE DATABASE restored OWNER platform_owner')
  const [owner, server] = [at('restored', 'owner'), at('restored', 'server')]
  t.match(await command('migrate', [], { DATABASE_URL: owner }), { code: 0 })
  t.match(await command('admin', ['users'], { ...env, DATABASE_URL: server }), {
    code: 1,
    err: /^The role of DATABASE_URL lacks a right \(permission denied for table .*\): see "Two roles"/m,
  })
  await execute(at('postgres'), 'DROP DATABASE restored')
  await execute(at('postgres'), 'CREATE DATABASE restored OWNER platform_owner')
  await grantRights('restored')
  t.match(await command('migrate', [], { DATABASE_URL: owner }), { code: 0 })
  t.match(await command('admin', ['users'], { ...env, DATABASE_URL: server }), { code: 0 })
})

t.test('the lesser role changes no table and no role', async (t) => {
  for (const statement of [
    'CREATE TABLE public.extra (id integer)',
    'ALTER TABLE users ADD COLUMN extra text',
    'DROP TABLE projects',
    'TRUNCATE events',
    'CREATE SCHEMA extra',
    'ALTER TABLE users DISABLE TRIGGER ALL',
    "COPY users TO PROGRAM 'true'",
    'CREATE ROLE extra SUPERUSER',
    'CREATE DATABASE extra',
    'CREATE TEMP TABLE extra (id integer)',
    'SET session_replication_role = replica',
  ])
    await t.rejects(execute(urls.server, statement), { code: '42501' }, statement)
})
