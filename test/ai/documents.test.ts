// Documents through the API: their sources, deduplication by content, and how they become ready or fail. A
// fake parser lets each test control when and how parsing ends; the last test uses the real parser.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { picture } from '../../packages/contract/forms.ts'
import { fileExpiryTasks } from '../../services/storage/retention.ts'
import type { BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import { createDocumentWorker, type DocumentWorkerOptions } from '../../services/ai/knowledge/worker.ts'
import { statement } from '../../infra/database/statements.ts'
import type { DocumentParser } from '../../services/ai/knowledge/index-document.ts'
import { supportedTypes } from '../../services/ai/parsing/errors.ts'
import { ParsingError } from '../../services/ai/parsing/parse.ts'
import { documentRequeueTasks } from '../../services/ai/knowledge/retention.ts'
import { unavailable } from '../../infra/errors.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { parseInProcess } from '../support/ai/document-worker.ts'
import { encodeAs } from '../support/ai/encode.ts'
import { newId } from '../../infra/ids.ts'
import type { Reply } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  fileCount,
  uploadForm,
  assertNothingLeft,
  uploadFile,
  type Upload,
} from '../support/storage/storage.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t, { env: { DOCUMENT_MAX_BYTES: '100000' } })
const { services } = server
const { database } = services
const { prisma } = database

/** One chunk per line. A text that contains `damaged` fails. */
const parseLines: DocumentParser = async ({ path }) => {
  const text = readFileSync(path, 'utf8')
  if (text.includes('damaged')) throw new ParsingError('damaged')
  let start = 0
  const chunks = text.split('\n').map((line) => {
    const chunk = {
      start,
      end: start + line.length,
      page: null,
      heading: null,
      tokens: line.split(' ').length,
      text: line,
    }
    start += line.length + 1
    return chunk
  })
  return {
    text,
    pages: null,
    chunks,
    tokens: text.split(/\s/).length,
    language: 'english',
    charset: 'utf-8',
    warnings: [],
  }
}

/** Parses documents until the test ends. */
function startIngestion(
  t: Pick<Test, 'teardown'>,
  options: Partial<DocumentWorkerOptions> = {},
): BackgroundWorker & { errors: Error[] } {
  const errors: Error[] = []
  const worker = createDocumentWorker({
    ...services,
    embed: null,
    tokensPerDay: 0,
    maxBytes: 100_000,
    concurrency: 2,
    interval: 20,
    parse: parseLines,
    onError: (error) => errors.push(error),
    ...options,
  })
  worker.start()
  t.teardown(() => worker.stop())
  return Object.assign(worker, { errors })
}

/** A parser that waits for `open` before it parses documents with this name, and the number that wait. */
function gatedParser(name: string): { parse: DocumentParser; open: () => void; waiting: () => number } {
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  return {
    parse: async (source, chunking, options) => {
      if (source.name !== name) return await parseLines(source, chunking, options)
      waiting++
      await Promise.race([
        gate.promise,
        new Promise((_resolve, reject) =>
          options?.signal?.addEventListener('abort', () => reject(options.signal!.reason)),
        ),
      ])
      return await parseLines(source, chunking, options)
    },
    open: () => gate.resolve(),
    waiting: () => waiting,
  }
}

async function createKnowledgeBase(person: Person, body: object = {}): Promise<string> {
  const reply = await person.client.post('/ai/knowledge', { name: 'Handbook', ...body })
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body.id
}

const postDocument = async ({ client }: Person, baseId: string, body: object, headers = {}): Promise<Reply> =>
  await client.post(`/ai/knowledge/${baseId}/documents`, body, { headers })

async function createDocument(person: Person, baseId: string, body: object): Promise<any> {
  const reply = await postDocument(person, baseId, body)
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}

async function uploadDocument(
  { client }: Person,
  baseId: string,
  { headers, ...content }: Upload,
): Promise<Reply> {
  const form = uploadForm(content)
  return await client.call('POST', `/ai/knowledge/${baseId}/documents`, {
    raw: form.body,
    headers: { ...form.headers, ...headers },
  })
}

const pathOf = ({ id, knowledge_base_id: baseId }: any): string => `/ai/knowledge/${baseId}/documents/${id}`

async function waitUntilDone({ client }: Person, document: any): Promise<any> {
  return await waitUntil(async () => {
    const { body } = await client.get(pathOf(document))
    return ['ready', 'failed'].includes(body.status) && body
  }, 'parsing to end')
}

const eventsOf = async (id: string) =>
  (await prisma.event.findMany({ orderBy: { position: 'asc' } })).filter(
    ({ data }) => (data as any).object.id === id,
  )
const typesOf = async (id: string) => (await eventsOf(id)).map(({ type }) => type.replace('document.', ''))
const chunkTextsOf = async (documentId: string) =>
  (await prisma.chunk.findMany({ where: { documentId }, orderBy: { position: 'asc' } })).map(
    ({ text }) => text,
  )
