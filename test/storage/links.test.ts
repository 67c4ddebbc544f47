// File links: their limits, the secrecy of tokens, download counts and access control.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { acceptUpload, startFakeS3 } from '../support/storage/fake-s3.ts'
import { noS3, startS3 } from '../../scripts/test/s3-server.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { download, openConnection, uploadFile } from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const owner = await server.person()
const bytes = randomBytes(1000)
const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The path of a link, relative to /v1. */
const pathOf = ({ url }: { url: string }): string => new URL(url).pathname.slice('/v1'.length)
const tokenOf = ({ url }: { url: string }): string => url.slice(url.lastIndexOf('/') + 1)

async function createLink(
  file: { id: string },
  body: Record<string, unknown> = {},
  person: Person = owner,
): Promise<any> {
  const reply = await person.client.post(`/storage/files/${file.id}/links`, body)
  if (reply.status !== 201) throw new Error(`the link was not created: ${reply.status} ${reply.text}`)
  return reply.body
}

async function follow(
  link: { url: string },
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Awaited<ReturnType<typeof download>>> {
  return await download(server.url, pathOf(link), { headers, method })
}

async function countOf(link: { id: string; file_id: string }): Promise<number> {
  return (await owner.client.get(`/storage/files/${link.file_id}/links/${link.id}`)).body.download_count
}

t.test('a link is created, returned once with its URL, listed, followed and revoked', async (t) => {
  const file = await uploadFile(owner.client, { bytes, name: 'report é.pdf' })
  const path = `/storage/files/${file.id}/links`
  const created = await owner.client.post(path, { expires_in_seconds: 60, max_downloads: 5 })
  t.equal(created.status, 201)
  const { url, ...link } = created.body
  t.same(link, {
    id: link.id,
    file_id: file.id,
    project_id: null,
    status: 'active',
    max_downloads: 5,
    download_count: 0,
    created_by: owner.id,
    expires_at: new Date(Date.parse(link.created_at) + 60_000).toISOString(),
    metadata: {},
    created_at: link.created_at,
    updated_at: link.created_at,
  })
  t.equal(created.headers.get('location'), `${server.url}/v1${path}/${link.id}`)
  t.equal(created.headers.get('cache-control'), 'no-store')
  t.match(url, new RegExp(`^${server.url}/v1/storage/links/[\\w-]{43}$`))

  const one = await owner.client.get(`${path}/${link.id}`)
  t.same(one.body, link, 'the URL is not returned again')
  t.same((await owner.client.get(path)).body, {
    data: [link],
    pagination: { page: 1, limit: 20, total: 1, total_pages: 1, has_more: false, next_cursor: null },
  })
  t.equal(
    (await owner.client.get(`${path}/${link.id}`, { headers: { 'if-none-match': one.headers.get('etag')! } }))
      .status,
    304,
  )

  const reply = await follow({ url })
  t.equal(reply.status, 200)
  t.ok(reply.bytes.equals(bytes))
  t.equal(
    reply.headers.get('content-disposition'),
    'attachment; filename="report ?.pdf"; filename*=UTF-8\'\'report%20%C3%A9.pdf',
  )
  t.equal(await countOf(link), 1)
  t.equal(
    (await owner.client.get(`${path}/${link.id}`, { headers: { 'if-none-match': one.headers.get('etag')! } }))
      .status,
    304,
    'a download does not change the ETag',
  )

  t.equal(
    (await owner.client.delete(`${path}/${link.id}`, { headers: { 'if-match': '"other"' } })).status,
    412,
  )
  t.equal((await follow({ url })).status, 200)
  t.equal(
    (await owner.client.delete(`${path}/${link.id}`, { headers: { 'if-match': one.headers.get('etag')! } }))
      .status,
    204,
  )
  const revoked = await follow({ url })
  t.equal(revoked.status, 410)
  t.match(revoked.body.error, { code: 'GONE', details: { constraint: 'revoked' } })
  t.equal((await owner.client.delete(`${path}/${link.id}`)).status, 204, 'revoking is idempotent')
  t.match((await owner.client.get(`${path}/${link.id}`)).body, { status: 'revoked', download_count: 2 })
  const { body: events } = await owner.client.get('/events?limit=100')
  t.same(
    events.data
      .filter(({ type }: any) => type.startsWith('file_link'))
      .map(({ type, data }: any) => [type, data.object.id, data.object.url]),
    [
      ['file_link.created', link.id, undefined],
      ['file_link.revoked', link.id, undefined],
    ],
  )
})

t.test('the lifetime and the number of downloads are validated', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const path = `/storage/files/${file.id}/links`
  const plain = await createLink(file)
  t.equal(Date.parse(plain.expires_at) - Date.parse(plain.created_at), 86_400_000, 'the default is one day')
  t.equal(plain.max_downloads, null)
  t.equal(
    (await createLink(file, { max_downloads: null, expires_in_seconds: 31_536_000 })).max_downloads,
    null,
  )
  const wrong: Array<[field: string, value: unknown]> = [
    ['expires_in_seconds', 0],
    ['expires_in_seconds', -1],
    ['expires_in_seconds', 31_536_001],
    ['expires_in_seconds', 1.5],
    ['expires_in_seconds', '60'],
    ['expires_in_seconds', null],
    ['max_downloads', 0],
    ['max_downloads', -1],
    ['max_downloads', 1.5],
    ['max_downloads', 1e12],
    ['token', 'mine'],
    ['url', 'http://x'],
    ['download_count', 1],
  ]
  for (const [field, value] of wrong) {
    const { status, body } = await owner.client.post(path, { [field]: value })
    t.equal(status, 400, `${field} ${value}`)
    t.equal(body.error.details.field, field)
  }
  t.equal((await owner.client.get(path)).body.pagination.total, 2)
  const tokens = new Set((await Promise.all(Array.from({ length: 30 }, () => createLink(file)))).map(tokenOf))
  t.equal(tokens.size, 30)
  const listed: string[] = []
  for (const page of [1, 2, 3, 4])
    listed.push(
      ...(await owner.client.get(`${path}?limit=10&page=${page}&order=asc`)).body.data.map(
        ({ id }: any) => id,
      ),
    )
  t.equal(new Set(listed).size, 32)
  t.equal(
    (await owner.client.get(`${path}?sort=expires_at&limit=1`)).body.data[0].expires_at > plain.expires_at,
    true,
  )

  const headers = { 'idempotency-key': 'a-link' }
  const first = await owner.client.post(path, {}, { headers })
  const again = await owner.client.post(path, {}, { headers })
  t.equal(first.status, 201)
  t.notOk(
    again.status === 201 && again.body.url !== first.body.url,
    'the repeated request creates no second link',
  )
  t.equal((await owner.client.get(path)).body.pagination.total, 33)
})

