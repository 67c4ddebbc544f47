// Exports of accounts: their contents, who may make and read them, and what remains after failures, kills and
// deletions.
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import { statement } from '../../infra/database/statements.ts'
import { exportRetentionTasks } from '../../services/exports/exports.ts'
import { createExportWorker, type ExportWorkerOptions } from '../../services/exports/worker.ts'
import type { Scope } from '../../services/users/scopes.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { createApiKey, createExport, createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { browserCookie, createPasskey, createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { spawnWorker } from '../support/server/process.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { uploadFile } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const { services } = server
const { database, config, storage } = services
const { prisma } = database
const refused = (status: number, constraint: string) => ({
  status,
  body: { error: { details: { constraint } } },
})

t.afterEach(async () => {
  await prisma.job.deleteMany({ where: { queue: 'exports' } })
  await prisma.accountExport.deleteMany()
})

/** Starts an export worker, which stops at the end of the test. */
function work(t: Test, options: Partial<ExportWorkerOptions> = {}): BackgroundWorker & { errors: Error[] } {
  const errors: Error[] = []
  const onError = (error: Error): void => void errors.push(error)
  const worker = createExportWorker({ ...services, interval: 50, onError, ...options })
  worker.start()
  t.teardown(() => worker.stop())
  return Object.assign(worker, { errors })
}

const statusOf = async (client: Client): Promise<string> => (await client.get('/user/export')).body.status

async function completeExport(t: Test, client: Client) {
  t.equal((await client.post('/user/export')).status, 202)
  const worker = work(t)
  await waitUntil(async () => (await statusOf(client)) === 'ready', 'the export')
  await worker.stop()
  t.same(worker.errors, [])
  return (await client.get('/user/export')).body
}