const jobs = statement<{ id: string; fetches: number }>(
  `SELECT id, fetches FROM jobs WHERE queue = 'documents' AND data->>'document_id' = $1`,
)
const jobsOf = async (id: string) => await database.sql(jobs, [id])

t.test('a text becomes a document, which is parsed, emits events, and has a text', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  const text = '# Events\nThey are kept for 30 days.'
  const created = await postDocument(person, baseId, { text, metadata: { edition: '1' } })
  t.equal(created.status, 201)
  t.equal(created.headers.get('location'), `${server.url}/v1${pathOf(created.body)}`)
  t.match(created.body, {
    knowledge_base_id: baseId,
    project_id: null,
    name: 'Events They are kept for 30 days.',
    source: { type: 'text', file_id: null },
    content_type: 'text/markdown',
    status: 'queued',
    error: null,
    sha256: hash('sha256', text),
    tokens: 0,
    chunk_count: 0,
    metadata: { edition: '1' },
    indexed_at: null,
  })
  t.equal(
    (await person.client.get(`${pathOf(created.body)}/text`)).status,
    409,
    'the document has no text yet',
  )
  startIngestion(t)
  const ready = await waitUntilDone(person, created.body)
  t.match(ready, { status: 'ready', chunk_count: 2, tokens: 8, error: null, indexed_at: String })
  t.same((await person.client.get(`${pathOf(ready)}/text`)).body, {
    document_id: ready.id,
    text,
    pages: null,
  })
  t.same(await chunkTextsOf(ready.id), text.split('\n'))
  t.same(await typesOf(ready.id), ['created', 'processing', 'ready'])
  const [, began] = await eventsOf(ready.id)
  t.match((began.data as any).object, { status: 'processing', indexed_at: null, chunk_count: 0 })
  t.same(await jobsOf(ready.id), [], 'the job was completed')
  t.match((await person.client.get(`/ai/knowledge/${baseId}`)).body.document_counts, {
    queued: 0,
    processing: 0,
    ready: 1,
    failed: 0,
  })
  t.match(
    (await person.client.post(`/ai/knowledge/${baseId}/search`, { query: 'how many days' })).body.data,
    [{ document_id: ready.id, text: 'They are kept for 30 days.' }],
  )
})

t.test('a list of documents is searched, filtered and sorted', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  for (const name of ['beta', 'Alpha', 'ga_ma'])
    await createDocument(person, baseId, { text: `damaged ${name}`, name })
  const list = async (query: string) =>
    (await person.client.get(`/ai/knowledge/${baseId}/documents${query}`)).body
  t.same(
    (await list('?sort=name&order=asc')).data.map(({ name }: any) => name),
    ['Alpha', 'beta', 'ga_ma'],
  )
  t.match(await list('?q=a_m'), { data: [{ name: 'ga_ma' }], pagination: { total: 1 } })
  t.match(await list('?status=queued&limit=1'), {
    data: [{ name: 'ga_ma' }],
    pagination: { total: 3, total_pages: 3 },
  })
  t.match(await list('?status=ready'), { data: [], pagination: { total: 0 } })
  t.equal((await person.client.get(`/ai/knowledge/${newId('kb')}/documents`)).status, 404)
})

t.test('a document is visible to readers of its knowledge base, and only under its own path', async (t) => {
  const [person, stranger] = [await server.person(), await server.person()]
  const [baseId, other] = [await createKnowledgeBase(person), await createKnowledgeBase(person)]
  const document = await createDocument(person, baseId, { text: 'here' })
  const elsewhere = { ...document, knowledge_base_id: other }
  t.equal((await person.client.get(pathOf(elsewhere))).status, 404)
  t.equal((await person.client.delete(pathOf(elsewhere))).status, 404)
  for (const call of [
    () => stranger.client.get(pathOf(document)),
    () => stranger.client.get(`${pathOf(document)}/text`),
    () => stranger.client.put(pathOf(document), { name: 'x' }),
    () => stranger.client.delete(pathOf(document)),
    () => stranger.client.post(`${pathOf(document)}/retry`),
    () => stranger.client.get(`/ai/knowledge/${baseId}/documents`),
  ])
    t.equal((await call()).status, 403)
  t.equal(
    (await stranger.client.get(pathOf({ ...document, id: newId('doc') }))).status,
    403,
    'the answer does not reveal whether a document exists',
  )
  const alone = `/ai/documents/${document.id}`
  t.same((await person.client.get(alone)).body, (await person.client.get(pathOf(document))).body)
  t.equal((await stranger.client.get(alone)).status, 403)
  t.equal((await person.client.get(`/ai/documents/${newId('doc')}`)).status, 404)
  t.same(await typesOf(document.id), ['created'])
})