t.test('the token is neither logged nor stored', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await createLink(file)
  const token = tokenOf(link)
  await follow(link)
  await follow(link, { range: 'bytes=99999-' })
  await owner.client.delete(`/storage/files/${file.id}/links/${link.id}`)
  t.notOk((await follow(link)).bytes.includes(token), 'the error does not contain the token')
  t.notOk(server.logs.join('').includes(token), 'the log does not contain the token')
  t.notOk(server.statements.join('').includes(token))
  const { database } = server.services
  const tables = await database.prisma.$queryRawUnsafe<Array<{ name: string }>>(
    "SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'",
  )
  for (const { name } of tables) {
    const [{ found }] = await database.prisma.$queryRawUnsafe<Array<{ found: boolean }>>(
      `SELECT EXISTS (SELECT 1 FROM ${name} x WHERE x::text LIKE '%' || $1 || '%') AS found`,
      token,
    )
    t.notOk(found, `the table ${name} does not contain the token`)
  }
  const [{ stored }] = await database.prisma.$queryRawUnsafe<Array<{ stored: string }>>(
    "SELECT encode(digest, 'hex') AS stored FROM file_links WHERE id = $1",
    link.id,
  )
  t.equal(stored, digest(token))
})

t.test('an unknown token and a token of a deleted or expired file are the same 404', async (t) => {
  const deleted = await createLink(await uploadFile(owner.client, { bytes }))
  await owner.client.delete(`/storage/files/${deleted.file_id}`)
  const expired = await createLink(await uploadFile(owner.client, { bytes }))
  await owner.client.put(`/storage/files/${expired.file_id}`, {
    expires_at: new Date(Date.now() + 300).toISOString(),
  })
  await waitUntil(async () => (await follow(expired)).status !== 200, 'the file to expire')
  const active = await createLink(await uploadFile(owner.client, { bytes }))
  const token = tokenOf(active)
  const near = [
    token.slice(0, -1) + (token.endsWith('A') ? 'Q' : 'A'),
    token.toUpperCase(),
    token.toLowerCase(),
    [...token].reverse().join(''),
    active.id.padEnd(43, '0').slice(0, 43),
  ].filter((other) => other !== token)
  const guessed = [...near, ...Array.from({ length: 20 }, () => randomBytes(32).toString('base64url'))].map(
    (guess) => ({ url: `${server.url}/v1/storage/links/${guess}` }),
  )
  const shapes = new Set<string>()
  for (const link of [deleted, expired, ...guessed]) {
    for (const headers of [
      {},
      { range: 'bytes=0-0' },
      { 'if-none-match': '*' },
      { authorization: `Bearer ${owner.key}` },
    ] as Array<Record<string, string>>) {
      const { status, headers: received, body } = await follow(link, headers)
      delete body.error.details.request_id
      shapes.add(
        JSON.stringify([
          status,
          body,
          received.get('cache-control'),
          received.get('content-type'),
          received.get('www-authenticate'),
          received.get('etag'),
        ]),
      )
    }
  }
  t.equal(shapes.size, 1, [...shapes].join('\n'))
  t.match([...shapes][0], /^\[404,/)
  for (const wrong of [
    'x',
    `${token}x`,
    token.slice(1),
    `${token.slice(1)}!`,
    `${token.slice(1)}=`,
    '..%2f..%2fuser%2fprofile',
    `${token}%00`,
  ]) {
    t.equal((await follow({ url: `${server.url}/v1/storage/links/${wrong}` })).status, 404, wrong)
  }
  t.equal((await download(server.url, '/storage/links/')).status, 404)
  t.equal((await follow(active)).status, 200)
  t.equal((await owner.client.get(`/storage/files/${expired.file_id}/links`)).status, 404)
  t.equal((await owner.client.post(`/storage/files/${expired.file_id}/links`, {})).status, 404)
})

t.test('an expired, used up or revoked link is 410 with the reason', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const short = await createLink(file, { expires_in_seconds: 1 })
  t.equal((await follow(short)).status, 200)
  await waitUntil(async () => (await follow(short)).status !== 200, 'the link to expire')
  const single = await createLink(file, { max_downloads: 1 })
  t.equal((await follow(single)).status, 200)
  const revoked = await createLink(file)
  await owner.client.delete(`/storage/files/${file.id}/links/${revoked.id}`)
  for (const [status, link] of Object.entries({ expired: short, used_up: single, revoked })) {
    for (const headers of [
      {},
      { range: 'bytes=0-0' },
      { range: 'bytes=5000-' },
      { 'if-none-match': file.etag },
    ] as Array<Record<string, string>>) {
      const reply = await follow(link, headers)
      t.equal(reply.status, 410, status)
      t.match(reply.body.error, { code: 'GONE', details: { constraint: status } })
      t.equal(reply.headers.get('cache-control'), 'no-store')
      t.equal(reply.headers.get('etag'), null)
    }
    t.equal((await follow(link, {}, 'HEAD')).status, 410)
    t.equal((await owner.client.get(`/storage/files/${file.id}/links/${link.id}`)).body.status, status)
  }
})

