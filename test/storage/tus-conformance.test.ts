// Conformance with tus: the same exchanges with this server and with the reference server @tus/server, whose
// responses are compared, and special features of the official client.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'
import t, { type Test } from 'tap'
import * as tus from 'tus-js-client'
import { cuttingProxy } from '../support/http/cutting-proxy.ts'
import { listen } from '../support/http/listen.ts'
import { startServer } from '../support/server/server.ts'
import { download } from '../support/storage/storage.ts'
import { bytesType, encodeMetadata, tusClient } from '../support/http/tus.ts'
import { waitUntil } from '../support/server/wait.ts'

const maxBytes = 64 * 1024 * 1024
const hours = 24
const server = await startServer(t, {
  env: { UPLOAD_MAX_BYTES: String(maxBytes), RESUMABLE_UPLOAD_HOURS: String(hours) },
})
const endpoint = `${server.url}/v1/storage/uploads`

interface Answer {
  status: number
  headers: IncomingHttpHeaders
}

/** One of the two servers, and its responses by the name of the exchange. */
interface TusServer {
  endpoint: string
  /** The URL of an upload that does not exist. */
  unknown: string
  answers: Map<string, { method: string; answer: Answer }>
  /** Sends a request; the header names keep their case. */
  exchange(
    method: string,
    url: string,
    headers: Record<string, string>,
    body?: string | string[],
  ): Promise<Answer>
  /** Sends a request and stores the response under a name for comparison. */
  send(
    name: string,
    method: string,
    url: string,
    headers?: Record<string, string>,
    body?: string | string[],
  ): Promise<Answer>
  /** Creates an upload that is not compared. @returns its URL. */
  createUpload(length: number, bytes?: string): Promise<string>
}

function createTusServer(endpoint: string, unknown: string, own: Record<string, string>): TusServer {
  const exchange = async (
    method: string,
    url: string,
    headers: Record<string, string>,
    body?: string | string[],
  ): Promise<Answer> => {
    const call = request(url, { method, agent: false, headers: { ...own, ...headers } })
    // Several chunks are sent without a Content-Length.
    if (Array.isArray(body)) for (const chunk of body) call.write(chunk)
    else call.setHeader('content-length', Buffer.byteLength(body ?? ''))
    call.end(Array.isArray(body) ? undefined : body)
    const [response] = await once(call, 'response')
    await response.toArray()
    return { status: response.statusCode, headers: response.headers }
  }
  const side: TusServer = {
    endpoint,
    unknown: `${endpoint}/${unknown}`,
    answers: new Map(),
    exchange,
    async send(name, method, url, headers = v1, body) {
      if (side.answers.has(name)) throw new Error(`duplicate exchange: ${name}`)
      const answer = await exchange(method, url, headers, body)
      side.answers.set(name, { method, answer })
      return answer
    },
    async createUpload(length, bytes) {
      const { status, headers } = await exchange(
        'POST',
        endpoint,
        {
          ...creation,
          'upload-length': String(length),
          ...(bytes !== undefined && { 'content-type': bytesType }),
        },
        bytes,
      )
      if (status !== 201) throw new Error(`the upload was not created: ${status}`)
      return at(headers.location)
    },
  }
  return side

  function at(location: string | undefined): string {
    return new URL(location!, endpoint).href
  }
}

async function startReferenceServer(t: Test): Promise<TusServer> {
  const directory = await mkdtemp(join(tmpdir(), 'tus-'))
  const datastore = new FileStore({ directory, expirationPeriodInMilliseconds: hours * 3_600_000 })
  datastore.extensions = datastore.extensions.filter((name) => name !== 'creation-defer-length')
  const tusServer = new Server({ path: '/files', datastore, maxSize: maxBytes })
  const http = createServer((request, response) => {
    void tusServer.handle(request, response)
  })
  const port = await listen(t, http)
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return createTusServer(`http://127.0.0.1:${port}/files`, '0123456789abcdef0123456789abcdef', {})
}

const v1 = { 'tus-resumable': '1.0.0' }
const creation = { ...v1, 'upload-metadata': encodeMetadata({ filename: 'a.txt' }) }
const patch = (offset: number | string, more: Record<string, string> = {}) => ({
  ...v1,
  'upload-offset': String(offset),
  'content-type': bytesType,
  ...more,
})