t.test('the same bytes are one document, from every source and in concurrent requests', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => postDocument(person, baseId, { text: 'the same' })),
  )
  t.same(replies.map(({ status }) => status).sort(), [...Array(49).fill(200), 201])
  t.equal(new Set(replies.map(({ body }) => body.id)).size, 1)
  const { id } = replies[0].body
  const files = await fileCount(server)
  const again = await uploadDocument(person, baseId, { bytes: 'the same', name: 'same.txt' })
  t.match([again.status, again.body.id], [200, id])
  t.equal(await fileCount(server), files, 'an upload of existing bytes stores no file')
  await assertNothingLeft(t, server)
  const file = await uploadFile(person.client, { bytes: 'the same', name: 'same.txt' })
  t.equal((await postDocument(person, baseId, { file_id: file.id })).status, 200)
  t.same(await typesOf(id), ['created'])
  t.equal((await jobsOf(id)).length, 1)
  t.equal(
    (await postDocument(person, await createKnowledgeBase(person), { text: 'the same' })).status,
    201,
    'another knowledge base gets its own document',
  )
  const racing = await Promise.all(
    Array.from({ length: 8 }, () => uploadDocument(person, baseId, { bytes: 'a form', name: 'form.txt' })),
  )
  t.same(racing.map(({ status }) => status).sort(), [...Array(7).fill(200), 201])
  t.equal(await fileCount(server), files + 2)
  await assertNothingLeft(t, server)
})

t.test('an upload becomes a file of the project and a document', async (t) => {
  const [owner, editor] = [await server.person(), await server.person()]
  const projectId = (await owner.client.post('/projects', { name: 'Shared' })).body.id
  await createMember(server, projectId, editor.id, 'editor')
  const baseId = await createKnowledgeBase(owner, { project_id: projectId })
  const created = await uploadDocument(editor, baseId, {
    bytes: 'a,b\n1,2\n',
    name: 'numbers.csv',
    type: 'text/csv',
    fields: { metadata: '{"year":"2026"}' },
  })
  t.equal(created.status, 201)
  t.match(created.body, {
    name: 'numbers.csv',
    project_id: projectId,
    source: { type: 'file', file_id: /^file_/ },
    content_type: 'text/csv',
    metadata: { year: '2026' },
  })
  const file = (await owner.client.get(`/storage/files/${created.body.source.file_id}`)).body
  t.match(file, {
    project_id: projectId,
    owner_id: editor.id,
    name: 'numbers.csv',
    sha256: created.body.sha256,
    visibility: 'private',
  })
  const named = await uploadDocument(editor, baseId, {
    bytes: 'other',
    name: 'x.txt',
    fields: { name: 'Given' },
  })
  t.equal(named.body.name, 'Given')

  const headers = { 'idempotency-key': 'once' }
  const first = await uploadDocument(editor, baseId, { bytes: 'keyed', name: 'k.txt', headers })
  const second = await uploadDocument(editor, baseId, { bytes: 'keyed', name: 'k.txt', headers })
  t.match(
    [first.status, second.status, second.headers.get('idempotent-replayed'), second.body.id],
    [201, 201, 'true', first.body.id],
  )
  t.equal((await uploadDocument(editor, baseId, { bytes: 'others', name: 'k.txt', headers })).status, 422)
  t.equal((await postDocument(editor, baseId, { text: 'keyed' }, headers)).status, 422)
  await assertNothingLeft(t, server)
})

t.test('a batch adds each document that can be added', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const baseId = await createKnowledgeBase(person)
  const file = await uploadFile(person.client, { bytes: 'a file of a batch' })
  const foreign = await uploadFile(other.client, { bytes: 'foreign of a batch' })
  const kept = await createDocument(person, baseId, { text: 'kept' })
  const events = async (): Promise<number> =>
    (await person.client.get('/events?type=document.created')).body.data.length
  const before = await events()
  const send = (documents: object[], headers = {}): Promise<Reply> =>
    person.client.post(`/ai/knowledge/${baseId}/documents/batch`, { documents }, { headers })
  const documents = [
    { text: 'second', name: 'b', metadata: { a: '1' } },
    { file_id: foreign.id },
    { text: 'kept' },
    { file_id: file.id },
    { text: 'x'.repeat(100_001) },
    { text: 'second' },
    { file_id: newId('file') },
  ]
  const headers = { 'idempotency-key': 'batch' }
  const [one, two] = await Promise.all([send(documents, headers), send(documents)])
  for (const reply of [one, two]) {
    t.equal(reply.status, 200)
    t.same(
      reply.body.data.map(({ document, error }: any) => [
        document !== null,
        error?.code ?? null,
        error?.field ?? null,
      ]),
      [
        [true, null, null],
        [false, 'FORBIDDEN', 'documents[1].file_id'],
        [true, null, null],
        [true, null, null],
        [false, 'PAYLOAD_TOO_LARGE', null],
        [true, null, null],
        [false, 'NOT_FOUND', 'documents[6].file_id'],
      ],
    )
    t.equal(reply.body.data[2].document.id, kept.id)
  }
  t.same(await send(documents, headers).then(({ body }) => body), one.body, 'the repeated request')
  const { body: list } = await person.client.get(`/ai/knowledge/${baseId}/documents`)
  t.equal(list.pagination.total, 3)
  t.equal((await events()) - before, 2, 'one event for each new document')
  t.equal((await send([{ text: 'fine' }, { text: 'a', file_id: file.id }])).status, 400)
  t.equal((await send(Array.from({ length: 101 }, (_, i) => ({ text: `${i}` })))).status, 400)
  t.equal((await person.client.get(`/ai/knowledge/${baseId}/documents`)).body.pagination.total, 3)
})