t.test('only responses with bytes count as downloads', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await createLink(file, { max_downloads: 3 })
  const uncounted: Array<[status: number, headers: Record<string, string>, method?: string]> = [
    [200, {}, 'HEAD'],
    [200, { range: 'bytes=0-1' }, 'HEAD'],
    [304, { 'if-none-match': file.etag }],
    [416, { range: 'bytes=1000-' }],
  ]
  const sendUncounted = async (): Promise<void> => {
    for (const [status, headers, method] of uncounted)
      t.equal((await follow(link, headers, method)).status, status, JSON.stringify(headers))
  }
  await sendUncounted()
  t.equal(await countOf(link), 0)
  t.equal((await follow(link, { range: 'bytes=0-499' })).status, 206)
  await sendUncounted()
  t.equal((await follow(link, { range: 'bytes=500-' })).status, 206)
  t.equal(await countOf(link), 2)

  const connection = await openConnection(t, server.url)
  await connection.write(`GET /v1${pathOf(link)} HTTP/1.1\r\nhost: x\r\n\r\n`)
  await waitUntil(() => connection.received() !== '', 'the response')
  connection.socket.resetAndDestroy()
  t.equal(await countOf(link), 3, 'an interrupted download counts too')
  t.equal((await follow(link)).status, 410)
  const count = async (): Promise<number> =>
    (await owner.client.get(`/storage/files/${file.id}`)).body.download_count
  await waitUntil(async () => (await count()) >= 3, 'the count of the file to be written')
  t.equal(await count(), 3)
})