async function exchanges({
  endpoint,
  unknown,
  answers,
  exchange,
  send,
  createUpload,
}: TusServer): Promise<void> {
  const create = (name: string, headers: Record<string, string> = {}, body?: string | string[]) =>
    send(name, 'POST', endpoint, { ...creation, 'upload-length': '10', ...headers }, body)

  await send('OPTIONS', 'OPTIONS', endpoint, {})
  await send('OPTIONS with another version', 'OPTIONS', endpoint, { 'tus-resumable': '0.2.2' })

  await create('create')
  await create('create empty', { 'upload-length': '0' })
  await create('create with more metadata', {
    'upload-metadata': encodeMetadata({ filename: 'täglich.txt', filetype: 'text/plain', path: 'a/b' }),
  })
  await create('create with a key without a value', {
    'upload-metadata': `is_confidential,${creation['upload-metadata']}`,
  })
  await create('create with a key and a space', {
    'upload-metadata': `is_confidential ,${creation['upload-metadata']}`,
  })
  await create('create with a space after the comma', {
    'upload-metadata': `${creation['upload-metadata']}, filetype dGV4dA==`,
  })
  await create('create with empty metadata', { 'upload-metadata': '' })
  await create('create with a value of two words', { 'upload-metadata': `${creation['upload-metadata']} x` })
  await create('create with no key', { 'upload-metadata': `${creation['upload-metadata']},` })
  await create('create with a key that is not ASCII', {
    'upload-metadata': `${creation['upload-metadata']},\xe4 YQ==`,
  })
  await create('create with a value that is not Base64', {
    'upload-metadata': `${creation['upload-metadata']},b %%%%`,
  })
  await create('create with a truncated value', {
    'upload-metadata': `${creation['upload-metadata']},b YQ`,
  })
  await create('create with a key twice', {
    'upload-metadata': `${creation['upload-metadata']},b YQ==,b Yg==`,
  })
  await send('create without metadata', 'POST', endpoint, { ...v1, 'upload-length': '10' })
  await send('create without a length', 'POST', endpoint, creation)
  for (const length of ['-1', 'ten', '1e1', '1.5', '0x1', '01', '', '9007199254740993'])
    await create(`create with the length ${JSON.stringify(length)}`, { 'upload-length': length })
  await create('create with the maximum length', { 'upload-length': String(maxBytes) })
  await create('create above the maximum length', { 'upload-length': String(maxBytes + 1) })
  await send('create with a deferred length', 'POST', endpoint, {
    ...creation,
    'upload-defer-length': '1',
  })
  await create('create with a length and a deferred length', { 'upload-defer-length': '1' })
  await create('create with an invalid deferred length', { 'upload-defer-length': '2' })
  await create('create a partial upload', { 'upload-concat': 'partial' })
  await send('create a concatenation', 'POST', endpoint, {
    ...creation,
    'upload-concat': `final;${endpoint}/a ${endpoint}/b`,
  })
  await create('create with all bytes', { 'content-type': bytesType }, '0123456789')
  await create('create with some bytes', { 'content-type': bytesType }, '0123')
  await create('create with chunked bytes', { 'content-type': bytesType }, ['01', '23'])
  await create('create with a content type and no bytes', { 'content-type': bytesType })
  await create('create with too many bytes', { 'content-type': bytesType }, '0123456789a')
  await create('create with another content type and no bytes', {
    'content-type': 'application/x-www-form-urlencoded',
  })
  await create('create with bytes and another content type', { 'content-type': 'text/plain' }, '0123')
  await send('create without a version', 'POST', endpoint, {
    'upload-length': '10',
    'upload-metadata': creation['upload-metadata'],
  })
  await create('create with another version', { 'tus-resumable': '0.2.2' })
  await send('create with another version and nothing else', 'POST', endpoint, { 'tus-resumable': '2.0.0' })
  await send('create with upper-case names', 'POST', endpoint, {
    'TUS-RESUMABLE': '1.0.0',
    'UPLOAD-LENGTH': '10',
    'UPLOAD-METADATA': creation['upload-metadata'],
  })

  const path = await createUpload(10)
  await send('HEAD of a new upload', 'HEAD', path)
  await send('PATCH', 'PATCH', path, patch(0), '01')
  await send('HEAD of a started upload', 'HEAD', path)
  await send('PATCH at offset 0 again', 'PATCH', path, patch(0), '01')
  await send('PATCH one byte before the offset', 'PATCH', path, patch(1), '12')
  await send('PATCH after the offset', 'PATCH', path, patch(3), '34')
  await send('PATCH after the end', 'PATCH', path, patch(11), 'b')
  for (const offset of ['-1', 'two', '2.0', '1e0', '02', ''])
    await send(`PATCH at ${JSON.stringify(offset)}`, 'PATCH', path, patch(offset), '23')
  await send('PATCH without an offset', 'PATCH', path, { ...v1, 'content-type': bytesType }, '23')
  await send(
    'PATCH with another content type',
    'PATCH',
    path,
    patch(2, { 'content-type': 'application/octet-stream' }),
    '23',
  )
  await send('PATCH without a content type', 'PATCH', path, { ...v1, 'upload-offset': '2' }, '23')
  await send(
    'PATCH with the content type in another case',
    'PATCH',
    path,
    patch(2, { 'content-type': 'Application/Offset+Octet-Stream' }),
    '',
  )
  await send('PATCH without bytes', 'PATCH', path, patch(2))
  await send('PATCH without bytes and content type', 'PATCH', path, { ...v1, 'upload-offset': '2' })
  await send(
    'PATCH with another length',
    'PATCH',
    await createUpload(10),
    patch(0, { 'upload-length': '3' }),
    '0',
  )
  await send('PATCH with too many bytes', 'PATCH', path, patch(2), '23456789a')
  await send('PATCH with too many chunked bytes', 'PATCH', path, patch(2), ['23456', '789a'])
  await send('HEAD after rejected requests', 'HEAD', path)
  await send(
    'PATCH without a version',
    'PATCH',
    path,
    { 'upload-offset': '2', 'content-type': bytesType },
    '23',
  )
  await send('PATCH with another version', 'PATCH', path, patch(2, { 'tus-resumable': '0.2.2' }), '23')
  await send('HEAD without a version', 'HEAD', path, {})
  await send('HEAD with another version', 'HEAD', path, { 'tus-resumable': '0.2.2' })
  await send(
    'PATCH with upper-case names',
    'PATCH',
    path,
    { 'TUS-RESUMABLE': '1.0.0', 'UPLOAD-OFFSET': '2', 'CONTENT-TYPE': bytesType },
    '23',
  )
  await send(
    'PATCH with lower-case names',
    'PATCH',
    path,
    { 'tus-resumable': '1.0.0', 'upload-offset': '4', 'content-type': bytesType },
    '4',
  )
  await send('PATCH with chunked bytes', 'PATCH', path, patch(5), ['5', '6'])
  await send(
    'POST with the override PATCH',
    'POST',
    path,
    patch(7, { 'x-http-method-override': 'PATCH' }),
    '7',
  )
  await send(
    'POST with an invalid override',
    'POST',
    path,
    patch(8, { 'x-http-method-override': 'TRACE' }),
    '8',
  )
  await send('HEAD after POST with the override PATCH', 'HEAD', path)
  const finished = await createUpload(10, '012345678')
  await send('PATCH with the last byte', 'PATCH', finished, patch(9), '9')
  await send('HEAD of a finished upload', 'HEAD', finished)
  await send('PATCH of a finished upload without bytes', 'PATCH', finished, patch(10))
  await send('PATCH of a finished upload with more bytes', 'PATCH', finished, patch(10), 'a')
  await send('PATCH of a finished upload at offset 0', 'PATCH', finished, patch(0), '0')
  await send('DELETE of a finished upload', 'DELETE', finished)
  await send('HEAD of a deleted finished upload', 'HEAD', finished)

  await send('DELETE with another version', 'DELETE', path, { 'tus-resumable': '0.2.2' })
  await send('DELETE', 'DELETE', path)
  await send('HEAD after DELETE', 'HEAD', path)
  await send('PATCH after DELETE', 'PATCH', path, patch(2), '23')
  await send('DELETE after DELETE', 'DELETE', path)
  await send('DELETE without a version', 'DELETE', await createUpload(1), {})
  await send('POST with the override DELETE', 'POST', await createUpload(1), {
    ...v1,
    'x-http-method-override': 'DELETE',
  })
  for (const method of ['HEAD', 'DELETE'] as const)
    await send(`${method} of a missing upload`, method, unknown)
  await send('PATCH of a missing upload', 'PATCH', unknown, patch(0), '0')

  const raced = await createUpload(2_000_000)
  const racers = await Promise.all(
    ['a', 'b'].map((letter) => exchange('PATCH', raced, patch(0), letter.repeat(1_000_000))),
  )
  // Either request may be the first.
  for (const [i, answer] of racers.sort((a, b) => a.status - b.status).entries())
    answers.set(`parallel PATCH ${i}`, { method: 'PATCH', answer })
  await send('HEAD after parallel PATCHes', 'HEAD', raced)
}

