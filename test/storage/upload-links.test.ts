// Upload links: their limits, which hold before the bytes arrive and under concurrency, the secrecy of tokens
// and of the workspace, and the page for people.
import { createHash, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { assertAccessible } from '../support/browser/console-browser.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { storageRetentionTasks } from '../../services/storage/retention.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  assertNothingLeft,
  fileCount,
  openConnection,
  uploadFile,
  uploadForm,
  multipart,
  newBoundary,
  type RawConnection,
  type Upload,
} from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { STORAGE_QUOTA_USER: '3000000' } })
const owner = await server.person()
const { prisma } = server.services.database
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

async function createLink(body: Record<string, unknown> = {}, person: Person = owner): Promise<any> {
  const reply = await person.client.post('/storage/upload-links', body)
  if (reply.status !== 201) throw new Error(`the link was not created: ${reply.status} ${reply.text}`)
  return reply.body
}

async function send(link: { upload_url: string }, content: Upload = {}): Promise<any> {
  const form = uploadForm(content)
  const response = await fetch(link.upload_url, {
    method: 'POST',
    headers: { ...form.headers, ...content.headers },
    body: form.body,
  })
  return { status: response.status, body: await response.json(), headers: response.headers }
}

/** Begins an upload with the bytes of the form; `length` is what it declares. */
async function begin(
  t: Test,
  link: { upload_url: string },
  form: { headers: Record<string, string>; body: Uint8Array },
  length: number,
): Promise<RawConnection> {
  const connection = await openConnection(t, server.url)
  const head = [
    `POST ${new URL(link.upload_url).pathname} HTTP/1.1`,
    'host: localhost',
    `content-type: ${form.headers['content-type']}`,
    `content-length: ${length}`,
  ]
  await connection.write(`${head.join('\r\n')}\r\n\r\n`)
  await connection.write(form.body)
  return connection
}

/** A form up to the first bytes of its file, without which the parser cannot rule out a boundary. */
function formHead(name: string, type: string) {
  const boundary = newBoundary()
  const disposition = `Content-Disposition: form-data; name="file"; filename="${name}"`
  const part = { head: [disposition, `Content-Type: ${type}`], body: 'x'.repeat(200) }
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: multipart([part], boundary, '').subarray(0, -2),
  }
}

const newProject = async ({ client }: Person): Promise<string> =>
  (await client.post('/projects', { name: randomBytes(6).toString('hex') })).body.id