async function read(key: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v1/user/export/content`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString() }
}

/** Jobs of this user. */
const jobsOf = async ({ id }: { id: string }) =>
  await prisma.job.findMany({ where: { queue: 'exports', groupId: id } })
/** Ends the wait for the next attempt, or for the heartbeat of a worker that is gone. */
const makeDue = statement(
  `UPDATE jobs SET due_at = now() WHERE queue = 'exports' AND group_id = $1 AND due_at > now()`,
)
const endDelay = statement(
  `UPDATE jobs SET due_at = now() WHERE queue = 'exports' AND group_id = $1 AND fetches = 0`,
)
const temporaryFiles = (): string[] => {
  try {
    return readdirSync(join(config.storageDir, 'incoming'))
  } catch {
    return []
  }
}

t.test('an export has all that the account holds, and no secrets', async (t) => {
  const person = await server.person({ name: 'Ada "the first" Lovelace' })
  const { client } = person
  const stranger = await server.person()
  const { body: project } = await client.post('/projects', { name: 'Mine' })
  const { body: theirs } = await stranger.client.post('/projects', { name: 'Theirs' })
  await createMember(server, theirs.id, person.id, 'editor')
  const file = await uploadFile(client, { bytes: 'content of my file', name: 'a.txt' })
  const fields = { project_id: theirs.id }
  const shared = await uploadFile(client, { bytes: 'in the project', name: 'b.txt', fields })
  const hidden = await uploadFile(stranger.client, { bytes: 'not mine', name: 'c.txt' })
  const { body: link } = await client.post(`/storage/files/${file.id}/links`, {})
  const { body: base } = await client.post('/ai/knowledge', { name: 'Base' })
  const { body: document } = await client.post(`/ai/knowledge/${base.id}/documents`, {
    text: 'We open at nine.',
  })
  const { body: theirBase } = await stranger.client.post('/ai/knowledge', {
    name: 'B',
    project_id: theirs.id,
  })
  const documents = `/ai/knowledge/${theirBase.id}/documents`
  const { body: added } = await client.post(documents, { text: 'Mine, in the project' })
  const { body: other } = await stranger.client.post(documents, { text: 'Not mine, in the project' })
  const sources = `/ai/knowledge/${theirBase.id}/sources`
  const { body: source } = await client.post(sources, { type: 'page', url: 'https://example.com/mine' })
  await stranger.client.post(sources, { type: 'page', url: 'https://example.com/theirs' })
  const { body: session } = await client.post('/ai/sessions', { title: 'Chat' })
  const said = { session_id: session.id, message: 'When do you open?\u2028' }
  t.equal((await client.post('/ai/chat', said)).status, 200)
  const { body: organization } = await client.post('/organizations', { name: 'Org' })
  const { body: endpoint } = await client.post('/webhooks/endpoints', {
    url: 'https://example.com/hook',
    event_types: ['file.created'],
  })
  const signIn = await createSignIn(server, person.id)
  const passkey = await createPasskey({ server, caller: person } as never)
  await services.auditRecorder.flush()

  const about = await completeExport(t, client)
  t.match(about, {
    id: /^exp_/,
    status: 'ready',
    bytes: Number,
    sha256: /^[0-9a-f]{64}$/,
    download_url: `${server.url}/v1/user/export/content`,
    completed_at: String,
  })
  t.equal(Date.parse(about.expires_at) - Date.parse(about.completed_at), 7 * 86_400_000)
  const { status, headers, bytes, text } = await read(person.key)
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/json')
  t.match(headers.get('content-disposition'), /^attachment; filename="account-\d{4}-\d\d-\d\d\.json"$/)
  t.equal(headers.get('cache-control'), 'no-store')
  t.equal(bytes.length, about.bytes)
  t.equal(createHash('sha256').update(bytes).digest('hex'), about.sha256)

  const contents = JSON.parse(text)
  const ids = (name: string): string[] => contents[name].map(({ id }: { id: string }) => id)
  t.match(contents, {
    exported_at: String,
    profile: { id: person.id, email: person.email, name: 'Ada "the first" Lovelace' },
    settings: { theme: 'system' },
    avatar: null,
    second_factor: { enabled: false },
  })
  t.equal(contents.api_keys.length, 1)
  t.same(ids('projects'), [project.id, theirs.id])
  t.same(ids('organizations'), [organization.id])
  t.same(ids('files'), [file.id, shared.id])
  t.match(contents.files[0], { name: 'a.txt', download_url: `/v1/storage/files/${file.id}/download` })
  t.same(ids('file_links'), [link.id])
  t.same(ids('knowledge_bases'), [base.id])
  t.same(ids('documents'), [document.id, added.id])
  t.same(ids('knowledge_sources'), [source.id])
  t.same(ids('chat_sessions'), [session.id])
  t.match(contents.chat_messages, [
    { role: 'user', content: 'When do you open?\u2028', session_id: session.id },
    { role: 'assistant', session_id: session.id },
  ])
  t.same(ids('webhook_endpoints'), [endpoint.id])
  t.same(ids('sessions'), [signIn.id])
  t.same(ids('passkeys'), [passkey])
  t.ok(contents.audit_log.length > 0)
  t.ok(contents.audit_log.every((entry: any) => entry.user_id === person.id && entry.sequence === null))
  const types = contents.events.map(({ type }: { type: string }) => type)
  for (const type of ['file.created', 'session.created', 'passkey.added']) t.ok(types.includes(type), type)

  for (const secret of [link.url, person.key, endpoint.secret, signIn.refresh_token, signIn.access_token])
    t.notOk(text.includes(secret))
  for (const word of ['digest', 'blob_key', '"secret"', 'public_key', hidden.id, other.id, stranger.email])
    t.notOk(text.includes(word), word)
  t.ok(text.split('\n').length > 20, 'each item has a line of its own')

  const mails = await prisma.mail.findMany({ where: { userId: person.id, kind: 'account_exported' } })
  t.equal(mails.length, 1, 'the user gets one e-mail')
})

t.test('parts of the file can be read, and an unchanged file is not sent again', async (t) => {
  const person = await server.person()
  await createExport(server, person.id)
  const whole = await read(person.key)
  const part = await read(person.key, { range: 'bytes=2-10' })
  t.equal(part.status, 206)
  t.equal(part.text, whole.text.slice(2, 11))
  t.equal(part.headers.get('content-range'), `bytes 2-10/${whole.bytes.length}`)
  t.equal((await read(person.key, { 'if-none-match': whole.headers.get('etag')! })).status, 304)
  t.equal((await read(person.key, { range: 'bytes=999999-' })).status, 416)
})

t.test('requests at once start one export, and three exports are the limit of a day', async (t) => {
  const person = await server.person()
  const { client } = person
  const replies = await Promise.all(Array.from({ length: 6 }, () => client.post('/user/export')))
  t.same([...new Set(replies.map(({ status }) => status))], [202])
  t.equal(new Set(replies.map(({ body }) => body.id)).size, 1)
  t.equal(await prisma.accountExport.count({ where: { userId: person.id } }), 1)
  t.equal((await jobsOf(person)).length, 1)
  t.equal(await prisma.event.count({ where: { userId: person.id, type: 'account_export.created' } }), 1)
  t.equal((await read(person.key)).status, 404, 'there is no file yet')

  const worker = work(t)
  await waitUntil(async () => (await statusOf(client)) === 'ready', 'the first export')
  for (let i = 0; i < 2; i++) {
    t.equal((await client.post('/user/export')).status, 202)
    t.equal((await read(person.key)).status, 200, 'the file of the export before stays')
    await waitUntil(async () => (await statusOf(client)) === 'ready', 'the next export')
  }
  const over = await client.post('/user/export')
  t.match(over, refused(429, 'exports_per_day'))
  t.match(over.body.error.details.limit, { name: 'exports_per_day', limit: 3, used: 3, resets_at: String })
  t.ok(Number(over.headers.get('retry-after')) > 86_000)
  const createdAt = new Date(Date.now() - 25 * 3_600_000)
  await prisma.accountExport.updateMany({ where: { userId: person.id }, data: { createdAt } })
  t.equal((await client.post('/user/export')).status, 202, 'a day later')
  await waitUntil(async () => (await statusOf(client)) === 'ready', 'the last export')
  await worker.stop()
  t.same(worker.errors, [])
})

t.test('an export needs a key or a session with all rights', async (t) => {
  const person = await server.person()
  const { body: project } = await person.client.post('/projects', { name: 'Mine' })
  await createExport(server, person.id)
  const all: Scope[] = [
    'user:read',
    'projects:read',
    'organizations:read',
    'storage:read',
    'ai:read',
    'payments:read',
    'webhooks:read',
  ]
  const requests = async (token: string, headers: Record<string, string> = {}) => {
    const client = createClient(server.url, token)
    return [
      await client.get('/user/export', { headers }),
      await client.get('/user/export/content', { headers }),
      await client.post('/user/export', undefined, { headers }),
    ]
  }
  const expectAll = async (token: string, expected: object, name: string) => {
    for (const reply of await requests(token)) t.match(reply, expected, name)
  }
  for (const missing of all) {
    const scopes = all.filter((scope) => scope !== missing)
    const { secret } = await createApiKey(server, person.id, { scopes })
    await expectAll(secret, refused(403, 'scope'), `a key without ${missing}`)
    const limited = await createSignIn(server, person.id, { scopes })
    await expectAll(limited.access_token, refused(403, 'scope'), `a session without ${missing}`)
  }
  const { secret: inProject } = await createApiKey(server, person.id, { projectIds: [project.id] })
  await expectAll(inProject, refused(403, 'project_ids'), 'a key for a project')
  const limited = await createSignIn(server, person.id, { project_ids: [project.id] })
  await expectAll(limited.access_token, refused(403, 'project_ids'), 'a session for a project')
  t.equal(await prisma.accountExport.count({ where: { userId: person.id } }), 1)

  const { secret } = await createApiKey(server, person.id, { scopes: all })
  t.same(
    (await requests(secret)).map(({ status }) => status),
    [200, 200, 202],
    'a key with the scopes',
  )
  const { access_token: token } = await createSignIn(server, person.id)
  t.same(
    (await requests(token)).map(({ status }) => status),
    [200, 200, 202],
    'a session',
  )

  const stranger = await server.person()
  for (const path of ['/user/export', '/user/export/content'])
    t.equal((await stranger.client.get(path)).status, 404, `${path} of another user`)
  t.equal((await server.admin.client.get('/user/export/content')).status, 404, 'an admin has an own export')
  t.equal((await createClient(server.url, null).get('/user/export/content')).status, 401)
})

t.test('a service account cannot export', async (t) => {
  const { body: organization } = await server.admin.client.post('/organizations', { name: 'Org' })
  const { body: account } = await server.admin.client.post('/service-accounts', {
    organization_id: organization.id,
    name: 'Robot',
    role: 'member',
  })
  const { userId } = await prisma.serviceAccount.findUniqueOrThrow({ where: { id: account.id } })
  const { secret } = await createApiKey(server, userId)
  t.match(await createClient(server.url, secret).post('/user/export'), refused(403, 'service_account'))
  t.equal(await prisma.accountExport.count({ where: { userId } }), 0)
})

t.test('a failing attempt is repeated from the start and leaves no file', async (t) => {
  const person = await server.person()
  t.equal((await person.client.post('/user/export')).status, 202)
  let puts = 0
  const storeBlob: typeof storage.storeBlob = async (...parameters) => {
    puts++
    if (puts === 1) throw new Error('the disk is gone')
    return await storage.storeBlob(...parameters)
  }
  const worker = work(t, { storage: { ...storage, storeBlob } })
  await waitUntil(() => worker.errors.length === 1, 'the first attempt')
  await waitUntil(async () => (await jobsOf(person))[0]?.fetches === 0, 'the next attempt to be queued')
  t.match(await jobsOf(person), [{ data: { tries: 1 } }])
  t.ok((await jobsOf(person))[0].dueAt > new Date(), 'it waits')
  t.same(temporaryFiles(), [])
  t.equal(await statusOf(person.client), 'processing')
  await database.sql(makeDue, [person.id])
  await waitUntil(async () => (await statusOf(person.client)) === 'ready', 'the second attempt')
  await worker.stop()
  t.equal(JSON.parse((await read(person.key)).text).profile.id, person.id)
})

t.test('an export that always fails ends, and another one may start', async (t) => {
  const person = await server.person()
  t.equal((await person.client.post('/user/export')).status, 202)
  const storeBlob = async (): Promise<never> => {
    throw new Error('the disk is gone')
  }
  const worker = work(t, { storage: { ...storage, storeBlob } })
  await waitUntil(async () => {
    await database.sql(endDelay, [person.id])
    return (await statusOf(person.client)) === 'failed'
  }, 'the last attempt')
  await worker.stop()
  t.equal(worker.errors.length, 5)
  t.same(await jobsOf(person), [])
  t.match((await person.client.get('/user/export')).body, { bytes: null, download_url: null })
  t.equal(await prisma.event.count({ where: { userId: person.id, type: 'account_export.failed' } }), 1)
  t.equal((await read(person.key)).status, 404)
  t.equal((await person.client.post('/user/export')).body.status, 'queued')
})

t.test('after its process was killed in the middle, an export is written again', async (t) => {
  const person = await server.person()
  t.equal((await person.client.post('/user/export')).status, 202)
  const env = { DATABASE_URL: server.databaseUrl, STORAGE_DIR: config.storageDir }
  const holder = await database.openSession()
  t.teardown(() => holder.end())
  // The process waits for the table after it has read the first sections.
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE api_requests IN ACCESS EXCLUSIVE MODE')
  const killed = await spawnWorker(t, { ...env, SECRET_KEY: process.env.SECRET_KEY ?? '' })
  await waitUntil(async () => (await statusOf(person.client)) === 'processing', 'the first attempt')
  await waitUntil(() => temporaryFiles().length === 1, 'its temporary file')
  await killed.end('SIGKILL')
  await holder.query('ROLLBACK')
  t.equal(await statusOf(person.client), 'processing')
  t.equal((await read(person.key)).status, 404, 'no half file')
  t.match(await jobsOf(person), [{ fetches: 1 }])
  await database.sql(makeDue, [person.id])
  const worker = work(t)
  await waitUntil(async () => (await statusOf(person.client)) === 'ready', 'the second attempt')
  await worker.stop()
  t.same(worker.errors, [])
  t.same(await jobsOf(person), [])
  t.equal(JSON.parse((await read(person.key)).text).profile.id, person.id)
  t.equal(temporaryFiles().length, 1)
  await storage.tempFiles.deleteOlderThan(new Date(Date.now() + 1000))
  t.same(temporaryFiles(), [], 'the sweep deletes the file of the killed process')
})

t.test('a worker that lost its job stores nothing', async (t) => {
  const person = await server.person()
  t.equal((await person.client.post('/user/export')).status, 202)
  const taken = statement(`UPDATE jobs SET fetches = fetches + 1 WHERE queue = 'exports' AND group_id = $1`)
  const keys: string[] = []
  let ended = 0
  const storeBlob: typeof storage.storeBlob = async (key, ...parameters) => {
    if (keys.push(key) === 1) await database.sql(taken, [person.id])
    return await storage.storeBlob(key, ...parameters).finally(() => ended++)
  }
  const worker = work(t, { storage: { ...storage, storeBlob } })
  await waitUntil(() => ended === 1, 'the first attempt')
  t.equal(await statusOf(person.client), 'processing')
  t.equal(await (await storage.blobStore()).sizeOf(keys[0]), null)
  await database.sql(makeDue, [person.id])
  await waitUntil(async () => (await statusOf(person.client)) === 'ready', 'the second attempt')
  await worker.stop()
  t.same(worker.errors, [])
})

t.test('an expired export is deleted', async (t) => {
  const person = await server.person()
  const id = await createExport(server, person.id)
  await prisma.accountExport.update({ where: { id }, data: { expiresAt: new Date(Date.now() - 1000) } })
  t.equal((await person.client.get('/user/export')).status, 404)
  t.equal((await read(person.key)).status, 404)
  t.match(await runRetention(database, { tasks: exportRetentionTasks() }), { 'expired exports': 1 })
  t.equal(await prisma.accountExport.findUnique({ where: { id } }), null)
  t.match(await prisma.quarantinedBlob.findUnique({ where: { key: id } }), { reason: 'deleted' })
})

t.test('deleting the account deletes its exports, also one that is being written', async (t) => {
  const person = await server.person()
  const ready = await createExport(server, person.id)
  const { client, access_token: token } = await signIn(person)
  t.equal((await client.post('/user/export')).status, 202)
  const keys: string[] = []
  const deleted = Promise.withResolvers<void>()
  let ended = 0
  const storeBlob: typeof storage.storeBlob = async (key, ...parameters) => {
    keys.push(key)
    await deleted.promise
    return await storage.storeBlob(key, ...parameters).finally(() => ended++)
  }
  const worker = work(t, { storage: { ...storage, storeBlob } })
  await waitUntil(() => keys.length === 1, 'the file to be written')
  t.equal((await client.delete('/user')).status, 204)
  deleted.resolve()
  await waitUntil(() => ended === 1, 'the end of the attempt')
  t.equal(await prisma.accountExport.count({ where: { userId: person.id } }), 0)
  t.equal(await (await storage.blobStore()).sizeOf(keys[0]), null, 'the new file is not kept')
  t.match(await prisma.quarantinedBlob.findUnique({ where: { key: ready } }), { reason: 'deleted' })
  await database.sql(makeDue, [person.id])
  await waitUntil(async () => (await jobsOf(person)).length === 0, 'the job to end')
  await worker.stop()
  t.same(worker.errors, [])
  t.equal((await read(token)).status, 401)
  t.equal(await prisma.event.count({ where: { userId: person.id, type: 'account_export.ready' } }), 0)
})

t.test('a browser downloads the file with its cookie', async (t) => {
  const person = await server.person()
  await createExport(server, person.id)
  const headers = await browserCookie(server, person.id)
  const response = await fetch(`${server.url}/v1/user/export/content`, { headers })
  t.equal(response.status, 200)
  await response.arrayBuffer()
})

async function signIn({ id }: Person) {
  const { access_token } = await createSignIn(server, id)
  return { access_token, client: createClient(server.url, access_token) }
}