interface Shape {
  status: number
  version: string | null
  offset: string | null
  length: string | null
  metadata: string | null
  expires: boolean
  location: string | null
  cache: string | null
}

const text = (value: string | string[] | undefined): string | null =>
  value === undefined ? null : String(value)

function shapeOf({ endpoint }: TusServer, method: string, { status, headers }: Answer): Shape {
  const location = headers.location === undefined ? null : new URL(headers.location, endpoint).href
  return {
    status,
    // OPTIONS does not need the header.
    version: method === 'OPTIONS' ? null : text(headers['tus-resumable']),
    offset: text(headers['upload-offset']),
    length: text(headers['upload-length']),
    metadata: text(headers['upload-metadata']),
    // A HEAD response need not repeat the expiry.
    expires:
      method !== 'HEAD' &&
      headers['upload-expires'] !== undefined &&
      Date.parse(text(headers['upload-expires'])!) > Date.now(),
    location: location === null ? null : location.replace(endpoint, '').replace(/^\/[^/?#]+$/, '/…'),
    cache: method === 'HEAD' && status === 200 ? text(headers['cache-control']) : null,
  }
}

/** The intended differences to the reference server, and their reasons. */
const differences: Record<string, { is: Partial<Shape>; why: string }> = {
  'create empty': { is: { offset: '0' }, why: 'an empty upload is finished at once' },
  'create with a space after the comma': {
    is: { status: 201, expires: true, location: '/…' },
    why: 'the space is unambiguous',
  },
  'create without metadata': {
    is: { status: 400, expires: false, location: null },
    why: 'a file needs a name',
  },
  'create with bytes and another content type': {
    is: { status: 415, expires: false, location: null },
    why: 'bytes are not discarded silently',
  },
  'PATCH without an offset': { is: { status: 400 }, why: '403 is for missing permissions' },
  'PATCH with another content type': { is: { status: 415 }, why: 'the tus specification requires it' },
  'PATCH without a content type': { is: { status: 415 }, why: 'the tus specification requires it' },
  'PATCH without bytes and content type': { is: { status: 415 }, why: 'the tus specification requires it' },
  'PATCH with the content type in another case': {
    is: { status: 204, offset: '2', expires: true },
    why: 'media types are case-insensitive',
  },
  'PATCH with another length': {
    is: { status: 204, offset: '1', expires: true },
    why: 'Upload-Length is ignored after the creation',
  },
  'HEAD without a version': {
    is: { status: 200, offset: '2', length: '10', metadata: creation['upload-metadata'], cache: 'no-store' },
    why: 'JSON clients need no Tus-Resumable',
  },
  'DELETE without a version': { is: { status: 204 }, why: 'JSON clients need no Tus-Resumable' },
  'POST with the override PATCH': {
    is: { status: 204, offset: '8', expires: true },
    why: 'the tus specification requires the override',
  },
  'POST with the override DELETE': {
    is: { status: 204 },
    why: 'the tus specification requires the override',
  },
  'POST with an invalid override': {
    is: { status: 405, version: null },
    why: 'not a method of the protocol',
  },
  'HEAD after POST with the override PATCH': { is: { offset: '8' }, why: 'the override was applied' },
  ...same(
    [
      'create with a deferred length',
      'create with a length and a deferred length',
      'create a partial upload',
      'create a concatenation',
    ],
    {
      is: { status: 400 },
      why: 'a request that needs an unsupported extension is rejected',
    },
  ),
  ...same(
    ['create', 'PATCH', 'HEAD', 'DELETE']
      .map((name) => `${name} with another version`)
      .concat('create with another version and nothing else'),
    { is: { status: 412 }, why: 'the tus specification requires it, with Tus-Version' },
  ),
}

function same<T>(names: string[], value: T): Record<string, T> {
  return Object.fromEntries(names.map((name) => [name, value]))
}

t.test('the responses equal those of the reference server', async (t) => {
  const person = await server.person()
  const reference = await startReferenceServer(t)
  const ours = createTusServer(endpoint, 'upl_01jd6y8m5qe8btc4y5w1r0n3fz', {
    authorization: `Bearer ${person.key}`,
  })
  await Promise.all([exchanges(reference), exchanges(ours)])
  t.ok(reference.answers.size >= 80, `${reference.answers.size} exchanges`)
  const different: string[] = []
  for (const [name, { method, answer }] of reference.answers) {
    const expected = shapeOf(reference, method, answer)
    const found = shapeOf(ours, method, ours.answers.get(name)!.answer)
    t.same(
      found,
      { ...expected, ...differences[name]?.is },
      `${name}${name in differences ? `: ${differences[name].why}` : ''}`,
    )
    if (!isDeepStrictEqual(found, expected)) different.push(name)
  }
  t.same(different.sort(), Object.keys(differences).sort(), 'exactly the intended differences exist')
  for (const [
    name,
    {
      answer: { status, headers },
    },
  ] of ours.answers) {
    if (status === 412) t.equal(headers['tus-version'], '1.0.0', name)
  }
  const optionsHeader = (side: TusServer, name: string) =>
    String(side.answers.get('OPTIONS')!.answer.headers[name])
  for (const name of ['tus-version', 'tus-max-size'])
    t.equal(optionsHeader(ours, name), optionsHeader(reference, name))
  t.same(
    optionsHeader(ours, 'tus-extension')
      .split(',')
      .filter((name) => name !== 'checksum'),
    optionsHeader(reference, 'tus-extension').split(','),
  )
})

t.test('every error response has Tus-Resumable', async (t) => {
  const [person, reader] = [await server.person(), await server.person({ scopes: ['storage:read'] })]
  const path = await tusClient(server.url, person.key).createUpload(10)
  const errors: Array<
    [status: number, key: string, method: string, url: string, headers: Record<string, string>]
  > = [
    [401, 'plat_live_x', 'POST', endpoint, creation],
    [403, reader.key, 'POST', endpoint, creation],
    [400, person.key, 'POST', endpoint, creation],
    [415, person.key, 'PATCH', server.url + path, patch(0, { 'content-type': 'text/plain' })],
    [404, person.key, 'HEAD', `${endpoint}/x`, v1],
    [406, person.key, 'POST', endpoint, { ...creation, 'upload-length': '1', accept: 'text/html' }],
  ]
  for (const [status, key, method, url, headers] of errors) {
    const reply = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: method === 'PATCH' ? 'x' : undefined,
    })
    t.match(
      { status: reply.status, version: reply.headers.get('tus-resumable') },
      { status, version: '1.0.0' },
    )
  }
})

