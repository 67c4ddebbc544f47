// Resumable uploads by an upload link: without a key, within the limits of the link, which hold before the
// bytes arrive and under concurrency.
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { listen } from '../support/http/listen.ts'
import { checksum, tusClient, uploadWithTusClient, type TusClient } from '../support/http/tus.ts'
import { startServer } from '../support/server/server.ts'
import { assertNothingLeft, download } from '../support/storage/storage.ts'

const port = await listen(t, createServer(servePage))
const origin = `http://127.0.0.1:${port}`
const server = await startServer(t, { env: { STORAGE_QUOTA_USER: '3000000', CORS_ORIGINS: origin } })
const owner = await server.person()

async function createLink(body: Record<string, unknown> = {}): Promise<any> {
  const reply = await owner.client.post('/storage/upload-links', body)
  if (reply.status !== 201) throw new Error(`the link was not created: ${reply.status} ${reply.text}`)
  return reply.body
}

const stranger = createClient(server.url, null)

const placeOf = (link: { tus_url: string }): string => new URL(link.tus_url).pathname.replace('/v1', '')
const tusOf = (link: { tus_url: string }): TusClient => tusClient(server.url, null, placeOf(link))
const reserved = async (): Promise<number> => (await owner.client.get('/storage/usage')).body.reserved_bytes

t.test('the official client uploads in chunks without a key', async (t) => {
  const link = await createLink({ path: 'inbox', max_files: 2 })
  const bytes = randomBytes(300_000)
  const { url, fileId } = await uploadWithTusClient(bytes, {
    endpoint: link.tus_url,
    metadata: { filename: 'big.bin', project_id: 'ignored', path: 'elsewhere', visibility: 'public' },
    chunkSize: 70_000,
  })
  t.match(url, `${link.tus_url}/upl_`)
  const { body: file } = await owner.client.get(`/storage/files/${fileId}`)
  t.match(file, { name: 'big.bin', path: 'inbox', owner_id: owner.id, visibility: 'private' })
  const content = await download(server.url, `/storage/files/${fileId}/download`, { key: owner.key })
  t.ok(content.bytes.equals(bytes))
  const state = await stranger.get(new URL(url).pathname.replace('/v1', ''))
  t.match(state, {
    status: 200,
    body: { file_id: fileId, name: 'big.bin', length: 300_000, offset: 300_000 },
  })
  t.same(Object.keys(state.body), ['id', 'file_id', 'name', 'length', 'offset', 'expires_at'])
  t.match((await owner.client.get(`/storage/upload-links/${link.id}`)).body, { file_count: 1 })
  await assertNothingLeft(t, server)
})

t.test('an interrupted upload goes on where it was; only this link leads to it', async (t) => {
  const [link, other] = [await createLink(), await createLink()]
  const tus = tusOf(link)
  const path = await tus.createUpload(10)
  t.equal((await tus.append(path, 0, '01234', checksum('sha1', 'other'))).status, 460)
  t.equal((await tus.append(path, 0, '01234')).status, 204)
  t.equal((await tus.head(path)).headers.get('upload-offset'), '5')
  t.equal((await tus.append(path, 3, 'x')).status, 409)
  const id = path.split('/').at(-1)!
  for (const [client, foreign] of [
    [stranger, `${placeOf(other)}/${id}`],
    [owner.client, `${placeOf(other)}/${id}`],
    [stranger, `${placeOf(link).replace(/[^/]{43}/, 'A'.repeat(43))}/${id}`],
  ] as const) {
    t.equal((await client.get(foreign)).status, 404)
    t.equal((await tusOf(link).delete(foreign)).status, 404)
  }
  t.equal((await stranger.get(`/storage/uploads/${id}`)).status, 401)
  t.equal((await tus.append(path, 5, '56789')).status, 204)
  t.equal((await tus.append(path, 10, '')).status, 204, 'a repeated end')
  t.ok((await tus.head(path)).headers.get('upload-file-id'))
})

t.test('size, type and number are refused before the bytes arrive', async (t) => {
  const link = await createLink({ max_bytes: 1000, content_types: ['text/*'], max_files: 1 })
  const tus = tusOf(link)
  t.equal((await tus.create(1001)).status, 413)
  t.equal((await tus.create(5, { filename: 'a', filetype: 'image/png' })).status, 415)
  t.equal((await tus.create(5, {})).status, 400, 'no name')
  const path = await tus.createUpload(5, { filename: 'a.txt', filetype: 'text/plain' })
  const full = { status: 409, body: { error: { details: { constraint: 'in_progress' } } } }
  t.match(await tus.create(5), full, 'the upload has the only place')
  const form = new FormData()
  form.set('file', new File(['hello'], 'b.txt', { type: 'text/plain' }))
  t.equal((await fetch(link.upload_url, { method: 'POST', body: form })).status, 409)
  t.equal((await tus.delete(path)).status, 204)
  t.equal((await tus.head(path)).status, 404)
  const lie = await tus.createUpload(20, { filename: 'a.txt', filetype: 'text/plain' })
  t.match(await tus.append(lie, 0, '%PDF-1.7 not a text.'), { status: 415 })
  t.equal((await tus.head(lie)).status, 404, 'the upload is deleted')
  t.equal((await tus.create(5, { filename: 'c.txt' }, {}, 'hello')).status, 201, 'with its first bytes')
  t.match(await tus.create(5), { status: 410, body: { error: { details: { constraint: 'used_up' } } } })
  t.equal(await reserved(), 0)
  await assertNothingLeft(t, server)
})

