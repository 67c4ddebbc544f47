// Links: whoever has one may download, as often and as long as it says, and nobody else learns anything.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { createClient } from '../support/client.ts'
import { acceptUpload, startFakeS3 } from '../support/fake-s3.ts'
import { noS3, startS3 } from '../../scripts/test/s3-server.ts'
import { startServer, type Person } from '../support/server.ts'
import { download, openConnection, uploadFile } from '../support/storage.ts'
import { waitUntil } from '../support/wait.ts'

const server = await startServer(t)
const owner = await server.person()
const bytes = randomBytes(1000)
const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The address as `download` takes it. */
const pathOf = ({ url }: { url: string }): string => new URL(url).pathname.slice('/v1'.length)
const tokenOf = ({ url }: { url: string }): string => url.slice(url.lastIndexOf('/') + 1)

async function linked(
  file: { id: string },
  body: Record<string, unknown> = {},
  person: Person = owner,
): Promise<any> {
  const reply = await person.client.post(`/storage/files/${file.id}/links`, body)
  if (reply.status !== 201) throw new Error(`no link: ${reply.status} ${reply.text}`)
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

t.test('a link is made, shown once, listed, followed and revoked', async (t) => {
  const file = await uploadFile(owner.client, { bytes, name: 'report é.pdf' })
  const path = `/storage/files/${file.id}/links`
  const made = await owner.client.post(path, { expires_in_seconds: 60, max_downloads: 5 })
  t.equal(made.status, 201)
  const { url, ...link } = made.body
  t.same(link, {
    id: link.id,
    file_id: file.id,
    project_id: null,
    status: 'active',
    max_downloads: 5,
    download_count: 0,
    created_by: owner.id,
    expires_at: new Date(Date.parse(link.created_at) + 60_000).toISOString(),
    created_at: link.created_at,
  })
  t.equal(made.headers.get('location'), `/v1${path}/${link.id}`)
  t.equal(made.headers.get('cache-control'), 'no-store')
  t.match(url, new RegExp(`^${server.url}/v1/storage/links/[\\w-]{43}$`))

  const one = await owner.client.get(`${path}/${link.id}`)
  t.same(one.body, link, 'without its address')
  t.same((await owner.client.get(path)).body, {
    data: [link],
    pagination: { page: 1, limit: 20, total: 1, total_pages: 1 },
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
    'a download is no change',
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
  const over = await follow({ url })
  t.equal(over.status, 410)
  t.match(over.body.error, { code: 'GONE', details: { constraint: 'revoked' } })
  t.equal((await owner.client.delete(`${path}/${link.id}`)).status, 204, 'twice is once')
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

t.test('what a link may be', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const path = `/storage/files/${file.id}/links`
  const plain = await linked(file)
  t.equal(Date.parse(plain.expires_at) - Date.parse(plain.created_at), 86_400_000, 'a day')
  t.equal(plain.max_downloads, null)
  t.equal((await linked(file, { max_downloads: null, expires_in_seconds: 31_536_000 })).max_downloads, null)
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
  const tokens = new Set((await Promise.all(Array.from({ length: 30 }, () => linked(file)))).map(tokenOf))
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
  t.notOk(again.status === 201 && again.body.url !== first.body.url, 'no second link')
  t.equal((await owner.client.get(path)).body.pagination.total, 33)
})

t.test('the token is nowhere but in the address', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await linked(file)
  const token = tokenOf(link)
  await follow(link)
  await follow(link, { range: 'bytes=99999-' })
  await owner.client.delete(`/storage/files/${file.id}/links/${link.id}`)
  t.notOk((await follow(link)).bytes.includes(token), 'a refusal does not repeat it')
  t.notOk(server.logs.join('').includes(token), 'not in the log')
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
    t.notOk(found, `not in ${name}`)
  }
  const [{ stored }] = await database.prisma.$queryRawUnsafe<Array<{ stored: string }>>(
    "SELECT encode(digest, 'hex') AS stored FROM file_links WHERE id = $1",
    link.id,
  )
  t.equal(stored, digest(token))
})

t.test('a token that is none, or whose file is gone, is one and the same 404', async (t) => {
  const deleted = await linked(await uploadFile(owner.client, { bytes }))
  await owner.client.delete(`/storage/files/${deleted.file_id}`)
  const expired = await linked(await uploadFile(owner.client, { bytes }))
  await owner.client.put(`/storage/files/${expired.file_id}`, {
    expires_at: new Date(Date.now() + 300).toISOString(),
  })
  await waitUntil(async () => (await follow(expired)).status !== 200, 'the file to expire')
  const alive = await linked(await uploadFile(owner.client, { bytes }))
  const token = tokenOf(alive)
  const near = [
    token.slice(0, -1) + (token.endsWith('A') ? 'Q' : 'A'),
    token.toUpperCase(),
    token.toLowerCase(),
    [...token].reverse().join(''),
    alive.id.padEnd(43, '0').slice(0, 43),
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
      const { status, headers: said, body } = await follow(link, headers)
      delete body.error.details.request_id
      shapes.add(
        JSON.stringify([
          status,
          body,
          said.get('cache-control'),
          said.get('content-type'),
          said.get('www-authenticate'),
          said.get('etag'),
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
    t.equal((await follow({ url: `${server.url}/v1/storage/links/${wrong}` })).status, 400, wrong)
  }
  t.equal((await download(server.url, '/storage/links/')).status, 404)
  t.equal((await follow(alive)).status, 200)
  t.equal((await owner.client.get(`/storage/files/${expired.file_id}/links`)).status, 404)
  t.equal((await owner.client.post(`/storage/files/${expired.file_id}/links`, {})).status, 404)
})

t.test('a link that is over is 410, and says why', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const short = await linked(file, { expires_in_seconds: 1 })
  t.equal((await follow(short)).status, 200)
  await waitUntil(async () => (await follow(short)).status !== 200, 'the link to expire')
  const single = await linked(file, { max_downloads: 1 })
  t.equal((await follow(single)).status, 200)
  const revoked = await linked(file)
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

t.test('every answer with bytes counts, and no other', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await linked(file, { max_downloads: 3 })
  const free: Array<[status: number, headers: Record<string, string>, method?: string]> = [
    [200, {}, 'HEAD'],
    [200, { range: 'bytes=0-1' }, 'HEAD'],
    [304, { 'if-none-match': file.etag }],
    [416, { range: 'bytes=1000-' }],
    [406, { accept: 'image/png' }],
  ]
  const ask = async (): Promise<void> => {
    for (const [status, headers, method] of free)
      t.equal((await follow(link, headers, method)).status, status, JSON.stringify(headers))
  }
  await ask()
  t.equal(await countOf(link), 0)
  t.equal((await follow(link, { range: 'bytes=0-499' })).status, 206)
  await ask()
  t.equal((await follow(link, { range: 'bytes=500-' })).status, 206)
  t.equal(await countOf(link), 2)

  const wire = await openConnection(t, server.url)
  await wire.write(`GET /v1${pathOf(link)} HTTP/1.1\r\nhost: x\r\n\r\n`)
  await waitUntil(() => wire.received() !== '', 'the answer')
  wire.socket.resetAndDestroy()
  t.equal(await countOf(link), 3, 'also for a client that leaves')
  t.equal((await follow(link)).status, 410)
  const count = async (): Promise<number> =>
    (await owner.client.get(`/storage/files/${file.id}`)).body.download_count
  await waitUntil(async () => (await count()) >= 3, 'the count of the file')
  t.equal(await count(), 3)
})

t.test('bytes that are not there do not count', async (t) => {
  const link = await linked(await uploadFile(owner.client, { bytes }), { max_downloads: 1 })
  await (await server.services.storage.blobStore()).delete([link.file_id])
  for (let i = 0; i < 3; i++) t.equal((await follow(link)).status, 500)
  t.equal(await countOf(link), 0)
})

t.test('a store that fails uses no link up', async (t) => {
  let failing = false
  const { env } = await startFakeS3(t, (request, response) => {
    if (failing) return response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>')
    if (request.method === 'GET') return response.end('content')
    acceptUpload(request, response)
  })
  const server = await startServer(t, { env })
  const person = await server.person()
  const link = await linked(await uploadFile(person.client), { max_downloads: 1 }, person)
  failing = true
  for (let i = 0; i < 2; i++) t.equal((await download(server.url, pathOf(link))).status, 503)
  failing = false
  t.equal((await download(server.url, pathOf(link))).bytes.toString(), 'content')
  t.equal((await download(server.url, pathOf(link))).status, 410)
})

t.test('of 100 at once exactly as many succeed as may', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  for (const [most, headers] of [
    [7, {}],
    [1, {}],
    [30, { range: 'bytes=10-19' }],
  ] as Array<[number, Record<string, string>]>) {
    const link = await linked(file, { max_downloads: most })
    const replies = await Promise.all(Array.from({ length: 100 }, () => follow(link, headers)))
    const served = replies.filter(({ status }) => status < 300)
    t.equal(served.length, most)
    t.ok(served.every((reply) => reply.bytes.equals('range' in headers ? bytes.subarray(10, 20) : bytes)))
    t.ok(
      replies.every(
        ({ status, bytes: came, body }) =>
          status < 300 ||
          (status === 410 &&
            body.error.details.constraint === 'used_up' &&
            !came.includes(bytes.subarray(10, 20))),
      ),
    )
    t.match((await owner.client.get(`/storage/files/${file.id}/links/${link.id}`)).body, {
      download_count: most,
      max_downloads: most,
      status: 'used_up',
    })
  }
})

t.test('revoked while many come: none begins after the answer', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await linked(file)
  let revoked = false
  const late: number[] = []
  const coming = Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let i = 0; i < 20; i++) {
        const after = revoked
        const { status } = await follow(link)
        if (after) late.push(status)
      }
    }),
  )
  t.equal((await owner.client.delete(`/storage/files/${file.id}/links/${link.id}`)).status, 204)
  revoked = true
  await coming
  t.ok(
    late.every((status) => status === 410),
    [...new Set(late)].join(),
  )
})