t.test('a missing blob does not count as a download', async (t) => {
  const link = await createLink(await uploadFile(owner.client, { bytes }), { max_downloads: 1 })
  await (await server.services.storage.blobStore()).delete([link.file_id])
  for (let i = 0; i < 3; i++) t.equal((await follow(link)).status, 503)
  t.equal(await countOf(link), 0)
})

t.test('a failing store does not use up a link', async (t) => {
  let isFailing = false
  const { env } = await startFakeS3(t, (request, response) => {
    if (isFailing) return response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>')
    if (request.method === 'GET') return response.end('content')
    acceptUpload(request, response)
  })
  const server = await startServer(t, { env })
  const person = await server.person()
  const link = await createLink(await uploadFile(person.client), { max_downloads: 1 }, person)
  isFailing = true
  for (let i = 0; i < 2; i++) t.equal((await download(server.url, pathOf(link))).status, 503)
  isFailing = false
  t.equal((await download(server.url, pathOf(link))).bytes.toString(), 'content')
  t.equal((await download(server.url, pathOf(link))).status, 410)
})

t.test('of 100 concurrent downloads exactly max_downloads succeed', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  for (const [maxDownloads, headers] of [
    [7, {}],
    [1, {}],
    [30, { range: 'bytes=10-19' }],
  ] as Array<[number, Record<string, string>]>) {
    const link = await createLink(file, { max_downloads: maxDownloads })
    const replies = await Promise.all(Array.from({ length: 100 }, () => follow(link, headers)))
    const served = replies.filter(({ status }) => status < 300)
    t.equal(served.length, maxDownloads)
    t.ok(served.every((reply) => reply.bytes.equals('range' in headers ? bytes.subarray(10, 20) : bytes)))
    t.ok(
      replies.every(
        ({ status, bytes: received, body }) =>
          status < 300 ||
          (status === 410 &&
            body.error.details.constraint === 'used_up' &&
            !received.includes(bytes.subarray(10, 20))),
      ),
    )
    t.match((await owner.client.get(`/storage/files/${file.id}/links/${link.id}`)).body, {
      download_count: maxDownloads,
      max_downloads: maxDownloads,
      status: 'used_up',
    })
  }
})

t.test('no download starts after the response to a revocation', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await createLink(file)
  let isRevoked = false
  const late: number[] = []
  const downloads = Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let i = 0; i < 20; i++) {
        const isAfter = isRevoked
        const { status } = await follow(link)
        if (isAfter) late.push(status)
      }
    }),
  )
  t.equal((await owner.client.delete(`/storage/files/${file.id}/links/${link.id}`)).status, 204)
  isRevoked = true
  await downloads
  t.ok(
    late.every((status) => status === 410),
    [...new Set(late)].join(),
  )
})