t.test('X-HTTP-Method-Override works only for POST and only for uploads', async (t) => {
  const person = await server.person()
  const path = await tusClient(server.url, person.key).createUpload(10)
  const {
    body: { id },
  } = await person.client.post('/projects', { name: 'Not deleted' })
  const status = async (method: string, path: string) =>
    (
      await fetch(server.url + path, {
        method,
        headers: { ...v1, authorization: `Bearer ${person.key}`, 'x-http-method-override': 'DELETE' },
      })
    ).status
  t.equal(await status('GET', path), 200)
  t.equal(await status('POST', `/v1/projects/${id}`), 405)
  t.equal(await status('POST', '/v1/storage/uploads'), 400)
  t.equal((await person.client.get(`/projects/${id}`)).status, 200)
  t.equal(await status('POST', path), 204)
})

t.test('a creation with too many bytes creates no upload', async (t) => {
  const person = await server.person()
  const reply = await tusClient(server.url, person.key).create(10, undefined, {}, '0123456789a')
  t.equal(reply.status, 413)
  t.equal(await server.services.database.prisma.upload.count({ where: { userId: person.id } }), 0)
})

interface Run {
  upload: tus.Upload
  requests: string[]
  fileId: () => string | null
  ended: Promise<void>
}

/** Runs the official client with these options and records its requests. */
function run(bytes: Buffer, key: string, options: tus.UploadOptions & { to?: string } = {}): Run {
  const requests: string[] = []
  let fileId: string | null = null
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const upload = new tus.Upload(bytes, {
    endpoint,
    headers: { authorization: `Bearer ${key}` },
    metadata: { filename: 'file.bin' },
    retryDelays: [0, 20, 100, 500],
    onAfterResponse: (call, response) => {
      requests.push(`${call.getMethod()} ${response.getStatus()}`)
      fileId = response.getHeader('Upload-File-Id') ?? fileId
    },
    onSuccess: () => resolve(),
    onError: reject,
    ...options,
  })
  return { upload, requests, fileId: () => fileId, ended }
}