t.test('an invalid source is rejected and leaves nothing behind', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const projectId = (await person.client.post('/projects', { name: 'Shared' })).body.id
  const [own, shared] = [
    await createKnowledgeBase(person),
    await createKnowledgeBase(person, { project_id: projectId }),
  ]
  const file = await uploadFile(person.client, { bytes: 'own' })
  const theirs = await uploadFile(person.client, { bytes: 'shared', fields: { project_id: projectId } })
  const foreign = await uploadFile(other.client, { bytes: 'foreign' })
  const large = await uploadFile(person.client, { bytes: 'x'.repeat(100_001) })
  const files = await fileCount(server)
  const rejection = ({ status, body }: Reply) => [
    status,
    body.error?.details.field,
    body.error?.details.constraint,
  ]
  t.same(rejection(await postDocument(person, own, { file_id: theirs.id })), [400, 'file_id', 'project'])
  t.same(rejection(await postDocument(person, shared, { file_id: file.id })), [400, 'file_id', 'project'])
  t.equal((await postDocument(person, own, { file_id: foreign.id })).status, 403)
  t.equal((await postDocument(person, own, { file_id: newId('file') })).status, 404)
  t.equal((await postDocument(person, own, { file_id: large.id })).status, 413)
  t.equal((await postDocument(person, own, { text: 'x'.repeat(100_001) })).status, 413)
  t.equal((await uploadDocument(person, own, { bytes: 'x'.repeat(100_001) })).status, 413)
  t.equal((await postDocument(person, own, {})).status, 400)
  t.equal((await postDocument(person, own, { text: 'a', file_id: file.id })).status, 400)
  t.same(rejection(await postDocument(person, own, { content_type: 'text/csv', file_id: file.id })), [
    400,
    'content_type',
    'dependentRequired',
  ])
  const withoutRead = await server.person({ scopes: ['ai:read', 'ai:write', 'storage:write'] })
  const unread = await uploadFile(withoutRead.client, { bytes: 'unread' })
  t.same(
    rejection(
      await postDocument(withoutRead, await createKnowledgeBase(withoutRead), { file_id: unread.id }),
    ),
    [403, undefined, 'scope'],
  )
  t.equal(await fileCount(server), files + 1)
  t.equal(await prisma.document.count({ where: { knowledgeBaseId: { in: [own, shared] } } }), 0)
  await assertNothingLeft(t, server)
})