t.test('a link has the headers and conditions of a download', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await createLink(file)
  const whole = await follow(link)
  const expected = {
    'content-length': '1000',
    'content-type': 'application/octet-stream',
    etag: file.etag,
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    'set-cookie': null,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
  }
  for (const reply of [whole, await follow(link, {}, 'HEAD')]) {
    t.equal(reply.status, 200)
    t.same(Object.fromEntries(Object.keys(expected).map((name) => [name, reply.headers.get(name)])), expected)
  }
  const part = await follow(link, { range: 'bytes=-10', 'if-range': file.etag })
  t.equal(part.status, 206)
  t.ok(part.bytes.equals(bytes.subarray(990)))
  t.equal((await follow(link, { range: 'bytes=-10', 'if-range': '"other"' })).status, 200)
  const same = await follow(link, { 'if-none-match': file.etag })
  t.equal(same.status, 304)
  t.equal(same.headers.get('cache-control'), 'no-store')
  const named = await download(server.url, `${pathOf(link)}?filename=other.bin`)
  t.equal(named.headers.get('content-disposition'), 'attachment; filename=other.bin')
  t.equal(
    (await follow(link, { authorization: 'Bearer nonsense' })).status,
    200,
    'the Authorization header is ignored',
  )

  for (const [content, name] of [
    ['<!doctype html><script>alert(1)</script>', 'a.html'],
    ['<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 'a.png'],
  ]) {
    const page = await createLink(await uploadFile(owner.client, { bytes: content, name, type: 'image/png' }))
    const { headers } = await download(server.url, `${pathOf(page)}?disposition=inline`)
    t.equal(headers.get('content-disposition'), `attachment; filename=${name}`)
    t.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox")
  }
})

t.test('access to the links of a file', async (t) => {
  const projectId = (await owner.client.post('/projects', { name: 'Files' })).body.id
  const people: Record<string, Person> = { owner, outsider: await server.person() }
  for (const role of ['viewer', 'editor', 'admin'] as const) {
    people[role] = await server.person()
    await createMember(server, projectId, people[role].id, role)
  }
  const file = await uploadFile(owner.client, { bytes, fields: { project_id: projectId } })
  const path = `/storage/files/${file.id}/links`
  const shared = await createLink(file)
  const all = async ({ client }: Person): Promise<number[]> => {
    const created = await client.post(path, {})
    const [list, one, revoked] = [
      await client.get(path),
      await client.get(`${path}/${shared.id}`),
      await client.delete(`${path}/${created.status === 201 ? created.body.id : shared.id}`),
    ]
    return [created.status, list.status, one.status, revoked.status]
  }
  const statuses = async (): Promise<Record<string, number[]>> => {
    const found: Record<string, number[]> = {}
    for (const [who, person] of Object.entries(people)) found[who] = await all(person)
    return found
  }
  const allowed = [201, 200, 200, 204]
  const denied = [403, 403, 403, 403]
  t.same(await statuses(), {
    owner: allowed,
    admin: allowed,
    editor: allowed,
    viewer: denied,
    outsider: denied,
  })
  t.equal((await download(server.url, path)).status, 401)
  t.same(await all(await server.person({ scopes: ['storage:write'] })), denied)
  const mine = await uploadFile(owner.client, { bytes })
  t.equal(
    (await people.admin.client.post(`/storage/files/${mine.id}/links`, {})).status,
    403,
    'a file outside of projects is for its owner only',
  )
  const reader = await server.person({ scopes: ['storage:read'] })
  const own = await uploadFile((await server.person()).client, { bytes })
  t.equal((await reader.client.post(`/storage/files/${own.id}/links`, {})).status, 403)
  const another = await createLink(mine)
  t.equal(
    (await owner.client.get(`${path}/${another.id}`)).status,
    404,
    'a link of another file is not found',
  )
  t.equal((await owner.client.delete(`${path}/${another.id}`)).status, 404)
  t.equal((await follow(another)).status, 200)

  const link = await createLink(file, {}, people.editor)
  t.equal((await owner.client.post(`/projects/${projectId}/archive`)).status, 200)
  const archived = [409, 200, 200, 409]
  t.same(
    await statuses(),
    { owner: archived, admin: archived, editor: archived, viewer: denied, outsider: denied },
    'an archived project is read-only',
  )
  t.equal((await follow(link)).status, 200, 'existing links still work')
  await owner.client.post(`/projects/${projectId}/unarchive`)

  const member = (await owner.client.get(`/projects/${projectId}/members?limit=100`)).body.data.find(
    (one: any) => one.user.id === people.editor.id,
  )
  t.equal((await owner.client.delete(`/projects/${projectId}/members/${member.id}`)).status, 204)
  t.same(await all(people.editor), denied)
  t.equal((await follow(link)).status, 410, 'the links of a removed member end')
  t.equal((await server.admin.client.delete(`/users/${people.editor.id}`)).status, 204)
  t.equal((await follow(link)).status, 410)
  t.equal(
    (await owner.client.get(`${path}/${link.id}`)).body.created_by,
    people.editor.id,
    'created_by still names the deleted user',
  )
  t.equal((await owner.client.delete(`${path}/${link.id}`)).status, 204, 'other editors can revoke the link')
  t.equal((await follow(link)).status, 410)

  t.equal((await follow(shared)).status, 200)
  await owner.client.delete(`/projects/${projectId}`)
  t.equal((await follow(shared)).status, 404, 'the links of a deleted project do not work')
})