t.test('the official client', async (t) => {
  const person = await server.person()
  const bytes = randomBytes(300_000)
  const isFile = async (t: Test, id: string | null) =>
    t.ok(
      (await download(server.url, `/storage/files/${id}/download`, { key: person.key })).bytes.equals(bytes),
      'the file is complete',
    )

  await t.test('gets an error for parallel uploads', async (t) => {
    const { upload, ended } = run(bytes, person.key, { parallelUploads: 2 })
    upload.start()
    await t.rejects(ended, { message: /response code: 400.*Upload-Concat.*send the file as one upload/ })
  })

  await t.test('gets an error for a deferred length', async (t) => {
    const { upload, ended } = run(bytes, person.key, { uploadLengthDeferred: true, chunkSize: 100_000 })
    upload.start()
    await t.rejects(ended, { message: /response code: 400.*Upload-Defer-Length.*send `Upload-Length/ })
  })

  await t.test('resumes a previous upload, also in another process', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tus-urls-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const urlStorage = () =>
      new (tus as unknown as { FileUrlStorage: new (path: string) => tus.UrlStorage }).FileUrlStorage(
        join(folder, 'urls.json'),
      )
    const first = run(bytes, person.key, {
      urlStorage: urlStorage(),
      chunkSize: 100_000,
      onChunkComplete: () => {
        void first.upload.abort()
      },
    })
    first.upload.start()
    await waitUntil(
      async () => (await urlStorage().findAllUploads()).length === 1 && first.requests.includes('PATCH 204'),
      'the first chunk to be sent',
    )
    const second = run(bytes, person.key, { urlStorage: urlStorage(), removeFingerprintOnSuccess: true })
    const [previous] = await second.upload.findPreviousUploads()
    second.upload.resumeFromPreviousUpload(previous)
    second.upload.start()
    await second.ended
    t.equal(second.upload.url, first.upload.url)
    t.same(second.requests, ['HEAD 200', 'PATCH 204'])
    await isFile(t, second.fileId())
    t.same(await urlStorage().findAllUploads(), [])
  })

  await t.test('creates a new upload when the previous one is deleted', async (t) => {
    const path = await tusClient(server.url, person.key).createUpload(bytes.length)
    await tusClient(server.url, person.key).delete(path)
    const { upload, requests, fileId, ended } = run(bytes, person.key, { uploadUrl: server.url + path })
    upload.start()
    await ended
    t.same(requests, ['HEAD 404', 'POST 201', 'PATCH 204'])
    await isFile(t, fileId())
  })

  await t.test('aborts and deletes the upload', async (t) => {
    const { upload, requests } = run(bytes, person.key, { chunkSize: 100_000 })
    upload.options.onChunkComplete = () => {
      void upload.abort(true)
    }
    upload.start()
    await waitUntil(() => requests.includes('DELETE 204'), 'the upload to be deleted')
    t.equal(
      (
        await fetch(upload.url!, {
          method: 'HEAD',
          headers: { ...v1, authorization: `Bearer ${person.key}` },
        })
      ).status,
      404,
    )
  })

  await t.test('calls onShouldRetry with the status', async (t) => {
    const statuses: Array<number | null> = []
    let cuts = 1
    const proxy = await cuttingProxy(t, server.url, { next: () => (cuts-- > 0 ? 50_000 : null) })
    const retried = run(bytes, person.key, {
      endpoint: `${proxy.url}/v1/storage/uploads`,
      onShouldRetry: (error) => {
        statuses.push((error as tus.DetailedError).originalResponse?.getStatus() ?? null)
        return true
      },
    })
    retried.upload.start()
    await retried.ended
    t.same(statuses, [null], 'the broken connection has no status')
    await isFile(t, retried.fileId())
    const rejected = run(bytes, person.key, {
      metadata: { filename: '..' },
      onShouldRetry: (error) => {
        statuses.push((error as tus.DetailedError).originalResponse?.getStatus() ?? null)
        return false
      },
    })
    rejected.upload.start()
    await t.rejects(rejected.ended, { message: /response code: 400/ })
    t.same(statuses, [null, 400])
  })

  await t.test('works with POST only', async (t) => {
    const { upload, requests, fileId, ended } = run(bytes, person.key, {
      overridePatchMethod: true,
      chunkSize: 150_000,
    })
    upload.start()
    await ended
    t.same(requests, ['POST 201', 'POST 204', 'POST 204'])
    await isFile(t, fileId())
  })
})