t.test('a new text is parsed again, and searches find the old text until then', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  const document = await createDocument(person, baseId, { text: 'old words', name: 'a' })
  await createDocument(person, baseId, { text: 'of another', name: 'b' })
  const first = startIngestion(t)
  const ready = await waitUntilDone(person, document)
  await first.stop()
  const etag = (await person.client.get(pathOf(document))).headers.get('etag')!

  t.equal(
    (await person.client.put(pathOf(document), { text: 'of another' })).body.error.details.constraint,
    'sha256',
  )
  const same = await person.client.put(
    pathOf(document),
    { text: 'old words', metadata: { a: 'b' } },
    { headers: { 'if-match': etag } },
  )
  t.match(same.body, { status: 'ready', metadata: { a: 'b' } }, 'the same text is not parsed again')
  t.equal((await person.client.put(pathOf(document), { text: 'x'.repeat(100_001) })).status, 413)
  const changed = await person.client.put(pathOf(document), { text: 'new words' })
  t.match(changed.body, {
    status: 'queued',
    sha256: hash('sha256', 'new words'),
    chunk_count: 1,
    indexed_at: ready.indexed_at,
  })
  t.equal(
    (await person.client.put(pathOf(document), { text: 'x' }, { headers: { 'if-match': etag } })).status,
    412,
  )
  const retried = await person.client.post(`${pathOf(document)}/retry`)
  t.match(retried, { status: 200, body: { status: 'queued' } }, 'the document is queued already')
  const found = async (query: string) =>
    (
      await person.client.post(`/ai/knowledge/${baseId}/search`, {
        query,
        filters: { document_ids: [document.id] },
      })
    ).body.data.map(({ text }: any) => text)
  t.same(await found('old words'), ['old words'])

  const gate = gatedParser('a')
  startIngestion(t, { parse: gate.parse })
  await waitUntil(() => gate.waiting() > 0)
  t.match((await person.client.get(pathOf(document))).body.status, 'processing')
  await person.client.put(pathOf(document), { text: 'newest words' })
  gate.open()
  t.match(await waitUntilDone(person, document), { status: 'ready', sha256: hash('sha256', 'newest words') })
  await waitUntil(async () => (await jobsOf(document.id)).length === 0)
  t.same(await chunkTextsOf(document.id), ['newest words'], 'the outcome of an outdated version is discarded')
  t.same(await typesOf(document.id), [
    'created',
    'processing',
    'ready',
    'updated',
    'updated',
    'processing',
    'updated',
    'processing',
    'ready',
  ])
  t.equal((await prisma.document.findUnique({ where: { id: document.id } }))!.revision, 2)

  const again = await person.client.post(`${pathOf(document)}/retry`)
  t.match([again.status, again.body.status], [200, 'queued'])
  await waitUntilDone(person, document)
  t.equal(
    (await prisma.document.findUnique({ where: { id: document.id } }))!.revision,
    2,
    'the same text keeps the revision',
  )
  const file = (await uploadDocument(person, baseId, { bytes: 'a file' })).body
  t.equal((await person.client.put(pathOf(file), { text: 'x' })).status, 409)
  t.equal((await person.client.put(pathOf(file), { name: 'renamed' })).body.name, 'renamed')
})

t.test(
  'a document that cannot be parsed fails with a reason, loses its chunks, and can be retried',
  async (t) => {
    const person = await server.person()
    const baseId = await createKnowledgeBase(person)
    startIngestion(t)
    const document = await createDocument(person, baseId, { text: 'fine' })
    await waitUntilDone(person, document)
    await person.client.put(pathOf(document), { text: 'damaged' })
    t.match(await waitUntilDone(person, document), {
      status: 'failed',
      error: { code: 'damaged', message: 'The document is damaged.' },
      chunk_count: 0,
      tokens: 0,
      indexed_at: null,
    })
    t.equal((await person.client.get(`${pathOf(document)}/text`)).status, 409)
    t.same(await chunkTextsOf(document.id), [])
    t.same(await typesOf(document.id), ['created', 'processing', 'ready', 'updated', 'processing', 'failed'])
    t.match((await person.client.post(`${pathOf(document)}/retry`)).body, { status: 'queued', error: null })
    t.match(await waitUntilDone(person, document), { status: 'failed' })
  },
)

t.test('a file of an unsupported type is rejected at once and leaves nothing behind', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  const assertUnsupported = ({ status, body }: Reply, type: string, field: string): void => {
    t.equal(status, 415, type)
    t.match(
      body.error,
      {
        code: 'UNSUPPORTED_MEDIA_TYPE',
        message: `Unsupported file type ${type}. ` + `Supported types: ${supportedTypes}.`,
        details: { field, constraint: 'media_type' },
      },
      type,
    )
  }
  const types: Array<[type: string, bytes: Buffer | string]> = [
    ['image/png', picture],
    ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['application/gzip', gzipSync('x')],
    ['application/postscript', '%!PS-Adobe-3.0\n'],
  ]
  for (const [type, bytes] of types) {
    assertUnsupported(await uploadDocument(person, baseId, { bytes, name: 'notes.md' }), type, 'file')
    t.equal((await person.client.get('/storage/files')).body.pagination.total, 0, 'no file is stored')
  }
  for (const [type, bytes] of types) {
    const file = await uploadFile(person.client, { bytes, name: 'notes.md' })
    t.equal(file.content_type, type)
    assertUnsupported(await postDocument(person, baseId, { file_id: file.id }), type, 'file_id')
    await person.client.delete(`/storage/files/${file.id}`)
  }
  t.equal((await person.client.get(`/ai/knowledge/${baseId}/documents`)).body.pagination.total, 0)
  t.same((await person.client.get('/events?type=document.created')).body.data, [])
  await assertNothingLeft(t, server)
})

const makeJobDue = statement(
  `UPDATE jobs SET due_at = now()
  WHERE queue = 'documents' AND data->>'document_id' = $1 AND fetches = 0`,
)