t.test('a link is created, listed, used and revoked; its URLs are returned once', async (t) => {
  const created = await owner.client.post('/storage/upload-links', {
    path: '/inbox/2026/',
    title: 'Send us your documents',
    max_bytes: 1000,
    max_files: 3,
    content_types: ['text/*'],
    expires_in_seconds: 60,
    metadata: { ticket: 'OPS-1' },
  })
  t.equal(created.status, 201)
  const { url, upload_url, tus_url, ...link } = created.body
  t.same(link, {
    id: link.id,
    project_id: null,
    path: 'inbox/2026',
    title: 'Send us your documents',
    status: 'active',
    max_bytes: 1000,
    content_types: ['text/*'],
    max_files: 3,
    file_count: 0,
    created_by: owner.id,
    expires_at: new Date(Date.parse(link.created_at) + 60_000).toISOString(),
    metadata: { ticket: 'OPS-1' },
    created_at: link.created_at,
    updated_at: link.created_at,
  })
  const token = url.slice(url.lastIndexOf('/') + 1)
  t.match(token, /^[\w-]{43}$/)
  t.equal(url, `${server.url}/upload/${token}`)
  t.equal(upload_url, `${server.url}/v1/storage/upload-links/${token}/files`)
  t.equal(tus_url, `${server.url}/v1/storage/upload-links/${token}/uploads`)
  const [{ stored }] = await server.services.database.sql(
    statement<{ stored: string }>(
      "SELECT encode(digest, 'hex') AS stored FROM upload_links ORDER BY id DESC LIMIT 1",
    ),
    [],
  )
  t.equal(stored, createHash('sha256').update(token).digest('hex'), 'only the digest is stored')

  const one = await owner.client.get(`/storage/upload-links/${link.id}`)
  t.same(one.body, link, 'the URLs are not returned again')
  t.same((await owner.client.get('/storage/upload-links?status=active')).body.data, [link])

  const sent = await send(created.body, { bytes: 'hello', name: 'note.txt', type: 'text/plain' })
  t.equal(sent.status, 200)
  t.same(sent.body, { id: sent.body.id, name: 'note.txt', bytes: 5, content_type: 'text/plain' })
  const file = (await owner.client.get(`/storage/files/${sent.body.id}`)).body
  t.match(file, { path: 'inbox/2026', owner_id: owner.id, visibility: 'private', project_id: null })
  t.match((await owner.client.get(`/storage/upload-links/${link.id}`)).body, { file_count: 1 })
  t.equal(
    (
      await owner.client.get(`/storage/upload-links/${link.id}`, {
        headers: { 'if-none-match': one.headers.get('etag')! },
      })
    ).status,
    304,
    'an upload does not change the ETag',
  )

  const path = `/storage/upload-links/${link.id}`
  t.equal((await owner.client.delete(path, { headers: { 'if-match': '"other"' } })).status, 412)
  t.equal((await owner.client.delete(path)).status, 204)
  t.equal((await owner.client.delete(path)).status, 204, 'revoking is idempotent')
  const refused = await send(created.body, { type: 'text/plain' })
  t.match(refused, { status: 410, body: { error: { code: 'GONE', details: { constraint: 'revoked' } } } })
  const { body: events } = await owner.client.get('/events?limit=100')
  t.same(
    events.data
      .filter(({ type }: any) => type.startsWith('upload_link'))
      .map(({ type, data }: any) => [type, data.object.id, data.object.url, data.object.upload_url]),
    [
      ['upload_link.created', link.id, undefined, undefined],
      ['upload_link.revoked', link.id, undefined, undefined],
    ],
  )
  await assertNothingLeft(t, server)
})

t.test('size and type are refused before the bytes arrive', async (t) => {
  const link = await createLink({ max_bytes: 1000, content_types: ['image/png', 'text/*'] })
  for (const [type, length, status] of [
    ['image/png', 10_000_000, 413],
    ['application/pdf', 5000, 415],
  ] as const) {
    const connection = await begin(t, link, formHead('a.png', type), length)
    const reply = await connection.reply()
    t.equal(reply.status, status, `${type}, after its first bytes`)
    connection.socket.destroy()
  }
  t.equal((await send(link, { bytes: randomBytes(1001), type: null })).status, 413)
  t.equal((await send(link, { bytes: png, name: 'a.png', type: 'image/png' })).status, 200)
  t.equal((await send(link, { bytes: png, name: 'a.png', type: null })).status, 200, 'detected alone')
  const lie = await send(link, { bytes: '%PDF-1.7 not a picture', name: 'a.png', type: 'image/png' })
  t.match(lie, { status: 415, body: { error: { details: { field: 'file', constraint: 'media_type' } } } })
  t.match((await owner.client.get(`/storage/upload-links/${link.id}`)).body, { file_count: 2 })
  await assertNothingLeft(t, server)
})

t.test('racing uploads take exactly the places that are left', async (t) => {
  const link = await createLink({ max_files: 3 })
  const before = await fileCount(server)
  const replies = await Promise.all(Array.from({ length: 12 }, (_, i) => send(link, { bytes: `file ${i}` })))
  const stored = replies.filter(({ status }) => status === 200).length
  t.ok(stored >= 1 && stored <= 3, `${stored} are stored`)
  for (const { status, body } of replies)
    if (status !== 200) t.ok(['in_progress', 'used_up'].includes(body.error.details.constraint))
  for (let left = 3 - stored; left > 0; left--) t.equal((await send(link)).status, 200)
  t.match((await send(link)).body.error, { code: 'GONE', details: { constraint: 'used_up' } })
  t.equal((await fileCount(server)) - before, 3)
  t.match((await owner.client.get(`/storage/upload-links/${link.id}`)).body, {
    status: 'used_up',
    file_count: 3,
  })
})