t.test('racing uploads take exactly the places that are left', async (t) => {
  const link = await createLink({ max_files: 3 })
  const tus = tusOf(link)
  const replies = await Promise.all(Array.from({ length: 12 }, () => tus.create(5)))
  const created = replies.filter(({ status }) => status === 201)
  t.equal(created.length, 3)
  for (const { status } of replies) t.ok(status === 201 || status === 409)
  const paths = created.map(({ headers }) => new URL(headers.get('location')!, server.url).pathname)
  const ends = await Promise.all(paths.map((path) => tus.append(path, 0, 'hello')))
  t.same(
    ends.map(({ status }) => status),
    [204, 204, 204],
  )
  t.match((await owner.client.get(`/storage/upload-links/${link.id}`)).body, {
    status: 'used_up',
    file_count: 3,
  })
  t.equal((await tus.head(paths[0])).status, 200, 'a finished upload can be read')
})

t.test('a revoked link deletes its unfinished uploads', async (t) => {
  const link = await createLink()
  const tus = tusOf(link)
  const path = await tus.createUpload(1000)
  t.equal((await tus.append(path, 0, 'begin')).status, 204)
  t.equal(await reserved(), 1000)
  t.equal((await owner.client.delete(`/storage/upload-links/${link.id}`)).status, 204)
  t.equal(await reserved(), 0)
  t.equal((await tus.append(path, 5, 'more')).status, 404)
  t.equal((await tus.create(5)).status, 410)
  await assertNothingLeft(t, server)
})

t.test('an upload ends when the creator of the link leaves the project', async (t) => {
  const project = (await server.admin.client.post('/projects', { name: 'Ours' })).body.id
  const member = await server.person()
  const membership = await createMember(server, project, member.id, 'editor')
  const link = (await member.client.post('/storage/upload-links', { project_id: project })).body
  const path = await tusOf(link).createUpload(5)
  await server.admin.client.delete(`/projects/${project}/members/${membership}`)
  t.match(await tusOf(link).append(path, 0, 'hello'), {
    status: 410,
    body: { error: { details: { constraint: 'revoked' } } },
  })
  t.equal((await server.admin.client.get(`/storage/files?project_id=${project}`)).body.data.length, 0)
})

t.test('a full quota says nothing of the owner', async (t) => {
  const link = await createLink()
  const { status, body } = await tusOf(link).create(2_900_000)
  t.match({ status, body }, { status: 413, body: { error: { details: { constraint: 'no_room' } } } })
  t.notOk(JSON.stringify(body).includes('3000000'))
})

/** The page of another site, with the official client. */
async function servePage(request: any, response: any): Promise<void> {
  if (request.url === '/')
    return response.setHeader('content-type', 'text/html').end('<script src=tus.js></script>')
  const client = dirname(createRequire(import.meta.url).resolve('tus-js-client/package.json'))
  response.end(await readFile(join(client, 'dist/tus.min.js')))
}

t.test('a page of another site uploads with the official client', { skip: skipWithoutBrowser }, async (t) => {
  const page = await (await launchBrowser(t)).newPage()
  await page.goto(origin)
  const { tus_url: endpoint, id } = await createLink({ max_files: 1 })
  const refused = await page.evaluate(uploadInPage, { endpoint, bytes: 4_000_000 })
  t.match(refused, 'no_room')
  t.equal(await page.evaluate(uploadInPage, { endpoint, bytes: 200_000 }), 'done')
  t.match((await owner.client.get(`/storage/upload-links/${id}`)).body, { file_count: 1, status: 'used_up' })
})

/** Runs in the browser. */
async function uploadInPage({ endpoint, bytes }: { endpoint: string; bytes: number }): Promise<string> {
  const { Upload } = (globalThis as any).tus
  return await new Promise((resolve) => {
    new Upload(new Blob([new Uint8Array(bytes)]), {
      endpoint,
      metadata: { filename: 'page.bin' },
      chunkSize: 64_000,
      retryDelays: null,
      onSuccess: () => resolve('done'),
      onError: (error: any) => resolve(String(error.originalResponse?.getBody() ?? error)),
    }).start()
  })
}