t.test('a temporary error is retried, up to four times', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  let failures = 2
  let tries = 0
  const embed = async (texts: string[]): Promise<number[][]> => {
    tries++
    if (failures-- > 0) throw unavailable('no vectors')
    return texts.map(() => [1, 0, 0])
  }
  const model = { model: 'test', provider: 'test', price: null, dimensions: 3 }
  const { errors } = startIngestion(t, { embed: Object.assign(embed, model) })
  /** The numbers of the failed attempts. A job that a busy machine takes for lost runs again as the same. */
  const attempts = () => [
    ...new Set(errors.splice(0).flatMap(({ message }) => /\(attempt (\d)\)/.exec(message)?.[1] ?? [])),
  ]
  const document = await createDocument(person, baseId, { text: 'patient' })
  // The job can be made due only when the failed try has ended.
  await waitUntil(async () => {
    await database.sql(makeJobDue, [document.id])
    return (await person.client.get(pathOf(document))).body.status === 'ready'
  })
  t.same(attempts(), ['1', '2'])
  t.ok(tries >= 2 + 1)
  t.same(await prisma.$queryRawUnsafe(`SELECT embedding FROM chunks WHERE document_id = '${document.id}'`), [
    { embedding: [1, 0, 0] },
  ])
  failures = Infinity
  await person.client.post(`${pathOf(document)}/retry`)
  const now = await waitUntil(async () => {
    await database.sql(makeJobDue, [document.id])
    const { body } = await person.client.get(pathOf(document))
    return body.status === 'failed' && body
  })
  t.match(now, { error: { code: 'unavailable' }, chunk_count: 1 })
  t.same(attempts(), ['1', '2', '3', '4', '5'])
  t.ok(tries >= 2 + 1 + 5)
  failures = 0
  await person.client.post(`${pathOf(document)}/retry`)
  t.equal((await waitUntilDone(person, document)).status, 'ready')
  t.same(
    await typesOf(document.id),
    ['created', 'processing', 'ready', 'updated', 'processing', 'failed', 'updated', 'processing', 'ready'],
    'a repeated attempt emits no event',
  )
})

t.test('a document whose workers are lost repeatedly fails and keeps its chunks', async (t) => {
  const person = await server.person()
  const document = await createDocument(person, await createKnowledgeBase(person), { text: 'deadly' })
  const first = startIngestion(t)
  await waitUntilDone(person, document)
  await first.stop()
  await person.client.post(`${pathOf(document)}/retry`)
  await database.pool.query(
    `UPDATE jobs SET fetches = 2 WHERE queue = 'documents' AND data->>'document_id' = $1`,
    [document.id],
  )
  const { errors } = startIngestion(t)
  t.match(await waitUntilDone(person, document), {
    status: 'failed',
    error: { code: 'unavailable' },
    chunk_count: 1,
  })
  t.same(await chunkTextsOf(document.id), ['deadly'])
  t.match(errors, [{ message: new RegExp(document.id) }])
})

t.test('only the worker that took over a job stores its outcome', async (t) => {
  const person = await server.person()
  const gate = gatedParser('taken over')
  startIngestion(t, { parse: gate.parse })
  const document = await createDocument(person, await createKnowledgeBase(person), { text: 'taken over' })
  await waitUntil(() => gate.waiting() === 1)
  // As when heartbeats were missing.
  await database.pool.query(
    `UPDATE jobs SET due_at = now() WHERE queue = 'documents' AND data->>'document_id' = $1`,
    [document.id],
  )
  await waitUntil(() => gate.waiting() === 2)
  gate.open()
  t.equal((await waitUntilDone(person, document)).status, 'ready')
  await waitUntil(async () => (await jobsOf(document.id)).length === 0)
  t.same(await typesOf(document.id), ['created', 'processing', 'ready'])
  t.same(await chunkTextsOf(document.id), ['taken over'])
})

t.test('stopping a worker requeues its jobs for another worker', async (t) => {
  const person = await server.person()
  const gate = gatedParser('interrupted')
  const first = startIngestion(t, { parse: gate.parse, drainTimeoutMs: 50 })
  const document = await createDocument(person, await createKnowledgeBase(person), { text: 'interrupted' })
  await waitUntil(() => gate.waiting() === 1)
  await first.stop()
  t.equal((await person.client.get(pathOf(document))).body.status, 'queued')
  t.match(await jobsOf(document.id), [{ fetches: 0 }])
  startIngestion(t)
  t.equal((await waitUntilDone(person, document)).status, 'ready')
  t.same(await typesOf(document.id), ['created', 'processing', 'ready'], 'processing began once')
})

t.test('a waiting document without a job gets a job', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  const [lost, waiting] = [
    await createDocument(person, baseId, { text: 'lost' }),
    await createDocument(person, baseId, { text: 'waiting' }),
  ]
  await database.pool.query(`DELETE FROM jobs WHERE queue = 'documents' AND data->>'document_id' = $1`, [
    lost.id,
  ])
  await prisma.document.updateMany({
    where: { id: { in: [lost.id, waiting.id] } },
    data: { updatedAt: new Date(Date.now() - 3_600_000) },
  })
  await runRetention(database, { tasks: documentRequeueTasks(services.documents) })
  t.equal((await jobsOf(lost.id)).length, 1)
  t.equal((await jobsOf(waiting.id)).length, 1)
  startIngestion(t)
  for (const document of [lost, waiting]) t.equal((await waitUntilDone(person, document)).status, 'ready')
})