t.test('an upload in progress has the last place; when it breaks, the place is free', async (t) => {
  const link = await createLink({ max_files: 1 })
  const connection = await begin(t, link, formHead('slow.txt', 'text/plain'), 5000)
  const reserved = () => prisma.storageReservation.count({ where: { workspaceId: link.id } })
  await waitUntil(async () => (await reserved()) === 1, 'the place to be taken')
  const other = await send(link)
  t.match(other, { status: 409, body: { error: { details: { constraint: 'in_progress' } } } })
  t.ok(Number(other.headers.get('retry-after')) > 0)
  connection.socket.destroy()
  await waitUntil(async () => (await reserved()) === 0, 'the place to be free')
  t.equal((await send(link)).status, 200)
  t.equal(await reserved(), 0)
})

t.test('a link revoked, or a creator removed, while the bytes arrive stores nothing', async (t) => {
  const project = await newProject(owner)
  const editor = await server.person()
  const member = await createMember(server, project, editor.id, 'editor')
  const link = await createLink({ project_id: project }, editor)
  const finish = async (change: () => Promise<unknown>) => {
    const form = uploadForm({ bytes: 'some bytes', name: 'a.txt' })
    const sent = { ...form, body: form.body.subarray(0, -40) }
    const connection = await begin(t, link, sent, form.body.length)
    const isOpen = () => prisma.storageReservation.count({ where: { workspaceId: link.id } })
    await waitUntil(async () => (await isOpen()) === 1, 'the upload to begin')
    await change()
    await connection.write(form.body.subarray(-40))
    return (await connection.reply()).status
  }
  const before = await fileCount(server)
  t.equal(await finish(() => owner.client.post(`/projects/${project}/archive`)), 409)
  await owner.client.post(`/projects/${project}/unarchive`)
  t.equal(await finish(() => owner.client.delete(`/projects/${project}/members/${member}`)), 410)
  t.equal(await fileCount(server), before)
  t.match((await owner.client.get(`/storage/upload-links/${link.id}`)).body, {
    status: 'revoked',
    file_count: 0,
  })
  t.equal((await send(link)).status, 410)
  await assertNothingLeft(t, server)
})

t.test('a full quota says nothing of the owner, who gets the event', async (t) => {
  const person = await server.person()
  const link = await createLink({}, person)
  await uploadFile(person.client, { bytes: randomBytes(2_000_000) })
  const { status, body } = await send(link, { bytes: randomBytes(1_500_000) })
  t.equal(status, 413)
  t.match(body.error.details, { constraint: 'no_room', limit: undefined })
  t.notMatch(JSON.stringify(body), /000000/)
  const { body: events } = await person.client.get('/events?limit=100')
  t.ok(events.data.some(({ type }: any) => type === 'limit.reached'))
})

t.test('strangers and other tenants find nothing', async (t) => {
  const stranger = await server.person()
  const project = await newProject(owner)
  const link = await createLink({ project_id: project })
  for (const path of [`/storage/upload-links/${link.id}`, `/storage/upload-links?project_id=${project}`])
    t.ok([403, 404].includes((await stranger.client.get(path)).status))
  t.equal((await stranger.client.delete(`/storage/upload-links/${link.id}`)).status, 403)
  t.same((await stranger.client.get('/storage/upload-links?project_id=*')).body.data, [])
  const viewer = await server.person()
  await createMember(server, project, viewer.id, 'viewer')
  t.equal((await viewer.client.post('/storage/upload-links', { project_id: project })).status, 403)
  const unknown = { upload_url: link.upload_url.replace(/.{43}\/files$/, `${'A'.repeat(43)}/files`) }
  t.equal((await send(unknown)).status, 404)
  t.equal((await fetch(link.upload_url)).status, 405, 'a link only takes files')
  await owner.client.delete(`/projects/${project}`)
  t.equal((await send(link)).status, 404)
})