t.test('the bytes as a download has them', async (t) => {
  const file = await uploadFile(owner.client, { bytes })
  const link = await linked(file)
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
    'no key is asked for, nor looked at',
  )

  for (const [content, name] of [
    ['<!doctype html><script>alert(1)</script>', 'a.html'],
    ['<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 'a.png'],
  ]) {
    const page = await linked(await uploadFile(owner.client, { bytes: content, name, type: 'image/png' }))
    const { headers } = await download(server.url, `${pathOf(page)}?disposition=inline`)
    t.equal(headers.get('content-disposition'), `attachment; filename=${name}`)
    t.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox")
  }
})

t.test('who may make, see and revoke links', async (t) => {
  const projectId = (await owner.client.post('/projects', { name: 'Files' })).body.id
  const people: Record<string, Person> = { owner, outsider: await server.person() }
  for (const role of ['viewer', 'editor', 'admin']) {
    people[role] = await server.person()
    await owner.client.post(`/projects/${projectId}/members`, { user_id: people[role].id, role })
  }
  const file = await uploadFile(owner.client, { bytes, fields: { project_id: projectId } })
  const path = `/storage/files/${file.id}/links`
  const shared = await linked(file)
  const all = async ({ client }: Person): Promise<number[]> => {
    const made = await client.post(path, {})
    const [list, one, revoked] = [
      await client.get(path),
      await client.get(`${path}/${shared.id}`),
      await client.delete(`${path}/${made.status === 201 ? made.body.id : shared.id}`),
    ]
    return [made.status, list.status, one.status, revoked.status]
  }
  const everybody = async (): Promise<Record<string, number[]>> => {
    const found: Record<string, number[]> = {}
    for (const [who, person] of Object.entries(people)) found[who] = await all(person)
    return found
  }
  const yes = [201, 200, 200, 204]
  const no = [403, 403, 403, 403]
  t.same(await everybody(), { owner: yes, admin: yes, editor: yes, viewer: no, outsider: no })
  t.equal((await download(server.url, path)).status, 401)
  t.same(await all(await server.person({ scopes: ['storage:write'] })), no)
  const mine = await uploadFile(owner.client, { bytes })
  t.equal(
    (await people.admin.client.post(`/storage/files/${mine.id}/links`, {})).status,
    403,
    "a file in no project is its owner's alone",
  )
  const reader = await server.person({ scopes: ['storage:read'] })
  const own = await uploadFile((await server.person()).client, { bytes })
  t.equal((await reader.client.post(`/storage/files/${own.id}/links`, {})).status, 403)
  const another = await linked(mine)
  t.equal(
    (await owner.client.get(`${path}/${another.id}`)).status,
    404,
    "a link of another file is not this one's",
  )
  t.equal((await owner.client.delete(`${path}/${another.id}`)).status, 404)
  t.equal((await follow(another)).status, 200)

  const made = await linked(file, {}, people.editor)
  t.equal((await owner.client.post(`/projects/${projectId}/archive`)).status, 200)
  const archived = [409, 200, 200, 409]
  t.same(
    await everybody(),
    { owner: archived, admin: archived, editor: archived, viewer: no, outsider: no },
    'archived: nothing changes',
  )
  t.equal((await follow(made)).status, 200, 'and what is given away is still there')
  await owner.client.post(`/projects/${projectId}/unarchive`)

  const member = (await owner.client.get(`/projects/${projectId}/members?limit=100`)).body.data.find(
    (one: any) => one.user.id === people.editor.id,
  )
  t.equal((await owner.client.delete(`/projects/${projectId}/members/${member.id}`)).status, 204)
  t.same(await all(people.editor), no)
  t.equal((await follow(made)).status, 200, "a link is the file's, whoever made it")
  t.equal((await server.admin.client.delete(`/users/${people.editor.id}`)).status, 204)
  t.equal((await follow(made)).status, 200)
  t.equal(
    (await owner.client.get(`${path}/${made.id}`)).body.created_by,
    people.editor.id,
    'the others see who did',
  )
  t.equal((await owner.client.delete(`${path}/${made.id}`)).status, 204, 'and may end it')
  t.equal((await follow(made)).status, 410)

  t.equal((await follow(shared)).status, 200)
  await owner.client.delete(`/projects/${projectId}`)
  t.equal((await follow(shared)).status, 404, 'with the project it is gone')
})