t.test('two workers never parse the same document, and fetch several with one statement', async (t) => {
  const people = [await server.person(), await server.person()]
  for (const person of people) {
    const base = await createKnowledgeBase(person)
    for (let i = 0; i < 40; i++) await createDocument(person, base, { text: `shared ${person.id} ${i}` })
  }
  const parsed: string[] = []
  const parse: DocumentParser = async (source, ...rest) => {
    const text = readFileSync(source.path, 'utf8')
    if (text.startsWith('shared')) parsed.push(text)
    return await parseLines(source, ...rest)
  }
  server.statements.length = 0
  const workers = [0, 1].map(() => startIngestion(t, { concurrency: 8, interval: 1_000, parse }))
  const ownerId = { in: people.map(({ id }) => id) }
  await waitUntil(async () => (await prisma.document.count({ where: { ownerId, status: 'ready' } })) === 80)
  await Promise.all(workers.map((worker) => worker.stop()))
  t.equal(parsed.length, 80)
  t.equal(new Set(parsed).size, 80, 'each once')
  const fetches = server.statements.filter((text) => /FROM jobs[^]*SKIP LOCKED/.test(text))
  t.ok(fetches.length < 80, `${fetches.length} fetches for 80 documents`)
})

t.test('many documents of one user do not delay those of another', async (t) => {
  const [many, few] = [await server.person(), await server.person()]
  const [large, small] = [await createKnowledgeBase(many), await createKnowledgeBase(few)]
  for (let i = 0; i < 40; i++) await createDocument(many, large, { text: `${i}`, name: 'many' })
  await createDocument(few, small, { text: '1', name: 'few' })
  await createDocument(few, small, { text: '2', name: 'few' })
  const order: string[] = []
  startIngestion(t, {
    concurrency: 1,
    parse: async (source, ...rest) => {
      if (source.name === 'many' || source.name === 'few') order.push(source.name)
      return await parseLines(source, ...rest)
    },
  })
  await waitUntil(
    async () => (await many.client.get(`/ai/knowledge/${large}`)).body.document_counts.ready === 40,
  )
  t.ok(
    order.lastIndexOf('few') <= 4,
    `the last document of the other user was number ${order.lastIndexOf('few') + 1}`,
  )
})

t.test('many projects of one user do not delay the documents of another', async (t) => {
  const [many, few] = [await server.person(), await server.person()]
  const bases: string[] = []
  for (let i = 0; i < 8; i++) {
    const { body: project } = await many.client.post('/projects', { name: `Project ${i}` })
    bases.push(await createKnowledgeBase(many, { project_id: project.id }))
  }
  const small = await createKnowledgeBase(few)
  const documents = []
  for (const [i, base] of bases.entries())
    documents.push(await createDocument(many, base, { text: `${i}`, name: 'many projects' }))
  for (let i = 0; i < 3; i++)
    documents.push(await createDocument(few, small, { text: `${i}`, name: 'one base' }))
  const order: string[] = []
  startIngestion(t, {
    concurrency: 1,
    parse: async (source, ...rest) => {
      if (source.name === 'many projects' || source.name === 'one base') order.push(source.name)
      return await parseLines(source, ...rest)
    },
  })
  for (const [i, document] of documents.entries())
    t.equal((await waitUntilDone(i < bases.length ? many : few, document)).status, 'ready')
  t.ok(order.lastIndexOf('one base') <= 6, order.join())
})

t.test('slow documents of one user leave a slot to others', async (t) => {
  const [slow, quick] = [await server.person(), await server.person()]
  const [large, small] = [await createKnowledgeBase(slow), await createKnowledgeBase(quick)]
  const gate = gatedParser('slow')
  const mine = []
  for (let i = 0; i < 3; i++) mine.push(await createDocument(slow, large, { text: `${i}`, name: 'slow' }))
  for (let i = 0; i < 4; i++) await createDocument(quick, small, { text: `${i}`, name: 'quick' })
  startIngestion(t, { concurrency: 2, parse: gate.parse })
  await waitUntil(
    async () => (await quick.client.get(`/ai/knowledge/${small}`)).body.document_counts.ready === 4,
    'the documents of the other user',
  )
  await waitUntil(() => gate.waiting() === 2, 'both slots, once no other user waits')
  gate.open()
  for (const document of mine) t.equal((await waitUntilDone(slow, document)).status, 'ready')
})