t.test('the links of a deleted user do not work', async (t) => {
  const person = await server.person()
  const link = await createLink(await uploadFile(person.client, { bytes }), {}, person)
  t.equal((await follow(link)).status, 200)
  t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
  t.equal((await follow(link)).status, 404)
})

t.test('a link to a public file has its own limits', async (t) => {
  const file = await uploadFile(owner.client, { bytes, fields: { visibility: 'public' } })
  const link = await createLink(file, { max_downloads: 1 })
  const first = await follow(link)
  t.equal(first.status, 200)
  t.equal(
    first.headers.get('cache-control'),
    'no-store',
    'a link is not cacheable, because a cache would not count',
  )
  t.equal((await follow(link)).status, 410, 'max_downloads still applies')
  t.equal((await download(server.url, `/storage/files/${file.id}/download`)).status, 200)
  const other = await createLink(file)
  await owner.client.put(`/storage/files/${file.id}`, { visibility: 'private' })
  t.equal((await follow(other)).status, 200, 'a link works when the file is private again')
  t.equal((await follow(other)).headers.get('cache-control'), 'no-store')
})

t.test('a link redirects to a presigned URL', { skip: noS3 }, async (t) => {
  const { endpoint, region, accessKeyId, secretAccessKey, bucket } = await startS3(t)
  const env = {
    STORAGE: 's3',
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
  }
  const streaming = await startServer(t, { databaseUrl: server.databaseUrl, env })
  const redirecting = await startServer(t, {
    databaseUrl: server.databaseUrl,
    env: { ...env, S3_REDIRECT: 'true' },
  })
  const at = ({ url }: { url: string }, link: { url: string }, method = 'GET') =>
    download(url, pathOf(link), { method })
  const file = await uploadFile(createClient(streaming.url, owner.key), { bytes, name: 'a.bin' })
  const link = await createLink(file, { max_downloads: 3 })
  t.ok((await at(streaming, link)).bytes.equals(bytes))
  t.equal((await at(redirecting, link, 'HEAD')).status, 200)
  const redirect = await at(redirecting, link)
  t.equal(redirect.status, 302)
  t.equal(redirect.headers.get('cache-control'), 'no-store')
  t.equal(redirect.bytes.length, 0)
  const target = await fetch(redirect.headers.get('location')!)
  t.ok(Buffer.from(await target.arrayBuffer()).equals(bytes))
  t.equal(target.headers.get('content-disposition'), 'attachment; filename=a.bin')
  t.equal(await countOf(link), 2)
  const racers = await Promise.all(Array.from({ length: 20 }, () => at(redirecting, link)))
  t.equal(racers.filter(({ status }) => status === 302).length, 1)
  t.ok(
    racers.every(
      ({ status, headers }) => status === 302 || (status === 410 && headers.get('location') === null),
    ),
  )
  t.notOk(redirecting.logs.join('').includes('X-Amz-'))
})