t.test('a link that expired is refused, and removed 30 days later', async (t) => {
  const link = await createLink({})
  await prisma.uploadLink.update({ where: { id: link.id }, data: { expiresAt: new Date(Date.now() - 1000) } })
  t.match((await send(link)).body.error.details, { constraint: 'expired' })
  const tasks = storageRetentionTasks(server.services, {
    config: { ...server.services.config, storageSweep: false },
    log: { info() {}, warn() {}, error() {} },
  })
  await runRetention(server.services.database, { tasks })
  t.equal((await owner.client.get(`/storage/upload-links/${link.id}`)).status, 200)
  const longAgo = new Date(Date.now() - 31 * 86_400_000)
  await prisma.uploadLink.update({ where: { id: link.id }, data: { expiresAt: longAgo } })
  await runRetention(server.services.database, { tasks })
  t.equal((await owner.client.get(`/storage/upload-links/${link.id}`)).status, 404)
})

t.test('the page takes a file, names the reason of a refusal, and ends with the link', async (t) => {
  const link = await createLink({ title: '<b>Documents</b>', content_types: ['text/plain'], max_bytes: 2048 })
  const show = await fetch(link.url)
  t.equal(show.status, 200)
  const text = await show.text()
  t.match(text, '&lt;b&gt;Documents&lt;/b&gt;')
  t.notMatch(text, /<script|inbox/)
  t.match(text, /At most 2 KiB\. Allowed: text\/plain/)
  t.match(show.headers.get('content-security-policy'), /default-src 'none'/)
  t.match(show.headers.get('referrer-policy'), 'no-referrer')

  const submit = async (content: Upload) => {
    const form = uploadForm(content)
    const { headers, body } = form
    return await fetch(link.url, { method: 'POST', headers, body, redirect: 'manual' })
  }
  const sent = await submit({ bytes: 'hello', name: 'a.txt', type: 'text/plain' })
  t.equal(sent.status, 303)
  t.match(sent.headers.get('location'), /\/upload\/[\w-]{43}\?received=true$/)
  t.match(await (await fetch(`${link.url}?received=true`)).text(), 'Your file was received.')
  const refused = await submit({ bytes: png, name: 'a.png', type: 'image/png' })
  t.equal(refused.status, 422)
  t.match(await refused.text(), /Unsupported file type image\/png/)
  await owner.client.delete(`/storage/upload-links/${link.id}`)
  t.equal((await fetch(link.url)).status, 410)
  t.equal((await submit({ type: 'text/plain' })).status, 410)
  t.equal((await fetch(link.url.replace(/.{43}$/, 'A'.repeat(43)))).status, 404)
})

t.test('a person sends a file with a browser', { skip: skipWithoutBrowser }, async (t) => {
  const browser = await launchBrowser(t)
  const page = await browser.newPage()
  const link = await createLink({ title: 'Your documents', content_types: ['text/plain'], max_files: 1 })
  const folder = t.testdir({})
  await writeFile(join(folder, 'größe.txt'), 'from a browser')
  await writeFile(join(folder, 'page.html'), '<html>')
  await page.goto(link.url)
  await assertAccessible(t, page, 'the page of an upload link')
  await page.getByLabel('File').setInputFiles(join(folder, 'page.html'))
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').waitFor()
  t.match(await page.title(), 'Error: Your documents')
  await assertAccessible(t, page, 'the page after a refusal')
  await page.getByLabel('File').setInputFiles(join(folder, 'größe.txt'))
  await page.getByRole('button', { name: 'Send' }).click()
  // The only place is taken, so the page that the browser is led to has ended.
  await page.getByRole('heading', { name: 'This link takes no files' }).waitFor()
  const { body } = await owner.client.get('/storage/files?q=gr%C3%B6%C3%9Fe')
  t.match(body.data, [{ name: 'größe.txt', bytes: 14, content_type: 'text/plain' }])
})