t.test('a document is deleted with its file, by request or at the expiry', async (t) => {
  const person = await server.person()
  const [a, b] = [await createKnowledgeBase(person), await createKnowledgeBase(person)]
  const file = await uploadFile(person.client, { bytes: 'of a file' })
  const ended = await uploadFile(person.client, { bytes: 'of another' })
  const documents = [
    await createDocument(person, a, { file_id: file.id }),
    await createDocument(person, b, { file_id: file.id }),
    await createDocument(person, b, { file_id: ended.id }),
  ]
  startIngestion(t)
  for (const document of documents) await waitUntilDone(person, document)
  t.equal((await person.client.delete(`/storage/files/${file.id}`)).status, 204)
  for (const document of documents.slice(0, 2)) {
    t.equal((await person.client.get(pathOf(document))).status, 404)
    t.same(await typesOf(document.id), ['created', 'processing', 'ready', 'deleted'])
    t.same(await chunkTextsOf(document.id), [])
  }
  await prisma.file.update({ where: { id: ended.id }, data: { expiresAt: new Date(Date.now() - 1) } })
  await runRetention(database, { tasks: fileExpiryTasks(services) })
  t.same(await typesOf(documents[2].id), ['created', 'processing', 'ready', 'deleted'])
  t.match((await person.client.get(`/ai/knowledge/${b}`)).body.document_counts, { ready: 0 })
})

t.test('a document that is deleted while it is parsed leaves nothing', async (t) => {
  const person = await server.person()
  const gate = gatedParser('gone')
  startIngestion(t, { parse: gate.parse })
  const document = await createDocument(person, await createKnowledgeBase(person), { text: 'gone' })
  await waitUntil(() => gate.waiting() === 1)
  t.equal((await person.client.delete(pathOf(document))).status, 204)
  gate.open()
  await waitUntil(async () => (await jobsOf(document.id)).length === 0)
  t.same(await typesOf(document.id), ['created', 'processing', 'deleted'])
  t.same(await chunkTextsOf(document.id), [])
  await assertNothingLeft(t, server)
})

t.test('the real parser makes Markdown, HTML and CSV searchable', async (t) => {
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  const { errors } = startIngestion(t, { parse: undefined })
  const created = [
    await uploadDocument(person, baseId, {
      bytes: '# Leave\n\nEmployees have thirty days of holiday.',
      name: 'leave.md',
      type: 'text/markdown',
    }),
    await uploadDocument(person, baseId, {
      bytes: '<html><body><h1>Keys</h1><p>The office key is with the porter.</p></body></html>',
      name: 'keys.html',
      type: 'text/html',
    }),
    await postDocument(person, baseId, {
      text: 'name,room\nAda,12\nGrace,14\n',
      content_type: 'text/csv',
      name: 'rooms.csv',
    }),
  ]
  for (const { body } of created) t.match(await waitUntilDone(person, body), { status: 'ready' })
  t.match(
    (await person.client.post(`/ai/knowledge/${baseId}/search`, { query: 'who has the key of the office' }))
      .body.data[0],
    { document_id: created[1].body.id },
  )
  const broken = await uploadDocument(person, baseId, { bytes: Buffer.from([0, 1, 2, 255]), name: 'a.txt' })
  t.equal(broken.status, 201)
  await waitUntil(
    async () => (await person.client.get(`/ai/knowledge/${baseId}`)).body.document_counts.failed === 1,
  )
  t.match((await person.client.get(`/ai/knowledge/${baseId}/documents?status=failed`)).body.data, [
    { error: { code: 'unsupported' } },
  ])
  t.same(errors, [])
})

t.test('a document names its charset and what could not be read', async (t) => {
  startIngestion(t, { parse: parseInProcess })
  const person = await server.person()
  const baseId = await createKnowledgeBase(person)
  const cyrillic = encodeAs('windows-1251', 'Срок возврата')
  const upload = { bytes: cyrillic, name: 'a.txt', type: 'text/plain; charset=windows-1251' }
  const { body } = await uploadDocument(person, baseId, upload)
  t.match(body, { charset: null, warnings: [] })
  t.match(await waitUntilDone(person, body), { status: 'ready', charset: 'windows-1251', warnings: [] })
  t.match((await person.client.get(`${pathOf(body)}/text`)).body, { text: 'Срок возврата' })
  const file = await uploadFile(person.client, {
    ...upload,
    bytes: encodeAs('koi8-r', 'Срок'),
    type: 'text/plain;charset=koi8-r',
  })
  t.equal(file.declared_content_type, 'text/plain; charset=koi8-r')
  const stored = await createDocument(person, baseId, { file_id: file.id })
  t.match(await waitUntilDone(person, stored), { charset: 'koi8-r' })
  const unsure = await uploadDocument(person, baseId, {
    bytes: Buffer.from([0xe9]),
    name: 'b.txt',
    type: null,
  })
  t.match(await waitUntilDone(person, unsure.body), {
    status: 'ready',
    warnings: [{ code: 'uncertain_charset', message: /declares no charset/, pages: null }],
  })
})