t.test('with its owner a file in no project is gone, and its links', async (t) => {
  const leaver = await server.person()
  const link = await linked(await uploadFile(leaver.client, { bytes }), {}, leaver)
  t.equal((await follow(link)).status, 200)
  t.equal((await server.admin.client.delete(`/users/${leaver.id}`)).status, 204)
  t.equal((await follow(link)).status, 404)
})

t.test('a link to a file that is public', async (t) => {
  const file = await uploadFile(owner.client, { bytes, fields: { visibility: 'public' } })
  const link = await linked(file, { max_downloads: 1 })
  const first = await follow(link)
  t.equal(first.status, 200)
  t.equal(first.headers.get('cache-control'), 'no-store', 'and is in no cache, which would not count')
  t.equal((await follow(link)).status, 410, 'keeps its own limits')
  t.equal((await download(server.url, `/storage/files/${file.id}/download`)).status, 200)
  const other = await linked(file)
  await owner.client.put(`/storage/files/${file.id}`, { visibility: 'private' })
  t.equal((await follow(other)).status, 200, 'and holds when it is private again')
  t.equal((await follow(other)).headers.get('cache-control'), 'no-store')
})

t.test('a link to a store that answers itself', { skip: noS3 }, async (t) => {
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
  const link = await linked(file, { max_downloads: 3 })
  t.ok((await at(streaming, link)).bytes.equals(bytes))
  t.equal((await at(redirecting, link, 'HEAD')).status, 200)
  const sent = await at(redirecting, link)
  t.equal(sent.status, 302)
  t.equal(sent.headers.get('cache-control'), 'no-store')
  t.equal(sent.bytes.length, 0)
  const there = await fetch(sent.headers.get('location')!)
  t.ok(Buffer.from(await there.arrayBuffer()).equals(bytes))
  t.equal(there.headers.get('content-disposition'), 'attachment; filename=a.bin')
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
